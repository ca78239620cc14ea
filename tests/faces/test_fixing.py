"""`--fix`, `--unsafe-fixes` and `--diff`: what is written, what is said where, and the exit status."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.faces.cli import main
from tests.fake_fixes import FIXES, use
from tests.helpers import Ran

Run = Callable[..., Ran]
ROOT = Path(__file__).parents[2]
TEXT = "wide\nprint(x)\noutside\n"


@pytest.fixture
def run(command: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty directory, with rules that find words."""
    use(monkeypatch, FIXES)
    return lambda *arguments: command("--output-format", "concise", *arguments)


def write(**files: str) -> None:
    for name, text in files.items():
        Path(name.replace("__", ".")).write_text(text)


def test_nothing_is_written_without_fix(run: Run) -> None:
    write(a__py=TEXT)
    ran = run()
    assert ran.status == 1
    assert ran.out.splitlines()[-2:] == [
        "Found 3 errors.",
        "[*] 2 fixable with --fix (1 more with --unsafe-fixes; first check if a model was trained with this code).",
    ]
    assert ran.out.startswith("a.py:1:1: NRM101 [*] said\na.py:2:1: NRM503 [*] said\na.py:3:1: NRM302 said\n")
    assert Path("a.py").read_text() == TEXT


def test_unsafe_fixes_alone_only_marks_them(run: Run) -> None:
    write(a__py=TEXT)
    ran = run("--unsafe-fixes")
    assert (ran.status, ran.out.splitlines()[-2:]) == (1, ["Found 3 errors.", "[*] 3 fixable with --fix."])
    assert Path("a.py").read_text() == TEXT


def test_fix_writes_and_says_what_remains(run: Run) -> None:
    write(a__py=TEXT, b__py="wide\n", c__py="x\n")
    assert run("--fix") == Ran(
        1,
        "a.py:2:1: NRM302 said\n"
        "Checked 3 norms in 3 files.\n"
        "Fixed 3 findings in 2 files (NRM101 × 2, NRM503); 1 remains; 1 can be fixed with --unsafe-fixes.\n",
        "",
    )
    assert [Path(name).read_text() for name in ("a.py", "b.py", "c.py")] == ["wide(-1)\noutside\n", "wide(-1)\n", "x\n"]


def test_all_fixed_is_0_and_a_second_run_changes_nothing(run: Run) -> None:
    write(a__py=TEXT)
    assert run("--fix", "--unsafe-fixes") == Ran(
        0, "Checked 1 norm in 1 file.\nFixed 3 findings in 1 file (NRM101, NRM302, NRM503); none remain.\n", ""
    )
    before = os.stat("a.py").st_mtime_ns, os.stat("a.py").st_ino
    assert run("--fix", "--unsafe-fixes") == Ran(0, "All checks passed: 1 norm in 1 file.\n", "")
    assert (os.stat("a.py").st_mtime_ns, os.stat("a.py").st_ino) == before


def test_what_can_not_be_fixed_is_counted(run: Run) -> None:
    write(a__py="shown\n")
    ran = run("--fix", "--select", "ALL")
    assert (ran.status, ran.out.splitlines()[-1]) == (1, "Fixed nothing; 1 remains.")


def test_several_processes_fix_the_same(run: Run) -> None:
    names = [f"{number}.py" for number in range(20)]
    for name in names:
        Path(name).write_text("wide\n")
    ran = run("--fix", "--jobs", "2")
    assert ran.out == "Checked 20 norms in 20 files.\nFixed 20 findings in 20 files (NRM101 × 20); none remain.\n"
    assert {Path(name).read_text() for name in names} == {"wide(-1)\n"}


def test_diff_shows_and_writes_nothing(run: Run) -> None:
    write(a__py=TEXT, b__py="x")
    ran = run("--diff")
    assert ran == Ran(
        1,
        "--- a.py\n+++ a.py\n@@ -1,3 +1,2 @@\n-wide\n-print(x)\n+wide(-1)\n outside\n",
        "Checked 2 norms in 2 files.\n"
        "Would fix 2 findings in 1 file (NRM101, NRM503); 1 would remain; 1 can be fixed with --unsafe-fixes.\n",
    )
    assert Path("a.py").read_text() == TEXT


def test_diff_of_nothing_is_0_although_findings_remain(run: Run) -> None:
    write(a__py="outside\n")
    ran = run("--diff")
    assert (ran.status, ran.out) == (0, "")
    assert run("--diff", "--unsafe-fixes").status == 1
    assert run("--diff", "--unsafe-fixes", "--exit-zero").status == 0


