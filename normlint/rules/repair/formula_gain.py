"""Repairs of NRM406: the gain starts at one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from normlint.norm.norm import Gain, Norm
from normlint.rules.repair.formula_flow import called
from normlint.rules.repair.formula_powers import Edits
from normlint.rules.repair.formula_text import function, number, parenthesised
from normlint.rules.repair.tree import Tree
from normlint.rules.repair.trial import Candidate, Trial
from normlint.rules.repair.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span

_OFFSETS: Final = re.compile(r"gemma|zero_?cent|plus_?one|one_?plus|unit_?offset", re.IGNORECASE)
_MADE: Final = {"ones": "zeros", "ones_like": "zeros_like", "ones_": "zeros_"}
_OTHER: Final = _MADE | {new: old for old, new in _MADE.items()}


def start_at_one(norm: Norm, gains: tuple[Gain, ...], tree: Tree) -> Fix | None:
    """Weights of zeros under `1 +`, of ones without: first values change, and checkpoints mean what they meant."""
    several = zip(*(_candidates(norm, gain, tree) for gain in gains), strict=False)
    together = ((ways[0][0], tuple(dict.fromkeys(e for _, edits in ways for e in edits))) for ways in several)
    return Trial(tree, norm, "NRM406").first(together, Applicability.UNSAFE)


def _candidates(norm: Norm, gain: Gain, tree: Tree) -> Iterator[Candidate]:
    old = "ones" if gain.offset else "zeros"
    if gain.offset and _handed_to_a_norm(tree, gain):
        return
    if gain.offset is None and _OFFSETS.search(norm.qualname):
        yield "Scale by 1 + the weight, which starts at zeros", _with_one(tree, norm, gain)
    edits = (*_made(tree, gain, old), *_filled(tree, gain, old))
    new = "zeros" if old == "ones" else "ones"
    yield f"Start the weight at {new}", edits
    yield from ((f"Start the weight at {new}", (edit,)) for edit in edits)


def _handed_to_a_norm(tree: Tree, gain: Gain) -> bool:
    """A fused path beside it takes the weight as it is, without 1 +."""
    own = {n.name for n in walk(tree.root) if isinstance(n, ast.FunctionDef)}
    calls = [n for n in walk(tree.root) if isinstance(n, ast.Call) and called(n).endswith("_norm")]
    calls = [call for call in calls if called(call) not in own]
    given = [a for call in calls for a in (*call.args, *(k.value for k in call.keywords))]
    return any(isinstance(a, ast.Attribute) and a.attr == gain.param.name for a in given)


def _made(tree: Tree, gain: Gain, old: str) -> Edits:
    """Where the tensor is made: torch.ones, torch.full(…, 1.0), torch.ones_like."""
    node = tree.at(gain.param.span)
    calls = [n for n in walk(node or ast.Pass()) if isinstance(n, ast.Call)]
    return tuple(edit for call in calls[:2] for edit in _changed(tree, call, old))


def _filled(tree: Tree, gain: Gain, old: str) -> Edits:
    """Where it is filled later: nn.init.ones_(self.weight), self.weight.data.fill_(1.0)."""
    attribute = re.compile(rf"\.{re.escape(gain.param.name)}\b")
    found: list[Edit] = []
    for node in walk(tree.root):
        if isinstance(node, ast.Call) and called(node).endswith("_") and attribute.search(tree.source(node)):
            found += _changed(tree, node, old)
    return tuple(found)


def _changed(tree: Tree, call: ast.Call, old: str) -> Iterator[Edit]:
    """The call with the other first value."""
    name, end = called(call), tree.span(call.func).end
    if name in _OTHER and name.startswith(old) and isinstance(call.func, ast.Attribute):
        yield Edit(Span(end - len(name), end), _OTHER[name])
        return
    by_name = function(tree, _OTHER.get(name, "")) if name.startswith(old) and not name.endswith("_") else ""
    if by_name:
        yield tree.replace(call.func, by_name)
        return
    filled = [k.value for k in call.keywords if k.arg in ("fill_value", "val", "value")] or call.args[-1:]
    if name in ("full", "full_like", "fill_", "constant_") and filled:
        value = number(filled[0])
        if value == (1 if old == "ones" else 0):
            yield tree.replace(filled[0], _other_number(tree.source(filled[0])))


def _other_number(text: str) -> str:
    return {"0": "1", "1": "0", "1.0": "0.0", "0.0": "1.0"}.get(text.rstrip("."), "")


def _with_one(tree: Tree, norm: Norm, gain: Gain) -> Edits:
    """`self.weight` as `(1 + self.weight)`, where the norm uses it once."""
    holder = tree.around(norm.span, ast.ClassDef)
    attributes = [n for n in walk(holder or ast.Pass()) if isinstance(n, ast.Attribute)]
    used = [n for n in attributes if n.attr == gain.param.name and isinstance(n.ctx, ast.Load)]
    if len(used) != 1:
        return ()
    node = used[0]
    value = tree.parent(node) if isinstance(tree.parent(node), ast.Attribute) else None
    whole = tree.parent(value) if value is not None else node
    if not isinstance(whole, ast.expr):
        return ()
    argument = isinstance(tree.parent(whole), ast.Call) or parenthesised(tree, whole)
    return tree.wrap(whole, "1 + " if argument else "(1 + ", "" if argument else ")")
