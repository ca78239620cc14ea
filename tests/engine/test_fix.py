"""Fixes in rounds: what is made, what waits, what is dropped; and each byte outside the edits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from normlint import rules
from normlint.engine.baseline import Acceptance, dump, load
from normlint.engine.fix import MOST_ROUNDS, Fixed, FixRequest, fix_file
from normlint.engine.linter import check_bytes
from normlint.engine.report import Failure
from normlint.engine.selection import Demand, Selection
from normlint.norm import kept
from normlint.text.edit import entangled
from normlint.text.finding import Edit, Span
from tests.fake_fixes import FIXES, SAFE, UNSAFE, FakeFix, use

Using = Callable[..., None]
ALL = Demand(Selection(("ALL",)))
UNSAFELY = Demand(Selection(("ALL",)), unsafe=True)


@pytest.fixture
def using(monkeypatch: pytest.MonkeyPatch) -> Using:
    return lambda **fixes: use(monkeypatch, fixes or FIXES)


def fixed(text: str | bytes, name: str = "a.py", demand: Demand = ALL, **request: object) -> Fixed:
    data = text if isinstance(text, bytes) else text.encode()
    done = fix_file(name, FixRequest(demand, **request), data)  # type: ignore[arg-type]
    assert isinstance(done, Fixed)
    assert not done.before.faithful or done.before.encode(done.before.text) == data
    return done


def after(text: str | bytes, name: str = "a.py", demand: Demand = ALL, **request: object) -> bytes:
    done = fixed(text, name, demand, **request)
    return done.after.encode(done.after.text)


UNCHANGED = {
    "nothing is found": ("x = 1\n", ALL),
    "the rule is not chosen": ("wide\n", Demand(Selection(("NRM5",)))),
    "the file's settings ignore it": ("wide\n", Demand(Selection(("ALL",)), ("NRM101",))),
    "a comment silences it": ("wide  # noqa: NRM101\n", ALL),
    "the file asks to be left alone": ("# normlint: skip-file\nwide\n", ALL),
    "the fix is unsafe": ("outside\n", ALL),
    "the fix is only shown": ("shown\n", UNSAFELY),
}


@pytest.mark.parametrize(("text", "demand"), UNCHANGED.values(), ids=UNCHANGED)
def test_nothing_changes_where(text: str, demand: Demand, using: Using) -> None:
    using()
    done = fixed(text, demand=demand)
    assert (done.after, done.fixed, done.changed) == (done.before, (), False)
    assert done.report == done.unfixed == check_bytes("a.py", text.encode(), demand)


CHANGED = {
    "a safe fix": ("x = wide\n", ALL, "x = wide(-1)\n"),
    "several in a line": ("wide + wide\n", ALL, "wide(-1) + wide(-1)\n"),
    "an unsafe fix that is asked for": ("outside\n", UNSAFELY, "inside\n"),
    "what a comment silences stays": ("wide  # noqa\nwide\n", ALL, "wide  # noqa\nwide(-1)\n"),
    "a line that goes": ("if x:\n    y\n    print(x)\nz\n", ALL, "if x:\n    y\nz\n"),
}


@pytest.mark.parametrize(("text", "demand", "expected"), CHANGED.values(), ids=CHANGED)
def test_what_changes_is(text: str, demand: Demand, expected: str, using: Using) -> None:
    using()
    assert after(text, demand=demand) == expected.encode()
    assert after(expected, demand=demand) == expected.encode()


BYTES = {
    "CR LF": (b"a\r\nwide\r\n", b"a\r\nwide(-1)\r\n"),
    "CR alone": (b"a\rwide\r", b"a\rwide(-1)\r"),
    "mixed line ends": (b"a\r\nb\nwide\rc\n", b"a\r\nb\nwide(-1)\rc\n"),
    "a byte order mark": (b"\xef\xbb\xbfwide\n", b"\xef\xbb\xbfwide(-1)\n"),
    "latin-1": (
        "# coding: latin-1\n'é', wide\n".encode("latin-1"),
        "# coding: latin-1\n'é', wide(-1)\n".encode("latin-1"),
    ),
    "no final line end": (b"wide", b"wide(-1)"),
    "form feeds and vertical tabs": (b"\x0cwide\n'\x0b'\n", b"\x0cwide(-1)\n'\x0b'\n"),
    "separators of Unicode": ("'\u2028\x85', wide\n".encode(), "'\u2028\x85', wide(-1)\n".encode()),
    "characters beyond the basic plane": ("'😀', wide\n".encode(), "'😀', wide(-1)\n".encode()),
    "trailing blanks and tabs": (b"if x:\n\twide   \n\n\n", b"if x:\n\twide(-1)   \n\n\n"),
}


@pytest.mark.parametrize(("data", "expected"), BYTES.values(), ids=BYTES)
def test_bytes_outside_the_edits_are_kept_with(data: bytes, expected: bytes, using: Using) -> None:
    using()
    assert after(data) == expected


ENDS = {
    "LF": (b"f(x)\n", b"a\nb(x)\n"),
    "CR LF": (b"f(x)\r\n", b"a\r\nb(x)\r\n"),
    "CR": (b"f(x)\r", b"a\rb(x)\r"),
    "the file's, in a last line without one": (b"x\r\nf(x)", b"x\r\na\r\nb(x)"),
    "LF where the text has none": (b"f(x)", b"a\nb(x)"),
}


@pytest.mark.parametrize(("data", "expected"), ENDS.values(), ids=ENDS)
def test_new_lines_end_as_their_neighbours_with(data: bytes, expected: bytes, using: Using) -> None:
    using(NRM101=FakeFix(r"f(?=\()", "a\nb"))
    assert after(data) == expected


def test_an_encoding_that_does_not_give_its_bytes_back_is_not_written(using: Using) -> None:
    using()
    done = fixed(b"# coding: utf-7\nwide, '+AGE-'\n")
    assert not done.changed
    assert [error.message for error in done.report.errors] == ["not fixed: utf-7 would not give the same bytes back"]
    assert [finding.code for finding in done.report.findings] == ["NRM101"]


def test_a_character_that_the_encoding_lacks_is_not_written(using: Using) -> None:
    using(NRM101=FakeFix("wide", "'€'"))
    done = fixed(b"# coding: latin-1\nwide\n")
    assert not done.changed
    assert [error.message for error in done.report.errors] == ["not fixed: iso-8859-1 has no '€'"]


def test_a_fix_that_loses_a_comment_is_unsafe(using: Using) -> None:
    using(NRM101=FakeFix(r"f\([^)]*\)", "g"))
    text = "f(  # why\n    x)\n"
    assert after(text) == text.encode()
    assert after(text, demand=UNSAFELY) == b"g\n"
    assert after("f('# no comment')\n") == b"g\n"


def test_a_comment_that_moves_is_not_lost(using: Using) -> None:
    using(NRM101=FakeFix(r"f  # why", "g  # why"))
    assert after("f  # why\n") == b"g  # why\n"


def test_fixes_that_interlock_wait_for_the_next_round(using: Using) -> None:
    using(NRM101=FakeFix("(a b)", "a"), NRM503=FakeFix("(b c)", "c"))
    assert after("'a b c'\n") == b"'a c'\n"
    using(NRM101=FakeFix("one two", "three"), NRM503=FakeFix("two|three", "3"))
    done = fixed("'one two'\n")
    assert done.after.text == "'3'\n"
    assert [one.code for one in done.fixed] == ["NRM101", "NRM503"]


def test_a_fix_waits_for_one_that_gives_a_name_that_it_writes_a_value() -> None:
    text, line = "z = x * 2\n", [Edit(Span(0, 0), "x, y = f\n")]
    assert entangled(text, line, [Edit(Span(9, 9), ".to(y.dtype)")])
    assert entangled(text, [Edit(Span(9, 9), ".to(y.dtype)")], line)
    assert not entangled(text, line, [Edit(Span(9, 9), ".type_as(z)")])


def test_a_fix_waits_for_one_that_takes_away_the_assignment_to_a_name_that_it_writes() -> None:
    text = "mean = x.mean()\ny = x\n"
    gone = [Edit(Span(0, 16), "")]
    assert entangled(text, gone, [Edit(Span(20, 21), "(x - mean)")])
    assert not entangled(text, gone, [Edit(Span(20, 21), "x.float()")])


def test_a_fix_that_breaks_the_text_is_dropped_and_reported_and_the_rest_kept(using: Using) -> None:
    using(NRM101=FakeFix("wide", "wide("), NRM503=FakeFix("print", "log"))
    done = fixed("print(wide)\nprint(x)\n")
    assert done.after.text == "log(wide)\nlog(x)\n"
    assert [(note.line, note.message) for note in done.report.notes] == [
        (1, "the fix of NRM101 is left out: its result would not be sound")
    ]
    assert [one.code for one in done.report.findings] == ["NRM101"]


def test_a_fix_after_which_the_text_no_longer_compiles_is_dropped(using: Using) -> None:
    using(NRM101=FakeFix("eps=1", "x=1"))
    text = "def f(x, eps=1): pass\n"
    assert after(text) == text.encode()


def test_a_fix_that_takes_away_an_assignment_that_is_still_read_is_dropped(using: Using) -> None:
    using(NRM101=FakeFix("    wide = x.*\n", ""))
    text = "def f(x):\n    wide = x * 2\n    return wide\n"
    assert after(text) == text.encode()


UNSETTLED = {
    "a fix that leaves its finding": ({"NRM101": FakeFix(r"f\n(g)", "gg")}, "f\ngg\n"),
    "fixes that undo one another": ({"NRM101": FakeFix("p", "q"), "NRM302": FakeFix("q", "p", SAFE)}, "'p'\n"),
    "a fix that never ends": ({"NRM101": FakeFix("b(?=')", "ab")}, "'b'\n"),
}


@pytest.mark.parametrize(("fixes", "text"), UNSETTLED.values(), ids=UNSETTLED)
def test_the_file_is_left_alone_and_reported(fixes: dict[str, FakeFix], text: str, using: Using) -> None:
    using(**fixes)
    done = fixed(text)
    codes = ", ".join(fixes)
    assert not done.changed
    assert [e.message for e in done.report.errors] == [
        f"not fixed: the fixes don't settle ({codes}); please report this"
    ]
    assert [one.code for one in done.report.findings] == ["NRM101"]


def test_as_many_rounds_as_are_allowed_may_be_needed(using: Using) -> None:
    using(NRM101=FakeFix("a(?=b)", ""))
    done = fixed(f"'{'a' * MOST_ROUNDS}b'\n")
    assert (done.after.text, len(done.fixed)) == ("'b'\n", MOST_ROUNDS)
    assert not fixed(f"'{'a' * (MOST_ROUNDS + 1)}b'\n").changed


@pytest.mark.parametrize("allowance", [10_000, 4_000, 2_500])
def test_a_second_run_finds_nothing_to_fix_where_a_round_cannot_look_at_all(
    allowance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    norms = (f"def rms_norm_{n}(x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))\n" for n in range(6))
    text = "import torch\n\n\n" + "\n\n".join(norms)
    monkeypatch.setattr(kept, "MOST", allowance)
    once = fixed(text, demand=Demand())
    assert once.fixed
    assert not fixed(once.after.text, demand=Demand()).changed


def test_a_file_with_more_to_fix_than_all_rounds_can_look_at_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    norm = "def rms_norm_{}(x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))\n"
    text = "import torch\n\n\n" + "\n\n".join(map(norm.format, range(40)))
    monkeypatch.setattr(kept, "MOST", 3_000)
    done = fixed(text, demand=Demand())
    assert not done.changed
    assert [e.message for e in done.report.errors] == [
        "not fixed: too much to fix in one run: select fewer rules or split the file"
    ]


def test_skipped_norms_are_left_as_they_are(using: Using) -> None:
    using()
    assert not fixed("wide\n", skipped=frozenset([(0, "N.forward")])).changed
    assert fixed("wide\n", skipped=frozenset([(0, "other")])).changed


@pytest.fixture
def accepting(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Acceptance]:
    """What accepts the findings of one rule in a text."""
    monkeypatch.chdir(tmp_path)

    def accept(text: str, code: str) -> Acceptance:
        found = check_bytes("a.py", text.encode(), ALL).findings
        (tmp_path / "base.json").write_text(dump([one for one in found if one.code == code], "base.json"))
        return load("base.json")

    return accept


def test_what_a_baseline_accepts_stays_as_it_is(using: Using, accepting) -> None:
    using()
    text = "wide\nprint(x)\ny\n"
    done = fixed(text, accepted=accepting(text, "NRM101"))
    assert (done.after.text, done.report.findings) == ("wide\ny\n", ())


def test_what_a_baseline_accepts_stays_so_although_its_line_changes(using: Using, accepting) -> None:
    using()
    text = "wide + outside\n"
    done = fixed(text, demand=UNSAFELY, accepted=accepting(text, "NRM101"))
    assert (done.after.text, done.report.findings) == ("wide + inside\n", ())


def test_of_equal_findings_as_many_are_accepted_as_were_counted(using: Using, accepting) -> None:
    using()
    done = fixed("wide\nwide\n", accepted=accepting("wide\n", "NRM101"))
    assert done.after.text == "wide\nwide(-1)\n"


PAGES = {
    "a block at the margin": ("```py\nwide\n```\n", "```py\nwide(-1)\n```\n"),
    "several blocks": (
        "```py\nwide\n```\nwide\n```py\nwide\n```\n",
        "```py\nwide(-1)\n```\nwide\n```py\nwide(-1)\n```\n",
    ),
    "a block of another language": ("```sh\nwide\n```\n", "```sh\nwide\n```\n"),
    "a block in a list": ("- a\n  ```py\n  wide\n  ```\n", "- a\n  ```py\n  wide(-1)\n  ```\n"),
    "a block in a quote": ("> ```py\n> wide\n> ```\n", "> ```py\n> wide(-1)\n> ```\n"),
    "a line that goes from a quote": ("> ```py\n> x\n> print(x)\n> y\n> ```\n", "> ```py\n> x\n> y\n> ```\n"),
    "a last line that goes from a quote": ("> ```py\n> x\n> print(x)\n> ```\n", "> ```py\n> x\n> ```\n"),
    "a first line that goes from a list": ("- ```py\n  print(x)\n  y\n  ```\n", "- ```py\n  y\n  ```\n"),
    "a block that is indented throughout": ("```py\n    x\n    wide\n```\n", "```py\n    x\n    wide(-1)\n```\n"),
    "a page with CR LF": ("```py\r\nwide\r\n```\r\n", "```py\r\nwide(-1)\r\n```\r\n"),
}


@pytest.mark.parametrize(("text", "expected"), PAGES.values(), ids=PAGES)
def test_a_page_is_fixed_in(text: str, expected: str, using: Using) -> None:
    using()
    assert after(text, "a.md") == expected.encode()


def test_new_lines_in_a_page_get_the_prefix_of_their_neighbours(using: Using) -> None:
    using(NRM101=FakeFix(r"f(?=\()", "a\nb"))
    assert after("> - ```py\n>   f(x)\n>   ```\n", "a.md") == b"> - ```py\n>   a\n>   b(x)\n>   ```\n"


def test_a_fix_that_would_end_its_fence_is_dropped(using: Using) -> None:
    using(NRM101=FakeFix("wide", '"""\n```\n"""'))
    page = "```py\nwide\n```\n"
    assert after(page, "a.md") == page.encode()


def notebook(*sources: str | list[str]) -> bytes:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [{"text": "wide"}], "source": one} for one in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1).encode() + b"\n"


NOTEBOOKS = {
    "lines": (["x\n", "wide\n", "y"], ["x\n", "wide(-1)\n", "y"]),
    "one string": ("x\nwide", "x\nwide(-1)"),
    "a magic beside it": (["%matplotlib inline\n", "wide"], ["%matplotlib inline\n", "wide(-1)"]),
    "a line that goes": (["x\n", "print(x)\n", "y"], ["x\n", "y"]),
    "a last line that goes": (["x\n", "print(x)"], ["x\n"]),
}


@pytest.mark.parametrize(("source", "expected"), NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_notebook_is_fixed_in(source: list[str] | str, expected: list[str] | str, using: Using) -> None:
    using()
    other = ["'first'"]
    assert json.loads(after(notebook(other, source, "z"), "a.ipynb")) == json.loads(notebook(other, expected, "z"))


def test_a_fix_that_would_change_a_magic_is_not_made(using: Using) -> None:
    using(NRM101=FakeFix(r"0 *\nwide", "wider"))
    done = fixed(notebook(["%time\n", "wide"]), "a.ipynb")
    assert not done.changed
    assert [one.fix for one in done.report.findings] == [None]


def test_edits_may_lie_in_several_cells_but_none_across_them(using: Using) -> None:
    using(NRM101=FakeFix("wide", "wide(-1)"), NRM302=FakeFix(r"a\nb", "c", UNSAFE))
    done = fixed(notebook("wide\na", "b\nwide"), "a.ipynb", UNSAFELY)
    assert [code for _, code in done.after.cells] == ["wide(-1)\na", "b\nwide(-1)"]


def test_a_file_that_can_not_be_read_is_a_failure(using: Using) -> None:
    using()
    assert fix_file("a.py", FixRequest(ALL), b"wide +\n") == Failure("a.py", 1, "syntax error: invalid syntax")


def test_a_broken_file_with_nothing_to_report_is_left_as_it_is(using: Using) -> None:
    using()
    assert not fixed("f(:\n").changed
    assert fixed("f(:\n").report.errors == ()


def test_an_error_while_fixing_leaves_the_file_and_its_findings(using: Using, monkeypatch: pytest.MonkeyPatch) -> None:
    using()

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("normlint.engine.fix.edited", fail)
    done = fixed("wide\n")
    assert not done.changed
    assert done.report.errors == (Failure("a.py", None, "not fixed: internal error: ZeroDivisionError: by nought"),)
    assert [one.code for one in done.report.findings] == ["NRM101"]


def test_an_error_while_fixes_are_sought_leaves_the_findings(using: Using, monkeypatch: pytest.MonkeyPatch) -> None:
    using()
    real = rules.analyse

    def fail(text: str, *, snippet: bool, offer: rules.Offer | None = None) -> rules.Analysis:
        found = real(text, snippet=snippet, offer=offer)
        if offer:
            raise ZeroDivisionError("by nought")
        return replace(found, findings=tuple(replace(one, fix=None) for one in found.findings))

    monkeypatch.setattr(rules, "analyse", fail)
    told = (Failure("a.py", None, "internal error: ZeroDivisionError: by nought"),)
    linted = check_bytes("a.py", b"wide\n", ALL)
    assert ([one.code for one in linted.findings], linted.errors) == (["NRM101"], told)
    done = fixed("wide\n")
    assert (done.changed, [one.code for one in done.report.findings], done.report.errors) == (False, ["NRM101"], told)


def test_the_safe_fix_of_a_norm_comes_first_so_that_an_unsafe_one_may_be_unnecessary() -> None:
    text = """import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.scale = dim**-0.5
        self.eps = eps
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        norm = torch.norm(x, dim=-1, keepdim=True) * self.scale
        return x / norm.clamp(min=self.eps) * self.g
"""
    made = after(text, demand=replace(UNSAFELY, selection=Selection(("NRM206", "NRM305")))).decode()
    assert "torch.norm(x.float()" in made
    assert "eps=1e-8" in made
