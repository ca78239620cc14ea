"""Repairs of NRM201 to NRM206: a cast put in, taken out or moved, in the spelling that the text already uses."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from normlint.evaluate.monomial import Input, Param, Step
from normlint.norm.norm import Computation
from normlint.rules.repair.casts_edits import (
    asks,
    behind,
    lines_above,
    receiver,
    scope,
    without_cast,
    without_keyword,
)
from normlint.rules.repair.casts_entry import Entry, Top, casting, entry_of, one_line
from normlint.rules.repair.casts_words import Back, back, upwards
from normlint.rules.repair.tree import Tree
from normlint.text.finding import Applicability, Edit, Fix, Span

# --- what a computation says ---


def shared_casts(c: Computation) -> list[Step]:
    """Casts of the whole product, not of the statistic or the input alone."""
    inputs = {s.span for s in c.input_steps}
    return [s for s in c.trail if s.op == "cast" and s.span in inputs]


def _cast_back(c: Computation) -> bool:
    """The product is cast to something that isn't known to be wide."""
    casts = shared_casts(c)
    return bool(casts) and not (casts[-1].dtype is not None and casts[-1].dtype.wide)


def _names(c: Computation) -> tuple[str, ...]:
    return tuple(f.atom.name for f in c.input.factors if isinstance(f.atom, Input))


# --- NRM201, NRM206 ---


def upcast(several: tuple[Computation, ...], made: Span, tree: Tree) -> Fix | None:
    """The input in fp32 before it is squared, and the product cast back where nothing does it yet."""
    if any(c.statistic.spelled == "one-pass" for c in several):
        return None  # first it must be centred
    up = upwards(tree)
    entry = entry_of(tree, several)
    edits = _entered(tree, several, made, entry, up) if entry else None
    if not edits:
        return None
    return Fix(f"Upcast before the square: `{up}`", edits, Applicability.SAFE)


def _entered(
    tree: Tree, several: tuple[Computation, ...], made: Span, entry: Entry, up: str
) -> tuple[Edit, ...] | None:
    lacking = [c for c in several if not c.output.wide and not _cast_back(c) and not _cast_later(tree, c)]
    top = one_line(tree, entry, made, up)
    backs = cast_back(tree, lacking, entry)
    lines = cast_back(tree, lacking, entry, top) if top else None
    if lines and (len(entry.nodes) > 2 or not lacking or not backs or len(lines) < len(entry.nodes) + len(backs)):
        return lines
    return casting(tree, entry, up) + backs if backs is not None else None


def _cast_later(tree: Tree, c: Computation) -> bool:
    """A product that isn't given back, and whose name is cast further on."""
    node = tree.at(c.span)
    stmt = tree.statement(node) if node is not None and not c.returned else None
    if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
        return False
    function, name, end = scope(tree, stmt), stmt.targets[0].id, tree.span(stmt).end
    return function is not None and any(
        isinstance(n, ast.Call) and tree.span(n).start > end and asks(n) and _is_name(receiver(tree, n), name)
        for n in ast.walk(function)
    )


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def cast_back(
    tree: Tree, several: Iterable[Computation], entry: Entry | None = None, top: Top | None = None
) -> tuple[Edit, ...] | None:
    """Each of these products cast back where it is made or given back; None where it isn't clear to what.

    The lines that this takes are among the edits, and that of `top`.
    """
    wrapped: dict[ast.expr, tuple[Edit, ...]] = {}
    lines: dict[tuple[ast.stmt, str], None] = {}
    for c in several:
        node, found = _backwards(tree, c, entry, top) or (None, None)
        if found is None or node is None:
            return None
        wrapped[node] = behind(tree, node, found.suffix)
        lines |= {(found.line_at, found.line): None} if found.line_at else {}
    lines |= {(top.stmt, top.line): None} if top else {}
    places = dict.fromkeys(stmt for stmt, _ in lines)
    put = [lines_above(tree, place, *(line for stmt, line in lines if stmt is place)) for place in places]
    return (*put, *(edit for edits in wrapped.values() for edit in edits))


def _backwards(tree: Tree, c: Computation, entry: Entry | None, top: Top | None) -> tuple[ast.expr, Back] | None:
    """What is cast back and how: where it takes no line of its own, and in the function that makes the product."""
    if any(not isinstance(f.atom, Param) for f in (c.shift.factors if c.shift else ())):
        return None  # a residual joined: whose dtype counts isn't clear
    given, made = _exactly(tree, c.span), _exactly(tree, c.joined) if entry else None
    helper = made is not None and given is not None and scope(tree, made) is not scope(tree, given)
    if made is not None and not any(scope(tree, n) is scope(tree, made) for n in (entry.nodes if entry else [])):
        made = None  # what comes in there may be in fp32 already
    ways = [
        (node, found)
        for node in ((made, given) if helper else (given, made))
        if node is not None and (found := _to_input(tree, c, node, entry, top)) is not None
    ]
    return min(ways, key=lambda way: bool(way[1].line), default=None)


