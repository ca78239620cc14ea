"""Repairs of NRM404 in a norm that says RMS: no mean is subtracted on either side."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from normlint.norm.norm import Computation, Norm
from normlint.rules.repair.formula_flow import called, carried, loads_of, names_of
from normlint.rules.repair.formula_means import arguments_of, by_method, deleted, subtraction, subtrahend
from normlint.rules.repair.formula_powers import Edits
from normlint.rules.repair.formula_text import function, instead, tight
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.trial import Candidate, Trial
from normlint.rules.repair.work import walk
from normlint.text.finding import Applicability, Edit, Fix

_MESSAGE: Final = "Average the squares of the input as it is"


def uncentre(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Take the mean away from the statistic, or from the input; with a shift it may be a layer norm after all."""
    if c.shift is not None:
        return None
    return Trial(tree, norm, "NRM404").first(_candidates(c, tree), Applicability.SAFE)


def _candidates(c: Computation, tree: Tree) -> Iterator[Candidate]:
    start = tree.at(c.statistic.span)
    if start is None:
        return
    yield from ((_MESSAGE, edits) for edits in _mean_square(tree, start))
    for difference in _differences(tree, start):
        yield "Leave the input as it is", _undone(tree, difference)


def _mean_square(tree: Tree, node: ast.expr) -> Iterator[Edits]:
    """`x.var(-1, keepdim=True)` becomes `x.pow(2).mean(-1, keepdim=True)`; of std, the root of it."""
    name = called(node)
    if not isinstance(node, ast.Call) or name not in ("var", "std"):
        return
    arguments, end = arguments_of(tree, node), ".sqrt()" if name == "std" else ""
    if by_method(tree, node) and isinstance(node.func, ast.Attribute):
        text = f"{tight(tree, node.func.value)}.pow(2).mean({', '.join(arguments)}){end}"
    elif node.args and (mean := function(tree, "mean")):
        text = f"{mean}({', '.join([f'{tight(tree, node.args[0])}.pow(2)', *arguments])}){end}"
    else:
        return
    yield (tree.replace(node, text),)


def _differences(tree: Tree, start: ast.expr) -> Iterator[ast.expr]:
    """The subtractions in the function of the statistic, and in those that its value reaches; the first first."""
    holders = dict.fromkeys(tree.function(node) for node in carried(tree, start))
    for holder in holders:
        if holder is not None:
            found = [n for n in walk(holder) if isinstance(n, ast.expr) and subtraction(n) is n]
            yield from sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _undone(tree: Tree, difference: ast.expr) -> Edits:
    """The minuend alone; or no statement at all, where that is a name's own value."""
    minuend, stmt = _minuend(difference), tree.statement(difference)
    if minuend is None or stmt is None:
        return ()
    gone: list[ast.AST] = [_subtrahend(difference)]
    if isinstance(stmt, ast.Assign) and stmt.value is difference and isinstance(minuend, ast.Name):
        return _by_minuend(tree, stmt, minuend, gone)
    return (*instead(tree, difference, minuend), *_unused(tree, stmt, gone))


def _by_minuend(tree: Tree, stmt: ast.Assign, minuend: ast.Name, gone: list[ast.AST]) -> Edits:
    """The line goes; where it gave another name, the input is read instead."""
    names = names_of(stmt)
    loads = [n for name in names for n in loads_of(tree, name, tree.function(stmt))]
    renamed = () if names == (minuend.id,) else tuple(tree.replace(n, minuend.id) for n in loads)
    return (deleted(tree, stmt), *renamed, *_unused(tree, stmt, [*gone, stmt]))


def _unused(tree: Tree, stmt: ast.stmt, gone: list[ast.AST]) -> Iterator[Edit]:
    """Lines whose name nothing reads any more."""
    inside = {n for one in gone for n in walk(one)}
    for other in walk(tree.function(stmt) or tree.root):
        if isinstance(other, ast.Assign) and other is not stmt and len(names := names_of(other)) == 1:
            loads = loads_of(tree, names[0], tree.function(stmt))
            if loads and all(n in inside for n in loads) and isinstance(other.targets[0], ast.Name):
                yield deleted(tree, other)


def _minuend(difference: ast.expr) -> ast.expr | None:
    if isinstance(difference, ast.BinOp):
        return difference.left
    if not isinstance(difference, ast.Call):
        return None
    if len(difference.args) == 2:
        return difference.args[0]
    return difference.func.value if isinstance(difference.func, ast.Attribute) else None


def _subtrahend(difference: ast.expr) -> ast.expr:
    return subtrahend(difference) or difference
