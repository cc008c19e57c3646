"""What stands in command lines, in whatever language the text around them is. A pattern ends with its line."""

_READ = "cat|base64|strings|xxd|grep|head|tail|source"
_COPY = "cat|cp|scp|tar|zip|rsync|base64|xxd"
_KEYS = "id_rsa|id_ed25519|id_ecdsa|id_dsa"

PATTERNS = (
    ("exfil_curl", f"curl ~40 $secret|.env|{_KEYS}"),
    ("exfil_wget", f"wget ~40 $secret|.env|{_KEYS}"),
    ("read_secrets", f"{_READ} ~6 .env|.netrc|.pgpass|.npmrc|.pypirc"),
    ("read_secrets", f"{_READ} ~4 .aws ~0 credentials"),
    ("read_secrets", f"{_READ} ~2 etc ~0 passwd|shadow"),
    ("anti_forensic_oneliner", "history ~0 c"),
    (
        "anti_forensic_oneliner",
        "unset|rm|shred|truncate ~4 histfile|.bash_history|.zsh_history|bash_history|zsh_history",
    ),
    ("anti_forensic_disk", "shred|wipe|srm ~4 var ~0 log"),
    (
        "env_var_unset_agent",
        "unset ~6 hermes*|claude*|codex*|openai*|anthropic*|gemini*|cursor_*|agent_*",
    ),
    ("env_var_unset_agent", "env ~0 u ~0 hermes*|claude*|codex*|openai*|anthropic*|gemini*|cursor_*|agent_*"),
    ("ssh_backdoor", "echo|tee|>>|printf|cat ~16 authorized_keys"),
    ("ssh_access", f"{_COPY} ~6 .ssh|{_KEYS}"),
    ("hermes_env", f"{_READ}|cp|scp|tee|>>|echo|sed|nano|vi|vim ~8 .hermes|$hermes_home|${{hermes_home ~0 .env"),
    ("hermes_config_mod", "tee|>>|sed|nano|vi|vim|echo ~8 .hermes|$hermes_home|${hermes_home ~1 config|soul"),
    ("agent_config_mod", "tee|>>|sed|echo ~12 agents|claude|gemini ~0 md"),
    ("hardcoded_secret", "#name ~0 =|: ~4 #opaque"),
)
