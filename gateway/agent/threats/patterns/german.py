"""German."""

import re

_NOT = "!nicht|nie|niemals"
_IGNORE = (
    "ignoriere|ignoriert|ignorieren|ignorier|vergiss|vergesst|vergessen|missachte|übergehe|verwirf|"
    "überspringe|verwerfen"
)
_PRIOR = (
    "vorherigen|vorherige|bisherigen|bisherige|früheren|frühere|obigen|obige|vorangegangenen|vorhergehenden|obenstehenden|vorstehenden|"
    "vorigen|ursprünglichen|bestehenden|anfänglichen"
)
_ORDERS = (
    "anweisung|anweisungen|instruktionen|vorgaben|befehle|regeln|richtlinien|prompts|prompt|systemprompt|nachrichten"
)
_LIMITS = (
    "einschränkung|einschränkungen|beschränkungen|regeln|grenzen|filter|zensur|richtlinien|schranken|"
    "schutzmaßnahmen|vorschriften|sicherheitsregeln|sicherheitsfilter|inhaltsfilter"
)
_USER = "nutzer|nutzern|benutzer|benutzern|anwender|betreiber|user|nutzerin|benutzerin"
_SHOW = "zeig|zeige|gib|verrate|nenne|drucke|wiederhole|offenbare|schreibe|enthülle|veröffentliche"
_TALK = (
    "gespräch|gesprächsverlauf|unterhaltung|chat|chatverlauf|kontext|verlauf|speicher|gedächtnis|gespräche|konversation"
)
_SEND = "sende|schicke|schick|sendet|übermittle|lade|leite|poste|übertrage|exfiltriere"
_TAKE = f"lies|lese|öffne|kopiere|stiehl|zeige|zeig|gib|drucke|{_SEND}"
_CHANGE = "bearbeite|ändere|ergänze|schreibe|schreib|aktualisiere|überschreibe|füge|erweitere|modifiziere|trage|hänge"
_SERVER = "server|c2|botnetz|botnet|controller|steuerserver|http://|https://"
_DO = "führe|ausführen|führ|starte|ausführe"

