"""Parse text with the running interpreter, and say so where a newer Python would be needed."""

from __future__ import annotations

import builtins
import sys
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from normlint.text.depth import too_deep
from normlint.text.raw import BadSourceError

if TYPE_CHECKING:
    import ast

    from normlint.text.finding import Span

_ONLY_AST: Final = 0x400
_TOP_LEVEL_AWAIT: Final = 0x2000  # allowed in notebooks
_TOO_DEEP: Final = "nested too deeply to be analysed"
_VERSION: Final = ".".join(map(str, sys.version_info[:2]))
_TOO_OLD: Final = f"this Python ({_VERSION}) can't parse it: run normlint with a newer Python"
_LIMITS: Final = ("too many nested parentheses", "too many levels of indentation", "too many statically nested blocks")


def check_syntax(text: str) -> None:
    """Raise BadSourceError unless this Python can parse `text` and it isn't nested too deeply."""
    if too_deep(text):
        raise BadSourceError(_TOO_DEEP)
    try:
        parsed(text)
    except SyntaxError as error:
        if _is_limit(error):
            raise BadSourceError(_TOO_DEEP, error.lineno) from None
        what = _TOO_OLD if _newer_python(text) else f"syntax error: {error.msg}"
        raise BadSourceError(what, error.lineno) from None
    except (RecursionError, MemoryError):
        raise BadSourceError(_TOO_DEEP) from None
    except ValueError as error:
        raise BadSourceError(f"not Python: {error}") from None


def syntax_error_line(text: str) -> int | None:
    """Return the line of the first syntax error; 0 where none can be named, None if there is no error."""
    try:
        parsed(text)
    except SyntaxError as error:
        return error.lineno or 0
    except (RecursionError, MemoryError, ValueError):
        return 0
    return None


def is_python(text: str) -> bool:
    """Return whether this interpreter can parse `text` and it isn't nested too deeply to be analysed."""
    return not too_deep(text) and syntax_error_line(text) is None


def compiles(text: str) -> bool:
    """Return whether this interpreter can compile `text`, which takes more than its grammar; nothing is run."""
    try:
        _compile(text, _TOP_LEVEL_AWAIT)
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return False
    return True


def unbound(text: str) -> set[str]:
    """Return the names that the text reads but that neither it nor Python binds; none if it can't be analysed."""
    import symtable

    try:
        waiting = [symtable.symtable(text, "<text>", "exec")]
    except (SyntaxError, RecursionError, MemoryError):
        return set()
    read: set[str] = set()
    bound = set(dir(builtins))
    for table in waiting:
        waiting += table.get_children()
        for name in table.get_identifiers():
            symbol, top = table.lookup(name), table.get_type() == "module"
            read.update([name] if symbol.is_referenced() and (top or symbol.is_global()) else [])
            here = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            bound.update([name] if here and (top or symbol.is_global()) else [])
    return read - bound


@lru_cache(maxsize=1)  # the check and the fixes parse the same text
def parsed(text: str) -> ast.Module:
    """Return Python's own tree of the text, which must not be changed. Raises what `compile` does."""
    tree: ast.Module = _compile(text, _ONLY_AST)
    return tree


def parsed_part(text: str, span: Span) -> ast.Module:
    """Return the tree of some whole statements of a text; an empty one where they aren't Python."""
    import ast

    part = text[slice(*span)]
    try:
        tree: ast.Module = _compile("" if too_deep(part) else part, _ONLY_AST)
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return ast.Module([], [])
    return tree


def _compile(text: str, flags: int) -> Any:
    # Warnings about a file's invalid escapes must not reach standard error.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, "<source>", "exec", flags, dont_inherit=True)


def _is_limit(error: SyntaxError) -> bool:
    return any(limit in (error.msg or "") for limit in _LIMITS)


def _newer_python(text: str) -> bool:
    """Return whether libcst can parse the text; only the error message depends on it."""
    try:
        import libcst  # takes 170 ms, only for a broken file
    except ModuleNotFoundError:  # in a browser
        return False
    try:
        libcst.parse_module(text)
    except (libcst.ParserSyntaxError, SyntaxError, RecursionError, UnicodeError):  # SyntaxError for an invalid name
        return False
    return True
