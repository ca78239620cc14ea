"""Repairs of NRM404: the mean subtracted on both sides, or, in an RMS norm, on neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from normlint.norm.norm import Computation, Norm
from normlint.rules.repair.formula_flow import called, definitions, names_of, products
from normlint.rules.repair.formula_means import deleted, holds_mean, known_means, line_of, mean_of, subtraction
from normlint.rules.repair.formula_powers import Edits
from normlint.rules.repair.formula_text import number, parenthesised, tight
from normlint.rules.repair.formula_uncentre import uncentre
from normlint.rules.repair.tree import SUM, Tree
from normlint.rules.repair.trial import Candidate, Trial
from normlint.rules.repair.work import walk
from normlint.text.finding import Applicability, Edit, Fix

_CENTRES: Final = 3


def centre(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Subtract the mean where it is missing."""
    if norm.owner.intent == "rms":
        return uncentre(norm, c, tree)
    return Trial(tree, norm, "NRM404", partly=True).first(_candidates(c, tree), Applicability.SAFE)


def _candidates(c: Computation, tree: Tree) -> Iterator[Candidate]:
    start, inner = tree.at(c.statistic.span), tree.at(c.statistic.inner_span)
    if start is None or inner is None:
        return
    if c.centred[0]:
        targets = [[t] for p in products(tree, start) if number(p.other) is None for t in _parts(p.other)]
        message = "Subtract the mean from the input"
    else:
        wholes = [inner, *definitions(tree, inner)]
        targets = [_same(tree, whole, t) for whole in wholes for t in _parts(whole)]
        message = "Subtract the mean under the square"
    yield from (("Subtract the mean before the squares are taken", moved) for moved in _moved(tree, start, targets))
    for many in targets:
        yield from ((message, edits) for edits in _centred(tree, many, start))


def _moved(tree: Tree, statistic: ast.expr, targets: list[list[ast.expr]]) -> Iterator[Edits]:
    """A line further down that subtracts the mean, or takes it, stands in front of the statistic."""
    stmt = tree.statement(statistic)
    block = tree.body_of(stmt) if stmt is not None else []
    for at, later in enumerate(block):
        if stmt is None or not isinstance(later, ast.Assign) or not _may_pass(later, block[block.index(stmt) : at]):
            continue
        move = (tree.line_before(stmt, line_of(tree, later)), deleted(tree, later))
        if subtraction(later.value) is not None:
            yield move
        elif holds_mean(later.value) and (name := next(iter(names_of(later)), "")):
            yield from ((*(_difference(tree, t, name) for t in many), *move) for many in targets)


def _may_pass(later: ast.Assign, passed: list[ast.stmt]) -> bool:
    """The statement may stand in front of the first of those: they give it nothing, and the first alone sees it."""
    read = {n.id for n in walk(later.value) if isinstance(n, ast.Name)}
    names = [n for stmt in passed for n in walk(stmt) if isinstance(n, ast.Name)]
    given = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    seen = {n.id for stmt in passed[1:] for n in walk(stmt) if isinstance(n, ast.Name)}
    return bool(passed) and not read & given and not set(names_of(later)) & (seen | given)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """What may be the input in an expression: itself, or a name or call in it, the widest first."""
    kinds = ast.Name | ast.Call | ast.Subscript
    own = node if not isinstance(node, kinds) else None
    if own is not None and not isinstance(node, ast.BinOp):
        yield own
    for part in walk(node):
        if isinstance(part, kinds) and isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
            yield part


def _same(tree: Tree, whole: ast.expr, part: ast.expr) -> list[ast.expr]:
    """Everything in the whole that is written like the part: both factors of `x * x`."""
    text = tree.source(part)
    return [n for n in walk(whole) if isinstance(n, type(part)) and tree.source(n) == text]


def _centred(tree: Tree, targets: list[ast.expr], statistic: ast.expr) -> Iterator[Edits]:
    """The targets by the name of what is centred, less the name of the mean, or less the mean written out."""
    target = targets[0]
    known = known_means(tree, target)
    for name in known.centred[:_CENTRES]:
        yield tuple(tree.replace(t, name) for t in targets)
    for less in (*known.means[:_CENTRES], *known.written[:_CENTRES]):
        yield tuple(_difference(tree, t, less) for t in targets)
    yield from _discarded(tree, targets, statistic)
    mean = mean_of(tree, target, statistic)
    if mean:
        yield tuple(_difference(tree, t, mean) for t in targets)


def _difference(tree: Tree, target: ast.expr, less: str) -> Edit:
    own = parenthesised(tree, target)
    text = f"{tree.source(target) if own else tight(tree, target, SUM)} - {less}"
    holder = tree.parent(target)
    free = isinstance(holder, ast.stmt | ast.keyword) or (isinstance(holder, ast.Call) and target in holder.args)
    return tree.replace(target, text if free or own else f"({text})")


def _discarded(tree: Tree, targets: list[ast.expr], statistic: ast.expr) -> Iterator[Edits]:
    """`var, _ = torch.var_mean(x)` has the mean already."""
    stmt = tree.parent(statistic)
    if called(statistic) not in ("var_mean", "std_mean") or not isinstance(stmt, ast.Assign):
        return
    pair = stmt.targets[0]
    if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 and isinstance(pair.elts[1], ast.Name):
        edits = (_difference(tree, t, "mean") for t in targets)
        yield (tree.replace(pair.elts[1], "mean"), *edits)
