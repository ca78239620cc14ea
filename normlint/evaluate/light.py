"""The light domain, statements: track where each value comes from, and whether it is multiplied by its own statistic.

One walk over Python's own syntax tree, without paths: after a branch a name may hold what either side bound.
In doubt the answer is yes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from normlint.evaluate.light_expressions import Expressions
from normlint.evaluate.origins import (
    DEEPEST,
    MOST_FOLLOWED,
    NOTHING,
    ROOTED,
    STRONG,
    Env,
    Nested,
    Seen,
    Text,
    Value,
    bound,
    item_of,
    join,
    mix,
    pure,
)

_OF_FEW: Final = 4  # statistics under one root


def function_of(body: Sequence[ast.stmt]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the first function definition of a text, which may be indented."""
    inner = body[0].body if body and isinstance(body[0], ast.If) else body
    return next((s for s in inner if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)), None)


def seen(body: Sequence[ast.stmt], text: Text, *, binds: bool) -> Seen:
    """Walk a function, or loose statements; each parameter is a symbol of its own."""
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
    """Return the result of a function for the arguments in `env`; what it shows is noted in `into`."""
    return _Walk(text, dict(env), into, depth).run(function)


def global_of(body: Sequence[ast.stmt], name: str, text: Text) -> Value:
    """Return the value that loose statements bind to a name."""
    walk = _Walk(text, {}, Seen(), 1)
    walk.block(body)
    return walk.env.get(name, NOTHING)


class _Walk(Expressions):
    """The walk over statements; `_STMT` maps each kind to its method."""

    # --- functions

    def function(self, node: Any, outer: Env) -> Value:
        """Walk a function with a symbol for each parameter."""
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
        """Walk blocks of which one runs: afterwards a name may hold what any of them bound."""
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
        """Walk a block that may run several times, or never."""
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
        """Note a returned inverse root of few tensors: a caller may multiply by it."""
        rooted = value.how & ROOTED and value.how & STRONG and pure(value)
        many = any(label[0] == "~" for label in (*value.stats, *value.bare))
        if rooted and not many and 0 < len(value.stats) <= _OF_FEW:
            self.seen.met = True

    def class_(self, node: ast.ClassDef) -> None:
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                self.function(inner, self.env)
            elif not isinstance(inner, ast.ClassDef):
                self.block([inner])
            else:
                self.class_(inner)

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
                    given = node.elts[number] if same and isinstance(node, ast.Tuple | ast.List) else None
                    self.bind(one, self.expr(given) if given is not None else item_of(value, number), given)

    # --- calls of what is nested

    def followed(self, made: Nested, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """Return the result of a call of a nested function, which is walked again with its arguments."""
        if self.depth >= DEEPEST:
            return mix([*args, *named.values()])
        env = made.env | bound(made.node.args, args, self.defaults(made) | dict(named))
        known, key = self.seen.followed, (made.node, tuple(env.items()))
        if key not in known and len(known) < MOST_FOLLOWED:
            known[key] = NOTHING  # for recursive calls
            known[key] = result_of(made.node, env, self.text, self.seen, self.depth + 1)
        return known[key] if key in known else mix([*args, *named.values()])

    def defaults(self, made: Nested) -> dict[str, Value]:
        """Return the default values of a function's parameters."""
        args = made.node.args
        walk = _Walk(self.text, dict(made.env), self.seen, self.depth + 1)
        pairs = [
            *zip(args.args[::-1], args.defaults[::-1], strict=False),
            *zip(args.kwonlyargs, args.kw_defaults, strict=False),
        ]
        return {one.arg: walk.expr(default) for one, default in pairs if default is not None}


_W = _Walk
_STMT: dict[type[ast.AST], Callable[[_Walk, Any], None]] = {
    ast.Assign: _W.assign, ast.AnnAssign: _W.ann_assign, ast.AugAssign: _W.augment, ast.Expr: _W.evaluate,
    ast.Assert: _W.other, ast.Raise: _W.other, ast.Return: _W.returns, ast.If: _W.if_, ast.For: _W.for_,
    ast.AsyncFor: _W.for_, ast.While: _W.while_, ast.With: _W.with_, ast.AsyncWith: _W.with_, ast.Try: _W.try_,
    ast.Match: _W.match, ast.FunctionDef: _W.nested, ast.AsyncFunctionDef: _W.nested, ast.ClassDef: _W.class_,
}  # fmt: skip
if hasattr(ast, "TryStar"):  # since Python 3.11
    _STMT[ast.TryStar] = _W.try_
