"""Build fixes for statements with side effects: remove a print, and replace a change in place by a new tensor."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any, Final

import libcst as cst

from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import loads, stored
from normlint.fixes.spelling import PRODUCT, SUM, called, expression, tight
from normlint.fixes.tree import LOOKS, Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Norm
from normlint.text.finding import Applicability, Fix, Span
from normlint.text.operations import CLASSES

_ASKS: Final = frozenset(("print", "input", "setattr", "delattr", "exec", "eval", "open", "next"))
_PURE: Final = frozenset(vars(builtins)) - _ASKS
_PLACED: Final = frozenset(f"{word}_" for name in ("scaling", "power", "sum") for word in CLASSES[name].split())
_ARITHMETIC: Final = _PLACED | {"abs_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "exp_", "nan_to_num_", "neg_"}
_OPERATORS: Final[dict[Any, tuple[str, int]]] = {
    cst.AddAssign: ("+", SUM),
    cst.SubtractAssign: ("-", SUM),
    cst.MultiplyAssign: ("*", PRODUCT),
    cst.DivideAssign: ("/", PRODUCT),
}


def without_print(span: Span, tree: Tree) -> Fix | None:
    """Remove a call of print; a block that would be empty gets `pass`."""
    document = tree.document
    call = document.at(span, cst.Call)
    safety = _applicability(document, call) if call is not None else None
    stmt = document.parent(call)
    if safety is None or not isinstance(stmt, cst.Expr) or not isinstance(call.func, cst.Name):
        return None
    line = document.line(stmt)
    block = getattr(document.parent(line or stmt), "body", ())
    last = line is None or (len(line.body) == len(block) == 1)
    passed = {stmt: cst.Pass()} if last and not isinstance(document.parent(line or stmt), cst.Module) else None
    return Fix("Remove the print", document.edits(passed or document.gone(stmt)), safety)


def _applicability(document: Document, call: cst.Call) -> Applicability | None:
    """Return SAFE if the arguments of print have no side effects, UNSAFE if unknown, None if they have."""
    several = document.below(call, cst.Call | cst.NamedExpr | cst.Await | cst.Yield)
    inner = [node for node in several if node is not call]
    if any(not isinstance(node, cst.Call) or called(node).endswith("_") for node in inner):
        return None
    return Applicability.UNSAFE if any(_is_own(node.func) for node in inner) else Applicability.SAFE


def _is_own(func: cst.BaseExpression) -> bool:
    """Return whether the function may be the text's own, which may do anything."""
    if isinstance(func, cst.Attribute):
        return getattr(func.value, "value", "") in ("self", "cls")
    return isinstance(func, cst.Name) and func.value not in _PURE


def out_of_place(norm: Norm, span: Span, tree: Tree) -> Fix | None:
    """Replace a change in place by one on a new tensor, if the norm stays what it is."""
    return Trial(tree, norm, "NRM502").first(_ways(tree.document, span))


def _ways(document: Document, span: Span) -> Iterator[Change]:
    stmt, call = document.at(span, cst.AugAssign), document.at(span, cst.Call)
    node = stmt or call
    if node is None or document.span(node) != span or _relied_on(document, node):
        return
    if stmt is not None:
        yield from _augmented(document, stmt)
    elif called(call) in _ARITHMETIC and isinstance(call.func, cst.Attribute):
        name = call.func.value
        own = not isinstance(name, cst.Name) or stored(document, document.scope(call), name.value)
        yield from _of_call(document, call, name) if own else ()


def _augmented(document: Document, stmt: cst.AugAssign) -> Iterator[Change]:
    """Turn `x *= r` into `x = x * r`."""
    sign, level = _OPERATORS.get(type(stmt.operator), ("", 0))
    name = stmt.target
    if sign and isinstance(name, cst.Name | cst.Attribute):
        new = expression(f"{{x}} {sign} {{v}}", x=name, v=tight(stmt.value, level + 1))
        for whole in (new, _cast_back(document, name, new)):
            made = cst.Assign([cst.AssignTarget(name)], whole, semicolon=stmt.semicolon)
            source = document.source(name)
            yield f"Make a new tensor: `{source} = {source} {sign} …`", {stmt: made}


def _cast_back(document: Document, name: cst.BaseExpression, value: cst.BaseExpression) -> cst.BaseExpression:
    """Cast the value to the tensor's dtype, as an operation in place does."""
    by_tensor = ".type_as(" in document.text and ".to(" not in document.text
    return expression("{v}.type_as({x})" if by_tensor else "{v}.to({x}.dtype)", v=tight(value), x=name)


def _of_call(document: Document, call: cst.Call, name: cst.BaseExpression) -> Iterator[Change]:
    """Turn `x.mul_(r)` into `x.mul(r)`, and bind the result to the name where that is needed."""
    plain, stmt = called(call).rstrip("_"), document.around(call, cst.BaseSmallStatement)
    new = call.with_changes(func=call.func.with_changes(attr=cst.Name(plain)))
    message, target = f"Make a new tensor: `{plain}` for `{plain}_`", cst.AssignTarget(name)  # type: ignore[arg-type]
    back = _cast_back(document, name, new)
    bound_again = isinstance(stmt, cst.Assign) and stmt.targets[0].target.deep_equals(name)
    if isinstance(stmt, cst.Expr):
        for change in (new, back) if _heads(call, stmt.value) else ():
            whole: Changes = {stmt: lambda now: cst.Assign([target], now.value, semicolon=now.semicolon), call: change}
            yield message if change is not new else f"Make a new tensor: `{document.source(name)} = …`", whole
    elif bound_again or not _read_later(document, stmt, name):
        yield message, {n.func: new.func for n in document.below(stmt, cst.Call) if n.deep_equals(call)}
        yield message, {call: back}
    elif isinstance(stmt, cst.Assign) and stmt.value is call:
        yield message, {stmt: stmt.with_changes(targets=[*stmt.targets, target], value=new)}


def _heads(call: cst.Call, whole: cst.CSTNode) -> bool:
    """Return whether the call is the whole expression or starts a chain of method calls."""
    while whole is not call and isinstance(whole, cst.Call) and isinstance(whole.func, cst.Attribute):
        whole = whole.func.value
    return whole is call and isinstance(getattr(call.func, "value", None), cst.Name | cst.Attribute)


def _relied_on(document: Document, node: cst.CSTNode) -> bool:
    """Return whether a caller drops the result, and so relies on the change in place."""
    function = document.around(node, cst.FunctionDef)
    name = function.name.value if function is not None else ""
    return any(called(stmt.value) == name for stmt in (document.everywhere(cst.Expr, name) if name else ()))


def _read_later(document: Document, stmt: cst.CSTNode, name: cst.BaseExpression) -> bool:
    """Return whether the name is read after the statement for more than its dtype or shape."""
    if not isinstance(name, cst.Name):
        return False
    later: Sequence[cst.Name] = loads(document, name.value, document.scope(stmt))
    end = document.span(stmt).end
    holders = [document.parent(n) for n in later if document.span(n).start >= end]
    return any(called(h) != "type_as" and not (isinstance(h, cst.Attribute) and h.attr.value in LOOKS) for h in holders)
