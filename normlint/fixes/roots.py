"""Rewrite roots, powers and products by them, for NRM302, NRM401, NRM402 and NRM601, and find where eps belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final, NamedTuple

import libcst as cst

from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import Product, bound_between, carried, definition, meant, only_for, product_at, sole_reader
from normlint.fixes.spelling import (
    HALF,
    NAMED,
    POWER,
    POWERS,
    PRODUCT,
    SUM,
    bare,
    called,
    expression,
    instead,
    number,
    operands,
    operation,
    placed,
    rooted,
    spread,
    stripped,
    tight,
)
from normlint.fixes.tree import Tree, spelled
from normlint.fixes.trial import Trial
from normlint.norm.norm import Computation, Eps, Norm
from normlint.text.finding import Applicability, Fix, Span

_ROOTS: Final = re.compile(r"rms|std|sigma|norm|denom|root|sqrt|dev|length|magnitude", re.IGNORECASE)
_INVERSES: Final = re.compile(r"inv|rsqrt|recip|scale|rstd|rrms|factor|normed|normal", re.IGNORECASE)


def invert(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Divide by the root instead of multiplying: invert either the product or the root."""
    return Trial(tree, norm, "NRM401", partly=True).first(_inversions(c, tree))


def _inversions(c: Computation, tree: Tree) -> Iterator[Change]:
    document = tree.document
    start = document.at(c.statistic.span)
    if start is None:
        return
    products = list(joining(document, start))
    roots = [("Turn the root the right way round", p.to(document, tree, -p.power)) for p in powers_of(document, c)]
    divides = bool(products) and operation(products[0].node) == "div"
    message = "Multiply by the inverse root" if divides else "Divide by the root"
    turns = [(message, turned(document, p)) for p in products]
    first_inner = bool(products) and _named_a_root(products[0].value) == divides
    yield from (*roots, *turns) if first_inner else (*turns, *roots)


def _named_a_root(value: cst.BaseExpression) -> bool:
    """Return whether the value has the name of a root (rms, std) and not of an inverse."""
    name = value.value if isinstance(value, cst.Name) else ""
    return bool(_ROOTS.search(name)) and not _INVERSES.search(name)


