"""A number beside a tensor in a product or a quotient: taken away, or made another power of the length."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Final

from normlint.fixes.calls import is_module
from normlint.fixes.casts_edits import without_statement
from normlint.fixes.lengths import bindings, decimal, power_of, raised, times, uses
from normlint.fixes.tree import ATOM, Tree, binding, called
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

_PRODUCTS: Final = {"div": "mul", "mul": "div", "divide": "multiply", "multiply": "divide", "true_divide": "mul"}


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
        if isinstance(holder, ast.Call) and called(holder) in _PRODUCTS and holder.args[-1:] == [node]:
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
        return times(power_of(self.tree, self.node), Fraction(-1 if self.divides else 1))

    def without(self) -> tuple[Edit, ...] | None:
        """The tensor alone."""
        tree, holder, other = self.tree, self.holder, self.other
        if other is None:
            return without_statement(tree, holder) if isinstance(holder, ast.AugAssign) else None
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
            if not isinstance(exponent, ast.Constant | ast.UnaryOp):
                return None
            if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
                start = tree.span(exponent).start
                return (Edit(Span(start, tree.with_parentheses(exponent.operand).start), ""),)
            start = tree.with_parentheses(exponent).start
            return (Edit(Span(start, start), "-"),)
        if isinstance(node, ast.Name | ast.Attribute) and uses(tree, node) == 1:
            values = list(bindings(tree, node))
            return self._negated(values[0]) if len(values) == 1 and isinstance(values[0], ast.BinOp) else None
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
