"""Secrets out of texts: ours to the letter, other people's by the shape of well-known keys.

In: any text. Out: the same text with ``***`` in place of what must not be read. Linear in the text: every pattern has a
fixed beginning or a bounded length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 4
"""A shorter secret would take half of every log with it, and protects nothing."""
WORD = 8
"""A secret shorter than this is taken out only where it stands alone."""

KINDS = (
    r"(?:sk|rk|pk)[-_](?:ant|proj|svcacct|admin|or|live|test)?[-_]?[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, Stripe
    r"(?:bot)?\d{6,12}:[A-Za-z0-9_-]{30,}",  # Telegram
    r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",  # Slack
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{10,}",
    r"[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}",  # Discord
    r"(?<=/api/webhooks/)\d{5,25}/[A-Za-z0-9_-]{20,100}",
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}",  # GitHub, GitLab
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
    r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}",  # Google
    r"(?:hf|gsk|xai|pplx|r8|tvly|nvapi|whsec)[-_][A-Za-z0-9_+/=-]{20,}",  # other services
    r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,}",  # JSON Web Token
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^-]|-(?!----END)){0,20000}(?:-----END [A-Z ]{0,30}KEY-----)?",
)
KEYS = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(KINDS)})")
BEHIND = re.compile(
    r"(\bbearer\s{1,3})(?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/=-]{8,}"
    r"|((?:x-api-key|api[-_]?key|access[-_]?token|refresh[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key"
    r"|password|passwd|authorization)"
    r"""["']{0,2}\s{0,3}[:=]\s{0,3}["']{0,2})(?:bearer |basic |bot )?(?!\*\*\*)[^\s"'&,;{}\[\]]{4,}""",
    re.IGNORECASE,
)
LONG = re.compile(r"[A-Za-z0-9_/.-]{15}|PRIVATE KEY")
"""What every key holds. Most lines hold none of it, and are done with at once."""
NAMED = re.compile("bearer|auth|key|token|secret|passw", re.IGNORECASE)
"""What stands before every value that is secret by its name."""
URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{0,100}):[^\s/@]{1,500}@", re.IGNORECASE)


class Redactor:
    """Takes out the secrets it was made with and everything that looks like a key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        ordered = sorted(forms, key=len, reverse=True)  # the longest first: a secret may begin with another
        self._ours = re.compile("|".join(map(_pattern, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if self._ours is not None:
            text = self._ours.sub(MASK, text)
        if "://" in text:
            text = URL.sub(rf"\1:{MASK}@", text)
        if LONG.search(text):
            text = KEYS.sub(MASK, text)
        return BEHIND.sub(_keep_name, text) if NAMED.search(text) else text


def _keep_name(found: re.Match[str]) -> str:
    return (found[1] or found[2]) + MASK


def _forms(secret: str) -> set[str]:
    """Return the ways a secret can be written: as it is, within a URL, within JSON or a Python literal."""
    safe = secret.encode("utf-8", "surrogatepass")
    quoted = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    return {secret, secret.strip(), quote(safe, safe=""), quote(safe), quote_plus(safe), *quoted} - {""}


def _pattern(secret: str) -> str:
    pattern = re.escape(secret)
    return rf"(?<!\w){pattern}(?!\w)" if len(secret) < WORD else pattern
