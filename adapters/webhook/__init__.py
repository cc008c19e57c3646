"""Webhooks: other programs call ``/hooks/<route>``, and each call becomes a turn. Settings in, an adapter out."""

from __future__ import annotations

from adapters.webhook.adapter import WebhookAdapter
from adapters.webhook.settings import Settings
from gateway.contracts.adapter import Adapter

__all__ = ["Settings", "create"]


def create(name: str, account: str, settings: Settings) -> Adapter:
    """Make the adapter of all routes."""
    return WebhookAdapter(name, account, settings)
