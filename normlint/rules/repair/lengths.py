"""The length of the features as a text writes it: what is in an operand, and what to write in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from normlint.rules.repair.calls import called, is_module
from normlint.rules.repair.tree import ATOM, Tree, binding
from normlint.text.finding import Edit, Span

HALF: Final = Fraction(1, 2)
_CASTS: Final = frozenset("float double to type type_as contiguous float32".split())
_PRODUCTS: Final = {"div": "mul", "mul": "div", "divide": "multiply", "multiply": "divide", "true_divide": "mul"}


# --- what stands in an operand ---------------------------------------------------------------------------------------


def power_of(tree: Tree, node: ast.expr) -> Fraction | None:
    """The power of the length in an expression that is nothing else, as x.shape[-1] ** -0.5; None where unsure."""
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _times(power_of(tree, left), number(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right) if number(left) == 1:
            return _times(power_of(tree, right), Fraction(-1))
        case ast.Call(args=[one]) if called(node) in ("sqrt", "rsqrt"):
            return _times(power_of(tree, one), HALF if called(node) == "sqrt" else -HALF)
        case ast.Call(args=[one]) if called(node) in ("float", "int"):
            return power_of(tree, one)
        case ast.Call(args=[one, exponent]) if called(node) == "pow":
            return _times(power_of(tree, one), number(exponent))
        case ast.Call() if called(node) in ("size", "numel", "nelement", "len"):
            return Fraction(1)
        case ast.Subscript():
            return Fraction(1)
        case ast.Name() | ast.Attribute():
            return _bound(tree, node)
    return None


def _times(one: Fraction | None, two: Fraction | None) -> Fraction | None:
    return None if one is None or two is None else one * two


def number(node: ast.expr) -> Fraction | None:
    """A literal number: 2, -0.5, 1 / 2."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) < 100:
            return Fraction(value).limit_denominator(100)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _times(number(operand), Fraction(-1))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            one, two = number(left), number(right)
            return one / two if one is not None and two else None
    return None


def _bound(tree: Tree, node: ast.Name | ast.Attribute) -> Fraction | None:
    """What a name is bound to, if that is done once; a parameter is the length itself."""
    values = list(bindings(tree, node))
    if len(values) == 1 and values[0] is not None:
        return power_of(tree, values[0])
    return Fraction(1) if not values or values == [None] else None