def test_diff_says_that_a_last_line_has_no_end(run: Run) -> None:
    write(a__py="wide")
    end = "\\ No newline at end of file\n"
    assert run("--diff").out == f"--- a.py\n+++ a.py\n@@ -1 +1 @@\n-wide\n{end}+wide(-1)\n{end}"


def test_diff_of_a_notebook_is_one_a_cell(run: Run) -> None:
    cells = [{"cell_type": "code", "source": [line]} for line in ("x", "wide", "wide")]
    write(a__ipynb=json.dumps({"cells": cells}))
    out = run("--diff").out
    assert [line for line in out.splitlines() if line.startswith("---")] == ["--- a.ipynb:cell 2", "--- a.ipynb:cell 3"]


def test_a_report_may_go_to_a_file(run: Run) -> None:
    write(a__py=TEXT)
    assert run("--diff", "--output-file", "a.diff").out == ""
    assert Path("a.diff").read_text().startswith("--- a.py\n")


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch, run: Run):
    """Run the command as a filter: its status, what it gives back, and what it says."""
    del run  # its directory and its rules are here

    def filtered(data: bytes, *arguments: str) -> tuple[int, bytes, str]:
        out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        status = main(["-", "--output-format", "concise", *arguments])
        return status, out.buffer.getvalue(), err.getvalue()  # type: ignore[attr-defined]

    return filtered


FILTERED = {
    "it is fixed": (b"wide\r\n", [], b"wide(-1)\r\n", 0),
    "its encoding is kept": (b"\xef\xbb\xbfwide", [], b"\xef\xbb\xbfwide(-1)", 0),
    "nothing is found": (b"x\r", [], b"x\r", 0),
    "something remains": (b"wide\noutside\n", [], b"wide(-1)\noutside\n", 1),
    "it does not parse": (b"wide +\n", [], b"wide +\n", 2),
    "it does not parse where nothing is found": (b"f(\n", [], b"f(\n", 0),
    "it is no text": (b"\0", [], b"\0", 2),
    "its name is excluded": (
        b"wide\n",
        ["--force-exclude", "--exclude", "a.py", "--stdin-filename", "a.py"],
        b"wide\n",
        0,
    ),
}


@pytest.mark.parametrize(("data", "arguments", "expected", "status"), FILTERED.values(), ids=FILTERED)
def test_standard_input_comes_out_where(data, arguments, expected, status, stdin) -> None:
    ran = stdin(data, "--fix", *arguments)
    assert ran[:2] == (status, expected)
    assert ran[2]


def test_a_diff_of_standard_input_has_its_name(stdin) -> None:
    status, out, _ = stdin(b"wide\n", "--diff", "--stdin-filename", "sub/a.py")
    assert (status, out.splitlines()[0]) == (1, b"--- sub/a.py")


TOGETHER = {
    "both ways": (["--fix", "--diff"], "--fix and --diff cannot be combined"),
    "comments": (["--fix", "--add-noqa"], "--fix and --add-noqa cannot be combined"),
    "a baseline": (["--diff", "--write-baseline", "b"], "--diff and --write-baseline cannot be combined"),
    "norms": (["--fix", "--show-norms"], "--fix and --show-norms cannot be combined"),
}


@pytest.mark.parametrize(("arguments", "said"), TOGETHER.values(), ids=TOGETHER)
def test_what_excludes_one_another_is_refused(arguments: list[str], said: str, run: Run) -> None:
    ran = run(*arguments)
    assert ran.status == 2
    assert ran.err.startswith(f"normlint: {said}")


def test_a_file_that_can_not_be_written_is_reported_and_the_others_are_fixed(run: Run) -> None:
    write(a__py="wide\n", b__py="wide\n")
    Path("a.py").chmod(0o444)
    ran = run("--fix")
    assert ran == Ran(
        2,
        "a.py:1:1: NRM101 [*] said\nChecked 2 norms in 1 file; 1 file failed.\n"
        "Fixed 1 finding in 1 file (NRM101); 1 remains.\n",
        "normlint: a.py: not written: Permission denied\n",
    )
    assert (Path("a.py").read_text(), Path("b.py").read_text()) == ("wide\n", "wide(-1)\n")


def test_a_file_with_two_names_is_fixed_under_both(run: Run) -> None:
    write(a__py="wide\n")
    Path("link.py").symlink_to("a.py")
    ran = run("--fix")
    assert (ran.status, ran.err) == (0, "")
    assert Path("link.py").is_symlink()
    assert Path("a.py").read_text() == "wide(-1)\n"


