"""Repairs of NRM403: the squares that were to be averaged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from normlint.norm.norm import Computation, Norm
from normlint.rules.repair.formula_flow import called, definitions, products
from normlint.rules.repair.formula_powers import Edits
from normlint.rules.repair.formula_text import around, function, number, parenthesised, tight
from normlint.rules.repair.tree import ATOM, Tree, binding
from normlint.rules.repair.trial import Candidate, Trial
from normlint.rules.repair.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span

_SQUARES: Final = re.compile(r"^s$|sq|squares|pow", re.IGNORECASE)
_WAYS: Final = {
    "method": re.compile(r"\.pow\(2\)"),
    "power": re.compile(r"\*\* ?2\b"),
    "square": re.compile(r"(?<!torch)\.square\(\)"),
    "torch": re.compile(r"\btorch\.square\("),
}


def square(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Average the squares; take the root as well where nothing but the mean was divided by."""
    return Trial(tree, norm, "NRM403", partly=True).first(_candidates(c, tree), Applicability.SAFE)


def _candidates(c: Computation, tree: Tree) -> Iterator[Candidate]:
    inner, start = tree.at(c.statistic.inner_span), tree.at(c.statistic.span)
    if inner is None or start is None:
        return
    squares = [*_in_place_of_abs(tree, inner), *_at_definition(tree, inner), _squared(tree, inner)]
    yield from (("Take the L2 norm", edits) for edits in _order_two(tree, start))
    if c.power == -1:  # x / mean(|x|)
        roots = [around(tree, p.value, "sqrt") for p in products(tree, start)]
        yield from (("Divide by the root of the mean square", (*s, *r)) for s in squares for r in roots)
    yield from (("Average the squares", s) for s in squares)


def _way(tree: Tree) -> str:
    """How squares are written in this text; `pow(2)` where there are none."""
    counts = {way: len(pattern.findall(tree.text)) for way, pattern in _WAYS.items()}
    return max(counts, key=lambda way: counts[way])


def _squared(tree: Tree, node: ast.expr) -> Edits:
    way = _way(tree)
    if way == "torch" and (name := function(tree, "square")):
        return tree.wrap(node, f"{name}(", ")")
    end = tree.with_parentheses(node).end
    atom = parenthesised(tree, node) or binding(node) >= ATOM
    before, after = ("", "") if atom else ("(", ")")
    if way == "power":
        held = isinstance(tree.parent(node), ast.Attribute)
        return tree.wrap(node, "(" * held + before, f"{after} ** 2" + ")" * held)
    call = ".square()" if way == "square" else ".pow(2)"
    return (Edit(Span(end, end), call),) if atom else tree.wrap(node, "(", f"){call}")


def _in_place_of_abs(tree: Tree, inner: ast.expr) -> Iterator[Edits]:
    """Squares where absolute values stand, here or where the name was given."""
    for whole in (inner, *definitions(tree, inner)):
        for node in walk(whole):
            if isinstance(node, ast.Call) and called(node) in ("abs", "absolute", "fabs", "abs_"):
                yield from _from_abs(tree, node)


def _from_abs(tree: Tree, node: ast.Call) -> Iterator[Edits]:
    span, name = tree.span(node), tree.span(node.func)
    if isinstance(node.func, ast.Attribute) and not node.args:
        call = "square()" if _way(tree) in ("square", "torch") else "pow(2)"
        yield (Edit(Span(name.end - len(node.func.attr), span.end), call),)
    elif by_name := function(tree, "square"):
        yield (Edit(name, by_name),)
    elif len(node.args) == 1:
        yield (tree.replace(node, f"{tight(tree, node.args[0])}.pow(2)"),)


def _at_definition(tree: Tree, inner: ast.expr) -> Iterator[Edits]:
    """`squares = x` wants its square there."""
    if isinstance(inner, ast.Name) and _SQUARES.search(inner.id):
        yield from (_squared(tree, value) for value in definitions(tree, inner))


def _order_two(tree: Tree, start: ast.expr) -> Iterator[Edits]:
    """The L2 norm for the L1 norm."""
    if isinstance(start, ast.Call):
        named = [k.value for k in start.keywords if k.arg in ("p", "ord")]
        orders = [a for a in (*named, *start.args[:2]) if number(a) == 1]
        yield from ((tree.replace(order, "2"),) for order in orders[:1])
