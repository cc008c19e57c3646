"""
Propose the weights of `gateway.llm.tokens`: those whose worst error over the texts of even number is the least.

    pip install scipy==1.17.1
    PYTHONPATH=. python tests/data/tokens/fit.py

A linear programme: a weight is at least 0, and what too few texts have is held where it stands (`HELD`). It prints the
weights as they are and as proposed; they go rounded into `text.py` and `scripts.py`, and the tests judge the outcome by
the other half of the texts.
"""

from __future__ import annotations

import json
from pathlib import Path

from scipy.optimize import linprog

from gateway.llm.tokens.text import WEIGHTS, features

HERE = Path(__file__).parent
STRICT = ("o200k", "qwen", "deepseek")
UNDER, OVER = 0.19, 0.27
"""What may be missing, or too much, before it counts as a whole error; a bit less than the tests allow."""
SLACK = {"qwen3.6": 1.3, "tables": 2.2}
"""Some digits and scripts differ so much between tokenizers that no weight fits them all."""
LOOSE = {"others"}
"""One text for each script: too few to fit anything on."""
SIMPLE = 0.005
"""What a weight costs, so that one that explains nothing is 0."""
HELD = {"wide", "rulers", "latin", "latin_more", "greek", "semitic", "indic", "thai", "other", "quotes", "symbols"}
# The texts hold few blanks and line ends; without a least weight they would be free.
LEAST, MOST = {"gaps": 0.15, "lines": 0.4}, {"fullwidth": 1.2, "selectors": 1.0}


def main() -> None:
    names = sorted(WEIGHTS)
    kinds = [path for path in sorted(HERE.glob("*.json")) if path.stem not in LOOSE]
    rows, bounds = [], []
    for number, path in enumerate(kinds):
        for entry in json.loads(path.read_text())["texts"][::2]:
            found = features(entry["text"])
            row = [float(found.get(name, 0)) for name in names]
            error = [-1.0 if place == number else 0.0 for place in range(len(kinds))] + [0.0]
            for tokenizer in (*STRICT, "qwen3.6"):
                true, slack = entry[tokenizer], SLACK.get(tokenizer, 1.0) * SLACK.get(path.stem, 1.0)
                for sign, allowed in ((-1, UNDER * slack), (1, OVER * slack)):
                    rows.append([sign * count / true / allowed for count in row] + error)
                    bounds.append(sign / allowed)
    for number in range(len(kinds)):  # no kind's error is larger than the worst, which costs most
        rows.append([0.0] * len(names) + [1.0 if place == number else 0.0 for place in range(len(kinds))] + [-1.0])
        bounds.append(0.0)
    limits = [
        (WEIGHTS[name], WEIGHTS[name]) if name in HELD else (LEAST.get(name, 0.0), MOST.get(name, 2.5))
        for name in names
    ]
    solved = linprog(
        [SIMPLE] * len(names) + [1.0] * len(kinds) + [6.0],
        A_ub=rows,
        b_ub=bounds,
        bounds=limits + [(0.0, None)] * (len(kinds) + 1),
    )
    for name, weight in zip(names, solved.x, strict=False):
        print(f"{name:15} {WEIGHTS[name]:6.3f} {weight:6.3f}")


if __name__ == "__main__":
    main()
