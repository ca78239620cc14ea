"""`--report`: the page as the command writes it, its numbers as they are measured, and what Chromium makes of it."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from normlint.engine.linter import check_path
from normlint.engine.selection import Demand
from normlint.text.sweep import NORM, TORCH, to_sweep

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")

HEAD = "import torch\nfrom torch import nn\n\n\n"
SOUND = '''\
class RMSNorm(nn.Module):
    """</code></pre><script>alert("pwned")</script><img src=x onerror=alert(1)>"""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x) * self.weight
'''
GLOBAL = SOUND.replace("mean(-1, keepdim=True)", "mean()").replace("RMSNorm", "GlobalRMSNorm")
HALF = SOUND.replace("x.float()", "x").replace("RMSNorm", "HalfRMSNorm")
NARROW = SOUND.replace("h = x.float()\n", "assert x.abs().max() < 1e3\n        h = x.float()\n").replace(
    "RMSNorm", "NarrowRMSNorm"
)
EVERY = "\n\n".join((HEAD.rstrip() + "\n", GLOBAL, HALF, NARROW, SOUND))
HOSTILE_NAME = "<script>alert('&amp;')</script>\".py"
NO_NORM = "x = 1\n"


def run(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "normlint", "--isolated", "--no-cache", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False, **more)


VOID = {"br", "col", "hr", "img", "input", "link", "meta"}


@dataclass
class Page(HTMLParser):
    """What a browser would make of it, as far as tests ask."""

    text: str
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text_in(self, tag: str) -> str:
        return "".join(self.texts.get(tag, []))


def page_of(file: Path) -> Page:
    return Page(file.read_text(encoding="utf-8"))


# --- without running anything ----------------------------------------------------------------------------------------


def reported(directory: Path, text: str, name: str = HOSTILE_NAME) -> Page:
    """The page on a text that goes by this name."""
    ran = run("-", "--stdin-filename", name, "--report", "r.html", cwd=directory, input=text)
    assert ran.stderr == ""
    return page_of(directory / "r.html")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return reported(tmp_path_factory.mktemp("read"), EVERY)


def test_a_file_without_norms_gives_a_page_that_says_so(tmp_path: Path) -> None:
    page = reported(tmp_path, NO_NORM, "a.py")
    assert "0 norms in 1 file, nothing found." in page.text_in("p")
    assert not page.all("article")


def test_names_and_code_are_text(read: Page) -> None:
    assert HOSTILE_NAME in read.text_in("h2")
    assert '<script>alert("pwned")</script>' in read.text_in("pre")
    assert not read.all("script")
    assert not read.all("img")


def test_the_page_is_well_formed_and_its_ids_are_its_own(read: Page) -> None:
    assert read.open == []  # each end tag has been checked against its start
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_headings_go_down_by_one(read: Page) -> None:
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_each_norm_has_its_spine_and_its_findings_with_links(read: Page) -> None:
    assert codes_of(read) == ["NRM101", "NRM201", "", ""]
    assert read.text_in("code").count("mean[-1] keepdim | eps → rsqrt") == 3
    links = {one["href"] for one in read.all("a")}
    assert links == {f"https://normlint.readthedocs.io/rules/{name}" for name in ("global-reduction", "missing-upcast")}


def codes_of(page: Page) -> list[str]:
    """The rules found in each norm, in the order of the page."""
    norms = re.findall(r"<summary class=.head.>(.*?)</summary>", page.text, re.DOTALL)
    return [" ".join(re.findall(r">(NRM\d+)<", norm)) for norm in norms]


def marked(page: Page) -> list[str]:
    """The lines of code that are marked."""
    lines = re.findall(r'<span class="hll">(.*?)\n</span>', page.text, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", line).lstrip("0123456789 ") for line in lines]


def test_lines_are_marked_and_fixes_shown(read: Page) -> None:
    assert marked(read) == [
        "h = h * torch.rsqrt(h.pow(2).mean() + self.eps)",
        "h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)",
    ]
    assert "mean(-1, keepdim=True)" in read.text_in("ins")
    assert "h.pow(2).mean()" in read.text_in("del")


def test_norms_without_findings_are_closed_and_so_are_sources_that_a_patch_shows(read: Page) -> None:
    opened = ["open" in one for one in read.all("details")]
    assert (opened[::2], opened[1::2]) == ([True, True, False, False], [False] * 4)


def test_the_source_is_open_where_no_patch_shows_what_is_wrong(tmp_path: Path) -> None:
    page = reported(tmp_path, HEAD + SOUND.replace("torch.ones(dim)", "torch.randn(dim)"), "a.py")
    assert codes_of(page) == ["NRM406"]
    assert page.text_in("ins") == ""
    assert ["open" in one for one in page.all("details")] == [True, True]


def test_what_a_norm_computes_stands_beside_what_it_computes_once_it_is_repaired(read: Page) -> None:
    sentences = [one for one in read.texts["dd"] if one.startswith("RMSNorm")]
    assert sentences[:2] == [
        "RMSNorm over ALL axes (expected: the last), eps 1e-06 under the root, fp32 statistics, gain ",
        "RMSNorm over the last axis, eps 1e-06 under the root, fp32 statistics, gain ",
    ]
    assert read.texts["dt"] == ["Computes", "Repaired"] * 2 + ["Computes"] * 2


FOLDERS = {
    "a.py": SOUND,
    "models/b.py": SOUND + "\n\n" + HALF,
    "models/deep/c.py": GLOBAL,
    "layers/d.py": GLOBAL + "\n\n" + HALF,
}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a report on files in folders."""
    directory = tmp_path_factory.mktemp("several")
    for name, text in FOLDERS.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(HEAD + text, encoding="utf-8")
    run(".", "--report", "r.html", cwd=directory)
    return directory


