"""What a function has at hand for centring: names of centred values, names of means, and means written out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from normlint.rules.repair.formula_flow import called, names_of
from normlint.rules.repair.formula_text import function, tight
from normlint.rules.repair.tree import SUM, Function, Tree
from normlint.rules.repair.work import walk
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

_MEANS: Final = ("mean", "var_mean", "std_mean", "sum", "reduce")
_OF_VARIANCES: Final = ("unbiased", "correction", "dtype", "out")


@dataclass(frozen=True, slots=True)
class Means:
    """Names of centred values and of means in a function, and means that are written out; the last first."""

    centred: tuple[str, ...]
    means: tuple[str, ...]
    written: tuple[str, ...]


def known_means(tree: Tree, node: ast.expr) -> Means:
    """What the function of the node has."""
    holder = tree.function(node) or tree.root
    statements = list(_assignments(holder))[::-1]
    centred = (name for s in statements if subtraction(s.value) is not None for name in names_of(s))
    means = (name for s in statements if holds_mean(s.value) for name in names_of(s)[-1:])
    differences = [n for n in walk(holder) if isinstance(n, ast.expr) and subtraction(n) is n]
    inline = [subtrahend(n) for n in differences]
    written = (tight(tree, n, SUM + 1) for n in inline if n is not None and not isinstance(n, ast.Name))
    return Means(_each(centred), _each(means), _each(written))


def _each(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name != "_"))


def _assignments(holder: Function | ast.Module) -> Iterator[ast.Assign | ast.AnnAssign]:
    found = [n for n in walk(holder) if isinstance(n, ast.Assign | ast.AnnAssign)]
    return iter(sorted(found, key=lambda n: n.lineno))


def holds_mean(value: ast.expr | None) -> bool:
    """A mean, or a sum over a count, is taken in the expression, and nothing is centred by it."""
    return value is not None and any(called(n) in _MEANS for n in walk(value)) and subtraction(value) is None


def subtraction(node: ast.expr | None) -> ast.expr | None:
    """The expression, where it is a difference: a - b, a.sub(b), torch.sub(a, b)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node
    return node if called(node) in ("sub", "subtract") else None


def subtrahend(node: ast.expr) -> ast.expr | None:
    """What a difference subtracts."""
    if isinstance(node, ast.BinOp):
        return node.right
    return node.args[-1] if isinstance(node, ast.Call) and node.args else None


def by_method(tree: Tree, call: ast.Call) -> bool:
    """A method of a tensor, not a function of torch."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    torch = function(tree, "mean").removesuffix(".mean")
    return receiver is not None and tree.source(receiver) != torch


def arguments_of(tree: Tree, call: ast.Call) -> list[str]:
    """The arguments of a reduction that a mean takes as well, without the tensor."""
    given = call.args if by_method(tree, call) else call.args[1:]
    keywords = [tree.source(k) for k in call.keywords if k.arg not in _OF_VARIANCES]
    return [*(tree.source(a) for a in given), *keywords]


def mean_of(tree: Tree, target: ast.expr, statistic: ast.expr) -> str:
    """The target's mean, spelled as the statistic is; empty where that can't be said."""
    if not isinstance(statistic, ast.Call):
        return ""
    arguments = arguments_of(tree, statistic)
    if not any("keepdim" in a for a in arguments) and "True" not in arguments:
        arguments.append("keepdim=True")
    if by_method(tree, statistic):
        return f"{tight(tree, target)}.mean({', '.join(arguments)})"
    spelled = tree.source(statistic.func)
    name = spelled[: len(spelled) - len(called(statistic))] + "mean"
    return f"{name}({', '.join([tree.source(target), *arguments])})" if "." in name else ""


def deleted(tree: Tree, stmt: ast.stmt) -> Edit:
    """The statement's lines go, with the comment behind it; among others on its line, it becomes `pass`."""
    start, end = tree.span(stmt)
    first, last = tree.text.rfind("\n", 0, start) + 1, tree.text.find("\n", end) + 1
    behind = tree.text[end:last].strip()
    whole = not tree.text[first:start].strip() and last and (not behind or behind.startswith("#"))
    return Edit(Span(first, last), "") if whole else Edit(Span(start, end), "pass")


def line_of(tree: Tree, stmt: ast.stmt) -> str:
    """The statement with the comment behind it."""
    start, end = tree.span(stmt)
    last = tree.text.find("\n", end)
    behind = tree.text[end:last].rstrip() if last >= 0 else ""
    return tree.text[start:end] + (behind if behind.lstrip().startswith("#") else "")
