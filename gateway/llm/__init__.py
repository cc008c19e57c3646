"""The models. In: settings. Out: models that answer, retry and fall back, whatever stands behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.llm.clients import Clients
    from gateway.llm.local import LocalModel
    from gateway.llm.models import Models
    from gateway.llm.settings import FallbackSettings, ModelSettings


def open_models(settings: ModelSettings, fallbacks: Sequence[FallbackSettings] = (), *, tries: int = 3) -> Models:
    """Make the models of a process; enter them before use. The SDK is loaded only where there is an endpoint."""
    from gateway.llm.models import Models

    return Models(settings, fallbacks, tries=tries, remote=_clients, local=_local)


def _clients() -> Clients:
    from gateway.llm.clients import Clients

    return Clients()


def _local() -> LocalModel:
    from gateway.llm.local import LocalModel

    return LocalModel()
