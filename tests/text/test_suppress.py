"""`noqa` means to the command what it means to flake8."""

from __future__ import annotations

import pytest

from normlint.text.suppress import noqa_silences, skips_file, suppressions, unit_line

LINES = {
    "no comment": ("x = 1", False),
    "noqa alone": ("x = 1  # noqa", True),
    "noqa in capitals": ("x = 1  # NOQA", True),
    "the code": ("x = 1  # noqa: NRM101", True),
    "the code without a space": ("x = 1  # noqa:NRM101", True),
    "the code in small letters": ("x = 1  # noqa: nrm101", True),
    "a prefix": ("x = 1  # noqa: NRM1", True),
    "one of several, by commas": ("x = 1  # noqa: E501,NRM101", True),
    "one of several, by spaces": ("x = 1  # noqa: E501 NRM101", True),
    "another code": ("x = 1  # noqa: NRM102", False),
    "another tool's code": ("x = 1  # noqa: E501", False),
    "the code behind another comment": ("x = 1  # why  # noqa: NRM101", True),
    "the code before an explanation": ("x = 1  # noqa: NRM101 - why", True),
    "a word that is no code": ("x = 1  # noqa: because", True),
    "no space before the word": ("x = 1  #noqa", False),
}


@pytest.mark.parametrize(("line", "silent"), LINES.values(), ids=LINES)
def test_a_line_is_silenced_by(line: str, silent: bool) -> None:
    assert noqa_silences(line, "NRM101") is silent
    assert suppressions(line + "\n").silences("NRM101", 1) is silent


TEXTS = {
    "a comment on the line itself": ("f(\n    x,  # noqa\n)\n", 2, True),
    "not a comment on another line of the call": ("f(\n    x,\n)  # noqa\n", 2, False),
    "a comment behind a multi-line string": ("x = '''\na\n'''  # noqa\n", 2, True),
    "a comment behind a line continued by a backslash": ("x = 1 + \\\n    2  # noqa\n", 1, True),
    "not a comment on the next line": ("x = 1\ny = 2  # noqa\n", 1, False),
    "noqa in a string, as flake8 has it": ("x = '# noqa'\n", 1, True),
    "a text that can't be tokenised, line by line": ("x = 1  # noqa\ny = (\n", 1, True),
    "a text without the word": ("x = 1\n", 1, False),
    "CR LF": ("x = 1\r\ny = 2  # noqa\r\n", 2, True),
}


@pytest.mark.parametrize(("text", "line", "silent"), TEXTS.values(), ids=TEXTS)
def test_a_finding_is_silenced_by(text: str, line: int, silent: bool) -> None:
    assert suppressions(text).silences("NRM101", line) is silent


SKIPS = {
    "normlint's comment": ("# normlint: skip-file\n", True),
    "normlint's comment, indented": ("x = 1\n  # normlint:skip-file\n", True),
    "flake8's comment": ("# flake8: noqa\n", True),
    "flake8's comment in CR LF": ("x = 1\r\n# flake8: noqa\r\n", True),
    "flake8's comment with a code, which to flake8 is the same": ("# flake8: noqa: E501\n", True),
    "a comment in a page": ("<!-- normlint: skip-file -->\n", True),
    "not a comment behind code": ("x = 1  # normlint: skip-file\n", False),
    "not another word": ("# normlint: skip-files\n", False),
    "not nothing": ("", False),
}


@pytest.mark.parametrize(("text", "skipped"), SKIPS.values(), ids=SKIPS)
def test_a_file_is_skipped_by(text: str, skipped: bool) -> None:
    assert skips_file(text) is skipped


def test_lines_of_a_unit_are_counted_from_one() -> None:
    assert [unit_line("a\nb\n", offset) for offset in range(4)] == [1, 1, 2, 2]