_PATTERNS = (
    ("prompt_injection", f"{_NOT} {_IGNORE} ~6 {_NOT} {_PRIOR} ~2 {_ORDERS}"),
    ("prompt_injection", f"{_PRIOR} ~1 {_ORDERS} ~3 ignorieren|vergessen|missachten|verwerfen"),
    (
        "prompt_injection",
        f"{_NOT} {_IGNORE} ~1 alle|sämtliche|deine|jede|diese|ihre ~1 "
        "anweisung|anweisungen|instruktionen|vorgaben|prompts|systemanweisungen",
    ),
    ("prompt_injection", f"{_NOT} {_IGNORE} ~1 alles ~4 gesagt|gelernt|gesagte|gelernte|aufgetragen|bisherige"),
    (
        "prompt_injection",
        f"befolge|befolgt|beachte|folge|beachten ~1 nicht|keine ~3 {_PRIOR}|deine|deinen ~1 {_ORDERS}",
    ),
    ("prompt_injection", f"befolge|befolgt|beachte|folge ~2 {_PRIOR}|deine|deinen ~1 {_ORDERS} ~1 nicht"),
    (
        "sys_prompt_override",
        "überschreibe|ersetze|überschreiben|ersetzen ~3 systemprompt|systemnachricht|systemanweisung|systemanweisungen",
    ),
    (
        "sys_prompt_override",
        "systemprompt|systemanweisung|systemanweisungen ~3 überschrieben|ersetzt|aufgehoben|überschreiben|ersetzen",
    ),
    ("disregard_rules", f"{_NOT} {_IGNORE}|brich ~1 alle|deine|sämtliche|jegliche|ihre ~2 {_LIMITS}"),
    ("disregard_rules", f"halte|halt ~1 dich ~1 nicht ~2 an ~1 deine|die|irgendwelche|keine ~2 {_LIMITS}"),
    (
        "bypass_restrictions",
        f"{_NOT} umgehe|umgeht|umgehen ~3 sicherheitsregeln|sicherheitsfilter|inhaltsfilter|sicherheitsrichtlinien",
    ),
    ("bypass_restrictions", f"{_NOT} umgehe|umgeht|umgehen ~2 deine|alle ~1 {_LIMITS}"),
    ("bypass_restrictions", f"verhalte|antworte|handle|agiere|sprich ~4 als|so ~6 keine|keinerlei|ohne ~2 {_LIMITS}"),
    ("translate_execute", f"übersetze|übersetz|konvertiere|dekodiere|entschlüssle ~14 und|dann ~2 {_DO}"),
    (
        "deception_hide",
        f"sag|sage|erzähl|erzähle|verrate|verrat|teile|offenbare ~2 {_USER} ~3 nichts|nicht|nie|niemals|kein",
    ),
    ("deception_hide", f"{_NOT} verheimliche|verschweige|verbirg|verstecke|verheimlichen ~6 {_USER}"),
    ("deception_hide", f"ohne ~3 {_USER} ~3 informieren|sagen|benachrichtigen|mitzuteilen|merkt"),
    (
        "deception_hide",
        f"{_USER} ~0 darf|soll|dürfen|sollen ~3 nichts|nicht ~2 erfahren|wissen|merken",
    ),
    ("read_secrets", f"{_NOT} {_TAKE} ~6 .env|.netrc|.pgpass|credentials"),
    (
        "read_secrets",
        f"{_NOT} stiehl|stehle|exfiltriere|entwende|klau ~3 passwörter|zugangsdaten|tokens|geheimnisse|schlüssel",
    ),
    ("role_hijack", f"du|ihr ~2 jetzt|nun|ab ~8 ohne ~2 {_LIMITS}"),
    ("role_hijack", "du|ihr ~2 jetzt|nun|ab ~4 entwicklermodus|adminmodus|dan|debugmodus|gottmodus"),
    (
        "role_hijack",
        "du|ihr ~2 jetzt|nun ~4 unzensierte|unzensierter|uneingeschränkte|uneingeschränkter|entfesselte|böse "
        "~1 ki|assistent|chatbot|bot|ai",
    ),
    (
        "role_hijack",
        f"jetzt|nun|ab ~2 bist|seid ~0 du|ihr ~6 ohne|keine ~2 {_LIMITS}",
    ),
    (
        "role_pretend",
        f"tu|tue|stell|spiele|simuliere|gib ~2 so|dir|vor|eine|einen ~10 keine|ohne|keinerlei ~2 {_LIMITS}",
    ),
    ("leak_system_prompt", f"{_NOT} {_SHOW} ~4 systemprompt|systemanweisungen|systemanweisung|systemnachricht"),
    (
        "leak_system_prompt",
        f"{_NOT} {_SHOW} ~3 versteckten|ursprünglichen|internen|geheimen ~1 anweisungen|instruktionen|prompt|prompts",
    ),
    ("leak_system_prompt", f"{_NOT} {_SHOW} ~4 system prompt|anweisungen"),
    (
        "remove_filters",
        f"{_NOT} deaktiviere|entferne|schalte|hebe|lösche|deaktivieren ~3 "
        "sicherheitsfilter|inhaltsfilter|sicherheitsregeln|zensur|inhaltsrichtlinien|sicherheitsrichtlinien",
    ),
    (
        "fake_update",
        f"deine|ihre ~1 {_ORDERS}|{_LIMITS} ~3 aktualisiert|geändert|ersetzt|aufgehoben|widerrufen|ungültig",
    ),
    (
        "fake_update",
        f"systemupdate|sicherheitsupdate|systemaktualisierung|notfallupdate ~8 {_ORDERS}|{_LIMITS} ~3 "
        "aufgehoben|ersetzt|ungültig|geändert|außer",
    ),
    (
        "identity_override",
        "du|ihr ~1 kein|keine|nicht ~0 mehr|länger ~3 assistent|assistentin|ki|bot|chatbot|hermes|sprachmodell",
    ),
    ("identity_override", "du ~1 nicht|kein|keine ~0 mehr|länger ~3 assistent|ki|bot|hermes|gebunden|eingeschränkt"),
    ("identity_override", "deine ~1 neue|wahre|echte ~0 identität|persönlichkeit"),
    ("identity_override", f"{_NOT} vergiss|vergesst ~2 wer ~0 du ~0 bist|warst"),
    (
        "c2_node_registration",
        f"registriere|registrier|melde ~4 knoten|bot|zombie|implantat|agent ~6 {_SERVER}|netzwerk",
    ),
    (
        "c2_heartbeat",
        "sende|schicke|sendet ~4 heartbeat|herzschlag|lebenszeichen|beacon ~14 aufgaben|befehle|aufträge|anweisungen",
    ),
    ("c2_task_pull", f"hole|lade|rufe|empfange|frage ~3 aufgaben|befehle|aufträge ~4 {_SERVER} ~8 {_DO}"),
    ("c2_network_connect", "verbinde|verbindet|tritt|schließe ~5 c2|botnetz|botnet"),
    (
        "forced_action",
        "du ~1 musst|sollst|wirst ~2 sofort|heimlich|unverzüglich|unbemerkt|umgehend|still "
        "~6 ausführen|herunterladen|hochladen|senden|schicken|löschen|weiterleiten|installieren|verbinden|starten",
    ),
    ("anti_forensic_oneliner", "nur|ausschließlich ~3 einzeiler ~10 keine|nicht|nie|ohne|spuren|festplatte|verlauf"),
    (
        "anti_forensic_disk",
        "hinterlasse|hinterlass|schreibe|speichere|lege ~2 keine|keinerlei|nie|niemals ~2 "
        "spuren|skripte|beweise|dateien|spur ~5 platte|festplatte|system|server|rechner",
    ),
    ("anti_forensic_disk", f"{_NOT} verwische|vernichte|beseitige|lösche ~3 spuren|beweise"),
    (
        "known_c2_framework",
        "nutze|benutze|verwende|starte|installiere|lade ~4 metasploit|meterpreter|brainworm|cobaltstrike",
    ),
    ("known_c2_framework", "nutze|benutze|verwende|starte|installiere ~4 cobalt strike"),
    ("c2_explicit_long", "command ~1 control ~1 server|kanal|infrastruktur|servern"),
    (
        "send_to_url",
        f"{_NOT} {_SEND} ~4 "
        f"{_TALK}|passwörter|zugangsdaten|tokens|schlüssel|geheimnisse|notizen|nachrichten|alles ~6 "
        "an|auf|nach|zu ~3 http://|https://",
    ),
    (
        "context_exfil",
        f"{_NOT} {_SEND} ~2 ganzen|gesamten|kompletten|vollständigen|ganze|gesamte|komplette|vollständige ~2 "
        f"{_TALK} ~2 an|auf|zu ~3 {_SERVER}|adresse",
    ),
    (
        "context_exfil",
        f"{_NOT} {_CHANGE}|binde ~3 ganzen|gesamten|kompletten|vollständigen|ganze|gesamte ~2 {_TALK} ~1 "
        "in|an|zu ~1 jede|jeder|jedem|jeden",
    ),
    ("ssh_backdoor", f"{_NOT} {_CHANGE} ~12 authorized_keys"),
    ("ssh_access", f"{_NOT} {_TAKE} ~5 id_rsa|id_ed25519|id_ecdsa"),
    ("ssh_access", f"{_NOT} {_TAKE} ~3 privaten ~1 ssh ~1 schlüssel|key|keys"),
    ("hermes_env", f"{_NOT} {_TAKE}|{_CHANGE} ~6 .hermes|hermes .env"),
    ("agent_config_mod", f"{_NOT} {_CHANGE} ~6 agents|claude|gemini md"),
    ("hermes_config_mod", f"{_NOT} {_CHANGE} ~6 .hermes|hermes ~1 config yaml|yml|json"),
    ("hermes_config_mod", f"{_NOT} {_CHANGE} ~6 soul md"),
)


def _long(word: re.Match[str]) -> str:
    """A word with umlauts, or that word as it is written without them."""
    return f"{word[0]}|{word[0].replace('ä', 'ae').replace('ö', 'oe').replace('ü', 'ue')}"


PATTERNS = tuple((name, re.sub(r"\w*[äöü]\w*", _long, pattern)) for name, pattern in _PATTERNS)
