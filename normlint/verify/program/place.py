"""The syntax node that stands at a stretch of the text, and what it stands in."""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from normlint.text.finding import Span
from normlint.text.source import line_starts
from normlint.verify.program.scope import FUNCTIONS, Function

AnyFunction: TypeAlias = "Function | ast.Lambda"
Chain: TypeAlias = "tuple[ast.AST, ...]"  # from the module down to a node

CASTS: Final = frozenset(
    "to type type_as float half bfloat16 double clone contiguous requires_grad_ detach cpu cuda".split()
)
VIEWS: Final = frozenset(
    "view reshape view_as reshape_as permute transpose movedim flatten unflatten squeeze unsqueeze expand".split()
)


@dataclass(frozen=True, eq=False)
class Page:
    """A text and its tree; `ast` counts bytes in a line, spans count characters in the text."""

    text: str
    tree: ast.Module

    def chain(self, span: Span) -> Chain:
        """The nodes that hold the stretch, the outermost first, the last one the innermost."""
        start, end = self._point(span.start), self._point(span.end)
        found: list[ast.AST] = [self.tree]
        while True:
            inner = next((n for n in _parts(found[-1]) if _holds(n, start, end)), None)
            if inner is None:
                return tuple(found)
            found.append(inner)

    def span(self, node: ast.AST) -> Span:
        """Where a statement or expression stands."""
        first = self._offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
        return Span(first, self._offset(getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)))

    def _point(self, offset: int) -> tuple[int, int]:
        starts = line_starts(self.text)
        line = bisect_right(starts, offset)
        return line, len(self.text[starts[line - 1] : offset].encode("utf-8", "surrogatepass"))

    def _offset(self, line: int, column: int) -> int:
        starts = (*line_starts(self.text), len(self.text))
        encoded = self.text[starts[line - 1] : starts[line]].encode("utf-8", "surrogatepass")
        return starts[line - 1] + len(encoded[:column].decode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4)
def page_of(text: str) -> Page | None:
    """The page of a text that parses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's code
            return Page(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def page_around(text: str, pieces: Iterable[Span], spans: Iterable[Span]) -> Page | None:
    """The page with only those statements at the top in which something stands: spaces are in place of the others."""
    places = [span.start for span in spans]
    found, done = "", 0
    for start, end in pieces:
        if any(start <= at < end for at in places):
            found, done = found + _NOT_A_LINE.sub(" ", text[done:start]) + text[start:end], end
    return page_of(found)


_NOT_A_LINE: Final = re.compile(r"[^\r\n]")


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Children that have a place; those of nodes that have none (arguments, comprehensions) in their stead."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _parts(child)


def _holds(node: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> bool:
    line, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return (line, getattr(node, "col_offset", 0)) <= start and end <= (last, getattr(node, "end_col_offset", 0))


def definitions(node: ast.AST) -> Iterator[ast.AST]:
    """The functions and classes below a node, however deep, in the order of the text."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()) if not isinstance(node, ast.expr) else ():
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                yield child
            yield from definitions(child)


def function_in(chain: Chain) -> AnyFunction | None:
    """The innermost function that holds the end of the chain."""
    return next((n for n in reversed(chain) if isinstance(n, (*FUNCTIONS, ast.Lambda))), None)


def functions_in(chain: Chain) -> tuple[AnyFunction, ...]:
    """All functions that hold the end of the chain, the innermost first."""
    return tuple(n for n in reversed(chain) if isinstance(n, (*FUNCTIONS, ast.Lambda)))


def class_in(chain: Chain, function: AnyFunction) -> ast.ClassDef | None:
    """The class whose method the function is."""
    at = next(i for i, n in enumerate(chain) if n is function)
    above = chain[at - 1]
    return above if isinstance(above, ast.ClassDef) else None


def below(chain: Chain, node: ast.AST) -> Chain:
    """The part of a chain from `node` on."""
    return chain[next(i for i, n in enumerate(chain) if n is node) :]


def to(chain: Chain, node: ast.AST) -> Chain:
    """The chain lengthened to a node below its end, or cut off at one that is in it."""
    for i, known in enumerate(chain):
        if known is node:
            return chain[: i + 1]
    for child in _parts(chain[-1]):
        if any(n is node for n in ast.walk(child)):
            return to((*chain, child), node)
    return chain


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `a.b.c(...)`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def same(one: ast.AST, two: ast.AST) -> bool:
    """The same text, whatever the spaces."""
    return type(one) is type(two) and ast.dump(one) == ast.dump(two)


def uncast(node: ast.expr, over: frozenset[str] = CASTS) -> ast.expr:
    """`x` of `x.float().to(y.dtype)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in over:
        node = node.func.value
    return node


def steps_before(chain: Chain, function: ast.AST) -> list[ast.stmt]:
    """The statements that come before the chain's end in its enclosing blocks, in order; `with` is seen through."""
    found: list[ast.stmt] = []
    inside = below(chain, function)
    for holder, held in itertools.pairwise(inside):
        for block in _blocks(holder):
            if any(stmt is held for stmt in block):
                found += _until(block, held)
    return found


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _until(block: Iterable[ast.stmt], end: ast.AST) -> Iterator[ast.stmt]:
    for stmt in block:
        if stmt is end:
            return
        if isinstance(stmt, ast.With):
            yield from _until(stmt.body, end)
        else:
            yield stmt


# --- whether a function gives its product back -----------------------------------------------------------------------


def given_back(function: AnyFunction, product: ast.AST) -> ast.expr | None:
    """What the function returns, if that is `product` but for casts, views, gains and a shift."""
    names: set[str] = set()
    if isinstance(function, ast.Lambda):
        return function.body if _passes(function.body, product, names) else None
    for stmt in _ordered(function.body):
        match stmt:
            case ast.Return(value=ast.expr() as value) if _passes(value, product, names):
                return value
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                (names.add if _passes(value, product, names) else names.discard)(name)
            case ast.AugAssign(target=ast.Name(id=name)) if stmt is product:
                names.add(name)
    return None


def _ordered(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in body:
        yield stmt
        if not isinstance(stmt, (*FUNCTIONS, ast.ClassDef)):
            yield from _ordered(n for n in ast.iter_child_nodes(stmt) if isinstance(n, ast.stmt))


def _passes(value: ast.expr, product: ast.AST, names: set[str]) -> bool:
    value = uncast(value, CASTS | VIEWS)
    if value is product or (isinstance(value, ast.Name) and value.id in names):
        return True
    match value:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return any(_passes(a, product, names) and _is_plain(b) for a, b in ((left, right), (right, left)))
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_passes(part, product, names) for part in parts)
        case ast.IfExp(body=body, orelse=other):
            return _passes(body, product, names) or _passes(other, product, names)
    return False


def _is_plain(node: ast.expr) -> bool:
    """A gain, a shift, a count: names and numbers."""
    node = uncast(node, CASTS | VIEWS)
    if isinstance(node, ast.BinOp):
        return _is_plain(node.left) and _is_plain(node.right)
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name | ast.Attribute | ast.Constant)
