"""Which files are linted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.engine.discovery import Configs, Found, discover

Make = Callable[..., None]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Write files, given by path or by path and text, and stand in their directory."""
    monkeypatch.chdir(tmp_path)

    def write(*paths: str, **texts: str) -> None:
        for path in paths:
            name, _, text = path.partition("=")
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)

    return write


def found(*paths: str, **settings: object) -> Found:
    return discover(paths or (".",), Configs(lambda known: known.but(**settings)))


def listed(*paths: str, **settings: object) -> str:
    result = found(*paths, **settings)
    assert result.errors == ()
    return " ".join(result.paths).replace(os.sep, "/")


def test_four_endings_are_read_in_sorted_order(make: Make) -> None:
    make("b.py", "a/z.pyi", "a/y.ipynb", "c.md", "d.txt", "a.py", "E.PY")
    assert listed() == "E.PY a/y.ipynb a/z.pyi a.py b.py c.md"


def test_each_file_is_taken_once(make: Make) -> None:
    make("a/x.py")
    assert listed(".", "a", "a/x.py", "./a/../a/x.py") == "a/x.py"


def test_a_named_file_is_taken_whatever_its_name(make: Make) -> None:
    make("script", "build/x.py")
    assert listed("script", "build/x.py") == "build/x.py script"


def test_default_directories_are_left_out_but_may_be_named(make: Make) -> None:
    make("build/x.py", ".venv/x.py", "node_modules/x.py", "x.py")
    assert listed() == "x.py"
    assert listed("build") == "build/x.py"


def test_exclusions_hold_for_named_files_if_forced(make: Make) -> None:
    make("build/a/x.py", "y.py")
    assert listed("build/a/x.py", "build", "y.py", force_exclude=True) == "y.py"


def test_exclusions_are_added_or_replaced(make: Make) -> None:
    make("gen/x.py", "build/x.py", "y.py")
    assert listed(extend_exclude=("gen",)) == "y.py"
    assert listed(exclude=("gen",)) == "build/x.py y.py"


def test_gitignore_holds_at_every_level(make: Make) -> None:
    make(".gitignore=*.gen.py\n/top\n", "a.gen.py", "top/x.py", "sub/top/x.py")
    make("sub/.gitignore=!b.gen.py\n", "sub/b.gen.py")
    assert listed() == "sub/b.gen.py sub/top/x.py"
    assert listed(respect_gitignore=False) == "a.gen.py sub/b.gen.py sub/top/x.py top/x.py"


def test_gitignore_above_the_named_directory_holds_up_to_the_repository(make: Make) -> None:
    make("a/.gitignore=x.py\n", "a/repo/.git/HEAD", "a/repo/sub/x.py", "a/other/x.py", "a/other/y.py")
    assert listed("a/repo/sub") == "a/repo/sub/x.py"
    assert listed("a/other") == "a/other/y.py"


def test_an_ignored_directory_may_be_named(make: Make) -> None:
    make(".gitignore=out/\n", "out/x.py", "out/.gitignore=z.py\n", "out/z.py")
    assert listed() == ""
    assert listed("out") == "out/x.py"


def test_an_ignored_file_may_be_named_unless_forced(make: Make) -> None:
    make(".gitignore=x.py\n", "x.py")
    assert listed("x.py") == "x.py"
    assert listed("x.py", force_exclude=True) == ""


def test_links_to_directories_are_not_followed_and_links_to_files_are(make: Make, tmp_path: Path) -> None:
    make("a/x.py")
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "a" / "y.py").symlink_to("x.py")
    (tmp_path / "a" / "z.py").symlink_to(".")
    assert listed() == "a/x.py a/y.py"
    assert listed("a/loop") == "a/loop/a/x.py a/loop/a/y.py"


FAILURES = {
    "a link to itself": ("x.py", "x.py", "Too many levels of symbolic links"),
    "a link to nothing": ("x.py", "nowhere", "No such file or directory"),
}


@pytest.mark.parametrize(("name", "target", "reason"), FAILURES.values(), ids=FAILURES)
def test_an_error_is_reported(name: str, target: str, reason: str, make: Make, tmp_path: Path) -> None:
    make("a/y.py")
    (tmp_path / "a" / name).symlink_to(target)
    result = found()
    assert result.paths == (os.path.join("a", "y.py"),)
    assert [(error.path, error.message) for error in result.errors] == [(os.path.join("a", name), reason)]


def test_an_editor_lock_is_no_file(make: Make, tmp_path: Path) -> None:
    make("x.py")
    (tmp_path / ".#x.py").symlink_to("user@host.1")
    assert listed() == "x.py"


def test_a_path_that_is_not_there_is_an_error(make: Make) -> None:
    assert [error.message for error in found("no.py").errors] == ["No such file or directory"]
    assert [error.path for error in found("a\0").errors] == ["a\0"]


def test_an_unreadable_directory_is_an_error(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("a/x.py", "b/x.py")
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path) == "a":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = found()
    assert result.paths == (os.path.join("b", "x.py"),)
    assert [(error.path, error.message) for error in result.errors] == [("a", "Permission denied")]


def test_an_unreadable_gitignore_is_an_error(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make("x.py", ".gitignore=x.py\n")
    import pathspec

    def refuse(lines: object) -> None:
        raise ValueError("bad pattern")

    monkeypatch.setattr(pathspec.GitIgnoreSpec, "from_lines", refuse)
    result = found()
    assert result.paths == ("x.py",)
    assert [error.message for error in result.errors] == ["bad pattern"]


def test_settings_of_a_directory_govern_what_is_below_it(make: Make) -> None:
    make('a/pyproject.toml=[tool.normlint]\nexclude = ["gen"]\n', "a/gen/x.py", "gen/x.py", "a/y.py")
    assert discover((".",), Configs()).paths == (os.path.join("a", "y.py"), os.path.join("gen", "x.py"))


def test_an_entry_that_can_not_be_asked_is_no_directory(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "x.py"

        def is_dir(self, *, follow_symlinks: bool = True) -> bool:
            raise OSError(5, "Input/output error")

    make("y.py")
    monkeypatch.setattr("normlint.engine.discovery._Walk._entries", lambda *_: [Entry()])
    assert [(error.path, error.message) for error in found().errors] == [("x.py", "Input/output error")]
