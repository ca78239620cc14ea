"""Build the fixes of NRM207, NRM406 and NRM505: start gains at one, add 1 in fp32, and apply unused parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

import libcst as cst

from normlint.evaluate.monomial import Param
from normlint.fixes.calls import parameters
from normlint.fixes.casts_words import receiver
from normlint.fixes.document import Change, Changes, Document, in_front
from normlint.fixes.flow import definition, given
from normlint.fixes.roots import renamed
from normlint.fixes.spelling import (
    PRODUCT,
    SUM,
    called,
    expression,
    instead,
    is_none,
    number,
    operands,
    operation,
    stripped,
    tight,
)
from normlint.fixes.tree import Tree, spelled
from normlint.fixes.trial import Trial
from normlint.norm.norm import Gain, Norm
from normlint.text.finding import Applicability, Fix
from normlint.text.frozen import dataclass

_BIASES: Final = ("bias", "beta", "b_2", "shift")


@dataclass(frozen=True, slots=True)
class _Unused:
    """The parameters to apply: at most one gain and one bias."""

    gain: Param | None
    bias: Param | None
    document: Document

    @property
    def applicability(self) -> Applicability:
        """Return SAFE if applying the parameters with their first values changes nothing."""
        gain = self.gain is None or self.gain.init == "ones"
        bias = self.bias is None or self.bias.init == "zeros"
        return Applicability.SAFE if gain and bias else Applicability.UNSAFE

    @property
    def in_some_dtype(self) -> bool:
        """Return whether the constructor says in which dtype the gain is made."""
        return self.gain is not None and "dtype=" in self.document.text[slice(*self.gain.span)]

    def on(self, value: cst.BaseExpression) -> cst.BaseExpression:
        """Return the expression with the gain and bias applied; a gain that starts at zero gets `1 +`."""
        if self.gain is not None:
            offset = "1 + " * (self.gain.init == "zeros")
            wide = ".float()" * bool(offset and self.in_some_dtype)  # in bf16 an offset loses small gains
            factor = cst.parse_expression(f"{offset}self.{self.gain.name}{wide}")
            value = expression("{x} * {g}", x=tight(value, PRODUCT), g=tight(factor, PRODUCT))
        if self.bias is None:
            return value
        return expression("{x} + {b}", x=tight(value, SUM), b=cst.parse_expression(f"self.{self.bias.name}"))


def applied(norm: Norm, unused: tuple[Param, ...], tree: Tree) -> Fix | None:
    """Apply all of the norm's unused parameters in one fix: their findings have one cause."""
    document = tree.document
    biases = [p for p in unused if p.name in _BIASES]
    gains = [p for p in unused if p not in biases]
    name = document.at(norm.owner.span, cst.Name)
    forward = document.around(name, cst.FunctionDef)
    if len(gains) > 1 or len(biases) > 1 or forward is None or document.around(forward, cst.ClassDef) is None:
        return None
    if any(_may_be_none(document, p) for p in unused) or not all(c.over_last for c in norm.computations if c.returned):
        return None  # the gain must lie along the features, which may be on any axis
    if not gains and norm.kind == "rms":
        return None  # an RMS norm has no bias: which is too much may be the parameter
    new = _Unused(next(iter(gains), None), next(iter(biases), None), document)
    trial = Trial(tree, norm, "NRM505", frozenset(p.name for p in gains))
    return trial.first(_candidates(new, norm, forward), new.applicability)


def _candidates(new: _Unused, norm: Norm, forward: cst.FunctionDef) -> Iterator[Change]:
    document = new.document
    message = "Apply " + " and ".join(f"`self.{p.name}`" for p in (new.gain, new.bias) if p is not None)
    inside = [n for n in document.below(forward, cst.Return) if document.around(n, cst.FunctionDef) is forward]
    returns = [n for n in inside if n.value is not None]
    if any(_is_no_norm(document, forward, n.value) for n in returns):
        return
    if new.gain is not None and new.bias is None and any(c.shift for c in norm.computations):
        if not all(c.shift for c in norm.computations if c.returned):
            return  # the path without the bias needs the gain, too
        yield from ((message, changes) for changes in _in_front_of_bias(new, norm, forward))
        return
    # a bias goes where the gain is, in front of the cast back; there a gain that is made in some dtype can't widen it
    first = bool(norm.main.gains) if new.gain is None else new.in_some_dtype
    yield message, dict(_before_cast(new, n.value) if first else (n.value, _onto(new, n.value)) for n in returns)


def _is_no_norm(document: Document, forward: cst.FunctionDef, value: cst.BaseExpression | None) -> bool:
    """Return whether several values, one of two, or a parameter is returned: no gain is applied to that."""
    came_in = isinstance(value, cst.Name) and value.value in parameters(forward) and not definition(document, value)
    return came_in or isinstance(value, cst.Tuple | cst.List | cst.Dict | cst.IfExp)


def _before_cast(new: _Unused, node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression]:
    """Return the operand of a final cast, or the node itself, and what to replace it by."""
    operand = receiver(new.document, node) if called(node) in ("type_as", "to", "type") else None
    if operand is None:
        return node, _onto(new, node)
    return operand, instead(new.document, operand, new.on(stripped(operand)))


def _onto(new: _Unused, node: cst.BaseExpression) -> cst.BaseExpression:
    return new.on(node) if node.lpar else instead(new.document, node, new.on(stripped(node)))


