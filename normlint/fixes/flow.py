"""Follow a value from an expression to the expressions, names, returns and calls that use it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import libcst as cst
from libcst.metadata import ExpressionContext

from normlint.fixes.document import Changes, Document
from normlint.fixes.spelling import called, operands, operation, shown
from normlint.text.frozen import dataclass

FAR: Final = 60
Value = cst.BaseExpression | None  # None for a value that isn't written as one expression
Assignment = cst.Assign | cst.AnnAssign | cst.AugAssign


@dataclass(frozen=True, slots=True)
class Product:
    """A multiplication or division that has the value as one of its two operands."""

    node: cst.CSTNode
    value: cst.BaseExpression
    other: cst.BaseExpression
    first: bool  # the value is the left operand


def carried(
    document: Document, start: cst.BaseExpression, ends: Callable[[cst.BaseExpression], bool] = lambda _: False
) -> Iterator[cst.BaseExpression]:
    """Yield the expression and all that hold its value, from the inside out and on through names, returns and calls.

    `ends`: whether not to go on from an expression.
    """
    waiting = [start]
    seen: set[cst.CSTNode] = set()
    while waiting and len(seen) < FAR:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        yield node
        holder = document.parent(node)
        if ends(node):
            continue
        if isinstance(holder, cst.BaseExpression):
            waiting.insert(0, holder)
        elif isinstance(holder, cst.Return):
            waiting += calls_of(document, document.around(node, cst.FunctionDef))
        elif isinstance(holder, Assignment):
            waiting += loads_after(document, holder)


def targets_of(stmt: Any) -> list[Any]:
    """Return the targets of an assignment; a list with None for another statement."""
    return [t.target for t in stmt.targets] if isinstance(stmt, cst.Assign) else [getattr(stmt, "target", None)]


def single_targets(stmt: Any) -> list[Any]:
    """Return the targets of an assignment, with the items of tuples and lists one by one."""
    several = (t.elements if isinstance(t, cst.Tuple | cst.List) else [t] for t in targets_of(stmt))
    return [one.value if isinstance(one, cst.BaseElement) else one for some in several for one in some]


def given(document: Document, target: cst.BaseExpression) -> list[Value]:
    """Return the values that an assignment gives to this target; empty for an expression that is no target."""
    above: Any = (*document.above(target),)
    match above:
        case [cst.AssignTarget(target=aim), stmt, *_] | [cst.AnnAssign(target=aim) as stmt, *_] if aim is target:
            return [stmt.value]
        case [cst.NamedExpr(target=aim) as stmt, *_] if aim is target:
            return [stmt.value]
        case [cst.AugAssign(target=aim), *_] if aim is target:
            return [None]
        case [one, cst.Tuple(elements=names), cst.AssignTarget(), cst.Assign(value=cst.Tuple(elements=values)), *_]:
            return [values[names.index(one)].value if len(names) == len(values) else None]
        case [cst.Element(), *_] if any(isinstance(n, cst.AssignTarget) for n in above):
            return [None]
    return []


def sole_name(stmt: cst.CSTNode | None) -> str:
    """Return the plain name that is all that an assignment binds; empty for any other."""
    bound, names = single_targets(stmt), names_of(stmt)
    return names[0] if len(bound) == len(names) == 1 else ""


def names_of(stmt: cst.CSTNode | None) -> tuple[str, ...]:
    """Return the plain names that an assignment binds."""
    return tuple(one.value for one in single_targets(stmt) if isinstance(one, cst.Name))


def loads(document: Document, name: str, scope: cst.CSTNode) -> list[cst.Name]:
    """Return where a name is read in a function, in the order of the text."""
    return [n for n in document.below(scope, cst.Name) if n.value == name and reads(document, n)]


def names_in(document: Document, node: cst.CSTNode) -> list[cst.Name]:
    """Return the names that are read or bound below a node, without keywords of calls and attributes."""
    return [n for n in document.below(node, cst.Name) if document.context(n) is not None]


def stored(document: Document, node: cst.CSTNode, *names: str) -> list[cst.Name]:
    """Return where these names are bound below a node."""
    return [n for n in names_in(document, node) if n.value in names and not reads(document, n)]


def reads(document: Document, node: cst.Name) -> bool:
    """Return whether the name is read here: not only bound, no keyword, and no attribute's name."""
    changed = isinstance(next(document.above(node), None), cst.AugAssign)
    return changed or document.context(node) is ExpressionContext.LOAD


def loads_after(document: Document, stmt: cst.CSTNode) -> list[cst.BaseExpression]:
    """Return where the names that the statement binds are read behind it."""
    end, scope = document.span(stmt).end, document.scope(stmt)
    return [n for name in names_of(stmt) for n in loads(document, name, scope) if document.span(n).start >= end]


