"""
Exact counts, with the extra `tokens`: tiktoken and the vocabulary o200k, for the models it knows to use it.

tiktoken itself downloads a vocabulary when it is first asked for it. Here nothing is downloaded: the file has to be
on this machine, and counts only if it is the one that OpenAI has published.
"""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.llm.tokens.messages import Count

if TYPE_CHECKING:
    from tiktoken import Encoding

FILE = "o200k_base.tiktoken"
"""The name under which the vocabulary is published."""
DIGEST = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
PIECES = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""How o200k cuts a text before it looks pieces up."""
SLICE = 20_000
"""Characters given to the tokenizer at once: it takes long over a run of letters that has no end."""


def exact(model: str, vocabulary: Path) -> Count | None:
    """
    Return a function that counts as the model does; None without the extra, the vocabulary, or for another tokenizer.

    `vocabulary` is where the file `FILE` should be. It is read once in a process, which takes half a second and 80 MB:
    call this in a thread.
    """
    try:
        from tiktoken import encoding_name_for_model
    except ImportError:
        return None
    try:
        known = encoding_name_for_model(model.rsplit("/", maxsplit=1)[-1])
    except KeyError:
        return None
    encoding = _o200k(vocabulary) if known.startswith("o200k") else None
    return None if encoding is None else partial(_count, encoding)


def _count(encoding: Encoding, text: str) -> int:
    """Count the tokens of a text; at each cut of a long one a token too many may come out."""
    slices = (text[start : start + SLICE] for start in range(0, len(text), SLICE))
    return sum(len(encoding.encode_ordinary(part)) for part in slices)


@lru_cache(maxsize=1)
def _o200k(path: Path) -> Encoding | None:
    """Make the tokenizer of its file: a line for each piece, base64 and rank."""
    from tiktoken import Encoding

    try:
        content = path.read_bytes()
    except OSError:
        return None
    if sha256(content).hexdigest() != DIGEST:
        return None
    ranks = {b64decode(piece): int(rank) for piece, rank in map(bytes.split, content.splitlines())}
    return Encoding("o200k_base", pat_str=PIECES, mergeable_ranks=ranks, special_tokens={})
