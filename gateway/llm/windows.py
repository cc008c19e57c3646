"""
How many tokens a model takes. Pure.

What an endpoint says of its models, what it says where a request did not fit, and what is known of their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

DEFAULT = 128_000
"""Tokens assumed of a model nobody knows; a warning says so."""

KNOWN = {
    "claude": 200_000,
    "codestral": 256_000,
    "command-a": 256_000,
    "command-r": 128_000,
    "deepseek": 128_000,
    "gemini": 1_000_000,
    "gemma-2": 8_192,
    "gemma-3": 128_000,
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 400_000,
    "gpt-oss": 131_072,
    "grok-3": 131_072,
    "grok-4": 256_000,
    "kimi-k2": 131_072,
    "llama-3.1": 131_072,
    "llama-3.3": 131_072,
    "ministral": 128_000,
    "mistral-large": 128_000,
    "mistral-small": 128_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "smollm2": 8_192,
}
"""By the beginning of the name after any ``provider/``; the longest that fits counts."""

FIELDS = (
    "max_model_len",  # vLLM: as the server was started
    "loaded_context_length",  # LM Studio
    "context_length",  # OpenRouter, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral, LM Studio
)

NUMBER = r"[`'\"]?(\d{1,3}(?:[,._' \u00a0\u202f]\d{3}){1,3}(?!\d)|\d{1,12})(?![\d.]*\d)(?!(?: tokens)? exceeds| ?\+)"
"""A number, with or without something between the thousands; not one that exceeds, or is added to another."""
OF = r"\W{0,3}(?:is|are|was|of|only|to|up|at|most|limit(?:ed)?|size|为|是|は|[:：=≤<(\[`]|\s){0,8}"
"""What stands between the word for a window and its size."""
WORDS = (
    # what the model takes, named before the number
    rf"(?:context|prompt|sequence|position)[ _-]?(?:length|window|size|limit|embeddings)(?: limit)?{OF}{NUMBER}",
    rf"(?:maximum model length|max_model_len|max_seq_len|model token limit|n_ctx(?:_slot)?){OF}{NUMBER}",
    rf"context (?:length|window|size) \({NUMBER}",
    rf"context_length_exceeded: ?{NUMBER}",
    rf"(?:maximum number of (?:input )?tokens allowed|model only supports up to|maximum input length){OF}{NUMBER}",
    rf"(?:tokens in the prompt cannot exceed|the limit (?:for this model )?is|while limit is){OF}{NUMBER}",
    rf"exceeds? the (?:configured )?limit of {NUMBER}",
    rf"max size: {NUMBER} tokens",
    rf"range of input length should be \[\d+, ?{NUMBER}",
    rf"(?:上下文|输入)(?:的)?(?:长度|窗口|限制|上限){{1,2}}{OF}{NUMBER}",
    # after it
    rf"> ?{NUMBER} maximum",
    rf"exceeds? (?:the )?context limit: [\d,]+ ?\+ ?[\d,]+ ?> ?{NUMBER}",
    rf"with (?:an? )?{NUMBER} maximum context length",
    rf"max_new_tokens`? must be <= ?{NUMBER}",
    rf"{NUMBER}[ -]tokens? context (?:window|length|limit)",
)
TOLD = re.compile("|".join(WORDS), re.IGNORECASE)
"""A limit in the words of an endpoint: one group of those that there are holds it."""
TOLD_FIELDS = ("n_ctx", "max_model_len", "context_length", "max_context_length", "context_window", "token_limit")
LEAST, MOST = 256, 20_000_000
"""Fewer tokens, or more, are no window: some other number was read."""


def told_window(words: str, error: Mapping[str, Any] | None = None) -> int | None:
    """
    Read the size of the window from the error of a request that did not fit; None where it is not told.

    The size of the request, its parts and ``max_tokens`` stand beside it in the same sentence and are never taken.
    """
    given = [tokens for name in TOLD_FIELDS if isinstance(tokens := (error or {}).get(name), int)]
    found = (next(filter(None, match.groups())) for match in TOLD.finditer(words))
    given += [int(re.sub(r"\D", "", number)) for number in found]
    return next((tokens for tokens in given if LEAST <= tokens <= MOST), None)


def known_window(model: str) -> int | None:
    """Return the window of a model by its name. A server of one's own may have been started with a smaller one."""
    name = model.lower().rsplit("/", maxsplit=1)[-1]
    fitting = [beginning for beginning in KNOWN if name.startswith(beginning)]
    return KNOWN[max(fitting, key=len)] if fitting else None


def listed(body: object) -> dict[str, int | None]:
    """Read what ``GET /models`` answered: the window of each model, None where the endpoint does not tell."""
    entries = body.get("data") if isinstance(body, dict) else body
    if not isinstance(entries, list):
        return {}
    return {
        entry["id"]: _window(entry) for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    }


def _window(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")  # llama.cpp: n_ctx as the server was started
    given = [entry.get(name) for name in FIELDS] + ([meta.get("n_ctx")] if isinstance(meta, dict) else [])
    return next((tokens for tokens in given if isinstance(tokens, int) and tokens > 0), None)
