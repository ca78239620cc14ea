"""Nothing a file holds ends the run, hangs it, or prints a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from normlint.engine import run
from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.linter import check_bytes, check_checked_text, check_path
from normlint.engine.report import Failure, Report
from normlint.engine.selection import Demand, Selection
from normlint.text.depth import too_deep
from normlint.text.marks import may_hold_norm
from normlint.text.raw import BadSourceError, read_bytes
from normlint.text.syntax import check_syntax, is_python, syntax_error_line
from tests.helpers import BAD, NORM
from tests.helpers import BROKEN as BROKEN_FILE

DEEP = "nested too deeply to be analysed"
BROKEN = {
    "a syntax error": ("x = 1\ndef f(:\n", "syntax error: invalid syntax", 2),
    "an indent that isn't there": ("def f():\nx\n", "syntax error: expected an indented block", 2),
    "tabs and spaces": ("if 1:\n\tx\n        y\n", "syntax error: inconsistent use of tabs", 3),
    "10,000 nested parentheses": ("x = " + "(" * 10_000 + "1" + ")" * 10_000, DEEP, None),
    "10,000 open parentheses": ("x = " + "(" * 10_000, DEEP, None),
    "250 nested parentheses": ("x = " + "(" * 250 + "1" + ")" * 250, DEEP, 1),
    "200 indented blocks": ("".join(" " * i + "if 1:\n" for i in range(200)) + " " * 200 + "x", DEEP, 101),
    "100,000 signs": ("x = " + "-" * 100_000 + "1", DEEP, None),
    "100,000 terms": ("x = " + "1 + " * 100_000 + "1", DEEP, None),
    "a chain of 100,000 attributes": ("x = a" + ".b" * 100_000, DEEP, None),
    "10,000 subscripts": ("x = a" + "[0]" * 10_000, DEEP, None),
    "10,000 branches": ("if a: b\n" + "elif a: b\n" * 10_000, DEEP, None),
    "newer syntax, nested": ("type X[T] = list[T]\nx = " + "-" * 20_000 + "1", DEEP, None),
    "half a surrogate pair": ("x = '\ud800'", "not Python: ", None),
    "NUL": ("x = 1\0", "", None),
}


@pytest.mark.parametrize(("text", "message", "line"), BROKEN.values(), ids=BROKEN)
def test_a_text_is_refused_for(text: str, message: str, line: int | None) -> None:
    with pytest.raises(BadSourceError) as refused:
        check_syntax(text)
    assert refused.value.message.startswith(message)
    assert line is None or refused.value.line == line


SOUND = {
    "nothing": "",
    "an invalid escape": "x = '\\d'\n",
    "a literal of 20,000 entries": "x = [" + "-1, (a.b + 1), " * 10_000 + "]",
    "20,000 lines": "x = a.b[0] + -1\n" * 20_000,
    "20,000 strings with brackets": "x = '(((' ; y = \"[[\"  # (\n" * 20_000,
    "a long docstring": '"""' + "- a (b, c + d\n" * 6000 + '"""\n',
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_a_text_is_accepted_with(text: str) -> None:
    check_syntax(text)


def test_what_compiles_too_deep_for_its_parser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("builtins.compile", overflow)
    with pytest.raises(BadSourceError, match=DEEP):
        check_syntax("x = 1")
    assert syntax_error_line("x = 1") == 0


def test_a_deep_text_is_no_python_to_analyse() -> None:
    assert too_deep("x = " + "-" * 5000 + "1")
    assert not is_python("x = " + "-" * 5000 + "1")


@pytest.mark.usefixtures("faked")
def test_the_other_files_are_linted(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BROKEN_FILE)
    (tmp_path / "good.py").write_text(BAD)
    tasks = [(str(tmp_path / name), Demand()) for name in ("bad.py", "gone.py", "good.py")]
    bad, gone, good = run.check_all(tasks)
    assert [error.line for error in bad.errors] == [1]
    assert [error.message for error in gone.errors] == ["No such file or directory"]
    assert [finding.code for finding in good.findings] == ["NRM101"]


RAISED = {
    "a bug": (ZeroDivisionError("by nought"), "internal error: ZeroDivisionError: by nought"),
    "a recursion": (RecursionError(), DEEP),
    "a lack of memory": (MemoryError(), DEEP),
    "a syntax error": (SyntaxError("odd"), "syntax error: odd"),
}


@pytest.mark.parametrize(("error", "message"), RAISED.values(), ids=RAISED)
def test_the_analysis_may_fail_with(error: Exception, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("normlint.rules.analyse", fail)
    monkeypatch.setattr("normlint.rules.blocks.analyse_blocks", fail)
    assert check_bytes("a.py", NORM.encode(), Demand()).errors == (Failure("a.py", None, message),)
    assert check_checked_text("a.py", NORM, Demand()).errors[0].message == message


def test_a_block_the_analysis_cannot_parse_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SyntaxError("odd")

    monkeypatch.setattr("normlint.rules.analyse", fail)
    monkeypatch.setattr("normlint.rules.blocks.analyse_blocks", fail)
    page = f"```py\n{NORM}```\n".encode()
    assert may_hold_norm(page.decode())
    assert check_bytes("a.md", page, Demand()).errors == ()


def test_a_file_that_is_unreadable_is_reported(tmp_path: Path) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        assert check_path(str(tmp_path / "pipe.py"), Demand()).errors[0].message == "not a regular file"


@pytest.mark.usefixtures("faked")
def test_several_processes_give_the_same_in_the_same_order(tmp_path: Path) -> None:
    names = [f"{number:03}.py" for number in range(40)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(BAD * (number % 3) or BROKEN_FILE)
    tasks = [(str(tmp_path / name), Demand()) for name in names]
    reports = list(run.check_all(tasks, 1))
    assert [(len(one.findings), len(one.errors)) for one in reports[:3]] == [(0, 1), (1, 0), (2, 0)]
    assert list(run.check_all(tasks, 2)) == reports


def test_a_file_that_kills_its_process_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "killer.py", "z.py"):
        (tmp_path / name).write_text("x = 1\n")

    def read(path: str) -> bytes:
        return os._exit(11) if "killer" in path else read_bytes(path)

    monkeypatch.setattr("normlint.engine.linter.read_bytes", read)
    tasks = [(str(tmp_path / name), Demand()) for name in ("a.py", "killer.py", "z.py")]
    reports = list(run.check_all(tasks, 2))
    assert [len(report.errors) for report in reports] == [0, 1, 0]
    assert reports[1].errors[0].message == "the process that analysed it died"


PAGES = {
    "deep quotes": ">" * 10_000 + " x.std() / y",
    "deep lists": "- " * 5_000 + "x.std() / y",
    "many brackets": "[" * 20_000 + "x.std() / y",
    "many stars": "*a_ " * 10_000 + "x.std() / y",
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_may_hold(page: str) -> None:
    assert may_hold_norm(page)
    assert check_bytes("a.md", page.encode(), Demand()).errors == ()


UNREAD = {
    "syntax": b"def f(:\n",
    "encoding": b"x = '\xff'\n",
    "declaration of its encoding": b"# coding: nonsense\n",
    "NUL bytes": b"x = 1\0",
}


@pytest.mark.parametrize("data", UNREAD.values(), ids=UNREAD)
def test_a_file_without_a_candidate_is_not_read_for_its(data: bytes, tmp_path: Path) -> None:
    assert check_bytes("a.py", data, Demand()) == Report()
    (tmp_path / "a.py").write_bytes(data)
    fixed = fix_file(str(tmp_path / "a.py"), FixRequest(Demand()))
    assert isinstance(fixed, Fixed)
    assert not fixed.changed


UNREADABLE = {
    "syntax": (b"def f(:\n    " + NORM.encode(), "syntax error: invalid syntax", 1),
    "encoding": (UNREAD["encoding"] + NORM.encode(), "not decodable as utf-8: invalid start byte", 1),
    "declaration of its encoding": (
        UNREAD["declaration of its encoding"] + NORM.encode(),
        "not decodable: unknown encoding: nonsense",
        1,
    ),
    "NUL bytes": (UNREAD["NUL bytes"] + NORM.encode(), "NUL", None),
}


@pytest.mark.parametrize(("data", "message", "line"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_with_a_candidate_gets_its(data: bytes, message: str, line: int | None) -> None:
    (error,) = check_bytes("a.py", data, Demand()).errors
    assert message in error.message
    assert line in (None, error.line)


SOUND_NORM = """\
import torch


