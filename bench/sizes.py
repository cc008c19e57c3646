"""Print the ten longest files and the ten longest functions of gateway/ and adapters/, in lines, without blank ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHOWN = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef


def filled(lines: list[str]) -> int:
    return sum(1 for line in lines if line.strip())


def functions(tree: ast.Module, lines: list[str]) -> Iterator[tuple[int, str, int]]:
    """The length, qualified name and first line of every function, without its docstring."""
    todo: list[tuple[str, ast.AST]] = [("", tree)]
    while todo:
        prefix, parent = todo.pop()
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, ast.ClassDef | Function):
                todo.append((prefix, node))
                continue
            name = prefix + node.name
            todo.append((f"{name}.", node))
            if isinstance(node, Function):
                docstring = filled((ast.get_docstring(node, clean=False) or "").splitlines())
                yield filled(lines[node.lineno - 1 : node.end_lineno]) - docstring, name, node.lineno


def show(title: str, measured: list[tuple[int, str]]) -> None:
    lengths = sorted(length for length, _ in measured)
    median, high = lengths[len(lengths) // 2], lengths[len(lengths) * 19 // 20]
    print(f"{title}: {len(lengths)}, median {median}, 95th percentile {high}")
    for length, place in sorted(measured, reverse=True)[:SHOWN]:
        print(f"{length:6}  {place}")


def main() -> None:
    files: list[tuple[int, str]] = []
    found: list[tuple[int, str]] = []
    for path in (*(ROOT / "gateway").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        place = path.relative_to(ROOT).as_posix()
        files.append((filled(lines), place))
        found += [(length, f"{place}:{line} {name}") for length, name, line in functions(ast.parse(text), lines)]
    show("files", files)
    show("functions", found)


if __name__ == "__main__":
    main()
