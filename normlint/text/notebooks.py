"""Join a notebook's code cells into one unit, with IPython's own syntax blanked out, and write edits back.

Writing changes only the JSON strings that hold a cell's code: a kept line keeps its spelling, and a new line gets the
indent of its neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from normlint.text.edit import apply
from normlint.text.finding import Edit, Span
from normlint.text.raw import BadSourceError
from normlint.text.source import Segment, Unit, split_lines
from normlint.text.syntax import is_python, syntax_error_line

# Cell magics whose body is Python, run in this notebook or in another interpreter.
_PYTHON_MAGICS: Final = frozenset(
    ["capture", "debug", "ipytest", "memit", "mprun", "prun", "pypy", "python", "python3", "time", "timeit"]
)
_CELL_MAGIC: Final = re.compile(r"\s*%%(\w*)")
_MAGIC_LINE: Final = re.compile(
    r"(?P<keep>\s*)(?:[%!]|[?]|[,;/]\w).*|(?P<keep_too>\s*)[\w.*\[\]\"']+\?{1,2}\s*|(?P<assign>\s*[\w.,* ]+=\s*)[%!].*",
    re.DOTALL,
)
_NO_CELLS: Final = "not a notebook: it has no list of cells"
_NOT_A_LINE_END: Final = re.compile(r"[^\r\n]")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPED: Final = re.compile(r"\\u(?:00[89a-fA-F]|0[1-9a-fA-F]|[1-9a-fA-F])")
_decoder: Final = json.JSONDecoder()


def code_cells(text: str) -> tuple[tuple[int, str], ...]:
    """Return the number (among all cells, from 1) and text of each code cell; BadSourceError if it's no notebook."""
    notebook = _parsed(text)
    if not isinstance(notebook, dict):
        raise BadSourceError("not a notebook: the JSON is no object")
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        old = "worksheets" in notebook
        raise BadSourceError("notebook format before 4: convert it with `jupyter nbconvert`" if old else _NO_CELLS)
    if not _speaks_python(notebook.get("metadata")):
        return ()
    return tuple((number, code) for number, cell in enumerate(cells, 1) if (code := _code(cell)) is not None)


def notebook_units(cells: tuple[tuple[int, str], ...]) -> tuple[Unit, ...]:
    """Return one unit of all cells: a class in one of them uses the imports of another."""
    parts: list[str] = []
    segments: list[Segment] = []
    length = 0
    for number, code in cells:
        segments.append(Segment(length, 0, number))
        part = python_of_cell(code)
        parts.append(part if part.endswith("\n") else part + "\n")
        length += len(parts[-1])
    text = "".join(parts)
    return (Unit(text, snippet=True, segments=tuple(segments)),) if text.strip() and is_python(text) else ()


def python_of_cell(code: str) -> str:
    """Blank out what isn't Python in the cell, keeping its length and lines."""
    magic = _CELL_MAGIC.match(code)
    if magic and magic[1] not in _PYTHON_MAGICS:
        return _blank(code)
    if magic:
        end = code.find("\n", magic.end())
        end = len(code) if end < 0 else end
        code = _blank(code[:end]) + code[end:]
    return _without_magics(code)


def _without_magics(code: str) -> str:
    """Blank the lines that Python can't parse, if they look like IPython's; else blank the whole cell."""
    lines = split_lines(code)
    for _ in range(len(lines) + 1):
        wrong = syntax_error_line("".join(lines))
        if wrong is None:
            return "".join(lines)
        if not (0 < wrong <= len(lines)) or not _blank_magic(lines, wrong - 1):
            break
    for number in range(len(lines)):
        _blank_magic(lines, number)
    code = "".join(lines)
    return code if is_python(code) else _blank(code)


def _blank_magic(lines: list[str], number: int) -> bool:
    """Put `0` in a magic's place, so that a name stays bound and an indented block is not empty."""
    found = _MAGIC_LINE.fullmatch(lines[number])
    if not found:
        return False
    kept = found["keep"] or found["keep_too"] or found["assign"] or ""
    for at in _continued(lines, number):
        lines[at] = _blank(lines[at])
    lines[number] = kept + "0" + lines[number][len(kept) + 1 :]
    return True


def _continued(lines: list[str], number: int) -> Iterator[int]:
    """Yield a magic's line number and those that it continues on by a backslash."""
    while number < len(lines):
        goes_on = lines[number].rstrip("\r\n").endswith("\\")
        yield number
        if not goes_on:
            return
        number += 1


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadSourceError(f"not a notebook: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise BadSourceError("not a notebook: the JSON is nested too deeply or holds a number too long") from None


def _speaks_python(metadata: Any) -> bool:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        named = metadata.get(key) if isinstance(metadata, dict) else None
        language = named.get(name) if isinstance(named, dict) else None
        if isinstance(language, str):
            return "python" in language.lower()
    return True


def _code(cell: Any) -> str | None:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise BadSourceError("not a notebook: a code cell without a source")
    return source


def _blank(text: str) -> str:
    return _NOT_A_LINE_END.sub(" ", text)


def with_cells_edited(text: str, edits: Mapping[int, Sequence[Edit]]) -> str:
    """Return the notebook with edits in the cells of these numbers; ValueError where they overlap."""
    sources = dict(enumerate(_sources(text), 1))
    done, at = [], 0
    for number in sorted(edits):
        span = sources[number]
        done += [text[at : span.start], _edited(text, span, edits[number])]
        at = span.end
    return "".join([*done, text[at:]])


def _sources(text: str) -> Iterator[Span]:
    """Yield the span of each cell's source; for a cell without one, an empty span at the cell's start."""
    for cell in _elements(text, _values(text, _skip(text, 0))["cells"].start):
        yield _values(text, cell.start).get("source", Span(cell.start, cell.start))


def _values(text: str, at: int) -> dict[str, Span]:
    """Return the span of each value of the object that starts here; the last of equal keys counts, as in `json`."""
    found = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        end = _decoder.raw_decode(text, start)[1]
        found[key] = Span(start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _elements(text: str, at: int) -> Iterator[Span]:
    """Yield the spans of the values of the array that starts here."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _decoder.raw_decode(text, at)[1]
        yield Span(at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _edited(text: str, span: Span, edits: Sequence[Edit]) -> str:
    """Return a cell's source after the edits. Kept lines keep their spelling, the others get the notebook's."""
    whole = text[span.start : span.end]
    strings = [Span(*found.span()) for found in _STRING.finditer(whole)]
    old = [json.loads(whole[slice(*one)]) for one in strings]
    after = apply("".join(old), edits)
    if not whole.startswith("["):
        return _spelled(text, after)
    by_line = all(line.endswith("\n") for line in old[:-1])
    new = split_lines(after) if by_line else [after]
    known = dict(zip(old, (whole[slice(*one)] for one in strings), strict=True))
    before = whole[1 : strings[0].start] if strings else ""
    between = whole[strings[0].end : strings[1].start] if len(strings) > 1 else f",{before or ' '}"
    end = whole[strings[-1].end :] if strings else "]"
    return f"[{before if new else ''}{between.join(known.get(line) or _spelled(text, line) for line in new)}{end}"


def _spelled(notebook: str, code: str) -> str:
    """Return the code as a JSON string, with escapes for non-ASCII characters if the notebook has such escapes."""
    return json.dumps(code, ensure_ascii=notebook.isascii() and _ESCAPED.search(notebook) is not None)
