"""Older spellings, and what the reference has and we have not.

In: the tree of the file. Out: the same tree in today's spelling, and a warning for each change. What moved is taken
over unless the new key is there too; a setting of the reference that the gateway does not use is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from pydantic import BaseModel

from gateway.config.node import Branch, Entry, Items, Leaf, Node, Path, Scalar, find, pop, put, said
from gateway.config.shape import find as find_slot

Warn = Callable[[str], None]

MOVED = {
    "context.threshold_percent": "compression.threshold",
    "context.protect_first_n": "compression.protect_first_n",
    "context.summary_target_ratio": "compression.target_ratio",
    "context.summary_model_override": "auxiliary.compression.model",
    "display.busy_input_mode": "gateway.busy",
    "group_sessions_per_user": "sessions.group_sessions_per_user",
    "thread_sessions_per_user": "sessions.thread_sessions_per_user",
    "timezone": "gateway.timezone",
    "session_reset.mode": "sessions.reset.mode",
    "session_reset.at_hour": "sessions.reset.at_hour",
    "session_reset.idle_minutes": "sessions.reset.idle_minutes",
    "logging.level": "log.level",
    "logging.max_size_mb": "log.max_megabytes",
    "logging.backup_count": "log.keep",
    "personalities": "agent.personalities",
    "curator.enabled": "skills.curator.enabled",
    "curator.interval_hours": "skills.curator.interval_hours",
    "curator.min_idle_hours": "skills.curator.min_idle_hours",
    "curator.stale_after_days": "skills.curator.stale_after_days",
    "curator.archive_after_days": "skills.curator.archive_after_days",
    "context_file_max_chars": "agent.context_file_max_chars",
    "terminal.timeout": "terminal.timeout_seconds",
    "terminal.docker_image": "terminal.image",
    "approvals.timeout": "approvals.timeout_seconds",
    "approvals.cron_mode": "approvals.unattended",
    "auxiliary.title_generation": "auxiliary.title",
    "auxiliary.compression.timeout": "auxiliary.compression.timeout_seconds",
    "auxiliary.background_review.timeout": "auxiliary.background_review.timeout_seconds",
    "auxiliary.title.timeout": "auxiliary.title.timeout_seconds",
    "auxiliary.approval.timeout": "auxiliary.approval.timeout_seconds",
    "auxiliary.vision.timeout": "auxiliary.vision.timeout_seconds",
}
YES = ("true", "yes", "on", "1", "approve", "enabled")
WORDS: dict[str, dict[str, str]] = {
    "approvals.mode": {"smart": "model", "manual": "ask"},
    "approvals.unattended": {"approve": "allow"},
    "memory.write_approval": {**dict.fromkeys(YES, "stage"), "false": "allow", "off": "allow", "no": "allow"},
    "agent.tool_use_enforcement": {"true": "on", "false": "off"},
    "display.memory_notifications": {"true": "on", "false": "off"},
    "log.level": {"warn": "warning", "critical": "error", "fatal": "error", "notset": "debug"},
}
LENIENT = ("approvals.mode", "terminal.backend", "agent.tool_use_enforcement", "display.memory_notifications")
"""Choices that are called the same in the reference: a word of its that we do not know is no mistake, and our default
is no less careful. So are those that came from its other keys."""
UNUSED = tuple(
    """
    _config_version providers credential_pool_strategies max_concurrent_sessions max_live_sessions
    model.provider model.ollama_num_ctx model.default_headers model.streaming model.api_mode
    agent.gateway_* agent.restart_drain_timeout agent.api_max_retries agent.service_tier agent.intent_ack_continuation
    agent.task_completion_guidance agent.parallel_tool_call_guidance agent.environment_* agent.coding_*
    agent.verify_* agent.max_verify_nudges agent.clarify_timeout agent.local_stream_stale_timeout
    agent.image_input_mode agent.disabled_toolsets agent.reasoning_overrides
    compression.hygiene_* compression.codex_* compression.micro_compact_* compression.tail_mode
    compression.context_timeout compression.context_ceiling compression.ceiling compression.failure_cooldown
    compression.max_turn_hold compression.compact_threshold
    file_read_max_chars tool_output tool_loop_guardrails
    skills.template_vars skills.inline_shell* skills.guard_agent_created skills.platform_disabled skills.config
    curator.* auxiliary.transient_retries auxiliary.web_extract auxiliary.skills_hub auxiliary.mcp
    auxiliary.memory_query_rewrite auxiliary.tts_audio_tags auxiliary.triage_specifier auxiliary.kanban_decomposer
    auxiliary.profile_describer auxiliary.goal_judge auxiliary.curator auxiliary.monitor auxiliary.moa_*
    auxiliary.*.extra_body auxiliary.*.reasoning_effort auxiliary.*.download_timeout auxiliary.title.enabled
    auxiliary.title.language
    delegation sessions.auto_prune sessions.retention_days sessions.vacuum_after_prune sessions.min_interval_hours
    sessions.write_json_snapshots prompt_caching display.streaming goals privacy security
    approvals.destructive_slash_confirm approvals.mcp_reload_confirm tools hooks honcho
    session_reset.notify session_reset.notify_exclude_platforms session_reset.bg_process_max_age_hours
    terminal.cwd terminal.home_mode terminal.lifetime_seconds terminal.font_family terminal.docker_* terminal.ssh_*
    terminal.singularity_image terminal.modal_image terminal.daytona_image terminal.container_* terminal.sudo_password
    agent.verbose agent.reasoning_effort agent.fast_auto_seconds agent.restart_after_turn_timeout
    agent.cron_drain_timeout agent.build_wait_timeout agent.auto_recovery_cycles agent.session_stall_timeout
    agent.sanitizer_* compression.checkpoint_required cron.catch_up_missed plugins.clone_timeout_seconds
    display.compact display.cleanup_progress display.suppress_warning_notifications display.skin display.bell_*
    display.background_process_notifications display.interim_assistant_messages display.long_running_notifications
    display.busy_ack_detail display.timestamps display.personality
    streaming.transport streaming.edit_interval streaming.buffer_threshold streaming.cursor
    database.journal_mode database.wal_autocheckpoint database.journal_size_limit database.synchronous
    auth.adopt_external_logins auth.codex_login_flow
    runtime attachments kanban browser stt tts image_gen wake_word human_delay code_execution telemetry updates
    model_aliases worktree worktree_sync lsp tool_budget timeouts openrouter provider_routing hooks_auto_accept
    """.split()  # noqa: SIM905 (a table, to be read)
)


def modernise(tree: Branch, root: type[BaseModel], warn: Warn) -> None:
    """Bring the tree into today's spelling."""
    _short_model(tree, warn)
    moved = [new for old, new in MOVED.items() if _move(tree, tuple(old.split(".")), tuple(new.split(".")), warn)]
    _quiet(tree, warn)
    for key, words in WORDS.items():
        _reword(tree, tuple(key.split(".")), words, warn)
    _toolsets(tree, warn)
    _drop_presets(tree, warn)
    _drop_commands(tree, warn)
    _drop(tree, warn)
    for key in (*LENIENT, *moved):
        _know(tree, root, tuple(key.split(".")), warn)
    for section in ("session_reset", "logging", "platform_toolsets", "database", "auth", "curator"):
        left = find(tree, (section,))
        if left and isinstance(left.node, Branch) and not left.node.entries:
            pop(tree, (section,))


