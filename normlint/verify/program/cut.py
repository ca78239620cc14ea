"""The norm's own lines as a function: from the statistic to the product, with the input as its parameter."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, replace
from typing import Any, Final

from normlint.norm.norm import Computation, Norm
from normlint.verify.job import Job, Meaning
from normlint.verify.program.holes import Holes
from normlint.verify.program.place import (
    CASTS,
    Page,
    class_in,
    function_in,
    functions_in,
    same,
    steps_before,
    uncast,
)
from normlint.verify.program.product import Found, product_of
from normlint.verify.program.scope import FUNCTIONS, loads, stored
from normlint.verify.program.surroundings import FUNCTION, Surroundings

WIDER: Final = frozenset({"float", "double", "float32", "float64"})


class CannotCutError(Exception):
    """What is left over, as the text has it."""


@dataclass(frozen=True)
class _Input:
    """What is normalised: an expression, whose name (if it is one) means the input up to the step `since`."""

    expr: ast.expr
    since: int

    @property
    def name(self) -> str:
        return self.expr.id if isinstance(self.expr, ast.Name) else ""


def cut(page: Page, around: Surroundings, norm: Norm, meant: Meaning) -> Job:
    """The job for the norm's own lines; `needs` says what of its surroundings they can't do without."""
    job = _tried(product_of(page, norm), around, norm, meant)
    for first in (False, True):
        if job.needs:
            job = _tried(product_of(page, norm, returned=False, first=first), around, norm, meant)
    return job


def _tried(found: Found, around: Surroundings, norm: Norm, meant: Meaning) -> Job:
    try:
        return _job(found, around, norm, meant)
    except CannotCutError as left:
        return Job(norm.qualname, meant, needs=str(left))


def _job(found: Found, around: Surroundings, norm: Norm, meant: Meaning) -> Job:
    function = function_in(found.chain)
    steps = steps_before(found.chain, function or found.chain[0])
    given = _input(found, steps, norm.main)
    cls = class_in(found.chain, function) if function else None
    holes = Holes(functions_in(found.chain), cls, meant, given.name or _fresh("x", found.product, steps))
    body = _body(_Swap(given.expr, holes.input), found.product, steps, given)
    casts = any(_casts(stmt) for stmt in body)
    if casts and (found.several or not found.returned):
        body = _cast_back(body, holes.input, _fresh("dtype", found.product, steps))
    node = holes.fill(body)
    left = holes.left
    if left:
        raise CannotCutError(left)
    lines = ast.unparse(node)
    names = list(loads(node))
    if missing := around.missing(names):
        raise CannotCutError(missing)
    # a norm in fp32 whose lines widen nothing themselves was cast on the way here
    halves = meant.halves and (any(_widens(stmt) for stmt in body) or not norm.main.statistic.square.wide)
    renamed = replace(meant, gain=holes.gain, shift=holes.shift, halves=halves, **_layout(node, norm.main))
    return around.job(Job(norm.qualname, renamed, lines, FUNCTION, input=holes.input), names)


def _fresh(name: str, product: ast.AST, steps: list[ast.stmt]) -> str:
    taken = {n.id for part in (product, *steps) for n in ast.walk(part) if isinstance(n, ast.Name)}
    while name in taken:
        name += "_"
    return name


def _casts(stmt: ast.stmt) -> bool:
    names = {getattr(n, "attr", getattr(n, "arg", "")) for n in ast.walk(stmt)}
    return bool(names & {"float", "double", "to", "type", "dtype"})


def _widens(stmt: ast.stmt) -> bool:
    return any(getattr(n, "attr", getattr(n, "id", "")) in WIDER for n in ast.walk(stmt))


def _cast_back(body: list[ast.stmt], name: str, dtype: str) -> list[ast.stmt]:
    """Lines from the middle may leave a wider dtype to what comes after them."""
    *before, last = body
    value = last.value if isinstance(last, ast.Return) else None
    assert value is not None
    first = ast.Assign([ast.Name(dtype, ast.Store())], ast.Attribute(ast.Name(name, ast.Load()), "dtype", ast.Load()))
    cast = ast.Call(ast.Attribute(value, "to", ast.Load()), [ast.Name(dtype, ast.Load())], [])
    return [first, *before, ast.Return(cast)]


def _layout(node: ast.AST, c: Computation) -> dict[str, Any]:
    """The axes as they lie where the lines begin: moves before them don't count."""
    moves = {"permute", "transpose", "movedim", "rearrange", "swapaxes", "T", "mT", "view", "reshape", "flatten"}
    moved = any(getattr(n, "attr", getattr(n, "id", "")) in moves for n in ast.walk(node))
    if moved or not c.statistic.layout or not isinstance(c.statistic.axes, tuple):
        return {}
    return {"axes": c.statistic.axes, "rank": c.statistic.rank}


