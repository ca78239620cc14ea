"""Repairs of NRM404: the mean subtracted on both sides, or, in an RMS norm, on neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import assignments, carried, definitions, loads, names_in, names_of, products, reads
from normlint.fixes.formula import Change, tried
from normlint.fixes.formula_means import averaged, by_method, holds_mean, known_means, sides
from normlint.fixes.powers import in_place_of
from normlint.fixes.spelling import SUM, Style, called, expression, instead, number, stripped, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Fix

_CENTRES: Final = 3
_INPUT: Final = cst.Name | cst.Call | cst.Subscript


def centre(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Subtract the mean where it is missing; in a norm that says RMS, nowhere. With a shift it may be a layer norm."""
    rms = norm.owner.intent == "rms"
    if rms and c.shift is not None:
        return None
    ways = _uncentred if rms else _centrings
    return tried(Trial(tree, norm, "NRM404", partly=not rms), ways(c, tree.document, Style(tree.text)))


def _centrings(c: Computation, document: Document, style: Style) -> Iterator[Change]:
    start, inner = document.at(c.statistic.span), document.at(c.statistic.inner_span)
    if start is None or inner is None:
        return
    if c.centred[0]:
        factors = [p.other for p in products(document, start) if number(p.other) is None]
        targets = [[t] for factor in factors for t in _parts(document, factor)]
        message = "Subtract the mean from the input"
    else:
        wholes = [inner, *definitions(document, inner)]
        targets = [_same(document, whole, t) for whole in wholes for t in _parts(document, whole)]
        message = "Subtract the mean under the square"
    moves = _moved(document, start, targets)
    yield from (("Subtract the mean before the squares are taken", change) for change in moves)
    for many in targets:
        yield from ((message, change) for change in _less_mean(document, style, many, start))


def _parts(document: Document, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What may be the input in an expression: itself, or a name or call in it."""
    found = [n for n in document.below(node, cst.BaseExpression) if isinstance(n, _INPUT)]
    values = (n for n in found if not isinstance(n, cst.Name) or reads(document, n))
    parts = [n for n in values if getattr(n, "value", "") not in document.imported]
    own = [] if isinstance(node, _INPUT | cst.BinaryOperation) else [node]
    return own + sorted(parts, key=lambda n: document.span(n).start - document.span(n).end)


def _same(document: Document, whole: cst.BaseExpression, part: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Everything in the whole that is written like the part: both factors of `x * x`."""
    return [n for n in document.below(whole, type(part)) if n.deep_equals(part)]


def _moved(
    document: Document, statistic: cst.BaseExpression, targets: Sequence[Sequence[cst.BaseExpression]]
) -> Iterator[Changes]:
    """A line further down that subtracts the mean, or takes it, stands in front of the statistic."""
    line = document.line(statistic)
    block = list(getattr(document.parent(line), "body", ())) if line is not None else []
    start = block.index(line) if line in block else len(block)
    for at, later in enumerate(block[start:], start):
        stmt = later.body[0] if isinstance(later, cst.SimpleStatementLine) and len(later.body) == 1 else None
        if line is None or not isinstance(stmt, cst.Assign) or not _may_pass(document, stmt, block[start:at]):
            continue
        move: Changes = {line: partial(_behind, later), later: None}
        name = next(iter(names_of(stmt)), "")
        if sides(stmt.value) is not None:
            yield move
        elif holds_mean(document, stmt.value) and name:
            yield from ({**_differences(document, many, cst.Name(name)), **move} for many in targets)


def _behind(moved: cst.SimpleStatementLine, line: cst.SimpleStatementLine) -> cst.FlattenSentinel[Any]:
    """Both lines, the moved one first."""
    return cst.FlattenSentinel([moved, line])


def _may_pass(document: Document, later: cst.Assign, passed: Sequence[cst.CSTNode]) -> bool:
    """The statement may stand in front of the first of those: they give it nothing, and the first alone sees it."""
    needed = {n.value for n in names_in(document, later.value)}
    names = [n for stmt in passed for n in names_in(document, stmt)]
    given = {n.value for n in names if not reads(document, n)}
    seen = {n.value for stmt in passed[1:] for n in names_in(document, stmt)}
    return bool(passed) and not needed & given and not set(names_of(later)) & (seen | given)


def _less_mean(
    document: Document, style: Style, targets: Sequence[cst.BaseExpression], statistic: cst.BaseExpression
) -> Iterator[Changes]:
    """The targets by the name of what is centred, less the name of the mean, or less the mean written out."""
    known = known_means(document, targets[0])
    for name in known.centred[:_CENTRES]:
        yield dict.fromkeys(targets, name)
    for less in known.means[: 2 * _CENTRES]:
        yield _differences(document, targets, less)
    yield from _discarded(document, targets, statistic)
    mean = averaged(document, style, statistic, targets[0]) if isinstance(statistic, cst.Call) else None
    if mean is not None:
        yield _differences(document, targets, mean)


def _differences(document: Document, targets: Sequence[cst.BaseExpression], less: cst.BaseExpression) -> Changes:
    return {t: _difference(document, t, less) for t in targets}


def _difference(document: Document, target: cst.BaseExpression, less: cst.BaseExpression) -> cst.BaseExpression:
    new = expression("{x} - {m}", x=tight(stripped(target), SUM), m=tight(less, SUM + 1))
    return instead(document, target, new)


def _discarded(
    document: Document, targets: Sequence[cst.BaseExpression], statistic: cst.BaseExpression
) -> Iterator[Changes]:
    """`var, _ = torch.var_mean(x)` has the mean already."""
    match document.parent(statistic):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=[_, cst.Element(value=name)]))]):
            if called(statistic) in ("var_mean", "std_mean") and isinstance(name, cst.Name):
                yield {name: cst.Name("mean"), **_differences(document, targets, cst.Name("mean"))}


