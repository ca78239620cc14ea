"""How a text spells a cast, up to fp32 and back; putting a cast behind an expression, and taking one away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.fixes.calls import Scope, parameters
from normlint.fixes.document import Changes, Document, in_front
from normlint.fixes.flow import given, names_in, single_targets, stored
from normlint.fixes.powers import in_place_of
from normlint.fixes.spelling import expression, tight
from normlint.fixes.tree import Tree, spelled
from normlint.fixes.work import CALL, took
from normlint.text.frozen import dataclass

_NAME: Final = "\0"  # in a cast that asks for the dtype of what it casts
_DOUBLES: Final = frozenset(("float64", "double"))
_PROMOTES: Final = frozenset(("gradcheck", "gradgradcheck", "promote_types"))  # who says so keeps fp64
_UP: Final = re.compile(r"\.(?:float\(\)|(?:to|type)\((?:dtype\s*=\s*)?(?:(\w+)\.)?(float(?:32)?)\))")
_SAVED: Final = re.compile(r"^[ \t]*(\w*dtype\w*) = \w+\.dtype[ \t]*$", re.MULTILINE)


# --- casts as nodes --------------------------------------------------------------------------------------------------


def cast(value: cst.BaseExpression, suffix: str) -> cst.BaseExpression:
    """The expression with a suffix such as `.float()` appended."""
    return expression("{v}" + suffix, v=tight(value)) if suffix else value


def behind(node: cst.BaseExpression, suffix: str) -> Changes:
    """The suffix behind the node, in parentheses where it would bind to a part of it."""
    return {node: lambda now: cast(now, suffix)}


def asks(call: cst.Call) -> bool:
    """A cast, for which an argument's dtype counts."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in ("type_as", "to", "type")


def receiver(document: Document, node: cst.CSTNode | None) -> Any:
    """The tensor a method is called on; None for a function."""
    func = node.func if isinstance(node, cst.Call) else None
    return func.value if isinstance(func, cst.Attribute) and not document.is_module(func.value) else None


def without_cast(document: Document, call: cst.BaseExpression | None) -> Changes | None:
    """The changes that remove a cast, or its statement if that does nothing else; None if it isn't clear how."""
    operand = receiver(document, call)
    if call is None or operand is None:
        return None
    stmt = document.parent(call)
    if isinstance(stmt, cst.Assign) and stmt.targets[-1].target.deep_equals(operand):
        block = document.parent(document.line(stmt) or stmt)
        alone = len(stmt.targets) == 1 and len(getattr(block, "body", ())) > 1
        return document.gone(stmt) if alone else None
    return {call: lambda now: in_place_of(document, call, now.func.value)}


def scope(document: Document, node: cst.CSTNode | None) -> Any:
    """The function or lambda whose names the node sees first."""
    return document.around(node, cst.FunctionDef | cst.Lambda)


def bound(document: Document, function: Scope, name: str) -> list[int]:
    """Where the function itself binds a name; in place is not anew."""
    kinds = cst.FunctionDef | cst.Lambda | cst.ClassDef
    names = stored(document, function.body, name)
    return [document.span(n).start for n in names if document.around(n, kinds) is function]


def written_above(lines: Collection[tuple[cst.CSTNode, str]]) -> Changes:
    """New lines, each in front of its statement, and of the comments directly above that."""
    own = {place: [cst.parse_statement(line) for stmt, line in lines if stmt is place] for place, _ in lines}
    return {place: partial(in_front, several) for place, several in own.items()}


# --- up --------------------------------------------------------------------------------------------------------------


def usual_upcast(tree: Tree) -> str:
    """The cast to fp32 that the text uses most, else `.float()`; in a text with fp64, one that `raising` adapts."""
    return tree.once(usual_upcast, lambda: _usual_upcast(tree))


def _usual_upcast(tree: Tree) -> str:
    found = Counter(m[0] for m in _UP.finditer(tree.text) if _resolves(m, tree.imported))
    promote, single = (spelled(tree, f"torch.{name}") for name in ("promote_types", "float32"))
    if promote and single and (_PROMOTES & tree.words or (_DOUBLES & tree.words and not found)):
        return f".to({promote}({_NAME}.dtype, {single}))"
    return max(found, key=lambda up: found[up], default=".float()")