def _exactly(tree: Tree, span: Span) -> ast.expr | None:
    node = tree.at(span)
    return node if node is not None and span in (tree.with_parentheses(node), tree.span(node)) else None


def _to_input(tree: Tree, c: Computation, node: ast.expr, entry: Entry | None, top: Top | None) -> Back | None:
    function = scope(tree, node)
    if top is not None and top.function is function:
        return back(tree, node, (top.name,), rebound=top.stmt)
    local = [n for n in (entry.nodes if entry else []) if isinstance(n, ast.Name) and scope(tree, n) is function]
    found = [back(tree, node, (one.id,), since=tree.span(one).start) for one in local]
    found.append(back(tree, node, _names(c)))
    return min((one for one in found if one is not None), key=lambda one: bool(one.line), default=None)


# --- NRM202 ---


def earlier(several: tuple[Computation, ...], made: Span, tree: Tree) -> Fix | None:
    """The upcast moved from behind the square to the input."""
    entry = entry_of(tree, several)
    if entry is None:
        return None
    gone: dict[Edit, None] = {}
    up = ""
    for c in several:
        taken = _late(tree, c)
        if taken is None:
            continue
        gone |= dict.fromkeys(taken[0])
        up = up or taken[1]
    up = up or upwards(tree)
    top = one_line(tree, entry, made, up)
    put = (lines_above(tree, top.stmt, top.line),) if top else casting(tree, entry, up, gone)
    return Fix(f"Upcast before the square: `{up}`", (*gone, *put), Applicability.SAFE) if put else None


def _late(tree: Tree, c: Computation) -> tuple[tuple[Edit, ...], str] | None:
    """The edits that take the late cast away, and how it was spelled."""
    inner = [s for f in c.statistic.inner.factors for s in f.steps]
    squared = max((n for n, s in enumerate(inner) if s.op == "square"), default=-1)
    shared = {s.span for s in shared_casts(c)}
    own = [s for s in (*inner[squared + 1 :], *c.trail) if s.op == "cast" and s.span not in shared]
    late = next((s for s in own if s.dtype is not None and s.dtype.wide), None)
    if late is not None:
        node = tree.at(late.span)
        edits = without_cast(tree, node)
        return (edits, _suffix(tree, node)) if edits and node is not None else None
    call = tree.at(c.statistic.span)
    wide = next((k.value for k in call.keywords if k.arg == "dtype"), None) if isinstance(call, ast.Call) else None
    if wide is None or not isinstance(call, ast.Call):
        return None
    edits = without_keyword(tree, call, "dtype")
    return (edits, f".to({tree.source(wide)})") if edits else None


def _suffix(tree: Tree, call: ast.expr) -> str:
    """What stands behind the operand of a cast."""
    operand = receiver(tree, call) if isinstance(call, ast.Call) else None
    return tree.text[tree.with_parentheses(operand).end : tree.span(call).end] if operand is not None else ""


# --- NRM203, NRM205 ---


def downcast(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The output cast back to the dtype that came in."""
    edits = cast_back(tree, several)
    return Fix("Cast the output back to the input's dtype", edits, Applicability.SAFE) if edits else None


def widen(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The statistic left in fp32, and the product cast back where nothing does it yet."""
    edits = without_cast(tree, tree.at(span))
    backs = cast_back(tree, [c for c in several if not _cast_back(c)])
    if edits is None or backs is None or any(c.partial for c in several):
        return None
    return Fix("Leave the statistic in fp32 until the product", (*edits, *backs), Applicability.SAFE)


def follow(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The product in the dtype that came in, whatever it was."""
    node = tree.at(span)
    operand = receiver(tree, node) if isinstance(node, ast.Call) else None
    if node is None or operand is None or not all(span in {s.span for s in shared_casts(c)} for c in several):
        return None
    found = back(tree, node, tuple(dict.fromkeys(name for c in several for name in _names(c))))
    if found is None:
        return None
    line = (lines_above(tree, found.line_at, found.line),) if found.line_at else ()
    edit = Edit(Span(tree.with_parentheses(operand).end, tree.span(node).end), found.suffix)
    return Fix(f"Cast to the input's dtype: `{found.suffix}`", (*line, edit), Applicability.UNSAFE)
