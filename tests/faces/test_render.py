"""Each format says the same, in its own words."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from normlint.engine.config import FORMATS
from normlint.engine.linter import check_bytes
from normlint.engine.report import Diagnostic, Failure, Hunk, ListedNorm, PlacedFix, Report
from normlint.engine.run import check_all
from normlint.engine.selection import Demand
from normlint.faces.cli import norms_text
from normlint.faces.render import Display, concise, render, verdicts
from normlint.faces.terminal import wants_colour, watched
from normlint.text.finding import SEVERITIES, Applicability
from normlint.text.source import Place
from normlint.text.verdict import Probe, Verdict
from tests.helpers import BAD

pytestmark = pytest.mark.usefixtures("faked")

ODD_PATH = "a b/%,:<&>\"'变.py"


def checked(text: str, path: str = "a.py") -> Report:
    return check_bytes(path, text.encode(), Demand())


def full(text: str) -> str:
    return render(checked(text), "full", Display())


FRAMES = {
    "a finding with the lines around it": (
        "a = 1\nb = 2\nc = 3\ny = x / x.mean()\nd = 4\n",
        """\
a.py:4:9: NRM101 all tokens of the batch share one scale
  |
2 | b = 2
3 | c = 3
4 | y = x / x.mean()
  |         ^^^^^^^^ NRM101
5 | d = 4
  |
  = global-reduction (error): One row changes another.
  = help: no fix is made here (`normlint rule NRM101` shows wrong and right)

Found 1 error.
""",
    ),
    "wide characters, which take two columns": (
        "变量 = x.mean()",
        """\
a.py:1:6: NRM101 all tokens of the batch share one scale
  |
1 | 变量 = x.mean()
  |        ^^^^^^^^ NRM101
  |
  = global-reduction (error): One row changes another.
  = help: no fix is made here (`normlint rule NRM101` shows wrong and right)

Found 1 error.
""",
    ),
    "combining characters, which take none": (
        "e\u0301 = x.mean()",
        """\
a.py:1:6: NRM101 all tokens of the batch share one scale
  |
1 | e\u0301 = x.mean()
  |     ^^^^^^^^ NRM101
  |
  = global-reduction (error): One row changes another.
  = help: no fix is made here (`normlint rule NRM101` shows wrong and right)

Found 1 error.
""",
    ),
    "tabs, which become four spaces": (
        "if x:\n\ty =\tx.mean()",
        """\
a.py:2:6: NRM101 all tokens of the batch share one scale
  |
1 | if x:
2 |     y =    x.mean()
  |            ^^^^^^^^ NRM101
  |
  = global-reduction (error): One row changes another.
  = help: no fix is made here (`normlint rule NRM101` shows wrong and right)

Found 1 error.
""",
    ),
    "control characters, made visible": (
        "'\x1b[31m\u202e'; x.mean()",
        """\
a.py:1:11: NRM101 all tokens of the batch share one scale
  |
1 | '␛[31m�'; x.mean()
  |           ^^^^^^^^ NRM101
  |
  = global-reduction (error): One row changes another.
  = help: no fix is made here (`normlint rule NRM101` shows wrong and right)

Found 1 error.
""",
    ),
    "a fix": (
        "y = x.sqrt() + eps\n",
        """\
a.py:1:7: NRM302 eps joins after the root
  |
1 | y = x.sqrt() + eps
  |       ^^^^^^^^^^^^ NRM302
  |
  = eps-outside-sqrt (error): One row changes another.
  = help: Put eps under the root (unsafe: with --unsafe-fixes)
  |
1 - y = x.sqrt() + eps
  + y = x.sqrt()
  |

