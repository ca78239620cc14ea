"""Repairs of NRM404 and NRM204: the mean subtracted on both sides, or on neither, and before squares are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import Stat
from normlint.fixes.calls import Reduction, operand_of
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import (
    assignments,
    carried,
    loads,
    names_of,
    products,
    reads,
    sole_name,
    stored,
)
from normlint.fixes.powers import in_place_of, squared_base
from normlint.fixes.spelling import (
    SUM,
    argument,
    called,
    expression,
    instead,
    number,
    operands,
    operation,
    stripped,
    tight,
)
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, reported
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Fix
from normlint.text.operations import CLASSES

_CENTRES: Final = 3
_CASTS: Final = CLASSES["cast"].split()
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
            yield f"Take the variance: `{_shown(variance)}`", {start: variance, **_read_by(document, start)}
        return
    for factor in (p.other for p in products(document, start) if number(p.other) is None):
        for target in _parts(document, factor):
            yield from (("Subtract the mean from the input", one) for one in _less_mean(document, target, start))


def _parts(document: Document, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What may be the input in an expression: itself, or a name or call in it."""
    found = [n for n in document.below(node, cst.BaseExpression) if isinstance(n, _INPUT)]
    values = (n for n in found if not isinstance(n, cst.Name) or reads(document, n))
    parts = [n for n in values if getattr(n, "value", "") not in document.imported]
    own = [] if isinstance(node, _INPUT | cst.BinaryOperation) else [node]
    return own + sorted(parts, key=lambda n: document.span(n).start - document.span(n).end)


def _less_mean(document: Document, target: cst.BaseExpression, statistic: cst.BaseExpression) -> Iterator[Changes]:
    """The target by the name of what is centred, less the name of the mean, or less the mean written out."""
    scope = document.scope(target)
    last = assignments(document, scope)[::-1]
    centred = [cst.Name(name) for s in last if sides(s.value) for name in names_of(s)]
    yield from ({target: name} for name in centred[:_CENTRES])
    means = [cst.Name(name) for s in last if holds_mean(document, s.value) for name in names_of(s)[-1:] if name != "_"]
    written = [pair[1] for n in document.below(scope, cst.BaseExpression) if (pair := sides(n)) is not None]
    several = [*means, *(n for n in written if not isinstance(n, cst.Name))][: 2 * _CENTRES]
    mean = averaged(document, statistic, target) if isinstance(statistic, cst.Call) else None
    for less in (*several, *([mean] if mean is not None else [])):
        yield {target: _difference(document, target, less)}


def _difference(document: Document, target: cst.BaseExpression, less: cst.BaseExpression) -> cst.BaseExpression:
    new = expression("{x} - {m}", x=tight(stripped(target), SUM), m=tight(less, SUM + 1))
    return instead(document, target, new)


# --- no mean at all --------------------------------------------------------------------------------------------------


def _uncentred(c: Computation, document: Document) -> Iterator[Change]:
    start = document.at(c.statistic.span)
    if start is None:
        return
    square = _mean_square(document, start)
    if square is not None:
        yield "Average the squares of the input as it is", {start: square}
    for scope in dict.fromkeys(document.scope(node) for node in carried(document, start)):
        for node in document.below(scope, cst.BaseExpression):
            found = sides(node) if isinstance(scope, cst.FunctionDef) else None
            if found is not None:
                yield "Leave the input as it is", _undone(document, node, *found)


