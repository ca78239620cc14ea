"""The length of the features as a text writes it: where a name gets it, and what to write in its place."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import libcst as cst

from normlint.fixes.calls import operand_of
from normlint.fixes.document import Changes, Document
from normlint.fixes.powers import squared_base
from normlint.fixes.spelling import called, expression, number, tight
from normlint.text.operations import CLASSES

_SAME: Final = frozenset(f"{CLASSES['cast']} {CLASSES['same']} square pow".split())


# --- what to write ---------------------------------------------------------------------------------------------------


def raised(length: cst.BaseExpression, power: Fraction) -> cst.BaseExpression:
    """The length to a power."""
    if power == 1:
        return length
    exponent = str(power.numerator) if power.denominator == 1 else repr(float(power))
    return expression(f"{{x}} ** {exponent}", x=tight(length))


def last_of(document: Document, tensor: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """The length of a tensor's last axis, where the tensor, or what it is the square or a cast of, has a name."""
    while (inner := _unwrapped(document, tensor)) is not None:
        tensor = inner
    if not isinstance(tensor, cst.Name | cst.Attribute):
        return None
    return expression("{x}.shape[-1]", x=tensor)


def _unwrapped(document: Document, tensor: cst.BaseExpression | None) -> cst.BaseExpression | None:
    if isinstance(tensor, cst.Call) and called(tensor) in _SAME:
        return operand_of(document, tensor)  # type: ignore[no-any-return]
    return squared_base(tensor)


def to_last(document: Document, operand: cst.BaseExpression | None) -> Changes | None:
    """The changes that make a length in an operand that of the last axis; None where it isn't plain."""
    nodes = document.below(operand, cst.Subscript | cst.Call)
    changes = {at: new for node in nodes for at, new in _made_last(document, node) if new is not None}
    return changes if len(changes) == 1 else None


def _made_last(document: Document, node: cst.CSTNode) -> Iterator[tuple[Any, cst.BaseExpression | None]]:
    last = cst.parse_expression("-1")
    match node:
        case cst.Subscript(
            value=cst.Attribute(attr=cst.Name(value="shape")),
            slice=[cst.SubscriptElement(slice=cst.Index(value=index))],
        ) if number(index) not in (None, -1):
            yield index, last
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="size")), args=[cst.Arg(value=index)]):
            yield index, last if number(index) not in (None, -1) else None
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="numel" | "nelement"), value=tensor), args=[]):
            yield node, last_of(document, tensor)
