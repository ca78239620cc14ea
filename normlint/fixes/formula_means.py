"""What a function has at hand for centring: names of centred values, names of means, and means written out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import libcst as cst

from normlint.fixes.document import Document
from normlint.fixes.flow import assignments, names_of
from normlint.fixes.spelling import Style, called, tight
from normlint.text.frozen import dataclass

_MEANS: Final = ("mean", "var_mean", "std_mean", "sum", "reduce")
_OF_VARIANCES: Final = ("unbiased", "correction", "dtype", "out")


@dataclass(frozen=True, slots=True)
class Means:
    """Centred values and means in a function that have names, and means that are written out; the last first."""

    centred: tuple[cst.BaseExpression, ...]
    means: tuple[cst.BaseExpression, ...]


def known_means(document: Document, node: cst.CSTNode) -> Means:
    """What the function of the node has."""
    scope = document.scope(node)
    statements = assignments(document, scope)[::-1]
    centred = [name for s in statements if sides(s.value) for name in names_of(s)]
    means = [name for s in statements if holds_mean(document, s.value) for name in names_of(s)[-1:]]
    found = [sides(n) for n in document.below(scope, cst.BaseExpression)]
    written = [pair[1] for pair in found if pair and not isinstance(pair[1], cst.Name)]
    return Means(_names(centred), (*_names(means), *written))


def _names(found: Iterable[str]) -> tuple[cst.BaseExpression, ...]:
    return tuple(cst.Name(name) for name in dict.fromkeys(found) if name != "_")


def holds_mean(document: Document, value: cst.BaseExpression | None) -> bool:
    """A mean, or a sum over a count, is taken in the expression, and nothing is centred by it."""
    taken = value is not None and any(called(n) in _MEANS for n in document.below(value, cst.Call))
    return taken and sides(value) is None


def sides(node: cst.CSTNode | None) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Minuend and subtrahend of a difference: a - b, a.sub(b), torch.sub(a, b)."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract):
        return node.left, node.right
    if not isinstance(node, cst.Call) or called(node) not in ("sub", "subtract") or not node.args:
        return None
    values = [a.value for a in node.args]
    if len(values) == 1 and isinstance(node.func, cst.Attribute):
        values.insert(0, node.func.value)
    return (values[0], values[1]) if len(values) == 2 else None


def by_method(document: Document, style: Style, call: cst.Call) -> bool:
    """A method of a tensor, not a function of torch."""
    torch = style.function("mean").removesuffix(".mean")
    return isinstance(call.func, cst.Attribute) and document.source(call.func.value) != torch


def averaged(
    document: Document, style: Style, call: cst.Call, target: cst.BaseExpression, *, keep: bool = True
) -> cst.BaseExpression | None:
    """The target's mean, spelled as the call of a variance is; None where that can't be said."""
    method = by_method(document, style, call)
    given = [a for a in call.args if not (a.keyword and a.keyword.value in _OF_VARIANCES)][0 if method else 1 :]
    args = [a.with_changes(comma=cst.MaybeSentinel.DEFAULT) for a in given]
    kept = any("keepdim" in document.source(a) or document.source(a) == "True" for a in given)
    if keep and not kept:
        args += cst.ensure_type(cst.parse_expression("f(keepdim=True)"), cst.Call).args
    if method:
        return cst.Call(cst.Attribute(tight(target), cst.Name("mean")), args)
    if not isinstance(call.func, cst.Attribute):
        return None
    return cst.Call(call.func.with_changes(attr=cst.Name("mean")), [cst.Arg(target), *args])
