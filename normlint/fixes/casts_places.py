"""Where casts stand: at what is squared, in one line in front, around what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

import libcst as cst

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Centred, Input, Param, Stat, Step
from normlint.fixes.calls import operand_of
from normlint.fixes.casts_words import (
    Back,
    back,
    behind,
    bound,
    cast,
    dtype_of,
    raising,
    receiver,
    scope,
    written_above,
)
from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import loads_after, sole_reader, targets_of
from normlint.fixes.powers import in_place_of
from normlint.fixes.spelling import called, expression, last_name, operands, operation
from normlint.norm.norm import Computation
from normlint.text.finding import Span
from normlint.text.frozen import dataclass

# --- what is cast ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Entry:
    """The places where the input must be cast before it is reduced: operands, and products of two equal names."""

    operands: list[cst.BaseExpression] = field(default_factory=list)
    twice: list[cst.BinaryOperation] = field(default_factory=list)

    @property
    def nodes(self) -> list[cst.BaseExpression]:
        """What is cast at each of them."""
        return [*self.operands, *(product.left for product in self.twice)]


def entry_of(document: Document, several: Iterable[Computation]) -> Entry:
    """The places for these computations, as far as they are found."""
    found, seen = Entry(), set[Span]()
    for c in several:
        for stat in _spans(c):
            if stat not in seen:
                _enter(document, found, c, stat)
            seen.add(stat)
    names = {node.value for node in found.nodes if isinstance(node, cst.Name)}
    found.operands += dict.fromkeys(node for c in several for node in _scaled_first(document, c, names))
    return found


def _scaled_first(document: Document, c: Computation, names: set[str]) -> Iterator[cst.Name]:
    """Where the input meets the gain before the statistic: in halves this product may overflow, too."""
    gains = {gain.param.name.rpartition(".")[2] for gain in c.gains}
    made = document.at(c.joined)
    for node in document.below(made, cst.BinaryOperation | cst.Call):
        one, other = (operands(node) if operation(node) == "mul" else ()) or (node, node)
        for tensor, gain in ((one, other), (other, one)):
            if isinstance(tensor, cst.Name) and tensor.value in names and last_name(gain) in gains:
                yield tensor


def _spans(c: Computation) -> list[Span]:
    """What the centres and the statistic are taken of, as far as the one doesn't come from the other."""
    spans = [s.inner_span for s in _centres(c) if not s.accumulate.wide]
    own = [f.atom for f in c.statistic.inner.factors if isinstance(f.atom, Centred)]
    if not any(a.stat.span != c.statistic.span for a in own):
        spans.append(max(_squares(c), key=lambda s: s.end, default=c.statistic.inner_span))
    return spans


def _squares(c: Computation) -> set[Span]:
    return {s.span for f in c.statistic.inner.factors for s in f.steps if s.op == "square"}


def _centres(c: Computation) -> list[Stat]:
    """The means that are subtracted, where they are reductions of their own."""
    inner = [f.atom.stat for f in c.statistic.inner.factors if isinstance(f.atom, Centred)]
    found = {s.span: s for s in (*inner, *([c.centre] if c.centre else []))}
    return [s for s in found.values() if s.span != c.statistic.span]


def _enter(document: Document, found: Entry, c: Computation, span: Span) -> None:
    node = document.at(span)
    if called(node) in ("einsum", "vecdot"):
        several = [a.value for a in node.args if not a.star]  # all in one dtype, or torch refuses
        found.operands += [one for one in several if not isinstance(one, cst.BaseString | cst.BaseNumber)]
    elif span not in _squares(c):
        found.operands += [node] if node is not None else []
    elif isinstance(node, cst.BinaryOperation):
        twice = isinstance(node.left, cst.Name) and node.left.deep_equals(node.right)
        found.twice += [node] if twice else []
        found.operands += [] if twice else [node.left]
    elif isinstance(node, cst.Call) and (operand := operand_of(document, node)) is not None:
        found.operands.append(operand)


def casting(document: Document, entry: Entry, up: str) -> Changes:
    """The input cast at each of these places."""
    changes = Changes()
    for node in entry.operands:
        changes |= behind(node, raising(document, node, up))
    for product in entry.twice:
        changes[product] = expression("{x}.pow(2)", x=cast(product.left, raising(document, product.left, up)))
    return changes


# --- does the product lack a cast? -----------------------------------------------------------------------------------


def shared_casts(c: Computation) -> list[Step]:
    """Casts of the whole product, not of the statistic or the input alone."""
    inputs = {s.span for s in c.input_steps}
    return [s for s in c.trail if s.op == "cast" and s.span in inputs]


def inputs_of(c: Computation) -> tuple[str, ...]:
    """What the input is called where it comes in."""
    return tuple(f.atom.name for f in c.input.factors if isinstance(f.atom, Input))


