"""Changes of the input in place, made on a new tensor instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from normlint.fixes.tree import PRODUCT, SUM, Tree, binding
from normlint.fixes.trial import Candidate, Trial
from normlint.fixes.work import walk
from normlint.norm.norm import Norm
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass

_ARITHMETIC: Final = frozenset(
    (
        "abs_ add_ addcdiv_ addcmul_ clamp_ clamp_max_ clamp_min_ clip_ div_ divide_ exp_ float_power_ mul_ multiply_ "
        "nan_to_num_ neg_ pow_ reciprocal_ rsqrt_ sqrt_ square_ sub_ subtract_ true_divide_"
    ).split()
)
_OPERATORS: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
}
_LOOKS: Final = ("dtype", "device", "shape", "size", "dim", "ndim", "numel", "is_cuda", "requires_grad")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a tensor is changed: the statement, the name that holds it, and its scope."""

    stmt: ast.stmt
    target: ast.expr
    scope: ast.AST


def out_of_place(norm: Norm, spans: tuple[Span, ...], tree: Tree) -> Fix | None:
    """The first of the changes, or all of them, on a tensor of their own, so that the norm stays what it is."""
    return Trial(tree, norm, "NRM502").first(_candidates(tree, spans), Applicability.SAFE)


def _candidates(tree: Tree, spans: tuple[Span, ...]) -> Iterator[Candidate]:
    """Each way for the first change; then the same way for all."""
    several = [list(_ways(tree, span)) for span in spans]
    yield from several[0]
    for ways in zip(*several, strict=False) if len(several) > 1 else ():
        edits = dict.fromkeys(edit for _, some in ways for edit in some)
        yield ways[0][0], tuple(edits)


def _ways(tree: Tree, span: Span) -> Iterator[Candidate]:
    augmented = tree.at(span, ast.AugAssign)
    call = tree.at(span, ast.Call)
    if augmented is not None and tree.span(augmented) == span:
        yield from _augmented(tree, augmented)
    elif call is not None and tree.span(call) == span and _place(tree, call) is not None:
        yield from _called(tree, call)


# --- x *= r ----------------------------------------------------------------------------------------------------------


def _augmented(tree: Tree, stmt: ast.AugAssign) -> Iterator[Candidate]:
    found = _OPERATORS.get(type(stmt.op))
    if found is None or not isinstance(stmt.target, ast.Name | ast.Attribute) or _meant(tree, stmt):
        return
    sign, level = found
    name = tree.source(stmt.target)
    value = tree.with_parentheses(stmt.value)
    bare = value == tree.span(stmt.value)
    left, right = ("(", ")") if bare and binding(stmt.value) <= level else ("", "")
    between = Span(tree.span(stmt.target).end, value.start)
    message = f"Make a new tensor: `{name} = {name} {sign} …`"
    for back in ("", *_backs(tree, name)):
        opened, closed = ("(", f"){back}") if back else ("", "")
        edits = [Edit(between, f" = {opened}{name} {sign} {left}")]
        if right + closed:
            edits.append(Edit(Span(value.end, value.end), right + closed))
        yield message, tuple(edits)


def _backs(tree: Tree, name: str) -> tuple[str, ...]:
    """A cast to what the tensor was, as an in-place operation makes it."""
    usual = (f".to({name}.dtype)", f".type_as({name})")
    return usual[::-1] if ".type_as(" in tree.text and ".to(" not in tree.text else usual


# --- x.mul_(r) -------------------------------------------------------------------------------------------------------


def _called(tree: Tree, call: ast.Call) -> Iterator[Candidate]:
    place = _place(tree, call)
    renamed = _renamed(tree, call)
    if place is None or not renamed:
        return
    stmt, name = place.stmt, tree.source(place.target)
    message = f"Make a new tensor: `{_plain(call)}` for `{_plain(call)}_`"
    if isinstance(stmt, ast.Expr):
        if _chained(call, stmt.value):
            start = tree.span(stmt).start
            rebound = Edit(Span(start, start), f"{name} = ")
            yield f"Make a new tensor: `{name} = {name}.{_plain(call)}(…)`", (rebound, *renamed)
            end = tree.span(call).end
            for back in _backs(tree, name):
                yield message, (rebound, *renamed, Edit(Span(end, end), back))
        return
    if not _read_later(tree, place):
        yield message, renamed
        yield message, (*_repeated(tree, place, call),)
    yield from _kept(tree, place, call, renamed, message)
    end = tree.span(call).end
    for back in _backs(tree, name):
        yield message, (*renamed, Edit(Span(end, end), back))


