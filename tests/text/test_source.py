"""Bytes become text, and places in it, without losing a byte."""

from __future__ import annotations

import pytest

from normlint.text.finding import Span
from normlint.text.raw import BadSourceError
from normlint.text.read import MOST_COMMAS, MOST_PYTHON, decode, kind_of, read, units_of
from normlint.text.source import Place, Segment, Source, Unit, split_lines

ROUND_TRIPS = {
    "plain utf-8": b"x = '\xc3\xa9'\n",
    "a BOM": b"\xef\xbb\xbfx = 1\n",
    "a BOM and a cookie": b"\xef\xbb\xbf# -*- coding: utf-8 -*-\nx = 1\n",
    "latin-1": b"# coding: latin-1\nx = '\xe9'\n",
    "a cookie in the second line": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
    "CR LF": b"x = 1\r\ny = 2\r\n",
    "mixed line ends": b"x = 1\r\ny = 2\nz = 3\r",
    "no final line end": b"x = 1",
    "form feeds": b"\x0cx = 1\n\x0c\n",
    "nothing": b"",
}


@pytest.mark.parametrize("data", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_a_file_is_written_back_byte_by_byte(data: bytes) -> None:
    source = decode("a.py", data)
    assert source.faithful
    assert source.encode(source.text) == data


def test_an_encoding_that_does_not_give_the_bytes_back_is_known() -> None:
    assert not decode("a.py", b"# coding: utf-7\nx = '+AGE-'\n").faithful


REFUSED = {
    "NUL bytes": (b"x = 1\0", "binary file: it holds NUL bytes", None),
    "UTF-16": ("x = 1".encode("utf-16"), "binary file: it holds NUL bytes", None),
    "bytes that are no utf-8": (b"x = 1\ny = '\xff'\n", "not decodable as utf-8: invalid start byte", 2),
    "an unknown encoding": (b"# coding: nonsense\n", "not decodable: unknown encoding: nonsense", 1),
    "a cookie that contradicts the BOM": (
        b"\xef\xbb\xbf# coding: latin-1\n",
        "not decodable: encoding problem: utf-8",
        1,
    ),
    "an encoding that is no text": (b"# coding: rot13\n", "not decodable as rot13", None),
    "too many characters": (b"#" * (MOST_PYTHON + 1), "too large to be analysed (4 MB of Python; exclude it)", None),
    "too many commas": (b"," * (MOST_COMMAS + 1), "too large to be analysed (0 MB of Python; exclude it)", None),
}


@pytest.mark.parametrize(("data", "message", "line"), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_for(data: bytes, message: str, line: int | None) -> None:
    with pytest.raises(BadSourceError) as refused:
        decode("a.py", data)
    assert refused.value.message.startswith(message)
    assert refused.value.line == line


def test_a_directory_is_not_read(tmp_path) -> None:
    with pytest.raises(BadSourceError, match="not a regular file"):
        read(str(tmp_path))


def test_a_path_that_cannot_exist_is_not_read() -> None:
    with pytest.raises(BadSourceError, match="null"):
        read("a\0b.py")


def test_a_file_of_half_a_gigabyte_is_not_read(tmp_path) -> None:
    huge = tmp_path / "huge.py"
    with huge.open("wb") as file:
        file.truncate(513 * 2**20)
    with pytest.raises(BadSourceError, match="too large to be read"):
        read(str(huge))


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a.py", "python"), ("a.pyi", "python"), ("A.IPYNB", "notebook"), ("a.md", "markdown"), ("script", "python")],
)
def test_the_ending_tells_the_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind


PLACES = {
    "the first character": ("abc\n", 0, (1, 1)),
    "after a line feed": ("a\nbc\n", 3, (2, 2)),
    "after CR LF": ("a\r\nbc", 3, (2, 1)),
    "after a lone CR": ("a\rbc", 2, (2, 1)),
    "behind wide characters": ("变量 = x\n", 5, (1, 6)),
    "behind characters beyond the first plane": ("'🙂' + x\n", 6, (1, 7)),
    "after a form feed, which ends no line": ("\fa\n\fb", 4, (2, 2)),
    "after a Unicode separator, which ends no line": ("'\u2028' + x", 6, (1, 7)),
    "the end of the text": ("a\n", 2, (2, 1)),
}


@pytest.mark.parametrize(("text", "offset", "place"), PLACES.values(), ids=PLACES)
def test_a_place_is_counted_from_one(text: str, offset: int, place: tuple[int, int]) -> None:
    assert Source("a.py", text).place(None, offset) == Place(None, *place)


def test_a_python_file_is_one_unit_at_its_own_places() -> None:
    source = Source("a.py", "a\nbcd\n")
    (unit,) = units_of(source)
    assert (unit.text, unit.snippet) == (source.text, False)
    assert source.places(unit, Span(3, 5)) == (Place(None, 2, 2), Place(None, 2, 4))
    assert source.places(unit, Span(3, 3)) == (Place(None, 2, 2), Place(None, 2, 2))


def test_the_end_of_a_stretch_stays_in_its_segment() -> None:
    unit = Unit("abcd", segments=(Segment(0, 10), Segment(2, 20)))
    assert unit.origin_span(Span(0, 2)) == (None, Span(10, 12))
    assert unit.origin_span(Span(1, 3)) == (None, Span(11, 21))


def test_lines_are_cut_to_those_there_are() -> None:
    source = Source("a.py", "a\r\nb\nc")
    assert source.lines(None, 0, 9) == ("a", "b", "c")
    assert source.lines(None, 2, 2) == ("b",)


def test_lines_are_split_where_python_splits_them() -> None:
    assert split_lines("a\fb\nc\r\nd\re") == ["a\fb\n", "c\r\n", "d\r", "e"]
    assert split_lines("") == []
