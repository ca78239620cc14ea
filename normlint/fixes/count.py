"""Mending by how much a sum is divided: by the number of its elements, once."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import Final

from normlint.fixes.calls import Reduction, reductions
from normlint.fixes.lengths import bindings, last_of, power_of, raised, to_last, uses
from normlint.fixes.operands import Operand
from normlint.fixes.tree import Tree, called
from normlint.fixes.work import walk
from normlint.norm.norm import HALF, Computation, Count
from normlint.text.finding import Applicability, Edit, Fix, Span

_RANKS: Final = re.compile(r"all_?reduce|reduce_scatter|all_?gather|psum|reduce_from", re.IGNORECASE)
_OUTER: Final = (Fraction(1), Fraction(-1), -HALF)  # beside the product, the root, the mean square


def counted_once(c: Computation, tree: Tree) -> Fix | None:
    """The sum divided by D, the mean not at all."""
    foreign = [n for n in c.counts if n.of_features is False]
    known = [n for n in c.counts if n.of_features]
    if _shared(tree, c.statistic.span):
        return None
    missing = (Fraction(0) if c.statistic.reduce == "mean" else HALF) - (c.feature_power or Fraction(0))
    if len(foreign) == 1:
        return _not_foreign(foreign[0], missing, tree)
    if foreign or len(known) > 1:
        return None
    if known:
        return _rescaled(known[0], known[0].power + missing, tree)
    return _divided(c, tree) if missing == HALF else None


def _shared(tree: Tree, span: Span) -> bool:
    """Part of the features lies on another rank: how many there are, nobody here knows."""
    node = tree.at(span)
    function = tree.function(node) if node is not None else None
    return function is not None and bool(_RANKS.search(tree.source(function)))


def _not_foreign(count: Count, missing: Fraction, tree: Tree) -> Fix | None:
    """The length of the right axis, or none where a mean is taken."""
    if missing == 0:
        return _rescaled(count, missing, tree)
    node = tree.at(count.operands[0]) if len(count.operands) == 1 else None
    edits = to_last(tree, node) if node is not None and count.power == missing else None
    return Fix("Divide by the length of the last axis", edits, Applicability.SAFE) if edits else None


def _rescaled(count: Count, power: Fraction, tree: Tree) -> Fix | None:
    """The count to another power in the product."""
    operand = Operand.at(tree, count.operands[0]) if len(count.operands) == 1 else None
    local = operand.power if operand else None
    if operand is None or not local or count.power / local not in _OUTER:
        return None
    outer = count.power / local
    if power == 0:
        edits = operand.without()
        return Fix("A mean is divided already: leave the count out", edits, Applicability.SAFE) if edits else None
    edits = operand.raised(power / outer)
    said = "Multiply by √D" if outer == 1 else "Divide by √D" if outer == -1 else "Divide by D"
    return Fix(said, edits, Applicability.SAFE) if edits else None


def _divided(c: Computation, tree: Tree) -> Fix | None:
    """A sum that is never divided."""
    call = Reduction.at(tree, c.statistic.span)
    if call is None:
        node = tree.at(c.statistic.span)
        return _other_sum(tree, node) if isinstance(node, ast.Call) else None
    if call.name in ("sum", "nansum") and (named := _named_sum(call, tree)) is not None:
        return _multiplied(named, last_of(tree, call.input), tree, "/")
    if call.name in ("sum", "nansum") and isinstance(call.node.func, ast.Attribute):
        end = tree.span(call.node.func).end
        edit = Edit(Span(end - 3, end), "mean")
        return Fix("Take the mean instead of the sum", (edit,), Applicability.SAFE)
    if call.name in ("norm", "vector_norm", "normalize"):
        power = HALF if call.name == "normalize" else -HALF
        return _multiplied(call.node, _scale(call, power, tree), tree)
    return None


def _named_sum(call: Reduction, tree: Tree) -> ast.Name | None:
    """The one use of a name that says sum: the division belongs there."""
    holder = tree.statement(call.node)
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    if not isinstance(target, ast.Name) or "sum" not in target.id.lower() or uses(tree, target) != 1:
        return None
    scope = tree.function(call.node) or tree.root
    names = (n for n in walk(scope) if isinstance(n, ast.Name) and n.id == target.id)
    return next((n for n in names if isinstance(n.ctx, ast.Load)), None)


def _other_sum(tree: Tree, node: ast.Call) -> Fix | None:
    """einops.reduce(…, "sum") and einsum."""
    if called(node) == "reduce":
        word = next((a for a in node.args if isinstance(a, ast.Constant) and a.value == "sum"), None)
        if word is None:
            return None
        edit = tree.replace(word, tree.source(word).replace("sum", "mean"))
        return Fix("Take the mean instead of the sum", (edit,), Applicability.SAFE)
    if called(node) == "einsum" and node.args:
        return _multiplied(node, last_of(tree, node.args[-1]), tree, "/")
    return None


def _scale(call: Reduction, power: Fraction, tree: Tree) -> str | None:
    """√D as the class has it, unused so far, or made of the input's shape."""
    cls = tree.enclosing_class(call.node)
    for one in walk(cls) if cls else ():
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and len(list(bindings(tree, one))) == 1:
            name = tree.source(one)
            used = tree.text.count(name) > 1
            if name.startswith("self.") and not used and power_of(tree, one) == power and "scale" in name:
                return name
    length = last_of(tree, call.input)
    return raised(length, call.node, power, tree) if length else None


