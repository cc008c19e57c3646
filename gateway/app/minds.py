"""The minds of all profiles of a process, with the models that they think with. In: the configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.app.mind import mind_of
from gateway.app.opening import Opening
from gateway.app.process import Mind
from gateway.config import Config, Settings
from gateway.errors import ConfigError
from gateway.llm import open_models
from gateway.llm.models import Models
from gateway.sessions.keys import NAMESPACE


class Minds(Opening):
    """
    The minds, by the name of the profile; enter them before they think.

    Profiles whose settings of models are the same share them: an offline model is loaded once.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._models: dict[str, Models] = {}
        self.of: dict[str, Mind] = {}
        made: list[tuple[Settings, Models]] = []
        for name, own in {NAMESPACE: config, **config.profiles}.items():
            with of_profile(name):
                models = next((models for other, models in made if _alike(own.settings, other)), None)
                if models is None:
                    models = self._models[name] = open_models(own.settings.model, own.settings.fallback_providers)
                    made.append((own.settings, models))
                self.of[name] = mind_of(own, models)

    async def _open(self) -> None:
        """Ask all endpoints at once: several that are silent cost a start no more than one."""
        entering = [self._enter(name, models) for name, models in self._models.items()]
        entered = await asyncio.gather(*entering, return_exceptions=True)
        for error in filter(None, entered):
            raise error

    async def _enter(self, name: str, models: Models) -> None:
        with of_profile(name):
            await self._stack.enter_async_context(models)


@contextmanager
def of_profile(name: str) -> Iterator[None]:
    """Say of what cannot be which profile it is of, unless it is the gateway's own."""
    try:
        yield
    except ConfigError as error:
        if name == NAMESPACE:
            raise
        raise ConfigError(f"the profile {name}: {error.what}", hint=error.hint) from error


def _alike(one: Settings, other: Settings) -> bool:
    return (one.model, one.fallback_providers) == (other.model, other.fallback_providers)
