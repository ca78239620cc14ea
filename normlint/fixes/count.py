"""Build fixes for the divisor of a sum: the number of its elements, once, as the text writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import libcst as cst

from normlint.fixes.calls import Reduction, operand_of, with_argument
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import product_at
from normlint.fixes.roots import in_place_of, power_of, renamed, squared_base, turned
from normlint.fixes.spelling import PRODUCT, called, expression, instead, number, shown, stripped, tight
from normlint.fixes.tree import Tree, spelled
from normlint.fixes.trial import Trial
from normlint.norm.norm import HALF, Computation, Count, Norm
from normlint.text.finding import Applicability, Fix, Span
from normlint.text.operations import CLASSES

_RANKS: Final = re.compile(r"all_?reduce|reduce_scatter|all_?gather|psum|reduce_from", re.IGNORECASE)
_STATISTICS: Final = frozenset(CLASSES["statistic"].split())
_TWICE: Final = "A mean is divided already: leave the count out"
_SAID: Final = {"normalize": "Multiply by √D", "norm": "Divide by √D", "vector_norm": "Divide by √D"}
_SAME: Final = frozenset(f"{CLASSES['cast']} {CLASSES['same']} square pow".split())


def raised(length: cst.BaseExpression, power: Fraction) -> cst.BaseExpression:
    """Return the length to a power."""
    return expression(f"{{x}} ** {float(power)}", x=tight(length)) if power != 1 else length


def last_of(document: Document, tensor: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """Return the length of a tensor's last axis, if the tensor, or what it is the square or a cast of, has a name."""
    inner = tensor
    while inner is not None:
        tensor = inner
        same = isinstance(tensor, cst.Call) and called(tensor) in _SAME
        inner = operand_of(document, cst.ensure_type(tensor, cst.Call)) if same else squared_base(tensor)
    return expression("{x}.shape[-1]", x=tensor) if isinstance(tensor, cst.Name | cst.Attribute) else None


def to_last(document: Document, operand: cst.BaseExpression | None) -> Changes | None:
    """Make a length in an operand that of the last axis; None if it isn't clear how."""
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


def counted_once(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Divide a sum by D once, and a mean not at all."""
    trial, document = Trial(tree, norm, "NRM104", partly=True), tree.document
    several = list(_changes_of_count(c, document, tree))
    fix = trial.first(several)
    if fix is not None or not several:
        return fix
    first = document.fix(*several[0], Applicability.SAFE)
    return first if trial.fixed(first.edits) is None else None  # the fix may merge norms that differed only in it


def _changes_of_count(c: Computation, document: Document, tree: Tree) -> Iterator[Change]:
    """Yield ways to divide by D, the likeliest first: change the existing count, or add one."""
    foreign = [n for n in c.counts if n.of_features is False]
    known = [n for n in c.counts if n.of_features]
    start = document.at(c.statistic.span)
    if start is None or _RANKS.search(document.source(document.scope(start))):
        return  # part of the features is on other ranks, so their number is unknown
    wanted = Fraction(0) if c.statistic.reduce == "mean" else HALF
    missing = wanted - (c.feature_power or Fraction(0))
    count = next(iter((*foreign, *known)), None)
    if len(foreign) > 1 or (not foreign and len(known) > 1) or (count is not None and len(count.operands) != 1):
        return
    if count is not None and not (foreign and missing):
        factor = Fraction(0) if foreign else 1 + missing / count.power
        message = _SAID.get(c.statistic.spelled, "Divide by D") if factor else _TWICE
        yield message, _rescaled(count, factor, document)
    elif count is not None:
        yield "Divide by the length of the last axis", to_last(document, document.at(count.operands[0])) or {}
    elif missing == HALF:
        yield from _divided(start, document, tree)


def _rescaled(count: Count, factor: Fraction, document: Document) -> Changes:
    """Multiply the count's power by a factor."""
    node = document.at(count.operands[0])
    product = product_at(document, node)
    if product is None:
        return {}
    whole = product.node
    if factor == 0 and isinstance(whole, cst.BaseExpression):
        return {whole: in_place_of(document, whole, product.other)}
    if factor == 0:
        return document.gone(whole)
    if factor == -1:
        return turned(document, product)
    base, power = (found.base, found.power) if (found := power_of(node)) is not None else (node, Fraction(1))
    return {node: in_place_of(document, node, raised(stripped(base), power * factor))}


def _divided(start: cst.BaseExpression, document: Document, tree: Tree) -> Iterator[Change]:
    call, name = Reduction.of(document, start), called(start)
    length = last_of(document, call.input if call is not None else None)
    mean = name.replace("sum", "mean")
    own = isinstance(start, cst.Call) and isinstance(start.func, cst.Name) and spelled(tree, f"torch.{name}") != name
    if mean != name and mean in _STATISTICS and isinstance(start, cst.Call) and not own:  # Python's `sum` is none
        yield "Take the mean instead of the sum", {start.func: renamed(tree, start, mean).func}
    elif name in _SAID and length is not None:
        scale = raised(length, HALF if name == "normalize" else -HALF)
        new = expression("{x} * {s}", x=tight(stripped(start), PRODUCT), s=scale)
        yield f"Count the features: `* {shown(scale)}`", {start: instead(document, start, new)}


def biased(span: Span, tree: Tree) -> Fix | None:
    """Take `var` and `std` without Bessel's correction."""
    call = Reduction.of(tree.document, tree.document.at(span))
    if call is None or call.name not in ("var", "std", "var_mean", "std_mean"):
        return None
    for name, right in (("correction", "0"), ("ddof", "0"), ("unbiased", "False")):
        value = call.value(name)
        if value is not None:
            plain = number(value) is not None or tree.document.source(value) == "True"
            return _biased(tree, f"{name}={right}", {value: cst.parse_expression(right)} if plain else {})
    name, right = ("unbiased", "False") if "unbiased=" in tree.text else ("correction", "0")  # as the file writes it
    return _biased(tree, f"{name}={right}", with_argument(call.node, name, right))


def not_one_less(span: Span, tree: Tree) -> Fix | None:
    """Write `n` instead of `n - 1`."""
    node = tree.document.at(span, cst.BinaryOperation)
    if node is None or not isinstance(node.operator, cst.Subtract) or isinstance(node.left, cst.BinaryOperation):
        return None
    return _biased(tree, "", {node: in_place_of(tree.document, node, node.left)})


def _biased(tree: Tree, word: str, changes: Changes) -> Fix:
    message = f"Divide by D, not by D − 1{f': `{word}`' if word else ''}"
    return tree.document.fix(message, changes, Applicability.UNSAFE)