def rms_norm(x):
    h = x.float()
    return (h * (h.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()).type_as(x)


"""
WRONG_NORM = SOUND_NORM.replace("-1, ", "")
ELSEWHERE = "def f(:\n    pass\n"


def test_a_statement_without_a_norm_may_be_broken_where_nothing_is_found() -> None:
    report = check_bytes("a.py", (SOUND_NORM + ELSEWHERE).encode(), Demand())
    assert ([norm.qualname for norm in report.norms], report.findings, report.errors) == (["rms_norm"], (), ())


@pytest.mark.parametrize("fixes", [True, False], ids=["also with fixes", "also without"])
def test_a_file_with_a_finding_is_reported_instead_where_it_is_broken_elsewhere(fixes: bool) -> None:
    assert [one.code for one in check_bytes("a.py", WRONG_NORM.encode(), Demand(fixes=fixes)).findings] == ["NRM101"]
    told = Report(errors=(Failure("a.py", 9, "syntax error: invalid syntax"),))
    assert check_bytes("a.py", (WRONG_NORM + ELSEWHERE).encode(), Demand(fixes=fixes)) == told


def test_a_finding_that_is_not_asked_for_does_not_tell_that_its_file_is_broken() -> None:
    demand = Demand(Selection(("NRM3",)))
    assert check_bytes("a.py", (WRONG_NORM + ELSEWHERE).encode(), demand).errors == ()


def test_a_norm_beside_a_broken_one_is_not_reported() -> None:
    broken = SOUND_NORM + "def g(:\n    " + NORM
    assert check_bytes("a.py", broken.encode(), Demand()) == Report(
        errors=(Failure("a.py", 9, "syntax error: invalid syntax"),)
    )


BLANKS = {
    "a reduction without its bracket": "x = mean" + " " * 5_000 + "]",
    "a reduction far above": "x = mean" + "\n" * 5_000 + "]",
    "a renamed import": "from torch import mean" + " " * 5_000 + "as",
}


@pytest.mark.parametrize("text", BLANKS.values(), ids=BLANKS)
def test_the_sieve_is_not_held_up_by_blanks_after(text: str) -> None:
    assert not may_hold_norm(text)  # where blanks meet blanks in a pattern, this has no end


def test_the_command_never_prints_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "nul.py").write_bytes(NORM.encode() + b"\0")
    (tmp_path / "deep.py").write_text("x = x.std() / " + "(" * 10_000)
    (tmp_path / "long.py").write_text(NORM + "x = '" + "a" * 50_000_000 + "'")
    (tmp_path / "a.ipynb").write_text("{ x / x.std()")
    for lines in (4, 1):
        command = [sys.executable, "-m", "normlint", "."]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 2
        assert "Traceback" not in ran.stderr
        assert len(ran.stderr.splitlines()) == lines
        (tmp_path / "pyproject.toml").write_text("[tool.normlint")


NEWER = {
    "quotes in an f-string": ("x = f'{a['b']}'\n", (3, 12)),
    "a type statement": ("type X[T] = list[T]\n", (3, 12)),
    "several exceptions without parentheses": ("try: a\nexcept* B: c\n", (3, 11)),
}


@pytest.mark.parametrize(("text", "since"), NEWER.values(), ids=NEWER)
def test_syntax_newer_than_this_python_is_reported_as_such(text: str, since: tuple[int, int]) -> None:
    if sys.version_info >= since:
        check_syntax(text)
        return
    with pytest.raises(BadSourceError) as refused:
        check_syntax(text)
    version = ".".join(map(str, sys.version_info[:2]))
    assert refused.value.message == f"this Python ({version}) can't parse it: run normlint with a newer Python"
    (error,) = check_bytes("a.py", (WRONG_NORM + text).encode(), Demand()).errors
    assert (error.message, error.line) == (refused.value.message, 9)
