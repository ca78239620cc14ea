"""Write casts up to fp32 and back in the text's own spelling, append them to expressions, and remove them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from functools import partial
from itertools import chain, count
from typing import Any, Final

import libcst as cst

from normlint.fixes.calls import Scope, parameters
from normlint.fixes.document import Changes, Document, in_front
from normlint.fixes.flow import given, names_in, single_targets, stored
from normlint.fixes.roots import in_place_of
from normlint.fixes.spelling import expression, tight
from normlint.fixes.tree import Tree, spelled
from normlint.norm.kept import CALL, took
from normlint.text.frozen import dataclass

_NAME: Final = "\0"  # stands for the tensor in a cast that reads its dtype
_DOUBLES: Final = frozenset(("float64", "double"))
_PROMOTES: Final = frozenset(("gradcheck", "gradgradcheck", "promote_types"))  # a text with these words keeps fp64
_UP: Final = re.compile(r"\.(?:float\(\)|(?:to|type)\((?:dtype\s*=\s*)?(\w+)\.float(?:32)?\))")
_SAVED: Final = re.compile(r"^[ \t]*(\w*dtype\w*) = \w+\.dtype[ \t]*$", re.MULTILINE)


def cast(value: cst.BaseExpression, suffix: str) -> cst.BaseExpression:
    """Append a suffix such as `.float()` to the expression."""
    return expression("{v}" + suffix, v=tight(value)) if suffix else value


def behind(node: cst.BaseExpression, suffix: str) -> Changes:
    """Append the suffix to the node, in parentheses where it would bind to a part of it."""
    return {node: lambda now: cast(now, suffix)}


def receiver(document: Document, node: cst.CSTNode | None) -> Any:
    """Return the tensor that a method is called on; None for a function."""
    func = node.func if isinstance(node, cst.Call) else None
    return func.value if isinstance(func, cst.Attribute) and not document.is_module(func.value) else None


def without_cast(document: Document, call: cst.BaseExpression | None) -> Changes | None:
    """Remove a cast, or its statement if that does nothing else; None if it isn't clear how."""
    operand, stmt = receiver(document, call), document.parent(call)
    if call is None or operand is None:
        return None
    alone = isinstance(stmt, cst.Assign) and stmt.targets[-1].target.deep_equals(operand)
    return document.gone(stmt) if alone else {call: lambda now: in_place_of(document, call, now.func.value)}


def scope(document: Document, node: cst.CSTNode | None) -> Any:
    """Return the innermost function or lambda around the node."""
    return document.around(node, cst.FunctionDef | cst.Lambda)


def bound(document: Document, function: Scope, name: str) -> list[int]:
    """Return where the function itself binds a name; a change in place doesn't count."""
    kinds = cst.FunctionDef | cst.Lambda | cst.ClassDef
    names = stored(document, function.body, name)
    return [document.span(n).start for n in names if document.around(n, kinds) is function]


def written_above(lines: Collection[tuple[cst.CSTNode, str]]) -> Changes:
    """Insert new lines in front of their statements, and of the comments directly above those."""
    own = {place: [cst.parse_statement(line) for stmt, line in lines if stmt is place] for place, _ in lines}
    return {place: partial(in_front, several) for place, several in own.items()}


def usual_upcast(tree: Tree) -> str:
    """Return the text's usual cast to fp32, else `.float()`; in a text with fp64, one for `raising` to adapt."""
    found = Counter(m[0] for m in _UP.finditer(tree.text) if m[1] is None or m[1] in tree.imported)
    promote, single = (spelled(tree, f"torch.{name}") for name in ("promote_types", "float32"))
    if promote and single and (_PROMOTES & tree.words or (_DOUBLES & tree.words and not found)):
        return f".to({promote}({_NAME}.dtype, {single}))"
    return max(found, key=lambda up: found[up], default=".float()")