def _short_model(tree: Branch, warn: Warn) -> None:
    entry = find(tree, ("model",))
    if entry and isinstance(entry.node, Leaf) and entry.node.value is not None:
        put(tree, ("model",), Entry(entry.key, Branch(entry.key, {"default": Entry(entry.key, entry.node)})))
        warn(f"{entry.key}: model: NAME is now model.default")


def _move(tree: Branch, old: Path, new: Path, warn: Warn) -> bool:
    """Take a value over; say whether there was one that was."""
    entry = pop(tree, old)
    if entry is None:
        return False
    if find(tree, new) is not None:
        warn(f"{entry.key}: {said(old)} is now {said(new)}, which is set as well; the older one is ignored")
        return False
    put(tree, new, Entry(entry.key, _percent(entry.node) if old[-1] == "threshold_percent" else entry.node))
    warn(f"{entry.key}: {said(old)} is now {said(new)}")
    return True


def _percent(node: Node) -> Node:
    """Read 50 as 0.5; the older key was called percent, and meant a share."""
    if isinstance(node, Leaf) and isinstance(node.value, (int, float)) and 1 < node.value <= 100:
        share = node.value / 100
        return Leaf(str(share), share, node.origin)
    return node


def _quiet(tree: Branch, warn: Warn) -> None:
    entry = pop(tree, ("context", "quiet_mode"))
    if entry is None:
        return
    level = ("log", "levels", "compression")
    if isinstance(entry.node, Leaf) and entry.node.text.lower() in YES and find(tree, level) is None:
        put(tree, level, Entry(entry.key, Leaf("warning", "warning", entry.node.origin)))
    warn(f"{entry.key}: context.quiet_mode: true is now log.levels.compression: warning")


