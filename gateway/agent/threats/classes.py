"""What the scan can find: every class by its id, with the narrowest scope that looks for it."""

from __future__ import annotations

from typing import Literal

Scope = Literal["all", "context", "strict"]

SCOPES: dict[Scope, int] = {"all": 0, "context": 1, "strict": 2}
"""Nested: a scope looks for its own classes and for those of the scopes before it."""

CLASSES: dict[str, Scope] = {
    "prompt_injection": "all",
    "sys_prompt_override": "all",
    "disregard_rules": "all",
    "bypass_restrictions": "all",
    "html_comment_injection": "all",
    "hidden_div": "all",
    "translate_execute": "all",
    "deception_hide": "all",
    "exfil_curl": "all",
    "exfil_wget": "all",
    "read_secrets": "all",
    "role_hijack": "context",
    "role_pretend": "context",
    "leak_system_prompt": "context",
    "remove_filters": "context",
    "fake_update": "context",
    "identity_override": "context",
    "c2_node_registration": "context",
    "c2_heartbeat": "context",
    "c2_task_pull": "context",
    "c2_network_connect": "context",
    "forced_action": "context",
    "anti_forensic_oneliner": "context",
    "anti_forensic_disk": "context",
    "env_var_unset_agent": "context",
    "known_c2_framework": "context",
    "c2_explicit": "context",
    "c2_explicit_long": "context",
    "send_to_url": "strict",
    "context_exfil": "strict",
    "ssh_backdoor": "strict",
    "ssh_access": "strict",
    "hermes_env": "strict",
    "agent_config_mod": "strict",
    "hermes_config_mod": "strict",
    "hardcoded_secret": "strict",
}
"""In the order in which findings are given."""


def wanted(scope: Scope) -> set[str]:
    """The classes that a scope looks for."""
    return {name for name, narrowest in CLASSES.items() if SCOPES[narrowest] <= SCOPES[scope]}
