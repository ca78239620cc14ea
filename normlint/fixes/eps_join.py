"""What a root is taken of, and how eps joins it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import Step
from normlint.fixes.document import Changes, Document
from normlint.fixes.powers import power_of
from normlint.fixes.spelling import HALF, SUM, expression, instead, operands, operation, stripped, tight
from normlint.text.frozen import dataclass

ONE: Final = Fraction(1)
_POWERS: Final = {"norm": HALF, "std": HALF, "sqrt": HALF, "rsqrt": -HALF, "recip": -ONE, "square": Fraction(2)}


@dataclass(frozen=True, slots=True)
class Place:
    """Where eps belongs: beside `node`, which is the mean square (`squared`) or already its root."""

    node: cst.BaseExpression
    squared: bool


def place(document: Document, trail: Sequence[Step]) -> Place | None:
    """What the last root is taken of; where the statistic is a root itself, what the input is divided by."""
    walked = list(_walked(document, trail))
    for wanted, squared in ((ONE, True), (HALF, False)):
        leaving = [step for step, before, after in walked if before == wanted != after]
        if leaving:
            node = _operand(document, leaving[-1])
            return Place(node, squared) if node is not None else None
    return None


def _walked(document: Document, trail: Sequence[Step]) -> Iterator[tuple[Step, Fraction, Fraction]]:
    """Each step that changes the power of the mean square, but not a root that the statistic is itself."""
    power = ONE
    for step in trail:
        taken = power_of(document.at(step.span)) if step.op == "pow" else (None, _POWERS.get(step.op, ONE))
        if taken is None:
            return
        if step.op not in ("norm", "std"):
            yield step, power, power * taken[1]
        power *= taken[1]


def _operand(document: Document, step: Step) -> Any:
    """What the root, the power or the reciprocal is taken of; what is divided by."""
    node = document.at(step.span, cst.AugAssign) or document.at(step.span)
    if operation(node) == "div":
        return next(iter(operands(node)[1:]), None)
    found = power_of(node)
    return found[0] if found is not None else None


def joined(document: Document, where: Place, eps: str) -> Changes:
    """Eps at its place: added to the mean square, or a floor of its root."""
    node, value = where.node, cst.parse_expression(eps)
    if not where.squared:
        return {node: lambda now: expression("{x}.clamp(min={e})", x=tight(now), e=value)}
    chain = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not node.lpar
    if chain and isinstance(document.parent(node), cst.Attribute) and not document.is_module(node.func.value):  # type: ignore[attr-defined]
        return {node: lambda now: expression("{x}.add({e})", x=now, e=value)}
    return {node: lambda now: instead(document, node, _sum(now, value))}


def _sum(value: cst.BaseExpression, eps: cst.BaseExpression) -> cst.BaseExpression:
    return expression("{x} + {e}", x=tight(stripped(value), SUM), e=eps)
