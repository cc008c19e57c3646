"""The homes of profiles: which there can be, what of their files counts, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.app.plan import plan_of
from gateway.config import change
from gateway.home import Home
from gateway.sessions.profiles import Route
from tests.unit.config.conftest import Read, Wrong

RULES = """
profiles:
- home: homes/coder
  match: {platform: telegram, chat: "-100"}
"""
ENDPOINT = "model: {default: small, base_url: 'http://a/v1', api_key: secret-of-the-gateway, max_tokens: 5}"


@pytest.fixture
def coder(tmp_path: Path) -> Path:
    """The home of a profile, with nothing in it."""
    home = tmp_path / "homes" / "coder"
    home.mkdir(parents=True)
    return home


def test_a_profile_is_called_as_its_home_and_a_home_is_looked_for_in_the_gateways(read: Read, coder: Path) -> None:
    config = read(RULES)
    assert {name: own.home for name, own in config.profiles.items()} == {"coder": Home(coder)}
    assert plan_of(config).routes == (Route("coder", platform="telegram", chat="-100"),)
    assert [(profile.name, profile.home) for profile in plan_of(config).others] == [("coder", coder)]
    assert config.warnings == ()


def test_several_rules_lead_to_one_home_and_to_the_gateways_own(read: Read, coder: Path) -> None:
    rules = f"[{{home: homes/coder, match: {{chat: a}}}}, {{home: ., match: {{chat: b}}}}, {{home: {coder}/}}]"
    config = read(f"profiles: {rules}")
    assert config.routed == ("coder", "main", "coder")
    assert list(config.profiles) == ["coder"]


def test_a_home_settles_how_its_agent_thinks_and_nothing_else(read: Read, coder: Path) -> None:
    (coder / "config.yaml").write_text(
        "agent: {max_turns: 3}\nmemory: {memory_char_limit: 500}\nweb: {port: 1}\nplatforms:\n  telegram: {token: t}\n"
    )
    config = read(RULES + "web: {port: 2}\nagent: {max_turns: 7}\nsessions: {group_sessions_per_user: false}")
    own = config.profiles["coder"].settings
    assert (own.agent.max_turns, own.memory.memory_char_limit, own.web.port) == (3, 500, 2)
    assert not own.sessions.group_sessions_per_user
    assert (config.settings.agent.max_turns, config.settings.memory.memory_char_limit) == (7, 2200)
    assert sorted(config.warnings) == [
        "coder/config.yaml:3:7: web.port: has no effect in a profile: the gateway's counts",
        "coder/config.yaml:5:14: platforms.telegram.token: has no effect in a profile: the gateway's counts",
    ]


def test_what_is_not_in_effect_anywhere_is_not_in_a_profile(read: Read, coder: Path) -> None:
    (coder / "config.yaml").write_text("voice: {speak: {model: m}}")
    assert read(RULES).warnings == (
        "coder/config.yaml:1:17: voice.speak.model: accepted, but not in effect in this version",
    )


def test_a_home_that_names_no_model_has_the_gateways(read: Read, coder: Path) -> None:
    config = read(RULES + ENDPOINT + "\nfallback_providers: [{name: other, model: m, base_url: 'http://b/v1'}]")
    assert config.profiles["coder"].settings.model == config.settings.model
    assert config.profiles["coder"].settings.fallback_providers == config.settings.fallback_providers


def test_a_home_that_names_a_model_has_it_at_the_gateways_endpoint(read: Read, coder: Path) -> None:
    (coder / "config.yaml").write_text("model: {default: large, timeout_seconds: 9}")
    model = read(RULES + ENDPOINT).profiles["coder"].settings.model
    assert (model.default, model.base_url, model.max_tokens, model.timeout_seconds) == ("large", "http://a/v1", None, 9)
    assert model.api_key.get_secret_value() == "secret-of-the-gateway"


def test_a_home_with_an_endpoint_is_not_given_the_gateways_key(read: Read, coder: Path) -> None:
    (coder / "config.yaml").write_text("model: {default: m, base_url: 'http://b/v1'}")
    environ = {"OPENAI_API_KEY": "secret-of-the-gateway", "OPENAI_BASE_URL": "http://a/v1"}
    config = read(RULES, environ=environ)
    model = config.profiles["coder"].settings.model
    assert (model.base_url, model.api_key.get_secret_value()) == ("http://b/v1", "")
    assert config.settings.model.base_url == "http://a/v1"


def test_variables_of_a_profile_are_its_own_before_they_are_the_environments(read: Read, coder: Path) -> None:
    (coder / ".env").write_text("OPENAI_API_KEY=secret-of-the-coder\nLIMIT=500\n")
    (coder / "config.yaml").write_text(
        "model: {base_url: 'http://${WHERE}/v1'}\n"
        "memory: {memory_char_limit: '${LIMIT}', user_char_limit: '${USER_LIMIT}'}"
    )
    environ = {"WHERE": "c", "LIMIT": "1", "USER_LIMIT": "700", "HERMES_GATEWAY__MEMORY__MEMORY_CHAR_LIMIT": "900"}
    config = read(RULES, environ=environ)
    own = config.profiles["coder"].settings
    assert (own.model.base_url, own.model.api_key.get_secret_value()) == ("http://c/v1", "secret-of-the-coder")
    assert (own.memory.memory_char_limit, own.memory.user_char_limit) == (500, 700)
    assert config.settings.memory.memory_char_limit == 900


def test_secrets_of_a_profile_are_hidden_like_ours(read: Read, coder: Path) -> None:
    (coder / ".env").write_text("OPENAI_API_KEY=secret-of-the-coder\n")
    config = read(RULES + ENDPOINT)
    assert config.secrets >= {"secret-of-the-coder", "secret-of-the-gateway"}
    assert config.profiles["coder"].secrets == config.secrets
    assert "secret-of-the" not in repr(config)


def test_a_soul_of_a_profile_is_its_own(read: Read, coder: Path, tmp_path: Path) -> None:
    (coder / "SOUL.md").write_text("You are the coder.")
    (coder / "config.yaml").write_text("skills: {disabled: [a]}")
    config = read(RULES)
    assert config.profiles["coder"].home.soul_file.read_text() == "You are the coder."
    assert config.home.path == tmp_path


def test_what_is_wrong_in_a_profile_is_said_with_its_name(wrong: Wrong, coder: Path) -> None:
    (coder / "config.yaml").write_text("agent:\n  max_turns: many\nmemoryx: {}\n")
    assert wrong(RULES) == [
        "coder/config.yaml:2:14: agent.max_turns: expects a whole number, got text",
        "coder/config.yaml:3:1: memoryx: unknown key; did you mean memory?",
    ]
    (coder / "config.yaml").write_text("agent: [")
    (coder / ".env").write_text("no value")
    assert [line.partition(": ")[0] for line in wrong(RULES)] == ["coder/.env:1:1", "coder/config.yaml:1:9"]


@pytest.mark.parametrize(
    ("home", "said"),
    [
        ("none", "there is no folder {}/none; make it, with a config.yaml or a SOUL.md in it, or take the rule out"),
        ("file", "there is no folder {}/file; make it, with a config.yaml or a SOUL.md in it, or take the rule out"),
        ("~nobody-here/a", "there is no folder {}/~nobody-here/a; make it, with a config.yaml or a SOUL.md in it, or"),
        ("round", "there is no folder {}/round; make it, with a config.yaml or a SOUL.md in it, or take the rule out"),
        ('"a\\0b"', "there is no folder {}/a\0b; make it, with a config.yaml or a SOUL.md in it, or take the rule out"),
        ("homes/main", "a profile cannot be called main, as the folder is; give the folder another name"),
        ("/", "a profile cannot be called nothing, as the folder is; give the folder another name"),
        ("workspaces/a", "the home {0}/workspaces/a lies in {0}/workspaces, where the agent of main reads files; move"),
        ("shelf/a", "the home {0}/shelf/a lies in {0}/shelf, where the agent of main reads files; move one of the two"),
    ],
)
def test_a_home_that_cannot_be_is_refused(wrong: Wrong, tmp_path: Path, home: str, said: str) -> None:
    for name in ("homes/main", "workspaces/a", "shelf/a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (line,) = wrong(f"workspace: {{read_dirs: [{tmp_path}/shelf]}}\nprofiles:\n- home: {home}\n")
    assert line.startswith(f"config.yaml:3:9: profiles.0.home: {said.format(tmp_path)}")


def test_two_homes_of_one_name_are_told_apart_by_nobody(wrong: Wrong, tmp_path: Path) -> None:
    for name in ("a/coder", "b/coder"):
        (tmp_path / name).mkdir(parents=True)
    (line,) = wrong("profiles:\n- home: a/coder\n- home: b/coder\n")
    assert line.startswith(
        f"config.yaml:3:9: profiles.1.home: {tmp_path}/a/coder is called coder, too, and profiles are"
    )
    assert line.endswith("; rename one of the folders")


def test_one_folder_is_the_home_of_one_profile_whatever_links_lead_to_it(
    wrong: Wrong, tmp_path: Path, coder: Path
) -> None:
    (tmp_path / "twin").symlink_to(coder)
    (line,) = wrong("profiles:\n- home: homes/coder\n- home: twin\n")
    assert line.startswith(
        f"config.yaml:3:9: profiles.1.home: {tmp_path}/twin is the home of the profile coder under another name"
    )
    assert line.endswith(f"; write {coder}")


def test_no_profile_has_skills_in_a_folder_that_holds_another_home(wrong: Wrong, tmp_path: Path, coder: Path) -> None:
    other = coder.parent / "house"
    other.mkdir()
    (other / "config.yaml").write_text(f"skills: {{external_dirs: [{coder}]}}")
    (line,) = wrong("profiles:\n- home: homes/coder\n- home: homes/house\n")
    assert f"the home {coder} lies in {coder}, where the agent of house reads files" in line


def test_no_profile_reads_the_gateways_home(wrong: Wrong, coder: Path, tmp_path: Path) -> None:
    (coder / "config.yaml").write_text(f"workspace: {{read_dirs: [{tmp_path.parent}]}}")
    said = wrong(RULES)
    assert any(
        f"the home {tmp_path} lies in {tmp_path.parent}, where the agent of coder reads files" in s for s in said
    )


def test_a_link_is_looked_through(wrong: Wrong, tmp_path: Path) -> None:
    (tmp_path / "workspaces" / "a").mkdir(parents=True)
    (tmp_path / "coder").symlink_to(tmp_path / "workspaces" / "a")
    (line,) = wrong("profiles: [{home: coder}]")
    assert "where the agent of main reads files" in line


def test_a_rule_for_api_keys_waits_for_the_api(read: Read, coder: Path) -> None:
    (warning,) = read("profiles: [{home: homes/coder, match: {key: mine}}]").warnings
    assert warning.endswith("profiles.0.match.key: accepted, but not in effect in this version")


def test_a_change_that_makes_a_profile_impossible_is_not_made(read: Read, tmp_path: Path, coder: Path) -> None:
    read(RULES)
    coder.rmdir()
    with pytest.raises(Exception, match="there is no folder"):
        change(Home(tmp_path), "web.port", "9", environ={})
    assert "9" not in (tmp_path / "config.yaml").read_text()


def test_a_key_of_the_gateways_is_pointed_out_in_a_profile_however_it_is_spelled(read: Read, coder: Path) -> None:
    """CONF-02: nobody takes a list of people in a profile for one that lets somebody in."""
    (coder / "config.yaml").write_text(
        "platforms:\n  telegram:\n    alowed_users: [1, 2]\n  telegarm: {token: t}\naccess: {owner: telegram:1}\n"
    )
    places = {line.split(": has no effect")[0] for line in read(RULES).warnings}
    assert places == {
        "coder/config.yaml:3:20: platforms.telegram.alowed_users.0",
        "coder/config.yaml:3:23: platforms.telegram.alowed_users.1",
        "coder/config.yaml:4:21: platforms.telegarm.token",
        "coder/config.yaml:5:17: access.owner",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("skils: {disabled: [x]}", "coder/config.yaml:1:1: skils: unknown key; did you mean skills?"),
        ("alowed_users: [1]", "coder/config.yaml:1:1: alowed_users: unknown key"),
        ("agent: {search: {enabled: false}}", "coder/config.yaml:1:9: agent.search: unknown key"),
        ("skills: {curater: {enabled: false}}", "skills.curater: unknown key; did you mean curator?"),
        ("agent: {context_file_max_chars: -1}", "agent.context_file_max_chars: must be at least 1000"),
        ("skills: {curator: {archive_after_days: 90d}}", "expects a number, got text; write the number alone"),
        ("platform_hints: {telegram: text}", "platform_hints.telegram: expects keys with values, got text"),
    ],
)
def test_a_key_of_its_own_is_checked_in_a_profile_as_in_the_gateway(
    wrong: Wrong, coder: Path, text: str, said: str
) -> None:
    """CONF-02, CONF-03: what is wrong with a profile is found at the start, and not in the first turn."""
    (coder / "config.yaml").write_text(text)
    (line,) = wrong(RULES)
    assert said in line


@pytest.mark.parametrize("value", ["''", "'${NOT_SET_ANYWHERE}'"])
def test_a_condition_that_is_empty_is_pointed_out(read: Read, coder: Path, value: str) -> None:
    """CONF-03: a variable that is not set gives an agent every chat, and somebody is told."""
    assert read(f"profiles: [{{home: homes/coder, match: {{platform: telegram, chat: {value}}}}}]").warnings == (
        "config.yaml:1:60: profiles.0.match.chat: is empty, so that anything fits; take it out if that is meant",
    )
    assert read("profiles: [{home: homes/coder}]").warnings == ()
