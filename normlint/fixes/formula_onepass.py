"""Repair of NRM204: E[x²] − E[x]² becomes the mean of (x − mean)²."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from normlint.evaluate.monomial import ALL, Centred, Stat
from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import assignments, loads, names_in, names_of, reads
from normlint.fixes.formula import Change, tried
from normlint.fixes.formula_means import sides
from normlint.fixes.powers import in_place_of, squared_base
from normlint.fixes.spelling import SUM, called, expression, instead, placed, stripped, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Norm
from normlint.text.finding import Fix
from normlint.text.frozen import dataclass


def centre_first(norm: Norm, stat: Stat, tree: Tree) -> Fix | None:
    """The squared mean is no longer taken off; instead the square is that of the centred input."""
    return tried(Trial(tree, norm, "NRM204"), _candidates(stat, tree.document))


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


def _candidates(stat: Stat, document: Document) -> Iterator[Change]:
    node = document.at(stat.span)
    found = sides(node)
    if found is None:
        return
    whole, stmt = _square_in(document, found[0]), _definition(document, found[1])
    mean = squared_base(stmt.value if stmt is not None else found[1])
    x = squared_base(whole.square) if whole is not None else None
    if whole is None or mean is None or x is None or not all(_once(document, s) for _, _, s in whole.links):
        return
    spare: Changes = document.gone(stmt) if stmt is not None and _once(document, stmt) else {}
    for centred in _centred(document, stat, x, mean, whole.square):
        message = f"Centre first, then square: `{cst.Module([]).code_for_node(centred)}`"
        new = _resquared(whole.square, x, centred)
        known = isinstance(centred, cst.Name) or not _bound_between(document, mean, whole.square, node)
        if known and not isinstance(found[0], cst.Name):
            there: Any = placed(document, whole.square, new)
            kept = in_place_of(document, node, found[0])
            inside = whole.holder is found[0]
            if inside:
                kept = in_place_of(document, node, found[0].deep_replace(whole.square, there))
            yield message, {node: kept, **({} if inside else {whole.square: there}), **spare}
        elif not _bound_between(document, whole.square, whole.square, node):
            gone = {line: None for _, _, s in whole.links for line in document.gone(s)}
            value = whole.inlined(document, placed(document, whole.square, new))
            yield message, {node: instead(document, node, stripped(value)), **gone, **spare}


def _once(document: Document, stmt: cst.Assign) -> bool:
    """The name that the statement binds is read once."""
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
    return last if isinstance(last, cst.Assign) and names_of(last) == (node.value,) else None


def _bound_between(
    document: Document, written: cst.BaseExpression, first: cst.BaseExpression, last: cst.BaseExpression
) -> bool:
    """A name in an expression is bound between two others."""
    start, end = (document.span(n).end for n in (first, last))
    names = {n.value for n in document.below(written, cst.Name)}
    bound = (n for n in names_in(document, document.scope(last)) if n.value in names and not reads(document, n))
    return any(start <= document.span(n).start < end for n in bound)


def _centred(
    document: Document, stat: Stat, x: cst.BaseExpression, mean: cst.BaseExpression, square: cst.BaseExpression
) -> Iterator[cst.BaseExpression]:
    """The input without its mean: under the name it already has, or written out."""
    for stmt in assignments(document, document.scope(square)):
        found = sides(stmt.value)
        before = document.span(stmt).end <= document.span(square).start
        if before and found is not None and found[0].deep_equals(x) and found[1].deep_equals(mean):
            yield from (cst.Name(name) for name in names_of(stmt))
    means = [f.atom.stat for f in stat.inner.factors if isinstance(f.atom, Centred)]
    kept = any(m.keepdim for m in means)
    if any((m.axes == ALL) != (stat.axes == ALL) for m in means) or not (kept or (means and means[0].axes == (-1,))):
        return
    back = mean if kept else expression("{m}.unsqueeze(-1)", m=tight(mean))
    yield expression("{x} - {m}", x=tight(x, SUM), m=tight(back, SUM + 1))


def _resquared(square: Any, x: cst.BaseExpression, centred: cst.BaseExpression) -> cst.BaseExpression:
    """The square as it is spelled, of the centred input."""
    twice = isinstance(square, cst.BinaryOperation) and isinstance(square.operator, cst.Multiply)
    if twice and isinstance(centred, cst.Name):
        return square.with_changes(left=centred, right=centred)  # type: ignore[no-any-return]
    if twice or called(square) in ("mul", "multiply"):
        return expression("{c}.pow(2)", c=tight(centred))
    argument = isinstance(square, cst.Call) and any(a.value is x for a in square.args)
    return square.deep_replace(x, centred if argument else tight(centred))  # type: ignore[no-any-return]
