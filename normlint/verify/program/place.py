"""Where a norm's product, its statistic and its input stand in the tree, and the statements before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete.functions import bound_names
from normlint.evaluate.walk import below, walk
from normlint.norm.norm import Computation, Norm
from normlint.verify.program.meaning import along_features
from normlint.verify.program.surroundings import Chain, Surroundings

FUNCTIONS: Final = (s.Function, s.Lambda)
CASTS: Final = frozenset(
    "to type type_as float half bfloat16 double clone contiguous requires_grad_ detach cpu cuda".split()
)
_VIEWS: Final = frozenset(
    "view reshape view_as reshape_as permute transpose movedim flatten unflatten squeeze unsqueeze expand".split()
)
_GRADIENTS: Final = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
_SQUARES: Final = frozenset({"pow", "square", "abs"})


@dataclass(frozen=True)
class Found:
    """The product with what holds it, the statistic (or the helper's call that makes it), and what it is taken of."""

    product: s.Node
    chain: Chain
    statistic: s.Node | None
    input: s.Node | None
    returned: bool  # by the function that holds it
    several: bool = False  # among other things, where casts may follow


def product_of(around: Surroundings, norm: Norm, *, returned: bool = True, first: bool = False) -> Found | None:
    """What the norm's function returns (if `returned`), or its last product; where more is multiplied on, its first."""
    c = norm.main
    root, given = around.chain(c.statistic.span), around.chain(c.statistic.inner_span)
    chain = _chain(around, norm, root, first=first)
    if not root or not given or not chain:
        return None
    function = function_in(chain)
    residual = {f.atom for f in c.shift.factors} & {f.atom for f in c.input.factors} if c.shift else set()
    value = _given_back(function, chain[-1]) if function and returned and not residual else None
    several = isinstance(value, s.Sequence)
    if several:
        chain = _with_cast(chain)
    elif value is not None:
        chain = _down_to(around.chain(value.span), value)
    statistic, of = root[-1], given[-1]
    if function is not function_in(root):
        call = _call_of(function_in(root), around, chain)
        arguments = call.args if call else ()
        return Found(chain[-1], chain, call, arguments[0].value if arguments else None, value is not None, several)
    return Found(chain[-1], chain, statistic, of, value is not None, several)


def _chain(around: Surroundings, norm: Norm, root: Chain, *, first: bool) -> Chain:
    c = norm.main
    early, last = around.chain(c.joined), around.chain(norm.span)
    if function_in(early) is not function_in(root) and _call_of(function_in(root), around, early) is None:
        early = _above(root)
    if not early or not last:
        return early or last
    if first or c.others or along_features(c) != c.gains or (c.kind == "l2" and not c.gains):
        return early
    here, there, wanted = function_in(early), function_in(last), norm.qualname.rpartition(".")[2]
    if here is not there and getattr(here, "name", "") == wanted:
        return early  # a helper: what its callers multiply on is not its business
    if there is not function_in(root) and _call_of(function_in(root), around, last) is None:
        return early
    return last


def _above(chain: Chain) -> Chain:
    """Up to the product that the chain's end stands in."""
    held = [at for at, n in enumerate(chain) if isinstance(n, s.Binary | s.Augment) and n.op in ("*", "/")]
    return chain[: held[-1] + 1] if held else ()


def function_in(chain: Chain) -> s.Function | s.Lambda | None:
    """The innermost function that holds the end of the chain."""
    return next((n for n in reversed(chain) if isinstance(n, FUNCTIONS)), None)


def class_in(chain: Chain) -> s.Class | None:
    """The class whose method the innermost function is."""
    above = chain[: next((at for at, n in enumerate(chain) if n is function_in(chain)), 0)]
    return above[-1] if above and isinstance(above[-1], s.Class) else None


def _down_to(chain: Chain, node: s.Node) -> Chain:
    return chain[: next(i for i, n in enumerate(chain) if n is node) + 1]


def _with_cast(chain: Chain) -> Chain:
    """Up to the cast of the product, where there is one directly around it."""
    while len(chain) > 2 and getattr(chain[-2], "name", "") in CASTS and isinstance(chain[-3], s.Call):
        chain = chain[:-2]
    return chain


def _call_of(helper: s.Function | s.Lambda | None, around: Surroundings, chain: Chain) -> s.Call | None:
    """Where the function that holds the statistic is called for the product: in it, else above it."""
    name = getattr(helper, "name", "")
    parts = (chain[-1], *reversed(steps_before(around, chain))) if name and chain else ()
    calls = (n for part in parts for n in walk(part) if isinstance(n, s.Call))
    return next((call for call in calls if last_name(call.func) == name), None)


def last_name(node: s.Expr) -> str:
    """`c` of `a.b.c`."""
    return node.name if isinstance(node, s.Attribute) else node.id if isinstance(node, s.Name) else ""


# --- the statements before it ----------------------------------------------------------------------------------------


def steps_before(around: Surroundings, chain: Chain) -> list[s.Stmt]:
    """The statements that come before the chain's end in its enclosing blocks, in order; `with` is seen through."""
    function = function_in(chain)
    if function is None:
        return [*_until(around.before(chain), None), *_held_before(chain)]
    return _held_before(chain[next(i for i, n in enumerate(chain) if n is function) :])


def _held_before(chain: Chain) -> list[s.Stmt]:
    found: list[s.Stmt] = []
    for holder, held in pairwise(chain):
        for block in below(holder):
            if isinstance(block, tuple) and isinstance(held, s.Stmt) and any(stmt is held for stmt in block):
                found += _until(block, held)
    return found


def _until(block: Iterable[s.Stmt], end: s.Node | None) -> Iterator[s.Stmt]:
    for stmt in block:
        if stmt is end:
            return
        if isinstance(stmt, s.With) and not _switches_gradients(stmt):
            yield from _until(stmt.body, end)
        else:
            yield stmt


def _switches_gradients(stmt: s.With) -> bool:
    """What it holds is no part of the graph: taken out of it, it would be."""
    return any(isinstance(n, s.Attribute | s.Name) and last_name(n) in _GRADIENTS for n in walk(stmt.items))


# --- whether a function gives its product back -----------------------------------------------------------------------


def _given_back(function: s.Function | s.Lambda, product: s.Node) -> s.Expr | None:
    """What the function returns, if that is `product` but for casts, views, gains and a shift."""
    names, made = set[str](), set[str]()
    if isinstance(function, s.Lambda):
        return function.body if _passes(function.body, product, names, made) else None
    for stmt in walk(function.body, own=True):
        match stmt:
            case s.Return(value=s.Expr() as value) if _passes(value, product, names, made):
                return value
            case s.Assign(targets=(s.Name(id=name),), value=value):
                passes = _passes(value, product, names, made)
                (names.add if passes else names.discard)(name)
                (made.discard if passes or not names or _is_plain(value, made) else made.add)(name)
            case s.Augment(target=s.Name(id=name)) if stmt is product:
                names.add(name)
    return None


def _passes(value: s.Expr, product: s.Node, names: set[str], made: set[str]) -> bool:
    """`names` mean the product, and what `made` means was computed after it."""
    value = uncast(value, CASTS | _VIEWS)
    if value is product or (isinstance(value, s.Name) and value.id in names):
        return True
    match value:
        case s.Binary(op="*" | "+", left=left, right=right):
            sides = ((left, right), (right, left))
            return any(_passes(a, product, names, made) and _is_plain(b, made) for a, b in sides)
        case s.Sequence(items=parts):
            return any(_passes(part, product, names, made) for part in parts)
        case s.IfExpr(body=body, orelse=other):
            return _passes(body, product, names, made) or _passes(other, product, names, made)
    return False


def _is_plain(node: s.Expr, made: set[str]) -> bool:
    """A gain, a shift, a count: names and numbers."""
    node = uncast(node, CASTS | _VIEWS)
    if isinstance(node, s.Binary):
        return _is_plain(node.left, made) and _is_plain(node.right, made)
    while isinstance(node, s.Subscript):
        node = node.base
    return isinstance(node, s.Attribute | s.Literal) or (isinstance(node, s.Name) and node.id not in made)


def uncast(node: s.Expr, over: frozenset[str] = CASTS) -> s.Expr:
    """`x` of `x.float().to(y.dtype)`."""
    while isinstance(node, s.Call) and isinstance(node.func, s.Attribute) and node.func.name in over:
        node = node.func.base
    return node


# --- the input -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """What is normalised: an expression, whose name (if it is one) means the input up to the step `since`."""

    expr: s.Expr
    since: int = -1

    @property
    def name(self) -> str:
        """Where it is a plain name."""
        return self.expr.id if isinstance(self.expr, s.Name) else ""


def given(around: Surroundings, found: Found, steps: list[s.Stmt], c: Computation) -> Given | None:
    """What is squared, followed back over casts and the subtraction of a mean."""
    if not isinstance(found.input, s.Expr):
        return None
    expr = _bare(around, found.input, c)
    at = next((i for i, step in enumerate(steps) if any(n is found.statistic for n in walk(step))), len(steps))
    while isinstance(expr, s.Name):
        before = next((i for i in reversed(range(at)) if expr.id in bound_names((steps[i],))), None)
        if before is None:
            return Given(expr)
        if c.kind == "layer" and isinstance(step := steps[before], s.Augment) and step.op == "-":
            at = before  # the mean is subtracted in place
            continue
        value = _assigned(steps[before])
        inner = _bare(around, value, c) if value is not None else None
        if inner is None or inner is value:
            return Given(expr, before)
        expr, at = inner, before
    return Given(expr)


def input_name(around: Surroundings, found: Found, c: Computation) -> str:
    """The parameter or local name that is normalised, "" where it is no name."""
    held = given(around, found, steps_before(around, found.chain), c)
    return held.name if held else ""


def _assigned(stmt: s.Stmt) -> s.Expr | None:
    match stmt:
        case s.Assign(targets=(s.Name(),), value=value):
            return value
    return None


def _bare(around: Surroundings, expr: s.Expr, c: Computation) -> s.Expr:
    """`x` of `x.float().pow(2)`, `x * x`, `torch.square(x)` and `(x - mean)`."""
    while (inner := _within(around, expr, centred=c.kind == "layer")) is not expr:
        expr = inner
    return expr


def _within(around: Surroundings, expr: s.Expr, *, centred: bool) -> s.Expr:
    match expr:
        case s.Binary(op="**", left=left):
            return left
        case s.Binary(op="*", left=left, right=right) if around.spelled(left) == around.spelled(right):
            return left
        case s.Binary(op="-", left=left) if centred:
            return left
        case s.Call(func=s.Attribute(base=s.Name(id="torch"), name=name), args=(first, *_)):
            return first.value if name in _SQUARES else expr
        case s.Call(func=s.Attribute(base=base, name=name)) if name in _SQUARES:
            return base
    return uncast(expr, CASTS - {"detach"})
