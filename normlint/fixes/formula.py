"""Repairs of the formula: inverted scales, wrong roots, squares, gradients, and rsqrt for a root and a division."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import Step
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import (
    bound_to_root,
    definitions,
    loads,
    named_a_root,
    names_in,
    names_of,
    product_at,
    products,
    single_targets,
)
from normlint.fixes.powers import flipped, in_place_of, power_of, renamed, scaled
from normlint.fixes.spelling import Style, call_of, called, expression, number, operands, operation, placed, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of
from normlint.norm.norm import HALF, Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.text.finding import Fix, Span

_POWERS: Final = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")


def invert(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """The fix that divides by the root instead of multiplying: it inverts the product, or the root."""
    return Trial(tree, norm, "NRM401", partly=True).first(_inversions(c, tree))


def _inversions(c: Computation, tree: Tree) -> Iterator[Change]:
    document, style = tree.document, Style(tree)
    start = document.at(c.statistic.span)
    if start is None:
        return
    steps, named = _steps(c, document), named_a_root(document, start)
    inverted = bool(steps) and steps[0][0].op == "recip"  # by a division, or by a reciprocal of what is named
    divides = inverted and _ends_in_product(steps[0][1])
    inner = steps[1:] if divides else steps
    turn = partial(scaled, document, style, factor=Fraction(-1))
    roots = [("Turn the root the right way round", e) for _, node in inner for e in turn(node)]
    if divides:
        outer = [("Multiply by the inverse root", e) for e in turn(steps[0][1])]
    else:
        turned = (p for p in products(document, start) if number(p.other) is None)
        outer = [("Divide by the root", e) for p in turned for e in flipped(style, p)]
    first_inner = named if divides else inverted or not named
    yield from (*roots, *outer) if first_inner else (*outer, *roots)


Taken = tuple[Step, cst.CSTNode | None]  # a step of the statistic, and where it is written


def _ends_in_product(node: cst.CSTNode | None) -> bool:
    """Is a tensor divided, and not the 1 of `1 / root`?"""
    several = operands(node) if operation(node) == "div" else ()
    return number(several[0]) is None if several else called(node).rstrip("_") != "reciprocal"


def _steps(c: Computation, document: Document) -> list[Taken]:
    """Roots, powers and divisions of the statistic, the last first."""
    steps = [s for s in reversed(c.own_steps()) if s.op in _POWERS and s.span != c.statistic.span]
    return [(s, document.at(s.span, cst.AugAssign) or document.at(s.span)) for s in steps]


def take_root(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """One square root: put in where there is none, taken away where there are two."""
    return Trial(tree, norm, "NRM402", partly=True).first(_roots(c, tree))


def _roots(c: Computation, tree: Tree) -> Iterator[Change]:
    document, style = tree.document, Style(tree)
    factor = -HALF / c.power
    start = document.at(c.statistic.span)
    message = "Take one square root" if abs(factor) > 1 else "Take the square root"
    message = "Take the inverse square root" if factor < 0 else message
    for _, node in sorted(_steps(c, document), key=partial(_keeps, document)):
        yield from ((message, change) for change in scaled(document, style, node, factor))
    if start is not None and abs(factor) == HALF:  # x * mean(x²)
        root = "sqrt" if factor > 0 else "rsqrt"
        yield from ((message, {p.value: style.around(p.value, root)}) for p in products(document, start))


def _keeps(document: Document, one: Taken) -> bool:
    """A plain root can go, unless a name says that it is one; other steps are changed only after that was tried."""
    step, node = one
    return step.op != "sqrt" or (node is not None and bound_to_root(document, node))


def square(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """The fix that averages the squares; if a root is missing then, the next round adds it."""
    return Trial(tree, norm, "NRM403", partly=True).first(_squares(c, tree.document, Style(tree)))


def _squares(c: Computation, document: Document, style: Style) -> Iterator[Change]:
    inner, start = document.at(c.statistic.inner_span), document.at(c.statistic.span)
    if inner is None or start is None:
        return
    orders = list(_order_two(start))
    if orders:
        yield from (("Take the L2 norm", change) for change in orders)
        return
    squares = [*_in_place_of_abs(document, style, inner), {inner: placed(document, inner, style.squared(inner))}]
    yield from (("Average the squares", s) for s in squares)


def _in_place_of_abs(document: Document, style: Style, inner: cst.BaseExpression) -> Iterator[Changes]:
    """Squares where absolute values stand, here or where the name was given."""
    for whole in (inner, *definitions(document, inner)):
        for node in document.below(whole, cst.Call):
            if called(node) in ("abs", "absolute", "fabs", "abs_"):
                yield {node: _from_abs(style, node)}


def _from_abs(style: Style, node: cst.Call) -> cst.BaseExpression:
    if isinstance(node.func, cst.Attribute) and not node.args:
        return style.squared_by_method(node.func.value)
    function, value = style.function("square"), node.args[0].value
    return call_of(function, value) if function else expression("{x}.pow(2)", x=tight(value))


def _order_two(start: cst.BaseExpression) -> Iterator[Changes]:
    """The changes that replace an L1 norm with the L2 norm."""
    if isinstance(start, cst.Call):
        named = [a.value for a in start.args if a.keyword and a.keyword.value in ("p", "ord")]
        orders = [v for v in (*named, *(a.value for a in start.args[:2] if not a.keyword)) if number(v) == 1]
        yield from ({order: cst.Integer("2")} for order in orders[:1])


_CUTS: Final = ("detach", "item")
_GUARDS: Final = ("no_grad", "inference_mode")


def attach(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """The fix that removes what detaches the statistic from the gradient."""
    return Trial(tree, norm, "NRM405", partly=True).first(_attached(c, tree.document))


def _attached(c: Computation, document: Document) -> Iterator[Change]:
    cuts = {node: _uncut(document, node) for node in _cuts(c, document)}
    guard: Changes = {}
    for stat in stats_of(c):
        if stat.no_grad:
            guard |= _unguarded(document, stat.span)
    if cuts:
        yield "Let the gradient through the statistic", {**cuts, **guard}
    if guard:
        yield "Take the statistic with its gradient", guard


def _cuts(c: Computation, document: Document) -> Iterator[cst.BaseExpression]:
    shared = {s.span for s in c.input_steps}
    inner = [s for s in deep_steps(c.statistic.inner.factors) if s.span not in shared]
    centres = (s for stat in stats_of(c)[1:] for s in stat.steps)
    spans = {s.span: None for s in (*inner, *c.own_steps(), *centres) if s.op in _CUTS}
    nodes = [document.at(span) for span in spans]
    return (node for node in nodes if node is not None and isinstance(node, cst.Attribute | cst.Call))


def _uncut(document: Document, node: cst.BaseExpression) -> Any:
    """`v.detach()`, `v.data`, `v.item()` and `torch.detach(v)` leave v."""

    def change(now: Any) -> cst.BaseExpression:
        value = now.args[0].value if getattr(now, "args", ()) else getattr(now, "func", now).value
        return in_place_of(document, node, value)

    return change


def _unguarded(document: Document, span: Span) -> Changes:
    """Without the `with torch.no_grad():` around the statistic, where its block does nothing but name values."""
    node = document.at(span)
    holders = (n for n in document.above(node) if isinstance(n, cst.With))
    guard = next((n for n in holders if any(map(_guards, n.items))), None)
    if guard is None or not isinstance(guard.body, cst.IndentedBlock) or not all(map(_names_values, guard.body.body)):
        return {}
    kept = [item for item in guard.items if not _guards(item)]
    last = [item.with_changes(comma=cst.MaybeSentinel.DEFAULT) for item in kept[-1:]]
    return {guard: guard.with_changes(items=[*kept[:-1], *last]) if kept else _dedented}


def _guards(item: cst.WithItem) -> bool:
    return called(item.item) in _GUARDS


def _names_values(line: cst.CSTNode) -> bool:
    """Does the line assign local names only?"""
    several = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    return bool(several) and all(isinstance(one, cst.Name) for stmt in several for one in single_targets(stmt))


def _dedented(holder: cst.With) -> cst.FlattenSentinel[Any]:
    """The statements of the block, with the comments that stood above it and on its first line."""
    first, *rest = holder.body.body
    comment = getattr(holder.body, "header", cst.TrailingWhitespace()).comment
    above = [*holder.leading_lines, *([cst.EmptyLine(comment=comment)] if comment else [])]
    lines = [first.with_changes(leading_lines=[*above, *first.leading_lines]), *rest]  # type: ignore[union-attr]
    return cst.FlattenSentinel([*lines, *getattr(holder.body, "footer", ())])


def one_root(norm: Norm, root: Span, division: Span, tree: Tree) -> Fix | None:
    """`1 / sqrt(v)`, `x / sqrt(v)`, and the same through a name, with rsqrt."""
    return Trial(tree, norm, "NRM601").first(_inverse_roots(root, division, tree.document, Style(tree)))


def _inverse_roots(root: Span, division: Span, document: Document, style: Style) -> Iterator[Change]:
    taken = document.at(root)
    found = power_of(taken)
    if found is None or found[1] != HALF or document.span(taken) != root:
        return
    inverse = _inverse(document, style, taken, found[0])
    stmt = document.parent(taken)
    named = isinstance(stmt, cst.Assign) and len(stmt.targets) == 1 and len(names_of(stmt)) == 1
    changes = _through_name(document, style, stmt, division) if named else _divided(document, style, taken)
    if changes and inverse is not None:
        yield "Take the inverse root at once, with rsqrt", {taken: inverse, **changes}


def _inverse(document: Document, style: Style, node: Any, base: cst.BaseExpression) -> cst.BaseExpression | None:
    if called(node) in ("sqrt", "sqrt_"):
        return renamed(style, node, "rsqrt")
    if called(node) == "pow":
        renewed = renamed(style, node, "rsqrt")
        return renewed.with_changes(args=[a.with_changes(comma=cst.MaybeSentinel.DEFAULT) for a in node.args[:-1]])
    new = expression("{x}.rsqrt()", x=base) if tight(base) is base else style.around(base, "rsqrt")
    return placed(document, node, new).with_changes(lpar=node.lpar, rpar=node.rpar)


def _divided(document: Document, style: Style, value: Any) -> Changes:
    """The division by the value as a product; one divided by it as the value alone."""
    whole = document.parent(value)
    if isinstance(whole, cst.BinaryOperation) and isinstance(whole.operator, cst.Divide) and number(whole.left) == 1:
        return {whole: lambda u: in_place_of(document, whole, u.right)}
    product = product_at(document, value)
    divides = operation(whole) == "div"
    return next(flipped(style, product), {}) if product is not None and divides and not product.first else {}


def _through_name(document: Document, style: Style, stmt: cst.Assign, division: Span) -> Changes:
    """`rms = sqrt(v)` and `x / rms`: what the name stands for is inverted, and so is the name."""
    (old,), scope = names_of(stmt), document.scope(stmt)
    inverted = old.lower().startswith(("inv", "rsqrt", "rstd", "rrms"))  # the name has been right all along
    new = old if inverted else f"inv_{old}"
    names, uses = document.below(scope, cst.Name), loads(document, old, scope)
    everywhere = [n for n in names_in(document, scope) if n.value == old]
    turned = [_divided(document, style, use) for use in uses]
    reads = [document.parent(use) for use in uses]
    only = any(document.span(holder) == division for holder in reads if holder is not None)
    idle = any(callable(change) for one in turned for change in one.values())  # a name of a name
    if (
        not all(turned)
        or not only
        or idle
        or len(everywhere) != len(uses) + 1
        or not isinstance(scope, cst.FunctionDef)
    ):
        return {}
    if not inverted and any(n.value == new for n in names):
        return {}
    changes = {node: change for one in turned for node, change in one.items()}
    return {**changes, **{n: n.with_changes(value=new) for n in everywhere}}
