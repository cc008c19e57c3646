"""How many tokens a model takes: what an endpoint says of its models, and what is known of their names. Pure."""

from __future__ import annotations

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
