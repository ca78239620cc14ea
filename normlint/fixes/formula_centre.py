"""Repairs of NRM404 and NRM204: the mean subtracted on both sides, or on neither, and before squares are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import Stat
from normlint.fixes.calls import Reduction, operand_of
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import assignments, bound_between, carried, meant, names_of, only_for, reads
from normlint.fixes.powers import in_place_of, joining, squared_base
from normlint.fixes.spelling import (
    SUM,
    argument,
    called,
    expression,
    instead,
    operands,
    operation,
    shown,
    stripped,
    tight,
)
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, reported
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Fix
from normlint.text.operations import CLASSES

_CASTS: Final = CLASSES["cast"].split()
_MEANS: Final = ("mean", "var_mean", "std_mean")
_INPUT: Final = cst.Name | cst.Call | cst.Subscript


def centre(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Subtract the mean where it is missing; in a norm that says RMS, nowhere. With a shift it may be a layer norm."""
    rms = norm.owner.intent == "rms"
    if (rms and c.shift is not None) or "NRM103" in reported(norm):  # first the axes: the mean is taken over them
        return None
    ways = _uncentred if rms else _centrings
    return Trial(tree, norm, "NRM404", partly=not rms).first(ways(c, tree.document))


def _centrings(c: Computation, document: Document) -> Iterator[Change]:
    start, inner = document.at(c.statistic.span), document.at(c.statistic.inner_span)
    if start is None or inner is None:
        return
    if not c.centred[0]:
        variance = _variance(document, start, start)
        if variance is not None:
            yield f"Take the variance: `{shown(variance)}`", {start: variance, **only_for(document, start, variance)}
        return
    for target in (part for p in joining(document, start) for part in _parts(document, p.other)):
        yield from (("Subtract the mean from the input", one) for one in _less_mean(document, target, start, inner))


def _parts(document: Document, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What may be the input in an expression: itself, or a name or call in it."""
    found = [n for n in document.below(node, cst.BaseExpression) if isinstance(n, _INPUT)]
    values = (n for n in found if not isinstance(n, cst.Name) or reads(document, n))
    parts = [n for n in values if getattr(n, "value", "") not in document.imported]
    own = [] if isinstance(node, _INPUT | cst.BinaryOperation) else [node]
    return own + sorted(parts, key=lambda n: document.span(n).start - document.span(n).end)


def _less_mean(document: Document, target: Any, start: Any, inner: cst.BaseExpression) -> Iterator[Changes]:
    """The target as the squares are taken of it; else less its mean, by name or printed from the statistic."""
    centred = squared_base(inner)
    if centred is not None and not bound_between(document, centred, target):
        yield {target: instead(document, target, stripped(centred))}
    last = assignments(document, document.scope(target))[::-1]
    means = [cst.Name(name) for s in last if called(s.value) in _MEANS for name in names_of(s)[-1:]]
    for mean in (*means, _averaged(document, start, target, keep=True)):
        less = expression("{x} - {m}", x=tight(stripped(target), SUM), m=mean) if mean is not None else target
        yield {target: instead(document, target, less)}


def _averaged(document: Document, start: cst.BaseExpression, value: Any, *, keep: bool) -> cst.BaseExpression | None:
    """The mean of a value over the axes of a statistic."""
    call = Reduction.of(document, start)
    dim = call.value("dim") if call is not None else None
    if call is None or dim is None:
        return None
    kept = cst.Name("True") if keep else call.value("keepdim")
    mean = cst.ensure_type(expression("{x}.mean({d})", x=tight(value), d=dim), cst.Call)
    return mean.with_changes(args=[argument(dim), *([argument(kept, "keepdim")] if kept is not None else [])])


# --- no mean at all --------------------------------------------------------------------------------------------------


def _uncentred(c: Computation, document: Document) -> Iterator[Change]:
    start = document.at(c.statistic.span)
    target = operand_of(document, start) if called(start) in ("var", "std") else None
    mean = _averaged(document, start, expression("{x}.pow(2)", x=tight(target)), keep=False) if target else None
    if mean is not None:
        mean = expression("{x}.sqrt()", x=mean) if called(start) == "std" else mean
        yield "Average the squares of the input as it is", {start: mean}
    for scope in dict.fromkeys(document.scope(node) for node in carried(document, start)) if start else ():
        for node in document.below(scope, cst.BaseExpression) if isinstance(scope, cst.FunctionDef) else ():
            if (found := sides(node)) is not None:
                yield "Leave the input as it is", _undone(document, node, found[0])


def _undone(document: Document, difference: cst.BaseExpression, minuend: Any) -> Changes:
    """The minuend alone, or no statement where that is a name's own value; and no mean that nothing else reads."""
    stmt = document.around(difference, cst.Assign)
    own = stmt is not None and stmt.value is difference and names_of(stmt) == (getattr(minuend, "value", None),)
    changes = document.gone(stmt) if own else {difference: in_place_of(document, difference, minuend)}
    return {**changes, **only_for(document, difference, minuend)}


def sides(node: cst.CSTNode | None) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Minuend and subtrahend of a difference: a - b, a.sub(b), torch.sub(a, b)."""
    values = operands(node) if operation(node) == "sub" else ()
    return (values[0], values[1]) if values else None


def centre_first(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """The squared mean is no longer taken off the mean square: torch's own variance centres first."""
    return Trial(tree, norm, "NRM204", partly=True).first(_variances(stat, tree.document))


def _variances(stat: Stat, document: Document) -> Iterator[Change]:
    node = document.at(stat.span)
    found = sides(node)
    calls = document.below(meant(document, found[0]), cst.Call) if found is not None else []
    several = [one for call in calls if (one := _variance(document, call, node)) is not None]
    if len(several) == 1:
        changes = {node: in_place_of(document, node, several[0]), **only_for(document, node, several[0])}
        yield f"Let torch centre first: `{shown(several[0])}`", changes


def _variance(document: Document, call: cst.CSTNode, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The variance of what a call takes the mean square of, over the same axes, to stand in place of the node."""
    mean = Reduction.of(document, call)
    if mean is None or mean.name not in ("mean", "sum") or not isinstance(mean.node.func, cst.Attribute):
        return None
    whole: Any = meant(document, mean.input)
    square = operand_of(document, whole) if called(whole) in _CASTS else whole
    base = squared_base(square)
    if base is None or bound_between(document, base, node):
        return None
    x, dim, kept = whole.deep_replace(square, tight(base)), mean.value("dim"), mean.value("keepdim")
    args = [argument(stripped(x))] if not mean.method else []
    args += [*([argument(dim)] if dim is not None else []), argument(cst.Name("False"), "unbiased")]
    args += [argument(kept, "keepdim")] if kept is not None else []
    holder = x if mean.method else mean.node.func.value
    return cst.Call(cst.Attribute(holder, cst.Name("var")), args)
