"""The size of a window, read from the words of endpoints that refused a request."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from gateway.errors import ContextOverflow
from gateway.llm.endpoint import Endpoint
from gateway.llm.faults import Refusal, fault
from gateway.llm.windows import told_window

HERE = Endpoint("https://api.example.org/v1", SecretStr("sk-secret-1"), "model")

TOLD = {
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.": 128_000,
    "This model's maximum context length is 4097 tokens, however you requested 4500 tokens"
    " (500 in your prompt; 4000 for the completion). Please reduce your prompt; or completion length.": 4_097,
    "This model's maximum context length is 16,385 tokens. However, you requested 18,001 tokens.": 16_385,
    "This model's maximum context length is 131 072 tokens": 131_072,
    "maximum context length is 131.072 tokens": 131_072,
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens."
    " Please reduce the length of the messages.": 272_000,
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.": 8_192,
    "You passed 9001 input tokens and requested 100 output tokens. However, the model's context length is only 8192"
    " tokens, resulting in a maximum input length of 8092 tokens.": 8_192,
    "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it": 8_192,
    "the prompt (9000 tokens) exceeds the 8192-token context window": 8_192,
    "prompt is too long: 208310 tokens > 200000 maximum": 200_000,
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length": 200_000,
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": 1_048_576,
    "the input token count is 32825 but model only supports up to 32768. Reduce the input token count.": 32_768,
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length": 32_768,
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.": 131_072,
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192": 8_192,
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length"
    " of only 4096 tokens, which is not enough.": 4_096,
    "The number of tokens to keep from the initial prompt is greater than the context length"
    " (n_keep: 5000>= n_ctx: 4096). Reduce the length of the prompt": 4_096,
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`": 4_096,
    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.": 4_081,
    "too many tokens: size limit exceeded by 11326 tokens. The limit for this model is 288000 tokens.": 288_000,
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]": 129_024,
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (149000 of"
    " text input, 1000 in the output). Please reduce the length of either one.": 131_072,
    "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length"
    " is 16385 tokens. However, your messages resulted in 20000 tokens.": 16_385,
    "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the messages,"
    " 8000 in the completion).": 65_536,
    "Request body too large for gpt-4o model. Max size: 8000 tokens.": 8_000,
    "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)": 131_072,
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).": 8_192,
    "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000"
    " tokens: 30000 tokens from the input messages and 10000 tokens for the completion.": 32_768,
    "prompt token count of 140000 exceeds the limit of 128000": 128_000,
    "The prompt is too long: 140000, model maximum context length: 131071": 131_071,
    "Requested tokens (9231) exceed context window of 8192": 8_192,
    "Sequence length exceeds maximum sequence length of 2048 tokens": 2_048,
    "Input length 9000 exceeds maximum context length 8192": 8_192,
    "context_length_exceeded: 131072": 131_072,
    "the prompt is too long, context limit: 190000 + 20000 > 200000 maximum": 200_000,
    "输入长度超过模型最大上下文长度 32768": 32_768,
}
"""OpenAI, Azure, vLLM, llama.cpp, Anthropic, Google, Mistral, xAI, Groq, LM Studio, TGI, Cohere, DashScope, OpenRouter,
LiteLLM, DeepSeek, GitHub, Moonshot, SGLang, Copilot, Fireworks."""

UNTOLD = [
    "the request exceeds the available context size. try increasing the context size",
    "the input length exceeds the context length",
    "prompt too long; exceeded max context length by 2200 tokens",
    "Input is too long for requested model.",
    "Please reduce the length of the messages or completion.",
    "invalid params, context window exceeds limit (2013)",
    "Prompt exceeds max length",
    "Context size has been exceeded.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context length exceeded: 300000 tokens",
    "Context length 9000 exceeds the maximum 8192",
    "This model's maximum context length is 12 tokens",
    f"This model's maximum context length is {'9' * 5000} tokens",
]
"""How much too long it was, how long it was, the number of an error, or nothing."""


def of(words: str, status: int = 400, **fields: object) -> ContextOverflow:
    error = fault(HERE, "model-1", Refusal(status, {"error": {"message": words, **fields}}))
    assert isinstance(error, ContextOverflow)
    return error


@pytest.mark.parametrize(("words", "limit"), TOLD.items(), ids=[words[:40] for words in TOLD])
def test_an_endpoint_that_names_its_window_is_understood(words: str, limit: int) -> None:
    assert of(words).limit == limit


@pytest.mark.parametrize("words", UNTOLD, ids=[words[:40] for words in UNTOLD])
def test_no_other_number_is_taken_for_the_window(words: str) -> None:
    assert of(words).limit is None


def test_what_stands_in_a_field_is_read_before_the_words() -> None:
    error = of("request exceeds the available context size", type="exceed_context_size_error", n_ctx=8192)
    assert error.limit == 8192
    assert of("the context length is exceeded", n_ctx="many").limit is None


def test_characters_are_no_tokens() -> None:
    words = "string too long. Expected a string with maximum length 1048576, but got a string with length 1540820"
    assert of(words, code="string_above_max_length").limit is None


def test_the_quota_of_a_minute_is_no_window() -> None:
    words = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, maximum context length 30000."
    assert of(words, 429).limit is None


@pytest.mark.parametrize("words", ["max_tokens must be less than 8192", "Range of max_tokens should be [1, 8192]", ""])
def test_the_limit_of_an_answer_is_no_window(words: str) -> None:
    assert told_window(words) is None
