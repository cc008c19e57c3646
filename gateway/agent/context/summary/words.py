"""The sentences that the gateway puts into a summary itself, in the language that the person writes. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

LOOK = 12
"""Messages, the newest, that the language is told by."""
CHARS = 600
"""Characters of each of them."""


@dataclass(frozen=True, slots=True)
class Words:
    """
    What is said in one language.

    `made` has the field reason, `replaced` the field count, `called` the field names; the others have none.
    """

    anchors: str
    messages: str
    recovery: str
    recovery_bare: str
    made: str
    asked_last: str
    asked_first: str
    newer: str
    repeat: str
    secrets: str
    called: str
    unknown: str
    none: str
    replaced: str


ENGLISH = Words(
    anchors="Quoted from what this summary stands for, where the summary does not say it. Newer messages win.",
    messages="A record of what was written, word for word. Most of it was dealt with: Active Task says what is open.",
    recovery="Everything that was said is still stored, word for word. Where this summary lacks a detail, look it up"
    " with session_search; do not guess.",
    recovery_bare="Where this summary lacks a detail, say so or ask; do not guess.",
    made="Summary generation was unavailable ({reason}): this text was put together from the messages without a model.",
    asked_last="Asked last; whether it was done is not known, and newer messages win:",
    asked_first="Asked first:",
    newer="Newer messages win over everything written here.",
    repeat="Check what was done before doing it again.",
    secrets="Secrets were taken out of this text.",
    called="Called tool(s): {names}",
    unknown="Not known. Look at files and processes before relying on them.",
    none="None recorded.",
    replaced="This text stands for {count} messages.",
)
CHINESE = Words(
    anchors="以下引自被本摘要取代的内容，摘要正文未提及。如有冲突，以更新的消息为准。",
    messages="以下为用户原话的记录。其中大部分已经处理完毕；尚未完成的事项以 Active Task 为准。",
    recovery="所有对话原文仍然完整保存。若本摘要缺少细节，请用 session_search 查找，不要猜测。",
    recovery_bare="若本摘要缺少细节，请说明或询问，不要猜测。",
    made="摘要生成不可用（{reason}）：本文由程序直接从消息中整理而成，未经模型。",
    asked_last="用户最后的请求（是否已完成未知，以更新的消息为准）：",
    asked_first="用户最初的请求：",
    newer="如有冲突，以更新的消息为准。",
    repeat="重做之前先确认是否已经做过。",
    secrets="本文已去除密钥等敏感信息。",
    called="调用工具：{names}",
    unknown="未知。使用文件和进程前请先查看其状态。",
    none="无记录。",
    replaced="本文代替了 {count} 条消息。",
)
JAPANESE = Words(
    anchors="要約本文にない内容を元の会話から引用したものです。新しいメッセージが優先されます。",
    messages="ユーザーの発言をそのまま記録したものです。大半は対応済みです。未完了の事項は Active Task にあります。",
    recovery="会話の原文はすべて保存されています。詳細が欠けていれば session_search で調べ、推測しないでください。",
    recovery_bare="この要約に詳細がない場合は、その旨を伝えるか質問し、推測しないでください。",
    made="要約を生成できませんでした（{reason}）。この文章はモデルを使わずメッセージから作成されました。",
    asked_last="最後の依頼（完了したかは不明。新しいメッセージが優先）：",
    asked_first="最初の依頼：",
    newer="ここに書かれた内容より新しいメッセージが優先されます。",
    repeat="やり直す前に、すでに行われたか確認してください。",
    secrets="機密情報は取り除かれています。",
    called="呼び出したツール：{names}",
    unknown="不明。ファイルやプロセスは確認してから使ってください。",
    none="記録なし。",
    replaced="この文章は {count} 件のメッセージの代わりです。",
)
KOREAN = Words(
    anchors="요약에 없는 내용을 원래 대화에서 인용한 것입니다. 더 새로운 메시지가 우선합니다.",
    messages="사용자의 말을 그대로 기록한 것입니다. 대부분 처리되었으며, 남은 일은 Active Task를 따르세요.",
    recovery="대화 원문은 모두 저장되어 있습니다. 이 요약에 없는 내용은 session_search로 찾고 추측하지 마세요.",
    recovery_bare="이 요약에 없는 내용은 모른다고 말하거나 물어보고, 추측하지 마세요.",
    made="요약을 생성할 수 없었습니다({reason}). 이 글은 모델 없이 메시지에서 정리되었습니다.",
    asked_last="마지막 요청(완료 여부는 알 수 없으며 더 새로운 메시지가 우선함):",
    asked_first="처음 요청:",
    newer="여기 적힌 내용보다 더 새로운 메시지가 우선합니다.",
    repeat="다시 하기 전에 이미 했는지 확인하세요.",
    secrets="비밀 정보는 제거되었습니다.",
    called="호출한 도구: {names}",
    unknown="알 수 없음. 파일과 프로세스는 먼저 확인하세요.",
    none="기록 없음.",
    replaced="이 글은 메시지 {count}개를 대신합니다.",
)
RUSSIAN = Words(
    anchors="Цитаты из того, что заменяет эта сводка и о чём в ней не сказано. Новые сообщения важнее.",
    messages="Дословная запись сообщений. Большая часть уже выполнена: что осталось, сказано в Active Task.",
    recovery="Всё сказанное сохранено дословно. Если здесь не хватает подробностей, найдите их через session_search,"
    " не гадайте.",
    recovery_bare="Если здесь не хватает подробностей, скажите об этом или спросите, не гадайте.",
    made="Создать сводку не удалось ({reason}): этот текст составлен из сообщений без модели.",
    asked_last="Последняя просьба (выполнена ли она, неизвестно; новые сообщения важнее):",
    asked_first="Первая просьба:",
    newer="Новые сообщения важнее всего, что написано здесь.",
    repeat="Прежде чем делать что-то снова, проверьте, не сделано ли это.",
    secrets="Секреты из этого текста убраны.",
    called="Вызваны инструменты: {names}",
    unknown="Неизвестно. Проверьте файлы и процессы, прежде чем полагаться на них.",
    none="Записей нет.",
    replaced="Этот текст заменяет сообщения: {count}.",
)
SPANISH = Words(
    anchors="Citas de lo que este resumen sustituye y no dice. Los mensajes más nuevos prevalecen.",
    messages="Registro literal de lo escrito. La mayor parte ya se atendió: Active Task dice qué queda pendiente.",
    recovery="Todo lo dicho sigue guardado, palabra por palabra. Si falta un detalle, búscalo con session_search;"
    " no adivines.",
    recovery_bare="Si falta un detalle, dilo o pregunta; no adivines.",
    made="No se pudo generar el resumen ({reason}): este texto se compuso a partir de los mensajes, sin modelo.",
    asked_last="Lo último que se pidió (no se sabe si se hizo; los mensajes más nuevos prevalecen):",
    asked_first="Lo primero que se pidió:",
    newer="Los mensajes más nuevos prevalecen sobre todo lo escrito aquí.",
    repeat="Comprueba lo que ya se hizo antes de repetirlo.",
    secrets="Los secretos se quitaron de este texto.",
    called="Herramientas usadas: {names}",
    unknown="No se sabe. Revisa archivos y procesos antes de confiar en ellos.",
    none="Nada registrado.",
    replaced="Este texto sustituye {count} mensajes.",
)
GERMAN = Words(
    anchors="Zitate aus dem, wofür dieser Text steht und was er nicht sagt. Neuere Nachrichten gelten.",
    messages="Wörtlich, was geschrieben wurde. Das meiste ist erledigt: Was offen ist, steht unter Active Task.",
    recovery="Alles Gesagte ist wörtlich gespeichert. Fehlt hier eine Einzelheit, suche sie mit session_search;"
    " rate nicht.",
    recovery_bare="Fehlt hier eine Einzelheit, sage es oder frage nach; rate nicht.",
    made="Eine Zusammenfassung war nicht möglich ({reason}): Dieser Text entstand ohne Modell aus den Nachrichten.",
    asked_last="Zuletzt gefragt; ob es erledigt ist, ist nicht bekannt, neuere Nachrichten gelten:",
    asked_first="Zuerst gefragt:",
    newer="Neuere Nachrichten gelten vor allem, was hier steht.",
    repeat="Prüfe, was schon getan ist, bevor du es wiederholst.",
    secrets="Geheimnisse sind aus diesem Text entfernt.",
    called="Aufgerufene Werkzeuge: {names}",
    unknown="Nicht bekannt. Sieh nach Dateien und Prozessen, bevor du dich auf sie verlässt.",
    none="Nichts festgehalten.",
    replaced="Dieser Text steht für {count} Nachrichten.",
)

LANGUAGES = ENGLISH, CHINESE, JAPANESE, KOREAN, RUSSIAN, SPANISH, GERMAN

_KANA = re.compile("[\u3040-\u30ff]+")
_HAN = re.compile("[\u3400-\u9fff]+")
_HANGUL = re.compile("[\uac00-\ud7af]+")
_CYRILLIC = re.compile("[\u0400-\u04ff]+")
_LATIN = re.compile("[A-Za-zÀ-ÿ]+")
_COMMON = {
    name: frozenset(text.split("|"))
    for name, text in {
        # First, since where two languages have as many words as each other English is the safer guess.
        "en": "the|a|an|and|is|are|was|were|of|to|in|for|from|on|at|by|with|not|i|you|we|it|this|that|there|please|can"
        "|could|do|does|what|how|why|when|which|who|file|my|me|no|yes|if|but|or|be|has|have|use|add|make|let|now|hello"
        "|thanks|tell|show|give|get|find|want|need|more|about|all|any|then|just|look|read|write",
        "es": "el|la|los|las|un|una|de|del|que|y|en|por|para|con|no|se|lo|es|está|como|más|pero|su|al|qué|cómo|hola"
        "|gracias|puedes|quiero|hay|mi|me|haz|este|esta|archivo|también|porque|cuando",
        "de": "der|die|das|den|dem|ein|eine|einen|und|ist|nicht|ich|du|wir|sie|mit|auf|für|zu|von|im|bitte|wie|was"
        "|kannst|kann|hallo|danke|auch|noch|es|mir|mein|werden|oder|aber|wenn|datei|mach",
    }.items()
}


def words(newest_first: Iterable[str]) -> Words:
    """
    Return the sentences in the language of what a person wrote: the newest dozen messages are looked at.

    Kana is Japanese, and Chinese is what has Chinese characters without it; a language of letters is told by its
    commonest words. English for all others, and where there is nothing to tell by.
    """
    votes: Counter[str] = Counter(_language(text[:CHARS]) for text in islice(newest_first, LOOK))
    votes.pop("", None)
    return _WORDS[votes.most_common(1)[0][0]] if votes else ENGLISH


_WORDS = {
    "en": ENGLISH, "zh": CHINESE, "ja": JAPANESE, "ko": KOREAN, "ru": RUSSIAN, "es": SPANISH, "de": GERMAN,
}  # fmt: skip


def _language(text: str) -> str:
    latin = [word.casefold() for word in _LATIN.findall(text)]
    kana, han = _letters(_KANA, text), _letters(_HAN, text)
    # A word of letters says about as much as two Chinese characters or syllables.
    scripts = {
        "ja": kana and kana + han,
        "zh": 0 if kana > han / 8 else han,
        "ko": _letters(_HANGUL, text),
        "ru": _letters(_CYRILLIC, text) // 3,
    }
    best = max(scripts, key=lambda name: scripts[name])
    if scripts[best] >= max(1, len(latin)):
        return best
    found = {name: sum(word in common for word in latin) for name, common in _COMMON.items()}
    found["es"] += 2 * len(re.findall("[ñ¿¡]", text))
    found["de"] += 2 * len(re.findall("[ßäöü]", text))
    best = max(found, key=lambda name: found[name])
    return best if found[best] else ""


def _letters(script: re.Pattern[str], text: str) -> int:
    return sum(map(len, script.findall(text)))