def _reword(tree: Branch, path: Path, words: dict[str, str], warn: Warn) -> None:
    entry = find(tree, path)
    if entry is None or not isinstance(entry.node, Leaf):
        return
    word = entry.node.text.lower()
    new = words.get(word, word if path == ("log", "level") else entry.node.text)
    if new == entry.node.text:
        return
    put(tree, path, Entry(entry.key, Leaf(new, new, entry.node.origin)))
    if new != word:
        warn(f"{entry.node.origin}: {said(path)} is now written {new}")


def _toolsets(tree: Branch, warn: Warn) -> None:
    entry = find(tree, ("toolsets",))
    if entry is None or not isinstance(entry.node, Items):
        return
    nodes: list[Node] = []
    for node in entry.node.nodes:
        if isinstance(node, Leaf) and node.text.startswith("hermes-"):
            warn(f"{node.origin}: toolsets: {node.text} is now default")
            node = Leaf("default", "default", node.origin)
        nodes.append(node)
    put(tree, ("toolsets",), Entry(entry.key, Items(nodes, entry.node.origin)))


def _drop_presets(tree: Branch, warn: Warn) -> None:
    """Drop the tools of a platform that are the reference's default there; others would be fewer, and are a mistake."""
    section = find(tree, ("platform_toolsets",))
    if section is None or not isinstance(section.node, Branch):
        return
    kept = {name: entry for name, entry in section.node.entries.items() if not _is_preset(entry.node)}
    if len(kept) < len(section.node.entries):
        warn(f"{section.key}: platform_toolsets: the hermes-* presets are the default here; they are ignored")
    section.node.entries.clear()
    section.node.entries.update(kept)


def _is_preset(node: Node) -> bool:
    return isinstance(node, Items) and all(
        isinstance(one, Leaf) and one.text.startswith("hermes-") for one in node.nodes
    )


def _drop_commands(tree: Branch, warn: Warn) -> None:
    """Drop quick commands of the reference's kind, which run a program of the host."""
    section = find(tree, ("quick_commands",))
    if section is None or not isinstance(section.node, Branch):
        return
    for name, entry in list(section.node.entries.items()):
        if isinstance(entry.node, Branch) and "type" in entry.node.entries:
            del section.node.entries[name]
            warn(
                f"{entry.key}: {said(('quick_commands', name))}: commands with a type are not known here; it is ignored"
            )


def _drop(tree: Branch, warn: Warn) -> None:
    for path, entry in list(_entries(tree)):
        if any(fnmatchcase(said(path), pattern) and len(path) == pattern.count(".") + 1 for pattern in UNUSED):
            pop(tree, path)
            warn(f"{entry.key}: {said(path)}: a setting of hermes-agent that the gateway does not use")


def _entries(tree: Branch, path: Path = ()) -> Iterator[tuple[Path, Entry]]:
    for key, entry in tree.entries.items():
        yield (*path, key), entry
        if isinstance(entry.node, Branch):
            yield from _entries(entry.node, (*path, key))


def _know(tree: Branch, root: type[BaseModel], path: Path, warn: Warn) -> None:
    entry, slot = find(tree, path), find_slot(root, path)
    if entry is None or slot is None or not slot.words or not isinstance(entry.node, Leaf):
        return
    if entry.node.text in slot.words:
        return
    pop(tree, path)
    default: Scalar = slot.field.default if slot.field else None
    accepted = ", ".join(slot.words)
    warn(f"{entry.node.origin}: {said(path)}: expects one of {accepted}; {default} holds until it is one of them")
