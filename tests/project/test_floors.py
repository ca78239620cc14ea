"""Imports only go down, and what is slow to import is imported where it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import normlint

ROOT = Path(normlint.__file__).parent
FLOORS = ("text", "evaluate", "norm", "rules", "fixes", "engine", "verify", "faces")
LIBCST = ("text/syntax.py", "fixes/")
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 500, 40


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES)
def test_imports_only_go_down(file: str) -> None:
    floor = file.partition("/")[0]
    if floor not in FLOORS:
        return
    above = FLOORS[FLOORS.index(floor) + 1 :]
    climbing = [name for name in imports(tree_of(file)) for over in above if f"{name}.".startswith(f"normlint.{over}.")]
    assert climbing == []


@pytest.mark.parametrize("file", FILES)
def test_heavy_libraries_stay_where_they_belong(file: str) -> None:
    used = {name.partition(".")[0] for name in imports(tree_of(file))}
    assert "libcst" not in used or file.startswith(LIBCST)
    assert "torch" not in used or file.startswith("verify/")


@pytest.mark.parametrize("file", FILES)
def test_files_and_functions_are_short(file: str) -> None:
    assert len((ROOT / file).read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1
            start = node.body[1].lineno if documented else node.lineno  # a rule's docstring is its page
            assert (node.end_lineno or 0) - start < LONGEST_FUNCTION, node.name


@pytest.mark.parametrize("file", FILES)
def test_only_the_linter_catches_everything(file: str) -> None:
    """And `try` in a text that is interpreted, and what judges such a text. What is raised again isn't caught."""
    broad = [
        node
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ExceptHandler)
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]
    assert len(broad) == (file in ("engine/linter.py", "evaluate/concrete/statements.py", "verify/interpret.py"))


SLOW = ("concurrent", "json", "libcst", "markdown_it", "pathspec", "rich", "torch", "normlint.rules")


def loaded(code: str, cwd: Path) -> set[str]:
    """Which of the slow modules a fresh interpreter has after running the code."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, check=True)
    return set(ran.stdout.split()) & set(SLOW)


@pytest.mark.parametrize("more", ["", ", '--output-format', 'concise'"], ids=["in full", "concisely"])
def test_a_file_without_a_candidate_imports_next_to_nothing(more: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert loaded(f"from normlint.faces.cli import main; main(['a.py'{more}])", tmp_path) == set()


def test_the_plugin_imports_nothing_for_a_file_without_a_candidate(tmp_path: Path) -> None:
    code = "from normlint.faces.flake8 import Plugin; list(Plugin(None, 'a.py', ['x = 1']).run())"
    assert loaded(code, tmp_path) == set()


def test_the_package_itself_is_light(tmp_path: Path) -> None:
    assert loaded("import normlint; assert normlint.__version__", tmp_path) == set()
