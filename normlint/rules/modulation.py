"""NRM7xx: the scale and shift that a norm's output is given by a condition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from itertools import takewhile

from normlint.norm.makes import Makes
from normlint.norm.nodes import dotted, plain
from normlint.norm.numbers import number
from normlint.norm.wiring import Module, Read, Step, Value, Values, called_last, functions, made_of, names_in, traced
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.text.finding import REVIEW, Applicability, Edit

makings = Fixes("makings")
_OVER_LAST = {"LayerNorm", "RMSNorm"}  # others have channels behind the batch, and a vector for them new axes behind it
_BEFORE_AFFINE = 2  # arguments of torch's norms that precede elementwise_affine
_MADE_AND_CALLED = 2  # how often the name of a norm is written that is called once


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
    ```diff
    -        scale, shift = self.linear(cond).chunk(2)
    +        scale, shift = self.linear(cond).chunk(2, dim=-1)
    ```

    Only what a linear layer gives is judged, where its size is so many times another's and a part scales a norm. The
    part is given an axis behind that of the batch, as `scale[:, None]`: of a single condition the first axis is that
    of the features, and `chunk(2)` is right.

    Fix safety: unsafe: with a condition of one axis, and no batch, both are the same.
    """
    for read in functions(makes):
        for stmt, values, _ in read.steps:
            call = _split_of_linear(read, stmt, values)
            if call is not None and _modulates(read, stmt, _chunked(call)["input"], values):
                message = "`chunk` splits the batch here, not the features: scale and shift are of different samples"
                span, dim = read.module.owner.span(call), _chunked(call).get("dim")
                repair = partial(makings.with_argument, span, "dim", "-1")
                if dim is not None:
                    edits = (Edit(read.module.owner.span(dim), "-1"),)
                    repair = partial(makings.edited, "Split the features: `dim=-1`", edits)
                yield Problem(span, message, repair, owner=read.qualname)


def _split_of_linear(read: Read, stmt: ast.stmt, values: Values) -> ast.Call | None:
    """Return the chunk call that splits a linear layer's output for a batch into as many parts as its size has."""
    call = stmt.value if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Tuple) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "chunk":
        return None
    given = _chunked(call)
    if not {"input", "chunks"} <= given.keys() or number(given.get("dim", ast.Constant(0))) != 0 or not plain(call):
        return None
    parts, source = given["chunks"], traced(given["input"], values)
    while isinstance(source, ast.Subscript) and _adds_axes(source):
        source = traced(source.value, values)
    layer = read.module.owned.get(read.module.calls(source, "Linear"))
    if not _is_of_batch(read, given["input"], values):
        return None
    size = _argument(layer, 1, "out_features") if layer is not None else None
    sides = {ast.dump(side) for side in (size.left, size.right)} if isinstance(size, ast.BinOp) else set()
    return call if ast.dump(parts) in sides else None


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    named = next((k.value for k in call.keywords if k.arg == name), None)
    return call.args[place] if len(call.args) > place else named


def _chunked(call: ast.Call) -> dict[str, ast.expr]:
    """Return the arguments of a call of `chunk` by name, of the method or of torch's function."""
    tensor = [call.func.value] if isinstance(call.func, ast.Attribute) and dotted(call.func.value) != "torch" else []
    given = dict(zip(("input", "chunks", "dim"), (*tensor, *call.args), strict=False))
    return given | {k.arg: k.value for k in call.keywords if k.arg is not None}


def _is_of_batch(read: Read, source: ast.expr, values: Values) -> bool:
    """Return whether a whole argument goes through functions of one argument, and its rank is never asked for."""
    value = Value(source, values)
    while (inner := _of_one_argument(value)) is not None:
        value = inner
    named = value.node.id if isinstance(value.node, ast.Name) else ""
    asked = [n.value for n in ast.walk(read.function) if isinstance(n, ast.Attribute) and n.attr in ("ndim", "dim")]
    parts = [n.target for n in ast.walk(read.function) if isinstance(n, ast.For)]
    return named in read.parameters and all(named not in names_in(node) for node in (*asked, *parts))


def _of_one_argument(value: Value) -> Value | None:
    """Return what a name stands for, the one argument of a call or what is indexed, as it was there; else None."""
    node = value.node
    if isinstance(node, ast.Subscript) and _adds_axes(node):
        return Value(node.value, value.values)
    if isinstance(node, ast.Name):
        return value.values.get(node.id)
    alone = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    return Value(node.args[0], value.values) if alone and isinstance(node, ast.Call) else None


def _adds_axes(node: ast.Subscript) -> bool:
    """Return whether an index does nothing but add axes, as `c[:, None]` does."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in parts)


def _modulates(read: Read, split: ast.stmt, source: ast.expr, values: Values) -> bool:
    """Return whether a part of the split scales the output of a norm, and it or the source is indexed as a batch."""
    parts = {node.id for node in ast.walk(split) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    scaled = _scaled(read.module, read.written_out)
    norms = {called_last(read.module.owned[name]) for _, name, by in scaled if not names_in(by).isdisjoint(parts)}
    axes = [_axes_before_new(node, parts) for stmt, _, _ in read.written_out for node in ast.walk(stmt)]
    axes += [_axes_before_new(one, names_in(one)) for one, _ in made_of(source, values)]
    return bool(norms) and max(axes, default=0) >= (1 if norms <= _OVER_LAST else 2)


def _axes_before_new(node: ast.AST, parts: set[str]) -> float:
    """Return how many axes of a part precede a new one, as in `scale[:, None]` or `scale.unsqueeze(1)`; else 0."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and names_in(node.value) & parts:
        ahead = list(takewhile(lambda one: isinstance(one, ast.Slice), node.slice.elts))
        last = node.slice.elts[len(ahead) :][:1]
        return len(ahead) if any(isinstance(one, ast.Constant) and one.value is None for one in last) else 0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unsqueeze":
        place = number((*node.args, *(k.value for k in node.keywords), None)[0])
        return place if place > 0 and isinstance(node.func.value, ast.Name) and node.func.value.id in parts else 0
    return 0


