"""Messages that there is no use in recalling anything for. Pure."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 40
"""Characters; what is longer says something."""

_COMMAND = re.compile(r"/[\w-]+(@\w+)?")
_WORDS = frozenset(
    word
    for words in (
        "hi|hello|hey|hi there|hello there|good morning|good evening|good night|bye|thanks|thank you|thx|ty",
        "ok|okay|k|yes|yeah|yep|yup|no|nope|sure|fine|great|cool|nice|perfect|got it|go on|continue|go ahead|done",
        "thanks a lot|please|lol|haha|hm|hmm|test|ping|sounds good|never mind",
        "你好|您好|嗨|早|早上好|早安|晚上好|晚安|谢谢|謝謝|多谢|好|好的|好吧|行|可以|嗯|嗯嗯|是|是的|对|不|不是|没有|继续|繼續|再见|明白|收到",
        "こんにちは|こんばんは|おはよう|おはようございます|ありがとう|ありがとうございます|はい|うん|いいえ|わかった|わかりました|了解|お願いします|続けて",
        "안녕|안녕하세요|고마워|고맙습니다|감사합니다|네|예|응|아니|아니요|좋아|알겠습니다|계속",
        "привет|здравствуйте|доброе утро|добрый день|спасибо|да|нет|ок|хорошо|ладно|понятно|дальше|продолжай|пока",
        "hola|buenos días|buenas|gracias|muchas gracias|sí|vale|de acuerdo|bien|perfecto|sigue|adiós",
        "hallo|guten morgen|guten tag|danke|danke schön|vielen dank|ja|nein|gut|weiter|tschüss|alles klar|genau",
        "bonjour|bonsoir|salut|merci|oui|non|d'accord|bien|très bien|continue|parfait|olá|oi|obrigado|obrigada|sim|não",
        "ciao|grazie|sì|va bene|merhaba|teşekkürler|evet|hayır|tamam",
        "مرحبا|السلام عليكم|شكرا|نعم|لا|حسنا|नमस्ते|धन्यवाद|हाँ|नहीं",
    )
    for word in words.split("|")
)


def is_trivial(message: str) -> bool:
    """Say whether a message is a greeting, an acknowledgement, a bare command, or has no word in it."""
    text = message.strip()
    if len(text) > LONGEST:
        return False
    if _COMMAND.fullmatch(text):
        return True
    bare = _bare(text)
    return not bare or bare in _BARE


def _bare(text: str) -> str:
    """Keep letters, digits and the marks on them; all else becomes one space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (sign if unicodedata.category(sign)[0] in "LNM" else " " for sign in folded.replace("\ufe0f", ""))
    return " ".join("".join(kept).split())


_BARE = frozenset(map(_bare, _WORDS))
