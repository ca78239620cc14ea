"""NRM7xx: how a module calls its norms: what goes in, and what is made of what comes out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from normlint.norm.makes import Makes, dotted
from normlint.norm.wiring import Module, Read, Step, Values, functions, made_of, traced
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.text.finding import Applicability

makings = Fixes("makings")
_VIEWS = ("view", "reshape")


@calls_rule("NRM703", name="modulation-along-batch", fix=Applicability.UNSAFE)
def modulation_along_batch(makes: Makes) -> Iterator[Problem]:
    """Splits its scale and shift along the batch.

    An odd batch fails, or gives parts of other sizes; of an even one, half of the samples scale the other half, and
    nothing fails where shapes broadcast. `chunk` splits axis 0 by default.

    ```py
    from torch import nn

    class AdaLayerNorm(nn.Module):
        def __init__(self, dim, cond_dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim, elementwise_affine=False)
            self.linear = nn.Linear(cond_dim, 2 * dim)

        def forward(self, x, cond):
            scale, shift = self.linear(cond).chunk(2)  # error: [modulation-along-batch]
            return self.norm(x) * (1 + scale[:, None]) + shift[:, None]
    ```
    ```fix
    from torch import nn

    class AdaLayerNorm(nn.Module):
        def __init__(self, dim, cond_dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim, elementwise_affine=False)
            self.linear = nn.Linear(cond_dim, 2 * dim)

        def forward(self, x, cond):
            scale, shift = self.linear(cond).chunk(2, dim=-1)  # error: [modulation-along-batch]
            return self.norm(x) * (1 + scale[:, None]) + shift[:, None]
    ```

    Only what a linear layer gives is judged, where its size is so many times another's and a part scales a norm.

    ```py
    from torch import nn

    class Gated(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)

        def forward(self, batch):
            x, scale = batch.chunk(2)
            return self.norm(x) * scale
    ```

    Fix safety: unsafe: with a condition of one axis, and no batch, both are the same.
    """
    for read in functions(makes):
        for stmt, values, _ in read.steps:
            call = _split_of_linear(read, stmt, values)
            if call is not None and _modulates(read.module, read.steps, stmt):
                message = "`chunk` splits the batch here, not the features: scale and shift are of different samples"
                span = read.module.owner.span(call)
                repair = partial(makings.with_argument, span, "dim", "-1")
                yield Problem(span, message, repair, owner=read.qualname)


def _split_of_linear(read: Read, stmt: ast.stmt, values: Values) -> ast.Call | None:
    """The chunk of what a linear layer makes of a batch, without an axis, into as many parts as its size has."""
    call = stmt.value if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Tuple) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "chunk":
        return None
    free = dotted(call.func.value) == "torch"
    if len(call.args) != 1 + free or call.keywords:
        return None
    parts = call.args[-1]
    source = traced(call.args[0] if free else call.func.value, values)
    layer = read.module.owned.get(read.module.calls(source, "Linear"))
    if not _is_of_batch(read, source, values):
        return None
    size = layer.args[1] if layer is not None and len(layer.args) > 1 else None
    sides = {ast.dump(side) for side in (size.left, size.right)} if isinstance(size, ast.BinOp) else set()
    return call if ast.dump(parts) in sides else None


def _is_of_batch(read: Read, source: ast.expr, values: Values) -> bool:
    """Is it made of what the function is given, whole, by functions of one argument, without a look at its axes?"""
    while isinstance(source, ast.Call) and len(source.args) == 1 and not source.keywords:
        source = traced(source.args[0], values)
    named = source.id if isinstance(source, ast.Name) else ""
    asked = [n.value for n in ast.walk(read.function) if isinstance(n, ast.Attribute) and n.attr in ("ndim", "dim")]
    parts = [n.target for n in ast.walk(read.function) if isinstance(n, ast.For)]
    return named in read.parameters and all(named not in _names(node) for node in (*asked, *parts))


def _modulates(module: Module, steps: tuple[Step, ...], split: ast.stmt) -> bool:
    """Does a part of the split scale what a norm gives?"""
    parts = {node.id for node in ast.walk(split) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return any(not _names(factor).isdisjoint(parts) for _, factor in _scaled(module, steps))


def _scaled(module: Module, steps: tuple[Step, ...]) -> Iterator[tuple[ast.BinOp, ast.expr]]:
    """The products of a norm's output, each with its other factor."""
    for stmt, values, _ in steps:
        for node in ast.walk(stmt):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if module.calls(traced(one, values), "Norm"):
                        yield node, other


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


