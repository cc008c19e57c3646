"""Older spellings are taken over and reported once; what the reference has and we have not is one warning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.config.conftest import Read, Wrong


def value(read: Read, text: str, key: str) -> tuple[Any, tuple[str, ...]]:
    config = read(text)
    found: Any = config.settings
    for part in key.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    return found, config.warnings


@pytest.mark.parametrize(
    ("text", "key", "meant", "warning"),
    [
        (
            "context: {threshold_percent: 0.6}",
            "compression.threshold",
            0.6,
            "context.threshold_percent is now compression",
        ),
        (
            "context: {threshold_percent: 60}",
            "compression.threshold",
            0.6,
            "context.threshold_percent is now compression",
        ),
        (
            "context: {protect_first_n: 5}",
            "compression.protect_first_n",
            5,
            "context.protect_first_n is now compression",
        ),
        (
            "context: {summary_target_ratio: 0.3}",
            "compression.target_ratio",
            0.3,
            "context.summary_target_ratio is now c",
        ),
        (
            "context: {summary_model_override: m}",
            "auxiliary.compression.model",
            "m",
            "context.summary_model_override is",
        ),
        (
            "context: {quiet_mode: true}",
            "log.levels.compression",
            "warning",
            "context.quiet_mode: true is now log.levels",
        ),
        (
            "context_file_max_chars: 30000",
            "agent.context_file_max_chars",
            30_000,
            "context_file_max_chars is now agent",
        ),
        (
            "curator: {archive_after_days: 60}",
            "skills.curator.archive_after_days",
            60,
            "curator.archive_after_days is now skills",
        ),
        ("model: gpt-5", "model.default", "gpt-5", "model: NAME is now model.default"),
        ("model: 4.1", "model.default", "4.1", "model: NAME is now model.default"),
        ("approvals: {mode: smart}", "approvals.mode", "model", "approvals.mode is now written model"),
        ("toolsets: [hermes-cli]", "toolsets.default", ["default"], "toolsets: hermes-cli is now default"),
        ("display: {busy_input_mode: steer}", "gateway.busy", "steer", "display.busy_input_mode is now gateway.busy"),
        (
            "group_sessions_per_user: false",
            "sessions.group_sessions_per_user",
            False,
            "group_sessions_per_user is now se",
        ),
        (
            "thread_sessions_per_user: true",
            "sessions.thread_sessions_per_user",
            True,
            "thread_sessions_per_user is now s",
        ),
        ("timezone: Asia/Tokyo", "gateway.timezone", "Asia/Tokyo", "timezone is now gateway.timezone"),
        (
            "session_reset: {mode: daily}",
            "sessions.reset.mode",
            "daily",
            "session_reset.mode is now sessions.reset.mode",
        ),
        (
            "session_reset: {at_hour: 5}",
            "sessions.reset.at_hour",
            5,
            "session_reset.at_hour is now sessions.reset.at_hour",
        ),
        (
            "session_reset: {idle_minutes: 9}",
            "sessions.reset.idle_minutes",
            9,
            "session_reset.idle_minutes is now sessi",
        ),
        ("logging: {level: WARNING}", "log.level", "warning", "logging.level is now log.level"),
        (
            "memory: {write_approval: true}",
            "memory.write_approval",
            "stage",
            "memory.write_approval is now written stage",
        ),
        (
            "memory: {write_approval: false}",
            "memory.write_approval",
            "allow",
            "memory.write_approval is now written allow",
        ),
        (
            "auxiliary: {vision: {timeout: 9}}",
            "auxiliary.vision.timeout_seconds",
            9,
            "auxiliary.vision.timeout is now aux",
        ),
        (
            "approvals: {timeout: 9}",
            "approvals.timeout_seconds",
            9,
            "approvals.timeout is now approvals.timeout_seconds",
        ),
        (
            "personalities: {kind: Be kind.}",
            "agent.personalities.kind",
            "Be kind.",
            "personalities is now agent.personali",
        ),
        (
            "agent: {tool_use_enforcement: true}",
            "agent.tool_use_enforcement",
            "on",
            "agent.tool_use_enforcement is now wr",
        ),
    ],
)
def test_an_older_spelling_is_taken_over_and_said_once(
    read: Read, text: str, key: str, meant: object, warning: str
) -> None:
    found, warnings = value(read, text, key)
    assert found == meant
    said = [line for line in warnings if "not in effect" not in line]
    assert len(said) == 1
    assert said[0].startswith("config.yaml:1:")
    assert said[0].partition(": ")[2].startswith(warning)


def test_a_list_of_toolsets_is_the_default_and_no_older_spelling(read: Read) -> None:
    found, warnings = value(read, "toolsets: [default, web]", "toolsets.default")
    assert found == ["default", "web"]
    assert warnings == ("config.yaml:1:1: toolsets.default: accepted, but not in effect in this version",)


def test_a_name_in_capitals_is_the_same_level(read: Read) -> None:
    assert value(read, "log: {level: INFO}", "log.level") == ("info", ())


@pytest.mark.parametrize("quiet", ["false", "no"])
def test_a_mode_that_was_not_quiet_changes_nothing(read: Read, quiet: str) -> None:
    levels, warnings = value(read, f"context: {{quiet_mode: {quiet}}}", "log.levels")
    assert levels == {}
    assert len(warnings) == 1


def test_where_old_and_new_are_set_the_new_holds(read: Read) -> None:
    found, warnings = value(read, "timezone: Asia/Tokyo\ngateway: {timezone: UTC}", "gateway.timezone")
    assert found == "UTC"
    assert warnings == (
        "config.yaml:1:1: timezone is now gateway.timezone, which is set as well; the older one is ignored",
    )


def test_a_mistake_in_an_older_key_stands_at_its_place(wrong: Wrong) -> None:
    assert wrong("\ncontext: {threshold_percent: much}") == [
        "config.yaml:2:30: compression.threshold: expects a number, got text"
    ]


UNUSED = """
_config_version: 33
providers: {openrouter: {api_key: x}}
credential_pool_strategies: {}
max_concurrent_sessions: null
max_live_sessions: 16
model: {default: m, provider: auto, ollama_num_ctx: 1, default_headers: {}, streaming: true}
agent: {max_turns: 90, gateway_timeout: 1800, api_max_retries: 3, verify_on_stop: auto, environment_probe: true}
compression: {enabled: true, hygiene_hard_message_limit: 5000, codex_gpt55_autoraise: true, tail_mode: lean}
file_read_max_chars: 100000
tool_output: {max_bytes: 50000}
tool_loop_guardrails: {}
skills: {template_vars: true, inline_shell: false, inline_shell_timeout: 10, guard_agent_created: false}
curator: {consolidate: true}
auxiliary: {transient_retries: 2, web_extract: {timeout: 360}, vision: {extra_body: {}, download_timeout: 30}}
delegation: {max_iterations: 50}
sessions: {auto_prune: false, retention_days: 90}
prompt_caching: {cache_ttl: 5m}
display: {streaming: false}
goals: {max_turns: 20}
privacy: {redact_pii: false}
security: {redact_secrets: true}
approvals: {destructive_slash_confirm: true}
tools: {tool_search: auto}
hooks: {}
honcho: {}
session_reset: {notify: true}
"""


def test_what_the_reference_has_and_we_have_not_is_one_warning_each(read: Read) -> None:
    warnings = read(UNUSED).warnings
    assert len(warnings) == len(set(warnings))
    assert all(line.endswith(": a setting of hermes-agent that the gateway does not use") for line in warnings)
    named = [line.split(": ")[1] for line in warnings]
    assert named[:7] == [
        "_config_version",
        "providers",
        "credential_pool_strategies",
        "max_concurrent_sessions",
        "max_live_sessions",
        "model.provider",
        "model.ollama_num_ctx",
    ]
    assert len(named) == 41
    assert warnings[1].startswith("config.yaml:3:1: ")


INSTALLED = """\
database: {journal_mode: wal}
runtime: {nofile_soft_limit: 4096}
attachments: {storage: hermes-home}
plugins: {clone_timeout_seconds: 300}
kanban: {review_dispatch: true}
cron: {catch_up_missed: true}
terminal: {backend: local, cwd: ., timeout: 90, home_mode: auto, docker_mount_cwd_to_workspace: false,
  lifetime_seconds: 300, container_cpu: 1, container_memory: 5120, container_disk: 51200, container_persistent: true}
