"""NRM7xx: a norm that stands at several layers, which share its gain."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from normlint.norm.makes import Makes, constructors
from normlint.norm.nodes import Function, dotted, plain
from normlint.norm.wiring import Called, Module, Read, Value, Values, called_last, functions, made_of, names_in
from normlint.rules.registry import Problem, calls_rule
from normlint.rules.wiring import assigned, conditions, unused
from normlint.text.finding import REVIEW, WARNING
from normlint.text.pieces import COMMENT

_PLAIN: Final = re.compile(  # layers without weights of their own, by their attributes or classes
    r"(?i)drop|act|.*elu|gelu|silu|swish|mish|tanh|sigmoid|softmax|identity|.*pool|upsample|flatten|pad|permute|rearrange"
)
_WITH_GAIN: Final = re.compile(r"(?:Layer|RMS|Group|Batch|SyncBatch)\w*")
_NO_GAINS: Final = ("bias", "track_running_stats")  # flags that leave the gain as it is
_MEANT: Final = re.compile(r"(?i)share|common|tied|same|reuse")  # in a name
_SAID: Final = re.compile(
    r"(?is)\b(?:one|single|share\w*\b(?!-norm)|same|common|tied|reuse\w*)\b.{0,40}norm|norm.{0,40}\b(?:share|reuse)"
)
_DOCSTRING: Final = re.compile(r'(?s)"""(.*?)"""')
_MOST: Final = 12  # calls of a norm in a function, and
_MANY: Final = 200  # calls of layers
_FAR: Final = 24  # names that are followed
Users = list[tuple[str, set[ast.AST]]]  # layers, with the calls that they get the results of


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
            if len(calls) > _MOST:
                continue
            users = _near(read) if len(calls) > 1 else []
            again = (later for first, later in pairwise(calls) if _is_shared(read, first, later, users))
            second, each = next(again, None), _in_each(read, calls)
            call = second or each
            if call is None or not _has_gain(read.module, name) or unused(read.module, name):
                continue
            if not _is_meant(read.module, name):
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


def _is_shared(read: Read, first: Called, second: Called, users: Users) -> bool:
    """Return whether a norm gets its own output through a layer, and stands at others the second time."""
    one, two = (_conditions(read, call) for call in (first, second))
    if one is None or two is None or not (one <= two or two <= one):
        return False  # in pre-norm or in post-norm, say, and never both
    layers = (one for one in _behind(read, second.given, second.values, {first.name}) if one.name != first.name)
    if not any(_gets(read, one, first, {first.name}) for one in layers):
        return False
    before = [_before(read, call) for call in (first, second)]
    behind = [{name for name, near in users if call.node in near} - {call.name} for call in (first, second)]
    alike = any(not one.isdisjoint(two) for one, two in (before, behind))  # one layer, called several times
    return not alike and (all(before) or all(behind))


def _before(read: Read, norm: Called) -> set[str]:
    """Return the layers that what a norm gets is computed with, up to other norms."""
    norms = {name for name in read.module.owned if "Norm" in called_last(read.module.owned[name])}
    return {one.name for one in _behind(read, norm.given, norm.values, norms)} - norms


def _conditions(read: Read, call: Called) -> frozenset[tuple[ast.AST, bool]] | None:
    """Return the branches that a call is in; None if it is in a part of an expression that isn't always computed."""
    parts = (n for n in ast.walk(call.stmt) if isinstance(n, ast.IfExp | ast.BoolOp | ast.Lambda))
    apart = any(n is call.node for part in parts for n in ast.walk(part))
    return None if apart else conditions(read.function)[call.stmt]


def _has_gain(module: Module, name: str) -> bool:
    """Return whether a norm is known to have parameters, or running statistics."""
    call, makes = module.owned[name], module.makes
    given = (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg not in _NO_GAINS))
    if not plain(call) or any(isinstance(one, ast.Constant) and one.value is False for one in given):
        return False
    found = makes.elsewhere.definition(dotted(call.func), makes.file)
    if found is not None:
        source = ast.unparse(found.node)
        return "Parameter(" in source and "requires_grad" not in source and bool(constructors(found.node.body))
    affine = [keyword.value for keyword in call.keywords if keyword.arg in ("affine", "elementwise_affine")]
    known = all(isinstance(one, ast.Constant) for one in affine) and makes.is_of_torch(dotted(call.func))
    return known and (_WITH_GAIN.match(called_last(call)) is not None or bool(affine))


def _is_meant(module: Module, name: str) -> bool:
    """Return whether a norm's name, or a comment or docstring of its class, says that it is shared, or frozen."""
    text = module.owner.text[slice(*module.owner.piece.span)]
    said = (*COMMENT.findall(text), *_DOCSTRING.findall(text))
    return _MEANT.search(name) is not None or "requires_grad" in text or any(map(_SAID.search, said))


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


def _near(read: Read) -> Users:
    """Return the layers that a function calls, with the nearest ones behind their arguments; none if they are many."""
    simple = ((stmt, values) for stmt, values, _ in read.steps if not hasattr(stmt, "body"))
    calls = ((n, values) for stmt, values in simple for n in ast.walk(stmt) if isinstance(n, ast.Call))
    several = [_Layer(name, call, values) for call, values in calls if (name := _layer(read, call))]
    found = several if len(several) <= _MANY else []
    given = [(one, (*one.node.args, *(k.value for k in one.node.keywords))) for one in found]
    return [
        (one.name, {last.node for arg in args for last in _behind(read, arg, one.values, None)}) for one, args in given
    ]


def _layer(read: Read, node: ast.AST) -> str:
    """Return the layer with weights that a node calls: an attribute of the module, or one of those of a loop."""
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    own = name.removeprefix("self.") if name.startswith("self.") else ""
    if isinstance(node, ast.Call) and own and "." not in own:
        made = read.module.owned.get(own)
        said = own if made is None else called_last(made)
        several = made is not None and own not in read.module.alone  # in a Sequential, of which that is the last
        return "" if not several and _PLAIN.match(said) else own
    return name if name and "." not in name and name in _targets(read.function) else ""


@lru_cache(maxsize=1)  # asked for each call of a function
def _targets(function: Function) -> frozenset[str]:
    """Return the names that a function's loops go through."""
    return frozenset(name for n in ast.walk(function) if isinstance(n, ast.For) for name in names_in(n.target))
