"""The syntax around eps: what a root is taken of, and how eps joins it in the spelling that stands there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from normlint.evaluate.monomial import Step
from normlint.fixes.casts_edits import first_operand
from normlint.fixes.tree import ATOM, SUM, Tree, binding, called, is_module
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

ONE, HALF = Fraction(1), Fraction(1, 2)
_POWERS: Final = {"norm": HALF, "std": HALF, "sqrt": HALF, "rsqrt": -HALF, "recip": -ONE, "square": Fraction(2)}
_DIVISIONS = ("div", "div_", "divide", "divide_", "true_divide", "true_divide_")


@dataclass(frozen=True, slots=True)
class Place:
    """Where eps belongs: beside `node`, which is the mean square (`squared`) or already its root."""

    node: ast.expr
    squared: bool


def place(tree: Tree, trail: Sequence[Step]) -> Place | None:
    """What the last root is taken of; where the statistic is a root itself, what the input is divided by."""
    walked = list(_walked(tree, trail))
    for wanted, squared in ((ONE, True), (HALF, False)):
        leaving = [step for step, before, after in walked if before == wanted != after]
        if leaving:
            node = operand(tree, leaving[-1])
            return Place(node, squared) if node is not None else None
    return None


def _walked(tree: Tree, trail: Sequence[Step]) -> Iterator[tuple[Step, Fraction, Fraction]]:
    """Each step that changes the power of the mean square, but not a root that the statistic is itself."""
    power = ONE
    for step in trail:
        factor = exponent(tree, step) if step.op == "pow" else _POWERS.get(step.op, ONE)
        if factor is None:
            return
        if step.op not in ("norm", "std"):
            yield step, power, power * factor
        power *= factor


def exponent(tree: Tree, step: Step) -> Fraction | None:
    """The number that a power is taken to."""
    node = tree.at(step.span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _fraction(node.right)
    if isinstance(node, ast.Call):
        given = [*node.args, *(k.value for k in node.keywords if k.arg == "exponent")]
        return _fraction(given[-1]) if given else None
    return None


def _fraction(node: ast.expr) -> Fraction | None:
    value = number(node)
    return None if value is None else Fraction(value).limit_denominator(64)


def number(node: ast.AST | None) -> float | None:
    """The value of a number as it is written, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    plain = isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return float(node.value) if plain else None  # type: ignore[union-attr]


# --- what a step is taken of -----------------------------------------------------------------------------------------


def operand(tree: Tree, step: Step) -> ast.expr | None:
    """What the root, the power or the reciprocal is taken of; what is divided by."""
    statement = tree.at(step.span, ast.AugAssign)
    if statement is not None:
        return statement.value if isinstance(statement.op, ast.Div) else None
    node = tree.at(step.span)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            return node.left
        return node.right if isinstance(node.op, ast.Div) else None
    return _argument(tree, node) if isinstance(node, ast.Call) else None


def _argument(tree: Tree, call: ast.Call) -> ast.expr | None:
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "other")]
    if called(call) in _DIVISIONS:
        return given[-1] if given else None
    return first_operand(tree, call)


# --- eps joins -------------------------------------------------------------------------------------------------------


def added(tree: Tree, node: ast.expr, eps: str, style: str = "") -> tuple[Edit, ...]:
    """`node + eps`, as it must be written where the node stands; `style`: chain, left, right or what is shortest."""
    start, end = tree.span(node)
    bare = tree.with_parentheses(node) == (start, end) and not _stands_alone(tree.parent(node))
    if bare and style in ("", "chain") and isinstance(tree.parent(node), ast.Attribute) and _in_a_chain(tree, node):
        return (Edit(Span(end, end), f".add({eps})"),)
    before, after = ("(", ")") if binding(node) < SUM else ("", "")
    before, after = (f"{eps} + {before}", after) if style == "left" else (before, f"{after} + {eps}")
    if bare:
        before, after = f"({before}", f"{after})"
    edits = Edit(Span(start, start), before), Edit(Span(end, end), after)
    return tuple(edit for edit in edits if edit.text)


def _stands_alone(parent: ast.AST | None) -> bool:
    """No operator and no dot is beside what this node holds."""
    return isinstance(parent, ast.Call | ast.keyword | ast.Assign | ast.AnnAssign | ast.Return | ast.AugAssign)


def _in_a_chain(tree: Tree, node: ast.expr) -> bool:
    """A call of a method: the next link may be one, too."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not is_module(tree, node.func.value)


def clamped(tree: Tree, node: ast.expr, eps: str) -> tuple[Edit, ...]:
    """`node.clamp(min=eps)`."""
    start, end = outer = tree.with_parentheses(node)
    after = f".clamp(min={eps})"
    if outer != tree.span(node) or binding(node) >= ATOM:
        return (Edit(Span(end, end), after),)
    return Edit(Span(start, start), "("), Edit(Span(end, end), f"){after}")


def joined(tree: Tree, where: Place, eps: str) -> tuple[Edit, ...]:
    """Eps at its place: added to the mean square, or a floor of its root."""
    return added(tree, where.node, eps) if where.squared else clamped(tree, where.node, eps)


def passed(tree: Tree, call: ast.Call, name: str, text: str) -> Edit | None:
    """One more keyword argument; None where it may be given already, out of sight."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    return after_arguments(tree, call, f"{name}={text}")


def after_arguments(tree: Tree, call: ast.Call, text: str) -> Edit:
    """One more argument, the last."""
    given = [*call.args, *(k.value for k in call.keywords)]
    ends = [tree.with_parentheses(one).end for one in given]
    end = max(ends, default=tree.span(call).end - 1)
    return Edit(Span(end, end), f", {text}" if ends else text)