browser: {inactivity_timeout: 120, extension_control: {enabled: false}}
compression: {checkpoint_required: false, threshold: 0.6}
agent: {max_turns: 500, verbose: false, reasoning_effort: medium, service_tier: "", fast_auto_seconds: 60}
gateway:
platform_toolsets: {cli: [hermes-cli], telegram: [hermes-telegram]}
stt: {enabled: true, local: {model: base}}
code_execution: {timeout: 300}
display: {compact: false, cleanup_progress: false, suppress_warning_notifications: false, skin: default,
  busy_input_mode: interrupt, background_process_notifications: concise, bell_on_complete: false, bell_on_prompt: false}
telemetry: {shared_metrics: {enabled: false}}
auth: {adopt_external_logins: true, codex_login_flow: device_code}
updates: {check: true}
"""
"""What the installer of the reference writes, as far as it is not in `UNUSED`."""


def test_a_home_as_the_reference_installs_it_works(read: Read) -> None:
    config = read(INSTALLED)
    assert config.settings.terminal.backend == "bubblewrap"
    assert config.settings.terminal.timeout_seconds == 90
    assert config.settings.compression.threshold == 0.6
    assert config.settings.gateway.busy == "interrupt"
    assert any("terminal.backend: expects one of bubblewrap" in line for line in config.warnings)


@pytest.mark.parametrize(
    "text", ["platform_toolsets: {telegram: [web]}", "database: {url: x}", "auth: {users: [1]}", "discord: {a: 1}"]
)
def test_what_would_let_more_in_or_is_not_the_reference_s_is_a_mistake(wrong: Wrong, text: str) -> None:
    (line,) = wrong(text)
    assert "unknown key" in line


@pytest.mark.parametrize(
    ("text", "key", "default"),
    [
        ("approvals: {mode: yolo}", "approvals.mode", "ask"),
        ("terminal: {backend: local}", "terminal.backend", "bubblewrap"),
        ("display: {memory_notifications: loud}", "display.memory_notifications", "on"),
        ("display: {busy_input_mode: panic}", "gateway.busy", "queue"),
        ("agent: {tool_use_enforcement: sometimes}", "agent.tool_use_enforcement", "auto"),
        ("session_reset: {mode: weekly}", "sessions.reset.mode", "none"),
        ("logging: {level: verbose}", "log.level", "info"),
    ],
)
def test_a_word_of_the_reference_that_we_do_not_know_leaves_the_default(
    read: Read, text: str, key: str, default: str
) -> None:
    found, warnings = value(read, text, key)
    assert found == default
    assert warnings[-1].startswith("config.yaml:1:")
    assert f"{key}: expects one of " in warnings[-1]
    assert warnings[-1].endswith(f"; {default} holds until it is one of them")


@pytest.mark.parametrize("text", ["memory: {write_approval: stagee}", "gateway: {busy: stear}", "log: {level: loud}"])
def test_a_word_that_would_make_us_less_careful_or_is_our_own_is_a_mistake(wrong: Wrong, text: str) -> None:
    (line,) = wrong(text)
    assert "expects one of" in line


def test_quick_commands_that_run_a_program_are_left_out(read: Read) -> None:
    commands, warnings = value(
        read, "quick_commands: {up: {type: exec, command: uptime}, hi: {reply: hello}}", "quick_commands"
    )
    assert list(commands) == ["hi"]
    assert "quick_commands.up: commands with a type are not known here; it is ignored" in warnings[0]


def test_older_spellings_hold_for_the_file_only(wrong: Wrong) -> None:
    (line,) = wrong(environ={"HERMES_GATEWAY__CONTEXT__THRESHOLD_PERCENT": "0.5"})
    assert "unknown key" in line