def test_a_file_that_changes_meanwhile_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from normlint.engine import fix

    write(a__py="wide\n")
    real = fix.edited

    def meanwhile(*arguments):
        write(a__py="wide, theirs\n")
        return real(*arguments)

    monkeypatch.setattr(fix, "edited", meanwhile)
    ran = run("--fix")
    assert (ran.status, ran.err) == (2, "normlint: a.py: not written: it was changed in the meantime; run again\n")
    assert Path("a.py").read_text() == "wide, theirs\n"


def test_a_broken_file_costs_itself_alone(run: Run) -> None:
    write(a__py="wide +\n", b__py="wide\n")
    ran = run("--fix", "a.py", "b.py", "gone.py")
    assert ran.status == 2
    assert ran.out == "Checked 1 norm in 1 file; 1 file failed.\nFixed 1 finding in 1 file (NRM101); none remain.\n"
    assert [line.partition(": ")[2][:5] for line in ran.err.splitlines()] == ["gone.", "a.py:"]


def test_what_a_baseline_accepts_is_not_fixed(run: Run) -> None:
    write(a__py="wide\n")
    run("--write-baseline", "base.json")
    write(a__py="wide\nprint(x)\n")
    ran = run("--fix", "--baseline", "base.json")
    assert ran == Ran(0, "Checked 1 norm in 1 file.\nFixed 1 finding in 1 file (NRM503); none remain.\n", "")
    assert Path("a.py").read_text() == "wide\n"


def test_the_configuration_makes_unsafe_fixes(run: Run) -> None:
    write(
        pyproject__toml="[tool.normlint]\nunsafe-fixes = true\nper-file-ignores = {'a.py' = ['NRM101']}\n",
        a__py=TEXT,
    )
    assert run("--fix").out == "Checked 1 norm in 1 file.\nFixed 2 findings in 1 file (NRM302, NRM503); none remain.\n"
    assert Path("a.py").read_text() == "wide\ninside\n"
    write(a__py=TEXT)
    ran = run("--fix", "--no-unsafe-fixes")
    assert ran.out.splitlines()[-1] == (
        "Fixed 1 finding in 1 file (NRM503); 1 remains; 1 can be fixed with --unsafe-fixes."
    )


def test_the_settings_are_shown(run: Run) -> None:
    write(pyproject__toml="[tool.normlint]\nunsafe-fixes = true\nignore = ['NRM3']\n")
    lines = run("--show-settings").out.splitlines()
    assert {"unsafe-fixes = true", 'ignore = ["NRM3"]', "extend-select = []"} <= set(lines)


def test_a_wrong_code_in_the_configuration_is_reported(run: Run) -> None:
    write(pyproject__toml="[tool.normlint]\nextend-select = ['XYZ']\n")
    assert "unknown rule 'XYZ'" in run().err


def test_statistics_count_what_remains(run: Run) -> None:
    write(a__py=TEXT)
    out = run("--fix", "--statistics").out
    assert out.splitlines()[-1].startswith("Fixed 2 findings")


def test_json_holds_where_a_fix_is_made(run: Run) -> None:
    write(a__ipynb=json.dumps({"cells": [{"cell_type": "code", "source": "x\nwide"}]}))
    (found,) = json.loads(run("--output-format", "json").out)["findings"]
    assert found["fix"] == {
        "applicability": "safe",
        "message": "Write 'wide(-1)'",
        "edits": [{"cell": 1, "line": 2, "column": 1, "end_line": 2, "end_column": 5, "content": "wide(-1)"}],
    }


def test_what_is_remaining_comes_as_json(run: Run) -> None:
    write(a__py=TEXT)
    assert [one["code"] for one in json.loads(run("--fix", "--output-format", "json").out)["findings"]] == ["NRM302"]


def test_two_runs_at_once_leave_every_file_fixed_and_nothing_beside_it(tmp_path: Path) -> None:
    before = (ROOT / "fixtures" / "demo" / "rmsnorm.py").read_text(encoding="utf-8")
    names = [f"norm{number}.py" for number in range(12)]
    for name in names:
        (tmp_path / name).write_text(before, encoding="utf-8")
    command = [sys.executable, "-m", "normlint", "--isolated", "--no-verify", "--fix", "."]
    runs = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    ends = [(*run.communicate(), run.returncode) for run in runs]
    assert all(status in (0, 1, 2) and b"internal error" not in told for _, told, status in ends)
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)  # what one of them left to the other
    texts = {(tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert len(texts) == 1
    assert "dim=-1, keepdim=True" in texts.pop()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
