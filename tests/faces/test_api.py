"""The functions for other programs: what they give is what the command says of the same text."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import normlint
from normlint import Applicability, ConfigError, Finding, SourceError, api

HERE = Path(__file__).parents[2]
PAGE = (HERE / "docs" / "api.md").read_text(encoding="utf-8")
TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="torch is not installed")

SOUND = """\
import torch

def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
"""
GLOBAL = SOUND.replace("mean(-1, keepdim=True)", "mean()")
OUTSIDE = SOUND.replace("torch.rsqrt(", "1 / (torch.sqrt(").replace(" + eps)", ") + eps)")
LAST = "    return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight\n"
BOTH = GLOBAL.replace("torch.rsqrt(h.pow(2).mean() + eps)", "(1 / torch.sqrt(h.pow(2).mean() + eps))")


def notebook(text: str) -> str:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
    first = {"cell_type": "markdown", "metadata": {}, "source": "# A norm"}
    return json.dumps({"cells": [first, cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def markdown(text: str) -> str:
    return f"# A norm\n\n```python\n{text}```\n"


def latin(text: str) -> str:
    return f"# -*- coding: latin-1 -*-\n# mean over the Größe ×\n{text}"


SILENT = {
    "nothing": ("", "<string>"),
    "a sound norm": (SOUND, "<string>"),
    "a sound norm in Markdown": (markdown(SOUND), "a.md"),
    "a sound norm in a notebook": (notebook(SOUND), "a.ipynb"),
    "what isn't Python and can't hold a norm": ("def f(:\n", "<string>"),
    "a silenced finding": (GLOBAL.replace(LAST, f"{LAST[:-1]}  # noqa: NRM101\n"), "<string>"),
    "a page that isn't meant for Python": (markdown(GLOBAL).replace("python", "text"), "a.md"),
}
TOLD: dict[str, tuple[str, str, tuple[int | None, int, int]]] = {
    "Python": (GLOBAL, "<string>", (None, 5, 29)),
    "a stub": (GLOBAL, "a.pyi", (None, 5, 29)),
    "Markdown": (markdown(GLOBAL), "a.md", (None, 8, 29)),
    "a notebook": (notebook(GLOBAL), "a.ipynb", (2, 5, 29)),
    "Python that begins with a byte order mark": (f"\ufeff{GLOBAL}", "a.py", (None, 5, 29)),
    "Python that names another encoding": (latin(GLOBAL), "a.py", (None, 7, 29)),
    "lines that end as on Windows": (GLOBAL.replace("\n", "\r\n"), "a.py", (None, 5, 29)),
    "letters beyond the first plane": (GLOBAL.replace("(h * ", "('🙂' and h * "), "a.py", (None, 5, 37)),
}
ENDS = {name: row for name, row in TOLD.items() if name != "letters beyond the first plane"}


@pytest.mark.parametrize(("source", "path"), SILENT.values(), ids=SILENT)
def test_nothing_is_said_of(source: str, path: str) -> None:
    assert normlint.check_source(source, path) == ()
    assert normlint.fix_source(source, path) == normlint.Fixed(source, (), ())


@pytest.mark.parametrize(("source", "path", "place"), TOLD.values(), ids=TOLD)
def test_the_place_is_right_in(source: str, path: str, place: tuple[int | None, int, int]) -> None:
    (finding,) = normlint.check_source(source, path)
    assert (finding.code, finding.path, finding.norm) == ("NRM101", path, "rms_norm")
    assert (finding.cell, finding.line, finding.column) == place


@pytest.mark.parametrize(("source", "path", "place"), ENDS.values(), ids=ENDS)
def test_all_but_the_edit_stays_in(source: str, path: str, place: object) -> None:
    fixed = normlint.fix_source(source, path)
    assert fixed.source == source.replace("mean()", "mean(-1, keepdim=True)")
    assert fixed.applied == normlint.check_source(source, path)
    assert fixed.remaining == normlint.check_source(fixed.source, path) == ()


def of_json(one: dict) -> Finding:
    """The command's finding as a value."""
    fix = one["fix"]
    edits = tuple(
        normlint.Edit(e.get("cell"), *(e[k] for k in ("line", "column", "end_line", "end_column", "content")))
        for e in fix["edits"]
    )
    made = normlint.Fix(fix["message"], edits, Applicability(fix["applicability"]))
    names = "code name message path cell line column end_line end_column norm url severity".split()
    return Finding(*(one[name] for name in names), made)


