"""Repairs of the formula: inverted scales and wrong roots. Squares, centres, gradients and gains have files beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Final

import libcst as cst

from normlint.evaluate.monomial import Step
from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import (
    assignments,
    bound_to_root,
    loads,
    named_a_root,
    names_of,
    products,
    read_once,
)
from normlint.fixes.powers import flipped, scaled
from normlint.fixes.spelling import Style, called, number
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Candidate, Trial
from normlint.norm.norm import HALF, Computation, Norm
from normlint.text.finding import Applicability, Fix

_POWERS: Final = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")
Change = tuple[str, Changes]


def invert(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Divide where it multiplies: turn the product round, or the root under it."""
    return tried(Trial(tree, norm, "NRM401", partly=True), _inversions(c, tree))


def tried(trial: Trial, changes: Iterable[Change], applicability: Applicability = Applicability.SAFE) -> Fix | None:
    """The fix by the first of these changes that passes."""
    document = trial.tree.document
    candidates: Iterator[Candidate] = ((message, document.edits(change)) for message, change in changes)
    return trial.first(candidates, applicability)


def _inversions(c: Computation, tree: Tree) -> Iterator[Change]:
    document, style = tree.document, Style(tree.text)
    start = document.at(c.statistic.span)
    if start is None:
        return
    steps, named = _steps(c, document), named_a_root(document, start)
    inverted = bool(steps) and steps[0][0].op == "recip"  # by a division, or by a reciprocal of what is named
    divides = inverted and _ends_in_product(steps[0][1])
    inner = steps[1:] if divides else steps
    if named and inverted:
        inner = sorted(inner, key=partial(_nameless, document))
    turn = partial(scaled, document, style, factor=Fraction(-1))
    roots = [("Turn the root the right way round", e) for _, node in inner for e in turn(node)]
    if divides:
        outer = [("Multiply by the inverse root", e) for e in turn(steps[0][1])]
    else:
        turned = (p for p in products(document, start) if number(p.other) is None)
        outer = [("Divide by the root", e) for p in turned for e in flipped(style, p)]
    carried_along = divides and next((p.node for p in products(document, start) if number(p.other) is None), None)
    if carried_along and carried_along is not steps[0][1]:
        roots = []  # a factor that is divided by as well
    first_inner = named and read_once(document, start) if divides else inverted or not named
    yield from (*roots, *outer) if first_inner else (*outer, *roots)


Taken = tuple[Step, cst.CSTNode | None]  # a step of the statistic, and where it is written


def _nameless(document: Document, one: Taken) -> bool:
    """The step isn't taken where the value gets a name like rms, and what is called so should be so."""
    stmt = document.around(one[1], cst.Assign) if one[1] is not None else None
    return stmt is None or not bound_to_root(document, stmt.value)


def _ends_in_product(node: cst.CSTNode | None) -> bool:
    """The division is of a tensor, not of the 1 of `1 / root`."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        return number(node.left) is None
    return called(node).rstrip("_") != "reciprocal"


def _steps(c: Computation, document: Document) -> list[Taken]:
    """Roots, powers and divisions of the statistic, the last first."""
    steps = [s for s in reversed(c.own_steps()) if s.op in _POWERS and s.span != c.statistic.span]
    return [(s, document.at(s.span, cst.AugAssign) or document.at(s.span)) for s in steps]


def take_root(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """One square root: put in where there is none, taken away where there are two."""
    return tried(Trial(tree, norm, "NRM402", partly=True), _roots(c, tree))


def _roots(c: Computation, tree: Tree) -> Iterator[Change]:
    document, style = tree.document, Style(tree.text)
    factor = -HALF / c.power
    message = "Take one square root" if abs(factor) > 1 else "Take the square root"
    start = document.at(c.statistic.span)
    if factor == 2 and c.statistic.spelled.startswith("std") and all(e.power == HALF for e in c.eps):
        for change in scaled(document, style, start, Fraction(2)):
            yield "Take the variance under the root", {**change, **_renamed(document, start)}
    for _, node in sorted(_steps(c, document), key=partial(_keeps, document)):
        yield from ((message, change) for change in scaled(document, style, node, factor))
    name = {HALF: "sqrt", -HALF: "rsqrt"}.get(factor)
    if start is not None and name is not None:
        yield from ((message, {p.value: style.around(p.value, name)}) for p in products(document, start))


def _renamed(document: Document, node: cst.BaseExpression | None) -> Changes:
    """The variance's name, where the deviation's says std."""
    stmt = document.parent(node) if node is not None else None
    name = next(iter(names_of(stmt)), "")
    if not isinstance(stmt, cst.Assign) or len(stmt.targets) != 1 or "std" not in name:
        return {}
    scope, new = document.scope(stmt), name.replace("std", "var")
    given = [s for s in assignments(document, scope) if name in names_of(s)]
    if len(given) > 1 or loads(document, new, scope):
        return {}
    return {n: n.with_changes(value=new) for n in document.below(scope, cst.Name) if n.value == name}


def _keeps(document: Document, one: Taken) -> bool:
    """A plain root can go, unless a name says that it is one; other steps are changed only after that was tried."""
    step, node = one
    return step.op != "sqrt" or (isinstance(node, cst.BaseExpression) and bound_to_root(document, node))