def assignments(document: Document, scope: cst.CSTNode) -> list[cst.Assign | cst.AnnAssign]:
    """Return the assignments with a value in a function, in the order of the text."""
    found: list[Any] = [*document.below(scope, cst.Assign), *document.below(scope, cst.AnnAssign)]
    return sorted((s for s in found if s.value is not None), key=document.span)


def class_of(document: Document, function: cst.FunctionDef | None) -> cst.ClassDef | None:
    """Return the class if the function is a method."""
    holder = document.around(function, cst.FunctionDef | cst.ClassDef)
    return holder if isinstance(holder, cst.ClassDef) else None


def calls_of(document: Document, function: cst.FunctionDef | None) -> list[cst.Call]:
    """Return the calls of a function or method outside of it in the text, found by its name."""
    if function is None:
        return []
    name, kind = function.name.value, cst.Name if class_of(document, function) is None else cst.Attribute
    found = [n for n in document.everywhere(cst.Call, name) if called(n) == name and isinstance(n.func, kind)]
    return [n for n in found if document.around(n, cst.FunctionDef) is not function]  # super().__init__


def product_at(document: Document, node: Any) -> Product | None:
    """Return the product or quotient that the expression is an operand of."""
    holder = document.parent(node)
    whole = document.parent(holder) if isinstance(holder, cst.Attribute) else holder  # r.mul(x)
    values = operands(whole) if operation(whole) in ("mul", "div") else []
    first = values[:1] == [node]
    return Product(whole, node, values[first], first) if node in values else None


def meant(document: Document, node: cst.BaseExpression | None) -> Any:
    """Return the expression, or the value of a name if that is the same on every path."""
    stmt = definition(document, node) if isinstance(node, cst.Name) else None
    return meant(document, stmt.value) if stmt is not None else node


def definition(document: Document, node: cst.Name) -> cst.Assign | None:
    """Return the assignment whose value the name has on every path to it, if it binds this name only."""
    start = document.span(node).start
    before = [s for s in assignments(document, document.scope(node)) if document.span(s).end <= start]
    last = next((s for s in reversed(before) if node.value in names_of(s)), None)
    always = last is not None and document.parent(document.line(last)) in document.above(node)
    return last if always and isinstance(last, cst.Assign) and sole_name(last) else None


def sole_reader(document: Document, stmt: Any) -> cst.CSTNode | None:
    """Return the line that alone reads what the statement binds, up to where the name is bound anew."""
    name, block = sole_name(stmt), document.parent(document.line(stmt))
    bindings = document.below(document.scope(stmt), cst.Assign | cst.AugAssign)
    anew = [s for s in bindings if s is not stmt and name in names_of(s) and document.parent(document.line(s)) is block]
    ends = [document.span(s).end for s in anew if document.span(s).start > document.span(stmt).start]
    read = [n for n in loads_after(document, stmt) if document.span(n).start < min(ends, default=len(document.text))]
    return document.line(read[0]) if name and len(read) == 1 else None


def only_for(document: Document, node: cst.CSTNode, kept: cst.CSTNode) -> Changes:
    """Remove the statements that only this expression reads, and those that only they read, but for those in `kept`."""
    staying, line = set(re.findall(r"\w+", shown(kept))), document.line(node)
    names = [n for n in document.below(node, cst.Name) if reads(document, n)]
    read = [n for n in names if n is node or n.value not in staying]  # `kept` is part of what the node itself means
    found = (definition(document, name) for name in read if line is not None)
    alone = [s for s in found if s is not None and sole_reader(document, s) is line]
    return {gone: None for s in alone for gone in (*document.gone(s), *only_for(document, s.value, kept))}


def bound_between(document: Document, first: cst.CSTNode, last: cst.CSTNode, since: cst.CSTNode | None = None) -> bool:
    """Return whether a name in `first` may be bound anew between `first` (or `since`) and `last`."""
    start, end = (document.span(n).end for n in (since or first, last))
    names, scope = {n.value for n in document.below(first, cst.Name)}, document.scope(last)
    own = set(document.above(last))  # `x = x / rms` binds x behind it
    between = (n for n in names_in(document, scope) if n.value in names and start <= document.span(n).start < end)
    return document.scope(first) is not scope or any(_rebinding(document, n) - own for n in between)


def _rebinding(document: Document, name: cst.Name) -> set[cst.CSTNode]:
    holder = document.parent(name)
    whole: Any = document.parent(holder) if isinstance(holder, cst.Subscript | cst.Attribute) else holder
    placed = called(whole).endswith("_") or holder in single_targets(whole)
    bound = not reads(document, name) or (isinstance(whole, cst.AugAssign) and whole.target is name)
    return {whole} if placed or bound else set()
