"""Make a `Source` from a path or bytes, with the encoding by PEP 263, and split it into units of Python."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from normlint.text.raw import MARKDOWN, NOTEBOOK, PYTHON, SUFFIXES, BadSourceError, megabytes, read_bytes
from normlint.text.source import Source, Unit

MOST_PYTHON: Final = 4 * 2**20
MOST_COMMAS: Final = 500_000
_BOM: Final = b"\xef\xbb\xbf"


def kind_of(path: str) -> str:
    """Return the kind of source by the path's suffix; Python for an unknown one."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower(), PYTHON)


def read(path: str) -> Source:
    """Return the file at `path`; BadSourceError says why it can't be read."""
    return decode(path, read_bytes(path))


def decode(path: str, data: bytes) -> Source:
    """Return the source of bytes that have been read already, from standard input for example."""
    kind = kind_of(path)
    if b"\0" in data:
        raise BadSourceError("binary file: it holds NUL bytes")
    bom = data.startswith(_BOM)
    encoding = _python_encoding(data) if kind == PYTHON else "utf-8"
    text = _decoded(data[len(_BOM) :] if bom else data, encoding)
    if kind == PYTHON:
        refuse_huge(text)
    source = Source(path, text, kind, encoding, bom, cells=_cells(text) if kind == NOTEBOOK else ())
    faithful = encoding == "utf-8" or _round_trips(source, data)
    return source if faithful else replace(source, faithful=False)


def refuse_huge(text: str) -> None:
    """Raise BadSourceError for many megabytes or commas of Python: it is data, and its tree would take gigabytes."""
    if len(text) > MOST_PYTHON or text.count(",") > MOST_COMMAS:
        raise BadSourceError(f"too large to be analysed ({megabytes(len(text))} of Python; exclude it)")


def _cells(text: str) -> tuple[tuple[int, str], ...]:
    from normlint.text.notebooks import code_cells

    return code_cells(text)


def _python_encoding(data: bytes) -> str:
    """Return the encoding that a Python file declares in its first two lines; "utf-8" with or without a BOM."""
    head = data[:1024].split(b"\n", 2)[:2]
    if not any(b"coding" in line for line in head):
        return "utf-8"
    import tokenize

    lines = iter(data.splitlines(keepends=True)[:2])
    try:
        name = tokenize.detect_encoding(lambda: next(lines, b""))[0]
    except SyntaxError as error:
        raise BadSourceError(f"not decodable: {error.msg}", 1) from None
    return "utf-8" if name == "utf-8-sig" else name


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadSourceError(f"not decodable as {encoding}: {error.reason}", line) from None
    except (LookupError, UnicodeError) as error:
        raise BadSourceError(f"not decodable as {encoding}: {error}") from None


def _round_trips(source: Source, data: bytes) -> bool:
    try:
        return source.encode(source.text) == data
    except (LookupError, UnicodeError):
        return False


def units_of(source: Source) -> tuple[Unit, ...]:
    """Return the units: a Python file or notebook is one, and each fenced block of a Markdown page is one.

    What isn't Python in a notebook or page is left out; a Python file is not checked here.
    """
    if source.kind == NOTEBOOK:
        from normlint.text.notebooks import notebook_units

        return notebook_units(source.cells)
    if source.kind == MARKDOWN:
        from normlint.text.markdown import markdown_units

        return markdown_units(source.text)
    return (Unit(source.text),)