def _scaled(module: Module, steps: tuple[Step, ...]) -> Iterator[tuple[ast.BinOp, str, ast.expr]]:
    """Yield the products of a norm's output, each with the norm's name and the other factor."""
    for stmt, values, _ in steps:
        for node in ast.walk(stmt):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if name := module.calls(traced(one, values), "Norm"):
                        yield node, name, other


@calls_rule("NRM707", name="affine-under-modulation", severity=REVIEW)
def affine_under_modulation(makes: Makes) -> Iterator[Problem]:
    """Has a gain and a bias of its own, under a scale and shift that take their place.

    It trains, but two parameters share one task, and weight decay pulls at both. The linear layer has a bias, and can
    learn all that the norm's own can. A checkpoint that was trained so needs them: this is a review, which
    `--min-severity review` shows. A norm that is used without the condition, too, needs its own.

    ```py
    from torch import nn

    class AdaLayerNorm(nn.Module):
        def __init__(self, dim, cond_dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.linear = nn.Linear(cond_dim, 2 * dim)

        def forward(self, x, cond):
            scale, shift = self.linear(cond).chunk(2, dim=-1)
            return self.norm(x) * (1 + scale[:, None]) + shift[:, None]  # error: [affine-under-modulation]
    ```

    ```py
    from torch import nn

    class AdaLayerNorm(nn.Module):
        def __init__(self, dim, cond_dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim, elementwise_affine=False)
            self.linear = nn.Linear(cond_dim, 2 * dim)

        def forward(self, x, cond):
            scale, shift = self.linear(cond).chunk(2, dim=-1)
            return self.norm(x) * (1 + scale[:, None]) + shift[:, None]
    ```
    """
    for read in functions(makes):
        parts = {name for stmt, values, _ in read.steps for name in _parts(read.module, stmt, values)}
        for product, name, factor in _scaled(read.module, read.written_out) if parts else ():
            meant = names_in(factor) & parts and _adds_one(factor)
            if meant and _is_affine(read.module.owned[name]) and _in_its_place(read, product, name, parts):
                message = f"`{name}` has weights of its own under `{ast.unparse(factor)}`"
                yield Problem(read.module.owner.span(product), message, owner=read.qualname)


def _parts(module: Module, stmt: ast.stmt, values: Values) -> set[str]:
    """Return the names of parts unpacked from a linear layer with a bias, or from a sum with a parameter."""
    several = isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Tuple)
    if not several or not isinstance(stmt, ast.Assign) or not isinstance(stmt.value, ast.Call):
        return set()
    made = [node for node, _ in made_of(stmt.value, values)]
    linear = [module.owned[name] for node in made if (name := module.calls(node, "Linear"))]
    bare = any(k.arg == "bias" and _is_false(k.value) for one in linear for k in one.keywords)
    table = any(_adds_parameter(module, node) for node in made)
    return names_in(stmt.targets[0]) if (linear and not bare) or table else set()


def _adds_parameter(module: Module, node: ast.expr) -> bool:
    """Return whether a node adds a parameter, as `self.table[None] + c` does to a condition that blocks share."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ()
    held = [dotted(one.value if isinstance(one, ast.Subscript) else one).removeprefix("self.") for one in sides]
    return any(name in module.owned and called_last(module.owned[name]) == "Parameter" for name in held)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _in_its_place(read: Read, product: ast.BinOp, name: str, parts: set[str]) -> bool:
    """Return whether the scale can replace the norm's own: nothing else uses the norm, and a shift is added, too."""
    if read.module.written(name) != _MADE_AND_CALLED:
        return False
    return called_last(read.module.owned[name]) == "RMSNorm" or any(
        traced(one, values) is product and not names_in(other).isdisjoint(parts)
        for stmt, values, _ in read.written_out
        for node in ast.walk(stmt)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
        for one, other in ((node.left, node.right), (node.right, node.left))
    )


def _adds_one(factor: ast.expr) -> bool:
    sides = (factor.left, factor.right) if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Add) else ()
    return any(isinstance(side, ast.Constant) and side.value == 1 for side in sides)


def _is_affine(made: ast.Call) -> bool:
    """Return whether a call makes one of torch's norms with weights, as far as it shows."""
    last = dotted(made.func).rpartition(".")
    chosen = (
        len(made.args) > _BEFORE_AFFINE or not plain(made) or any(k.arg == "elementwise_affine" for k in made.keywords)
    )
    return last[0] in ("nn", "torch.nn") and last[2] in ("LayerNorm", "RMSNorm") and not chosen
