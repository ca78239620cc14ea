"""Where a norm's product, its statistic and its input stand in the tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from normlint.evaluate.monomial import ONE, TRAILING, Scalar
from normlint.norm.norm import Computation, Gain, Norm
from normlint.verify.names import is_features
from normlint.verify.program.place import (
    CASTS,
    AnyFunction,
    Chain,
    Page,
    function_in,
    given_back,
    last_name,
    same,
    steps_before,
    to,
    uncast,
)

_PRODUCTS: Final = frozenset("div divide true_divide mul multiply div_ divide_ mul_".split())
_FARTHEST: Final = 8  # names between the statistic and the product


@dataclass(frozen=True)
class Found:
    """The product with what holds it, the statistic (or the helper's call that makes it), and what it is taken of."""

    product: ast.AST
    chain: Chain
    statistic: ast.AST | None
    input: ast.expr | None
    returned: bool  # by the function that holds it
    several: bool = False  # among other things, where casts may follow


def product_of(page: Page, norm: Norm, *, returned: bool = True, first: bool = False) -> Found:
    """What the norm's function returns (if `returned`), or its last product; where more is multiplied on, its first."""
    c = norm.main
    root = page.chain(c.statistic.span)
    of = page.chain(c.statistic.inner_span)[-1]
    given = of if isinstance(of, ast.expr) else None
    chain = (first_product(page, root, given) if first else None) or _chain(page, norm, root, given)
    function = function_in(chain)
    value = given_back(function, chain[-1]) if function and returned else None
    several = isinstance(value, ast.Tuple | ast.List)
    if function is not None and value is not None:
        chain = _with_cast(chain) if several else to(_down_to(chain, function), value)
    if function is function_in(root):
        return Found(chain[-1], chain, root[-1], given, value is not None, several)
    call = _call_of(function_in(root), chain)
    return Found(chain[-1], chain, call, call.args[0] if call and call.args else None, value is not None, several)


def _chain(page: Page, norm: Norm, root: Chain, given: ast.expr | None) -> Chain:
    c = norm.main
    last = page.chain(norm.span)
    first = first_product(page, root, given)
    if first is None:
        return last
    if c.others or along_features(c) != c.gains or (c.kind == "l2" and not c.gains):
        return first
    here, there, wanted = function_in(first), function_in(last), norm.qualname.rpartition(".")[2]
    if here is not there and getattr(here, "name", "") == wanted:
        return first  # a helper: what its callers multiply on is not its business
    if there is not function_in(root) and _call_of(function_in(root), last) is None:
        return first
    return last


def along_features(c: Computation) -> tuple[Gain, ...]:
    """The gains that lie along the reduced axes, or are as long; one for each head or token is no part of the norm."""
    last = c.statistic.axes in ((-1,), TRAILING) and c.statistic.layout == ()
    return tuple(
        g for g in c.gains if not (last and g.param.axis == "other" and not _is_as_long(g)) and not _is_table(c, g)
    )


def _is_as_long(gain: Gain) -> bool:
    """Its only axis is told by a name for the features."""
    names = [f.atom.name for n in gain.param.shape or () if n for f in n.factors if isinstance(f.atom, Scalar)]
    return len(gain.param.shape or ()) == 1 and len(names) == 1 and is_features(names[0])


def _is_table(c: Computation, gain: Gain) -> bool:
    """A gain for each of several gates, in the middle of a model where one axis is reduced."""
    one = not c.returned and isinstance(c.statistic.axes, tuple) and len(c.statistic.axes) == 1
    return one and sum(n != ONE for n in gain.param.shape or ()) > 1


def _with_cast(chain: Chain) -> Chain:
    """Up to the cast of the product, where there is one directly around it."""
    while len(chain) > 2 and getattr(chain[-2], "attr", "") in CASTS and isinstance(chain[-3], ast.Call):
        chain = chain[:-2]
    return chain


def _down_to(chain: Chain, node: ast.AST) -> Chain:
    return chain[: next(i for i, n in enumerate(chain) if n is node) + 1]


def _call_of(helper: AnyFunction | None, chain: Chain) -> ast.Call | None:
    """Where the function that holds the statistic is called for the product: in it, else above it."""
    if helper is None:
        return None
    above = steps_before(chain, function_in(chain) or chain[0])
    calls = (n for part in (chain[-1], *reversed(above)) for n in ast.walk(part) if isinstance(n, ast.Call))
    return next((call for call in calls if last_name(call) == getattr(helper, "name", "")), None)


# --- the first product -----------------------------------------------------------------------------------------------


def first_product(page: Page, root: Chain, of: ast.expr | None) -> Chain | None:
    """From the statistic up, and on through the names it is given, to the first product with its input."""
    function = function_in(root) or root[0]
    chain: Chain | None = root
    base = uncast(of) if of is not None else None
    for _ in range(_FARTHEST):
        if chain is None:
            return None
        if last_name_of(chain[-1]) == "normalize":
            return chain
        above = _product_above(chain, base)
        if above is not None:
            return above
        chain = _next_use(function, chain, page)
    return None


def last_name_of(node: ast.AST) -> str:
    """The name of the function that a call calls."""
    return last_name(node) if isinstance(node, ast.Call) else ""


def _product_above(chain: Chain, base: ast.expr | None) -> Chain | None:
    for i in range(len(chain) - 2, 0, -1):
        node, held = chain[i], chain[i + 1]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            other = node.right if node.left is held else node.left
            if _mentions(other, base):
                return chain[: i + 1]
        if isinstance(node, ast.Call) and last_name(node) in _PRODUCTS and any(_mentions(a, base) for a in _ends(node)):
            return chain[: i + 1]
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult | ast.Div):
            return chain[: i + 1]
        if isinstance(node, ast.stmt):
            return None
    return None


def _ends(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    if isinstance(call.func, ast.Attribute):
        yield call.func.value


def _mentions(node: ast.AST, base: ast.expr | None) -> bool:
    """Names the input, or anything at all but a number where the input isn't known."""
    if base is None:
        return False
    inner = _squared(base)
    return any(same(part, inner) or same(part, base) for part in ast.walk(node)) and not _counts(node)


def _squared(base: ast.expr) -> ast.expr:
    match base:
        case ast.BinOp(left=left):
            return uncast(left, CASTS)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch")), args=[first, *_]):
            return uncast(first, CASTS)
        case ast.Call(func=ast.Attribute(value=value)):
            return uncast(value, CASTS)
    return base


def _counts(node: ast.AST) -> bool:
    """`x.shape[-1]`, `x.size(-1)`: a number, not the input."""
    return any(getattr(part, "attr", "") in ("shape", "size", "numel") for part in ast.walk(node))


def _next_use(function: ast.AST, chain: Chain, page: Page) -> Chain | None:
    """The next place where what the chain's statement binds is used."""
    stmt = next((n for n in reversed(chain) if isinstance(n, ast.stmt)), None)
    if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
        return None
    name, end = stmt.targets[0].id, (stmt.end_lineno or 0, stmt.end_col_offset or 0)
    uses = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and (n.lineno, n.col_offset) >= end
    ]
    if not uses:
        return None
    first = min(uses, key=lambda n: (n.lineno, n.col_offset))
    return to((page.tree,), first)
