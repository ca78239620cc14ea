"""Edits in a notebook's cells: only the strings that hold the code change, in the way they are written."""

from __future__ import annotations

import json

import pytest

from normlint.text.finding import Edit, Span
from normlint.text.notebooks import with_cells_edited


def edit(start: int, end: int, text: str) -> Edit:
    return Edit(Span(start, end), text)


LINES = '["a\\n",\n    "b\\n",\n    "c"]'
SOURCES = {
    "a string": ('"a\\nb"', [edit(2, 3, "x")], '"a\\nx"'),
    "a string that gets a line": ('"a\\nb"', [edit(1, 1, "\nx")], '"a\\nx\\nb"'),
    "a string that becomes empty": ('"a"', [edit(0, 1, "")], '""'),
    "a line": (LINES, [edit(2, 3, "x")], '["a\\n",\n    "x\\n",\n    "c"]'),
    "several edits in a line": ('["abc\\n", "d"]', [edit(0, 1, "x"), edit(2, 3, "y")], '["xby\\n", "d"]'),
    "edits in several lines": (LINES, [edit(0, 1, "x"), edit(4, 5, "y")], '["x\\n",\n    "b\\n",\n    "y"]'),
    "a new line before": (LINES, [edit(2, 2, "x\n")], '["a\\n",\n    "x\\n",\n    "b\\n",\n    "c"]'),
    "a new line behind": (LINES, [edit(3, 3, "\nx")], '["a\\n",\n    "b\\n",\n    "x\\n",\n    "c"]'),
    "a new line at the end": (LINES, [edit(5, 5, "\nx")], '["a\\n",\n    "b\\n",\n    "c\\n",\n    "x"]'),
    "a line that goes": (LINES, [edit(2, 4, "")], '["a\\n",\n    "c"]'),
    "a last line that goes": (LINES, [edit(4, 5, "")], '["a\\n",\n    "b\\n"]'),
    "the last two lines": (LINES, [edit(2, 5, "")], '["a\\n"]'),
    "all lines": (LINES, [edit(0, 5, "")], "[]"),
    "lines that become one": (LINES, [edit(1, 4, "")], '["ac"]'),
    "an edit that ends where a line does": (LINES, [edit(2, 4, "x\n")], '["a\\n",\n    "x\\n",\n    "c"]'),
    "the only line gets another": ('[\n  "a"\n ]', [edit(1, 1, "\nb")], '[\n  "a\\n",\n  "b"\n ]'),
    "several lines in one string": ('["a\\nb", "c"]', [edit(2, 3, "x\ny")], '["a\\nx\\nyc"]'),
    "no blanks at all": ('["a\\n","b"]', [edit(1, 1, "\nx")], '["a\\n","x\\n","b"]'),
    "nothing where nothing was": ("[]", [edit(0, 0, "a\nb")], '["a\\n", "b"]'),
    "escapes that nobody needs are kept in other lines": (
        '["\\u003c \\/\\n", "\\u003c a"]', [edit(6, 7, "b")], '["\\u003c \\/\\n", "< b"]',
    ),
    "what must be escaped is": ('"a"', [edit(0, 1, '"\\\t')], '"\\"\\\\\\t"'),
    "a character of two halves": ('"\\ud83d\\ude00a"', [edit(1, 2, "b")], '"\\ud83d\\ude00b"'),
    "a character beyond ASCII": ('"a"', [edit(0, 1, "é")], '"é"'),
    "a character beyond ASCII where others are numbers": ('"\\u00e8a"', [edit(1, 2, "é")], '"\\u00e8\\u00e9"'),
    "a character beyond ASCII where others are not": ('"è\\u00e8a"', [edit(2, 3, "é")], '"èèé"'),
}  # fmt: skip


@pytest.mark.parametrize(("source", "edits", "expected"), SOURCES.values(), ids=SOURCES)
def test_a_source_changes_in(source: str, edits: list[Edit], expected: str) -> None:
    around = '{"cells" : [ {"source": ["z"]},\t{"x": {"source": 1}, "source":  %s , "y":[1,{}]} ], "n": 1.0e3}\n'
    changed = with_cells_edited(around % source, {2: edits})
    assert changed == around % expected
    json.loads(changed)


def test_the_last_of_equal_keys_holds() -> None:
    text = '{"cells": [], "cells": [{"source": "a", "source": "b"}]}'
    assert with_cells_edited(text, {1: [edit(0, 1, "c")]}) == text.replace('"b"', '"c"')


def test_several_cells_change_and_those_without_a_source_are_counted() -> None:
    text = '{"cells": [{}, {"source": "a"}, {"source": []}, {"source": "b"}]}'
    changed = with_cells_edited(text, {4: [edit(0, 1, "y")], 2: [edit(0, 1, "x")]})
    assert changed == text.replace('"a"', '"x"').replace('"b"', '"y"')


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        with_cells_edited('{"cells": [{"source": "abc"}]}', {1: [edit(0, 2, "x"), edit(1, 3, "y")]})
