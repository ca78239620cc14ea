"""The light reading of a function: where each value comes from, and whether a statistic of it has met it.

One walk over Python's own tree, without paths: what either branch binds, a name may hold. A doubt is a yes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from normlint.evaluate.ops import OPS
from normlint.text.operations import CLASSES, FUSED, LENGTHS

Labels: TypeAlias = "frozenset[str]"
_NONE: Final[Labels] = frozenset()
SQUARED, STRONG, ROOTED = 1, 2, 4  # what is bare, a square or the like; a statistic of one; a root of a statistic
_DEEPEST: Final = 5  # calls within calls
_MOST: Final = 16  # origins of one value; what is made of more is something of its own


def _words(*classes: str) -> frozenset[str]:
    return frozenset(word for name in classes for word in CLASSES[name].split())


_FUSED: Final = frozenset(FUSED.split())
_REDUCING: Final = _words("statistic")
_LENGTHS: Final = frozenset(LENGTHS.split())
_SQUARING: Final = _LENGTHS | {"var", "var_mean", "einsum", "vecdot"}
_CONTRACTING: Final = _words("contraction")
_MULTIPLIES: Final = _words("scaling") | {"addcmul", "addcdiv", "lerp"}
_SUMS: Final = _words("sum", "degree 1", "selection") | {"max", "min", "clamp", "clip"}
_KEEPING: Final = _words("layout", "same", "cast", "power") | {"clamp_min", "clamp_max"} | _SUMS
_POWERS: Final = _words("power") | {"exp", "abs", "absolute", "fabs"}
_SIZES: Final = _words("question") | {"shape", "ndim", "device", "dtype", "names"}
_SAME: Final = frozenset(("T", "mT", "H", "data", "real", "values"))
_LIBRARIES: Final = frozenset(("torch", "np", "numpy", "math", "nn", "F", "jnp", "einops"))
_FOREIGN: Final = frozenset(("np", "numpy", "jnp"))
_PARTIAL: Final = frozenset(("partial", "compile", "vmap", "wraps", "jit", "script", "checkpoint"))


class Value(NamedTuple):
    """`bare`: what it is made of, element by element; `stats`: what a reduction in it was taken of.

    `how`: as bits, what is known of both. `made`: if it is a function, what it computes.
    """

    bare: Labels = _NONE
    stats: Labels = _NONE
    how: int = 0
    made: tuple[Any, ...] = ()


NOTHING: Final = Value()
Env: TypeAlias = "dict[str, Value]"


class Called(NamedTuple):
    """A function of the text that may be called: `own`: a method of `self`; `given`: with a statistic."""

    own: str
    name: str
    given: bool


class Nested:
    """A function in another, or a lambda, with the names it sees."""

    __slots__ = ("env", "node")

    def __init__(self, node: Any, env: Env) -> None:
        self.node = node
        self.env = env


class Method:
    """An op of a value, handed on without being called."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Value) -> None:
        self.name = name
        self.value = value


class Seen:
    """What a walk over a function has shown."""

    def __init__(self, binds: bool = True) -> None:
        self.binds = binds  # a walrus stands in the text
        self.met = False
        self.weakly = False  # with a mean of itself, not of squares
        self.result = NOTHING
        self.attrs: Env = {}  # of self, that hold a statistic or a function
        self.read: set[str] = set()  # attributes of self
        self.called: set[Called] = set()


class Text:
    """What a function may see of its text: nothing, for one that is read by itself."""

    def attribute(self, name: str) -> Value:  # noqa: ARG002
        """What any function of the text has put there."""
        return NOTHING

    def name(self, name: str) -> Value | None:  # noqa: ARG002
        """What the text binds outside of functions."""
        return None

    def call(
        self,
        called: Called,  # noqa: ARG002
        args: Sequence[Value],  # noqa: ARG002
        named: Mapping[str, Value],  # noqa: ARG002
        depth: int,  # noqa: ARG002
    ) -> Value | None:
        """What a function of the text gives back; None where there is none."""
        return None


