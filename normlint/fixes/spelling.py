"""Read operations, and write expressions with the parentheses that their place needs, as the text spells them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import libcst as cst
from libcst import helpers

from normlint.fixes.document import Document
from normlint.fixes.tree import Tree, spelled

HALF: Final = Fraction(1, 2)
POWERS: Final = {"sqrt": HALF, "rsqrt": -HALF, "reciprocal": Fraction(-1), "square": Fraction(2)}
NAMED: Final = {power: name for name, power in POWERS.items()}
ATOM, POWER, UNARY, PRODUCT, SUM, LOOSE = 16, 14, 13, 12, 11, 0  # how tightly an expression binds
_TIGHT: Final = {
    cst.Power: POWER,
    **dict.fromkeys((cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.MatrixMultiply), PRODUCT),
    **dict.fromkeys((cst.Add, cst.Subtract), SUM),
}
_SIGNS: Final[dict[Any, str]] = {
    **dict.fromkeys((cst.Multiply, cst.MultiplyAssign), "mul"),
    **dict.fromkeys((cst.Divide, cst.DivideAssign), "div"),
    **dict.fromkeys((cst.Add, cst.AddAssign), "add"),
    **dict.fromkeys((cst.Subtract, cst.SubtractAssign), "sub"),
    cst.Power: "pow",
}
_NAMES: Final = {
    **{name: name for name in ("mul", "div", "add", "sub", "pow")},
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "float_power": "pow",
}
_GIVEN: Final = ("input", "other", "exponent")  # names under which torch takes operands
_ATOMS: Final = cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.List | cst.Dict | cst.BaseString


def binding(node: cst.BaseExpression) -> int:
    """Return how tightly the expression binds, including its own parentheses."""
    if node.lpar or isinstance(node, _ATOMS):
        return ATOM
    if isinstance(node, cst.BinaryOperation):
        return _TIGHT.get(type(node.operator), LOOSE)
    if isinstance(node, cst.UnaryOperation):
        return LOOSE if isinstance(node.operator, cst.Not) else UNARY
    return POWER if isinstance(node, cst.BaseNumber) else LOOSE  # 1.float() doesn't parse


def tight(node: cst.BaseExpression, needed: int = ATOM) -> cst.BaseExpression:
    """Return the expression, in parentheses if it binds less tightly than `needed`."""
    if binding(node) >= needed:
        return node
    return node.with_changes(lpar=(cst.LeftParen(),), rpar=(cst.RightParen(),))


def bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """Remove the expression's parentheses, unless they hold several lines or comments together."""
    return node if spread(node) else node.with_changes(lpar=(), rpar=())


def spread(node: cst.BaseExpression) -> bool:
    """Return whether parentheses must hold the expression together, because it has several lines or a comment."""
    return "\n" in shown(node) or "#" in shown(node)


def shown(node: cst.CSTNode) -> str:
    """Return the node's source code, also for a node that isn't in the text."""
    return cst.Module([]).code_for_node(node)


def stripped(node: cst.BaseExpression) -> cst.BaseExpression:
    """Remove the expression's parentheses in any case, for a place within those of a call."""
    return node.with_changes(lpar=(), rpar=())


def called(node: cst.CSTNode | None) -> str:
    """Return the last part of the called function's name; empty for anything but a call."""
    return last_name(node) if isinstance(node, cst.Call) else ""


def last_name(node: cst.CSTNode | None) -> str:
    """Return the last part of a dotted name or of a called function's name."""
    func = node.func if isinstance(node, cst.Call) else node
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


def operation(node: cst.CSTNode | None) -> str:
    """Return mul, div, add, sub or pow for a binary operator, method or function of torch; empty for others."""
    return _SIGNS.get(type(getattr(node, "operator", None))) or _NAMES.get(called(node).rstrip("_"), "")


def operands(node: Any, several: int = 2) -> list[cst.BaseExpression]:
    """Return the operands in order, a method's tensor first; empty unless there are `several`."""
    if isinstance(node, cst.BinaryOperation | cst.AugAssign):
        values = [node.left, node.right] if isinstance(node, cst.BinaryOperation) else [node.target, node.value]
    else:
        args = node.args if isinstance(node, cst.Call) else ()
        values = [a.value for a in args if not a.star and (not a.keyword or a.keyword.value in _GIVEN)]
        by_method = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and len(args) == several - 1
        values = [node.func.value, *values] if by_method else values if len(values) == len(args) else []
    return values if len(values) == several else []


def expression(template: str, **parts: cst.BaseExpression) -> cst.BaseExpression:
    """Parse the template with these expressions in it."""
    return helpers.parse_template_expression(template, cst.PartialParserConfig(), **parts)


def argument(value: cst.BaseExpression, keyword: str = "") -> cst.Arg:
    """Return an argument of a call, with a keyword if one is given."""
    if not keyword:
        return cst.Arg(value)
    none = cst.SimpleWhitespace("")
    return cst.Arg(value, keyword=cst.Name(keyword), equal=cst.AssignEqual(none, none))


def is_none(node: cst.CSTNode | None) -> bool:
    """Return whether the expression is the literal None."""
    return isinstance(node, cst.Name) and node.value == "None"


def number(node: cst.CSTNode | None) -> Fraction | None:
    """Return the value of a number written out: 2, -0.5, 1 / 2."""
    match node:
        case cst.Integer() | cst.Float():
            try:
                return Fraction(node.evaluated_value)
            except (ValueError, OverflowError):  # too many digits, or infinite
                return None
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            value = number(inner)
            return None if value is None else -value
        case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right):
            over, under = number(left), number(right)
            return None if over is None or not under else over / under
    return None


def rooted(tree: Tree, node: cst.BaseExpression, name: str) -> cst.BaseExpression:
    """Return the sqrt or rsqrt of the expression, as a method if the text doesn't import torch."""
    function = spelled(tree, f"torch.{name}")
    return call_of(function, node) if function else expression(f"{{x}}.{name}()", x=tight(node))


def call_of(function: str, node: cst.BaseExpression) -> cst.Call:
    """Return a call of the function with the expression; its parentheses become those of the call."""
    call = cst.ensure_type(cst.parse_expression(f"{function}()"), cst.Call)
    if not node.lpar:
        return call.with_changes(args=[cst.Arg(node)])
    left, right = node.lpar[-1], node.rpar[0]  # white space and comments in them stay
    arg = cst.Arg(stripped(node), whitespace_after_arg=right.whitespace_before)
    return call.with_changes(args=[arg], whitespace_before_args=left.whitespace_after)


def placed(document: Document, old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
    """Return the new expression in the parentheses that it needs in place of the old one."""
    holder, needed = document.parent(old), LOOSE
    match holder:
        case cst.BinaryOperation(left=left, operator=operator):
            level = _TIGHT.get(type(operator), LOOSE)
            needed = level + (1 if (left is not old) != isinstance(operator, cst.Power) else 0)
        case cst.UnaryOperation() | cst.Await():
            needed = UNARY
        case cst.Attribute(value=head) | cst.Subscript(value=head) | cst.Call(func=head) if head is old:
            needed = ATOM
        case cst.Comparison() | cst.ComparisonTarget() | cst.BooleanOperation() | cst.IfExp() | cst.StarredElement():
            needed = SUM
    return tight(new, needed)


def instead(document: Document, old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
    """Return the new expression for the place of the old one, within the old parentheses if there are any."""
    return new.with_changes(lpar=old.lpar, rpar=old.rpar) if old.lpar else placed(document, old, new)