@pytest.mark.parametrize("ending", [".py", ".md", ".ipynb"])
def test_the_values_are_the_command_s(ending: str, tmp_path: Path) -> None:
    dress = {".py": str, ".md": markdown, ".ipynb": notebook}[ending]
    for name, text in (("one", GLOBAL), ("two", OUTSIDE)):
        (tmp_path / f"{name}{ending}").write_text(dress(text), encoding="utf-8")
    command = [sys.executable, "-m", "normlint", "--isolated", "--output-format", "json", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    expected = tuple(map(of_json, json.loads(ran.stdout)["findings"]))
    assert [one.code for one in expected] == ["NRM101", "NRM302"]
    assert normlint.check_paths([tmp_path], isolated=True) == expected
    assert normlint.check_paths(str(tmp_path), isolated=True) == expected


@pytest.mark.parametrize(("eps", "severity"), [("0.1", "error"), ("0", "warning"), ("1e-8", "warning")])
def test_a_rule_may_find_errors_and_warnings(eps: str, severity: str) -> None:
    text = """import torch

def rms_norm(x, weight):
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True).to(x.dtype) + EPS) * weight
"""
    found = {one.code: one.severity for one in normlint.check_source(text.replace("EPS", eps))}
    assert found.get("NRM303", found.get("NRM205")) == severity


CHOICES = {
    "the rules that are on": ({}, ["NRM101"]),
    "a prefix": ({"select": "NRM1"}, ["NRM101"]),
    "a name": ({"select": ["global-reduction"]}, ["NRM101"]),
    "another family": ({"select": "NRM3"}, []),
    "several at once": ({"select": "NRM3,NRM6"}, ["NRM601"]),
    "all": ({"select": ["ALL"]}, ["NRM101", "NRM601"]),
    "one more": ({"extend_select": ("NRM601",)}, ["NRM101", "NRM601"]),
    "one less": ({"ignore": "NRM101"}, []),
}


@pytest.mark.parametrize(("options", "codes"), CHOICES.values(), ids=CHOICES)
def test_rules_are_chosen_as_on_the_command_line_by(options: dict, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BOTH, encoding="utf-8")
    assert sorted(one.code for one in normlint.check_source(BOTH, **options)) == codes
    assert sorted(one.code for one in normlint.check_paths([tmp_path], isolated=True, **options)) == codes


def test_unsafe_fixes_are_made_where_they_are_asked_for() -> None:
    safe, unsafe = normlint.fix_source(OUTSIDE), normlint.fix_source(OUTSIDE, unsafe=True)
    assert safe.source == OUTSIDE
    assert [one.fix and one.fix.applicability for one in safe.remaining] == [Applicability.UNSAFE]
    assert [one.code for one in unsafe.applied] == ["NRM302"]
    assert normlint.check_source(unsafe.source) == ()


def test_comments_silence_unless_they_are_not_to() -> None:
    silenced = GLOBAL.replace(LAST, f"{LAST[:-1]}  # noqa: NRM101\n")
    assert [one.code for one in normlint.check_source(silenced, noqa=False)] == ["NRM101"]
    assert normlint.fix_source(silenced, noqa=False).source == silenced.replace("mean()", "mean(-1, keepdim=True)")


def test_each_file_has_its_own_configuration(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GLOBAL, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.normlint]\nignore = ["NRM101"]\n', encoding="utf-8")
    assert normlint.check_paths([tmp_path]) == ()
    assert [one.code for one in normlint.check_paths([tmp_path], isolated=True)] == ["NRM101"]
    assert [one.code for one in normlint.check_paths([tmp_path], ignore="NRM3")] == ["NRM101"]


UNREADABLE = {
    "Python that doesn't parse": ("<string>", f"{GLOBAL}def f(:\n", "<string>:6: syntax error: invalid syntax; name"),
    "a file that doesn't parse": ("a.py", f"{GLOBAL}def f(:\n", "a.py:6: syntax error: invalid syntax"),
    "a notebook that is none": ("a.ipynb", f"{GLOBAL}", "a.ipynb:1: "),
    "NUL": ("a.py", "x = x.mean()\0", "a.py: binary file: it holds NUL bytes"),
    "half of a surrogate pair": ("a.py", "x.mean()\ny = '\ud800'", "a.py:2: half of a surrogate pair; read"),
}


@pytest.mark.parametrize(("path", "source", "message"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("function", [normlint.check_source, normlint.fix_source, normlint.list_norms])
def test_it_is_raised_that_there_is(function: object, path: str, source: str, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        function(source, path)
    assert str(raised.value).startswith(message)
    assert raised.value.path == path


def test_a_file_that_can_not_be_linted_is_raised_or_handed_over(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{GLOBAL}def f(:\n", encoding="utf-8")
    (tmp_path / "b.py").write_text(GLOBAL, encoding="utf-8")
    paths = [str(tmp_path), str(tmp_path / "gone.py")]
    with pytest.raises(SourceError, match=r"gone\.py: "):
        normlint.check_paths(paths, isolated=True)
    errors: list[SourceError] = []
    findings = normlint.check_paths(paths, isolated=True, on_error=errors.append)
    assert [(Path(one.path).name, one.line) for one in errors] == [("gone.py", None), ("a.py", 6)]
    assert [Path(one.path).name for one in findings] == ["b.py"]


WRONGLY = {
    "a rule that isn't there": (
        lambda: normlint.check_source("", select="NRM9999"),
        "unknown rule 'NRM9999' in select",
    ),
    "a device that isn't there": (lambda: normlint.verify_source(SOUND, device="tpu"), "device tpu: not one of auto"),
    "no time": (lambda: normlint.verify_source(SOUND, timeout=0), "timeout 0: give a number of seconds"),
}


@pytest.mark.parametrize(("call", "message"), WRONGLY.values(), ids=WRONGLY)
def test_wrong_use_is_raised_with_advice(call: object, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        call()


def test_a_broken_configuration_is_raised(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.normlint]\nx = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown key 'x'"):
        normlint.check_paths([tmp_path])


def test_norms_are_listed_right_or_wrong() -> None:
    norms = [normlint.list_norms(source)[0] for source in (SOUND, GLOBAL)]
    assert [(one.kind, one.qualname, one.line, one.spine.partition(" ")[0]) for one in norms] == [
        ("rms", "rms_norm", 5, "mean[-1]"),
        ("rms", "rms_norm", 5, "mean[*]"),
    ]


def test_what_can_not_hold_a_norm_needs_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert normlint.verify_source("x = 1\n") == ()
    with pytest.raises(ConfigError, match=re.escape("pip install 'normlint[verify]'")):
        normlint.verify_source(SOUND)


def test_what_is_wrong_is_found_without_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libcst", None)
    [finding] = normlint.check_source(GLOBAL)
    assert (finding.code, finding.fix) == ("NRM101", None)
    with pytest.raises(normlint.SourceError, match="6: syntax error: invalid syntax"):
        normlint.check_source(f"{GLOBAL}def f(:\n")
    with pytest.raises(ConfigError, match="pip install libcst"):
        normlint.fix_source(GLOBAL)


@needs_torch
def test_norms_are_run() -> None:
    both = f"{SOUND}\n\n{GLOBAL.replace('rms_norm', 'other_norm')}"
    verdicts = normlint.verify_source(both, device="cpu")
    assert [(one.norm.qualname, one.status, one.device) for one in verdicts] == [
        ("rms_norm", "match", "cpu"),
        ("other_norm", "wrong", "cpu"),
    ]
    assert verdicts[0].effective_eps == pytest.approx(1e-6, rel=0.05)
    assert [one.norm for one in verdicts] == list(normlint.list_norms(both))
    assert verdicts[1].worst is not None
    assert not verdicts[1].worst.passed


def test_the_rules_are_the_registry_s() -> None:
    from normlint.faces.rules import all_rules

    assert [(one.code, one.name, one.doc, one.url) for one in normlint.list_rules()] == [
        (one.code, one.name, one.doc, one.url) for one in all_rules()
    ]


def examples() -> list[doctest.DocTest]:
    docstrings = doctest.DocTestFinder(exclude_empty=True).find(api, globs=vars(api).copy())
    parser = doctest.DocTestParser()
    pages = re.findall(r"```pycon\n(.*?)```", PAGE, re.DOTALL)
    page = parser.get_doctest("\n".join(pages), {}, "docs/api.md", "docs/api.md", 0)
    return [test for test in (*docstrings, page) if test.examples]


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_the_examples_give_what_they_say_in(test: doctest.DocTest) -> None:
    if any("verify_source" in one.source for one in test.examples) and not TORCH:
        pytest.skip("torch is not installed")
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert "".join(told) == ""


def test_each_function_and_value_has_its_example_or_its_line_on_the_page() -> None:
    assert {test.name for test in examples()} >= {f"normlint.api.{name}" for name in api.__all__}
    assert [name for name in normlint.__all__ if f"`{name}`" not in PAGE and f"## {name}" not in PAGE] == []


def fresh(code: str, cwd: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_names_come_with_their_first_use(tmp_path: Path) -> None:
    before = "import sys, normlint; names = set(dir(normlint)); loaded = {n for n in sys.modules if 'normlint' in n}"
    code = f"{before}; print(loaded == {{'normlint'}}, names >= set(normlint.__all__), normlint.check_source('') == ())"
    assert fresh(code, tmp_path).stdout.split() == ["True", "True", "True"]


def test_a_name_that_is_not_there_is_an_attribute_error(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'check_sauce'"):
        getattr(normlint, "check_sauce")  # noqa: B009
    assert fresh("from normlint import rules; rules.analyse", tmp_path).returncode == 0


TYPED = """\
from normlint import Finding, Fixed, Verdict, check_source, fix_source, verify_source

first: Finding = check_source("")[0]
column: int = first.column
fixed: Fixed = fix_source("", unsafe=True)
verdict: Verdict = verify_source("")[0]
spine: str = verdict.norm.spine
"""
MISTYPED = """\
import normlint

normlint.check_sauce("")
normlint.check_source(b"")
"""


def test_a_type_checker_knows_the_names_and_their_types(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(TYPED, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(MISTYPED, encoding="utf-8")
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "."], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    errors = [line.partition(": error")[0] for line in ran.stdout.splitlines() if ": error" in line]
    assert errors == ["wrong.py:3", "wrong.py:4"], ran.stdout
