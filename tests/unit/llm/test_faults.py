"""What endpoints say, and what we do about it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError, ModelRefused
from gateway.llm.endpoint import Endpoint
from gateway.llm.faults import ModelUnknown, Refusal, fault, retry_after

HERE = Endpoint("https://api.example.org/v1", SecretStr("sk-secret-1"), "fallback_providers[0]")

OVERFLOWS = {
    "OpenAI": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
    "OpenAI, with the answer": "This model's maximum context length is 4097 tokens. You requested 4500 tokens.",
    "vLLM": "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "llama.cpp": "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "llama.cpp, older": "the request exceeds the available context size. try increasing the context size",
    "Ollama": "the input length exceeds the context length",
    "Ollama, older": "prompt too long; exceeded max context length by 22 tokens",
    "Anthropic": "prompt is too long: 208310 tokens > 200000 maximum",
    "Anthropic, with the answer": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "Google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Bedrock": "Input is too long for requested model.",
    "Mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
    "LM Studio": "Trying to keep the first 9000 tokens when context the overflows.",
    "TGI": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
    "Cohere": "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Qwen": "Range of input length should be [1, 30720]",
}


def of(status: int, message: str = "", code: object = None, **headers: str) -> ModelError:
    body = {"error": {"message": message, "code": code}}
    return fault(
        HERE, "model-1", Refusal(status, body, {name.replace("_", "-"): text for name, text in headers.items()})
    )


@pytest.mark.parametrize("words", OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_every_endpoints_words_for_a_full_window_are_known(words: str) -> None:
    assert isinstance(of(400, words), ContextOverflow)
    assert isinstance(fault(HERE, "m", Refusal(0, {"error": words})), ContextOverflow)


@pytest.mark.parametrize("code", ["context_length_exceeded", "tokens_limit_reached", "string_above_max_length"])
def test_an_overflow_is_known_by_its_code(code: str) -> None:
    assert isinstance(of(400, "nothing one could read", code), ContextOverflow)


def test_a_body_too_large_is_an_overflow() -> None:
    assert isinstance(fault(HERE, "m", Refusal(413, "<html>413 Request Entity Too Large")), ContextOverflow)


def test_a_request_larger_than_the_quota_of_a_minute_is_an_overflow_too() -> None:
    words = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 35000."
    assert isinstance(of(429, words, "rate_limit_exceeded"), ContextOverflow)


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens.",
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192.",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
    ],
)
def test_a_limit_of_the_answer_that_is_too_high_is_no_overflow(words: str) -> None:
    assert type(of(400, words)) is ModelRefused


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (404, "The model `model-1` does not exist or you do not have access to it.", "model_not_found"),
        (404, 'model "model-1" not found, try pulling it first', None),
        (400, "model-1 is not a valid model ID", None),
        (503, "No available channel for model model-1 under group default", None),
    ],
)
def test_a_model_the_endpoint_lacks_is_known_in_many_words(status: int, message: str, code: str | None) -> None:
    error = of(status, message, code)
    assert isinstance(error, ModelUnknown)
    assert str(error).endswith("(fallback_providers[0].model)")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 529])
def test_what_may_pass_is_busy(status: int) -> None:
    assert isinstance(of(status, "The model is overloaded and not available right now"), ModelBusy)


@pytest.mark.parametrize(("status", "code"), [(429, "insufficient_quota"), (402, None)])
def test_an_account_without_credit_is_not_waited_for(status: int, code: str | None) -> None:
    error = of(status, "You exceeded your current quota, please check your plan", code)
    assert isinstance(error, AuthFailed)
    assert "no credit left" in str(error)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_not_repeated(status: int) -> None:
    error = of(status, "Incorrect API key provided: sk-se***t-1")
    assert isinstance(error, AuthFailed)
    assert "sk-se" not in str(error)
    assert "fallback_providers[0].api_key" in str(error)


def test_the_endpoints_words_are_one_line_bounded_and_without_the_key() -> None:
    text = str(of(418, "no\n\tsk-secret-1 " + "x" * 5000 + "\ud800"))
    assert "sk-secret-1" not in text
    assert "\n" not in text
    assert len(text) < 400
    text.encode()


@pytest.mark.parametrize(
    "body", [None, "", "<html><p>Bad Gateway</html>", [], {"error": None}, {"error": []}, {"message": 3}]
)
def test_bodies_of_any_shape_make_a_sentence(body: object) -> None:
    assert str(fault(HERE, "m", Refusal(502, body))) == "api.example.org has trouble of its own (502)"


def test_errors_without_a_wrapping_are_read() -> None:
    body = {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}
    assert isinstance(fault(HERE, "m", Refusal(404, body)), ModelUnknown)


def test_within_a_stream_what_is_not_known_is_a_broken_answer() -> None:
    assert isinstance(fault(HERE, "m", Refusal(0, {"error": "kaputt"})), BadResponse)
    assert isinstance(fault(HERE, "m", Refusal(0, {"error": {"type": "overloaded_error"}})), ModelBusy)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Sun, 29 Nov 2026 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 11, 29, 12, 0, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("", "api.openai.com"),
        ("https://user:secret@host.example/v1", "host.example"),
        ("http://127.0.0.1:8080/v1/", "127.0.0.1:8080"),
        ("nonsense", "the address in fallback_providers[0].base_url"),
        ("http://[::1", "the address in fallback_providers[0].base_url"),
        ("http://host:99999999/", "the address in fallback_providers[0].base_url"),
    ],
)
def test_of_an_address_only_the_host_is_shown(url: str, host: str) -> None:
    assert Endpoint(url, SecretStr(""), "fallback_providers[0]").host == host
