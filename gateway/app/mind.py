"""The models and the hands of a process, from its settings: what every turn is answered with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import cache, lru_cache
from zoneinfo import ZoneInfo

from tzlocal import get_localzone_name

from gateway.agent.context.compressor import Compressor
from gateway.agent.context.engines import Chosen, open_engine
from gateway.agent.memory.providers.loading import open_provider
from gateway.agent.references.attach import References
from gateway.agent.tools import builtin_tools
from gateway.agent.tools.named import skill_folders
from gateway.agent.tools.workspace import workspace_for, workspace_of
from gateway.app.process import Mind
from gateway.app.skills import library_of
from gateway.config import Config
from gateway.contracts.context import ContextEngine
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools
from gateway.llm.models import Models
from gateway.llm.tokens.exact import FILE, exact
from gateway.llm.tokens.messages import Count
from gateway.llm.tokens.text import estimate_text
from gateway.log.redact import Redactor
from gateway.toolkit.limits import Limited, chars_for
from gateway.toolkit.toolset import FunctionTools, Narrowed, Union
from gateway.types import Role


def mind_of(config: Config, models: Models) -> Mind:
    """Return the models by name, the tools of each role, and the folder of each session."""
    settings, home = config.settings, config.home.path
    zone = settings.gateway.timezone or get_localzone_name()
    library = library_of(config)
    named = skill_folders(library.roots)
    every = builtin_tools(workspace=settings.workspace, terminal=settings.terminal, zone=zone, named=named)

    review, summaries = settings.auxiliary.background_review, settings.auxiliary.compression
    redact = Redactor(config.secrets)

    def writers(name: str) -> list[Model]:
        own = models.writer(name, summaries.timeout_seconds)
        return [own] if summaries.is_main else [models.auxiliary("compression", summaries), own]

    @lru_cache(maxsize=1)
    def count() -> Count:
        return exact(models.model().name, config.home.cache / FILE) or estimate_text

    def today() -> date:
        return datetime.now(ZoneInfo(zone)).date()

    def ours() -> ContextEngine:
        return Compressor(settings.compression, redact, search=True, today=today, count=count())

    @lru_cache(maxsize=64)
    def tools(role: Role, model: Model, more: Tools) -> Tools:
        if model.demo:
            return FunctionTools([])  # the small offline model never calls any, and has no room for their schemas
        return Limited(Narrowed(Union(every, more), role), chars=chars_for(model.window))

    @cache
    def engines() -> Callable[[], ContextEngine]:
        """Load the engine's code when the first is made: an edge makes none."""
        chosen = Chosen(settings.context.engine, settings.compression, home, settings.plugins.allow)
        return open_engine(chosen, ours)

    def engine() -> ContextEngine:
        return engines()()

    return Mind(
        model=models.model,
        tools=tools,
        workspace=lambda session, address: workspace_for(home, settings.workspace, session, chat=address),
        folder=lambda session: workspace_of(home, settings.workspace, session),
        names=models.names,
        taken=[spec.name for spec in every.specs()],
        reviews=lambda: None if review.is_main else models.auxiliary("background_review", review),
        engine=engine,
        writers=writers,
        count=count,
        library=library,
        references=References(settings.workspace.read_dirs),
        provider=lambda: open_provider(settings.memory, home, config.variables, allow=settings.plugins.allow),
    )