def bindings(tree: Tree, node: ast.Name | ast.Attribute) -> Iterator[ast.expr | None]:
    """The expressions assigned to a name in its function, or to an attribute in the text; None for a part of one."""
    scope = tree.function(node) if isinstance(node, ast.Name) else None
    wanted = ast.unparse(node)
    for one in ast.walk(scope or tree.root):
        if isinstance(one, ast.Assign):
            for target in one.targets:
                if ast.unparse(target) == wanted:
                    yield one.value
                elif isinstance(target, ast.Tuple) and any(ast.unparse(t) == wanted for t in target.elts):
                    yield None
        elif isinstance(one, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and ast.unparse(one.target) == wanted:
            yield one.value if not isinstance(one, ast.AugAssign) else None


# --- how an operand takes part ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operand:
    """A number beside a tensor in a product or a quotient."""

    tree: Tree
    node: ast.expr
    holder: ast.BinOp | ast.Call | ast.AugAssign
    other: ast.expr | None
    divides: bool

    @staticmethod
    def at(tree: Tree, span: Span) -> Operand | None:
        """The operand that the span is."""
        node = tree.at(span)
        holder = tree.parent(node) if node is not None else None
        if node is None:
            return None
        if isinstance(holder, ast.BinOp) and isinstance(holder.op, ast.Mult | ast.Div):
            left = node is holder.left
            other = holder.right if left else holder.left
            return None if left and isinstance(holder.op, ast.Div) else Operand.of(tree, node, holder, other)
        if isinstance(holder, ast.AugAssign) and isinstance(holder.op, ast.Mult | ast.Div):
            return Operand.of(tree, node, holder, None)
        if isinstance(holder, ast.Call) and called(holder) in _PRODUCTS and node is holder.args[-1:][0]:
            return Operand._called(tree, node, holder)
        return None

    @staticmethod
    def of(tree: Tree, node: ast.expr, holder: ast.BinOp | ast.AugAssign, other: ast.expr | None) -> Operand:
        """An operand of an operator."""
        return Operand(tree, node, holder, other, isinstance(holder.op, ast.Div))

    @staticmethod
    def _called(tree: Tree, node: ast.expr, holder: ast.Call) -> Operand | None:
        func = holder.func
        if holder.keywords or not isinstance(func, ast.Attribute):
            return None
        function = is_module(tree, func.value)
        if len(holder.args) != (2 if function else 1):
            return None
        other = holder.args[0] if function else func.value
        return Operand(tree, node, holder, other, "div" in func.attr)

    @property
    def power(self) -> Fraction | None:
        """The power of the length by which the tensor is multiplied."""
        return _times(power_of(self.tree, self.node), Fraction(-1 if self.divides else 1))

    def without(self) -> tuple[Edit, ...] | None:
        """The tensor alone."""
        tree, holder, other = self.tree, self.holder, self.other
        if other is None:
            return None
        whole, kept = tree.span(holder), tree.with_parentheses(other)
        around = tree.with_parentheses(holder)
        text = tree.text[around.start : around.end]
        if kept.start > whole.start and isinstance(holder, ast.Call):  # torch.div(m, D)
            kept = tree.span(other)
        if isinstance(holder, ast.BinOp) and binding(other) >= ATOM and "\n" not in text:
            whole = around
        cut = (Span(whole.start, kept.start), Span(kept.end, whole.end))
        return tuple(Edit(span, "") for span in cut if span.end > span.start)

    def raised(self, power: Fraction) -> tuple[Edit, ...] | None:
        """The length to another power in the product."""
        now = self.power
        if not now or not power:
            return None
        if power == -now:
            return self._turned()
        return self._exponent(power * (-1 if self.divides else 1))

    def _turned(self) -> tuple[Edit, ...] | None:
        """On the other side of the fraction: by the sign of its exponent where it has one, else by the operator."""
        if not self.divides:
            signed = self._negated(self.node)
            if signed is not None:
                return signed
        return self._operator()

    def _negated(self, node: ast.expr) -> tuple[Edit, ...] | None:
        tree = self.tree
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = node.right
            if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
                start = tree.span(exponent).start
                return (Edit(Span(start, tree.with_parentheses(exponent.operand).start), ""),)
            start = tree.with_parentheses(exponent).start
            return (Edit(Span(start, start), "-"),)
        if isinstance(node, ast.Name | ast.Attribute) and _uses(tree, node) == 1:
            values = list(bindings(tree, node))
            return self._negated(values[0]) if len(values) == 1 and values[0] is not None else None
        return None

    def _operator(self) -> tuple[Edit, ...] | None:
        tree, holder, other = self.tree, self.holder, self.other
        if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
            name, end = holder.func.attr, tree.span(holder.func).end
            return (Edit(Span(end - len(name), end), _PRODUCTS[name]),)
        if isinstance(holder, ast.BinOp) and other is holder.left:
            between = Span(tree.with_parentheses(other).end, tree.with_parentheses(self.node).start)
            text = tree.text[between.start : between.end]
            at = between.start + text.find("/" if self.divides else "*")
            return (Edit(Span(at, at + 1), "*" if self.divides else "/"),) if "#" not in text else None
        return None

    def _exponent(self, power: Fraction) -> tuple[Edit, ...] | None:
        """The operand's own exponent made `power`."""
        tree, node = self.tree, self.node
        match node:
            case ast.BinOp(left=left, op=ast.Pow(), right=right) if power_of(tree, left) == 1:
                if power == 1:
                    return (Edit(Span(tree.with_parentheses(left).end, tree.span(node).end), ""),)
                start, end = tree.with_parentheses(right)
                return (Edit(Span(start, end), decimal(power)),)
            case ast.Call(args=[one]) if called(node) == "sqrt" and power == 1 and power_of(tree, one) == 1:
                return (tree.replace(node, tree.source(one)),)
            case _ if power_of(tree, node) == 1 and binding(node) >= ATOM:
                end = tree.with_parentheses(node).end
                return (Edit(Span(end, end), raised("", node, power, tree)),)
        return None


def _uses(tree: Tree, node: ast.Name | ast.Attribute) -> int:
    wanted = ast.unparse(node)
    scope = tree.function(node) if isinstance(node, ast.Name) else None
    kind = type(node)
    found = (n for n in ast.walk(scope or tree.root) if isinstance(n, kind) and isinstance(n.ctx, ast.Load))
    return sum(ast.unparse(n) == wanted for n in found)


# --- what to write ---------------------------------------------------------------------------------------------------


def decimal(power: Fraction) -> str:
    """An exponent as people write it."""
    return str(power) if power.denominator == 1 else str(float(power))


def raised(text: str, node: ast.expr | None, power: Fraction, tree: Tree) -> str:
    """`text` ** power; without spaces where the file has none around the powers of names."""
    plain = node is None or isinstance(node, ast.Name | ast.Attribute)
    tight = plain and re.search(r"[\w)\]]\*\*-?[\d.(]", tree.text) and not re.search(r"\w \*\* -?[\d.(]", tree.text)
    return f"{text}**{decimal(power)}" if tight else f"{text} ** {decimal(power)}"


def last_of(tree: Tree, tensor: ast.expr | None) -> str | None:
    """The length of a tensor's last axis, where the tensor has a name."""
    while isinstance(tensor, ast.Call) and called(tensor) in _CASTS and isinstance(tensor.func, ast.Attribute):
        tensor = tensor.func.value
    if not isinstance(tensor, ast.Name | ast.Attribute):
        return None
    by_call = ".size(-1)" in tree.text and ".shape[-1]" not in tree.text
    return f"{tree.source(tensor)}.size(-1)" if by_call else f"{tree.source(tensor)}.shape[-1]"


def to_last(tree: Tree, operand: ast.expr) -> tuple[Edit, ...] | None:
    """The length in an operand made that of the last axis; None where it isn't plain."""
    found = [edit for node in ast.walk(operand) if isinstance(node, ast.expr) for edit in _made_last(tree, node)]
    if not found and isinstance(operand, ast.Name):
        return _renamed(tree, operand)
    return tuple(found) if len(found) == 1 else None


def _made_last(tree: Tree, node: ast.expr) -> Iterator[Edit]:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=index) if _other_axis(index):
            yield tree.replace(index, "-1")
        case ast.Call(func=ast.Attribute(attr="size"), args=[index]) if _other_axis(index):
            yield tree.replace(index, "-1")
        case ast.Call(func=ast.Attribute(attr="numel" | "nelement", value=tensor), args=[]):
            length = last_of(tree, tensor)
            if length:
                yield tree.replace(node, length)
        case ast.Call(func=ast.Name(id="len"), args=[tensor]):
            length = last_of(tree, tensor)
            if length:
                yield tree.replace(node, length)


def _other_axis(index: ast.expr) -> bool:
    return number(index) is not None and number(index) != -1


def _renamed(tree: Tree, name: ast.Name) -> tuple[Edit, ...] | None:
    """`b, t, d = x.shape`: the last name; `n = x.shape[0]`: the axis where it is taken, if nobody else needs it."""
    scope = tree.function(name) or tree.root
    for one in ast.walk(scope):
        if not isinstance(one, ast.Assign) or len(one.targets) != 1:
            continue
        target = one.targets[0]
        if isinstance(target, ast.Tuple) and any(isinstance(t, ast.Name) and t.id == name.id for t in target.elts):
            last = target.elts[-1]
            return (
                (tree.replace(name, last.id),) if isinstance(last, ast.Name) and last.id not in ("_", name.id) else None
            )
        if isinstance(target, ast.Name) and target.id == name.id:
            single = _uses(tree, name) == 1 and len(list(bindings(tree, name))) == 1
            return to_last(tree, one.value) if single and not isinstance(one.value, ast.Name) else None
    return None
