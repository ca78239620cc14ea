"""NRM302: eps moves under the root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import carried, loads_after, names_of, reads, sole_value, stored
from normlint.fixes.powers import in_place_of, power_of, renamed
from normlint.fixes.spelling import (
    HALF,
    SUM,
    Style,
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
from normlint.fixes.trial import Trial
from normlint.norm.norm import Computation, Eps, Norm
from normlint.text.finding import Applicability, Fix


def move(norm: Norm, c: Computation, e: Eps, tree: Tree) -> Fix | None:
    """Take eps from where it stands and add it to what the root is taken of."""
    document, trial = tree.document, Trial(tree, norm, "NRM302")
    for message, changes in _candidates(c, e, document, Style(tree)):
        fix = document.fix(message, changes, Applicability.UNSAFE)
        if called(document.at(c.statistic.span)).startswith("std"):
            return fix  # a variance in half may be the next round's finding
        fixed = trial.fixed(fix.edits)
        sums = [one for one in fixed.computations if one.statistic.reduce == "sum"] if fixed else []
        if all(count.inside for one in sums for count in one.counts):  # the mean, not yet the sum
            return trial.first([(message, changes)], Applicability.UNSAFE)
    return None


def _candidates(c: Computation, e: Eps, document: Document, style: Style) -> Iterator[Change]:
    eps, whole = document.at(e.at), document.at(e.span, cst.AugAssign) or document.at(e.span)
    root = _root(c, e, document)
    if eps is None or whole is None or root is None or _kept(whole, eps) is None:
        return
    if not _only_use(document, root, whole) or not _seen(document, eps, root):
        return
    away = _away(document, whole, eps)
    yield f"Move `{document.source(eps)}` under the root", {**away, **_rooted(document, style, root, whole, eps)}


def _root(c: Computation, e: Eps, document: Document) -> cst.BaseExpression | None:
    """The root that is taken of the mean square before eps joins."""
    steps = [s.op == "eps" and s.span == e.span for s in c.trail]
    before = c.trail[: steps.index(True)] if True in steps else ()
    nodes = [document.at(c.statistic.span), *(document.at(s.span) for s in before)]
    found = [n for n in nodes if (taken := power_of(n)) is not None and abs(taken[1]) == HALF]
    deviation = [n for n in nodes[:1] if called(n) == "std" and isinstance(n.func, cst.Attribute)]
    return next(iter((*found, *deviation)), None)


def _rooted(document: Document, style: Style, root: Any, whole: cst.CSTNode, eps: cst.BaseExpression) -> Changes:
    """Eps added to what the root is taken of, as it is added where it stands."""
    eps = tight(eps, SUM + 1)
    taken = power_of(root)
    if taken is None:  # `x.std(…)` becomes `(x.var(…) + eps).sqrt()`, `torch.std(…)` `torch.sqrt(torch.var(…) + eps)`
        module = document.is_module(root.func.value)
        way = f"{document.source(root.func.value)}.sqrt({{v}} + {{e}})" if module else "({v} + {e}).sqrt()"
        return {root: lambda now: expression(way, v=renamed(style, now, "var"), e=eps)}
    base = taken[0]
    chained = isinstance(whole, cst.Call) and len(whole.args) == 1
    first = isinstance(whole, cst.BinaryOperation) and whole.right is _kept(whole, eps)
    if chained and not base.lpar and isinstance(base, cst.Call) and isinstance(base.func, cst.Attribute):
        return {base: expression("{x}.add({e})", x=base, e=eps)}
    x = tight(stripped(base), SUM + first)
    return {base: instead(document, base, expression("{e} + {x}" if first else "{x} + {e}", x=x, e=eps))}


# --- away from where it stands ---------------------------------------------------------------------------------------


def _kept(whole: cst.CSTNode, eps: cst.BaseExpression) -> cst.BaseExpression | None:
    """The part of a sum that is left without eps."""
    several = operands(whole) if operation(whole) == "add" else []
    first = isinstance(whole, cst.BinaryOperation) and bool(several) and several[0].deep_equals(eps)
    return several[first] if several else None


def _away(document: Document, whole: Any, eps: cst.BaseExpression) -> Changes:
    """The sum without eps; a statement that only added it goes."""
    stmt, kept = document.parent(whole), _kept(whole, eps)
    if isinstance(whole, cst.AugAssign):
        return document.gone(whole)
    same = (
        isinstance(stmt, cst.Assign)
        and len(stmt.targets) == 1
        and kept is not None
        and stmt.targets[0].target.deep_equals(kept)
    )
    if same or (isinstance(stmt, cst.Expr) and called(whole).endswith("_")):
        return document.gone(stmt)
    return {whole: lambda now: in_place_of(document, whole, _kept(now, eps) or now)}


# --- who else is concerned -------------------------------------------------------------------------------------------


def _only_use(document: Document, root: cst.BaseExpression, whole: cst.CSTNode) -> bool:
    """Does the value of the root go to the sum only, and does nothing else go into the sum?"""
    target = getattr(whole, "target", None)
    for node in carried(document, root):
        if node is whole or node is target:
            return True
        stmt = document.parent(node)
        later = loads_after(document, stmt) if isinstance(stmt, cst.Assign | cst.AnnAssign) else []
        if later and not sole_value(document, stmt, later[0]):
            return False
        if len(later) > 1 and later[0] is not target:
            anew = document.around(whole, cst.Assign)
            if document.around(later[0], cst.Assign) is not anew or names_of(anew) != names_of(stmt):
                return False
    return False


def _seen(document: Document, eps: cst.BaseExpression, root: cst.BaseExpression) -> bool:
    """Do the names in eps mean the same at the root, so that it can be written there?"""
    names = {
        n.value for n in (document.below(eps, cst.Name) or [eps]) if isinstance(n, cst.Name) and reads(document, n)
    }
    one, two = document.scope(eps), document.scope(root)
    bound = stored(document, one, *names)
    if one is two or number(eps) is not None:
        end = document.span(eps).start
        return not any(document.span(root).start <= document.span(n).start < end for n in bound)
    same = document.around(eps, cst.ClassDef) is document.around(root, cst.ClassDef)
    return not {n.value for n in bound} - ({"self"} if same else set())
