"""How answers look where they are read: hints of platforms without an adapter of ours, and what settings make of one.

An adapter of ours brings its own hint in `Limits.hint`, and so may one of others; a platform named here then needs
none. What each platform can show, and its limits, are the reference's facts; the words are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.agent.prompt.prompt import Section, Tier

BASIC = "Markdown becomes the formatting of the platform: bold, italic, strikethrough, code. Use lists, never tables."
FULL = "Markdown is shown formatted, with tables and code blocks."
PLAIN = "Write plain text: Markdown would be shown as it is written."
NOBODY = "Nobody is present: ask nothing back and wait for nothing, decide by yourself and finish the task."
PROGRAM = f"A program of unknown kind shows your answer. {PLAIN} Be brief."

HINTS: Mapping[str, str] = {
    "api": PROGRAM,
    "api_server": PROGRAM,  # the reference's name of the same
    "bluebubbles": f"You are writing in iMessage. {PLAIN} Short paragraphs; each becomes a bubble of its own.",
    "cli": f"The person reads in a terminal. {PLAIN} Short lines and plain lists. Never write MEDIA tags.",
    "cron": f"A schedule started this. {NOBODY} What you say at the end is delivered as it stands, so say only that.",
    "desktop": f"You are writing in a desktop application. {FULL} Formulas and images in the text are shown.",
    "dingtalk": "You are writing in DingTalk. Simple Markdown is shown: headings, bold, links, lists. No tables.",
    "email": "Your answer is sent as an e-mail with the subject kept. Write well-structured plain text without Markdown"
    " and without a salutation or a signature, unless the person wants one.",
    "feishu": "You are writing in Feishu (Lark). Markdown is shown formatted, and images stand within the text.",
    "google_chat": f"You are writing in Google Chat. {BASIC} A message has at most 4,000 characters.",
    "irc": f"You are writing in IRC. {PLAIN} A message is one line of about 450 bytes; answer in one or two.",
    "line": f"You are writing in LINE. {PLAIN} A message has at most 5,000 characters, an answer at most 5 messages.",
    "matrix": "You are writing in Matrix. Markdown is shown formatted, but without tables, spoilers, strikethrough and"
    " check boxes. Give links a name.",
    "mattermost": f"You are writing in Mattermost. {FULL}",
    "ntfy": f"Your answer is sent as a notification with ntfy. {PLAIN} At most 4,096 characters, the point first.",
    "photon": f"You are writing in Photon. {PLAIN}",
    "qqbot": "You are writing in QQ. Markdown is shown formatted, and emoji are welcome.",
    "raft": f"You are writing in Raft. {BASIC}",
    "signal": f"You are writing in Signal. {BASIC}",
    "simplex": f"You are writing in SimpleX. {BASIC}",
    "sms": f"Your answer is sent as a text message (SMS). {PLAIN} Stay below 1,600 characters, better below 300.",
    "teams": f"You are writing in Microsoft Teams. {FULL}",
    "tui": f"The person reads in a terminal program. {FULL} Results of scheduled runs stay on this machine.",
    "webui": f"You are writing in a web page. {FULL} Formulas, Mermaid diagrams and images in the text are shown.",
    "wecom": "You are writing in WeCom. Markdown is shown formatted. Images may have up to 10 MB, files up to 20 MB,"
    " and voice must be AMR.",
    "weixin": "You are writing in WeChat. Markdown is shown; keep it compact.",
    "whatsapp": f"You are writing in WhatsApp. {BASIC}",
    "whatsapp_cloud": f"You are writing in WhatsApp. {BASIC} A person can be written to only within 24 hours after"
    " their last message (error 131047 later).",
    "yuanbao": "You are writing in Yuanbao. Markdown is shown formatted, with tables. Files may have up to 50 MB.",
}
SENDING = (
    "To send a file, write a line of its own: MEDIA:{folder}/name.ext (quote a path with spaces). Images, audio and"
    " video are shown as such, anything else as a document. Only files in {folders} can be sent."
)


@dataclass(frozen=True, slots=True)
class Override:
    """What `platform_hints` says of a platform: text in place of the hint, and text behind it."""

    replace: str = ""
    append: str = ""


def hint(platform: str, own: str, override: Override, *, sendable: tuple[str, ...] = ()) -> Section:
    """
    Return the section on a platform: its adapter's own hint or ours, as the settings want it.

    `sendable` are the folders, as the tools name them, from which files can be sent there; none where it takes none.
    """
    text, origin = (own, f"the adapter of {platform}") if own else (HINTS.get(platform, ""), "built in")
    if sendable:
        sending = SENDING.format(folder=sendable[0], folders=" and ".join(sendable))
        text = f"{text} {sending}".strip()
    if override.replace:
        text, origin = override.replace, f"platform_hints.{platform}.replace"
    if override.append:
        text, origin = f"{text}\n{override.append}", f"{origin}, platform_hints.{platform}.append"
    return Section("platform hint", origin, text, Tier.STABLE)
