"""
From what an endpoint answered in place of an answer to the error that says what to do about it. Pure.

Endpoints agree on little but the status: the code, the type and the words of the error are all read. The words are
those of OpenAI, Azure, Anthropic, Google, Mistral, Groq, xAI, OpenRouter, vLLM, llama.cpp, Ollama, LM Studio, TGI,
SGLang, DashScope, DeepSeek, Moonshot, MiniMax and Zhipu.
No message holds a key: what an endpoint says about a refused key is not repeated, elsewhere the key is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError, ModelRefused
from gateway.llm.endpoint import Endpoint
from gateway.llm.windows import told_window

OVERFLOW_CODES = {
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "tokens_limit_reached",
    "string_above_max_length",
    "request_too_large",
}
OVERFLOW = re.compile(
    r"(maximum|max|available|model'?s?|the) (context|prompt) (length|size|window)"
    r"|context[ _](length|window|size|limit)[ _](is |was |has been )?(exceeded|overflow|exceeds)"
    r"|exceeds? (the |its )?(model'?s? )?(available |maximum )?(context|sequence length)"
    r"|context (length|window|size) \S+ exceed|exceeds the \S+ context window"
    r"|(prompt|input|request|conversation) (is |was )?too (long|large)"
    r"|maximum model length|max_seq_len|too large for model with \d+ maximum|exceeded model token limit"
    r"|token count .* (exceeds the (maximum|limit)|only supports up to)|prompt exceeds max(imum)? length"
    r"|超[过出].{0,16}(长度|上下文|窗口)|上下文.{0,12}(超|过长)|reduce the length of the (messages|prompt|input)"
    r"|too many tokens|range of input length|context the overflows"
    r"|inputs`? tokens \+ `?max_new_tokens|request entity too large|request body too large",
    re.IGNORECASE | re.DOTALL,
)
OUTPUT_CAP = re.compile(
    r"max_(completion_|output_|new_)?tokens\W{0,3}( or \W?max_completion_tokens\W?)?( is| was)? too (large|high)"
    r"|max_tokens: \d+ > \d+|at most \d+ (completion|output) tokens",
    re.IGNORECASE,
)
"""The answer's own limit is too high: compressing the conversation would not help."""
NO_MODEL_CODES = {"model_not_found", "model_not_available", "invalid_model", "unknown_model"}
NO_MODEL = re.compile(
    r"model\b.{0,80}(does not exist|doesn't exist|not found|not available|is unknown)"
    r"|(not a valid|invalid|unknown|no such) model",
    re.IGNORECASE | re.DOTALL,
)
NO_CHANNEL = re.compile(r"no (available )?(channel|provider|endpoints?)\b.{0,40}model", re.IGNORECASE | re.DOTALL)
"""What a router says, with 503, of a model that nobody behind it has."""
UNPAID_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
UNPAID = re.compile(
    r"insufficient (quota|balance|credit|funds)|out of (credits?|funds)|exceeded your current quota", re.I
)
BUSY_CODES = {"rate_limit_exceeded", "overloaded_error", "overloaded", "server_error", "rate_limit_error", "timeout"}


HTML = re.compile(r"\s*<[!?a-z]", re.IGNORECASE)
"""A web page; DashScope begins its words with ``<400>``."""


class ModelUnknown(ModelRefused):
    """The endpoint has no such model: asking it again will not help, another endpoint may have one."""


class ModelUnreachable(ModelBusy):
    """There was no connection to the endpoint: it is asked again like a busy one, but nothing is given up for it."""


class BrokenOff(BadResponse):
    """The connection went while the model answered: as with one that was never there, nothing is given up for it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an endpoint answered: the status (0 inside a stream), the headers and the JSON, or the text that is none."""

    status: int
    body: object = None
    headers: Mapping[str, str] | None = None

    @property
    def error(self) -> Mapping[str, Any]:
        body = self.body
        if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
            body = body["error"]
        return body if isinstance(body, Mapping) else {}

    @property
    def codes(self) -> set[str]:
        return {str(self.error.get(name)).lower() for name in ("code", "type") if self.error.get(name)}

    @property
    def words(self) -> str:
        """What the endpoint says, as far as it is text for people."""
        body, error = self.body, self.error
        for given in (error.get("message"), error.get("detail"), error.get("error"), body):
            if isinstance(given, str) and not HTML.match(given):
                return given
        return ""