Found 1 error.
No safe fixes (1 with --fix --unsafe-fixes; first check if a model was trained with this code).
""",
    ),
}


@pytest.mark.parametrize(("text", "shown"), FRAMES.values(), ids=FRAMES)
def test_the_frame_shows(text: str, shown: str) -> None:
    assert full(text) == shown


def spanning(first: int, last: int, *lines: str) -> Diagnostic:
    return Diagnostic("NRM101", "n", "m", "a.py", Place(None, first, 3), Place(None, last, 4), "f", lines, 1)


def test_each_line_of_a_stretch_has_its_carets() -> None:
    shown = render(Report((spanning(1, 3, "x = (", "  a +", "  b)"),)), "full", Display())
    assert shown.splitlines()[2:8] == [
        "1 | x = (",
        "  |   ^^^",
        "2 |   a +",
        "  |   ^^^",
        "3 |   b)",
        "  |   ^ NRM101",
    ]


def test_the_middle_of_a_long_stretch_is_left_out() -> None:
    shown = render(Report((spanning(1, 12, *(f"  line{number}" for number in range(1, 13))),)), "full", Display())
    assert "line3\n" in shown
    assert "line7" not in shown
    assert shown.count("...") == 1
    assert "line12" in shown


def test_a_very_long_line_is_cut_to_what_surrounds_the_finding() -> None:
    shown = full("x = '" + "a" * 500 + "'; y = x.mean(); z = '" + "b" * 500 + "'\n")
    line, marks = shown.splitlines()[2:4]
    assert len(line) < 200
    assert line[marks.index("^") : marks.rindex("^") + 1] == "x.mean()"


def test_findings_are_parted_by_a_blank_line() -> None:
    assert full(BAD + BAD).count("wrong and right)\n\n") == 2
    assert full(BAD + BAD).endswith("Found 2 errors.\n")


def test_where_only_callers_are_reported_no_norms_are_counted() -> None:
    shown = render(Report((spanning(1, 1, "x"),)), "concise", Display(paths=("a.py",)))
    assert shown.splitlines()[1:] == ["Checked uses of norms in 1 file.", "Found 1 error."]
    shown = render(Report((), fixed=(spanning(1, 1, "x"),)), "concise", Display(paths=("a.py",)))
    assert shown.splitlines()[0] == "Checked uses of norms in 1 file."


def everything() -> Report:
    probe = Probe("zeros", "float16", 1.0, 0.1, "zeros come out")
    probes = (probe, Probe("zeros", "float16", math.inf, 0.1))
    verdict = Verdict("wrong", "far off", "cpu", 1e-5, eps_form="added", worst=probe, probes=probes)
    report = checked("y = x.mean()\nz = x.sqrt() + eps\n", ODD_PATH)
    finding = Diagnostic("NRM999", "new", "a\nb%", "b.ipynb", Place(2, 1, 1), Place(2, 2, 3), "f", verdict=verdict)
    norm = ListedNorm("b.ipynb", Place(2, 1, 1), "rms", "f", "mean", verdict)
    errors = (Failure("bad.py", 3, "syntax error: x"), Failure("gone\udcff.py", None, "No such file\x01"))
    return Report((*report.findings, finding), (*report.norms, norm), errors)


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_holds_every_finding(output_format: str) -> None:
    shown = render(everything(), output_format, Display(paths=("sound.py",)))
    for code in ("NRM101", "NRM302", "NRM999"):
        assert code in shown
    assert shown.endswith("\n")


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_says_nothing_of_nothing(output_format: str) -> None:
    assert "NRM1" not in render(Report(), output_format, Display()).replace('"id": "NRM101"', "")


ABOVE = """\
a.py:1:7: NRM302 [*] eps joins after the root
  |
1 | y = x.sqrt() + eps
  |       ^^^^^^^^^^^^ NRM302
  |
  = eps-outside-sqrt (error): One row changes another.
  = verify (whole norm): wrong: why
  = help: Import it (unsafe)
  |
0   import os
  + import torch
  |
