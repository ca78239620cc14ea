"""Repairs of the formula: inverted scales, wrong roots, squares, gradients, and rsqrt for a root and a division."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import Step
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.flow import (
    assignments,
    bound_to_root,
    definitions,
    loads,
    named_a_root,
    names_in,
    names_of,
    product_at,
    products,
    read_once,
    single_targets,
)
from normlint.fixes.powers import flipped, in_place_of, power_of, renamed, scaled
from normlint.fixes.spelling import Style, call_of, called, expression, number, placed, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of
from normlint.norm.norm import HALF, Computation, Norm
from normlint.norm.recognise import deep_steps
from normlint.text.finding import Fix, Span

_POWERS: Final = ("sqrt", "rsqrt", "recip", "pow", "std", "norm", "square")


def invert(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Divide where it multiplies: turn the product round, or the root under it."""
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
    if named and inverted:
        inner = sorted(inner, key=partial(_nameless, document))
    turn = partial(scaled, document, style, factor=Fraction(-1))
    roots = [("Turn the root the right way round", e) for _, node in inner for e in turn(node)]
    if divides:
        outer = [("Multiply by the inverse root", e) for e in turn(steps[0][1])]
    else:
        turned = (p for p in products(document, start) if number(p.other) is None)
        outer = [("Divide by the root", e) for p in turned for e in flipped(style, p)]
    carried_along = divides and next((p.node for p in products(document, start) if number(p.other) is None), None)
    if carried_along and carried_along is not steps[0][1]:
        roots = []  # a factor that is divided by as well
    first_inner = named and read_once(document, start) if divides else inverted or not named
    yield from (*roots, *outer) if first_inner else (*outer, *roots)


Taken = tuple[Step, cst.CSTNode | None]  # a step of the statistic, and where it is written


def _nameless(document: Document, one: Taken) -> bool:
    """The step isn't taken where the value gets a name like rms, and what is called so should be so."""
    stmt = document.around(one[1], cst.Assign) if one[1] is not None else None
    return stmt is None or not bound_to_root(document, stmt.value)


def _ends_in_product(node: cst.CSTNode | None) -> bool:
    """The division is of a tensor, not of the 1 of `1 / root`."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        return number(node.left) is None
    return called(node).rstrip("_") != "reciprocal"


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
    message = "Take one square root" if abs(factor) > 1 else "Take the square root"
    start = document.at(c.statistic.span)
    if factor == 2 and c.statistic.spelled.startswith("std") and all(e.power == HALF for e in c.eps):
        for change in scaled(document, style, start, Fraction(2)):
            yield "Take the variance under the root", {**change, **_renamed(document, start)}
    for _, node in sorted(_steps(c, document), key=partial(_keeps, document)):
        yield from ((message, change) for change in scaled(document, style, node, factor))
    name = {HALF: "sqrt", -HALF: "rsqrt"}.get(factor)
    if start is not None and name is not None:
        yield from ((message, {p.value: style.around(p.value, name)}) for p in products(document, start))


def _renamed(document: Document, node: cst.BaseExpression | None) -> Changes:
    """The variance's name, where the deviation's says std."""
    stmt = document.parent(node) if node is not None else None
    name = next(iter(names_of(stmt)), "")
    if not isinstance(stmt, cst.Assign) or len(stmt.targets) != 1 or "std" not in name:
        return {}
    scope, new = document.scope(stmt), name.replace("std", "var")
    given = [s for s in assignments(document, scope) if name in names_of(s)]
    if len(given) > 1 or loads(document, new, scope):
        return {}
    return {n: n.with_changes(value=new) for n in document.below(scope, cst.Name) if n.value == name}


def _keeps(document: Document, one: Taken) -> bool:
    """A plain root can go, unless a name says that it is one; other steps are changed only after that was tried."""
    step, node = one
    return step.op != "sqrt" or (isinstance(node, cst.BaseExpression) and bound_to_root(document, node))


_SQUARES: Final = re.compile(r"^s$|sq|squares|pow", re.IGNORECASE)


def square(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Average the squares; take the root as well where nothing but the mean was divided by."""
    return Trial(tree, norm, "NRM403", partly=True).first(_squares(c, tree.document, Style(tree)))


def _squares(c: Computation, document: Document, style: Style) -> Iterator[Change]:
    inner, start = document.at(c.statistic.inner_span), document.at(c.statistic.span)
    if inner is None or start is None:
        return
    orders = list(_order_two(start))
    if orders:
        yield from (("Take the L2 norm", change) for change in orders)
        return
    squares = [*_in_place_of_abs(document, style, inner), *_at_definition(document, style, inner)]
    squares.append({inner: placed(document, inner, style.squared(inner))})
    if c.power == -1:  # x / mean(|x|)
        roots: list[Changes] = [{p.value: lambda u: style.around(u, "sqrt")} for p in products(document, start)]
        yield from (("Divide by the root of the mean square", {**s, **r}) for s in squares for r in roots)
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


