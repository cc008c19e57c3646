"""What is said of a mistake: its place, the key, what is accepted, the nearest spelling. Never what was written."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Read, Wrong

BAD_NUMBERS = ["abc", "30s", "inf", "-inf", "nan", "1,5", "٣", "--", "10 000", "9" * 400]


def test_an_unknown_key_is_named_with_its_place_and_the_nearest(wrong: Wrong) -> None:
    text = "web:\n  port: 1\nplatforms:\n  telegram:\n    alowed_users: [1]\n"
    assert wrong(text) == ["config.yaml:5:5: platforms.telegram.alowed_users: unknown key; did you mean allowed_users?"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wbe: {}", "wbe: unknown key; did you mean web?"),
        ("web: {prot: 1}", "web.prot: unknown key; did you mean port?"),
        ("web: {zzz: 1}", "web.zzz: unknown key"),
        ("require_mention: true", "require_mention: unknown key; did you mean platforms.telegram.require_mention?"),
        ("max_turns: 3", "max_turns: unknown key; did you mean agent.max_turns?"),
        ("agent: {web_search: {backend: x}}", "agent.web_search: unknown key; did you mean web_search?"),
        ("telegram: {token: x}", "telegram: unknown key; did you mean platforms.telegram?"),
        ("platforms: {telegarm: {}}", "platforms.telegarm: unknown key; did you mean telegram?"),
        ("model: {api_key_fil: x}", "model.api_key_fil: unknown key; did you mean api_key_file?"),
        ("'a.b': 1", '"a.b": unknown key'),
        ("gateway: {agent_cache: {max_entris: 1}}", "gateway.agent_cache.max_entris: unknown key; did you mean max_"),
        ("fallback_providers: [{namee: x, model: m}]", "fallback_providers.0.namee: unknown key; did you mean name?"),
        ("mcp_servers: {x: {commandd: c}}", "mcp_servers.x.commandd: unknown key; did you mean command?"),
        ("platforms: {telegram: {accounts: {a: {tokn: x}}}}", "platforms.telegram.accounts.a.tokn: unknown key; did"),
        ("🤖: 1", "🤖: unknown key"),
    ],
)
def test_the_nearest_key_is_found_wherever_it_stands(wrong: Wrong, text: str, said: str) -> None:
    """CONF-02: a key that is misspelled or stands elsewhere is refused with the one that was meant."""
    assert any(line.partition(": ")[2].startswith(said) for line in wrong(text)), wrong(text)


def test_an_unknown_platform_is_told_which_there_are(wrong: Wrong) -> None:
    (line,) = wrong("platforms: {matrix: {}}")
    assert line.startswith("config.yaml:1:13: platforms.matrix: unknown key; there are discord, slack, telegram")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agent: {max_turns: many}", "1:20: agent.max_turns: expects a whole number, got text"),
        ("agent: {max_turns: 1.5}", "1:20: agent.max_turns: expects a whole number, got a number"),
        ("agent: {max_turns: 30s}", "1:20: agent.max_turns: expects a whole number, got text; write the number alone"),
        ("agent: {max_turns: true}", "1:20: agent.max_turns: expects a whole number, got true"),
        ("agent: {max_turns: [1]}", "1:9: agent.max_turns: expects a whole number, got a list"),
        ("agent: {max_turns: }", "1:19: agent.max_turns: expects a whole number, got nothing"),
        ("agent: {max_turns: 0}", "1:20: agent.max_turns: must be at least 1"),
        ("agent: {max_turns: 99999999}", "1:20: agent.max_turns: must be at most 10000"),
        ("compression: {threshold: 1}", "1:26: compression.threshold: must be less than 1"),
        ("compression: {threshold: x}", "1:26: compression.threshold: expects a number, got text"),
        ("compression: {threshold: .inf}", "1:26: compression.threshold: expects a number, got text"),
        ("compression: {threshold: 1e999}", "1:26: compression.threshold: expects a number, got text"),
        ("compression: {micro_compact: true}", "1:30: compression.micro_compact: is not built yet; leave it false"),
        ("streaming: {enabled: 1}", "1:22: streaming.enabled: expects true or false, got a number"),
        ("streaming: {enabled: yes}", "1:22: streaming.enabled: expects true or false, got text"),
        ("model: {default: true}", "1:18: model.default: expects text, got true"),
        ("access: {owners: telegram:1}", "1:18: access.owners: expects a list, got text; write it in brackets"),
        ("access: {owners: ''}", "1:18: access.owners: expects a list, got nothing; write it in brackets"),
        ("access: {owners: {a: b}}", "1:10: access.owners: expects a list, got keys with values"),
        ("web: 8642", "1:6: web: expects keys with values, got a number"),
        ("web: [1]", "1:1: web: expects keys with values, got a list"),
        ("prices: {m: 1}", "1:13: prices.m: expects keys with values, got a number"),
        ("platforms: x", "1:1: platforms: expects keys with values"),
        ("platforms: {telegram: x}", "1:13: platforms.telegram: expects keys with values"),
        ("platforms: {telegram: {accounts: [a]}}", "1:24: platforms.telegram.accounts: expects keys with values"),
        (
            "gateway: {busy: stear}",
            "1:17: gateway.busy: expects one of queue, steer, interrupt, got text; did you mean st",
        ),
        ("gateway: {busy: x}", "1:17: gateway.busy: expects one of queue, steer, interrupt, got text"),
        ("gateway: {timezone: Europe/Pariss}", "1:21: gateway.timezone: expects the name of a time zone"),
        ("gateway: {timezone: ../../etc/passwd}", "1:21: gateway.timezone: expects the name of a time zone"),
        ("gateway: {database: ''}", "1:21: gateway.database: must not be empty"),
        ("fallback_providers: [{name: a}]", "1:22: fallback_providers.0.model: is missing"),
        ("access: {dm_policy: open}", "1:1: access: a policy of open needs allow_all: true"),
        ("workspace: {per: fixed}", "1:1: workspace: per: fixed needs a dir"),
        ("mcp_servers: {x: {}}", "1:15: mcp_servers.x: needs either command or url"),
        ("quick_commands: {x: {reply: a, prompt: b}}", "1:18: quick_commands.x: needs either reply or prompt"),
        ("cron: {quiet_hours: {start: '25:00'}}", "1:29: cron.quiet_hours.start: does not match ^((["),
        ("access: {owners: [12345]}", "1:10: access.owners: an owner is written platform:user, such as telegram:12345"),
        ("access: {owners: [telegram:]}", "1:10: access.owners: an owner is written platform:user"),
        ("platforms: {webchat: {enabled: maybe}}", "1:32: platforms.webchat.enabled: expects true or false, or auto"),
    ],
)
def test_a_wrong_value_is_told_what_is_accepted(wrong: Wrong, text: str, said: str) -> None:
    """CONF-03: at the start, and not in the middle of the first turn."""
    (line,) = wrong(text)
    assert line.startswith(f"config.yaml:{said}")


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(wrong: Wrong) -> None:
    text = "zzz: 1\nweb: {port: x}\nagent: {max_turns: 0}\nplatforms:\n  telegram: {mode: x}\n  zzz: {}\n"
    assert [line.split(": ")[:2] for line in wrong(text)] == [
        ["config.yaml:1:1", "zzz"],
        ["config.yaml:2:13", "web.port"],
        ["config.yaml:3:20", "agent.max_turns"],
        ["config.yaml:5:20", "platforms.telegram.mode"],
        ["config.yaml:6:3", "platforms.zzz"],
    ]


def test_mistakes_of_the_file_of_dotenv_and_of_the_environment_are_told_together(wrong: Wrong) -> None:
    lines = wrong(
        "web: {prot: 1}",
        dotenv="\nHERMES_GATEWAY__AGENT__MAX_TURNS=x",
        environ={"HERMES_GATEWAY__STREAMING__ENABLED": "perhaps"},
    )
    assert lines == [
        "HERMES_GATEWAY__STREAMING__ENABLED: streaming.enabled: expects true or false, got text",
        ".env:2:1: HERMES_GATEWAY__AGENT__MAX_TURNS: agent.max_turns: expects a whole number, got text",
        "config.yaml:1:7: web.prot: unknown key; did you mean port?",
    ]


class TestVariables:
    @pytest.mark.parametrize("key", ["MODEL__DEFAULT", "ACCESS__OWNERS", "WEB__PORT"])
    def test_bytes_that_are_no_text_are_refused(self, wrong: Wrong, key: str) -> None:
        (line,) = wrong(environ={f"HERMES_GATEWAY__{key}": "xyz\udce9"})
        path = key.lower().replace("__", ".")
        assert line == f"HERMES_GATEWAY__{key}: {path}: holds bytes that are no UTF-8 text"

    @pytest.mark.parametrize("text", [*BAD_NUMBERS, ""])
    @pytest.mark.parametrize("key", ["MODEL__TIMEOUT_SECONDS", "AGENT__MAX_TURNS"])
    def test_a_number_that_is_none_is_refused_with_the_variable_s_name(self, wrong: Wrong, key: str, text: str) -> None:
        """CONF-03: what the environment says is no exception."""
        (line,) = wrong(environ={f"HERMES_GATEWAY__{key}": text})
        assert line.startswith(f"HERMES_GATEWAY__{key}: {key.lower().replace('__', '.')}: expects a ")
        assert "number" in line

    @pytest.mark.parametrize("text", ["-1", "1e9", "0"])
    def test_a_number_beyond_reason_is_refused(self, wrong: Wrong, text: str) -> None:
        (line,) = wrong(environ={"HERMES_GATEWAY__MODEL__TIMEOUT_SECONDS": text})
        assert line.startswith("HERMES_GATEWAY__MODEL__TIMEOUT_SECONDS: model.timeout_seconds: must be ")

    def test_a_unit_is_told_to_go(self, wrong: Wrong) -> None:
        (line,) = wrong(environ={"HERMES_GATEWAY__MODEL__TIMEOUT_SECONDS": "30s"})
        assert line.endswith("got text; write the number alone, without a unit")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("WEB__PROT", "web.prot: unknown key; did you mean HERMES_GATEWAY__WEB__PORT?"),
            ("PORT", "port: unknown key; did you mean HERMES_GATEWAY__WEB__PORT?"),
            ("WEB____PORT", 'web."".port: unknown key'),
            ("", '"": unknown key'),
            ("WEB__PORT__X", "web.port.x: unknown key"),
            (
                "PLATFORMS__TELEGRAM__TOKNE",
                "platforms.telegram.tokne: unknown key; did you mean HERMES_GATEWAY__PLATFORMS",
            ),
        ],
    )
    def test_a_name_that_is_no_key_is_refused_with_the_nearest(self, wrong: Wrong, name: str, said: str) -> None:
        (line,) = wrong(environ={f"HERMES_GATEWAY__{name}": "1"})
        assert line.startswith(f"HERMES_GATEWAY__{name}: {said}")

    def test_names_that_only_look_alike_are_others(self, read: Read) -> None:
        config = read(
            environ={"HERMES_GATEWAY_BUSY_INPUT_MODE": "steer", "HERMES_HOME_X": "1", "GATEWAY__WEB__PORT": "1"}
        )
        assert config.settings.gateway.busy == "queue"

    def test_a_variable_that_the_file_asks_for_and_does_not_find_is_named(self, wrong: Wrong) -> None:
        (line,) = wrong("web: {port: '${MY_PORT}'}")
        assert line == "config.yaml:1:13: web.port: expects a whole number, got nothing; MY_PORT is not set"

    def test_a_list_that_does_not_end_is_told(self, wrong: Wrong) -> None:
        (line, *_) = wrong(environ={"HERMES_GATEWAY__ACCESS__OWNERS": "[hunter2"})
        assert line == "HERMES_GATEWAY__ACCESS__OWNERS: not YAML: a bracket that does not end"


ROUTE = "platforms:\n  webhook:\n    routes:\n      r:\n        auth: "


@pytest.mark.parametrize(
    ("auth", "said"),
    [
        ("{scheme: githb, secret: x}", "5:9: platforms.webhook.routes.r.auth: expects one of 'github', 'gitlab', "),
        ("{secret: x}", "5:9: platforms.webhook.routes.r.auth: needs the key 'scheme'"),
        ("{scheme: hmac, secret: x}", "5:9: platforms.webhook.routes.r.auth.header: is missing"),
        (
            "{scheme: github, secrt: x, secret: y}",
            "5:32: platforms.webhook.routes.r.auth.secrt: unknown key; did you mean",
        ),
        ("{scheme: github, secret: '${GONE}'}", "2:3: platforms.webhook: routes.r.auth.secret is empty"),
        ("{scheme: github, secret: [x]}", "5:32: platforms.webhook.routes.r.auth.secret: expects text, got a list"),
        (
            "{scheme: github, secret_file: gone}",
            "5:45: platforms.webhook.routes.r.auth.secret_file: the file cannot be",
        ),
    ],
)
def test_a_mistake_in_a_section_of_several_kinds_is_told_for_the_kind_that_is_meant(
    wrong: Wrong, auth: str, said: str
) -> None:
    assert any(line.startswith(f"config.yaml:{said}") for line in wrong(ROUTE + auth))


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"model: {{api_key: [{SECRET}]}}",
        f"model: {{api_key: {{{SECRET}: 1}}}}",
        f"web: {{port: {SECRET}}}",
        f"gateway: {{busy: {SECRET}}}",
        f"gateway: {{database: ['{SECRET}']}}",
        f"platforms: {{telegram: {SECRET}}}",
        f"platforms: {{telegram: {{token: {SECRET}}}}}",
        f"access: {{owners: {SECRET}}}",
        f"workspace: {{read_dirs: [{SECRET}]}}",
        f"web: {SECRET}",
        f"gateway: {{timezone: {SECRET}}}",
        f"a: [{SECRET}",
        f"a: *{SECRET}",
        f"a: !{SECRET} x",
        f'a: "{SECRET}',
    ],
)
def test_what_was_written_is_never_said(wrong: Wrong, text: str) -> None:
    said = "\n".join(wrong(text, environ={"MINE": SECRET, "MY_TOKEN": SECRET}))
    assert SECRET not in said.replace(f"api_key.{SECRET}", "")
    assert str(len(SECRET)) not in said.split(": ", 1)[1]


def test_a_secret_in_the_wrong_place_is_not_said_either(wrong: Wrong) -> None:
    said = wrong("web: {port: '${MY_TOKEN}'}\nworkspace: {dir: '${MY_TOKEN}'}", environ={"MY_TOKEN": SECRET})
    assert len(said) == 2
    assert SECRET not in "\n".join(said)


def test_duplicates_are_mistakes(wrong: Wrong) -> None:
    assert wrong("web: {port: 1}\nagent: {}\nweb: {port: 2}\n") == ["config.yaml:3:1: web: already set in line 1"]


def test_an_empty_section_is_no_mistake(read: Read) -> None:
    config = read("web:\nplatforms:\n  telegram:\naccess:\n  owners:\nmcp_servers:\nfallback_providers:\n")
    assert config.settings.access.owners == []
    assert config.settings.web.port == 8642