"""


def test_an_inserted_line_is_shown_below_the_one_above_and_the_proof_at_the_gravest_finding_alone() -> None:
    (one,) = checked("y = x.sqrt() + eps\n").findings
    fix = PlacedFix(Applicability.UNSAFE, "Import it", (), (Hunk(None, 1, (), ("import torch",), "import os"),), True)
    grave = replace(one, fix=fix, verdict=Verdict("wrong", "why"), norms=(0,))
    light = replace(grave, code="NRM503", severity="warning", fix=None)
    shown = render(Report((light, grave)), "full", Display(quiet=True))
    assert shown.endswith(ABOVE + "\n")
    assert shown.count("verify") == 1


def test_what_a_norm_computes_stands_at_its_first_finding_and_lines_between_changes_are_marked() -> None:
    (one,) = checked("y = x.sqrt() + eps\n").findings
    hunks = (Hunk(None, 1, ("a",), ("b",)), Hunk(None, 2, ("c",), ("d",)), Hunk(None, 5, ("e",), ("f",)))
    first = replace(one, reads="RMSNorm over the last axis", norms=(0,))
    second = replace(first, fix=PlacedFix(Applicability.SAFE, "Widen", (), hunks))
    other = replace(first, reads="LayerNorm over axis 1", norms=(1,), fix=None)
    shown = render(Report((first, second, other)), "full", Display(quiet=True))
    assert shown.count("= the norm: RMSNorm over the last axis\n") == 1
    assert shown.count("= the norm: LayerNorm over axis 1\n") == 1
    assert "+ b\n2 - c\n  + d\n...\n5 - e\n  + f\n" in shown


GRADES = {
    "full": ("NRM101 all", "= global-reduction (warning):", "= global-reduction (review):"),
    "concise": ("Found 1 error.", "Found 1 warning.", "Found 1 review."),
    "json": ('"severity": "error"', '"severity": "warning"', '"severity": "review"'),
    "sarif": ('"level": "error",\n', '"level": "warning",\n', '"level": "note",\n'),
    "github": ("::error title", "::warning title", "::notice title"),
    "gitlab": ('"severity": "major"', '"severity": "minor"', '"severity": "info"'),
    "junit": ('name="severity" value="error"', 'name="severity" value="warning"', 'name="severity" value="review"'),
}


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("at", range(3), ids=SEVERITIES)
def test_every_format_tells_the_severity(output_format: str, at: int) -> None:
    found = tuple(replace(one, severity=SEVERITIES[at]) for one in checked(BAD).findings)
    assert GRADES[output_format][at] in render(Report(found), output_format, Display())


def test_severities_are_counted_apart() -> None:
    (one,) = checked(BAD).findings
    found = tuple(replace(one, severity=each) for each in ("warning", "error", "warning", "review"))
    assert concise.by_severity(found) == "1 error, 2 warnings and 1 review"


def test_json_is_as_promised() -> None:
    data = json.loads(render(everything(), "json", Display()))
    assert set(data) == {"version", "findings", "norms", "unread", "errors", "files", "skipped"}
    first, second, third = data["findings"]
    assert first == {
        "code": "NRM101",
        "name": "global-reduction",
        "message": "all tokens of the batch share one scale",
        "path": ODD_PATH,
        "cell": None,
        "line": 1,
        "column": 5,
        "end_line": 1,
        "end_column": 13,
        "norm": "RMSNorm.forward",
        "url": "https://normlint.readthedocs.io/rules/global-reduction",
        "severity": "error",
        "fix": None,
        "verdict": None,
    }
    edit = {"line": 2, "column": 7, "end_line": 2, "end_column": 19, "content": "sqrt()"}
    assert second["fix"] == {"applicability": "unsafe", "message": "Put eps under the root", "edits": [edit]}
    probe = {"probe": "zeros", "dtype": "float16", "error": 1.0, "limit": 0.1, "message": "zeros come out"}
    lost = {**probe, "error": None, "message": ""}
    verdict = {"status": "wrong", "reason": "far off", "device": "cpu", "effective_eps": 1e-5, "given_eps": None}
    assert third["verdict"] == {**verdict, "eps_form": "added", "worst": probe, "probes": [probe, lost]}
    assert (third["cell"], third["url"]) == (2, "")
    assert data["norms"][1] == {
        "path": "b.ipynb",
        "cell": 2,
        "qualname": "f",
        "line": 1,
        "kind": "rms",
        "sentence": "",
        "spine": "mean",
        "verdict": third["verdict"],
    }
    assert data["errors"][0] == {"path": "bad.py", "line": 3, "message": "syntax error: x"}


def test_sarif_has_its_shape() -> None:
    data = json.loads(render(everything(), "sarif", Display()))
    assert data["version"] == "2.1.0"
    (run,) = data["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert "ruleIndex" not in result or rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert min(region.values()) >= 1
        assert location["physicalLocation"]["artifactLocation"]["uri"].isascii()
    assert [len(result.get("fixes", ())) for result in run["results"]] == [0, 1, 0]
    assert len({result["partialFingerprints"]["normlint/v1"] for result in run["results"]}) == 3
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 2
    assert run["columnKind"] == "unicodeCodePoints"


def test_an_absolute_path_is_a_file_uri() -> None:
    data = json.loads(render(checked(BAD, "/a b/c.py"), "sarif", Display()))
    location = data["runs"][0]["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "file:///a%20b/c.py"


def test_github_escapes_what_would_end_a_command() -> None:
    lines = render(everything(), "github", Display()).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("::error title=normlint (NRM101 global-reduction),file=a b/%25%2C%3A<&>\"'变.py,line=1,")
    assert lines[2] == "::error title=normlint (NRM999 new),file=b.ipynb::b.ipynb:cell 2:1:1: NRM999 a%0Ab%25"
    assert lines[3] == "::error title=normlint,file=bad.py,line=3::syntax error: x"


def test_github_gives_no_columns_to_several_lines() -> None:
    shown = render(Report((spanning(1, 3, "x"),)), "github", Display())
    assert "line=1,endLine=3::" in shown


def test_gitlab_tells_equal_findings_apart() -> None:
    issues = json.loads(render(checked(BAD + BAD), "gitlab", Display()))
    assert len({issue["fingerprint"] for issue in issues}) == 2
    assert issues[0]["location"]["positions"]["begin"] == {"line": 1, "column": 9}
    moved = json.loads(render(checked("\n\n" + BAD + BAD), "gitlab", Display()))
    assert [issue["fingerprint"] for issue in moved] == [issue["fingerprint"] for issue in issues]


def test_junit_is_xml_with_all_files() -> None:
    root = ElementTree.fromstring(render(everything(), "junit", Display(paths=("sound.py", ODD_PATH))))
    assert root.attrib == {"name": "normlint", "tests": "6", "failures": "3", "errors": "2", "skipped": "0"}
    names = [suite.attrib["name"] for suite in root]
    assert names == ["sound.py", ODD_PATH, "bad.py", "gone�.py", "b.ipynb"]
    assert len(root.findall(".//failure")) == 3
    assert len(root.findall(".//error")) == 2


COLOURS = {
    "a terminal": ({"TERM": "xterm"}, True, True),
    "no terminal": ({}, False, False),
    "a dumb terminal": ({"TERM": "dumb"}, True, False),
    "NO_COLOR on a terminal": ({"NO_COLOR": "1"}, True, False),
    "FORCE_COLOR without a terminal": ({"FORCE_COLOR": "1"}, False, True),
    "FORCE_COLOR that says no": ({"FORCE_COLOR": "0"}, False, False),
    "both": ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
}


@pytest.mark.parametrize(("environment", "terminal", "colour"), COLOURS.values(), ids=COLOURS)
def test_colour_is_for(
    environment: dict[str, str], terminal: bool, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert wants_colour(stream) is colour


def test_colour_changes_nothing_else() -> None:
    import re

    report = everything()
    for output_format in ("full", "concise"):
        coloured = render(report, output_format, Display(colour=True))
        assert "\x1b[1;31m" in coloured
        assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == render(report, output_format, Display())


def test_a_bar_appears_only_in_long_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [(f"{number}.py", Demand()) for number in range(3)]
    expected = list(check_all(tasks))
    assert list(watched(check_all(tasks), 3)) == expected
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(watched(check_all(tasks), 3)) == expected
    monkeypatch.setattr("normlint.faces.terminal.PATIENCE", -1.0)
    assert list(watched(check_all(tasks), 3)) == expected
    assert capsys.readouterr().out == ""


def a_verdict(status: str, reason: str = "", **more: Any) -> Verdict:
    return Verdict(status, reason, None if status == "skipped" else "cpu", **more)


VERDICTS = {
    "wrong": a_verdict("wrong", "zeros at ×1e4", effective_eps=1e-6, given_eps=1e-5, eps_form="added"),
    "match": a_verdict("match", effective_eps=1e-6, given_eps=1e-6),
    "skipped": a_verdict("skipped", "needs apex\x1b"),
}


def run_report() -> Report:
    """Two findings on a wrong norm; one norm that matches, one that could not be run, one that was not to be."""
    place, end = Place(None, 1, 1), Place(None, 1, 2)
    norms = tuple(
        ListedNorm("a.py", Place(None, at, 1), "rms", f"N{at}.forward", "mean", VERDICTS.get(status), at)
        for at, status in enumerate(("wrong", "match", "skipped", "none"), 1)
    )
    read = Diagnostic(
        "NRM101", "n", "one scale", "a.py", place, end, "N1.forward", norms=(1,), verdict=VERDICTS["wrong"]
    )
    ran = Diagnostic(
        "NRM901", "n", "zeros at ×1e4", "a.py", place, end, "N1.forward", norms=(1,), verdict=VERDICTS["wrong"]
    )
    return Report((read, ran), norms, torch="2.13.0")


CLOSING = (
    "Verified 3 norms on cpu (torch 2.13.0): 1 match, 1 wrong, 1 skipped; 1 helper ran inside the norms that call it.\n"
)


def test_full_says_the_verdict_below_the_reason() -> None:
    shown = render(run_report(), "full", Display())
    assert "= n (error)\n  = verify (whole norm): wrong on cpu: zeros at ×1e4\n" in shown
    assert shown.count("zeros at ×1e4") == 2
    assert shown.endswith(f"\n\na.py:3:1: verify: skipped: needs apex␛ (N3.forward)\n\nFound 2 errors.\n{CLOSING}")


def test_concise_has_a_line_for_a_verdict_that_no_finding_tells() -> None:
    report = run_report()
    lines = render(report, "concise", Display()).splitlines(keepends=True)
    assert lines[2:] == ["a.py:3:1: verify: skipped: needs apex␛ (N3.forward)\n", "Found 2 errors.\n", CLOSING]
    only_read = replace(report, findings=report.findings[:1])
    assert "a.py:1:1: verify: wrong on cpu: zeros at ×1e4 (N1.forward)\n" in render(only_read, "concise", Display())


def test_listed_norms_have_their_verdict_and_eps() -> None:
    shown = norms_text(run_report(), Display())
    assert (
        "N1.forward\n    spine: mean\n    wrong on cpu: zeros at ×1e4\n    effective eps 1e-06 added, given 1e-05\n"
        in shown
    )
    assert "N2.forward\n    spine: mean\n    match on cpu\n    effective eps 1e-06\n" in shown
    assert shown.endswith(f"N4.forward\n    spine: mean\n{verdicts.LEGEND}\nFound 4 norms in 0 files.\n{CLOSING}")


@pytest.mark.parametrize("output_format", ["github", "gitlab", "junit", "sarif"])
def test_services_get_the_verdict_once(output_format: str) -> None:
    shown = render(run_report(), output_format, Display()).replace("\\u00d7", "×")
    assert "one scale (verify: wrong on cpu: zeros at ×1e4)" in shown
    assert "zeros at ×1e4 (verify" not in shown


def test_sarif_has_the_verdict_in_its_properties() -> None:
    results = json.loads(render(run_report(), "sarif", Display()))["runs"][0]["results"]
    assert [result["properties"]["verdict"]["status"] for result in results] == ["wrong", "wrong"]


@pytest.mark.parametrize("output_format", ["full", "concise"])
def test_nothing_is_said_of_runs_that_were_not_asked_for(output_format: str) -> None:
    assert "erif" not in render(checked(BAD), output_format, Display())


HOSTILE = "a\x1b[2J\u202eb\x9bc\nd.py"
TAKES_OVER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("output_format", FORMATS)
def test_nothing_in_a_name_or_a_line_reaches_a_terminal_in(output_format: str) -> None:
    report = checked("y = x / x.mean()  # \x1b[31m\u202e\x9b\n", HOSTILE)
    failed = replace(report, errors=(Failure(HOSTILE, 1, "odd \x1b\u202e"),))
    shown = render(failed, output_format, Display(paths=(HOSTILE,)))
    assert TAKES_OVER.findall(shown) == []


def test_a_name_with_a_line_end_is_one_line() -> None:
    assert render(checked("y = x / x.mean()\n", HOSTILE), "concise", Display()).splitlines()[0].count("NRM101") == 1