def lacks(document: Document, c: Computation) -> bool:
    """With its statistic in fp32 the product would be, too, in a module of halves: nothing casts it back."""
    casts = shared_casts(c)
    back_again = bool(casts) and not (casts[-1].dtype is not None and casts[-1].dtype.wide)
    return c.gain_may_be_half and not back_again and not _compared(document, c)


def _compared(document: Document, c: Computation) -> bool:
    """The text looks whether the product has the dtype that came in, and casts it where it hasn't; not in an assert."""
    nodes = [document.at(span) for span in (c.joined, c.span)]
    several = [*nodes, *(one for node in nodes for one in targets_of(document.around(node, cst.Assign)))]
    names = {n.value for n in several if isinstance(n, cst.Name)}
    tests = document.below(document.scope(nodes[0]), cst.Comparison) if names else []
    tests = [test for test in tests if document.around(test, cst.Assert) is None]
    sides = (side for test in tests for side in (test.left, *(t.comparator for t in test.comparisons)))
    return any(dtype_of(side) in names for side in sides)


# --- back ------------------------------------------------------------------------------------------------------------


def cast_back(document: Document, several: Iterable[Computation], entry: Entry | None = None) -> Changes | None:
    """Each of these products cast back where it is made or given back; None where it isn't clear to what.

    The lines that this takes are among the changes.
    """
    changes, lines = Changes(), dict[tuple[cst.CSTNode, str], None]()
    ways = [(c, _backwards(document, c, entry)) for c in several]
    made = {c.joined: way for c, way in ways if way is not None and document.span(way[0]).end <= c.joined.end}
    for c, its_own in ways:
        way = made.get(c.joined, its_own)  # what is cast where it is made is cast on every path
        if way is None:
            return None
        node, found = way
        for one in _tensors(node):
            changes |= _cast(document, c, one, found.suffix)
        lines |= {(found.line_at, found.line): None} if found.line_at is not None else {}
    return changes | written_above(lines)


def _cast(document: Document, c: Computation, node: cst.BaseExpression, suffix: str) -> Changes:
    """The node cast back; in place of a cast to fp32 that is its last step."""
    dtypes = {step.span: step.dtype for step in shared_casts(c)}
    dtype = dtypes.get(document.span(node))
    operand = receiver(document, node) if dtype is not None and dtype.wide else None
    own = isinstance(node, cst.Name) and suffix in (f".type_as({node.value})", f".to({node.value}.dtype)")
    if own or isinstance(document.parent(node), cst.Expr):
        return {}  # changed in place, it has kept its dtype
    if operand is None:
        first = _begins_with(node, _gains(c))
        return {node: lambda now: _but_for_first(now, suffix)} if first else behind(node, suffix)
    if dtypes.get(document.span(operand)) is DType.INPUT:
        return {node: lambda now: in_place_of(document, node, now.func.value)}
    return {node: lambda now: cast(now.func.value, suffix)}


def _begins_with(node: cst.BaseExpression, names: set[str]) -> bool:
    """`weight * x * y` and `weight * x / y`: parameters in fp32 promote it, as they do behind a cast back."""
    first, others = _factors_of(node)
    return bool(others) and isinstance(others[0][0], cst.Multiply) and last_name(first) in names


def _but_for_first(now: Any, suffix: str) -> Any:
    """`weight * (x * y).to(…)`."""
    first, ((by, value), *others) = _factors_of(now)
    for operator, factor in others:
        value = cst.BinaryOperation(value, operator, factor)
    return now.with_changes(left=first, operator=by, right=cast(value, suffix))


def _factors_of(node: Any) -> tuple[Any, list[tuple[cst.BaseBinaryOp, Any]]]:
    """The first factor of `a * b / c`, and the others with what stands in front of them."""
    others: list[tuple[cst.BaseBinaryOp, Any]] = []
    while isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply | cst.Divide):
        if others and node.lpar:
            break
        others.append((node.operator, node.right))
        node = node.left
    return node, others[::-1]


