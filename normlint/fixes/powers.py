"""Another power: the roots, powers and divisions that a statistic goes through, each changed by a factor."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import Product, product_at
from normlint.fixes.spelling import (
    HALF,
    NAMED,
    POWER,
    POWERS,
    PRODUCT,
    Style,
    bare,
    called,
    number,
    operands,
    operation,
    placed,
    spread,
    tight,
    written,
)

_FLIPPED: Final = {"mul": "div", "multiply": "divide", "div": "mul", "divide": "multiply", "true_divide": "mul"}


def scaled(document: Document, style: Style, node: cst.CSTNode | None, factor: Fraction) -> Iterator[Changes]:
    """The root, power, product or division with its power multiplied by the factor."""
    found = power_of(node)
    if isinstance(node, cst.BaseExpression) and found is not None:
        yield from _raised(document, style, node, found[0], found[1] * factor)
    elif operation(node) in ("mul", "div") and (several := operands(node)):
        yield from _division(document, style, node, several[1], factor)


def power_of(node: cst.CSTNode | None) -> tuple[cst.BaseExpression, Fraction] | None:
    """(base, exponent) of a root, square, reciprocal or power, however it is written."""
    name = called(node).rstrip("_")
    if name in POWERS:
        return next(((base, POWERS[name]) for base in operands(node, 1)), None)
    base, exponent = (operands(node) if operation(node) == "pow" else ()) or (None, None)
    value = number(exponent)
    return None if base is None or value is None else (base, value)


def squared_base(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """What is squared: x of `x ** 2`, `x * x`, `x.pow(2)`, `x.square()`, `x.mul(x)`."""
    found = power_of(node)
    if found is not None:
        return found[0] if found[1] == 2 else None
    factors = operands(node) if operation(node) == "mul" else ()
    return factors[0] if factors and factors[0].deep_equals(factors[1]) else None


def _raised(
    document: Document, style: Style, node: cst.BaseExpression, base: cst.BaseExpression, power: Fraction
) -> Iterator[Changes]:
    if power == 1:
        yield {node: in_place_of(document, node, base)}
    elif isinstance(node, cst.Call) and called(node).rstrip("_") in POWERS:
        if power in NAMED:
            yield {node: renamed(style, node, NAMED[power])}
    else:
        exponent = node.right if isinstance(node, cst.BinaryOperation) else node.args[-1].value  # type: ignore[attr-defined]
        yield {exponent: written(power)}


def in_place_of(document: Document, whole: cst.BaseExpression, part: cst.BaseExpression) -> cst.BaseExpression:
    """The part in place of the whole expression, without parentheses that aren't needed any more."""
    kept = placed(document, whole, bare(part))
    if whole.lpar and not kept.lpar and spread(kept):
        return kept.with_changes(lpar=whole.lpar, rpar=whole.rpar)
    return kept


def renamed(style: Style, call: cst.Call, name: str) -> cst.Call:
    """The call with the name of the function or method exchanged."""
    name += "_" * called(call).endswith("_")
    if isinstance(call.func, cst.Attribute):
        return call.with_changes(func=call.func.with_changes(attr=cst.Name(name)))
    return call.with_changes(func=cst.parse_expression(style.function(name) or name))


def _other(operator: cst.CSTNode, kind: Any) -> Any:
    """Another operator with the white space of the old one."""
    spaces = ("whitespace_before", "whitespace_after")
    return kind(**{name: getattr(operator, name) for name in spaces})


# --- divisions and products ------------------------------------------------------------------------------------------


def _division(document: Document, style: Style, node: Any, divisor: Any, factor: Fraction) -> Iterator[Changes]:
    if factor == -1:
        if isinstance(node, cst.BinaryOperation) and number(node.left) == 1:
            yield {node: in_place_of(document, node, node.right)}
        found = product_at(document, divisor)
        yield from flipped(style, found) if found else ()
    if factor == HALF:
        yield {divisor: style.around(divisor, "sqrt")}


def flipped(style: Style, product: Product) -> Iterator[Changes]:
    """The product as a division by its value, the division as a product."""
    node = product.node
    match node:
        case cst.AugAssign(operator=operator):
            kind: Any = cst.DivideAssign if isinstance(operator, cst.MultiplyAssign) else cst.MultiplyAssign
            yield {operator: _other(operator, kind)}
        case cst.BinaryOperation(operator=operator) if not product.first:
            kind = cst.Divide if isinstance(operator, cst.Multiply) else cst.Multiply
            yield {operator: _other(operator, kind)}
        case cst.BinaryOperation(operator=cst.Multiply() as operator):
            other, value = tight(product.other, PRODUCT), tight(product.value, POWER)
            yield {node: node.with_changes(left=other, operator=_other(operator, cst.Divide), right=value)}
        case cst.Call() if not product.first:
            yield {node.func: renamed(style, node, _FLIPPED[called(node).rstrip("_")]).func}
