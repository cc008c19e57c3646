"""The settings of the context: when a conversation is compressed, and what stays as it was said."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class ContextSettings(_Section):
    """Who decides what the model sees."""

    engine: str = Field("compressor", min_length=1)
    """compressor, or the name of a plugin."""


class CompressionSettings(_Section):
    """When a conversation is compressed, and what stays as it was said."""

    enabled: bool = True
    """Compress at all."""
    threshold: float = Field(0.50, gt=0, lt=1)
    """The share of the window at which compression begins; 0.75 at least below 512000 tokens, 0.85 up to 64000."""
    model_thresholds: dict[str, float] = {}
    """Part of a model's name: its share; the longest match wins."""
    threshold_tokens: int | None = Field(None, ge=1)
    """Tokens at which compression begins, where that is less than the share."""
    target_ratio: float = Field(0.20, gt=0, lt=1)
    """The share of the threshold that the end of the conversation keeps."""
    protect_first_n: int = Field(3, ge=0, le=1000)
    """Messages at the beginning that stay, until the first compression."""
    protect_last_n: int = Field(20, ge=0, le=10_000)
    """Messages at the end that stay, as far as there is room."""
    min_tail_user_messages: int = Field(1, ge=0, le=1000)
    """Messages of the person that the end holds at least."""
    max_attempts: int = Field(3, ge=1, le=10)
    """Compressions in one turn."""
    in_place: bool = True
    """Compress within the session; false begins a new one that follows it."""
    abort_on_summary_failure: bool = False
    """Keep everything where no summary could be made, in place of a summary without a model."""
    proactive_prune_tokens: int = Field(0, ge=0)
    """Tokens at which old results of tools are shortened before compression is due; 0 is never."""
    proactive_prune_min_result_chars: int = Field(8000, ge=0)
    """Only results longer than this are shortened."""
    proactive_prune_min_reclaim_tokens: int = Field(4096, ge=0)
    """Shorten only where it wins at least so many tokens."""
    progress_notices: bool = False
    """Tell the chat when a compression begins and ends (the web chat always is); what went wrong is told, once."""
    keep_notices: bool = False
    """Leave those notices in the chat."""
    idle_compact_after_seconds: int = Field(0, ge=0)
    """Compress before the next answer where nobody has spoken for so long; 0 is never."""
    micro_compact: bool = False
    """Fold every exchange as it ends; not built yet."""

    @field_validator("micro_compact")
    @classmethod
    def _not_yet(cls, wanted: bool) -> bool:  # noqa: FBT001 (pydantic's signature)
        if wanted:
            raise ValueError("is not built yet; leave it false")
        return wanted