def test_the_worst_file_comes_first_and_the_worst_norm_in_it(several: Path) -> None:
    page = page_of(several / "r.html")
    assert page.texts["h2"] == ["Summary", "layers/d.py", "models/deep/c.py", "models/b.py", "a.py"]
    assert codes_of(page) == ["NRM101", "NRM201", "NRM101", "NRM201", "", ""]


def test_findings_are_counted_by_rule_and_severity(several: Path) -> None:
    page = page_of(several / "r.html")
    assert re.findall(r'class="count">([^<]+)<', page.text) == ["2 errors", "2 warnings"]
    assert "2 errors and 2 warnings" in page.text_in("span")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--fix"], "--report and --fix cannot be combined"),
        (["--diff"], "--report and --diff cannot be combined"),
        (["--add-noqa"], "--report and --add-noqa cannot be combined"),
        (["--write-baseline", "b"], "--report and --write-baseline cannot be combined"),
        (["--show-files"], "--report and --show-files cannot be combined"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_a_report_goes_with_nothing_that_changes_what_it_shows(
    arguments: list[str], error: str, tmp_path: Path
) -> None:
    ran = run(*arguments, "--report", "r.html", cwd=tmp_path)
    assert (ran.returncode, error in ran.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_and_exits_as_it_does_without(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(EVERY, encoding="utf-8")
    plain, paged = run("a.py", cwd=tmp_path), run("a.py", "--report", "r.html", cwd=tmp_path)
    assert (plain.returncode, plain.stdout, plain.stderr) == (paged.returncode, paged.stdout, paged.stderr)
    assert plain.returncode == 1


def test_a_file_that_can_not_be_written_is_reported(tmp_path: Path) -> None:
    ran = run("--report", "no/r.html", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (2, "normlint: --report no/r.html: No such file or directory\n")


NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [
        {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for source in ("import torch\nfrom torch import nn", "%time\n\n" + GLOBAL)
    ],
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ipynb", json.dumps(NOTEBOOK)),
        ("a.md", f"# Norms\n\n> ```python\n> {GLOBAL.replace(chr(10), chr(10) + '> ')}\n> ```\n"),
    ],
    ids=["a notebook's cell", "a quoted block of a page"],
)
def test_code_is_shown_from(name: str, text: str, tmp_path: Path) -> None:
    page = reported(tmp_path, text, name)
    assert "class GlobalRMSNorm(nn.Module):" in page.text_in("pre")
    assert [line for line in marked(page) if "h.pow(2).mean()" in line] == marked(page) != []


# --- with what was measured ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a report with pictures."""
    directory = tmp_path_factory.mktemp("ran")
    (directory / "norms.py").write_text(EVERY, encoding="utf-8")
    ran = run("norms.py", "--verify", "--device", "cpu", "--report", "r.html", cwd=directory)
    assert (ran.returncode, ran.stderr) == (1, "")
    return directory


@pytest.fixture(scope="module")
def drawn(ran: Path) -> Page:
    return page_of(ran / "r.html")


@pytest.fixture(scope="module")
def measured(ran: Path) -> list[Any]:
    """The verdicts of the verifier itself on the same norms, with and without what is drawn."""
    from normlint.faces.verifying import preparing
    from normlint.verify.guard.run import Verifier

    report = check_path(str(ran / "norms.py"), preparing(Demand()))
    plain = [norm.pending.job for norm in report.norms if norm.pending]
    jobs = [replace(job, sweep=True) for job in plain]
    with Verifier("cpu") as verifier:
        found = dict(verifier.verdicts([*jobs, *plain]))
    return [(found[at], found[at + len(jobs)]) for at in range(len(jobs))]


@needs_torch
def test_the_page_loads_nothing_and_runs_no_script(drawn: Page) -> None:
    loads = [
        (tag, name, value)
        for tag, attributes in drawn.tags
        for name, value in attributes.items()
        if name in ("src", "srcset", "href", "xlink:href", "data", "poster", "action", "background")
        if not (tag == "a" and value.startswith("https://")) and not value.startswith("#")
    ]
    assert loads == []
    assert not re.search(r"url\((?!#)|@import|@font-face", drawn.text)
    (policy,) = (one["content"] for one in drawn.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


@needs_torch
def test_what_is_drawn_changes_no_verdict_and_is_measured_only_where_it_is_asked_for(measured: list[Any]) -> None:
    assert [one.status for one, _ in measured] == ["wrong", "wrong", "wrong", "match"]
    assert [replace(one, sweep=None) for one, _ in measured] == [plain for _, plain in measured]
    assert all(one.sweep for one, _ in measured)


@needs_torch
def test_each_picture_says_what_it_shows_and_the_repaired_norm_is_in_it(drawn: Page, measured: list[Any]) -> None:
    seen = [one["aria-label"] for one in drawn.all("svg")]
    assert all(one["role"] == "img" for one in drawn.all("svg"))
    # two norms have fixes: each has three curves' pictures and two maps, the others three and one
    assert ["repaired" in one for one in seen] == [True] * 3 + [False, True] + [True] * 3 + [False, True] + [False] * 8
    assert sum("no finite output" in one for one in seen) == 3
    assert seen[3] == f"as it is: changing row 1{measured[0][0].reason.removeprefix('changing one token')}"
    assert seen[4] == "repaired: changing a row changes no other"


COLUMNS = re.compile(r'<th scope="col">(\w+)<br>([^<]+)</th>')
ROW = re.compile(r'<tr><th scope="row">.*?</tr>')
VALUE = re.compile(r'<data value="([^"]+)">')
WHOSE = {"as it is": NORM, "torch&#x27;s own": TORCH}


def tables(text: str) -> Iterator[dict[tuple[str, str], list[float]]]:
    """Of each norm the columns of its table: by dtype and whose they are."""
    for table in re.findall(r'<table class="numbers">.*?</table>', text, re.DOTALL):
        columns = COLUMNS.findall(table)
        rows = [[float(value) for value in VALUE.findall(row)] for row in ROW.findall(table)]
        yield {column: [row[at] for row in rows] for at, column in enumerate(columns)}


@needs_torch
def test_the_numbers_are_those_that_the_worker_measured(drawn: Page, measured: list[Any]) -> None:
    shown = list(tables(drawn.text))
    assert len(shown) == len(measured) == 4
    for table, (verdict, _) in zip(shown, measured, strict=True):
        for (dtype, whose), values in table.items():
            if whose in WHOSE:
                assert values == [error for _, error in verdict.sweep.curve(WHOSE[whose], dtype).points]
    assert sum(math.isinf(value) for values in shown[2].values() for value in values) > 0
    for table in shown[:2]:  # fixed, they compute what the sound one does
        assert all(table[dtype, "repaired"] == shown[3][dtype, "as it is"] for dtype in ("fp32", "fp16", "bf16"))
    assert all(math.isfinite(value) for values in shown[3].values() for value in values)


def path_of(svg: str, name: str) -> list[tuple[float, float]]:
    found = re.search(rf'<g id="[\w-]+-{name}">\s*<path d="([^"]+)"', svg)
    assert found
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", found[1])]


@needs_torch
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_curves_stand_where_the_numbers_say(dtype: str, drawn: Page) -> None:
    """The limit and one point of torch's curve give the axis; all other points must fit it."""
    svg = re.search(rf'<svg role="img" aria-label="{dtype},.*?</svg>', drawn.text, re.DOTALL)
    table = next(tables(drawn.text))
    limit = {"fp32": 64 * 2**-23, "fp16": 4 * 2**-10, "bf16": 4 * 2**-7}[dtype]
    assert svg
    anchor = path_of(svg[0], "torch")[0][1], math.log10(table[dtype, "torch&#x27;s own"][0])
    line = path_of(svg[0], "limit")[0][1], math.log10(limit)
    slope = (anchor[1] - line[1]) / (anchor[0] - line[0])
    for name, whose in (("norm", "as it is"), ("fixed", "repaired"), ("torch", "torch&#x27;s own")):
        points = path_of(svg[0], name)
        values = table[dtype, whose]
        assert len(points) == len(values) == 17
        for (_, y), value in zip(points, values, strict=True):
            assert line[1] + slope * (y - line[0]) == pytest.approx(math.log10(value), abs=1e-3)


@needs_torch
def test_rows_move_as_they_do(measured: list[Any]) -> None:
    everywhere, half, _, sound = (one.sweep.change for one, _ in measured)
    assert all(value > 0 for row in everywhere for value in row)
    for change in (half, sound):
        assert all((value > 0) == (i == j) for i, row in enumerate(change) for j, value in enumerate(row))


BAD = {
    "a number that is none": {"curves": [], "change": [["1"]]},
    "a negative share": {"curves": [], "change": [[-1.0]]},
    "not a number": {"curves": [], "change": [[math.nan]]},
    "a truth": {"curves": [], "change": [[True]]},
    "a point of three": {"curves": [{"of": "norm", "dtype": "fp32", "limit": 1, "points": [[1, 2, 3]]}], "change": []},
    "a name that is no text": {"curves": [{"of": 1, "dtype": "fp32", "limit": 1, "points": []}], "change": []},
    "no curves": {"change": []},
    "a list": [],
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_no_sweep_is_made_of(data: Any) -> None:
    with pytest.raises((TypeError, KeyError)):
        to_sweep(data)


# --- in a browser ----------------------------------------------------------------------------------------------------

HARNESS = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="f" width="{width}" height="900" style="border:0" src="r.html"></iframe><pre id="out"></pre><script>
const frame = document.getElementById("f");
frame.addEventListener("load", () => {{
  const d = frame.contentDocument, w = frame.contentWindow;
  const colour = (at, name) => at ? w.getComputedStyle(at)[name] : null;
  for (const one of d.querySelectorAll("details")) one.open = true;
  const seen = {{
    title: d.title, width: w.innerWidth, scroll: d.documentElement.scrollWidth,
    wide: [...d.querySelectorAll("body *")].filter((one) => !one.closest("pre, .scroll, svg, #summary")
      && one.getBoundingClientRect().right > w.innerWidth + 0.5).map((one) => one.tagName + "." + one.className),
    ground: colour(d.body, "backgroundColor"), card: colour(d.querySelector("article"), "backgroundColor"),
    sunk: colour(d.querySelector("pre"), "backgroundColor"), ins: colour(d.querySelector("ins"), "backgroundColor"),
    mark: colour(d.querySelector(".hll"), "backgroundColor"),
    texts: Object.fromEntries(["a", ".lead", ".wrong.badge", ".match.badge", "dt", "figcaption", ".message"].map(
      (name) => [name, colour(d.querySelector("main " + name) || d.querySelector(name), "color")])),
    code: [...new Set([...d.querySelectorAll(".code span, .code pre")].map((one) => colour(one, "color")))],
    svg: [...new Set([...d.querySelectorAll("svg text")].map((one) => colour(one, "fill")))],
    lines: ["norm", "fixed", "torch", "limit"].map(
      (name) => colour(d.querySelector(`svg g[id$='-${{name}}'] path`), "stroke")),
    size: Math.min(...[...d.querySelectorAll("svg text")].map((one) => one.getBoundingClientRect().height)),
  }};
  document.getElementById("out").textContent = JSON.stringify(seen);
}});
</script>"""


def browse(directory: Path, name: str, profile: Path, *, dark: bool = False) -> tuple[str, list[str]]:
    """The document as scripts leave it, and what was said on the console."""
    given = (
        "--headless --no-sandbox --disable-gpu --allow-file-access-from-files --enable-logging=stderr --dump-dom "
        f"--hide-scrollbars --virtual-time-budget=4000 --window-size=1400,1000 "
        f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    ).split()
    command = [str(CHROMIUM), f"--user-data-dir={profile}", *given, (directory / name).as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@needs_chromium
def test_the_console_is_heard(tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text("<script>nothing.there</script>")
    _, console = browse(tmp_path, "bad.html", tmp_path / "profile")
    assert len(console) == 1


@pytest.fixture(scope="module", params=[(390, False), (390, True), (1280, False), (1280, True)], ids=str)
def seen(request: pytest.FixtureRequest, ran: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Chromium shows, at a phone's and a desktop's width, light and dark."""
    width, dark = request.param
    (ran / "harness.html").write_text(HARNESS.format(width=width))
    dom, console = browse(ran, "harness.html", tmp_path_factory.mktemp("profile"), dark=dark)
    found = re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)
    assert found
    assert console == []
    return {"dark": dark, "asked": width, **json.loads(found[1].replace("&gt;", ">").replace("&amp;", "&"))}


def luminance(colour: str) -> float:
    parts = [int(one) / 255 for one in re.findall(r"\d+", colour)[:3]]
    return sum(
        weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@needs_torch
@needs_chromium
class TestInChromium:
    def test_nothing_is_wider_than_the_window(self, seen: dict[str, Any]) -> None:
        assert seen["width"] == seen["asked"]
        assert seen["scroll"] == seen["asked"]
        assert seen["wide"] == []

    def test_it_is_dark_where_dark_is_preferred(self, seen: dict[str, Any]) -> None:
        assert (luminance(seen["ground"]) < 0.05) == seen["dark"]

    def test_text_can_be_read(self, seen: dict[str, Any]) -> None:
        texts = {name: colour for name, colour in seen["texts"].items() if contrast(colour, seen["card"]) < 4.5}
        assert texts == {}
        for ground in (seen["sunk"], seen["mark"]):
            assert [colour for colour in seen["code"] if contrast(colour, ground) < 4.5] == []

    def test_pictures_can_be_read(self, seen: dict[str, Any]) -> None:
        assert all(contrast(colour, seen["card"]) >= 4.5 for colour in seen["svg"])
        assert all(contrast(colour, seen["card"]) >= 3 for colour in seen["lines"])
        assert len(set(seen["lines"])) == 4
        assert seen["size"] >= 10

    def test_no_code_of_the_files_ran(self, seen: dict[str, Any]) -> None:
        assert seen["title"] == "normlint report"