@calls_rule("NRM704", name="norm-applied-twice")
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
            return x + self.mlp(self.norm2(h))
    ```

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            x = x + self.mlp(self.norm(x))
            return x + self.mlp(self.norm(x))
    ```
    """
    for read in functions(makes):
        module = read.module
        for stmt, values, last in read.steps:
            for node in ast.walk(stmt) if not hasattr(stmt, "body") else ():
                name = module.calls(node, "Norm")
                inner = node.args[0] if name and isinstance(node, ast.Call) and node.args else None
                if inner is not None and last is not None and isinstance(inner, ast.Name):
                    inner = traced(inner, values) if _assigned(last) == inner.id else None
                if inner is not None and module.calls(inner, "Norm") == name and isinstance(node, ast.Call):
                    message = f"`{name}` is applied to what it has just given"
                    yield Problem(module.owner.span(node), message, owner=read.qualname)


def _assigned(stmt: ast.stmt) -> str:
    """The one name that a statement gives a value to."""
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


@calls_rule("NRM705", name="residual-of-norm")
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
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
    ```

    A norm of the embeddings in front of the blocks is none of this:

    ```py
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.block = nn.Linear(dim, dim)

        def forward(self, x):
            x = self.norm(x)
            x = x + self.block(x)
            return x
    ```
    """
    for read in functions(makes):
        module = read.module
        several = [s for s in read.steps if isinstance(s[0], ast.Assign | ast.AugAssign | ast.Return)]
        raw = {stmt: added[0] for stmt, values, _ in several if (added := _keeps(module, stmt, values))}
        for stmt, values, last in several:
            name = _assigned(last) if isinstance(last, ast.Assign) else ""
            given = last.value if name in raw.values() and isinstance(last, ast.Assign) else None
            norm = module.calls(given, "Norm") if isinstance(given, ast.Call) and _is(given.args[:1], name) else ""
            if norm and _adds_to(stmt, name) and stmt not in raw and _is_raw(read, name, values[name].values):
                message = f"the residual is what `self.{norm}` gave, not what came in"
                yield Problem(module.owner.span(stmt), message, owner=read.qualname)


def _is_raw(read: Read, name: str, values: Values) -> bool:
    """Is it what the function was given, and nothing else made of it yet?"""
    return name in read.parameters and name not in values and all(name not in _names(v.node) for v in values.values())


def _is(args: list[ast.expr], name: str) -> bool:
    return len(args) == 1 and isinstance(args[0], ast.Name) and args[0].id == name


def _added(stmt: ast.stmt) -> tuple[str, ast.expr] | None:
    """What a statement adds a call to, by name, and the call."""
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add) and isinstance(stmt.target, ast.Name):
        return stmt.target.id, stmt.value
    value = stmt.value if isinstance(stmt, ast.Assign | ast.Return) else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and isinstance(value.left, ast.Name):
        return value.left.id, value.right
    return None


def _adds_to(stmt: ast.stmt, name: str) -> bool:
    """`x = x + f(x)`, of a function that is one of the module's own."""
    added = _added(stmt)
    if added is None or added[0] != name or not isinstance(added[1], ast.Call):
        return False
    kept = isinstance(stmt, ast.AugAssign) or _assigned(stmt) == name
    return kept and dotted(added[1].func).startswith("self.") and name in _names(added[1])


def _keeps(module: Module, stmt: ast.stmt, values: Values) -> tuple[str, ast.expr] | None:
    """`x + f(norm(x))`: the input is added to what is made of its norm; both of them."""
    added = _added(stmt)
    if added is None:
        return None
    for node, there in made_of(added[1], values):
        normed = isinstance(node, ast.Call) and module.calls(node, "Norm") and _is(node.args[:1], added[0])
        if normed and there.get(added[0]) is values.get(added[0]):
            return added
    return None


@calls_rule("NRM706", name="norm-of-all-heads")
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

    ```py
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.head_dim = dim // heads
            self.to_q = nn.Linear(dim, dim)
            self.q_norm = nn.LayerNorm(dim)
            self.k_norm = nn.LayerNorm(self.head_dim)

        def forward(self, x):
            q = self.q_norm(self.to_q(x)).view(x.shape[0], -1, self.heads, self.head_dim)
            return self.k_norm(q)
    ```
    """
    for read in functions(makes):
        module = read.module
        for stmt, values, _ in read.steps if module.divided else ():
            for node in ast.walk(stmt) if not hasattr(stmt, "body") else ():
                name = module.calls(node, "Norm")
                if not name or not isinstance(node, ast.Call) or not node.args or not module.owned[name].args:
                    continue
                whole = module.divided.get(_last_size(traced(node.args[0], values)))
                if whole is not None and ast.dump(whole) == ast.dump(module.owned[name].args[0]):
                    message = f"`{name}` is made for `{ast.unparse(whole)}` features, and given those of one head"
                    yield Problem(module.owner.span(node), message, owner=read.qualname)


def _last_size(node: ast.expr) -> str:
    """The attribute that says how long the last axis of a view is."""
    viewed = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS
    args = node.args if viewed and isinstance(node, ast.Call) else []
    if len(args) == 1 and isinstance(args[0], ast.Tuple):
        args = args[0].elts
    return dotted(args[-1]).removeprefix("self.") if args and dotted(args[-1]).startswith("self.") else ""
