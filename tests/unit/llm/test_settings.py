"""What the settings refuse."""

from __future__ import annotations

import pytest
from pydantic import SecretStr, ValidationError

from gateway.llm.settings import ModelSettings


@pytest.mark.parametrize("url", ["api.example.org/v1", "ftp://x", "https://user:word@host/v1"])
def test_an_address_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="must"):
        ModelSettings(base_url=url)


@pytest.mark.parametrize("key", ["sk-ключ", "sk-a\nb", "sk-\u200b1"])
def test_a_key_that_no_header_takes_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ValidationError, match="no key has") as caught:
        ModelSettings(api_key=SecretStr(key))
    assert key not in str(caught.value)


def test_without_key_and_address_the_offline_model_is_meant() -> None:
    assert ModelSettings().offline
    assert not ModelSettings(base_url="http://127.0.0.1:8080/v1").offline
    assert not ModelSettings(api_key=SecretStr("sk-1")).offline
