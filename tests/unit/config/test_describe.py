"""The example file, the JSON Schema and the docstrings: every key is there, and what is shown is true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from gateway.config import Config, load
from gateway.config.describe import descriptions, example, json_schema, written
from gateway.config.document import parse
from gateway.config.loading import shape_of
from gateway.config.node import Origin, find, plain, said
from gateway.config.node import Path as KeyPath
from gateway.config.shape import Slot, fields, known
from tests.unit.config.conftest import Read

ROOT = Path(__file__).parents[3]
INTERFACE = {
    "model": "default base_url api_key context_length max_tokens temperature timeout_seconds",
    "auxiliary": "compression background_review title approval vision",
    "auxiliary.vision": "provider model base_url api_key timeout_seconds",
    "agent": "max_turns tool_use_enforcement personalities",
    "workspace": "dir per read_dirs",
    "terminal": "backend image network timeout_seconds",
    "approvals": "mode timeout_seconds unattended allow deny",
    "web_search": "backend url api_key",
    "voice": "transcribe speak",
    "toolsets": "default by_platform by_chat by_role",
    "context": "engine",
    "compression": "enabled threshold model_thresholds threshold_tokens target_ratio protect_first_n protect_last_n "
    "min_tail_user_messages max_attempts in_place abort_on_summary_failure proactive_prune_tokens "
    "proactive_prune_min_result_chars proactive_prune_min_reclaim_tokens progress_notices keep_notices "
    "idle_compact_after_seconds micro_compact",
    "memory": "memory_enabled user_profile_enabled memory_char_limit user_char_limit nudge_interval flush_min_turns "
    "provider write_approval honcho scope mem0 retaindb supermemory hindsight holographic byterover openviking",
    "memory.honcho": "api_key endpoint",
    "skills": "creation_nudge_interval external_dirs disabled write_approval",
    "sessions": "group_sessions_per_user thread_sessions_per_user reset",
    "sessions.reset": "mode at_hour idle_minutes by_platform by_type",
    "gateway": "database bus role agent_cache max_concurrent_turns max_turns_per_person busy max_queue drain_seconds "
    "keep_days timezone",
    "gateway.agent_cache": "max_entries idle_seconds max_megabytes",
    "display": "tool_progress show_reasoning footer memory_notifications still_working_seconds",
    "streaming": "enabled edit_interval_seconds",
    "access": "allow_all dm_policy group_policy bots commands owners pairing",
    "platforms": "telegram discord slack webhook webchat",
    "platforms.webhook": "enabled routes max_body_bytes",
    "platforms.telegram": "enabled token api_base mode webhook allowed_users allowed_chats require_mention "
    "mention_patterns free_chats keep_unmentioned reply_to rich_messages accounts display",
    "platforms.discord": "enabled token api_base gateway_url allowed_users allowed_roles allowed_guilds "
    "allowed_channels require_mention mention_patterns free_chats keep_unmentioned auto_thread max_attachment_mb",
    "platforms.slack": "enabled bot_token app_token signing_secret api_base mode allowed_users allowed_channels "
    "require_mention mention_patterns free_chats keep_unmentioned thread_replies",
    "platforms.webchat": "enabled",
    "delivery": "max_parts",
    "plugins": "allow",
    "log": "level levels format",
    "cron": "enabled max_parallel catch_up_minutes run quiet_hours",
    "cron.run": "max_turns minutes cost",
    "web": "host port api_keys admin_password_file metrics",
    "media": "allow_dirs max_inbound_mb",
    "limits": "per_person per_chat per_role",
    "limits.per_person": "messages_per_minute tokens_per_day cost_per_day",
}
"""The keys that are promised to users, by section."""
PROMISED = sorted(f"{section}.{key}" for section, keys in INTERFACE.items() for key in keys.split())
ALONE = ("fallback_providers", "mcp_servers", "platform_hints", "quick_commands", "prices", "profiles")


@pytest.fixture(scope="module")
def root() -> type[BaseModel]:
    return shape_of(set())


@pytest.fixture(scope="module")
def defaults(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return load(tmp_path_factory.mktemp("home"), environ={})


@pytest.fixture(scope="module")
def validator(root: type[BaseModel]) -> Draft202012Validator:
    schema = json_schema(root)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def every_section(model: type[BaseModel]) -> dict[type[BaseModel], KeyPath]:
    """All sections, those of entries of lists and mappings too."""
    found: dict[type[BaseModel], KeyPath] = {}

    def look(kind: type[BaseModel], path: KeyPath) -> None:
        if kind in found:
            return
        found[kind] = path
        for name, slot in fields(kind).items():
            for each in (slot, slot.item or Slot(()), slot.value or Slot(())):
                for below in each.models:
                    look(below, (*path, name))

    look(model, ())
    return found


@pytest.mark.parametrize("key", [*PROMISED, *ALONE])
def test_every_promised_key_exists(root: type[BaseModel], key: str) -> None:
    assert key in {said(path) for path, _ in known(root)}


def test_every_key_has_a_docstring(root: type[BaseModel]) -> None:
    missing = [
        said((*path, name))
        for kind, path in every_section(root).items()
        for name in kind.model_fields
        if not descriptions(kind).get(name)
    ]
    assert missing == []


def test_the_example_names_every_key_and_changes_nothing(
    read: Read, root: type[BaseModel], defaults: Config, tmp_path: Path
) -> None:
    text = example(root)
    tree = parse(text, Origin())
    left_out = [said(path) for path, _ in known(root) if find(tree, path) is None]
    assert all(key.startswith("platforms.") and ".display." in key for key in left_out)
    config = read(text)
    assert config.settings == defaults.settings
    assert config.accounts == defaults.accounts
    assert config.warnings == ()


def test_the_example_shows_what_an_entry_is_made_of(root: type[BaseModel]) -> None:
    text = example(root)
    assert '\nquick_commands: {}\n# NAME:\n#   # The answer, without a model.\n#   reply: ""\n' in text
    assert "\nfallback_providers: []\n" in text
    assert "\n# - name: ...\n" in text


def test_the_example_takes_its_secrets_from_the_variables_everybody_has(read: Read, root: type[BaseModel]) -> None:
    config = read(example(root), environ={"OPENAI_API_KEY": "sk-of-mine", "SLACK_APP_TOKEN": "xapp-1"})
    assert config.settings.model.api_key.get_secret_value() == "sk-of-mine"
    assert "xapp-1" in config.secrets


def test_the_example_that_is_shipped_is_the_generated_one(root: type[BaseModel]) -> None:
    shipped = (ROOT / "deploy" / "config.example.yaml").read_text("utf-8")
    assert shipped == example(root), "hermes-gateway config show --example > deploy/config.example.yaml"


def test_the_schema_that_is_shipped_is_the_generated_one(root: type[BaseModel]) -> None:
    shipped = json.loads((ROOT / "deploy" / "config.schema.json").read_text("utf-8"))
    assert shipped == json_schema(root), "hermes-gateway config schema > deploy/config.schema.json"


class TestSchema:
    def test_it_accepts_the_example(self, validator: Draft202012Validator, root: type[BaseModel]) -> None:
        assert list(validator.iter_errors(plain(parse(example(root), Origin())))) == []

    @pytest.mark.parametrize(
        "document",
        [
            {"model": "gpt-5"},
            {"model": {"api_key_file": "/run/secrets/key"}},
            {"toolsets": ["default"]},
            {"toolsets": {"by_role": {"guest": []}}},
            {"platforms": {"telegram": {"enabled": "auto", "accounts": {"ops": {"token_file": "x"}}}}},
            {"platforms": {"telegram": {"enabled": True}}},
            {"model": {"context_length": None}},
            {},
        ],
    )
    def test_it_accepts_what_is_right(self, validator: Draft202012Validator, document: dict[str, Any]) -> None:
        assert list(validator.iter_errors(document)) == []

    @pytest.mark.parametrize(
        "document",
        [
            {"wbe": {}},
            {"web": {"port": "x"}},
            {"web": {"port": 70000}},
            {"gateway": {"busy": "stear"}},
            {"gateway": {"busy_file": "x"}},
            {"platforms": {"matrix": {}}},
            {"platforms": {"telegram": {"accounts": {"ops": {"tokn": "x"}}}}},
        ],
    )
    def test_it_refuses_what_is_wrong(self, validator: Draft202012Validator, document: dict[str, Any]) -> None:
        assert list(validator.iter_errors(document))

    def test_it_says_what_each_key_means(self, root: type[BaseModel]) -> None:
        schema = json_schema(root)
        assert schema["properties"]["model"]["description"] == "The model that answers."
        assert schema["$defs"]["GatewaySettings"]["properties"]["max_queue"]["description"].startswith(
            "Messages that may"
        )
        assert schema["$defs"]["Telegram"]["properties"]["token"]["description"].startswith("The bot's token")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a",
        "off",
        "null",
        "5",
        "a: b",
        "# x",
        "é🤖",
        "tab\there",
        "line\nbreak",
        "\u2028",
        "\x7f\x85",
        '"',
        "\\",
        "${X}",
    ],
)
def test_a_value_is_written_so_that_yaml_reads_it_back(value: str) -> None:
    line = written({"k": [value, {value or "x": value}]})
    assert "\n" not in line
    assert plain(parse(f"top: {line}\n", Origin())) == {"top": {"k": [value, {value or "x": value}]}}
