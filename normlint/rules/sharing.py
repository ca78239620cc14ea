"""NRM7xx: a norm that stands at several layers, which share its gain."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from normlint.norm.makes import Makes, constructors
from normlint.norm.nodes import dotted
from normlint.norm.wiring import Called, Module, Read, Value, Values, called_last, functions, made_of, names_in
from normlint.rules.registry import Problem, calls_rule
from normlint.rules.wiring import assigned, conditions, unused
from normlint.text.finding import REVIEW, WARNING

_PLAIN: Final = re.compile(  # layers without weights of their own, by their attributes or classes
    r"(?i)drop|act|.*elu|gelu|silu|swish|mish|tanh|sigmoid|softmax|identity|.*pool|upsample|flatten|pad|permute|rearrange"
)
_WITH_GAIN: Final = re.compile(r"(?:Layer|RMS|Group|Batch|SyncBatch)\w*")
_MEANT: Final = re.compile(r"(?i)shared|common|tied|same")  # in the name of a norm
_FAR: Final = 24  # names that are followed


@calls_rule("NRM713", name="shared-norm", severity=WARNING)
def shared_norm(makes: Makes) -> Iterator[Problem]:
    """Is applied at several layers of a block.

    One gain scales what all of these layers get, and is trained for all of them at once. A checkpoint of a model that
    has a norm for each of them can't be loaded. Batch norms mix the running statistics of different layers, so what
    they compute in evaluation is wrong.

    Instead: Make a norm for each layer

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.attention = nn.Linear(dim, dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            x = x + self.attention(self.norm(x))
            return x + self.mlp(self.norm(x))  # error: [shared-norm]
    ```

    Sound is a norm without a gain, and one whose layer is called several times as well:

    ```py
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            x = self.norm(x + self.mlp(x))
            return self.norm(x + self.mlp(x))
    ```
    It is a review where the only call is in a loop over layers, which may share the norm on purpose.
    Where another norm that is made alike is never applied, that is reported instead.
    """
    for read in functions(makes):
        seen: dict[str, list[Called]] = {}
        for one in read.norms():
            seen.setdefault(one.name, []).append(one)
        for name, calls in seen.items():
            if _MEANT.search(name) or not _has_gain(read.module, name) or unused(read.module, name):
                continue
            again = (later for first, later in pairwise(calls) if _is_shared(read, first, later))
            second, each = next(again, None), _in_each(read, calls)
            if (call := second or each) is not None:
                where = "several layers" if second is not None else "each layer of the loop"
                message = f"`{name}` is applied at {where}, which share its gain"
                severity = REVIEW if len(calls) == 1 else ""
                yield Problem(read.module.owner.span(call.node), message, severity=severity, owner=read.qualname)


def _in_each(read: Read, calls: Sequence[Called]) -> Called | None:
    """Return the call that normalises what a loop over layers hands from each layer to the next; None if none does."""
    loops = [node for node in ast.walk(read.function) if isinstance(node, ast.For)]
    for loop, call in ((loop, call) for call in calls for loop in loops):
        within = {node for part in loop.body for node in ast.walk(part)}
        under = _conditions(read, call) if call.node in within else None
        stored = {n.id for n in within if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        tests = (branch.test for branch, _ in under or () if branch in within and isinstance(branch, ast.If))
        if under is None or not all((stored | names_in(loop.target)).isdisjoint(names_in(test)) for test in tests):
            continue  # for the last layer, say
        steps = (step for step in read.steps if step[0] in within)
        last = {assigned(s): Value(s.value, values) for s, values, _ in steps if isinstance(s, ast.Assign)}
        if any(_is_handed_on(read, loop, call, name, value) for name, value in last.items()):
            return call
    return None


def _is_handed_on(read: Read, loop: ast.For, call: Called, name: str, value: Value) -> bool:
    """Return whether the value that a loop gives a name is the norm of what its layer made of the last one."""
    targets = names_in(loop.target)
    made = {node for node, _ in made_of(*value)}
    layers = [n for n in made if isinstance(n, ast.Call) and _of_loop(n.func, targets)]
    itself = any(name in names_in(node) for node in (value.node, call.node, *layers))
    others = {one.name for one in _behind(read, *value, ())} - targets
    near = any(one.node is call.node for one in _behind(read, *value, others))
    return itself and near and bool(layers)


def _of_loop(called: ast.expr, names: set[str]) -> bool:
    """Return whether a loop's target is called, or indexes what is called."""
    part = called.slice if isinstance(called, ast.Subscript) else called
    return isinstance(part, ast.Name) and part.id in names


def _is_shared(read: Read, first: Called, second: Called) -> bool:
    """Return whether a norm gets its own output through one layer, where another layer is before or after."""
    one, two = (_conditions(read, call) for call in (first, second))
    if one is None or two is None or not (one <= two or two <= one):
        return False  # in pre-norm or in post-norm, say, and never both
    several = [one for one in _behind(read, second.given, second.values, {first.name}) if one.name != first.name]
    between = {one.name for one in several if _gets(read, one, first, {first.name})}
    norms = {name for name in read.module.owned if "Norm" in called_last(read.module.owned[name])}
    before = {one.name for one in _behind(read, first.given, first.values, norms)} - norms
    return bool(between) and bool((before or _users(read, second)) - between)


def _conditions(read: Read, call: Called) -> frozenset[tuple[ast.AST, bool]] | None:
    """Return the branches that a call is in; None if it is in a part of an expression that isn't always computed."""
    simple = (one for one, values, _ in read.steps if values is call.values and not hasattr(one, "body"))
    stmt = next(one for one in simple if any(n is call.node for n in ast.walk(one)))
    parts = (n for n in ast.walk(stmt) if isinstance(n, ast.IfExp | ast.BoolOp | ast.Lambda))
    return None if any(n is call.node for part in parts for n in ast.walk(part)) else conditions(read.function)[stmt]


def _has_gain(module: Module, name: str) -> bool:
    """Return whether a norm has parameters, or running statistics."""
    call = module.owned[name]
    found = module.makes.elsewhere.definition(dotted(call.func), module.makes.file)
    if found is not None:
        source = ast.unparse(found.node)
        return "Parameter(" in source and bool(constructors(found.node.body))
    affine = [k.value for k in call.keywords if k.arg in ("affine", "elementwise_affine")]
    given = all(isinstance(one, ast.Constant) and one.value for one in affine)
    return given and (_WITH_GAIN.match(called_last(call)) is not None or bool(affine))


class _Layer(NamedTuple):
    """A call of a layer with weights, a norm among them."""

    name: str
    node: ast.Call
    values: Values


def _behind(read: Read, node: ast.expr, values: Values, last: Container[str] | None) -> Iterator[_Layer]:
    """Yield the layers that an expression is computed with, up to the `last` ones, or up to the nearest."""
    waiting: list[tuple[ast.AST, Values]] = [(node, values)]
    seen: set[ast.AST] = set()
    while waiting and len(seen) < _FAR:
        one, there = waiting.pop()
        value = there.get(one.id) if isinstance(one, ast.Name) else None
        if value is not None and value.node not in seen:
            seen.add(value.node)
            waiting.append((value.node, value.values))
        name = _layer(read, one) if isinstance(one, ast.Call) else ""
        if name and isinstance(one, ast.Call):
            yield _Layer(name, one, there)
        if not name or (last is not None and name not in last):
            waiting += ((child, there) for child in ast.iter_child_nodes(one))


def _gets(read: Read, layer: _Layer, norm: Called, last: Container[str] | None) -> bool:
    """Return whether a layer is given what a norm's call gave, without one of the `last` layers, or any, between."""
    given = (*layer.node.args, *(k.value for k in layer.node.keywords))
    return any(one.node is norm.node for arg in given for one in _behind(read, arg, layer.values, last))


def _users(read: Read, norm: Called) -> set[str]:
    """Return the layers that are given what a norm's call gave."""
    simple = ((stmt, values) for stmt, values, _ in read.steps if not hasattr(stmt, "body"))
    calls = ((n, values) for stmt, values in simple for n in ast.walk(stmt) if isinstance(n, ast.Call))
    layers = (_Layer(_layer(read, call), call, values) for call, values in calls)
    return {one.name for one in layers if one.name and _gets(read, one, norm, None)} - {norm.name}


def _layer(read: Read, node: ast.AST) -> str:
    """Return the layer with weights that a node calls: an attribute of the module, or one of those of a loop."""
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    own = name.removeprefix("self.") if name.startswith("self.") else ""
    if isinstance(node, ast.Call) and own and "." not in own:
        made = read.module.owned.get(own)
        plain = _PLAIN.match(own) or (made is not None and _PLAIN.match(called_last(made)))
        return "" if plain else own
    loops = (n for n in ast.walk(read.function) if isinstance(n, ast.For)) if name and "." not in name else ()
    return name if any(isinstance(n, ast.Name) and n.id == name for one in loops for n in ast.walk(one.target)) else ""
