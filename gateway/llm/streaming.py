"""How a model made of models reads another one's stream: closed at once when left, so that the endpoint stops too."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from gateway.contracts.model import Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message


@asynccontextmanager
async def speaking(
    model: Model, messages: Sequence[Message], tools: Sequence[ToolSpec]
) -> AsyncGenerator[AsyncGenerator[ModelPiece, None]]:
    """Open a stream and close it when the block is left, by whatever way."""
    stream = model.stream(messages, tools)
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
