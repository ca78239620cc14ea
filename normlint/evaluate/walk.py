"""Traverse the syntax tree: all nodes below one, the blocks of a scope, the definitions in a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from normlint.evaluate import syntax as s
from normlint.text.finding import Span


def walk(node: object, *, own: bool = False) -> Iterator[s.Node]:
    """Yield a node and all nodes below it in text order; `own`: without those inside nested functions and classes."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, s.Node):
            yield here
            if not (own and isinstance(here, s.Function | s.Class | s.Lambda)):
                waiting.extend([getattr(here, name) for name in _BELOW[type(here)]])
        elif isinstance(here, tuple) and not isinstance(here, Span):
            waiting.extend(reversed(here))


# By class of node: its fields that may hold nodes, the last first.
_BELOW = {
    kind: tuple(
        "body" if f.name == "made" else f.name
        for f in reversed(fields(kind))
        if f.compare and f.name not in ("span", "head", "op", "id", "name")
    )
    for base in (s.Node, s.Expr, s.Stmt)
    for kind in base.__subclasses__()
}


def extent(block: s.Block) -> Span:
    """Return the span of all statements of a block."""
    return Span(block[0].span.start, block[-1].span.end) if block else Span(0, 0)


def blocks_of(stmt: s.Stmt) -> tuple[s.Block, ...]:
    """Return the blocks of a compound statement that share its scope."""
    match stmt:
        case s.If(body=body, orelse=orelse) | s.Loop(body=body, orelse=orelse):
            return (body, orelse)
        case s.With(body=body):
            return (body,)
        case s.Try(body=body, handlers=handlers, orelse=orelse, final=final):
            return (body, *(handler.body for handler in handlers), orelse, final)
        case s.Match(cases=cases):
            return tuple(block for _, _, block in cases)
    return ()


def definitions(block: s.Block) -> Iterator[s.Function | s.Class]:
    """Yield the classes and functions of a block, also those under `if` and `try`."""
    for stmt in block:
        if isinstance(stmt, s.Function | s.Class):
            yield stmt
        for inner in blocks_of(stmt):
            yield from definitions(inner)
