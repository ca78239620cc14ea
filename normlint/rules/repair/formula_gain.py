"""Repairs of NRM406: the gain starts at one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import libcst as cst

from normlint.norm.norm import Gain, Norm
from normlint.rules.repair.document import Changes, Document
from normlint.rules.repair.formula import Change, tried
from normlint.rules.repair.powers import renamed
from normlint.rules.repair.spelling import Style, called, expression, number, placed, tight
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.trial import Trial
from normlint.text.finding import Applicability, Fix

_OFFSETS: Final = re.compile(r"gemma|zero_?cent|plus_?one|one_?plus|unit_?offset", re.IGNORECASE)
_MADE: Final = {"ones": "zeros", "ones_like": "zeros_like", "ones_": "zeros_"}
_OTHER: Final = _MADE | {new: old for old, new in _MADE.items()}
_FILLED: Final = ("full", "full_like", "fill_", "constant_")
_NUMBERS: Final = {"0": "1", "1": "0", "1.0": "0.0", "0.0": "1.0", "1.": "0.", "0.": "1."}


def start_at_one(norm: Norm, gains: tuple[Gain, ...], tree: Tree) -> Fix | None:
    """Weights of zeros under `1 +`, of ones without: first values change, and checkpoints mean what they meant."""
    document, style = tree.document, Style(tree.text)
    several = zip(*(_candidates(norm, gain, document, style) for gain in gains), strict=False)
    together = ((ways[0][0], {k: v for _, changes in ways for k, v in changes.items()}) for ways in several)
    return tried(Trial(tree, norm, "NRM406"), together, Applicability.UNSAFE)


def _candidates(norm: Norm, gain: Gain, document: Document, style: Style) -> Iterator[Change]:
    old, new = ("ones", "zeros") if gain.offset else ("zeros", "ones")
    if gain.offset and _handed_to_a_norm(document, gain):
        return
    if gain.offset is None and _OFFSETS.search(norm.qualname):
        yield "Scale by 1 + the weight, which starts at zeros", _with_one(document, norm, gain)
    changes: Changes = {}
    for call in (*_made(document, gain), *_filled(document, gain)):
        changes |= _changed(style, call, old)
    yield f"Start the weight at {new}", changes
    yield from ((f"Start the weight at {new}", {node: change}) for node, change in changes.items())


def _handed_to_a_norm(document: Document, gain: Gain) -> bool:
    """A fused path beside it takes the weight as it is, without 1 +."""
    own = {n.name.value for n in document.everywhere(cst.FunctionDef)}
    calls = [n for n in document.everywhere(cst.Call, "_norm") if called(n).endswith("_norm") and called(n) not in own]
    given = [a.value for call in calls for a in call.args]
    return any(isinstance(v, cst.Attribute) and v.attr.value == gain.param.name for v in given)


def _made(document: Document, gain: Gain) -> list[cst.Call]:
    """Where the tensor is made: torch.ones, torch.full(…, 1.0), torch.ones_like, in nn.Parameter(…) or not."""
    node = document.at(gain.param.span)
    return document.below(node, cst.Call)[:2] if node is not None else []


def _filled(document: Document, gain: Gain) -> list[cst.Call]:
    """Where it is filled later: nn.init.ones_(self.weight), self.weight.data.fill_(1.0)."""
    attribute = re.compile(rf"\.{re.escape(gain.param.name)}\b")
    calls = [n for n in document.everywhere(cst.Call, "_(") if called(n).endswith("_")]
    return [n for n in calls if attribute.search(document.source(n))]


def _changed(style: Style, call: cst.Call, old: str) -> Changes:
    """The call with the other first value."""
    name = called(call)
    if name.startswith(old) and name in _OTHER:
        if isinstance(call.func, cst.Name):
            function = style.function(_OTHER[name])
            return {call.func: cst.parse_expression(function)} if function and not name.endswith("_") else {}
        return {call.func: renamed(style, call, _OTHER[name].rstrip("_")).func}
    filled = [a.value for a in call.args if a.keyword and a.keyword.value in ("fill_value", "val", "value")]
    filled += [a.value for a in call.args[-1:]]
    value = filled[0] if filled and name in _FILLED else None
    if isinstance(value, cst.Integer | cst.Float) and number(value) == (old == "ones") and value.value in _NUMBERS:
        return {value: value.with_changes(value=_NUMBERS[value.value])}
    return {}


def _with_one(document: Document, norm: Norm, gain: Gain) -> Changes:
    """`self.weight` as `(1 + self.weight)`, where the norm uses it once."""
    node = document.at(norm.span)
    holder = document.around(node, cst.ClassDef) if node is not None else None
    found = document.below(holder, cst.Attribute) if holder is not None else []
    used = [n for n in found if n.attr.value == gain.param.name and not _bound(document, n)]
    if len(used) != 1:
        return {}
    whole: cst.BaseExpression = used[0]
    cast = document.parent(document.parent(whole) or whole)
    if isinstance(document.parent(whole), cst.Attribute) and isinstance(cast, cst.BaseExpression):
        whole = cast  # self.weight.float()
    return {whole: placed(document, whole, expression("1 + {w}", w=tight(whole)))}


def _bound(document: Document, node: cst.Attribute) -> bool:
    return isinstance(next(document.above(node), None), cst.AssignTarget | cst.AnnAssign)
