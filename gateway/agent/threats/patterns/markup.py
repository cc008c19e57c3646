"""What pages hide from the eye."""

PATTERNS = (
    (
        "html_comment_injection",
        "<!-- ~60 ignore|override|disregard|forget|bypass ~6 instruction*|prompt|rules|user|previous|guidelines|above",
    ),
    ("html_comment_injection", "<!-- ~60 system|secret|hidden ~1 prompt|instruction*|command*|override|directive*"),
    ("hidden_div", "< ~0 div|span|p|section|td ~20 style ~20 display ~1 none"),
    ("hidden_div", "< ~0 div|span|p|section|td ~20 style ~20 visibility ~1 hidden"),
    ("hidden_div", "< ~0 div|span|p|section|td ~20 style ~20 font ~0 size ~1 0px|0pt"),
)
