"""Repairs of the formula: inverted scales and wrong roots. Squares, centres, gradients and gains have files beside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Final

from normlint.evaluate.monomial import Step
from normlint.norm.norm import HALF, Computation, Norm
from normlint.rules.repair.formula_flow import bound_to_root, loads_of, named_a_root, products, read_once
from normlint.rules.repair.formula_powers import Edits, flipped, scaled
from normlint.rules.repair.formula_text import around, number
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.trial import Candidate, Trial
from normlint.rules.repair.work import walk
from normlint.text.finding import Applicability, Fix

_POWERS: Final = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")


def invert(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Divide where it multiplies: turn the product round, or the root under it."""
    return Trial(tree, norm, "NRM401", partly=True).first(_inversions(c, tree), Applicability.SAFE)


def _inversions(c: Computation, tree: Tree) -> Iterator[Candidate]:
    start = tree.at(c.statistic.span)
    if start is None:
        return
    steps, named = _steps(c), named_a_root(tree, start)
    inverted = bool(steps) and steps[0].op == "recip"  # by a division, or by a reciprocal of what is named
    divides = inverted and _ends_in_product(tree, steps[0])
    inner = steps[1:] if divides else steps
    if named and inverted:
        inner = sorted(inner, key=partial(_nameless, tree))
    roots = [("Turn the root the right way round", e) for s in inner for e in scaled(tree, s, Fraction(-1))]
    if divides:
        outer = [("Multiply by the inverse root", e) for e in scaled(tree, steps[0], Fraction(-1))]
    else:
        turned = (p for p in products(tree, start) if number(p.other) is None)
        outer = [("Divide by the root", e) for p in turned for e in flipped(tree, p)]
    first_inner = named and read_once(tree, start) if divides else inverted or not named
    yield from (*roots, *outer) if first_inner else (*outer, *roots)


def _nameless(tree: Tree, step: Step) -> bool:
    """The step isn't taken where the value gets a name like rms, and what is called so should be so."""
    stmt = tree.statement(tree.at(step.span) or tree.root)
    return not (isinstance(stmt, ast.Assign) and bound_to_root(tree, stmt.value))


def _ends_in_product(tree: Tree, step: Step) -> bool:
    """The division is of a tensor, not of the 1 of `1 / root`."""
    node = tree.at(step.span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return not isinstance(node.left, ast.Constant)
    return not (isinstance(node, ast.Call) and "reciprocal" in tree.source(node.func))


def _steps(c: Computation) -> list[Step]:
    """Roots, powers and divisions of the statistic, the last first."""
    return [s for s in reversed(c.own_steps()) if s.op in _POWERS and s.span != c.statistic.span]


def take_root(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """One square root: put in where there is none, taken away where there are two."""
    return Trial(tree, norm, "NRM402", partly=True).first(_roots(c, tree), Applicability.SAFE)


def _roots(c: Computation, tree: Tree) -> Iterator[Candidate]:
    factor = -HALF / c.power
    message = "Take one square root" if abs(factor) > 1 else "Take the square root"
    steps = _steps(c)
    if factor == 2 and c.statistic.spelled.startswith("std") and all(e.power == HALF for e in c.eps):
        yield from (("Take the variance under the root", e) for e in _variances(c, tree))
    yield from ((message, e) for s in sorted(steps, key=partial(_keeps, tree)) for e in scaled(tree, s, factor))
    yield from ((message, e) for e in _put_in(c, tree, factor))


def _variances(c: Computation, tree: Tree) -> Iterator[Edits]:
    """The variance for the deviation, also in the name that it is given."""
    node = tree.at(c.statistic.span)
    for edits in scaled(tree, Step("std", c.statistic.span), Fraction(2)):
        yield (*edits, *(_renamed(tree, node) if node is not None else ()))


def _renamed(tree: Tree, node: ast.expr) -> Edits:
    stmt = tree.parent(node)
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
    if not isinstance(target, ast.Name) or not isinstance(stmt, ast.Assign) or "std" not in target.id:
        return ()
    name, function = target.id.replace("std", "var"), tree.function(node)
    names = [n for n in walk(function or tree.root) if isinstance(n, ast.Name) and n.id == target.id]
    taken = loads_of(tree, name, function) or sum(isinstance(n.ctx, ast.Store) for n in names) > 1
    return () if taken else tuple(tree.replace(n, name) for n in names)


def _keeps(tree: Tree, step: Step) -> bool:
    """A plain root can go, unless a name says that it is one; other steps are changed only after that was tried."""
    node = tree.at(step.span)
    return step.op != "sqrt" or (node is not None and bound_to_root(tree, node))


def _put_in(c: Computation, tree: Tree, factor: Fraction) -> Iterator[Edits]:
    """A root around the value where it meets the product."""
    start, name = tree.at(c.statistic.span), {HALF: "sqrt", -HALF: "rsqrt"}.get(factor)
    if start is not None and name is not None:
        yield from (around(tree, product.value, name) for product in products(tree, start))