def _mean_square(document: Document, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`x.var(-1, keepdim=True)` becomes `x.pow(2).mean(-1, keepdim=True)`; of std, the root of it."""
    if not isinstance(node, cst.Call) or called(node) not in ("var", "std"):
        return None
    target = operand_of(document, node)
    mean = averaged(document, node, expression("{x}.pow(2)", x=tight(target))) if target is not None else None
    return expression("{x}.sqrt()", x=mean) if mean is not None and called(node) == "std" else mean


def _undone(document: Document, difference: cst.BaseExpression, minuend: Any, subtrahend: Any) -> Changes:
    """The minuend alone, or no statement where that is a name's own value; and no mean that nothing else reads."""
    stmt, scope = document.around(difference, cst.Assign), document.scope(difference)
    own = stmt is not None and stmt.value is difference and names_of(stmt) == (getattr(minuend, "value", None),)
    changes = document.gone(stmt) if own else {difference: in_place_of(document, difference, minuend)}
    name = subtrahend.value if isinstance(subtrahend, cst.Name) else ""
    removed = [s for s in assignments(document, scope) if sole_name(s) == name]
    return changes | (document.gone(removed[0]) if len(removed) == len(loads(document, name, scope)) == 1 else {})


_MEANS: Final = ("mean", "var_mean", "std_mean", "sum", "reduce")
_OF_VARIANCES: Final = ("unbiased", "correction", "dtype", "out")


def holds_mean(document: Document, value: cst.BaseExpression | None) -> bool:
    """Does the expression take a mean, or a sum over a count, without subtracting it from anything?"""
    taken = value is not None and any(called(n) in _MEANS for n in document.below(value, cst.Call))
    return taken and sides(value) is None


def sides(node: cst.CSTNode | None) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Minuend and subtrahend of a difference: a - b, a.sub(b), torch.sub(a, b)."""
    values = operands(node) if operation(node) == "sub" else ()
    return (values[0], values[1]) if values else None


def averaged(document: Document, call: cst.Call, target: cst.BaseExpression) -> cst.BaseExpression | None:
    """The target's mean, spelled as the call of a variance is; None where that can't be said."""
    method = isinstance(call.func, cst.Attribute) and not document.is_module(call.func.value)
    given = [a for a in call.args if not (a.keyword and a.keyword.value in _OF_VARIANCES)][0 if method else 1 :]
    args = [a.with_changes(comma=cst.MaybeSentinel.DEFAULT) for a in given]
    kept = any("keepdim" in document.source(a) or document.source(a) == "True" for a in given)
    if not kept:
        args += cst.ensure_type(cst.parse_expression("f(keepdim=True)"), cst.Call).args
    if method:
        return cst.Call(cst.Attribute(tight(target), cst.Name("mean")), args)
    if not isinstance(call.func, cst.Attribute):
        return None
    return cst.Call(call.func.with_changes(attr=cst.Name("mean")), [cst.Arg(target), *args])


def centre_first(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """The squared mean is no longer taken off the mean square: torch's own variance centres first."""
    return Trial(tree, norm, "NRM204", partly=True).first(_variances(stat, tree.document))


def _variances(stat: Stat, document: Document) -> Iterator[Change]:
    node = document.at(stat.span)
    found = sides(node)
    calls = document.below(_meant(document, found[0]), cst.Call) if found is not None else []
    several = [one for call in calls if (one := _variance(document, call, node)) is not None]
    if len(several) == 1:
        changes = {node: in_place_of(document, node, several[0]), **_read_by(document, node)}
        yield f"Let torch centre first: `{_shown(several[0])}`", changes


def _variance(document: Document, call: cst.CSTNode, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The variance of what a call takes the mean square of, over the same axes, to stand in place of the node."""
    mean = Reduction.of(document, call)
    if mean is None or mean.name not in ("mean", "sum") or not isinstance(mean.node.func, cst.Attribute):
        return None
    whole: Any = _meant(document, mean.input)
    square = operand_of(document, whole) if called(whole) in _CASTS else whole
    base = squared_base(square)
    if base is None or _bound_between(document, base, node):
        return None
    x, dim, kept = whole.deep_replace(square, tight(base)), mean.value("dim"), mean.value("keepdim")
    args = [argument(stripped(x))] if not mean.method else []
    args += [*([argument(dim)] if dim is not None else []), argument(cst.Name("False"), "unbiased")]
    args += [argument(kept, "keepdim")] if kept is not None else []
    holder = x if mean.method else mean.node.func.value
    return cst.Call(cst.Attribute(holder, cst.Name("var")), args)


def _shown(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _meant(document: Document, node: cst.BaseExpression | None) -> Any:
    """The expression, or what a name stands for there."""
    stmt = _definition(document, node) if isinstance(node, cst.Name) else None
    return _meant(document, stmt.value) if stmt is not None else node


def _read_by(document: Document, node: cst.BaseExpression) -> Changes:
    """Takes away the statements that only this expression reads, and those that only they read."""
    named = (_definition(document, name) for name in document.below(node, cst.Name) if reads(document, name))
    alone = [s for s in named if s is not None and len(loads(document, names_of(s)[0], document.scope(s))) == 1]
    return {gone: None for stmt in alone for gone in (*document.gone(stmt), *_read_by(document, stmt.value))}


def _definition(document: Document, node: cst.Name) -> cst.Assign | None:
    """The last statement in front of it that binds the name, and only this one."""
    start = document.span(node).start
    before = [s for s in assignments(document, document.scope(node)) if document.span(s).end <= start]
    last = next((s for s in reversed(before) if node.value in names_of(s)), None)
    return last if isinstance(last, cst.Assign) and sole_name(last) else None


def _bound_between(document: Document, first: cst.BaseExpression, last: cst.BaseExpression) -> bool:
    """A name in an expression is bound between it and another."""
    start, end = (document.span(n).end for n in (first, last))
    names = {n.value for n in document.below(first, cst.Name)}
    bound = stored(document, document.scope(last), *names)
    return any(start <= document.span(n).start < end for n in bound)
