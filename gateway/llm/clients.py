"""
The connections to all endpoints: one HTTP client, and with it one TLS context, for all that speak HTTPS.

It is the SDK's client over aiohttp, not the one over httpcore: a request costs a third less CPU (2.2 against 3.5 ms).
"""

from __future__ import annotations

from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from types import TracebackType
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient, Omit
from pydantic import SecretStr

from gateway.contracts.resource import Resource
from gateway.llm.endpoint import Asking, Endpoint
from gateway.llm.openai import OpenAIModel


class Clients(Resource):
    """Makes models of endpoints. Closing it closes every connection."""

    def __init__(self) -> None:
        self._https: dict[bool, httpx2.AsyncClient] = {}
        self._clients: dict[tuple[str, SecretStr], AsyncOpenAI] = {}

    def model(self, endpoint: Endpoint, asking: Asking) -> OpenAIModel:
        """Make a model of an endpoint."""
        return OpenAIModel(self._client(endpoint), endpoint, asking)

    def _client(self, endpoint: Endpoint) -> AsyncOpenAI:
        """Return the client of an endpoint. It never retries: that is `RetryingModel`'s."""
        key = endpoint.key.get_secret_value().strip()
        headers: dict[str, Any] = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        known = self._clients.get((endpoint.url, endpoint.key))
        if known is None:
            known = self._clients[endpoint.url, endpoint.key] = AsyncOpenAI(
                base_url=endpoint.url,
                # The SDK would else look into the environment, which may hold the credentials of another endpoint.
                api_key=key or "none",
                admin_api_key="",
                default_headers=headers,
                max_retries=0,
                http_client=self._http(secure=not endpoint.url.startswith("http://")),
            )
        return known

    def _http(self, *, secure: bool) -> httpx2.AsyncClient:
        if secure not in self._https:
            # To read all the authorities of the world takes 80 ms, which an endpoint without TLS need not wait for.
            verify = True if secure else SSLContext(PROTOCOL_TLS_CLIENT)
            self._https[secure] = DefaultAioHttpClient(verify=verify)
        return self._https[secure]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clients.clear()
        while self._https:
            await self._https.popitem()[1].aclose()