def _kept(tree: Tree, place: _Place, call: ast.Call, renamed: tuple[Edit, ...], message: str) -> Iterator[Candidate]:
    """The name goes on to stand for what was changed."""
    stmt, name = place.stmt, tree.source(place.target)
    if isinstance(stmt, ast.Assign) and tree.source(stmt.targets[0]) == name:
        yield message, renamed
        return
    if isinstance(stmt, ast.Assign) and stmt.value is call and call.func.value is place.target:  # type: ignore[attr-defined]
        start = tree.span(call).start
        yield message, (Edit(Span(start, start), f"{name} = "), *renamed)
    elif not isinstance(stmt, ast.AugAssign | ast.AnnAssign) and _starts_line(tree, stmt):
        text = _text_of(tree, call, renamed)
        yield message, (tree.line_before(stmt, f"{name} = {text}"), tree.replace(call, name))


def _text_of(tree: Tree, call: ast.Call, renamed: tuple[Edit, ...]) -> str:
    start, end = tree.span(call)
    out, at = "", start
    for edit in renamed:
        out, at = out + tree.text[at : edit.span.start] + edit.text, edit.span.end
    return out + tree.text[at:end]


def _renamed(tree: Tree, call: ast.Call) -> tuple[Edit, ...]:
    """`mul_` becomes `mul`."""
    if not isinstance(call.func, ast.Attribute):
        return ()
    end = tree.span(call.func).end
    return (Edit(Span(end - 1, end), ""),)


def _repeated(tree: Tree, place: _Place, call: ast.Call) -> Iterator[Edit]:
    """The same call wherever it stands in the statement."""
    written = tree.source(call)
    for node in walk(place.stmt):
        if isinstance(node, ast.Call) and tree.source(node) == written:
            yield from _renamed(tree, node)


def _plain(call: ast.Call) -> str:
    return call.func.attr.rstrip("_") if isinstance(call.func, ast.Attribute) else ""


def _chained(call: ast.Call, whole: ast.expr) -> bool:
    """The call is the whole expression, or the head of a chain of calls on its result."""
    here: ast.expr = whole
    while here is not call:
        if not (isinstance(here, ast.Call) and isinstance(here.func, ast.Attribute)):
            return False
        here = here.func.value
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name | ast.Attribute)


# --- where -----------------------------------------------------------------------------------------------------------


def _place(tree: Tree, call: ast.Call) -> _Place | None:
    stmt = tree.statement(call)
    if stmt is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in _ARITHMETIC:
        return None
    target = call.func.value
    scope = tree.function(call) or tree.root
    held = not isinstance(target, ast.Name) or _bound(scope, target.id)
    return None if _meant(tree, stmt) or not held else _Place(stmt, target, scope)


def _bound(scope: ast.AST, name: str) -> bool:
    """The scope itself binds the name, so that it may bind it anew."""
    names = (n for n in walk(scope) if isinstance(n, ast.arg | ast.Name))
    return any(n.arg == name if isinstance(n, ast.arg) else _stores(n, name) for n in names)


def _stores(node: ast.Name, name: str) -> bool:
    return node.id == name and isinstance(node.ctx, ast.Store)


def _meant(tree: Tree, stmt: ast.stmt) -> bool:
    """Whoever wrote it says that it is done in place: `rms_norm_`, `if inplace:`, or a caller that drops the result."""
    function = tree.function(stmt)
    if function is None:
        return False
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    flagged = any("inplace" in a.arg.replace("_", "") for a in arguments)
    return (
        (function.name.endswith("_") and not function.name.endswith("__")) or flagged or _dropped(tree, function.name)
    )


def _dropped(tree: Tree, name: str) -> bool:
    calls = (n.value.func for n in walk(tree.root) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
    return any(name == (f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) for f in calls)


def _read_later(tree: Tree, place: _Place) -> bool:
    """The name is read behind the statement, for more than its dtype or shape."""
    end = tree.span(place.stmt).end
    if not isinstance(place.target, ast.Name):
        return False
    reads = (n for n in walk(place.scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return any(n.id == place.target.id and tree.span(n).start >= end and not _looks(tree, n) for n in reads)


def _looks(tree: Tree, node: ast.Name) -> bool:
    holder = tree.parent(node)
    if isinstance(holder, ast.Attribute):
        return holder.attr in _LOOKS
    return isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr == "type_as"


def _starts_line(tree: Tree, stmt: ast.stmt) -> bool:
    start = tree.span(stmt).start
    return not tree.text[tree.text.rfind("\n", 0, start) + 1 : start].strip()
