"""NRM7xx: how a module calls its norms: what goes in, and what is made of what comes out."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from normlint.norm.makes import Makes, Owner
from normlint.norm.nodes import Function, dotted
from normlint.norm.wiring import Module, Read, Value, Values, called_last, choices, functions, made_of, settled, traced
from normlint.rules.registry import Fixes, Problem, Repair, calls_rule
from normlint.text.finding import Applicability, Edit, Span

makings = Fixes("makings")
_ASKED = ("shape", "size", "dtype", "device", "ndim")  # of a tensor, without its elements
_HEADS = ("test", "iter", "items", "subject")  # of statements that hold others
_VIEWS = ("view", "reshape")
_HALF = re.compile(r"(?i)(?:^|_)(?:\w*at+n|\w*attention|mlp|ffn?|feed_?forward|mixer|mamba|ssm|moe)")  # of a block
_CHANNELS = re.compile("Batch|Instance|Group")  # norms of torch whose features are axis 1
_MADE_AND_CALLED = 2  # how often the name of a norm is written that is called once


@calls_rule("NRM704", name="norm-applied-twice", fix=Applicability.UNSAFE)
def norm_applied_twice(makes: Makes) -> Iterator[Problem]:
    """Is applied to its own output.

    The gain is applied twice, and another norm is missing if one was meant. What is normalised stays as it is when
    it is normalised again, but for the gain.

    Instead: Call the norm that is meant, or drop one of both calls

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm1 = nn.LayerNorm(dim)
            self.norm2 = nn.LayerNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            h = self.norm1(x)
            h = self.norm1(h)  # error: [norm-applied-twice]
            return x + self.mlp(h)
    ```
    ```diff
    -        h = self.norm1(h)
    +        h = self.norm2(h)
    ```

    It can be fixed where the module has one norm of the same kind that nothing calls.

    Fix safety: unsafe: the outputs change, and a gain that nothing has trained is applied.
    """
    for read in functions(makes):
        module = read.module
        for name, node, values, last, _ in read.norms():
            inner: ast.expr | None = node.args[0]
            if last is not None and isinstance(inner, ast.Name):
                inner = traced(inner, values) if assigned(last) == inner.id else None
            if module.norm(inner) == name:
                message = f"`{name}` is applied to its own output"
                left = unused(module, name)
                repair = _replaced(module, node.func, f"self.{left[0]}" if len(left) == 1 else "")
                yield Problem(module.owner.span(node), message, repair, owner=read.qualname)


def unused(module: Module, name: str) -> list[str]:
    """Return the norms that are made like this one and never called."""
    made = ast.dump(module.owned[name])
    alike = (other for other, call in module.alone.items() if other != name and ast.dump(call) == made)
    return [other for other in alike if module.written(other) == 1]


def _replaced(module: Module, node: ast.expr, source: str) -> Repair | None:
    """Return a repair that writes other source in the place of an expression; None for empty source."""
    edits = (Edit(module.owner.span(node), source),)
    return partial(makings.edited, f"Write `{source}`", edits) if source else None


def assigned(stmt: ast.stmt) -> str:
    """Return the one name that a statement assigns; empty for any other statement."""
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


@calls_rule("NRM705", name="residual-of-norm", fix=Applicability.UNSAFE)
def residual_of_norm(makes: Makes) -> Iterator[Problem]:
    """Gives the residual its output, where the input should go past it.

    The residual stream is normalised at every layer: nothing fails, but a deep model trains worse. In a pre-norm
    block the residual carries the input past the norm, until the norm's output takes the input's name. It is
    reported where the other half of the same function keeps the input.

    Instead: Give the norm's output a name of its own, `h = self.norm(x)`, and add to `x`

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm1 = nn.LayerNorm(dim)
            self.attention = nn.Linear(dim, dim)
            self.norm2 = nn.LayerNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            x = self.norm1(x)
            x = x + self.attention(x)  # error: [residual-of-norm]
            return x + self.mlp(self.norm2(x))
    ```
    ```diff
    -        x = self.norm1(x)
    -        x = x + self.attention(x)
    +        x = x + self.attention(self.norm1(x))
    ```

    A norm of the embeddings or of the model's input in front of the blocks is none of this: names have to say that it
    belongs to what is added, or is made beside the other half's. Nothing else may read what came in.

    Fix safety: unsafe: the outputs change, and a checkpoint may have been trained with the norm's output.
    """
    for read in functions(makes):
        yield from _by_flag(read)
        kept: dict[ast.stmt, tuple[str, str]] | None = None
        of = {one: there for one, there, _ in read.steps}
        for stmt, values, last in read.steps:
            for name, added in _sums(stmt):
                half = _half_of_norm(read, Value(ast.Name(name), values), added, values)
                if half is None:
                    continue
                if kept is None:
                    found = ((one, _keeps(read.module, one, there)) for one, there, _ in read.steps)
                    kept = {one: pair for one, pair in found if pair[1]}
                names, under = {name, half.name}, conditions(read.function)
                beside = {one: pair for one, pair in kept.items() if under[one] <= under[stmt]}
                streams = {one: {assigned(one), *_summed_up(stream, of[one])} for one, (stream, _) in beside.items()}
                others = [norm for one, (_, norm) in beside.items() if not names.isdisjoint(streams[one])]
                layers = _layers(added, values) - {half.norm}
                near = any(_are_halves(half.norm, layers, other, renamed=half.name != name) for other in others)
                if near and stmt not in kept and _is_lost(read, half, kept):
                    message = f"the residual is what `self.{half.norm}` gave, not what came in"
                    alone = isinstance(last, ast.Assign) and last.value is half.call and half.name == name
                    repair = _normed_within(read.module.owner, last if alone else None, stmt, name)
                    yield Problem(read.module.owner.span(stmt), message, repair, owner=read.qualname)


def _by_flag(read: Read) -> Iterator[Problem]:
    """Yield the residual of a norm that stands before a layer, or behind it, by a flag: where it is before it."""
    calls = [call for call in read.norms() if isinstance(call.given, ast.Name)]
    twice = any(times > 1 for times in Counter(call.name for call in calls).values())
    for stmt, values, _ in read.steps if twice else ():
        value = getattr(stmt, "value", None)
        sums = {value} if isinstance(value, ast.expr) else set()
        behind = {c.name for c in calls if not sums.isdisjoint(_sum_of(traced(c.given, c.values)))}
        for name, added in _sums(stmt) if behind else ():
            several = choices(name, values)
            for value, other in (several, several[::-1]) if several else ():
                half = _half_of_norm(read, value, added, values)
                known = half is not None and half.norm in behind and half.came == _settled(other)
                embeds = any(re.search(r"embed|pos", one, re.IGNORECASE) for one in _layers(added, values))
                if half is not None and known and not embeds and _is_lost(read, half, {}):
                    message = (
                        f"where `self.{half.norm}` is applied first, the residual is what it gave, not what came in"
                    )
                    yield Problem(read.module.owner.span(stmt), message, owner=read.qualname)


def _sum_of(node: ast.expr) -> tuple[ast.expr, ...]:
    """Return an expression and what it adds, which is all there is in the text of one that adds in place."""
    return (node, node.right) if isinstance(node, ast.BinOp) else (node,)


def _settled(value: Value) -> str | ast.expr:
    return settled(value.node.id, value.values) if isinstance(value.node, ast.Name) else value.node


def _summed_up(name: str, values: Values) -> set[str]:
    """Return a name, and those that what it stands for is a sum of."""
    found = settled(name, values)
    sides = (found.left, found.right) if isinstance(found, ast.BinOp) else ()
    return {name, *(one.id for one in sides if isinstance(one, ast.Name))}


class _Half(NamedTuple):
    """The norm whose output a sum keeps: its call, the name of its argument, and what that is."""

    norm: str
    call: ast.Call
    name: str
    came: str | ast.expr


def _half_of_norm(read: Read, value: Value, added: ast.expr, values: Values) -> _Half | None:
    """Return the norm whose output a value is, if the module computes from it what is added to it; else None."""
    call = traced(*value)
    norm = read.module.norm(call) if isinstance(call, ast.Call) else ""
    given = call.args[0] if isinstance(call, ast.Call) and norm and len(call.args) == 1 else None
    if not isinstance(call, ast.Call) or not isinstance(given, ast.Name):
        return None
    several = list(made_of(added, values))
    own = any(isinstance(n, ast.Call) and dotted(n.func).startswith("self.") for n, _ in several)
    if not own or all(settled(n.id, there) is not call for n, there in several if isinstance(n, ast.Name)):
        return None
    before = next((there for n, there in several if n is call), values)
    return _Half(norm, call, given.id, settled(given.id, before))


def _is_lost(read: Read, half: _Half, kept: Mapping[ast.stmt, tuple[str, str]]) -> bool:
    """Return whether a norm's input is the function's argument or a residual, and nothing else reads its elements."""
    sums = (getattr(one, "value", None) for one in kept)
    if half.came not in read.parameters and all(half.came is not one for one in sums):
        return False
    apart = _apart_from(read, half.call)
    if any(norm == half.norm for one, (_, norm) in kept.items() if one in apart):
        return False  # the other branch keeps the input: which of both is wanted is asked
    for stmt, values, _ in (step for step in read.steps if step[0] not in apart):
        nodes = _own_nodes(stmt)
        asked = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in _ASKED}
        names = (n for n in nodes if isinstance(n, ast.Name) and n not in asked and n is not half.call.args[0])
        if any(isinstance(n.ctx, ast.Load) and settled(n.id, values) == half.came for n in names):
            return False
    return True


def _own_nodes(stmt: ast.stmt) -> list[ast.AST]:
    """Return the nodes of a statement, without those of the statements that it holds."""
    parts = [getattr(stmt, name) for name in _HEADS if hasattr(stmt, name)] if hasattr(stmt, "body") else [stmt]
    several = (one for part in parts for one in (part if isinstance(part, list) else [part]))
    return [node for one in several for node in ast.walk(one)]


@lru_cache(maxsize=1)  # asked for each sum of a function
def conditions(function: Function) -> dict[ast.AST, frozenset[tuple[ast.AST, bool]]]:
    """Return the conditions under which each statement of a function is run, with their outcomes."""
    found: dict[ast.AST, frozenset[tuple[ast.AST, bool]]] = {}
    waiting: list[tuple[ast.AST, frozenset[tuple[ast.AST, bool]]]] = [(function, frozenset())]
    while waiting:
        node, under = waiting.pop()
        for name, value in ast.iter_fields(node):
            inner = (
                under | {(node, name == "body")} if isinstance(node, ast.If) and name in ("body", "orelse") else under
            )
            children = [n for n in (value if isinstance(value, list) else [value]) if isinstance(n, ast.AST)]
            found |= {child: inner for child in children if isinstance(child, ast.stmt)}
            waiting += [(child, inner) for child in children if not isinstance(child, ast.expr)]
    return found


def _apart_from(read: Read, call: ast.Call) -> set[ast.AST]:
    """Return the statements in branches that aren't run where a call is."""
    under = conditions(read.function)
    simple = (one for one in under if not hasattr(one, "body"))
    there = next((under[one] for one in simple if call in ast.walk(one)), frozenset())
    other = {(branch, not taken) for branch, taken in there}
    return {one for one, conditions in under.items() if not other.isdisjoint(conditions)}


