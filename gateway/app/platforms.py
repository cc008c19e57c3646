"""Makes the adapters that are configured; each is found by its name, and its SDK loaded only now."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Protocol, cast

from pydantic import BaseModel

from gateway.config import Account
from gateway.config.platforms import GROUP
from gateway.contracts.adapter import Adapter
from gateway.errors import ConfigError


class AdapterModule(Protocol):
    """What a package of `adapters` exposes beside its Settings."""

    def create(self, name: str, account: str, settings: BaseModel) -> Adapter:
        """Make the adapter of one account; nothing is reached over the network yet."""


def make_adapters(accounts: Iterable[Account]) -> dict[str, Adapter]:
    """Return the adapter of every enabled account but the web chat's, by its name."""
    return {
        account.name: _module(account.platform).create(account.name, account.account, account.settings)
        for account in accounts
        if account.enabled and account.platform != "webchat"
    }


def _module(platform: str) -> AdapterModule:
    for point in entry_points(group=GROUP, name=platform):
        return cast("AdapterModule", point.load())
    try:
        return cast("AdapterModule", import_module(f"adapters.{platform}"))
    except ImportError as error:
        raise ConfigError(f"platforms.{platform}: its adapter cannot be loaded: {error}") from error
