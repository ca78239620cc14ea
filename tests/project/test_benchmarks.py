"""The benchmarks' own reckoning. Nothing is timed here."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from normlint.text.marks import may_hold_norm

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ABOUT = {
    "date": "2030-01-02",
    "cpu": "A CPU",
    "cores": 2,
    "system": "Linux x86_64",
    "python": "3.11.7",
    "versions": {"normlint": "0.1.0", "torchfix": "0.7.0"},
}
TREE = {"files": 1200, "bytes": 10_000_000, "lines": 250_000}
RESULTS = {
    "compare": {
        "about": ABOUT,
        "tree": TREE,
        "rows": [
            {"name": "normlint, cold", "command": "normlint TREE", "median": 1.5, "spread": 0.04, "part": 1.0},
            {"name": "ruff, cold", "command": "ruff check TREE", "median": 0.5, "spread": 0.02, "part": 1.0},
            {"name": "normlint, warm", "command": "normlint TREE", "median": 0.2, "spread": 0.1, "part": 1.0},
            {"name": "ruff, warm", "command": "ruff check TREE", "median": 0.1, "spread": 0.1, "part": 1.0},
            {"name": "torchfix", "command": "torchfix", "median": 250.0, "times": [25.0], "spread": None, "part": 0.1},
        ],
    },
    "one_file": {"about": ABOUT, "rows": [{"name": "one norm", "command": "normlint FILE", "median": 0.1, "ratio": 9}]},
    "flake8_cost": {
        "about": ABOUT,
        "tree": TREE,
        "rows": [
            {"name": "without", "command": "flake8 TREE", "median": 29.0, "cost": 0.0},
            {"name": "with", "command": "flake8 TREE", "median": 30.0, "cost": 0.0251},
        ],
        "target": 0.03,
    },
    "memory": {"about": ABOUT, "tree": TREE, "rows": [{"copies": 4, "files": 4800, "peak": 90 * 2**20}]},
    "growth": {"about": ABOUT, "rows": [{"copies": 16, "files": 19200, "median": 24.0}], "slope": 0.998},
    "phases": {"about": ABOUT, "tree": TREE, "seconds": {"parse": 3.0, "sieve": 1.0}},
}

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are not here")


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They import each other by their plain names, as scripts do."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_the_times_are_what_hyperfine_wrote() -> None:
    from harness import Timing, times_in

    text = json.dumps({"results": [{"command": "x", "times": [0.3, 0.1, 0.2], "exit_codes": [0, 1, 1]}]})
    timing = Timing(times_in(text, "x"))
    assert (timing.median, timing.spread) == (0.2, pytest.approx(1.0))


@pytest.mark.parametrize("code", [3, 127, None])
def test_a_command_that_breaks_down_is_not_taken_for_a_fast_one(code: int | None) -> None:
    from harness import times_in

    text = json.dumps({"results": [{"command": "x", "times": [0.1], "exit_codes": [code]}]})
    with pytest.raises(SystemExit, match="`normlint TREE` exits with"):
        times_in(text, "normlint TREE")


def test_hyperfine_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import harness

    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="apt install hyperfine"):
        harness.hyperfine()


def test_results_are_put_beside_those_that_are_there(tmp_path: Path) -> None:
    from harness import save

    out = tmp_path / "results.json"
    save(out, "growth", {"slope": 1.0})
    save(out, "memory", {"growth": 1.1})
    save(out, "growth", {"slope": 1.2})
    assert json.loads(out.read_text()) == {"growth": {"slope": 1.2}, "memory": {"growth": 1.1}}


def test_a_tenth_keeps_its_folders(tmp_path: Path) -> None:
    from trees import copy_files, select_tenth

    tree = tmp_path / "tree"
    for number in range(25):
        path = tree / f"p{number // 10}" / f"m{number:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"a = {number}\n")
    chosen = select_tenth([*tree.rglob("*.py")])
    assert copy_files(chosen, tree, tmp_path / "tenth") == sum(path.stat().st_size for path in chosen)
    copied = sorted(str(path.relative_to(tmp_path / "tenth")) for path in (tmp_path / "tenth").rglob("*.py"))
    assert [Path(name).as_posix() for name in copied] == ["p0/m00.py", "p1/m10.py", "p2/m20.py"]


def test_copies_parse_and_differ() -> None:
    from trees import renamed

    files = [path.read_bytes() for path in (BENCHMARKS.parent / "fixtures").rglob("*.py")]
    files = [data for data in files if _parses(data)]
    assert files
    for data in files:
        copies = {renamed(data, number) for number in range(3)}
        assert len(copies) == 3
        assert len({len(copy) for copy in copies}) == 1
        assert all(map(_parses, copies))


def test_a_class_has_another_name_wherever_it_is_named() -> None:
    from trees import renamed

    text = b'"""\nclass if (so):\n"""\nclass RMSNorm:\n    x: "RMSNorm"\n\nMyRMSNorm = RMSNorm() if 1 else 0'
    expected = text.replace(b"class RMSNorm", b"class K0007_RMSNorm").replace(b'"RMSNorm"', b'"K0007_RMSNorm"')
    expected = expected.replace(b"= RMSNorm", b"= K0007_RMSNorm")
    assert renamed(text, 7) == expected + b"\n# copy 0007\n"


def _parses(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return True


def test_the_slope_is_the_exponent() -> None:
    from growth import slope

    assert slope([1, 4, 16], [3, 12, 48]) == pytest.approx(1)
    assert slope([1, 4, 16], [3, 48, 768]) == pytest.approx(2)


def test_a_part_is_scaled_without_its_start() -> None:
    from compare import scale, step_for

    assert scale(3.0, 1.0, 10) == 21.0
    assert step_for(1000, 10, 0.5, 600) == 10
    assert step_for(1000, 10, 120.0, 600) == 20


def test_the_cost_is_that_of_neighbouring_runs() -> None:
    from flake8_cost import paired_cost

    assert paired_cost([1.0, 2.0, 4.0], [1.02, 2.04, 5.0]) == pytest.approx(0.02)


def test_the_imports_are_what_python_tells() -> None:
    from one_file import parsed_imports

    told = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:       100 |        300 |   re\nimport time:       200 |        200 | os\nnoise\n"
    )
    found = parsed_imports(told)
    assert [(one["module"], one["own"], one["with_others"]) for one in found] == [("os", 200, 200), ("re", 100, 300)]


def test_only_one_of_the_two_files_may_hold_a_norm() -> None:
    from one_file import FILES

    assert [may_hold_norm(text) for text in FILES.values()] == [False, True]


@pytest.mark.parametrize(
    ("stack", "phase"),
    [
        (["normlint.text.marks:may_hold_norm", "normlint.engine.linter:_search"], "sieve"),
        (["importlib._bootstrap:_find_and_load", "normlint.engine.linter:_analysed"], "start"),
        (["normlint.evaluate.machine:run", "normlint.rules:_judge", "normlint.rules:analyse"], "rules"),
        (["normlint.evaluate.machine:run", "normlint.norm.collect:norms", "normlint.rules:analyse"], "evaluate"),
        (["ast:parse", "normlint.evaluate.lower:lower", "normlint.norm.collect:norms"], "parse"),
        (["json:dumps"], "other"),
    ],
)
def test_a_stack_belongs_to_a_phase(stack: list[str], phase: str) -> None:
    from phases import phase_of

    assert phase_of(stack) == phase


def test_the_report_says_what_the_results_say() -> None:
    from report import BEGIN, END, renewed

    page = renewed(f"above\n{BEGIN}stale\n{END}below\n", RESULTS)
    assert page.startswith("above\n")
    assert page.endswith(f"{END}below\n")
    assert "| normlint, cold | `normlint TREE` | 1.50 s | 4% | 3.0 |\n" in page
    assert "| TorchFix * | `torchfix` | 250 s | one run | 500.0 |\n" in page
    assert "scaled: TorchFix 25.0 s for 10.0% of the bytes." in page
    assert "Measured on 2030-01-02: 1,200 Python files with 250,000 lines; A CPU, 2 cores," in page
    assert "| without | `flake8 TREE` | 29.0 s |  |" in page
    assert "| with | `flake8 TREE` | 30.0 s | 2.5% |" in page
    assert "meant to add 3% at most" in page
    assert "| parse | 3.00 s | 75% |\n" in page
    assert "stale" not in page
    assert renewed(page, RESULTS) == page


def test_the_page_is_that_of_the_results() -> None:
    from report import README, RESULTS, renewed

    page, results = README.read_text(encoding="utf-8"), json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    assert page == renewed(page, results), "run `python benchmarks/report.py`"


def test_the_picture_names_all(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from plot import draw

    draw(RESULTS["compare"], tmp_path / "speed.svg")
    picture = (tmp_path / "speed.svg").read_text()
    assert all(word in picture for word in ("normlint, cold", "TorchFix *", "250 s", "1,200"))