def raising(document: Document, node: cst.BaseExpression, up: str) -> str:
    """Return the cast `up` in the form to append to this node."""
    names = [node] if isinstance(node, cst.Attribute) else names_in(document, node)
    name = next((n for n in names if not document.is_module(n) and document.source(n) != "self"), None)
    if _NAME not in up or name is None:
        return up if _NAME not in up else ".float()"
    return up.replace(_NAME, document.source(name))


@dataclass(frozen=True, slots=True)
class Back:
    """A cast back as a suffix, and the line that it needs in front of `line_at`."""

    suffix: str
    line: str = ""
    line_at: cst.CSTNode | None = None


def back(document: Document, node: cst.BaseExpression, names: tuple[str, ...], *, since: int = 0) -> Back | None:
    """Return a cast of what `node` computes to the dtype of the input, which is called one of `names`.

    `since`: a name that is bound anew behind this place may have another dtype.
    """
    took(CALL)
    function, until = scope(document, node), document.span(node).start
    if function is None:
        return None
    kept = _saved(document, function, until, names)
    if kept:
        return Back(f".to({kept})")
    stmt = document.around(node, cst.BaseSmallStatement | cst.BaseCompoundStatement)
    start, end = document.span(stmt) if stmt is not None else (0, 0)  # its value is computed before it binds a name
    places = {name: bound(document, function, name) for name in names}
    own, by_dtype = parameters(function), ".dtype)" in document.text and ".type_as(" not in document.text
    for name in (name for name in names if name in own or places[name]):
        if not any(since <= at < until and not start <= at < end for at in places[name]):
            return Back(f".to({name}.dtype)" if by_dtype else f".type_as({name})")
    place, name = _statement_behind_docstring(function), next((name for name in own if name in names), "")
    if place is None or not name or _made_tensor(document, function, name):
        return None
    fresh = _unused_dtype_name(document, function, name)
    return Back(f".to({fresh})", f"{fresh} = {name}.dtype", place)


def _saved(document: Document, function: Scope, until: int, names: tuple[str, ...]) -> str:
    """Return the only name that stores the input's dtype in the function, not under a condition; else nothing."""
    others = {"", *parameters(function)}.difference(names)
    targets = [t for stmt in document.below(function, cst.Assign) for t in single_targets(stmt)]
    kept = [t for t in targets if not others.issuperset(map(dtype_of, given(document, t)))]
    sole = kept[0] if len(kept) == 1 and isinstance(kept[0], cst.Name) else None
    if sole is None or document.span(sole).end > until or len(bound(document, function, sole.value)) > 1:
        return ""
    return "" if document.around(sole, cst.If | cst.For | cst.While | cst.Try) else sole.value


def dtype_of(node: cst.CSTNode | None) -> str:
    """Return the name of the tensor whose dtype is read, or nothing."""
    read = isinstance(node, cst.Attribute) and node.attr.value == "dtype" and isinstance(node.value, cst.Name)
    return node.value.value if read else ""  # type: ignore[union-attr]


def _made_tensor(document: Document, function: Scope, name: str) -> bool:
    """Return whether the parameter may be no tensor yet when it comes in, as in `x = torch.as_tensor(x)`."""
    values = [value for n in stored(document, function.body, name)[:1] for value in given(document, n)]
    calls = (value for value in values if isinstance(value, cst.Call) and document.is_module(value.func))
    return any(isinstance(a.value, cst.Name) and a.value.value == name for call in calls for a in call.args)


def _statement_behind_docstring(function: Scope) -> cst.CSTNode | None:
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        return None
    body = function.body.body
    has_docstring = function.get_docstring(clean=False) is not None
    return body[1] if has_docstring and len(body) > 1 else body[0]


def _unused_dtype_name(document: Document, function: Scope, of: str) -> str:
    taken = {n.value for n in document.below(function, cst.Name)}
    names: list[str] = [*_SAVED.findall(document.text), "input_dtype", f"{of}_dtype"]
    return next(name for name in chain(names, (f"{of}_dtype{n}" for n in count(2))) if name not in taken)
