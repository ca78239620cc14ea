"""Build the fixes of NRM204 and NRM403 to NRM405: centre and square values, and let gradients through."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import Stat
from normlint.fixes.calls import Reduction, operand_of
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import assignments, bound_between, carried, meant, names_of, only_for, reads, single_targets
from normlint.fixes.roots import in_place_of, joining, squared_base
from normlint.fixes.spelling import (
    SUM,
    argument,
    called,
    expression,
    instead,
    operands,
    operation,
    placed,
    shown,
    stripped,
    tight,
)
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, reported, stats_of
from normlint.norm.norm import Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.text.finding import Applicability, Fix, Span
from normlint.text.operations import CLASSES

_CASTS: Final = CLASSES["cast"].split()
_MEANS: Final = ("mean", "var_mean", "std_mean")
_INPUT: Final = cst.Name | cst.Call | cst.Subscript


def centre(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Subtract the mean where it is missing, or, in a norm named RMS, nowhere; with a shift it may be a layer norm."""
    rms = norm.owner.intent == "rms"
    if (rms and c.shift is not None) or "NRM103" in reported(norm):  # fix the mean's axes first
        return None
    named = rms or c.shift is not None or c.centred[1] or "layer" in norm.owner.name.lower()
    ways = (_uncentred if rms else _centrings)(c, tree.document)
    safety = Applicability.SAFE if named else Applicability.UNSAFE
    return Trial(tree, norm, "NRM404", partly=not rms).first(ways, safety)


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
        yield from (("Subtract the mean from the input", one) for one in _centred(document, target, start, inner))


