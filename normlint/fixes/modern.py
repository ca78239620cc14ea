"""Root and division in one: rsqrt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import loads, names_in, names_of, product_at
from normlint.fixes.formula import Change, tried
from normlint.fixes.powers import flipped, in_place_of, power_of, renamed
from normlint.fixes.spelling import HALF, Style, called, expression, number, placed, tight
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import Norm
from normlint.text.finding import Fix, Span


def one_root(norm: Norm, root: Span, division: Span, tree: Tree) -> Fix | None:
    """`1 / sqrt(v)`, `x / sqrt(v)`, and the same through a name, with rsqrt."""
    return tried(Trial(tree, norm, "NRM601"), _candidates(root, division, tree.document, Style(tree.text)))


def _candidates(root: Span, division: Span, document: Document, style: Style) -> Iterator[Change]:
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
