"""What every module of the gateway keeps to, besides the walls that import-linter checks."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "gateway").rglob("*.py"))
RUN_BY_OTHERS = {"__main__.py", "env.py"}
"""Files that do their work when they are imported: by the interpreter, by Alembic."""


def module(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("file", [file for file in FILES if file.name not in RUN_BY_OTHERS], ids=str)
def test_a_module_can_be_imported(file: Path) -> None:
    importlib.import_module(module(file))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_module_says_what_it_is(file: Path) -> None:
    assert ast.get_docstring(ast.parse((ROOT / file).read_text("utf-8")))


@pytest.mark.parametrize("file", [file for file in FILES if module(file).split(".")[1:2] != ["config"]], ids=str)
def test_only_the_settings_read_the_environment(file: Path) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    names = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert not {"os.environ", "os.environb", "os.getenv", "os.putenv"} & (names | imported)
