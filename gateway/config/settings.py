"""All settings composed: one frozen tree, a section per room."""

from __future__ import annotations

from gateway.agent.context.settings import CompressionSettings, ContextSettings
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.tools.shell import TerminalSettings
from gateway.agent.tools.workspace import WorkspaceSettings
from gateway.config.sections.access import AccessSettings, ApprovalSettings, LimitSettings, ProfileRule
from gateway.config.sections.agent import AgentSettings, PlatformHint, ToolsetSettings
from gateway.config.sections.base import Section
from gateway.config.sections.gateway import GatewaySettings
from gateway.config.sections.operation import CronSettings, PluginSettings, Price
from gateway.config.sections.sessions import (
    DeliverySettings,
    DisplaySettings,
    QuickCommand,
    SessionSettings,
    StreamingSettings,
)
from gateway.config.sections.skills import SkillSettings
from gateway.config.sections.tools import McpServer, MediaSettings, VoiceSettings, WebSearchSettings
from gateway.llm.settings import AuxiliarySettings, FallbackSettings, ModelSettings
from gateway.log.settings import LogSettings
from gateway.web.settings import WebSettings


class Settings(Section):
    """The whole configuration but for the platforms, which are `Config.accounts`."""

    model: ModelSettings = ModelSettings()
    """The model that answers."""
    fallback_providers: list[FallbackSettings] = []
    """Endpoints asked in this order where the model fails."""
    auxiliary: AuxiliarySettings = AuxiliarySettings()
    """Models of side tasks."""
    agent: AgentSettings = AgentSettings()
    """One turn of the agent."""
    workspace: WorkspaceSettings = WorkspaceSettings()
    """The folder of file tools, context files and references."""
    terminal: TerminalSettings = TerminalSettings()
    """Commands of the agent."""
    approvals: ApprovalSettings = ApprovalSettings()
    """Dangerous actions of the agent."""
    mcp_servers: dict[str, McpServer] = {}
    """Name: server of tools."""
    web_search: WebSearchSettings = WebSearchSettings()
    """Searching the web."""
    voice: VoiceSettings = VoiceSettings()
    """Voice messages."""
    platform_hints: dict[str, PlatformHint] = {}
    """Platform, or cron, cli, api, webhook, sms, email: what the prompt says of it."""
    toolsets: ToolsetSettings = ToolsetSettings()
    """Which tools the agent has."""
    context: ContextSettings = ContextSettings()
    """Who decides what the model sees."""
    compression: CompressionSettings = CompressionSettings()
    """When a conversation is compressed, and what stays as it was said."""
    memory: MemorySettings = MemorySettings()
    """Notes on the world and on the person."""
    skills: SkillSettings = SkillSettings()
    """What the agent has learned to do."""
    sessions: SessionSettings = SessionSettings()
    """Whose conversation it is."""
    gateway: GatewaySettings = GatewaySettings()
    """The process itself."""
    display: DisplaySettings = DisplaySettings()
    """What a chat shows besides the answer."""
    streaming: StreamingSettings = StreamingSettings()
    """Answers that grow while the model speaks."""
    access: AccessSettings = AccessSettings()
    """Who may speak."""
    delivery: DeliverySettings = DeliverySettings()
    """Long answers."""
    quick_commands: dict[str, QuickCommand] = {}
    """Name: a command of your own."""
    plugins: PluginSettings = PluginSettings()
    """Code of others."""
    log: LogSettings = LogSettings()
    """What is written down of the work."""
    prices: dict[str, Price] = {}
    """Model: what it costs."""
    cron: CronSettings = CronSettings()
    """Jobs on a schedule."""
    web: WebSettings = WebSettings()
    """The HTTP server."""
    media: MediaSettings = MediaSettings()
    """Files on their way in and out."""
    profiles: list[ProfileRule] = []
    """Which agent an event is for: a home brings its SOUL.md, notes, skills, model and workspace."""
    limits: LimitSettings = LimitSettings()
    """What one may use up."""