def _parts(document: Document, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the expressions that may be the input in this one: itself, or a name or call in it."""
    found = [n for n in document.below(node, cst.BaseExpression) if isinstance(n, _INPUT)]
    values = (n for n in found if not isinstance(n, cst.Name) or reads(document, n))
    parts = [n for n in values if getattr(n, "value", "") not in document.imported]
    own = [] if isinstance(node, _INPUT | cst.BinaryOperation) else [node]
    return own + sorted(parts, key=lambda n: document.span(n).start - document.span(n).end)


def _centred(document: Document, target: Any, start: Any, inner: cst.BaseExpression) -> Iterator[Changes]:
    """Yield replacements of the target: the expression that is squared, or the target less its mean."""
    centred = squared_base(inner)
    if centred is not None and not bound_between(document, centred, target):
        yield {target: instead(document, target, stripped(centred))}
    last = assignments(document, document.scope(target))[::-1]
    means = [cst.Name(name) for s in last if called(s.value) in _MEANS for name in names_of(s)[-1:]]
    for mean in (*means, _mean_like(document, start, target)):
        less = expression("{x} - {m}", x=tight(stripped(target), SUM), m=mean) if mean is not None else target
        yield {target: instead(document, target, less)}


def _mean_like(document: Document, start: cst.BaseExpression, value: Any) -> cst.BaseExpression | None:
    """Return the mean of a value over the axes of a statistic."""
    call = Reduction.of(document, start)
    if call is None or (dim := call.value("dim")) is None:
        return None
    mean = cst.ensure_type(expression("{x}.mean({d})", x=tight(value), d=dim), cst.Call)
    return mean.with_changes(args=[argument(dim), argument(cst.Name("True"), "keepdim")])


def _uncentred(c: Computation, document: Document) -> Iterator[Change]:
    start = document.at(c.statistic.span)
    for scope in dict.fromkeys(document.scope(node) for node in carried(document, start)) if start else ():
        for node in document.below(scope, cst.BaseExpression) if isinstance(scope, cst.FunctionDef) else ():
            if (found := sides(node)) is not None:
                yield "Leave the input as it is", _uncentred_changes(document, node, found[0])


def _uncentred_changes(document: Document, difference: cst.BaseExpression, minuend: Any) -> Changes:
    """Leave the minuend alone, and remove the mean if nothing else reads it."""
    stmt = document.around(difference, cst.Assign)
    own = stmt is not None and stmt.value is difference and names_of(stmt) == (getattr(minuend, "value", None),)
    changes = document.gone(stmt) if own else {difference: in_place_of(document, difference, minuend)}
    return {**changes, **only_for(document, difference, minuend)}


def sides(node: cst.CSTNode | None) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return minuend and subtrahend of a difference: a - b, a.sub(b), torch.sub(a, b)."""
    values = operands(node) if operation(node) == "sub" else ()
    return (values[0], values[1]) if values else None


def centre_first(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """Use torch's own variance, which centres first, instead of the mean square less the squared mean."""
    return Trial(tree, norm, "NRM204", partly=True).first(_variances(stat, tree.document))


def _variances(stat: Stat, document: Document) -> Iterator[Change]:
    node = document.at(stat.span)
    found = sides(node)
    if found is None:
        return
    whole = meant(document, found[0])
    several = {c: one for c in document.below(whole, cst.Call) if (one := _variance(document, c, node)) is not None}
    for call, new in several.items() if len(several) == 1 else ():
        mean = operands(whole)[0] if operation(whole) == "div" else whole
        for value in (mean.deep_replace(call, new), new):  # with what puts the axis back, and without
            changes = {node: in_place_of(document, node, value), **only_for(document, node, value)}
            yield f"Let torch centre first: `{shown(value)}`", changes


def _variance(document: Document, call: cst.CSTNode, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the variance for a mean square over the same axes, to replace the node."""
    mean = Reduction.of(document, call)
    if mean is None or mean.name not in ("mean", "sum") or not isinstance(mean.node.func, cst.Attribute):
        return None
    whole: Any = meant(document, mean.input)
    square = operand_of(document, whole) if called(whole) in _CASTS else whole
    base = squared_base(square)
    if base is None or bound_between(document, base, node):
        return None
    x, dim, kept, dtype = whole.deep_replace(square, tight(base)), *map(mean.value, ("dim", "keepdim", "dtype"))
    x = x if dtype is None else expression("{x}.to({d})", x=tight(x), d=dtype)
    args = [argument(stripped(x))] if not mean.method else []
    args += [*([argument(dim)] if dim is not None else []), argument(cst.Name("False"), "unbiased")]
    args += [argument(kept, "keepdim")] if kept is not None else []
    holder = x if mean.method else mean.node.func.value
    return cst.Call(cst.Attribute(holder, cst.Name("var")), args)


def square(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Average the squares; a missing root is added in the next round."""
    return Trial(tree, norm, "NRM403", partly=True).first(_squares(c, tree.document))


def _squares(c: Computation, document: Document) -> Iterator[Change]:
    inner, start = document.at(c.statistic.inner_span), document.at(c.statistic.span)
    if inner is None or called(start) in ("norm", "vector_norm"):  # an L1 norm, by its p
        return
    plain = operand_of(document, inner) if called(inner) in ("abs", "absolute", "fabs", "abs_") else inner
    yield "Average the squares", {inner: placed(document, inner, expression("{x}.pow(2)", x=tight(plain)))}


_CUTS: Final = ("detach", "item")
_GUARDS: Final = ("no_grad", "inference_mode")


def attach(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Remove what detaches the statistic from the gradient."""
    return Trial(tree, norm, "NRM405", partly=True).first(_attached(c, tree.document))


def _attached(c: Computation, document: Document) -> Iterator[Change]:
    cuts = {node: partial(_reattached, document, node) for node in _cuts(c, document)}
    guard: Changes = {}
    for stat in stats_of(c):
        if stat.no_grad:
            guard |= _unguarded(document, stat.span)
    if cuts:
        yield "Let the gradient through the statistic", {**cuts, **guard}
    if guard:
        yield "Take the statistic with its gradient", guard


def _cuts(c: Computation, document: Document) -> Iterator[cst.BaseExpression]:
    shared = {s.span for s in c.input_steps}
    inner = [s for stat in stats_of(c) for s in deep_steps(stat.inner.factors) if s.span not in shared]
    centres = (s for stat in stats_of(c)[1:] for s in stat.steps)
    spans = {s.span: None for s in (*inner, *c.own_steps(), *centres) if s.op in _CUTS}
    return (node for node in map(document.at, spans) if isinstance(node, cst.Attribute | cst.Call))


def _reattached(document: Document, node: cst.BaseExpression, now: Any) -> cst.BaseExpression:
    """Return v for `v.detach()`, `v.data`, `v.item()` or `torch.detach(v)`."""
    return in_place_of(document, node, operand_of(document, now) if isinstance(now, cst.Call) else now.value)


def _unguarded(document: Document, span: Span) -> Changes:
    """Remove the `with torch.no_grad():` around the statistic, if its block only assigns names."""
    node = document.at(span)
    holders = (n for n in document.above(node) if isinstance(n, cst.With))
    guard = next((n for n in holders if any(map(_disables_gradients, n.items))), None)
    if guard is None or not isinstance(guard.body, cst.IndentedBlock) or not all(map(_binds_names, guard.body.body)):
        return {}
    kept = [item for item in guard.items if not _disables_gradients(item)]
    last = [item.with_changes(comma=cst.MaybeSentinel.DEFAULT) for item in kept[-1:]]
    return {guard: guard.with_changes(items=[*kept[:-1], *last]) if kept else _dedented}


def _disables_gradients(item: cst.WithItem) -> bool:
    return called(item.item) in _GUARDS


def _binds_names(line: cst.CSTNode) -> bool:
    several = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    return bool(several) and all(isinstance(one, cst.Name) for stmt in several for one in single_targets(stmt))


def _dedented(holder: cst.With) -> cst.FlattenSentinel[Any]:
    """Return the statements of the block, with the comments above it and on its first line."""
    first, *rest = holder.body.body
    comment = getattr(holder.body, "header", cst.TrailingWhitespace()).comment
    above = [*holder.leading_lines, *([cst.EmptyLine(comment=comment)] if comment else [])]
    lines = [first.with_changes(leading_lines=[*above, *first.leading_lines]), *rest]  # type: ignore[union-attr]
    return cst.FlattenSentinel([*lines, *getattr(holder.body, "footer", ())])