def _tensors(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What is cast of `y`, and of `(y, None) if more else y`."""
    branches = [node.body, node.orelse] if isinstance(node, cst.IfExp) else [node]
    several = [e.value for one in branches if isinstance(one, cst.Tuple) for e in one.elements]
    plain = [one for one in branches if not isinstance(one, cst.Tuple)]
    return [*plain, *(e for e in several if any(e.deep_equals(one) for one in plain))] if several else [node]


def _backwards(document: Document, c: Computation, entry: Entry | None) -> tuple[cst.BaseExpression, Back] | None:
    """What is cast back and how: in the function that makes the product, and where it takes no line of its own."""
    given, made = _exactly(document, c.span), _exactly(document, c.joined)
    helper = made is not None and given is not None and scope(document, made) is not scope(document, given)
    later = _gained_later(document, c, made, given)
    if made is not None and not (
        _half_there(document, c, made, entry) or (later and entry is None and _is_last(document, c, made))
    ):
        made = None
    joined = [f.atom for f in c.shift.factors] if c.shift else []
    mixed = made is not None and any(not isinstance(a, Input | Param) for a in c.others)
    if mixed or any(not isinstance(a, Param) for a in joined):
        given = None  # another tensor or a residual joined: whose dtype counts isn't clear
    first = helper or _given_back_twice(document, made, given) or later
    ways = [
        (_but_for_gain(document, c, node), found)
        for node in ((made, given) if first else (given, made))
        if node is not None and (found := _cast_to_input(document, c, node, entry)) is not None
    ]
    return min(ways, key=lambda way: bool(way[1].line) and not helper, default=None)


def _gained_later(document: Document, c: Computation, made: Any, given: Any) -> bool:
    """The gains join behind the product, in other words than `weight * y`, which parameters in fp32 promote."""
    stmt = document.parent(made) if made is not given else None
    if given is None or not isinstance(stmt, cst.Assign) or _but_for_gain(document, c, given) is not given:
        return False
    return bool(names := _gains(c)) and names.isdisjoint(_last_names(document, made))


def _last_names(document: Document, node: cst.CSTNode) -> set[str]:
    return {last_name(n) for n in document.below(node, cst.Attribute | cst.Name)}


def _is_last(document: Document, c: Computation, made: cst.BaseExpression) -> bool:
    """Is fp32 nobody's but the gain's, and nothing behind the product cast to it, as a gain that comes in may be?"""
    own = all(g.param.role == "parameter" and g.cast is None for g in c.gains)
    reader = sole_reader(document, document.around(made, cst.Assign))
    gained = reader is not None and not _gains(c).isdisjoint(_last_names(document, reader))
    return own and gained and all(s.span.end <= c.joined.end for s in shared_casts(c))


def _given_back_twice(document: Document, made: Any, given: Any) -> bool:
    """What the name of the product stands for is given back in more than one way: it is cast once, where it is made."""
    stmt, home = document.around(made, cst.Assign), document.around(given, cst.Return)
    if home is None or stmt is None:
        return False
    returns = [document.around(node, cst.Return) for node in loads_after(document, stmt)]
    return any(one not in (None, home) for one in returns) or (len(returns) > 1 and isinstance(given, cst.IfExp))


def _half_there(document: Document, c: Computation, made: cst.BaseExpression, entry: Entry | None) -> bool:
    """What comes in where the product is made has the dtype that the caller's input has, unlike the statistic."""
    if entry is not None:
        return any(scope(document, n) is scope(document, made) for n in entry.nodes)
    wide = c.widened is not None or c.statistic.square.wide or c.statistic.accumulate.wide
    return wide and not any(s.op == "cast" and s.dtype is not None and s.dtype.wide for s in c.input_steps)


def _gains(c: Computation) -> set[str]:
    """What its gains are called, as far as they are multiplied as they are."""
    return {g.param.name.rpartition(".")[2] for g in c.gains if g.offset is None}


def _but_for_gain(document: Document, c: Computation, node: cst.BaseExpression) -> cst.BaseExpression:
    """Of `weight * y + bias` only y: parameters in fp32 may promote it, as in LLaMA."""
    gains = _gains(c) | {a.name for a in c.others if isinstance(a, Input)}
    factors = c.shift.factors if c.shift else ()
    shifts = {f.atom.name.rpartition(".")[2] for f in factors if isinstance(f.atom, Param)}
    for operator, names in ((cst.Add, shifts), (cst.Multiply, gains)):
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, operator):
            node = _but_for(document, node, names)
    return node


def _but_for(document: Document, node: cst.BinaryOperation, names: set[str]) -> cst.BaseExpression:
    """The side that stands beside one of these parameters; the node itself where neither does."""
    function = scope(document, node)
    for one, other in ((node.left, node.right), (node.right, node.left)):
        local = isinstance(one, cst.Name) and function is not None and bound(document, function, one.value)
        if last_name(one) in names and not local:
            return other
    return node


def _exactly(document: Document, span: Span) -> cst.BaseExpression | None:
    """The expression that is all of the span, with its parentheses or without."""
    node = document.at(span)
    return node if node is not None and span in (document.span(node), document.outer(node)) else None


def _cast_to_input(document: Document, c: Computation, node: cst.BaseExpression, entry: Entry | None) -> Back | None:
    """How to cast a result back: to the dtype of the nearest name that still holds an input; None if there is none."""
    function = scope(document, node)
    local = [n for n in (entry.nodes if entry else []) if isinstance(n, cst.Name) and scope(document, n) is function]
    found = [back(document, node, (one.value,), since=_line_of(document, one)) for one in local]
    found.append(back(document, node, inputs_of(c)))
    return min((one for one in found if one is not None), key=lambda one: bool(one.line), default=None)


def _line_of(document: Document, node: cst.BaseExpression) -> int:
    """Where its statement starts, which may bind the name anew: `k = k * k.square()`."""
    stmt = document.around(node, cst.BaseSmallStatement | cst.BaseCompoundStatement)
    return document.span(stmt if stmt is not None else node).start
