"""Exact counts: with the vocabulary in a file, and never by downloading it."""

from __future__ import annotations

import socket
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from gateway.app.mind import mind_of
from gateway.config import load
from gateway.llm import open_models
from gateway.llm.tokens import exact as module
from gateway.llm.tokens.exact import FILE, SLICE, exact
from gateway.llm.tokens.messages import Estimates, estimate
from gateway.messages import Message

PIECES = [*(bytes([number]) for number in range(256)), b"he", b"ll", b"hell", b"hello", b" w", b"or", b" wor"]
SMALL = b"".join(b64encode(piece) + f" {rank}\n".encode() for rank, piece in enumerate(PIECES))
"""A vocabulary in tiktoken's form: each byte, and what makes "hello" one token and " world" three."""


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("somebody asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Take the small vocabulary for the published one, and put it in its place."""
    monkeypatch.setattr(module, "DIGEST", sha256(SMALL).hexdigest())
    place = tmp_path / FILE
    place.write_bytes(SMALL)
    return place


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "gpt-5", "o3", "openai/gpt-4o-2024-08-06", "gpt-oss-20b"])
def test_models_of_o200k_are_counted_by_its_pieces(published: Path, model: str) -> None:
    count = exact(model, published)
    assert count is not None
    assert count("hello world") == 1 + 3
    assert count("") == 0


@pytest.mark.parametrize("model", ["gpt-4", "gpt-3.5-turbo", "qwen3-32b", "deepseek-chat", "claude-sonnet-5", ""])
def test_others_are_estimated(published: Path, model: str) -> None:
    assert exact(model, published) is None


def test_without_the_vocabulary_nothing_is_downloaded(tmp_path: Path) -> None:
    assert exact("gpt-4o", tmp_path / FILE) is None


def test_a_file_that_is_not_the_published_one_is_left_alone_and_not_used(tmp_path: Path) -> None:
    place = tmp_path / FILE
    place.write_bytes(SMALL)
    assert exact("gpt-4o", place) is None
    assert place.read_bytes() == SMALL


def test_marks_that_mean_something_to_a_model_are_text_like_any_other(published: Path) -> None:
    count = exact("gpt-4o", published)
    assert count is not None
    assert count("<|endoftext|>") == len("<|endoftext|>")


def test_a_text_that_has_no_end_is_counted_too(published: Path) -> None:
    count = exact("gpt-4o", published)
    assert count is not None
    assert count("hell" * SLICE) == SLICE


def test_a_conversation_may_be_counted_exactly(published: Path) -> None:
    count = exact("gpt-4o", published)
    assert count is not None
    said = Message("user", "hello world")
    assert Estimates(count).total([said]) == estimate(said, count) == estimate(Message("user")) + 4


def test_a_gateway_counts_with_the_vocabulary_in_its_home(published: Path, tmp_path: Path) -> None:
    text = "model: {default: gpt-4o, api_key: sk-0123456789abcdef}"
    (tmp_path / "config.yaml").write_text(text, "utf-8")
    config = load(tmp_path)
    models = open_models(config.settings.model, ())
    config.home.cache.mkdir()
    published.rename(config.home.cache / FILE)
    assert mind_of(config, models).count()("hello world") == 1 + 3