# --- the input -------------------------------------------------------------------------------------------------------


def _input(found: Found, steps: list[ast.stmt], c: Computation) -> _Input:
    """What is squared, followed back over casts and the subtraction of a mean."""
    expr = found.input
    if expr is None:
        raise CannotCutError("the expression that is normalised")
    centred = c.kind == "layer"
    expr = _bare(expr, centred)
    at = next((i for i, s in enumerate(steps) if any(n is found.statistic for n in ast.walk(s))), len(steps))
    while isinstance(expr, ast.Name):
        before = next((i for i in reversed(range(at)) if expr.id in stored(steps[i])), None)
        if before is None:
            return _Input(expr, -1)
        value = _assigned(steps[before])
        inner = _bare(value, centred) if value is not None else None
        if inner is None or value is None or inner is value:
            return _Input(expr, before)
        expr, at = inner, before
    return _Input(expr, -1)


def input_name(found: Found, c: Computation) -> str:
    """The parameter or local name that is normalised, "" where it is no name."""
    steps = steps_before(found.chain, function_in(found.chain) or found.chain[0])
    return "" if found.input is None else _input(found, steps, c).name


def _assigned(stmt: ast.stmt) -> ast.expr | None:
    match stmt:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=value):
            return value
    return None


def _bare(expr: ast.expr, centred: bool) -> ast.expr:
    """`x` of `x.float().pow(2)`, `x * x`, `torch.square(x)` and `(x - mean)`."""
    while True:
        inner = _within(expr, centred)
        if inner is None:
            return expr
        expr = inner


def _within(expr: ast.expr, centred: bool) -> ast.expr | None:
    match expr:
        case ast.BinOp(left=left, op=ast.Pow()):
            return left
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if same(left, right):
            return left
        case ast.BinOp(left=left, op=ast.Sub()) if centred:
            return left
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[first, *_]):
            return first if name in ("pow", "square", "abs") else None
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in ("pow", "square", "abs"):
            return value
    inner = uncast(expr, CASTS - {"detach"})
    return inner if inner is not expr else None


# --- the lines -------------------------------------------------------------------------------------------------------


class _Swap(ast.NodeTransformer):
    """The input's expression becomes the parameter's name."""

    def __init__(self, expr: ast.expr, name: str) -> None:
        self.expr = expr
        self.name = name

    def visit(self, node: ast.AST) -> Any:
        if same(node, self.expr):
            return ast.copy_location(ast.Name(self.name, ast.Load()), node)
        return super().generic_visit(node)


def _body(swap: _Swap, product: ast.AST, steps: list[ast.stmt], given: _Input) -> list[ast.stmt]:
    """The steps that the product depends on, and its return."""
    value = swap.visit(copy.deepcopy(_value(product)))
    lines: list[ast.stmt] = [ast.Return(value)]
    needed = set(loads(value))
    for i in reversed(range(len(steps))):
        bound = _changed(steps[i])
        if not bound & needed or (i <= given.since and bound & needed <= {given.name}):
            continue
        line = _line(steps[i], bound & needed)
        line = swap.visit(copy.deepcopy(line)) if i > given.since or not given.name else copy.deepcopy(line)
        lines.insert(0, line)
        if isinstance(line, ast.Assign | ast.AnnAssign):
            needed -= bound
        needed |= set(loads(line)) - {given.name if i <= given.since else ""}
    return lines


def _value(product: ast.AST) -> ast.expr:
    if isinstance(product, ast.AugAssign):
        target = copy.copy(product.target)
        target.ctx = ast.Load()
        return ast.BinOp(target, product.op, product.value)
    if isinstance(product, ast.expr):
        return product
    raise CannotCutError("a single expression")


def _changed(stmt: ast.stmt) -> set[str]:
    """Names that a statement binds, or changes in place."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        func = stmt.value.func
        in_place = isinstance(func, ast.Attribute) and func.attr.endswith("_")
        return _root(func.value) if in_place and isinstance(func, ast.Attribute) else set()
    if isinstance(stmt, ast.Assign | ast.AugAssign):
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        return stored(stmt).union(*(_root(t) for t in targets if isinstance(t, ast.Subscript)))
    return stored(stmt)


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _line(stmt: ast.stmt, names: set[str]) -> ast.stmt:
    if isinstance(stmt, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr):
        return stmt
    if isinstance(stmt, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return stmt
    raise CannotCutError(sorted(names)[0])