def take_root(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Take exactly one square root: add one, or remove one of two."""
    return Trial(tree, norm, "NRM402", partly=True).first(_roots(c, tree))


def _roots(c: Computation, tree: Tree) -> Iterator[Change]:
    document = tree.document
    factor = -HALF / c.power
    start = document.at(c.statistic.span)
    message = "Take one square root" if abs(factor) > 1 else "Take the square root"
    message = "Take the inverse square root" if factor < 0 else message
    yield from ((message, p.to(document, tree, p.power * factor)) for p in powers_of(document, c))
    if start is not None and abs(factor) == HALF:  # x * mean(x²)
        values = (p.value for p in joining(document, start))
        yield from ((message, {v: placed(document, v, rooted(tree, v, NAMED[factor]))}) for v in values)


def one_root(norm: Norm, root: Span, division: Span, tree: Tree) -> Fix | None:
    """Write `1 / sqrt(v)` or `x / sqrt(v)` with rsqrt, also where the root has a name."""
    return Trial(tree, norm, "NRM601").first(_inverse_roots(root, division, tree.document, tree))


def _inverse_roots(root: Span, division: Span, document: Document, tree: Tree) -> Iterator[Change]:
    taken, whole = power_of(document.at(root)), document.at(division, cst.AugAssign) or document.at(division)
    over, quotient = power_of(whole), operands(whole) if operation(whole) == "div" else []
    divisor = over.base if over and over.power == -1 else next(iter(quotient[1:]), None)
    if taken is None or taken.power != HALF or divisor is None or meant(document, divisor) is not taken.whole:
        return
    gone = only_for(document, divisor, taken.base)
    if divisor is not taken.whole and (not gone or bound_between(document, taken.base, divisor)):
        return
    message, inverse = "Take the inverse root at once, with rsqrt", _inverse(taken, tree)
    if over is not None:
        yield message, {whole: in_place_of(document, whole, inverse), **gone}
    elif product := product_at(document, divisor):
        yield message, _inverted_by_name(taken, product, tree)
        yield message, {**turned(document, product, inverse), **gone}


def _inverse(root: Power, tree: Tree) -> cst.BaseExpression:
    """Return the inverse root in the layout of the root, unless that is a power of 0.5."""
    if called(root.whole).rstrip("_") == "sqrt":
        return renamed(tree, cst.ensure_type(root.whole, cst.Call), "rsqrt")
    return rooted(tree, root.base, "rsqrt")


def _inverted_by_name(taken: Power, product: Product, tree: Tree) -> Changes:
    """Keep both lines: turn `rms = torch.sqrt(v)` into `inv_rms = torch.rsqrt(v)`, and the division into a product."""
    document, name, whole, line = tree.document, product.value, taken.whole, tree.document.line(product.node)
    stmt = definition(document, name) if isinstance(name, cst.Name) else None
    if not isinstance(name, cst.Name) or stmt is None or stmt.value is not whole or document.line(stmt) is line:
        return {}
    if sole_reader(document, stmt) is not line or number(product.other) is not None:
        return {}
    word = name.value if len(name.value) == 1 or _INVERSES.search(name.value) else f"inv_{name.value}"
    turn = turned(document, product, cst.Name(word))
    if not turn or (word != name.value and re.search(rf"\b{word}\b", tree.text)):
        return {}
    return {whole: in_place_of(document, whole, _inverse(taken, tree)), stmt.targets[0].target: cst.Name(word), **turn}


def move(norm: Norm, c: Computation, e: Eps, tree: Tree) -> Fix | None:
    """Move eps under the root: write the root again, with eps, where eps is added to it."""
    document, trial = tree.document, Trial(tree, norm, "NRM302")
    eps, whole = document.at(e.at), document.at(e.span, cst.AugAssign) or document.at(e.span)
    message, changes = f"Move `{tree.text[slice(*e.at)]}` under the root", dict(_moved(eps, whole, document, tree))
    read = {other.span for one in norm.computations for other in one.eps}
    for twin in document.below(document.scope(whole), cst.BinaryOperation) if changes else ():
        if document.span(twin) not in read:  # of the running statistics, on another branch
            changes |= _moved(eps, twin, document, tree)
    fix = document.fix(message, changes, Applicability.UNSAFE)
    if called(document.at(c.statistic.span)).startswith("std"):
        return fix  # a variance in half may be a new finding, fixed in the next round
    fixed = trial.fixed(fix.edits)
    sums = [one for one in fixed.computations if one.statistic.reduce == "sum"] if fixed else []
    mean = all(count.inside for one in sums for count in one.counts)  # no eps under a sum that isn't divided yet
    return trial.first([(message, changes)], Applicability.UNSAFE) if mean else None


def _moved(eps: Any, whole: Any, document: Document, tree: Tree) -> Changes:
    several = operands(whole) if operation(whole) == "add" and eps is not None else []
    left = [n for n in several if not n.deep_equals(eps)]
    taken: Any = meant(document, left[0]) if len(left) == 1 else None
    root, elsewhere = _root(taken, tree), document.line(taken) is not document.line(whole)
    if root is None or len(several) == len(left) or called(whole).endswith("_"):
        return {}
    over = power_of(document.parent(whole))
    if over is not None and over.base is whole and over.power == -1:  # one over an inverse root is a root
        whole, root = over.whole, root._replace(power=-root.power)
    value, gone = rooted(tree, summed(root.base, eps), NAMED[root.power]), only_for(document, left[0], root.base)
    named = gone and elsewhere and not {type(n) for n in (whole, document.parent(whole))} & {cst.AugAssign, cst.Assign}
    if named and not bound_between(document, eps, whole, taken):  # the root stays where it is
        return {taken: in_place_of(document, taken, value), whole: in_place_of(document, whole, left[0])}
    if elsewhere and (not gone or bound_between(document, taken, whole)):
        return {}
    if not isinstance(whole, cst.AugAssign):
        return {whole: in_place_of(document, whole, value), **gone}
    return {whole: cst.Assign([cst.AssignTarget(whole.target)], value, semicolon=whole.semicolon), **gone}


def _root(node: Any, tree: Tree) -> Power | None:
    """Return the root of the mean square; for a standard deviation, that of the variance."""
    deviation = called(node) == "std" and isinstance(node.func, cst.Attribute)
    found = Power(node, renamed(tree, node, "var"), HALF) if deviation else power_of(node)
    return found if found is not None and abs(found.power) == HALF else None


class Place(NamedTuple):
    """Where to add eps: to `node`, which is the mean square (`squared`) or already its root."""

    node: cst.BaseExpression
    squared: bool


def place(document: Document, c: Computation) -> Place | None:
    """Return what the first root is taken of; if the statistic is a root itself, what the input is divided by."""
    squared, start = all(step.op not in ("norm", "std") for step in c.trail), document.at(c.statistic.span)
    for power in reversed(powers_of(document, c)):
        if squared or power.power != 2:
            return Place(power.base, squared)
        squared = True
    divided = (p.value for p in (joining(document, start) if start is not None else ()) if operation(p.node) == "div")
    node = next(divided, None)
    return Place(node, squared) if node is not None else None


def joined(document: Document, where: Place, eps: str) -> Changes:
    """Add eps to the mean square, or make it the least value of the root."""
    node, value = where.node, cst.parse_expression(eps)
    if not where.squared:
        return {node: lambda now: expression("{x}.clamp(min={e})", x=tight(now), e=value)}
    return {node: lambda now: instead(document, node, summed(now, value))}


def summed(value: cst.BaseExpression, eps: cst.BaseExpression) -> cst.BaseExpression:
    """Return the sum of the value and eps."""
    return expression("{x} + {e}", x=tight(stripped(value), SUM), e=tight(eps, SUM + 1))


class Power(NamedTuple):
    """An expression that is another one to a power."""

    whole: cst.BaseExpression
    base: cst.BaseExpression
    power: Fraction

    def to(self, document: Document, tree: Tree, power: Fraction) -> Changes:
        """Change the power of the base; nothing if the new power is none of 1, -1, 1/2 and -1/2."""
        if power == 1:
            return {self.whole: in_place_of(document, self.whole, self.base)}
        if power not in (HALF, -HALF, -1):
            return {}
        return {self.whole: in_place_of(document, self.whole, rooted(tree, self.base, NAMED[power]))}


def power_of(node: Any) -> Power | None:
    """Return a root, square, reciprocal or power, however it is written."""
    several, name = operands(node), called(node).rstrip("_")
    if name in POWERS:
        return next((Power(node, base, POWERS[name]) for base in operands(node, 1)), None)
    if operation(node) == "div" and several and number(several[0]) == 1:
        return Power(node, several[1], Fraction(-1))
    value = number(several[1]) if operation(node) == "pow" and several else None
    return None if value is None else Power(node, several[0], value)


def powers_of(document: Document, c: Computation) -> list[Power]:
    """Return the powers that are taken of the statistic, the last first; directly nested ones are combined."""
    found: list[Power] = []
    for span in (s.span for s in c.own_steps() if s.span != c.statistic.span):
        taken = power_of(document.at(span))
        if taken is None or document.span(taken.whole) != span or taken.whole in [one.whole for one in found]:
            continue
        if found and found[-1].whole is taken.base:
            before = found.pop()
            taken = Power(taken.whole, before.base, before.power * taken.power)
        found.append(taken)
    return found[::-1]


def squared_base(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """Return x for `x ** 2`, `x * x`, `x.pow(2)`, `x.square()` or `x.mul(x)`."""
    found = power_of(node)
    if found is not None:
        return found.base if found.power == 2 else None
    factors = operands(node) if operation(node) == "mul" else ()
    return factors[0] if factors and factors[0].deep_equals(factors[1]) else None


def in_place_of(document: Document, whole: cst.BaseExpression, part: cst.BaseExpression) -> cst.BaseExpression:
    """Return the part to replace the whole expression, without parentheses that become unnecessary."""
    kept = placed(document, whole, bare(part))
    if whole.lpar and not kept.lpar and spread(kept):
        return kept.with_changes(lpar=whole.lpar, rpar=whole.rpar)
    return kept


def renamed(tree: Tree, call: cst.Call, name: str) -> cst.Call:
    """Change the name of the called function or method."""
    name += "_" * called(call).endswith("_")
    if isinstance(call.func, cst.Attribute):
        return call.with_changes(func=call.func.with_changes(attr=cst.Name(name)))
    return call.with_changes(func=cst.parse_expression(spelled(tree, f"torch.{name}") or name))


def joining(document: Document, start: cst.BaseExpression) -> Iterator[Product]:
    """Yield the products of the value with anything but a number, and the divisions by the value."""
    for node in carried(document, start):
        found = product_at(document, node)
        if found is not None and number(found.other) is None and (not found.first or operation(found.node) == "mul"):
            yield found


def turned(document: Document, product: Product, value: cst.BaseExpression | None = None) -> Changes:
    """Turn a product into a division by its value (or by the given one), and a division into a product."""
    node: Any = product.node
    divides, new = operation(node) == "div", tight(value or product.value, POWER)
    if called(node).endswith("_"):
        return {}
    if isinstance(node, cst.AugAssign):
        return {node.operator: cst.MultiplyAssign() if divides else cst.DivideAssign(), node.value: new}
    if isinstance(node, cst.BinaryOperation) and not product.first:  # keeps its white space
        spaces = {name: getattr(node.operator, name) for name in ("whitespace_before", "whitespace_after")}
        return {node.operator: (cst.Multiply if divides else cst.Divide)(**spaces), node.right: new}
    sign, other = "*" if divides else "/", tight(product.other, PRODUCT)
    return {node: instead(document, node, expression(f"{{x}} {sign} {{v}}", x=other, v=new))}