def mix(values: Iterable[Value]) -> Value:
    """What is made of all of them."""
    kept = [v for v in values if v.bare or v.stats]
    if len(kept) < 2:
        return Value(*kept[0][:3]) if kept else NOTHING
    first, *others = kept
    bare = first.bare.union(*[v.bare for v in others])
    stats = first.stats.union(*[v.stats for v in others])
    how = first.how
    for v in others:
        how |= v.how
    if len(bare) > _MOST:
        bare = frozenset((f"~{hash(bare)}",))
    return Value(bare, stats if len(stats) <= _MOST else frozenset(sorted(stats)[:_MOST]), how)


def join(values: Iterable[Value]) -> Value:
    """What may be any of them, or holds all."""
    kept = [v for v in values if v is not NOTHING]
    if len(kept) < 2:
        return kept[0] if kept else NOTHING
    made = tuple(dict.fromkeys(m for v in kept for m in v.made))[:4] if any(v.made for v in kept) else ()
    mixed = mix(kept)
    return mixed._replace(made=made) if made else mixed


def function_of(body: Sequence[ast.stmt]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that a text consists of, be it indented."""
    inner = body[0].body if body and isinstance(body[0], ast.If) else body
    return next((s for s in inner if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)), None)


def seen(body: Sequence[ast.stmt], text: Text, *, binds: bool) -> Seen:
    """The statements of a function's text, or loose ones, each function in them with a symbol for each parameter."""
    walk = _Walk(text, {}, Seen(binds), 0)
    function = function_of(body) if body and isinstance(body[0], ast.If | ast.FunctionDef) else None
    if function is None:
        walk.block(body)
        return walk.seen
    for inner in body[0].body if isinstance(body[0], ast.If) else body:
        if inner is function:
            walk.seen.result = walk.function(function, {})
        else:
            walk.block([inner])
    return walk.seen


def result_of(function: Any, env: Env, text: Text, into: Seen, depth: int) -> Value:
    """What a function gives back for what its parameters are; what it shows is noted."""
    return _Walk(text, dict(env), into, depth).run(function)


def bound(node: ast.arguments, args: Sequence[Value], named: Mapping[str, Value]) -> Env:
    """The parameters of a call; those that aren't given stand for themselves."""
    params = [*node.posonlyargs, *node.args]
    env: Env = {}
    if params and params[0].arg in ("self", "cls"):
        args = args[1:] if len(args) == len(params) else args
        params = params[1:]
    for one in (*params, *node.kwonlyargs):
        env[one.arg] = named.get(one.arg) or Value(frozenset((one.arg,)))
    env.update((one.arg, value) for one, value in zip(params, args, strict=False))
    rest = [*args[len(params) :], *(v for k, v in named.items() if k not in env)]
    for star in (node.vararg, node.kwarg):
        if star is not None:
            env[star.arg] = join([Value(frozenset((star.arg,))), *rest])
    return env


def global_of(body: Sequence[ast.stmt], name: str, text: Text) -> Value:
    """What loose statements leave in a name."""
    walk = _Walk(text, {}, Seen(), 1)
    walk.block(body)
    return walk.env.get(name, NOTHING)


class _Walk:
    def __init__(self, text: Text, env: Env, into: Seen, depth: int) -> None:
        self.text = text
        self.env = env
        self.seen = into
        self.depth = depth
        self.result = NOTHING

    # --- functions

    def function(self, node: Any, outer: Env) -> Value:
        """By itself: with a symbol for each parameter."""
        env = outer | bound(node.args, (), {})
        for param, default in zip(reversed(node.args.args), reversed(node.args.defaults), strict=False):
            given = self.expr(default)
            if given.made or given.stats:
                env[param.arg] = join((env[param.arg], given)) if param.arg in env else given
        return _Walk(self.text, env, self.seen, self.depth).run(node)

    def run(self, node: Any) -> Value:
        if isinstance(node, ast.Lambda):
            return self.expr(node.body)
        self.block(node.body)
        return self.result

    # --- statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        for stmt in body:
            handler = _STMT.get(type(stmt))
            if handler is not None:
                handler(self, stmt)

    def apart(self, *bodies: Sequence[ast.stmt]) -> None:
        """Blocks of which one is run: a name may hold what any of them leaves there."""
        before, after = self.env, []
        for body in bodies:
            self.env = dict(before)
            self.block(body)
            after.append(self.env)
        self.env = after[0]
        for env in after[1:]:
            for name, value in env.items():
                mine = self.env.get(name)
                if mine is not value:
                    self.env[name] = value if mine is None or mine == value else join((mine, value))

    def again(self, *bodies: Sequence[ast.stmt]) -> None:
        """A block that may be repeated."""
        before = self.env
        self.apart((), *bodies)
        if any(v.stats and before.get(n, NOTHING).stats != v.stats for n, v in self.env.items() if n in before):
            self.apart((), *bodies)

    def if_(self, node: ast.If) -> None:
        self.expr(node.test)
        self.apart(node.body, node.orelse)

    def for_(self, node: ast.For) -> None:
        self.bind(node.target, self.expr(node.iter), None)
        self.again(node.body)
        self.block(node.orelse)

    def while_(self, node: ast.While) -> None:
        self.expr(node.test)
        self.again(node.body)
        self.block(node.orelse)

    def with_(self, node: ast.With) -> None:
        for item in node.items:
            value = self.expr(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value, None)
        self.block(node.body)

    def try_(self, node: ast.Try) -> None:
        self.block(node.body)
        self.apart((), *(handler.body for handler in node.handlers))
        self.block(node.orelse)
        self.block(node.finalbody)

    def match(self, node: ast.Match) -> None:
        value = self.expr(node.subject)
        for case in node.cases:
            for inner in ast.walk(case.pattern):
                name = getattr(inner, "name", None)
                if isinstance(name, str):
                    self.env[name] = value
        self.apart((), *(case.body for case in node.cases))

    def assign(self, node: ast.Assign) -> None:
        value = self.expr(node.value)
        for target in node.targets:
            self.bind(target, value, node.value)

    def ann_assign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.expr(node.value), node.value)

    def augment(self, node: ast.AugAssign) -> None:
        self.bind(node.target, self.binary(node.op, self.expr(node.target), self.expr(node.value)), None)

    def evaluate(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expr(node.value)

    def returns(self, node: ast.Return) -> None:
        if node.value is not None:
            value = self.expr(node.value)
            self.result = join((self.result, value))
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for part in parts:
                one = value if len(parts) == 1 else self.expr(part)
                if self.depth == 0:
                    self.alone(one)

    def other(self, node: ast.stmt) -> None:
        for part in (getattr(node, "test", None), getattr(node, "exc", None)):
            if part is not None:
                self.expr(part)

    def nested(self, node: ast.FunctionDef) -> None:
        self.env[node.name] = Value(made=(Nested(node, self.env),))
        depth, self.depth = self.depth, max(self.depth, 1)
        given = self.function(node, self.env)
        self.depth = depth
        self.alone(given)

    def alone(self, value: Value) -> None:
        """An inverse root that somebody else multiplies by."""
        if value.stats and value.how & ROOTED and value.how & STRONG and _pure(value):
            self.seen.met = True

    def class_(self, node: ast.ClassDef) -> None:
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                self.function(inner, self.env)
            elif not isinstance(inner, ast.ClassDef):
                self.block([inner])
            else:
                self.class_(inner)

    # --- names

    def bind(self, target: ast.expr, value: Value, node: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.env[name] = value
            case ast.Attribute(attr=name):
                self.env[f".{name}"] = value
                if (value.stats or value.made) and isinstance(target.value, ast.Name):
                    self.seen.attrs[name] = join((self.seen.attrs.get(name, NOTHING), value))
            case ast.Subscript(value=inner):
                held = self.expr(inner)
                if value.stats or value.made or value.bare - held.bare:
                    self.bind(inner, join((held, value)), None)
            case ast.Starred(value=inner):
                self.bind(inner, value, None)
            case ast.Tuple(elts=several) | ast.List(elts=several):
                same = isinstance(node, ast.Tuple | ast.List) and len(node.elts) == len(several)
                for number, one in enumerate(several):
                    inner = node.elts[number] if same and isinstance(node, ast.Tuple | ast.List) else None
                    self.bind(one, self.expr(inner) if inner is not None else _part(value, number), inner)

    def name(self, node: ast.Name) -> Value:
        found = self.env.get(node.id)
        if found is not None:
            return found
        if node.id in _LIBRARIES:
            return NOTHING
        found = self.text.name(node.id)
        if found is not None:
            return found
        made: tuple[Any, ...] = (node.id,) if node.id in _REDUCING or node.id in OPS else (("", node.id),)
        return Value(frozenset((node.id,)), made=made)

    def attribute(self, node: ast.Attribute) -> Value:
        base, name = node.value, node.attr
        if name in _SIZES:
            return NOTHING
        if isinstance(base, ast.Name) and base.id not in self.env:
            if base.id in ("self", "cls"):
                self.seen.read.add(name)
                known = self.env.get(f".{name}")
                shared = self.text.attribute(name)
                label = Value(frozenset((f".{name}",)), made=(("self", name),))
                return join((known or label, shared))
            return (
                Value(made=(name,))
                if base.id in _LIBRARIES
                else Value(frozenset((f"{base.id}.{name}",)), made=((base.id, name),))
            )
        value = self.expr(base)
        if name in _SAME:
            return value
        if not value.bare and not value.stats:
            return Value(frozenset((f"*.{name}",)), made=(name,)) if not _library(base) else Value(made=(name,))
        part = _part(value, name)
        return part._replace(made=(Method(name, value),)) if name in _REDUCING else part

    # --- expressions

    def expr(self, node: ast.expr) -> Value:
        handler = _EXPR.get(type(node))
        return handler(self, node) if handler is not None else self.all_of(node)

    def all_of(self, node: ast.AST) -> Value:
        """Anything else: made of its parts."""
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

    def told(self, node: ast.expr) -> Value:
        """A comparison, a string: its parts are evaluated for what they bind."""
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
            return _part(value, key.value)
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
            return self.power(left)
        return self.sum(left, right)

    def product(self, left: Value, right: Value, *, divide: bool) -> Value:
        if (left.stats and not left.stats.isdisjoint(right.bare)) or (
            right.stats and not right.stats.isdisjoint(left.bare)
        ):
            self.meet(left, right)
        value = mix((left, right))
        if divide:
            return value._replace(how=value.how | ROOTED) if right.stats else value
        return value if left.bare.isdisjoint(right.bare) else value._replace(how=value.how | SQUARED)

    def meet(self, left: Value, right: Value) -> None:
        """The product of what a statistic was taken of with it."""
        how = left.how * bool(left.stats) | right.how * bool(right.stats)
        if how & (STRONG | ROOTED):
            self.seen.met = True
        self.seen.weakly = True

    def power(self, value: Value) -> Value:
        """A square, or a root."""
        how = value.how | (SQUARED if value.bare else 0) | (ROOTED if value.stats else 0)
        return value._replace(how=how, made=())

    def sum(self, left: Value, right: Value) -> Value:
        """X − mean(x) is x still."""
        if left.stats and _reduced(left) and left.stats & right.bare:
            return mix((left._replace(stats=left.stats - right.bare), right))
        if right.stats and _reduced(right) and right.stats & left.bare:
            return mix((left, right._replace(stats=right.stats - left.bare)))
        return mix((left, right))

    # --- calls

    def call(self, node: ast.Call) -> Value:
        func = node.func
        args = [self.expr(a) for a in node.args]
        if node.args and isinstance(node.args[-1], ast.Starred):
            args += args[-1:] * 4
        named = {k.arg or "**": self.expr(k.value) for k in node.keywords}
        if isinstance(func, ast.Attribute) and not _library(func.value):
            return self.method(node, func, args, named)
        if isinstance(func, ast.Attribute):
            if _library(func.value, _FOREIGN):
                return self.unknown(node, args, named)
            return self.out(node, self.op(func.attr, node, args, named))
        if isinstance(func, ast.Name) and func.id == "getattr" and len(node.args) > 1:
            key = node.args[1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return self.attribute(ast.Attribute(node.args[0], key.value, ast.Load()))
        made = self.expr(func)
        return self.out(node, self.apply(made, node, args, named))

    def method(self, node: ast.Call, func: ast.Attribute, args: list[Value], named: dict[str, Value]) -> Value:
        base, name = func.value, func.attr
        if name in _SIZES:
            return NOTHING
        own = isinstance(base, ast.Name) and base.id in ("self", "cls")
        above = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"
        if own or above:
            self.seen.read.add(name)
            value = join((self.text.attribute(name), self.env.get(f".{name}", NOTHING)))
            given = self.local(Called("self", name, False), args, named)
            if given is None and above and name == "forward":  # of torch's own norm, perhaps
                self.seen.met = True
            if given is not None or not value.made:
                return given if given is not None else self.unknown(node, args, named)
            return self.apply(value, node, args, named)
        if isinstance(base, ast.Name) and base.id not in self.env:
            given = self.local(Called(base.id, name, False), args, named)
            if given is not None:
                return given
            if any(v is not NOTHING for v in (*args, *named.values())):  # a module of functions, as far as one can tell
                return self.out(node, self.op(name, node, args, named))
        receiver = self.expr(base)
        stripped = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        if name in ("append", "add", "update", "setdefault", "extend", "insert") and (args or named):
            given = join((*args, *named.values()))
            if given.stats or given.made:
                self.bind(base, join((receiver, given)), None)
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
        """A call of what a name or an expression holds."""
        results = []
        for made in func.made:
            if isinstance(made, str):
                results.append(self.op(made, node, args, named))
            elif isinstance(made, Method):
                results.append(self.op(made.name, node, [made.value, *args], named))
            elif isinstance(made, Nested):
                if self.depth < _DEEPEST:
                    env = made.env | bound(made.node.args, args, self.defaults(made) | named)
                    results.append(result_of(made.node, env, self.text, self.seen, self.depth + 1))
            else:
                given = self.local(Called(*made, False), args, named)
                results.append(self.unknown(node, args, named, made[1]) if given is None else given)
        return join(results) if results else self.unknown(node, [func, *args], named)

    def defaults(self, made: Nested) -> dict[str, Value]:
        """What the last parameters are unless they are given."""
        args = made.node.args
        walk = _Walk(self.text, dict(made.env), self.seen, self.depth + 1)
        pairs = [
            *zip(args.args[::-1], args.defaults[::-1], strict=False),
            *zip(args.kwonlyargs, args.kw_defaults, strict=False),
        ]
        return {one.arg: walk.expr(default) for one, default in pairs if default is not None}

    def local(self, called: Called, args: list[Value], named: dict[str, Value]) -> Value | None:
        called = called._replace(given=_may_meet((*args, *named.values())))
        self.seen.called.add(called)
        return self.text.call(called, args, named, self.depth + 1) if self.depth < _DEEPEST else None

    def op(self, name: str, node: ast.Call, args: list[Value], named: dict[str, Value]) -> Value:
        if name in _FUSED:
            self.seen.met = True
        if name in _REDUCING:
            return self.reduced(name, node, args, named)
        if name in _PARTIAL and args and any(v.made for v in args):
            return join(args)._replace(bare=_NONE)
        every = (*args, *named.values())
        if name in _MULTIPLIES:
            value = mix(every)
            for number, one in enumerate(every):
                for two in every[number + 1 :]:
                    self.product(one, two, divide=name.endswith("div") or "divide" in name)
            return value._replace(how=value.how | ROOTED) if value.stats and "div" in name else value
        if name in _CONTRACTING:
            return self.contracted(node, every)
        if name in _KEEPING:
            value = mix(every) if name in _SUMS else mix((*(args or every)[:1], *(v for v in every if v.stats)))
            return self.power(value) if name in _POWERS else value
        return self.unknown(node, args, named, name)

    def reduced(self, name: str, node: ast.Call, args: list[Value], named: dict[str, Value]) -> Value:
        """A statistic, which may have one of its own in turn: its label begins with #."""
        value = mix((*args, *named.values()))
        if not value.bare and not value.stats:
            return NOTHING
        strong = STRONG if value.how & SQUARED or name in _SQUARING else 0
        how = value.how & ~SQUARED | strong | ROOTED * (name in _LENGTHS)
        if name == "normalize":
            self.seen.met = True
            return Value(value.bare, value.bare | value.stats, how)
        return Value(frozenset((f"#{node.lineno}:{node.col_offset}",)), value.bare | value.stats, how)

    def contracted(self, node: ast.AST, every: Sequence[Value]) -> Value:
        """Sums of products: of something with itself, a statistic."""
        label = frozenset((f"#{node.lineno}:{node.col_offset}",))  # type: ignore[attr-defined]
        stats, how = mix([v for v in every if v.stats and _pure(v)]), 0
        for number, one in enumerate(every):
            for two in every[number + 1 :]:
                self.product(one, two, divide=False)
                if shared := one.bare & two.bare:
                    stats, how = stats._replace(stats=stats.stats | shared), STRONG
        return Value(label, stats.stats, stats.how | how)

    def unknown(self, node: ast.Call, args: Sequence[Value], named: Mapping[str, Value], name: str = "") -> Value:
        """A value of its own, and a function of every statistic that was given."""
        value = mix([v for v in (*args, *named.values()) if v.stats and _pure(v)])
        label = frozenset((f"{name}@{node.lineno}:{node.col_offset}",))
        return Value(label, value.stats, value.how | ROOTED if value.stats and name in _POWERS else value.how)


def _reduced(value: Value) -> bool:
    """Nothing but statistics."""
    return all(label[0] == "#" for label in value.bare)


def _pure(value: Value) -> bool:
    """A statistic and numbers, as far as one can tell."""
    return value.bare.isdisjoint(value.stats) and not any("@" in label or "(" in label for label in value.bare)


def _may_meet(values: Sequence[Value]) -> bool:
    """A statistic is handed over, and what it may be of: in another argument, or by `self`."""
    stats = _NONE.union(*[v.stats for v in values])
    if not stats:
        return False
    return any(not stats.isdisjoint(v.bare) for v in values) or any(label[0] == "." for label in stats)


def _part(value: Value, key: object) -> Value:
    """An item or an attribute: something of its own, made as the whole is."""
    if not value.bare or len(value.bare) > 3 or any(label.endswith("]") for label in value.bare):
        return value._replace(made=()) if value.made else value
    return value._replace(bare=frozenset([f"{label}[{key}]" for label in value.bare]), made=())


def _library(node: ast.expr, names: frozenset[str] = _LIBRARIES) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


_W = _Walk
_STMT: dict[type[ast.AST], Callable[[_Walk, Any], None]] = {
    ast.Assign: _W.assign, ast.AnnAssign: _W.ann_assign, ast.AugAssign: _W.augment, ast.Expr: _W.evaluate,
    ast.Assert: _W.other, ast.Raise: _W.other, ast.Return: _W.returns, ast.If: _W.if_, ast.For: _W.for_,
    ast.AsyncFor: _W.for_, ast.While: _W.while_, ast.With: _W.with_, ast.AsyncWith: _W.with_, ast.Try: _W.try_,
    ast.Match: _W.match, ast.FunctionDef: _W.nested, ast.AsyncFunctionDef: _W.nested, ast.ClassDef: _W.class_,
}  # fmt: skip
if hasattr(ast, "TryStar"):  # since Python 3.11
    _STMT[ast.TryStar] = _W.try_
_EXPR: dict[type[ast.AST], Callable[[_Walk, Any], Value]] = {
    ast.Name: _W.name, ast.Attribute: _W.attribute, ast.Call: _W.call, ast.BinOp: _W.bin_op,
    ast.UnaryOp: _W.unary, ast.Tuple: _W.several, ast.List: _W.several, ast.Set: _W.several, ast.Dict: _W.values,
    ast.BoolOp: _W.values, ast.Starred: _W.inner, ast.Await: _W.inner, ast.Slice: _W.told,
    ast.Constant: _W.nothing, ast.Compare: _W.told, ast.JoinedStr: _W.told, ast.IfExp: _W.if_exp,
    ast.NamedExpr: _W.walrus, ast.Lambda: _W.lambda_, ast.Subscript: _W.subscript, ast.ListComp: _W.comprehension,
    ast.SetComp: _W.comprehension, ast.GeneratorExp: _W.comprehension, ast.DictComp: _W.comprehension,
}  # fmt: skip