def _in_front_of_bias(new: _Unused, norm: Norm, forward: cst.FunctionDef) -> Iterator[Changes]:
    """Apply the gain to what a bias is added to already."""
    document = new.document
    names = {getattr(f.atom, "name", "") for c in norm.computations if c.shift for f in c.shift.factors}
    for node in (n for n in document.below(forward, cst.Attribute) if n.attr.value in names):
        whole = next((n for n in document.above(node) if operation(n) == "add"), None)
        if isinstance(whole, cst.AugAssign):  # y += bias
            gained = cst.Assign([cst.AssignTarget(whole.target)], new.on(whole.target))
            yield {document.line(whole): partial(in_front, [cst.SimpleStatementLine([gained])])}
        else:
            yield {one: _onto(new, one) for one in operands(whole) if node not in document.below(one, cst.Attribute)}


def _may_be_none(document: Document, param: Param) -> bool:
    """Return whether the parameter is set under a condition, to None elsewhere, or by a base class outside the text."""
    name, branch = param.name, document.around(document.at(param.span), cst.If | cst.FunctionDef)
    own = re.escape(name)
    if not re.search(rf"\.{own}\s*(?::[^=\n]+)?=[^=]", document.text):
        return True
    values = [v for n in document.everywhere(cst.Attribute, name) if n.attr.value == name for v in given(document, n)]
    parts = [part for v in values for part in (v, getattr(v, "body", None), getattr(v, "orelse", None))]
    registered = re.search(rf"register_parameter\(\s*[\"']{own}[\"'],\s*None\s*\)", document.text)
    return bool(registered) or isinstance(branch, cst.If) or any(map(is_none, parts))


_OFFSETS: Final = re.compile(r"gemma|zero_?cent|plus_?one|one_?plus|unit_?offset", re.IGNORECASE)
_MADE: Final = {"ones": "zeros", "ones_like": "zeros_like", "ones_": "zeros_"}
_OTHER: Final = _MADE | {new: old for old, new in _MADE.items()}
_FILLED: Final = ("full", "full_like", "fill_", "constant_")
_NUMBERS: Final = {"0": "1", "1": "0", "1.0": "0.0", "0.0": "1.0", "1.": "0.", "0.": "1."}


def start_at_one(norm: Norm, gains: tuple[Gain, ...], tree: Tree) -> Fix | None:
    """Start gains under `1 +` at zero and others at one; UNSAFE, as it changes the first values."""
    document = tree.document
    several = zip(*(_first_values(norm, gain, document, tree) for gain in gains), strict=False)
    together = ((ways[0][0], {k: v for _, changes in ways for k, v in changes.items()}) for ways in several)
    return Trial(tree, norm, "NRM406").first(together, Applicability.UNSAFE)


def _first_values(norm: Norm, gain: Gain, document: Document, tree: Tree) -> Iterator[Change]:
    old, new = ("ones", "zeros") if gain.offset else ("zeros", "ones")
    meant = gain.offset is None and _OFFSETS.search(norm.qualname)  # for checkpoints whose weights lack the 1
    if meant or (gain.offset and _is_norm_argument(document, gain)):
        return
    changes: Changes = {}
    for call in (*_made(document, gain), *_filled(document, gain)):
        changes |= _changed(tree, call, old)
    yield f"Start the weight at {new}", changes
    yield from ((f"Start the weight at {new}", {node: change}) for node, change in changes.items())


def _is_norm_argument(document: Document, gain: Gain) -> bool:
    """Return whether a fused path takes the weight as it is, without `1 +`."""
    own = {n.name.value for n in document.everywhere(cst.FunctionDef, "def ")}
    calls = [n for n in document.everywhere(cst.Call, "_norm") if called(n).endswith("_norm") and called(n) not in own]
    given = [a.value for call in calls for a in call.args]
    return any(isinstance(v, cst.Attribute) and v.attr.value == gain.param.name for v in given)


def _made(document: Document, gain: Gain) -> list[cst.Call]:
    """Return the calls that make the tensor, such as torch.ones, torch.full(…, 1.0) or torch.ones_like."""
    return document.below(document.at(gain.param.span), cst.Call)[:2]


def _filled(document: Document, gain: Gain) -> list[cst.Call]:
    """Return the calls that fill it later: nn.init.ones_(self.weight), self.weight.data.fill_(1.0)."""
    attribute = re.compile(rf"\.{re.escape(gain.param.name)}\b")
    calls = [n for n in document.everywhere(cst.Call, "_(") if called(n).endswith("_")]
    return [n for n in calls if attribute.search(document.source(n))]


def _changed(tree: Tree, call: cst.Call, old: str) -> Changes:
    """Replace the first value in the call by the other one, such as ones by zeros."""
    name = called(call)
    if name.startswith(old) and name in _OTHER:
        imported = isinstance(call.func, cst.Attribute) or spelled(tree, f"torch.{_OTHER[name]}")
        return {call.func: renamed(tree, call, _OTHER[name].rstrip("_")).func} if imported else {}
    value = call.args[-1].value if call.args and name in _FILLED else None
    if isinstance(value, cst.Integer | cst.Float) and number(value) == (old == "ones") and value.value in _NUMBERS:
        return {value: value.with_changes(value=_NUMBERS[value.value])}
    return {}


def widened(norm: Norm, gain: Gain, tree: Tree) -> Fix | None:
    """Add 1 in fp32: `1 + self.weight.float()`."""
    document = tree.document
    whole = document.at(gain.span)
    found = [n for n in document.below(whole, cst.Attribute) if n.attr.value == gain.param.name] if whole else []
    changes = {n: expression("{w}.float()", w=n) for n in found} if len(found) == 1 and norm.main.returned else {}
    return Trial(tree, norm, "NRM207").first([("Add 1 in fp32: `.float()`", changes)])