def _multiplied(node: ast.expr, scale: str | None, tree: Tree, sign: str = "*") -> Fix | None:
    """The value times a number, in parentheses where it is bound more tightly; behind an axis that is put back."""
    if scale is None:
        return None
    while (whole := _with_axis(tree, node)) is not None:
        node = whole
    start, end = tree.span(node)
    text = f" {sign} {scale}"
    edits = [Edit(Span(start, start), "("), Edit(Span(end, end), f"{text})")]
    if not _tight(tree, node):
        edits = [Edit(Span(end, end), text)]
    return Fix(f"Count the features: `{text.strip()}`", tuple(edits), Applicability.SAFE)


def _with_axis(tree: Tree, node: ast.expr) -> ast.expr | None:
    holder = tree.parent(node)
    match holder:
        case ast.Attribute(attr="unsqueeze" | "view" | "reshape"):
            call = tree.parent(holder)
            return call if isinstance(call, ast.Call) else None
        case ast.Subscript():
            return holder if node is holder.value else None
    return None


def _tight(tree: Tree, node: ast.expr) -> bool:
    holder = tree.parent(node)
    if tree.with_parentheses(node) != tree.span(node):
        return False
    match holder:
        case ast.Attribute() | ast.Subscript() | ast.UnaryOp() | ast.BinOp(op=ast.Pow()):
            return not (isinstance(holder, ast.Subscript) and node is holder.slice)
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.MatMult() | ast.Mod(), right=right):
            return node is right
    return False


# --- Bessel's correction ---------------------------------------------------------------------------------------------


def biased(span: Span, tree: Tree) -> Fix | None:
    """`var` and `std` without Bessel's correction."""
    call = Reduction.at(tree, span)
    if call is None or call.name not in ("var", "std", "var_mean", "std_mean"):
        return None
    for name, right in (("correction", "0"), ("ddof", "0"), ("unbiased", "False")):
        if name in call.given:
            value = call.given[name].value
            if not isinstance(value, ast.Constant):
                return None
            return _biased(f"{name}={right}", (tree.replace(value, right),))
    word = _word(call, tree)
    return _biased(word, call.last(word))


def not_one_less(span: Span, tree: Tree) -> Fix | None:
    """`n - 1` as `n`."""
    node = tree.at(span, ast.BinOp)
    if node is None or not isinstance(node.op, ast.Sub) or isinstance(node.left, ast.BinOp):
        return None
    edit = Edit(Span(*tree.with_parentheses(node)), tree.source(node.left))
    return Fix("Divide by D, not by D − 1", (edit,), Applicability.UNSAFE)


def _biased(word: str, edits: tuple[Edit, ...]) -> Fix:
    return Fix(f"Divide by D, not by D − 1: `{word}`", edits, Applicability.UNSAFE)


def _word(call: Reduction, tree: Tree) -> str:
    """As the file has it elsewhere."""
    said = [o.given for o in reductions(tree) if o.node is not call.node]
    return "unbiased=False" if any("unbiased" in given for given in said) else "correction=0"