def _layers(added: ast.expr, values: Values) -> set[str]:
    """Return the attributes of the module that what is added is computed with."""
    nodes = (node for node, _ in made_of(added, values))
    return {n.attr for n in nodes if isinstance(n, ast.Attribute) and dotted(n) == f"self.{n.attr}"}


def _are_halves(norm: str, added: set[str], other: str, *, renamed: bool) -> bool:
    """Return whether names say that a norm and what is added are half of a block, whose other half has another norm.

    What is added to normalised embeddings, as positions are, is no half. A norm whose output is `renamed` may be that
    of the model's input.
    """
    if any(re.search(r"embed|pos", name, re.IGNORECASE) for name in (norm, *added)):
        return False
    own = {word[:3] for word in norm.lower().split("_") if len(word) > 1 and "norm" not in word}
    named = any(word[:3] in own for name in added for word in name.lower().split("_"))
    half = not renamed and any(map(_HALF.search, added))
    return named or half or _stem(norm) == _stem(other)


def _stem(name: str) -> str:
    return name.rstrip("0123456789_")


def _normed_within(owner: Owner, norm: ast.stmt | None, stmt: ast.stmt, name: str) -> Repair | None:
    """Return a repair that moves the norm's call into the one argument that is its output; None if that is unsafe."""
    added = _added(stmt)
    given = [n for n in ast.walk(added[1]) if isinstance(n, ast.Name) and n.id == name] if added is not None else []
    if len(given) != 1 or not isinstance(norm, ast.Assign):
        return None
    start, end = owner.span(norm).start, owner.span(stmt).start
    value = owner.text[slice(*owner.span(norm.value))]
    alone = not owner.text[owner.span(norm).end : end].strip()
    edits = [Edit(Span(start, end), ""), Edit(owner.span(given[0]), value)]
    if isinstance(stmt, ast.AugAssign):  # in place, it would change what the caller holds
        edits.append(Edit(Span(end, owner.span(stmt.value).start), f"{name} = {name} + "))
    return partial(makings.edited, f"Keep `{name}` for the residual", tuple(edits)) if alone else None


