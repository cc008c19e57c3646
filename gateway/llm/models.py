"""All models of a process: settings in, models out that retry and fall back, each made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gateway.contracts.model import Model
from gateway.contracts.resource import Resource
from gateway.errors import ConfigError, ModelError
from gateway.llm.endpoint import Asking, Endpoint
from gateway.llm.fallback import FallbackModel
from gateway.llm.retry import RetryingModel
from gateway.llm.settings import AuxiliaryTask, FallbackSettings, ModelSettings
from gateway.llm.windows import known_window

if TYPE_CHECKING:  # libraries that not every gateway loads
    from gateway.llm.clients import Clients
    from gateway.llm.local import LocalModel
    from gateway.llm.openai import OpenAIModel

OFFLINE = "this machine"


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say of one model of the settings. `problem` is "" where its endpoint answers and has it."""

    setting: str
    host: str
    model: str
    window: int
    models: tuple[str, ...] = ()
    problem: str = ""


class Models(Resource):
    """
    Hands out the models by name.

    Entering it settles the default model, as far as its endpoint answers, and starts the offline one in the
    background. `remote` and `local` load their libraries when first called.
    """

    def __init__(
        self,
        settings: ModelSettings,
        fallbacks: Sequence[FallbackSettings],
        *,
        tries: int,
        remote: Callable[[], Clients],
        local: Callable[[], LocalModel],
    ) -> None:
        self._settings, self._fallbacks, self._tries = settings, fallbacks, tries
        self._remote, self._clients = remote, None if settings.offline else remote()
        self._local = local() if settings.offline else None
        self._made: dict[tuple[str, AuxiliaryTask | None], Model] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._stack.enter_async_context(self.model())
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; for those who only want `reports` and do not enter."""
        await self._stack.aclose()
        if self._clients is not None:
            await self._clients.__aexit__(None, None, None)

    def names(self) -> list[str]:
        """List the names that can be chosen: the default model's and those of the other entries."""
        return list(dict.fromkeys([self.model().name, *(entry.name for entry in self._fallbacks)]))

    def model(self, name: str = "") -> Model:
        """
        Return a model: "" is the default, else an entry of fallback_providers, else an id at the main endpoint.

        Without an endpoint every unknown name is the offline model: a conversation that was given a model of an
        endpoint that is gone is answered by what there is.
        """
        return self._once("" if name == self._settings.default else name, None)

    def auxiliary(self, setting: str, task: AuxiliaryTask) -> Model:
        """Return the model of a side task; `setting` names it in messages."""
        if task.is_main:
            return self._once("", AuxiliaryTask(timeout_seconds=task.timeout_seconds))
        return self._once(setting, task)

    def writer(self, name: str, seconds: float) -> Model:
        """Return a model as `model` does, for a side task: its answers are not cut, it may be silent for `seconds`."""
        task = AuxiliaryTask(timeout_seconds=seconds)
        return self._once("" if name == self._settings.default else name, task)

    async def reports(self) -> list[Report]:
        """Ask every endpoint of the settings what it has, for doctor."""
        found = [] if self._local is None else [self._offline(self._local)]
        asked = [] if self._local is not None else [self._main("")]
        asked += [self._standing_in(number) for number in range(len(self._fallbacks))]
        return found + [await _report(model) for model in asked]

    def _once(self, name: str, task: AuxiliaryTask | None) -> Model:
        known = self._made.get((name, task))
        if known is None:
            known = self._made[name, task] = self._make(name, task)
        return known

    def _make(self, name: str, task: AuxiliaryTask | None) -> Model:
        timeout = task.timeout_seconds if task is not None else None
        if task is not None and not task.is_main:
            return self._retrying(self._side(name, task))
        chosen = next((number for number, entry in enumerate(self._fallbacks) if entry.name == name), None)
        if chosen is not None:
            first: Model = self._standing_in(chosen)
        else:
            first = self._local or self._main(name, timeout)
        others = [self._standing_in(number, timeout) for number in range(len(self._fallbacks)) if number != chosen]
        models = [self._retrying(model) for model in (first, *others)]
        return FallbackModel(*models) if others else models[0]

    def _retrying(self, model: Model) -> Model:
        return RetryingModel(model, self._tries)

    def _at(self, endpoint: Endpoint, asking: Asking) -> OpenAIModel:
        self._clients = self._clients or self._remote()
        return self._clients.model(endpoint, asking)

    def _main(self, name: str, timeout: float | None = None) -> OpenAIModel:
        settings = self._settings
        asking = Asking(
            name or settings.default,
            # What the settings say is said of the default model; another one may have another window.
            None if name else settings.context_length,
            settings.max_tokens if timeout is None else None,
            settings.temperature,
            timeout or settings.timeout_seconds,
        )
        return self._at(Endpoint(settings.base_url, settings.api_key), asking)

    def _standing_in(self, number: int, timeout: float | None = None) -> OpenAIModel:
        entry, settings = self._fallbacks[number], self._settings
        asking = self._asking(entry.model, timeout or settings.timeout_seconds)
        return self._at(self._endpoint(entry, f"fallback_providers[{number}]"), asking)

    def _asking(self, model: str, timeout: float) -> Asking:
        # Of a name that is known nobody is asked: what only stands in is no reason for the start to wait.
        return Asking(model, known_window(model), temperature=self._settings.temperature, timeout=timeout)

    def _endpoint(self, entry: FallbackSettings, setting: str) -> Endpoint:
        """Find the endpoint of an entry. The main key goes to the main endpoint and to no other."""
        main = Endpoint(self._settings.base_url, self._settings.api_key)
        its_own = Endpoint(entry.base_url or main.base_url, entry.api_key, setting)
        if entry.api_key.get_secret_value() or its_own.url != main.url:
            return its_own
        return Endpoint(main.base_url, main.key, setting)

    def _side(self, setting: str, task: AuxiliaryTask) -> Model:
        """Make the model of a side task that is not simply the main one."""
        place = f"auxiliary.{setting}"
        if task.provider in {"", "auto"}:
            base, model = Endpoint(self._settings.base_url, self._settings.api_key, place), self._settings.default
        else:
            number = next((n for n, entry in enumerate(self._fallbacks) if entry.name == task.provider), None)
            if number is None:
                names = ", ".join(["auto", *(entry.name for entry in self._fallbacks)])
                raise ConfigError(f"{place}.provider: there is no {task.provider}", hint=f"it may be {names}")
            entry = self._fallbacks[number]
            base, model = self._endpoint(entry, place), entry.model
        if task.base_url:
            base = Endpoint(task.base_url, task.api_key, place)
        elif task.api_key.get_secret_value():
            base = Endpoint(base.base_url, task.api_key, place)
        elif self._local is not None and task.provider in {"", "auto"}:
            return self._local
        name = task.model or ("" if task.base_url else model)
        return self._at(base, self._asking(name, task.timeout_seconds))

    def _offline(self, local: LocalModel) -> Report:
        return Report("model", OFFLINE, local.name, local.window, (local.name,), local.problem())


async def _report(model: OpenAIModel) -> Report:
    try:
        async with model:
            models = await model.models()
    except (ModelError, ConfigError) as error:
        return Report(model.endpoint.setting, model.endpoint.host, model.name, model.window, problem=str(error))
    missing = "" if model.name in models else f"{model.endpoint.host} does not list {model.name}"
    names = tuple(sorted(models))
    return Report(model.endpoint.setting, model.endpoint.host, model.name, model.window, names, missing)