def _resolves(match: re.Match[str], imported: frozenset[str]) -> bool:
    """The dtype's name means the same in the whole text."""
    if match[0] == ".float()":
        return True
    if match[1]:
        return match[1] in imported
    return match[2] == "float32" and match[2] in imported


def raising(document: Document, node: cst.BaseExpression, up: str) -> str:
    """The cast `up` as it is written behind this node."""
    if _NAME not in up:
        return up
    if isinstance(node, cst.Name | cst.Attribute):
        return up.replace(_NAME, document.source(node))
    names = (n for n in names_in(document, node) if not document.is_module(n) and n.value != "self")
    name = next(names, None)
    return up.replace(_NAME, name.value) if name else ".float()"


# --- back ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Back:
    """A cast back as a suffix, and the line that must stand before `line_at` for it."""

    suffix: str
    line: str = ""
    line_at: cst.CSTNode | None = None


def back(document: Document, node: cst.BaseExpression, names: tuple[str, ...], *, since: int = 0) -> Back | None:
    """A cast of what `node` computes to the dtype of the input, which goes by one of `names`.

    `since`: from this place on a name that is bound anew may be of another dtype.
    """
    took(CALL)
    function, until = scope(document, node), document.span(node).start
    if function is None:
        return None
    kept = _saved(document, function, until, names)
    if kept:
        return Back(f".to({kept})")
    stored = {name: bound(document, function, name) for name in names}
    own, by_dtype = parameters(function), ".dtype)" in document.text and ".type_as(" not in document.text
    for name in (name for name in names if name in own or stored[name]):
        if not any(since <= at < until for at in _anew(document, stored[name], node)):
            return Back(f".to({name}.dtype)" if by_dtype else f".type_as({name})")
    place = _first(function)
    start = document.span(place).start if place is not None else 0
    for name in own if place is not None else ():
        if name in names and not any(at < start for at in stored[name]):
            fresh = _fresh(document, function)
            return Back(f".to({fresh})", f"{fresh} = {name}.dtype", place)
    return None


def _saved(document: Document, function: Scope, until: int, names: tuple[str, ...]) -> str:
    """The name under which the function keeps the input's dtype, where there is just one and it is under no test."""
    apart = set(parameters(function)).difference(names)
    found = {name: stmt for stmt in document.below(function, cst.Assign) for name in _dtypes(document, stmt, apart)}
    (name, stmt), *others = found.items() or [("", None)]
    tests = cst.If | cst.For | cst.While | cst.Try
    if others or stmt is None or document.span(stmt).end > until or document.around(stmt, tests) is not None:
        return ""
    return name if len(bound(document, function, name)) == 1 else ""


def _dtypes(document: Document, stmt: cst.Assign, others: set[str]) -> Iterator[str]:
    """The names that a statement gives to dtypes, of these tensors apart: `dtype, dim = x.dtype, -1`."""
    names = (target for target in single_targets(stmt) if isinstance(target, cst.Name))
    yield from (name.value for name in names if not {"", *others}.issuperset(map(dtype_of, given(document, name))))


def dtype_of(node: cst.CSTNode | None) -> str:
    """The name of the tensor whose dtype is read."""
    read = isinstance(node, cst.Attribute) and node.attr.value == "dtype" and isinstance(node.value, cst.Name)
    return node.value.value if read else ""  # type: ignore[union-attr]


def _anew(document: Document, stored: list[int], node: cst.BaseExpression) -> list[int]:
    """Where the name is bound, but for the statement that `node` is part of: its value comes first."""
    own = document.around(node, cst.BaseSmallStatement | cst.BaseCompoundStatement)
    start, end = document.span(own) if own is not None else (0, 0)
    return [at for at in stored if not start <= at < end]


def _first(function: Scope) -> cst.CSTNode | None:
    """The first statement behind the docstring, where it has a line of its own."""
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        return None
    body = function.body.body
    has_docstring = function.get_docstring(clean=False) is not None
    return body[1] if has_docstring and len(body) > 1 else body[0]


def _fresh(document: Document, function: Scope) -> str:
    """A name for the dtype that came in: the one the text uses elsewhere, where it is free here."""
    taken = {n.value for n in document.below(function, cst.Name)}
    used = Counter[str](_SAVED.findall(document.text))
    names: list[str] = [*sorted(used, key=lambda name: -used[name]), "input_dtype", "in_dtype", "dtype_of_input"]
    return next(name for name in names if name not in taken)
