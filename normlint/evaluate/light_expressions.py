"""The light domain, expressions and calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from normlint.evaluate.ops import OPS
from normlint.evaluate.origins import (
    CONSTANT,
    CONTRACTING,
    DEEPEST,
    FOREIGN,
    FUSED_NORMS,
    KEEPING,
    LAYERS,
    LENGTH_OPS,
    LIBRARIES,
    MOST_OPERANDS,
    MULTIPLIES,
    NONE,
    NOTHING,
    OPERATORS,
    PARTIAL,
    PASSING,
    POWERS,
    REDUCING,
    ROOTED,
    SAME,
    SIZES,
    SQUARED,
    SQUARING,
    STRONG,
    SUMS,
    SUMS_OF_PRODUCTS,
    Called,
    Env,
    Method,
    Nested,
    Seen,
    Text,
    Value,
    item_of,
    join,
    library,
    may_meet,
    meant,
    mix,
    pure,
    reduced,
)


class Expressions:
    """The walk over expressions; binding names and walking functions are left to the walk over statements."""

    def __init__(self, text: Text, env: Env, into: Seen, depth: int) -> None:
        self.text = text
        self.env = env
        self.seen = into
        self.depth = depth
        self.result = NOTHING

    def bind(self, target: ast.expr, value: Value, node: ast.expr | None) -> None:
        raise NotImplementedError

    def function(self, node: Any, outer: Env) -> Value:
        raise NotImplementedError

    def followed(self, made: Nested, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
        raise NotImplementedError

    # --- names

    def name(self, node: ast.Name) -> Value:
        found = self.env.get(node.id)
        if found is not None:
            return found
        if node.id in LIBRARIES:
            return NOTHING
        found = self.text.name(node.id)
        if found is not None:
            return found
        made: tuple[Any, ...] = (node.id,) if node.id in REDUCING or node.id in OPS else (("", node.id),)
        return Value(frozenset((node.id,)), made=made)

    def attribute(self, node: ast.Attribute) -> Value:
        base, name = node.value, node.attr
        if name in SIZES:
            return NOTHING
        if isinstance(base, ast.Name) and base.id not in self.env:
            if base.id in ("self", "cls"):
                self.seen.read.add(name)
                known = self.env.get(f".{name}")
                shared = self.text.attribute(name)
                label = Value(frozenset((f".{name}",)), made=(("self", name),))
                return join((known or label, shared))
            if base.id in LIBRARIES:
                return Value(made=(name,))
            return Value(frozenset((f"{base.id}.{name}",)), made=((base.id, name),))
        value = self.expr(base)
        if name in SAME:
            return value
        if (kept := self.env.get(f".{name}")) is not None and (kept.stats or kept.bare):
            return kept  # an attribute that this function has set
        if not value.bare and not value.stats:
            return Value(frozenset((f"*.{name}",)), made=(name,)) if not library(base) else Value(made=(name,))
        part = item_of(value, name)
        return part._replace(made=(Method(name, value),)) if name in REDUCING else part

    # --- expressions

    def expr(self, node: ast.expr) -> Value:
        handler = _EXPR.get(type(node))
        return handler(self, node) if handler is not None else self.all_of(node)

    def all_of(self, node: ast.AST) -> Value:
        """Return the value of any other node: made of all its parts."""
        return join([self.expr(inner) for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.expr)])

    def nothing(self, _: ast.expr) -> Value:
        return NOTHING

    def several(self, node: Any) -> Value:
        return join([self.expr(one) for one in node.elts])

    def values(self, node: Any) -> Value:
        return join([self.expr(one) for one in node.values])

    def inner(self, node: Any) -> Value:
        return self.expr(node.value)

    def unary(self, node: ast.UnaryOp) -> Value:
        return self.expr(node.operand)

    def bindings(self, node: ast.expr) -> Value:
        """Return nothing for a comparison or a string, after its walruses have been bound."""
        if self.seen.binds:
            for inner in ast.walk(node):
                if isinstance(inner, ast.NamedExpr):
                    self.walrus(inner)
        return NOTHING

    def if_exp(self, node: ast.IfExp) -> Value:
        self.expr(node.test)
        return join((self.expr(node.body), self.expr(node.orelse)))

    def walrus(self, node: ast.NamedExpr) -> Value:
        value = self.expr(node.value)
        self.bind(node.target, value, node.value)
        return value

    def lambda_(self, node: ast.Lambda) -> Value:
        depth, self.depth = self.depth, max(self.depth, 1)
        self.function(node, self.env)
        self.depth = depth
        return Value(made=(Nested(node, self.env),))

    def comprehension(self, node: Any) -> Value:
        before = self.env
        self.env = dict(before)
        for part in node.generators:
            self.bind(part.target, self.expr(part.iter), None)
            for test in part.ifs:
                self.expr(test)
        value = self.expr(node.elt) if not isinstance(node, ast.DictComp) else self.expr(node.value)
        self.env = before
        return value

    def subscript(self, node: ast.Subscript) -> Value:
        value = self.expr(node.value)
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, int | str):
            return item_of(value, key.value)
        if isinstance(key, ast.Name) and not value.bare and not value.stats:
            return self.expr(key)
        return value._replace(made=()) if value.made and value.bare else value

    def bin_op(self, node: ast.BinOp) -> Value:
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.contracted(node, (left, right))
        return self.binary(node.op, left, right)

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Mult | ast.Div | ast.FloorDiv):
            return self.product(left, right, divide=isinstance(op, ast.Div | ast.FloorDiv))
        if isinstance(op, ast.Pow):
            return self.power(mix((left, right)) if right.stats else left)
        return self.sum(left, right)

    def product(self, left: Value, right: Value, *, divide: bool) -> Value:
        if not (left.stats.isdisjoint(right.bare) and right.stats.isdisjoint(left.bare)):
            self.meet(left, right)
        value = mix((left, right))
        if divide:
            return value._replace(how=value.how | ROOTED) if right.stats and right.how & STRONG else value
        return value if left.bare.isdisjoint(right.bare) else value._replace(how=value.how | SQUARED)

    def meet(self, left: Value, right: Value) -> None:
        """Note a product of a value with a statistic of it."""
        how = left.how * bool(left.stats) | right.how * bool(right.stats)
        if how & (STRONG | ROOTED):
            self.seen.met = True
        self.seen.weakly = True

    def power(self, value: Value) -> Value:
        """Return a power of a value: a square, or a root of a statistic."""
        how = value.how | (SQUARED if value.bare else 0) | (ROOTED if value.stats else 0)
        return value._replace(how=how, made=())

    def sum(self, left: Value, right: Value) -> Value:
        """Return the sum or difference of two values; x − mean(x) counts as x."""
        if left.stats and reduced(left) and left.stats & right.bare:
            return mix((left._replace(stats=left.stats - right.bare), right))
        if right.stats and reduced(right) and right.stats & left.bare:
            return mix((left, right._replace(stats=right.stats - left.bare)))
        return mix((left, right))

    # --- calls

    def call(self, node: ast.Call) -> Value:
        func = node.func
        args = [self.expr(a) for a in node.args]
        if node.args and isinstance(node.args[-1], ast.Starred):
            args += args[-1:] * 4
        named = {k.arg or "**": self.expr(k.value) for k in node.keywords}
        if isinstance(func, ast.Attribute) and not library(func.value):
            return self.method(node, func, args, named)
        if isinstance(func, ast.Attribute):
            if library(func.value, FOREIGN):
                return self.unknown(node, args, named)
            name = _without_overload(func).attr
            layer = LAYERS.get(name.lower()) if name[:1].isupper() else None
            if layer:
                return Value(made=(layer,))
            return self.out(node, self.op(OPERATORS.get(name) or name.rstrip("_"), node, args, named))
        if isinstance(func, ast.Name) and func.id == "getattr" and len(node.args) > 1:
            key = node.args[1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return self.attribute(ast.Attribute(node.args[0], key.value, ast.Load()))
        made = self.expr(func)
        return self.out(node, self.apply(made, node, args, named))

    def method(self, node: ast.Call, func: ast.Attribute, args: list[Value], named: dict[str, Value]) -> Value:
        base, name = func.value, func.attr
        if name in SIZES:
            return NOTHING
        own = isinstance(base, ast.Name) and base.id in ("self", "cls")
        asked = base.func.id if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) else ""
        own, above = own or asked == "type", asked == "super"
        if own or above:
            self.seen.read.add(name)
            value = join((self.text.attribute(name), self.env.get(f".{name}", NOTHING)))
            given = self.local(Called("self", name, False), args, named)
            if given is None and above and name == "forward":  # perhaps the forward of a torch norm
                self.seen.met = True
            if given is not None or not value.made:
                return given if given is not None else self.unknown(node, args, named)
            return self.apply(value, node, args, named)
        if isinstance(base, ast.Name) and base.id not in self.env:
            given = self.local(Called(base.id, name, False), args, named)
            if given is not None:
                return given
            if any(v is not NOTHING for v in (*args, *named.values())):  # presumably an imported module
                return self.out(node, self.op(name, node, args, named))
        receiver = self.expr(base)
        name = OPERATORS.get(name, name)
        stripped = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        if name in ("append", "add", "update", "setdefault", "extend", "insert") and (args or named):
            given = join((*args, *named.values()))
            if given is not NOTHING:
                self.bind(base, join((receiver, given)), None)
            if name in ("append", "extend", "insert"):  # methods of lists only
                return NOTHING
        value = self.op(stripped, node, [receiver, *args], named)
        if stripped != name and isinstance(base, ast.Name | ast.Attribute):
            self.bind(base, value, None)
        return value

    def out(self, node: ast.Call, value: Value) -> Value:
        for keyword in node.keywords:
            if keyword.arg == "out":
                self.bind(keyword.value, value, None)
        return value

    def apply(self, func: Value, node: ast.Call, args: list[Value], named: dict[str, Value]) -> Value:
        """Return the result of calling a value."""
        results = []
        for made in func.made:
            if isinstance(made, str):
                results.append(self.op(made, node, args, named))
            elif isinstance(made, Method):
                results.append(self.op(made.name, node, [made.value, *args], named))
            elif isinstance(made, Nested):
                results.append(self.followed(made, args, named))
            else:
                given = self.local(Called(made[0], made[1], False), args, named)
                results.append(self.unknown(node, args, named, made[1]) if given is None else given)
        return join(results) if results else self.unknown(node, [func, *args], named)

    def local(self, called: Called, args: list[Value], named: dict[str, Value]) -> Value | None:
        called = called._replace(given=may_meet((*args, *named.values())))
        self.seen.called.add(called)
        if self.depth < DEEPEST:
            return self.text.call(called, args, named, self.depth + 1)
        self.seen.met |= called.given
        return None

    def op(self, name: str, node: ast.Call, args: list[Value], named: dict[str, Value]) -> Value:
        """Return the result of an operation of torch, by its class; products with a statistic are noted."""
        name = OPERATORS.get(name, name)
        if name in FUSED_NORMS:
            self.seen.met = True
        if name in SUMS_OF_PRODUCTS:
            return self.contracted(node, (*args, *named.values()))
        if name in REDUCING:
            return self.reduced(name, node, args, named)
        if name in PARTIAL and args and any(v.made for v in args):
            return join(args)._replace(bare=NONE)
        every = (*args, *named.values())
        if name in MULTIPLIES:
            value = mix(every)
            for number, one in enumerate(every):
                for two in every[number + 1 :]:
                    self.product(one, two, divide=name.endswith("div") or "divide" in name)
            return value._replace(how=value.how | ROOTED) if value.stats and "div" in name else value
        if name in CONTRACTING:
            return self.contracted(node, every)
        if name in CONSTANT:
            return mix([v for v in every if v.stats])
        if name in KEEPING:
            value = mix(every) if name in SUMS else mix((*(args or every)[:1], *(v for v in every if v.stats)))
            return self.power(value) if name in POWERS else value
        near = meant(name)
        return self.op(near, node, args, named) if near else self.unknown(node, args, named, name)

    def reduced(self, name: str, node: ast.Call, args: list[Value], named: dict[str, Value]) -> Value:
        """Return a statistic; its label begins with `#`, so that statistics of it can be told, too."""
        value = mix((*args, *named.values()))
        if not (value.bare or value.stats) or _of_strings(node):
            return NOTHING
        strong = STRONG if value.how & SQUARED or name in SQUARING else 0
        how = value.how & ~SQUARED | strong | ROOTED * (name in LENGTH_OPS)
        if name == "normalize":
            self.seen.met = True
            return Value(value.bare, value.bare | value.stats, how)
        return Value(frozenset((f"#{node.lineno}:{node.col_offset}",)), value.bare | value.stats, how)

    def contracted(self, node: ast.AST, every: Sequence[Value]) -> Value:
        """Return a sum of products; with itself or a constant it is a statistic."""
        label = frozenset((f"#{node.lineno}:{node.col_offset}",))  # type: ignore[attr-defined]
        sole, *others = [v for v in every if v.bare or v.stats] or [NOTHING]
        if not others:
            return Value(label, sole.bare | sole.stats, STRONG if sole.how & SQUARED else sole.how)
        stats, how = mix([v for v in every if v.stats and pure(v)]), 0
        for one, two in combinations(every[:MOST_OPERANDS], 2):
            if _alike(one, two):
                stats, how = stats._replace(stats=stats.stats | (one.bare & two.bare)), STRONG
            elif not _sums(node):
                self.product(one, two, divide=False)
        return Value(label, stats.stats, stats.how | how)

    def unknown(self, node: ast.Call, args: Sequence[Value], named: Mapping[str, Value], name: str = "") -> Value:
        """Return the result of an unknown call: a new value that depends on each statistic among its arguments."""
        every = [v for v in (*args, *named.values()) if v.bare or v.stats]
        handed = [v for v in args if v.made and not v.bare and not v.stats]
        if handed and every:  # functions that it may call with the other arguments
            whole = join(every)
            return join([self.apply(one, node, [whole, whole], {}) for one in handed])
        if name in PASSING:
            return join(every)
        kept = [v for v in every if v.stats and v.bare.isdisjoint(v.stats)]
        value = mix(kept)
        mark = "#" if kept and len(kept) == len(every) else f"{name}@"
        label = frozenset((f"{mark}{node.lineno}:{node.col_offset}",))
        return Value(label, value.stats, value.how | ROOTED if value.stats and name in POWERS else value.how)


def _without_overload(func: ast.Attribute) -> ast.Attribute:
    """Return `torch.ops.aten.mean` for `torch.ops.aten.mean.dim`; any other function unchanged."""
    match func.value:
        case ast.Attribute(value=ast.Attribute(attr="aten")) as operation:
            return operation
    return func


def _alike(one: Value, two: Value) -> bool:
    """Return whether both are the same tensor, perhaps with a mask or a gain, so that their product is a square."""
    return bool(one.bare and two.bare) and (one.bare <= two.bare or two.bare <= one.bare)


def _sums(node: ast.AST) -> bool:
    """Return whether an `einsum` sums over an axis."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    equation = first.value if isinstance(first, ast.Constant) else None
    taken, arrow, left = equation.partition("->") if isinstance(equation, str) else ("", "", "")
    return bool(arrow) and not set(taken) - {",", " ", "."} <= set(left)


def _of_strings(node: ast.Call) -> bool:
    """Return whether a call is about strings, as `unicodedata.normalize("NFC", text)` is."""
    first = node.args[0] if node.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str)


_W = Expressions
_EXPR: dict[type[ast.AST], Callable[[Expressions, Any], Value]] = {
    ast.Name: _W.name, ast.Attribute: _W.attribute, ast.Call: _W.call, ast.BinOp: _W.bin_op,
    ast.UnaryOp: _W.unary, ast.Tuple: _W.several, ast.List: _W.several, ast.Set: _W.several, ast.Dict: _W.values,
    ast.BoolOp: _W.values, ast.Starred: _W.inner, ast.Await: _W.inner, ast.Slice: _W.bindings,
    ast.Constant: _W.nothing, ast.Compare: _W.bindings, ast.JoinedStr: _W.bindings, ast.IfExp: _W.if_exp,
    ast.NamedExpr: _W.walrus, ast.Lambda: _W.lambda_, ast.Subscript: _W.subscript, ast.ListComp: _W.comprehension,
    ast.SetComp: _W.comprehension, ast.GeneratorExp: _W.comprehension, ast.DictComp: _W.comprehension,
}  # fmt: skip
