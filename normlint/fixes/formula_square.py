"""Repairs of NRM403: the squares that were to be averaged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import definitions, products
from normlint.fixes.formula import Change, tried
from normlint.fixes.spelling import Style, call_of, called, expression, number, placed, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Fix

_SQUARES: Final = re.compile(r"^s$|sq|squares|pow", re.IGNORECASE)


def square(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Average the squares; take the root as well where nothing but the mean was divided by."""
    return tried(Trial(tree, norm, "NRM403", partly=True), _candidates(c, tree.document, Style(tree.text)))


def _candidates(c: Computation, document: Document, style: Style) -> Iterator[Change]:
    inner, start = document.at(c.statistic.inner_span), document.at(c.statistic.span)
    if inner is None or start is None:
        return
    squares = [*_in_place_of_abs(document, style, inner), *_at_definition(document, style, inner)]
    squares.append({inner: placed(document, inner, style.squared(inner))})
    yield from (("Take the L2 norm", change) for change in _order_two(start))
    if c.power == -1:  # x / mean(|x|)
        roots: list[Changes] = [{p.value: lambda u: style.around(u, "sqrt")} for p in products(document, start)]
        yield from (("Divide by the root of the mean square", {**s, **r}) for s in squares for r in roots)
    yield from (("Average the squares", s) for s in squares)


def _in_place_of_abs(document: Document, style: Style, inner: cst.BaseExpression) -> Iterator[Changes]:
    """Squares where absolute values stand, here or where the name was given."""
    for whole in (inner, *definitions(document, inner)):
        for node in document.below(whole, cst.Call):
            if called(node) in ("abs", "absolute", "fabs", "abs_"):
                yield {node: _from_abs(style, node)}


def _from_abs(style: Style, node: cst.Call) -> cst.BaseExpression:
    if isinstance(node.func, cst.Attribute) and not node.args:
        return style.squared_by_method(node.func.value)
    function, value = style.function("square"), node.args[0].value
    return call_of(function, value) if function else expression("{x}.pow(2)", x=tight(value))


def _at_definition(document: Document, style: Style, inner: cst.BaseExpression) -> Iterator[Changes]:
    """`squares = x` wants its square there."""
    if isinstance(inner, cst.Name) and _SQUARES.search(inner.value):
        yield from ({value: style.squared(value)} for value in definitions(document, inner))


def _order_two(start: cst.BaseExpression) -> Iterator[Changes]:
    """The L2 norm for the L1 norm."""
    if isinstance(start, cst.Call):
        named = [a.value for a in start.args if a.keyword and a.keyword.value in ("p", "ord")]
        orders = [v for v in (*named, *(a.value for a in start.args[:2] if not a.keyword)) if number(v) == 1]
        yield from ({order: cst.Integer("2")} for order in orders[:1])
