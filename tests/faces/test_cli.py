"""The command: its options, its exit status, and what it says where."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from normlint import __version__
from normlint.faces import cli, entry
from normlint.faces.options import _parser
from normlint.faces.render.verdicts import LEGEND
from tests.helpers import BAD, BROKEN, Ran, fake_analyse, fake_analyse_blocks

Run = Callable[..., Ran]
pytestmark = pytest.mark.usefixtures("faked")
SOUND = "x = 1\n"


@pytest.fixture
def bad(command: Run, tmp_path: Path) -> Run:
    """The command, in a directory with one finding."""
    (tmp_path / "a.py").write_text(BAD)
    return command


def write(**files: str) -> None:
    for name, text in files.items():
        Path(name.replace("__", ".")).write_text(text)


def test_nothing_found_is_0(command: Run) -> None:
    write(a__py=SOUND)
    warned = "normlint: warning: 0 norms found in .: is this the right folder?\n"
    assert command() == Ran(0, "All checks passed: 0 norms in 1 file.\n", warned)
    assert command("a.py") == Ran(0, "All checks passed: 0 norms in 1 file.\n", "")


def test_where_there_is_no_python_file_it_says_why(command: Run, tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    write(a__txt="x", b__py=SOUND, __gitignore="b.py\n")
    ran = command()
    assert ran.out == "All checks passed: 0 norms in 0 files.\n"
    assert ran.err == "normlint: warning: no Python file found in . that isn't excluded\n"


def test_what_was_checked_is_counted_in_each_ending(bad: Run) -> None:
    write(b__py=SOUND, c__py="# normlint: skip-file\n" + BAD, d__py=BROKEN)
    looked = "1 norm in 2 files; 1 file skipped by a comment; 1 file failed."
    for arguments in ((), (), ("--statistics",), ("--diff",), ("--fix",), ("--output-format", "concise")):
        ran = bad(*arguments)
        assert f"Checked {looked}\n" in ran.out + ran.err, arguments
    assert bad("--show-norms").out.endswith(f"Found {looked}\n")


def test_findings_are_1(bad: Run) -> None:
    ran = bad("--output-format", "concise")
    assert ran == Ran(
        1, "a.py:1:9: NRM101 all tokens of the batch share one scale\nChecked 1 norm in 1 file.\nFound 1 error.\n", ""
    )


def test_findings_are_0_when_asked_for(bad: Run) -> None:
    assert bad("--exit-zero").status == 0


TROUBLE = {
    "a path that is not there": (["no.py"], "normlint: no.py: No such file or directory"),
    "a file that does not parse": (["broken.py"], "normlint: broken.py:1: syntax error: invalid syntax"),
    "an unknown option": (["--foo"], "normlint: unrecognized arguments: --foo"),
    "an abbreviated option": (["--sel", "NRM1"], "normlint: unrecognized arguments: --sel"),
    "an unknown code": (["--select", "XYZ"], "normlint: unknown rule 'XYZ' in --select; `normlint --list-rules`"),
    "an unknown format": (["--output-format", "xml"], "normlint: argument --output-format: invalid choice: 'xml'"),
    "no number of jobs": (["--jobs", "0"], "normlint: argument --jobs: '0' is no number of processes"),
    "a rule to explain that is not there": (["--explain", "NRM9"], "normlint: unknown rule 'NRM9'"),
    "a configuration that is not there": (["--config", "no.toml"], "normlint: no.toml: can't be read: No such file"),
    "two answers about configuration": (
        ["--config", "x", "--isolated"],
        "normlint: --config and --isolated cannot be combined",
    ),
    "a baseline that is not there": (
        ["--baseline", "no"],
        "normlint: baseline no: No such file or directory; write it",
    ),
    "a baseline that is none": (["--baseline", "a.py"], "normlint: baseline a.py: not a baseline; write it again"),
    "standard input and a path": (["-", "a.py"], 'normlint: "-" cannot be combined with paths'),
    "a name for standard input that isn't read": (
        ["--stdin-filename", "a.py"],
        'normlint: --stdin-filename names what "-"',
    ),
    "a path without a letter": (["a.py", ""], 'normlint: a path is empty: "." is the directory'),
    "comments for standard input": (["-", "--add-noqa"], "normlint: --add-noqa writes files"),
    "a report that can't be written": (["--output-file", "no/a"], "normlint: --output-file no/a: No such"),
    "a SARIF file that can't be written": (["--sarif-file", "no/a"], "normlint: --sarif-file no/a: No such file"),
    "a baseline that can't be written": (["--write-baseline", "no/a"], "normlint: --write-baseline no/a: No such file"),
}


@pytest.mark.parametrize(("arguments", "said"), TROUBLE.values(), ids=TROUBLE)
def test_2_and_one_line_for(arguments: list[str], said: str, bad: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(broken__py=BROKEN) if "broken.py" in arguments else None
    ran = bad(*arguments)
    assert ran.status == 2
    assert ran.err.startswith(said)
    assert len(ran.err.splitlines()) == 1


def test_the_others_are_linted_beside_a_broken_file(bad: Run) -> None:
    write(broken__py=BROKEN)
    ran = bad("--output-format", "concise")
    assert ran.status == 2
    assert ran.out.splitlines() == [
        "a.py:1:9: NRM101 all tokens of the batch share one scale",
        "Checked 1 norm in 1 file; 1 file failed.",
        "Found 1 error.",
    ]
    assert ran.err == "normlint: broken.py:1: syntax error: invalid syntax\n"


def test_nothing_is_claimed_of_files_that_could_not_be_read(command: Run) -> None:
    write(broken__py=BROKEN)
    ran = command()
    assert ran.out == "Checked 0 norms in 0 files; 1 file failed.\nFound nothing in what could be read.\n"


def test_a_broken_file_that_nothing_is_found_in_is_left_to_others(command: Run) -> None:
    write(broken__py="def f(:\n", other__py=BROKEN)
    assert command("broken.py") == Ran(0, "All checks passed: 0 norms in 1 file.\n", "")
    assert command("other.py", "--select", "NRM3") == Ran(0, "All checks passed: 1 norm in 1 file.\n", "")
    assert command("other.py").status == 2


@pytest.mark.parametrize("name", ["pyproject.toml", "sub/normlint.toml", "sub/.normlint.toml"])
@pytest.mark.parametrize("arguments", [(), ("--fix",), ("--verify",), ("--output-format", "json")])
def test_a_broken_configuration_stops_the_run_before_any_finding(name: str, arguments: tuple, bad: Run) -> None:
    Path("sub").mkdir()
    Path("sub/b.py").write_text(BAD)
    head, where = ("[tool.normlint]\n", "[tool.normlint] ") if name == "pyproject.toml" else ("", "")
    Path(name).write_text(f"{head}selekt = []\n")
    said = f"normlint: {name}: {where}unknown key 'selekt' (did you mean select?); the documentation lists all\n"
    assert bad(*arguments) == Ran(2, "", said)


def test_in_a_directory_our_own_file_goes_before_pyproject(bad: Run) -> None:
    write(pyproject__toml="[tool.normlint]\nselect = ['NRM101']\n")
    assert bad().status == 1
    write(normlint__toml="ignore = ['NRM101']\n")
    assert bad().status == 0
    write(__normlint__toml="[tool.normlint]\n")
    assert bad().status == 1


HABITS = {
    "check is the bare command": (["check", "--output-format", "concise"], 1, "a.py:1:9: NRM101 all"),
    "check takes paths": (["check", "none.py"], 2, "none.py: No such file"),
    "rule prints a page": (["rule", "NRM101"], 0, "# global-reduction (NRM101)"),
    "rule lists all": (["rule", "--all"], 0, "NRM101  global-reduction"),
    "rule asks which": (["rule"], 2, "which rule?"),
    "a mistyped subcommand": (["chek", "a.py"], 2, "'chek' is no path and no subcommand (did you mean check?)"),
    "a mistyped option": (["--exit-zro"], 2, "unrecognized arguments: --exit-zro (did you mean --exit-zero?)"),
    "quiet shows findings alone": (["-q", "--statistics"], 1, "1  NRM101  global-reduction\n"),
    "silent shows nothing": (["-s"], 1, ""),
    "extend-ignore": (["--extend-ignore", "NRM101"], 0, "All checks passed"),
    "fix-only says nothing of what remains": (["--fix-only"], 0, "Fixed nothing.\n"),
    "diff shows what fix-only would do": (["--fix-only", "--diff"], 0, "Would fix nothing.\n"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "said"), HABITS.values(), ids=HABITS)
def test_a_habit_of_ruff(arguments: list[str], status: int, said: str, bad: Run) -> None:
    ran = bad(*arguments)
    assert ran.status == status
    assert said in ran.out + ran.err
    assert {"-q": ran.out == said, "-s": ran.out + ran.err == ""}.get(arguments[0], True)


def test_a_folder_named_as_a_subcommand_is_distinguished(bad: Run) -> None:
    Path("check").mkdir()
    assert bad("check").err == f"normlint: check is the subcommand; .{os.sep}check names the path\n"


def test_the_docs_compare_each_option_of_ruff_with_ours() -> None:
    if shutil.which("ruff") is None:
        pytest.skip("ruff is not installed")
    page = (Path(__file__).parents[2] / "docs" / "ruff.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(--[a-z-]+)` \| (.*) \|$", page, re.M))
    told = subprocess.run(["ruff", "check", "--help"], capture_output=True, text=True, check=True).stdout
    theirs = {long: short for short, long in re.findall(r"^ +(?:(-\w), )?(--[a-z-]+)", told, re.M)}
    ours = {name: action for action in _parser()._actions for name in action.option_strings}
    assert theirs.keys() <= rows.keys()
    for option, said in rows.items():
        assert option in ours if said.startswith("the same") else option not in ours, option
        assert set(re.findall(r"(?<=`)--[a-z-]+", said)) - {"--no-fix"} <= ours.keys(), option
        assert option not in ours or theirs.get(option, "") in ("", *ours[option].option_strings), option


CHOICES = {
    "select": (["--select", "NRM3"], 0),
    "select several times": (["--select", "NRM3", "--select", "NRM5,NRM1"], 1),
    "ignore": (["--ignore", "NRM101"], 0),
    "extend": (["--extend-select", "NRM6"], 1),
}


@pytest.mark.parametrize(("arguments", "status"), CHOICES.values(), ids=CHOICES)
def test_rules_are_chosen_by(arguments: list[str], status: int, bad: Run) -> None:
    assert bad(*arguments).status == status


def test_the_command_line_lies_over_the_configuration(bad: Run) -> None:
    write(pyproject__toml='[tool.normlint]\nselect = ["NRM3"]\noutput-format = "concise"\n')
    assert bad().out == "All checks passed: 1 norm in 1 file.\n"
    assert bad("--isolated").status == 1
    assert bad("--select", "NRM1").out.startswith("a.py:1:9: NRM101")
    write(other__toml='select = ["NRM1"]\n')
    assert bad("--config", "other.toml").status == 1


def test_what_the_command_line_selects_is_not_ignored_by_the_configuration(bad: Run) -> None:
    write(pyproject__toml='[tool.normlint]\nignore = ["NRM101"]\noutput-format = "concise"\n')
    assert bad().status == 0
    for arguments in (["--select", "NRM1"], ["--extend-select", "NRM101"]):
        assert bad(*arguments).out.startswith("a.py:1:9: NRM101")
        assert bad(*arguments, "--ignore", "NRM101").status == 0


def test_files_are_chosen_by_options(bad: Run) -> None:
    assert bad("--extend-exclude", "a.py").status == 0
    assert bad("--exclude", "a.*").status == 0
    assert bad("--extend-exclude", "a.py", "a.py").status == 1
    assert bad("--extend-exclude", "a.py", "--force-exclude", "a.py").status == 0
    write(__gitignore="a.py\n")
    assert bad().status == 0
    assert bad("--no-respect-gitignore").status == 1


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def test_standard_input_is_read(command: Run, stdin: Callable[[bytes], None]) -> None:
    stdin(BAD.encode())
    assert command("-", "--output-format", "concise").out.startswith("<stdin>:1:9: NRM101")
    stdin(b"```py\n" + BAD.encode() + b"```\n")
    ran = command("-", "--stdin-filename", "docs/a.md", "--output-format", "concise")
    assert ran.out.startswith("docs/a.md:2:9: NRM101")


def test_standard_input_may_be_excluded(command: Run, stdin: Callable[[bytes], None]) -> None:
    stdin(BAD.encode())
    ran = command("-", "--stdin-filename", "a.py", "--extend-exclude", "a.py", "--force-exclude")
    assert ran == Ran(0, "All checks passed: 0 norms in 1 file.\n", "")


def test_comments_silence_unless_they_are_ignored(command: Run) -> None:
    write(a__py=BAD.rstrip() + "  # noqa: NRM1\n")
    assert command().status == 0
    assert command("--ignore-noqa").status == 1
    write(a__py="# normlint: skip-file\n" + BAD)
    assert command().status == 0
    assert command("--ignore-noqa").status == 1


def test_a_cell_may_skip_its_notebook(command: Run) -> None:
    cells = [{"cell_type": "code", "source": text} for text in ("# normlint: skip-file", BAD)]
    write(a__ipynb=json.dumps({"cells": cells}))
    assert command().status == 0
    write(a__ipynb=json.dumps({"cells": cells[1:]}))
    assert command("--output-format", "concise").out.startswith("a.ipynb:cell 1:1:9: NRM101")


NOQA = {
    "a line": (BAD, "y = x / x.mean()  # noqa: NRM101\n"),
    "two findings in a line": ("x.mean(); print(1)\n", "x.mean(); print(1)  # noqa: NRM101, NRM503\n"),
    "a line with a comment": ("x.mean()  # why\n", "x.mean()  # why  # noqa: NRM101\n"),
    "a line with another code": ("x.mean()  # noqa: E501\n", "x.mean()  # noqa: E501, NRM101\n"),
    "a line with another code and a reason": ("x.mean()  # noqa: E1 it\n", "x.mean()  # noqa: E1, NRM101 it\n"),
    "a line that goes on": ("y = x.mean() \\\n    + 1\n", "y = x.mean() \\\n    + 1  # noqa: NRM101\n"),
    "a line in a call": ("f(\n    x.mean(),\n)\n", "f(\n    x.mean(),  # noqa: NRM101\n)\n"),
    "a last line without an end": ("x.mean()", "x.mean()  # noqa: NRM101"),
    "CR LF": ("x.mean()\r\ny\r\n", "x.mean()  # noqa: NRM101\r\ny\r\n"),
}


@pytest.mark.parametrize(("before", "after"), NOQA.values(), ids=NOQA)
def test_a_comment_is_added_to(before: str, after: str, command: Run) -> None:
    Path("a.py").write_bytes(b"\xef\xbb\xbf" + before.encode())
    ran = command("--add-noqa")
    assert ran == Ran(0, "Added 1 noqa comment.\n", "")
    assert Path("a.py").read_bytes() == b"\xef\xbb\xbf" + after.encode()
    assert command() == Ran(0, "All checks passed: 1 norm in 1 file.\n", "")


def test_comments_are_added_in_pages_but_not_in_notebooks(command: Run) -> None:
    write(
        a__md=f"- item\n  ```py\n  {BAD}  ```\n", b__ipynb=json.dumps({"cells": [{"cell_type": "code", "source": BAD}]})
    )
    ran = command("--add-noqa")
    assert (ran.status, ran.out) == (2, "Added 1 noqa comment.\n")
    assert ran.err.startswith("normlint: b.ipynb: --add-noqa doesn't write notebooks")
    assert Path("a.md").read_text() == f"- item\n  ```py\n  {BAD.rstrip()}  # noqa: NRM101\n  ```\n"


def test_a_file_that_would_change_elsewhere_is_not_written(command: Run) -> None:
    before = b"# coding: utf-7\nx = '+AGE-'\n" + BAD.encode()
    Path("a.py").write_bytes(before)
    ran = command("--add-noqa")
    assert (ran.status, ran.err) == (2, "normlint: a.py: not written: utf-7 would not give the same bytes back\n")
    assert Path("a.py").read_bytes() == before


def test_a_file_that_can_not_be_written_is_left_alone(bad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    ran = bad("--add-noqa")
    assert (ran.status, ran.err) == (2, "normlint: a.py: No space left on device\n")
    assert Path("a.py").read_text() == BAD
    assert os.listdir() == ["a.py"]


def test_a_written_file_keeps_its_mode_and_its_links(bad: Run) -> None:
    Path("a.py").chmod(0o640)
    Path("link.py").symlink_to("a.py")
    bad("--add-noqa", "link.py")
    assert Path("link.py").is_symlink()
    assert Path("a.py").stat().st_mode & 0o777 == 0o640
    assert "noqa" in Path("a.py").read_text()


def test_a_baseline_accepts_what_is_there(bad: Run) -> None:
    assert bad("--write-baseline", "base.json").out == "Wrote 1 finding to base.json.\n"
    assert bad("--baseline", "base.json") == Ran(0, "All checks passed: 1 norm in 1 file.\n", "")
    write(a__py="import torch\n\n" + BAD)
    assert bad("--baseline", "base.json").status == 0
    write(a__py=BAD + BAD)
    ran = bad("--baseline", "base.json", "--output-format", "concise")
    assert (ran.status, ran.out.splitlines()[0][:9]) == (1, "a.py:2:9:")


def test_a_baseline_holds_from_another_directory(bad: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bad("--write-baseline", "base.json")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert bad("--baseline", "../base.json", "../a.py").status == 0


BASELINES = {"a list": "[]", "another shape": '{"findings": [{"path": 1}]}', "odd counts": '{"findings": [%s]}'}
ENTRY = '{"path": "a.py", "cell": 0, "code": "NRM101", "norm": "f", "line": "x", "count": "many"}'


@pytest.mark.parametrize("text", BASELINES.values(), ids=BASELINES)
def test_a_baseline_is_refused_for(text: str, bad: Run) -> None:
    write(base__json=text % ENTRY if "%s" in text else text)
    assert bad("--baseline", "base.json").err.startswith("normlint: baseline base.json: not a baseline")


def test_the_report_goes_to_a_file(bad: Run) -> None:
    ran = bad("--output-format", "json", "--output-file", "report.json")
    assert (ran.status, ran.out) == (1, "")
    assert json.loads(Path("report.json").read_text())["findings"][0]["code"] == "NRM101"


@pytest.mark.parametrize("more", [(), ("--output-format", "github")], ids=["alone", "besides another format"])
def test_sarif_comes_of_the_same_run(more: tuple[str, ...], bad: Run) -> None:
    plain, ran = bad(*more, "--no-cache"), bad(*more, "--no-cache", "--sarif-file", "out.sarif")
    assert (ran.status, ran.out, ran.err) == (plain.status, plain.out, plain.err)
    (sarif,) = json.loads(Path("out.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in sarif["results"]] == ["NRM101"]


def test_a_rule_is_explained(command: Run) -> None:
    ran = command("--explain", "global-reduction")
    page = (
        "# global-reduction (NRM101)\n\nSeverity: error. On by default. The fix is safe.\n\nReduces over everything.\n"
    )
    assert ran.out.startswith(page)
    assert (
        "Off by default: `--extend-select NRM601` asks for it. There is no fix." in command("--explain", "nrm601").out
    )


def test_all_rules_are_listed(command: Run) -> None:
    lines = command("--list-rules").out.splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["NRM101", "global-reduction", "error", "on", "safe", "Reduces", "over", "everything."]


GRAVE = {
    "an error is reported and fails": ("error", (), 1),
    "a warning is reported and fails": ("warning", (), 1),
    "a review is not reported": ("review", (), None),
    "a review is reported where it is asked for, and doesn't fail": ("review", ("--min-severity", "review"), 0),
    "a review is reported where its rule is named": ("review", ("--extend-select", "NRM101"), 0),
    "a review is not reported for a prefix of its code": ("review", ("--extend-select", "NRM1"), None),
    "a review fails where that is asked for": ("review", ("--min-severity", "review", "--fail-on", "review"), 1),
    "a warning is not reported where only errors are wanted": ("warning", ("--min-severity", "error"), None),
    "a warning doesn't fail where only errors do": ("warning", ("--fail-on", "error"), 0),
    "an error fails where only errors do": ("error", ("--fail-on", "error"), 1),
}


@pytest.mark.parametrize("how", ["options", "configuration", "entry"])
@pytest.mark.parametrize(("severity", "arguments", "status"), GRAVE.values(), ids=GRAVE)
def test_severity(
    severity: str, arguments: tuple[str, ...], status: int | None, how: str, bad: Run, monkeypatch, capsys
) -> None:
    for name, plain in (("blocks.analyse_blocks", fake_analyse_blocks(BAD)), ("analyse", fake_analyse(BAD))):
        graded = replace(plain, findings=tuple(replace(one, severity=severity) for one in plain.findings))
        monkeypatch.setattr(f"normlint.rules.{name}", lambda *_, graded=graded, **__: graded)
    if how != "options":
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        listed = {"--extend-select"}
        write(
            normlint__toml="".join(
                f'{key[2:]} = ["{value}"]\n' if key in listed else f'{key[2:]} = "{value}"\n' for key, value in pairs
            )
        )
        arguments = ()
    ran = bad(*arguments)
    if how == "entry":  # what is known is answered there
        ran = Ran(entry.main([]), *capsys.readouterr())
    assert ran.status == (status or 0)
    assert ("NRM101" in ran.out) == (status is not None)


def test_norms_are_shown(bad: Run) -> None:
    out = f"a.py:1:9: rms RMSNorm.forward\n    spine: mean[*] | eps → sqrt\n{LEGEND}\nFound 1 norm in 1 file.\n"
    assert bad("--show-norms") == Ran(0, out, "")


def test_settings_are_shown(bad: Run) -> None:
    write(pyproject__toml='[tool.normlint]\nignore = ["NRM3"]\nper-file-ignores = {"a*" = ["NRM1"]}\n')
    out = bad("--show-settings").out
    assert 'ignore = ["NRM3"]\n' in out
    assert 'per-file-ignores = { "a*" = ["NRM1"] }\n' in out
    assert out.endswith("# rules: NRM101, NRM503\n")
    assert bad("--show-settings", "a.py").out == out
    assert "# from no configuration file" in bad("--show-settings", "--isolated", "-").out


def test_files_are_shown(bad: Run) -> None:
    assert bad("--show-files") == Ran(0, "a.py\n", "")
    assert bad("--show-files", "no.py").status == 2


def test_findings_are_counted(bad: Run) -> None:
    write(b__py=BAD + "print(1)\n")
    out = "2  NRM101  global-reduction\n1  NRM503  debug-print\n"
    out += "Checked 2 norms in 2 files.\nFound 3 errors.\n"
    assert bad("--statistics") == Ran(1, out, "")
    assert bad("--statistics", "--select", "NRM3").out == "All checks passed: 2 norms in 2 files.\n"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_argparse_answers_itself(option: str, command: Run) -> None:
    with pytest.raises(SystemExit) as ended:
        command(option)
    assert ended.value.code == 0


def test_an_interruption_is_no_traceback(bad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "check_all", interrupt)
    assert bad("--no-cache").status == 130


def test_a_full_disk_is_one_line(bad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cli, "_write", refuse)
    assert bad() == Ran(2, "", "normlint: output: No space left on device\n")


def run_module(*arguments: str, cwd: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command_line = [sys.executable, "-m", "normlint", *arguments]
    return subprocess.run(command_line, cwd=cwd, env=environment, capture_output=True, check=False, **more)  # type: ignore[call-overload]


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.py").write_text("x = 1\n")
    line = f"{sys.executable} -m normlint --show-files . | true"
    ran = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stderr == ""


def test_a_terminal_without_the_characters_gets_them_escaped(tmp_path: Path) -> None:
    (tmp_path / "变量.py").write_text("def f(:\n    x / x.pow(2).mean().sqrt()\n")
    ran = run_module(".", cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr == rb"normlint: \u53d8\u91cf.py:1: syntax error: invalid syntax" + b"\n"


def test_the_module_is_the_command(tmp_path: Path) -> None:
    assert run_module("--version", cwd=tmp_path).stdout.decode().strip() == f"normlint {__version__}"


def test_a_bar_is_only_thought_of_on_a_terminal(bad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert bad("--output-format", "concise").err == ""


def test_a_closed_output_is_no_traceback(bad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def close(*_: object) -> None:
        raise BrokenPipeError

    duplicated: list[int] = []
    monkeypatch.setattr(cli, "_write", close)
    monkeypatch.setattr(os, "dup2", lambda old, new: duplicated.append(new))
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1)
    assert bad() == Ran(2, "", "")
    assert duplicated == [1]


def test_a_number_of_jobs_may_be_given(bad: Run) -> None:
    Path("b.py").write_text(BAD)
    assert bad("--jobs", "2", "--output-format", "concise").out.endswith(
        "Checked 2 norms in 2 files.\nFound 2 errors.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [("a.py", "--exit-zero", "b.py"), ("--exit-zero", "a.py", "b.py"), ("--exit-zero", "--", "a.py", "b.py")],
    ids=["between two paths", "before them", "before two dashes"],
)
def test_an_option_may_stand(arguments: tuple[str, ...], bad: Run, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(BAD)
    ran = bad(*arguments)
    assert ran.status == 0
    assert {name for name in ("a.py", "b.py") if name in ran.out} == {"a.py", "b.py"}


def test_what_follows_two_dashes_is_a_path(bad: Run, tmp_path: Path) -> None:
    before = (tmp_path / "a.py").read_text()
    ran = bad("--", "--fix", "a.py")
    assert ran.status == 2
    assert "--fix: " in ran.err
    assert (tmp_path / "a.py").read_text() == before
