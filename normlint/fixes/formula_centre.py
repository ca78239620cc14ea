"""Repairs of NRM404 and NRM204: the mean subtracted on both sides, or on neither, and before squares are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import ALL, Centred, Stat
from normlint.fixes.calls import operand_of
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import (
    assignments,
    carried,
    definitions,
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
    called,
    expression,
    instead,
    number,
    operands,
    operation,
    placed,
    stripped,
    tight,
)
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, reported
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Fix
from normlint.text.frozen import dataclass

_CENTRES: Final = 3
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
    if c.centred[0]:
        factors = [p.other for p in products(document, start) if number(p.other) is None]
        targets = [[t] for factor in factors for t in _parts(document, factor)]
        message = "Subtract the mean from the input"
    else:
        wholes = [inner, *definitions(document, inner)]
        targets = [_same(document, whole, t) for whole in wholes for t in _parts(document, whole)]
        message = "Subtract the mean under the square"
    for many in targets:
        yield from ((message, change) for change in _less_mean(document, many, start))


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


def _less_mean(
    document: Document, targets: Sequence[cst.BaseExpression], statistic: cst.BaseExpression
) -> Iterator[Changes]:
    """The targets by the name of what is centred, less the name of the mean, or less the mean written out."""
    scope = document.scope(targets[0])
    last = assignments(document, scope)[::-1]
    centred = [cst.Name(name) for s in last if sides(s.value) for name in names_of(s)]
    yield from (dict.fromkeys(targets, name) for name in centred[:_CENTRES])
    means = [cst.Name(name) for s in last if holds_mean(document, s.value) for name in names_of(s)[-1:] if name != "_"]
    written = [pair[1] for n in document.below(scope, cst.BaseExpression) if (pair := sides(n)) is not None]
    several = [*means, *(n for n in written if not isinstance(n, cst.Name))][: 2 * _CENTRES]
    mean = averaged(document, statistic, targets[0]) if isinstance(statistic, cst.Call) else None
    for less in (*several, *([mean] if mean is not None else [])):
        yield {target: _difference(document, target, less) for target in targets}


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
    """The squared mean is no longer taken off; instead the square is that of the centred input."""
    return Trial(tree, norm, "NRM204", partly=True).first(_one_pass(stat, tree.document))


Link = tuple[cst.BaseExpression, cst.Name, cst.Assign]  # an expression, a name in it, and what gives that its value


@dataclass(frozen=True, slots=True)
class _Written:
    """A square, the expression that holds it, and the names on the way to that, the outermost first."""

    square: cst.BaseExpression
    holder: cst.BaseExpression
    links: tuple[Link, ...] = ()

    def inlined(self, document: Document, new: cst.BaseExpression) -> cst.BaseExpression:
        """The outermost expression with another square; the names give way to what they stand for."""
        value: Any = self.holder.deep_replace(self.square, new)
        for outer, name, _ in reversed(self.links):
            value = value if outer is name else outer.deep_replace(name, placed(document, name, value))
        return value  # type: ignore[no-any-return]


def _one_pass(stat: Stat, document: Document) -> Iterator[Change]:
    node = document.at(stat.span)
    found = sides(node)
    if found is None:
        return
    whole, stmt = _square_in(document, found[0]), _definition(document, found[1])
    mean = squared_base(stmt.value if stmt is not None else found[1])
    x = squared_base(whole.square) if whole is not None else None
    if whole is None or mean is None or x is None or not all(_once(document, s) for _, _, s in whole.links):
        return
    read = [s for _, _, s in whole.links] + ([stmt] if stmt is not None and _once(document, stmt) else [])
    gone = {line: None for s in read for line in document.gone(s)}
    for centred in (
        () if _bound_between(document, whole.square, node) else _centred(document, stat, x, mean, whole.square)
    ):
        message = f"Centre first, then square: `{cst.Module([]).code_for_node(centred)}`"
        value = whole.inlined(document, placed(document, whole.square, _resquared(whole.square, x, centred)))
        yield message, {node: in_place_of(document, node, value), **gone}


def _once(document: Document, stmt: cst.Assign) -> bool:
    """Is the name that the statement assigns used exactly once?"""
    return len(loads(document, names_of(stmt)[0], document.scope(stmt))) == 1


def _square_in(document: Document, node: cst.BaseExpression) -> _Written | None:
    """The one square in an expression, also behind names."""
    squares = [n for n in document.below(node, cst.BaseExpression) if squared_base(n) is not None]
    if squares:
        return _Written(squares[0], node) if len(squares) == 1 else None
    several = []
    for name in document.below(node, cst.Name):
        stmt = _definition(document, name) if reads(document, name) else None
        inner = _square_in(document, stmt.value) if stmt is not None else None
        if stmt is not None and inner is not None:
            several.append(_Written(inner.square, inner.holder, ((node, name, stmt), *inner.links)))
    return several[0] if len(several) == 1 else None


def _definition(document: Document, node: cst.BaseExpression) -> cst.Assign | None:
    """The last statement in front of it that binds the name, and only this one."""
    if not isinstance(node, cst.Name):
        return None
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


def _centred(
    document: Document, stat: Stat, x: cst.BaseExpression, mean: cst.BaseExpression, square: cst.BaseExpression
) -> Iterator[cst.BaseExpression]:
    """The input without its mean: under the name it already has, or written out."""
    for stmt in assignments(document, document.scope(square)):
        found = sides(stmt.value)
        before = document.span(stmt).end <= document.span(square).start
        if before and found is not None and all(map(_alike, found, (x, mean))):
            yield from (cst.Name(name) for name in names_of(stmt))
    means = [f.atom.stat for f in stat.inner.factors if isinstance(f.atom, Centred)]
    kept = any(m.keepdim for m in means)
    if any((m.axes == ALL) != (stat.axes == ALL) for m in means) or not (kept or (means and means[0].axes == (-1,))):
        return
    back = mean if kept else expression("{m}.unsqueeze(-1)", m=tight(mean))
    yield expression("{x} - {m}", x=tight(x, SUM), m=tight(back, SUM + 1))


def _alike(one: cst.BaseExpression, two: cst.BaseExpression) -> bool:
    """Are two expressions equal except for parentheses around them?"""
    return stripped(one).deep_equals(stripped(two))


def _resquared(square: Any, x: cst.BaseExpression, centred: cst.BaseExpression) -> cst.BaseExpression:
    """The square as it is spelled, of the centred input."""
    twice = isinstance(square, cst.BinaryOperation) and isinstance(square.operator, cst.Multiply)
    if twice and isinstance(centred, cst.Name):
        return square.with_changes(left=centred, right=centred)  # type: ignore[no-any-return]
    if twice or called(square) in ("mul", "multiply"):
        return expression("{c}.pow(2)", c=tight(centred))
    argument = isinstance(square, cst.Call) and any(a.value is x for a in square.args)
    return square.deep_replace(x, centred if argument else tight(centred))  # type: ignore[no-any-return]