def fault(endpoint: Endpoint, model: str, refusal: Refusal) -> ModelError:
    """Name the reaction to a refusal."""
    status, codes, words = refusal.status, refusal.codes, refusal.words
    if status == 402 or (status == 429 and (codes & UNPAID_CODES or UNPAID.search(words))):
        return AuthFailed(f"the account at {endpoint.host} has no credit left (the key is {endpoint.setting}.api_key)")
    if _too_long(status, codes, words):
        # With 429 the number is the quota of a minute, and a quota is not the window.
        limit = None if status == 429 else told_window(words, refusal.error)
        return ContextOverflow(f"the conversation does not fit the window of {model}", limit=limit)
    if status in {401, 403}:
        return _unauthorized(endpoint, status)
    if _no_model(status, codes, words):
        return ModelUnknown(
            f"{endpoint.host} has no model named {model}; `hermes-gateway doctor` lists those it has"
            f" ({endpoint.model_setting})"
        )
    if status in {408, 409, 425, 429} or status >= 500 or (status == 0 and codes & BUSY_CODES):
        return _busy(endpoint, refusal)
    return _refused(endpoint, status, endpoint.quoted(words))


def _refused(endpoint: Endpoint, status: int, said: str) -> ModelError:
    words = f": {said}" if said else ""
    if status == 0:
        return BadResponse(f"{endpoint.host} broke off its answer{words}")
    if status == 404:
        hint = f"check {endpoint.setting}.base_url, which usually ends in /v1"
        return ModelRefused(f"{endpoint.host} answers, but not as a model's endpoint (404); {hint}")
    return ModelRefused(f"{endpoint.host} refuses the request ({status}){words}")


def _no_model(status: int, codes: set[str], words: str) -> bool:
    told = status in {0, 400, 404, 422} and NO_MODEL.search(words)
    return bool(codes & NO_MODEL_CODES or told or NO_CHANNEL.search(words))


def _too_long(status: int, codes: set[str], words: str) -> bool:
    if OUTPUT_CAP.search(words) or status in {401, 403, 404}:
        return False
    if codes & OVERFLOW_CODES or status == 413:
        return True
    # A request larger than the minute's quota is refused with 429 however often it is sent.
    return bool("request too large" in words.lower() if status == 429 else OVERFLOW.search(words))


def _unauthorized(endpoint: Endpoint, status: int) -> AuthFailed:
    place = f"{endpoint.setting}.api_key" + (" (OPENAI_API_KEY)" if endpoint.setting == "model" else "")
    if not endpoint.key.get_secret_value().strip():
        return AuthFailed(f"{endpoint.host} wants a key and none is set: set {place}")
    verb = "does not accept the key" if status == 401 else "does not allow what is asked with the key"
    return AuthFailed(f"{endpoint.host} {verb} of {place}")


def _busy(endpoint: Endpoint, refusal: Refusal) -> ModelBusy:
    wait = retry_after(refusal.headers or {}, datetime.now(UTC))
    if refusal.status == 429 or refusal.codes & {"rate_limit_exceeded", "rate_limit_error"}:
        later = f"; it asks to wait {wait:g} s" if wait else ""
        return ModelBusy(f"{endpoint.host} has had too many requests{later}", retry_after=wait)
    said = endpoint.quoted(refusal.words)
    number = f" ({refusal.status})" if refusal.status else ""
    return ModelBusy(
        f"{endpoint.host} has trouble of its own{number}" + (f": {said}" if said else ""), retry_after=wait
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read how many seconds to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date (RFC 9110)."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(given[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        until = parsedate_to_datetime(given["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())