def _added(stmt: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return the name that a statement adds a call to, and the call; None for any other statement."""
    return next((pair for pair in _sums(stmt) if isinstance(pair[1], ast.Call)), None)


def _sums(stmt: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Return each name that a statement adds something to, with what it adds."""
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add) and isinstance(stmt.target, ast.Name):
        return [(stmt.target.id, stmt.value)]
    value = stmt.value if isinstance(stmt, ast.Assign | ast.Return) else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return []
    sides = ((value.left, value.right), (value.right, value.left))
    return [(one.id, other) for one, other in sides if isinstance(one, ast.Name)]


def _keeps(module: Module, stmt: ast.stmt, values: Values) -> tuple[str, str]:
    """Return the input and the norm of a statement like `x + f(norm(x))`; two empty ones for any other statement."""
    for name, added in _sums(stmt):
        for node, there in made_of(added, values):
            norm = module.norm(node) if isinstance(node, ast.Call) and len(node.args) == 1 else ""
            given = node.args[0] if norm and isinstance(node, ast.Call) else None
            if isinstance(given, ast.Name) and settled(given.id, there) == settled(name, values):
                return name, norm
    return "", ""


@calls_rule("NRM706", name="norm-of-all-heads", fix=Applicability.UNSAFE)
def norm_of_all_heads(makes: Makes) -> Iterator[Problem]:
    """Is made for all heads, and given a view of each.

    The call fails with more than one head, be it in a branch that nobody has run yet. A norm over the features of
    one head has as many gains as a head has features.

    Instead: Make it for the features of one head, or apply it before the heads are split

    ```py
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.dim = dim
            self.heads = heads
            self.head_dim = self.dim // heads
            self.to_q = nn.Linear(dim, dim)
            self.q_norm = nn.LayerNorm(self.dim)

        def forward(self, x):
            q = self.to_q(x).view(x.shape[0], -1, self.heads, self.head_dim)
            return self.q_norm(q)  # error: [norm-of-all-heads]
    ```
    ```diff
    -        self.q_norm = nn.LayerNorm(self.dim)
    +        self.q_norm = nn.LayerNorm(self.head_dim)
    ```

    Fix safety: unsafe: the norm may have been meant for what comes before the view.
    """
    for read in functions(makes):
        module = read.module
        for call in read.norms() if module.divided or module.projected else ():
            size = _last_size(traced(call.given, call.values), call.values)
            whole = module.divided.get(size) or next(iter(module.projected.get(size, ())), None)
            made = module.owned[call.name]
            first = next(iter(made.args), None) if _CHANNELS.match(called_last(made)) is None else None
            same = whole is not None and first is not None and module.plain(whole) == module.plain(first)
            if same and whole is not None and first is not None and module.is_kept(first):
                message = f"`{call.name}` is made for `{ast.unparse(whole)}` features, and given those of one head"
                clear = whole.lineno < first.lineno and module.written(call.name) == _MADE_AND_CALLED
                repair = _replaced(module, first, f"self.{size}" if clear else "")
                yield Problem(module.owner.span(call.node), message, repair, owner=read.qualname)


def _last_size(node: ast.expr, values: Values) -> str:
    """Return the attribute that is the last length of a view, whose other axes may be moved; empty for no view."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _moves_others(node):
        node = node.func.value
    called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    args = node.args if isinstance(node, ast.Call) and called in (*_VIEWS, "unflatten") else []
    if called == "unflatten":
        args = args[1:] if args and ast.unparse(args[0]) == "-1" else []
    shape = traced(args[0], values) if len(args) == 1 else None
    args = shape.elts if isinstance(shape, ast.Tuple) else args
    return dotted(args[-1]).removeprefix("self.") if args and dotted(args[-1]).startswith("self.") else ""


def _moves_others(node: ast.Call) -> bool:
    """Return whether a method leaves the last axis where it is: `x.transpose(1, 2)` of heads, say."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    places = [one.value for one in node.args if isinstance(one, ast.Constant)]
    return name == "contiguous" or (name == "transpose" and sorted(map(str, places)) == ["1", "2"])
