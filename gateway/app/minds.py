"""The minds of all profiles of a process, with the models that they think with. In: the configuration."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from gateway.app.mind import mind_of
from gateway.app.process import Mind
from gateway.config import Config, Settings
from gateway.contracts.resource import Resource
from gateway.errors import ConfigError
from gateway.llm import open_models
from gateway.llm.models import Models
from gateway.sessions.keys import NAMESPACE


class Minds(Resource):
    """
    The minds, by the name of the profile; enter them before they think.

    Profiles whose settings of models are the same share them: an offline model is loaded once.
    """

    def __init__(self, config: Config) -> None:
        self._models: dict[str, Models] = {}
        self.of: dict[str, Mind] = {}
        self._stack = AsyncExitStack()
        made: list[tuple[Settings, Models]] = []
        for name, own in {NAMESPACE: config, **config.profiles}.items():
            models = next((models for other, models in made if _alike(own.settings, other)), None)
            if models is None:
                models = self._models[name] = open_models(own.settings.model, own.settings.fallback_providers)
                made.append((own.settings, models))
            self.of[name] = mind_of(own, models)

    async def __aenter__(self) -> Self:
        try:
            for name, models in self._models.items():
                await self._enter(name, models)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _enter(self, name: str, models: Models) -> None:
        try:
            await self._stack.enter_async_context(models)
        except ConfigError as error:
            if name == NAMESPACE:
                raise
            raise ConfigError(f"the profile {name}: {error.what}", hint=error.hint) from error

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


def _alike(one: Settings, other: Settings) -> bool:
    return (one.model, one.fallback_providers) == (other.model, other.fallback_providers)
