"""Repairs of NRM201 to NRM206: a cast put in, taken out or moved, in the spelling that the text already uses."""

from __future__ import annotations

import ast

from normlint.fixes.casts_places import (
    Entry,
    at_the_call,
    cast_back,
    casting,
    entry_of,
    lacks,
    names_of,
    one_line,
    shared_casts,
)
from normlint.fixes.casts_words import (
    back,
    lines_above,
    raising,
    receiver,
    scope,
    upwards,
    without_cast,
    without_keyword,
)
from normlint.fixes.tree import Tree
from normlint.norm.norm import Computation
from normlint.text.finding import Applicability, Edit, Fix, Span

# --- NRM201, NRM206 ---


def upcast(several: tuple[Computation, ...], made: Span, tree: Tree) -> Fix | None:
    """The input in fp32 before it is squared, and the product cast back where nothing does it yet."""
    if any(c.statistic.spelled == "one-pass" or _in_its_own(tree, c) for c in several):
        return None  # first it must be centred; and what says its dtype takes that, whatever comes in
    up = upwards(tree)
    entry = entry_of(tree, several)
    edits = _entered(tree, several, made, entry, up) if entry else None
    if entry is None or not edits:
        return None
    return _upcast(tree, entry, up, edits)


def _in_its_own(tree: Tree, c: Computation) -> bool:
    call = tree.at(c.statistic.span, ast.Call)
    return call is not None and any(k.arg == "dtype" for k in call.keywords)


def _upcast(tree: Tree, entry: Entry, up: str, edits: tuple[Edit, ...]) -> Fix:
    said = raising(tree, entry.nodes[0], up)
    return Fix(f"Upcast before the square: `{said}`", edits, Applicability.SAFE)


def _entered(
    tree: Tree, several: tuple[Computation, ...], made: Span, entry: Entry, up: str
) -> tuple[Edit, ...] | None:
    lacking = [c for c in several if not c.output.wide and lacks(tree, c)]
    called = at_the_call(tree, entry, several, lacking, up)
    if called:
        return called
    top = None if any(c.output.wide and lacks(tree, c) for c in several) else one_line(tree, entry, made, up)
    backs = cast_back(tree, lacking, entry)
    lines = cast_back(tree, lacking, entry, top) if top else None
    shorter = len(entry.nodes) > 2 or not lacking or not backs or len(lines or ()) < len(entry.nodes) + len(backs)
    if lines and (shorter or up != raising(tree, entry.nodes[0], up)):
        return lines
    return casting(tree, entry, up) + backs if backs is not None else None


# --- NRM202 ---


def earlier(several: tuple[Computation, ...], made: Span, tree: Tree) -> Fix | None:
    """The upcast moved from behind the square to the input."""
    entry = entry_of(tree, several)
    if entry is None or not entry.nodes or any(c.statistic.spelled == "one-pass" for c in several):
        return None  # one pass must be centred first
    here = scope(tree, entry.nodes[0])
    gone: dict[Edit, None] = {}
    up = ""
    for c in several:
        late = tree.at(_late_span(c))
        taken = _late(tree, c, late)
        if taken is None or late is None:
            continue
        gone |= dict.fromkeys(taken[0])
        up = up or (taken[1] if scope(tree, late) is here else "")
    up = up or upwards(tree)
    top = None if any(c.output.wide and lacks(tree, c) for c in several) else one_line(tree, entry, made, up)
    put = (lines_above(tree, top.stmt, top.line),) if top else casting(tree, entry, up, gone)
    return _upcast(tree, entry, up, (*gone, *put)) if put else None


def _late_span(c: Computation) -> Span:
    """The late cast, or the reduction that casts what it is given."""
    inner = [s for f in c.statistic.inner.factors for s in f.steps]
    squared = max((n for n, s in enumerate(inner) if s.op == "square"), default=-1)
    shared = {s.span for s in shared_casts(c)}
    own = [s for s in (*inner[squared + 1 :], *c.trail) if s.op == "cast" and s.span not in shared]
    return next((s.span for s in own if s.dtype is not None and s.dtype.wide), c.statistic.span)


def _late(tree: Tree, c: Computation, node: ast.expr | None) -> tuple[tuple[Edit, ...], str] | None:
    """The edits that take the late cast away, and how it was spelled."""
    if not isinstance(node, ast.Call):
        return None
    if _late_span(c) != c.statistic.span:
        edits = without_cast(tree, node)
        return (edits, _suffix(tree, node)) if edits else None
    wide = next((k.value for k in node.keywords if k.arg == "dtype"), None)
    edits = without_keyword(tree, node, "dtype") if wide is not None else None
    return (edits, f".to({tree.source(wide)})") if edits and wide is not None else None


def _suffix(tree: Tree, call: ast.expr) -> str:
    """What stands behind the operand of a cast."""
    operand = receiver(tree, call) if isinstance(call, ast.Call) else None
    behind = tree.text[tree.with_parentheses(operand).end : tree.span(call).end] if operand is not None else ""
    return behind.lstrip(" \t\r\n\\")


# --- NRM203, NRM205 ---


def downcast(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """The output cast back to the dtype that came in."""
    edits = cast_back(tree, several)
    return Fix("Cast the output back to the input's dtype", edits, Applicability.SAFE) if edits else None


def widen(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The statistic left in fp32, and the product cast back where nothing does it yet."""
    edits = without_cast(tree, tree.at(span))
    backs = cast_back(tree, [c for c in several if lacks(tree, c)])
    if edits is None or backs is None or any(c.partial for c in several):
        return None
    return Fix("Leave the statistic in fp32 until the product", (*edits, *backs), Applicability.SAFE)


def follow(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """The product in the dtype that came in, whatever it was."""
    node = tree.at(span)
    operand = receiver(tree, node) if isinstance(node, ast.Call) else None
    if node is None or operand is None or not all(span in {s.span for s in shared_casts(c)} for c in several):
        return None
    found = back(tree, node, tuple(dict.fromkeys(name for c in several for name in names_of(c))))
    if found is None:
        return None
    line = (lines_above(tree, found.line_at, found.line),) if found.line_at else ()
    edit = Edit(Span(tree.with_parentheses(operand).end, tree.span(node).end), found.suffix)
    return Fix(f"Cast to the input's dtype: `{found.suffix}`", (*line, edit), Applicability.UNSAFE)
