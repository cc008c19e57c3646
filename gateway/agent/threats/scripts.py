"""The characters that the scan has to tell apart, as the inside of a regular expression's brackets."""

from __future__ import annotations

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Format, bidi, filler, variation and tag characters: all that takes part in a text and is not seen."""

UNSPACED = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Han, kana and hangul: a word may stand anywhere among them, without a space before or after."""

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Pictures and the skin tones that change them."""

RIGHT_TO_LEFT = "\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
JOINED = "\u0620-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1800-\u18aa\u1a20-\u1aaf\ufb50-\ufdff"
"""Scripts in which ZWJ and ZWNJ choose the shape of letters: Arabic, Syriac, Indic, Tibetan, Khmer, Mongolian."""

WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer: a zero-width space says where a line may be broken."""

MONGOLIAN = "\u1820-\u18aa"