# --- no mean at all --------------------------------------------------------------------------------------------------


def _uncentred(c: Computation, document: Document, style: Style) -> Iterator[Change]:
    start = document.at(c.statistic.span)
    if start is None:
        return
    square = _mean_square(document, style, start)
    if square is not None:
        yield "Average the squares of the input as it is", {start: square}
    for scope in dict.fromkeys(document.scope(node) for node in carried(document, start)):
        for node in document.below(scope, cst.BaseExpression):
            if sides(node) is not None and isinstance(scope, cst.FunctionDef):
                yield "Leave the input as it is", _undone(document, node)


def _mean_square(document: Document, style: Style, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`x.var(-1, keepdim=True)` becomes `x.pow(2).mean(-1, keepdim=True)`; of std, the root of it."""
    if not isinstance(node, cst.Call) or called(node) not in ("var", "std"):
        return None
    target = node.args[0].value if not by_method(document, style, node) else getattr(node.func, "value", None)
    squared = expression("{x}.pow(2)", x=tight(target)) if target is not None else None
    mean = averaged(document, style, node, squared, keep=False) if squared is not None else None
    return expression("{x}.sqrt()", x=mean) if mean is not None and called(node) == "std" else mean


def _undone(document: Document, difference: cst.BaseExpression) -> Changes:
    """The minuend alone; or no statement at all, where that is a name's own value."""
    found, stmt = sides(difference), document.around(difference, cst.Assign)
    assert found is not None
    minuend, subtrahend = found
    if stmt is None or stmt.value is not difference or not isinstance(minuend, cst.Name):
        return {difference: in_place_of(document, difference, minuend), **_unused(document, difference, [subtrahend])}
    scope, names = document.scope(stmt), names_of(stmt)
    renamed: Changes = {n: cst.Name(minuend.value) for name in names for n in loads(document, name, scope)}
    changes = {} if names == (minuend.value,) else renamed
    return {**changes, **document.gone(stmt), **_unused(document, difference, [subtrahend, stmt])}


def _unused(document: Document, node: cst.CSTNode, gone: Sequence[cst.CSTNode]) -> Changes:
    """Lines whose name nothing reads any more."""
    scope, changes = document.scope(node), Changes()
    inside = {n for one in gone for n in document.below(one, cst.Name)}
    for other in assignments(document, scope):
        names = names_of(other)
        used = loads(document, names[0], scope) if len(names) == 1 and other not in gone else []
        if used and all(n in inside for n in used):
            changes |= document.gone(other)
    return changes
