"""English."""

_NOT = "!not|never|don't|dont|can't|cannot"
_IGNORE = "ignore|disregard|forget|skip|overlook|bypass|discard|override"
_PRIOR = "previous|prior|earlier|above|preceding|foregoing|former|past|initial|original|system"
_ORDERS = "instruction|instructions|directive*|guideline*|prompt|prompts"
_ALL_ORDERS = f"{_ORDERS}|rules|commands|orders|context|messages|programming|training"
_USER = "!other|another user|users|human|operator"
_LIMITS = "restriction*|limit|limits|limitation*|rules|filter*|guideline*|constraint*|guardrail*|safeguard*"
_NODE = "node|bot|implant|zombie"
_SERVER = "c2|botnet|server|controller|operator|endpoint|http://|https://"
_TALK = "conversation*|chat|context|history|memory|memories|transcript|prompt"
_CHANGE = "edit|modify|update|change|append|write|overwrite|add|insert|rewrite|patch"
_TAKE = "read|copy|send|print|show|upload|post|open|give|share|reveal|exfiltrate|fetch|download"
_USE = "use|using|run|start|deploy|install|launch|load|connect|spawn"

PATTERNS = (
    ("prompt_injection", f"{_NOT} {_IGNORE} ~3 {_PRIOR} ~1 {_ALL_ORDERS}"),
    ("prompt_injection", f"{_NOT} ignore|disregard|override ~9 {_PRIOR} ~2 {_ORDERS}"),
    ("prompt_injection", f"{_NOT} {_IGNORE} ~2 {_ORDERS} ~2 above|before|previously|earlier|preceding"),
    ("prompt_injection", f"{_NOT} {_IGNORE} ~1 all|any|every|your|these|those ~2 {_ORDERS}"),
    (
        "prompt_injection",
        f"{_NOT} {_IGNORE} everything|anything|all|whatever ~2 you|you've|i|we ~3 told|said|learned|taught|instructed",
    ),
    ("prompt_injection", f"{_NOT} {_IGNORE} everything|all|anything ~1 above|before and"),
    (
        "prompt_injection",
        f"not|never|don't|stop ~1 follow|following|obey|obeying|heed|heeding ~3 {_PRIOR}|your ~1 {_ALL_ORDERS}",
    ),
    ("sys_prompt_override", "system ~1 prompt ~2 override|overridden|replaced|overwritten"),
    ("sys_prompt_override", f"{_NOT} override|overwrite|replace|rewrite ~3 system ~0 prompt|{_ORDERS}"),
    (
        "disregard_rules",
        f"{_NOT} disregard|ignore|abandon|forget ~1 your|all|any|every ~2 rule|{_LIMITS}|polic*|principles|{_ORDERS}",
    ),
    (
        "bypass_restrictions",
        f"act|behave|respond|answer|operate ~1 as ~1 if|though ~3 no|without|don't|not ~3 {_LIMITS}",
    ),
    (
        "bypass_restrictions",
        f"{_NOT} bypass|circumvent|evade|sidestep ~3 safety|content|security|ethical|your ~1 {_LIMITS}|polic*|measures",
    ),
    ("translate_execute", "translate|convert|decode|decrypt ~12 into|to|from ~12 and ~2 execute|eval"),
    (
        "translate_execute",
        "translate|convert|decode|decrypt ~12 into|to|from ~12 and ~1 run ~2 it|this|that|result|output|code|command",
    ),
    ("deception_hide", f"never|don't|dont ~1 tell|inform|reveal|disclose|mention ~4 {_USER}"),
    ("deception_hide", f"do|must|should|shall ~0 not ~3 tell|inform|reveal|disclose|mention ~4 {_USER}"),
    ("deception_hide", f"not|never|don't|dont ~1 let ~2 {_USER} ~1 know|notice|see"),
    ("deception_hide", f"{_NOT} hide|conceal|keep ~3 this|these|it|that|action*|change* ~4 from ~2 {_USER}"),
    ("deception_hide", f"without ~1 telling|informing|alerting ~1 {_USER}"),
    (
        "deception_hide",
        "user|human|operator ~0 must|should|may ~0 not|never ~1 know|notice|learn|suspect",
    ),
    (
        "read_secrets",
        f"{_NOT}|memory leak|exfiltrate|steal|harvest|dump ~4 credential*|secrets|passwords|tokens|.env",
    ),
    ("read_secrets", f"{_NOT} {_TAKE} ~2 content|contents|values ~4 .env|.netrc|.pgpass|credentials|secrets"),
    (
        "role_hijack",
        "you|you're ~1 now|henceforth ~3 unrestricted|uncensored|unfiltered|jailbroken|unbound|rogue|evil",
    ),
    ("role_hijack", "you|you're ~1 now ~2 developer|god|debug|dan|jailbreak|unrestricted|admin|root ~0 mode"),
    (
        "role_hijack",
        "you|you're ~1 now|henceforth ~3 ai|chatbot|llm|assistant|bot|dan that|who|which|without|with|named|"
        "called|free",
    ),
    (
        "role_hijack",
        "now ~1 on ~1 you|you're ~8 without|no|unrestricted|unlimited ~2 "
        "restriction*|limits|limitation*|filter*|guardrail*",
    ),
    ("role_pretend", "act|pretend|imagine|roleplay|behave ~5 unrestricted|uncensored|unfiltered|jailbroken|amoral"),
    (
        "role_pretend",
        f"pretend|imagine ~1 you|to|that ~4 no|without|another|different ~2 ai|assistant|chatbot|{_LIMITS}",
    ),
    (
        "role_pretend",
        "pretend|imagine|roleplay|act ~5 evil|rogue|malicious|dan ~1 ai|assistant|bot|chatbot|hacker|mode",
    ),
    (
        "leak_system_prompt",
        f"{_NOT} reveal|show|print|output|repeat|display|tell|give|share|leak|dump|recite|expose|write "
        "~4 system|hidden|secret|developer ~0 prompt|prompts|instructions",
    ),
    (
        "leak_system_prompt",
        f"{_NOT} reveal|show|print|output|repeat|display|tell|give|share|leak|dump|recite|expose|write|what "
        "~3 your ~1 system|initial|original|full|exact|own ~1 prompt|instructions|guidelines",
    ),
    (
        "remove_filters",
        f"{_NOT} disable|remove|deactivate|lift|drop|suspend|unlock|off "
        f"~3 safety|content|ethical|moral|censorship ~1 {_LIMITS}|check*|protocol*|polic*|mechanism*",
    ),
    (
        "fake_update",
        "system|security|urgent|critical|policy|openai|anthropic|developer ~1 update|notice|patch "
        "~6 instructions|guidelines|rules|directives|restrictions ~3 void|replaced|changed|suspended|lifted|obsolete",
    ),
    (
        "fake_update",
        "your ~2 instructions|guidelines|rules|directives|programming|restrictions ~1 been|now|hereby "
        "~2 updated|changed|replaced|revised|revoked|lifted|superseded|void|removed|suspended",
    ),
    ("identity_override", "your new|true|real identity|persona|self"),
    (
        "identity_override",
        "you|you're ~1 no ~0 longer ~3 ai|assistant|hermes|claude|chatgpt|chatbot|bot|bound|restricted",
    ),
    ("identity_override", f"{_NOT} forget ~1 who|what you are|were"),
    ("c2_node_registration", f"register|enroll|enrol ~1 yourself|agent|instance|session ~3 {_NODE}|worker|client"),
    ("c2_node_registration", f"register|enroll|enrol ~2 as ~2 {_NODE} ~4 {_SERVER}|network|hive"),
    (
        "c2_heartbeat",
        "send|post|emit|transmit ~3 heartbeat*|beacon* ~16 tasks|task|commands|orders|instructions|c2|tasking",
    ),
    (
        "c2_task_pull",
        f"pull|fetch|poll|retrieve|download|get ~3 task|tasks|tasking|commands|orders|instructions ~4 {_SERVER} "
        "~8 execute|run|obey|follow|perform",
    ),
    ("c2_task_pull", "pull|fetch|poll|await|request ~3 tasking|taskings"),
    ("c2_network_connect", "connect|join|attach|link|beacon ~4 c2|botnet|hivemind"),
    ("c2_network_connect", "connect|join|attach|link|beacon ~4 command ~1 control"),
    (
        "forced_action",
        "you ~0 must|shall|will ~2 immediately|silently|secretly|quietly|covertly|unconditionally "
        "~3 execute|run|download|upload|send|exfiltrate|delete|forward|connect|register|call|install|transfer",
    ),
    ("forced_action", f"you ~0 must|shall ~2 register|beacon|report|connect ~4 {_SERVER}|{_NODE}"),
    (
        "anti_forensic_oneliner",
        "only|exclusively ~3 one ~0 liner|liners ~10 never|not|no|avoid|trace*|disk|history|logs",
    ),
    (
        "anti_forensic_disk",
        "not|never|don't|avoid|without ~1 write|writing|save|saving|create|creating|leave|leaving "
        "~2 script*|payload*|evidence|artifact*|artefact*|trace*|code ~4 disk",
    ),
    (
        "anti_forensic_disk",
        "leave|leaving ~1 no|any|zero ~1 trace*|evidence|artifact*|artefact* ~3 disk|machine|system|server|logs|host",
    ),
    ("known_c2_framework", f"{_USE} ~4 metasploit|meterpreter|brainworm|cobaltstrike|msfconsole|msfvenom"),
    ("known_c2_framework", f"{_USE} ~4 cobalt strike"),
    ("c2_explicit_long", "command ~1 control ~2 server*|channel*|infrastructure|node*|beacon*|callback*|endpoint*"),
    (
        "send_to_url",
        f"{_NOT} send|post|upload|transmit|forward|exfiltrate|submit|push "
        f"~4 {_TALK}|secrets|credential*|password*|token*|keys|contents|notes|messages|everything "
        "~6 to ~3 http://|https://",
    ),
    (
        "context_exfil",
        f"{_NOT} send|forward|leak|email|upload|post|transmit|exfiltrate ~3 full|entire|whole|complete ~2 {_TALK} "
        "~2 to ~4 server|address|url|endpoint|webhook|attacker|http://|https://",
    ),
    (
        "context_exfil",
        f"{_NOT} include|append|add|attach|embed|print|output|dump ~3 full|entire|whole|complete|all ~2 {_TALK} "
        "~1 in|to|into|with ~2 every|each|url|request|image|link|query",
    ),
    ("ssh_backdoor", f"{_NOT} append|add|write|insert|put|install|inject ~12 authorized_keys"),
    ("ssh_access", f"{_NOT} {_TAKE} ~5 id_rsa|id_ed25519|id_ecdsa|id_dsa"),
    ("ssh_access", f"{_NOT} {_TAKE} ~3 private ssh key|keys"),
    ("ssh_access", f"{_NOT} {_TAKE} ~3 ssh private key|keys"),
    ("hermes_env", f"{_NOT} {_TAKE}|{_CHANGE} ~6 .hermes|hermes .env"),
    ("agent_config_mod", f"{_NOT} {_CHANGE} ~6 agents|claude|gemini md"),
    ("agent_config_mod", f"{_NOT} {_CHANGE} ~6 .cursorrules|.clinerules|.windsurfrules"),
    ("hermes_config_mod", f"{_NOT} {_CHANGE} ~6 .hermes|hermes ~1 config yaml|yml|json"),
    ("hermes_config_mod", f"{_NOT} {_CHANGE} ~6 soul md"),
)