def _at_definition(document: Document, style: Style, inner: cst.BaseExpression) -> Iterator[Changes]:
    """`squares = x` wants its square there."""
    if isinstance(inner, cst.Name) and _SQUARES.search(inner.value):
        yield from ({value: style.squared(value)} for value in definitions(document, inner))


def _order_two(start: cst.BaseExpression) -> Iterator[Changes]:
    """The L2 norm for the L1 norm."""
    if isinstance(start, cst.Call):
        named = [a.value for a in start.args if a.keyword and a.keyword.value in ("p", "ord")]
        orders = [v for v in (*named, *(a.value for a in start.args[:2] if not a.keyword)) if number(v) == 1]
        yield from ({order: cst.Integer("2")} for order in orders[:1])


_CUTS: Final = ("detach", "item")
_GUARDS: Final = ("no_grad", "inference_mode", "set_grad_enabled")


def attach(norm: Norm, c: Computation, tree: Tree) -> Fix | None:
    """Take away what keeps the gradient from the statistic."""
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


# --- blocks and decorators -------------------------------------------------------------------------------------------


def _unguarded(document: Document, span: Span) -> Changes:
    """Without the `with torch.no_grad():` around the statistic, or the decorator of its function."""
    node = document.at(span)
    for holder in document.above(node) if node is not None else ():
        if isinstance(holder, cst.With) and any(_guards(i.item) for i in holder.items):
            return _without_with(holder)
        if isinstance(holder, cst.FunctionDef):
            guards = [d for d in holder.decorators if _guards(d.decorator)]
            return dict.fromkeys(guards) if not _writes(document, holder) else {}
    return {}


def _guards(node: cst.BaseExpression) -> bool:
    name = called(node) or (node.attr.value if isinstance(node, cst.Attribute) else "")
    if name != "set_grad_enabled" or not isinstance(node, cst.Call):
        return name in _GUARDS
    return bool(node.args) and isinstance(node.args[0].value, cst.Name) and node.args[0].value.value == "False"


def _writes(document: Document, function: cst.FunctionDef) -> bool:
    """Something is written that outlives the call: an attribute, an item, a buffer in place."""
    targets = [t.target for t in document.below(function, cst.AssignTarget)]
    targets += [s.target for s in document.below(function, cst.AugAssign)]
    in_place = (called(s.value).endswith("_") for s in document.below(function, cst.Expr))
    return any(isinstance(t, cst.Attribute | cst.Subscript) for t in targets) or any(in_place)


def _without_with(holder: cst.With) -> Changes:
    body = holder.body.body
    lines = [s.body if isinstance(s, cst.SimpleStatementLine) else [s] for s in body]
    if not all(_only_computes(stmt) for line in lines for stmt in line):
        return {}
    kept = [i for i in holder.items if not _guards(i.item)]
    if kept:
        return {holder: holder.with_changes(items=[*kept[:-1], kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])}
    if isinstance(holder.body, cst.SimpleStatementSuite):
        suite = holder.body
        line = cst.SimpleStatementLine(suite.body, holder.leading_lines, suite.trailing_whitespace)
        return {holder: line}
    return {holder: _dedented}


def _dedented(holder: cst.With) -> cst.FlattenSentinel[Any]:
    """The statements of the block, with the comments that stood above it and on its first line."""
    first, *rest = holder.body.body
    comment = getattr(holder.body, "header", cst.TrailingWhitespace()).comment
    above = [*holder.leading_lines, *([cst.EmptyLine(comment=comment)] if comment else [])]
    lines = [first.with_changes(leading_lines=[*above, *first.leading_lines]), *rest]  # type: ignore[union-attr]
    return cst.FlattenSentinel([*lines, *getattr(holder.body, "footer", ())])


def _only_computes(stmt: cst.CSTNode) -> bool:
    """It gives names to values: nothing is written that outlives the call."""
    return all(isinstance(e, cst.Name) for e in single_targets(stmt))


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
    holder = document.parent(value)
    whole = document.parent(holder) if isinstance(holder, cst.Attribute) and holder.value is value else holder
    match whole:
        case cst.Call() if called(whole) == "reciprocal":
            return {whole: lambda u: in_place_of(document, whole, u.args[0].value if u.args else u.func.value)}
        case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right) if right is value and number(left) == 1:
            return {whole: lambda u: in_place_of(document, whole, u.right)}
    product = product_at(document, value)
    divides = isinstance(getattr(whole, "operator", None), cst.Divide | cst.DivideAssign) or "div" in called(whole)
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
