"""Convert expressions from Python's `ast` to the tree of `syntax`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from normlint.evaluate import syntax as s
from normlint.text.finding import Span
from normlint.text.frozen import replace
from normlint.text.source import line_starts

MOST_NESTED: Final = 150  # nested statements and expressions


class Expressions:
    """The conversion of expressions; `_EXPR` maps each kind to its method.

    The text begins at `offset` of the whole text. The spans of code that is nested too deeply are appended to `deep`.
    """

    def __init__(self, text: str, offset: int, deep: list[Span]) -> None:
        self.text = text
        self.offset = offset
        self.deep = deep
        self.depth = 0
        self.starts = line_starts(text)
        self.wide = {} if text.isascii() else dict(self._wide_lines())

    def _wide_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the numbers and texts of lines with non-ASCII characters, where the parser's columns are bytes."""
        for number, (start, end) in enumerate(pairwise((*self.starts, len(self.text))), 1):
            if not (line := self.text[start:end]).isascii():
                yield number, line

    def at(self, node: Any) -> Span:
        start, end = self.starts[node.lineno - 1], self.starts[node.end_lineno - 1]
        if self.wide:
            start += self.narrower(node.lineno, node.col_offset)
            end += self.narrower(node.end_lineno, node.end_col_offset)
        return Span(start + node.col_offset + self.offset, end + node.end_col_offset + self.offset)

    def narrower(self, line: int, column: int) -> int:
        """Return the difference (0 or less) from a column in bytes of UTF-8 to that in characters."""
        text = self.wide.get(line)
        return 0 if text is None else len(text.encode()[:column].decode()) - column

    def maybe(self, node: ast.expr | None) -> s.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: ast.expr) -> s.Expr:
        self.depth += 1
        if self.depth > MOST_NESTED:
            found: s.Expr = self.left_out(node)
        elif (make := _EXPR.get(type(node))) is not None:
            found = make(self, node)
        else:
            children = tuple(self.expr(c) for c in _nearest_expressions(node))
            found = s.Other(self.at(node), children, type(node).__name__)
        self.depth -= 1
        return found

    def left_out(self, node: ast.AST) -> s.Other:
        """Record a node that is nested too deeply, and return an opaque one."""
        self.deep.append(self.at(node))
        return s.Other(self.at(node), ())

    def plain(self, node: ast.AST) -> Any:
        """Convert a node whose fields correspond to those of a node in `syntax`, by `PLAIN`."""
        make, *names = PLAIN[type(node)]
        found: list[Any] = []
        for name in names:
            value: Any = getattr(node, name, None)
            if isinstance(value, ast.expr):
                found.append(self.expr(value))
            elif isinstance(value, list):
                statements = value and isinstance(value[0], ast.stmt)
                found.append(self.block(value) if statements else tuple(map(self.expr, value)))
            else:
                found.append(_SYMBOLS.get(type(value), value))
        return make(self.at(node), *found)

    def block(self, body: Sequence[ast.stmt]) -> s.Block:
        raise NotImplementedError

    def name(self, node: ast.Name) -> s.Expr:
        return s.Name(self.at(node), node.id)

    def attribute(self, node: ast.Attribute) -> s.Expr:
        return s.Attribute(self.at(node), self.expr(node.value), node.attr)

    def joined(self, node: ast.JoinedStr) -> s.Expr:
        return s.Joined(self.at(node), tuple(self.part(value) for value in node.values))

    def part(self, node: ast.expr) -> str | s.Field:
        if not isinstance(node, ast.FormattedValue):
            return str(getattr(node, "value", ""))
        conversion = chr(node.conversion) if node.conversion > 0 else ""
        return s.Field(self.at(node), self.expr(node.value), conversion, self.maybe(node.format_spec))

    def constant(self, node: ast.Constant) -> s.Expr:
        if isinstance(node.value, complex):
            return s.Other(self.at(node), (), "complex number")
        return s.Literal(self.at(node), node.value)

    def call(self, node: ast.Call) -> s.Expr:
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        given.sort(key=lambda a: (a.lineno, a.col_offset))
        return s.Call(self.at(node), self.expr(node.func), tuple(self.argument(a) for a in given))

    def argument(self, node: ast.expr | ast.keyword) -> s.Argument:
        if isinstance(node, ast.keyword):
            return s.Argument(self.at(node), node.arg or "", "" if node.arg else "**", self.expr(node.value))
        if isinstance(node, ast.Starred):
            return s.Argument(self.at(node), "", "*", self.expr(node.value))
        value = self.expr(node)
        return s.Argument(value.span if isinstance(node, ast.GeneratorExp) else self.at(node), "", "", value)

    def compare(self, node: ast.Compare) -> s.Expr:
        pairs = zip(node.ops, node.comparators, strict=True)
        rights = tuple((_SYMBOLS[type(op)], self.expr(right)) for op, right in pairs)
        return s.Compare(self.at(node), self.expr(node.left), rights)

    def inner(self, node: ast.expr) -> Span:
        """Return the span without the parentheses of a tuple or generator."""
        start, end = (at - self.offset for at in self.at(node))
        text = self.text[start + 1 : end - 1]
        start += 1 + len(text) - len(text.lstrip())
        return Span(start + self.offset, start + len(text.strip()) + self.offset)

    def subscript(self, node: ast.Subscript) -> s.Expr:
        index = node.slice
        bare = index if isinstance(index, ast.Tuple) and not self.in_parentheses(index) else None
        items = tuple(self.element(e) for e in (bare.elts if bare else [index]))
        return s.Subscript(self.at(node), self.expr(node.value), items, bare is not None)

    def in_parentheses(self, node: ast.Tuple) -> bool:
        start, end = (at - self.offset for at in self.at(node))
        first = self.at(node.elts[0]).start - self.offset if node.elts else end
        return self.text[start] == "(" and self.text[end - 1] == ")" and first > start

    def element(self, node: ast.expr) -> s.Expr:
        if isinstance(node, ast.Slice):
            return s.Slice(self.at(node), *map(self.maybe, (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Starred):
            value = self.expr(node.value)
            return s.Starred(value.span, value)
        return self.expr(node)

    def sequence(self, node: ast.Tuple | ast.List | ast.Set) -> s.Expr:
        items = tuple(self.item(e) for e in node.elts)
        bare = isinstance(node, ast.Tuple) and self.in_parentheses(node)
        return s.Sequence(self.inner(node) if bare else self.at(node), type(node).__name__.lower(), items)

    def item(self, node: ast.expr) -> s.Expr:
        return s.Starred(self.at(node), self.expr(node.value)) if isinstance(node, ast.Starred) else self.expr(node)

    def mapping(self, node: ast.Dict) -> s.Expr:
        items = zip(node.keys, node.values, strict=True)
        return s.Mapping(self.at(node), tuple((self.maybe(key), self.expr(value)) for key, value in items))

    def comprehension(self, node: Any) -> s.Expr:
        kind = {"ListComp": "list", "SetComp": "set", "DictComp": "dict"}.get(type(node).__name__, "generator")
        span = self.inner(node) if kind == "generator" else self.at(node)
        elements = (node.key, node.value) if kind == "dict" else (node.elt,)
        if any(c.is_async for c in node.generators):
            kind = "async"
        clauses = tuple(self.clause(c) for c in node.generators)
        return s.Comprehension(span, kind, tuple(map(self.expr, elements)), clauses)

    def clause(self, node: ast.comprehension) -> s.Clause:
        target, iterable = self.expr(node.target), self.expr(node.iter)
        conditions = tuple(self.expr(test) for test in node.ifs)
        return s.Clause(Span(target.span.start, iterable.span.end), target, iterable, conditions)

    def lambda_(self, node: ast.Lambda) -> s.Expr:
        return s.Lambda(self.at(node), self.params(node.args), self.expr(node.body))

    def params(self, node: ast.arguments) -> tuple[s.Parameter, ...]:
        plain = [*node.posonlyargs, *node.args]
        defaults = [*[None] * (len(plain) - len(node.defaults)), *node.defaults]
        found = [self.param(p, default) for p, default in zip(plain, defaults, strict=True)]
        placed = len(node.posonlyargs)
        found[:placed] = [replace(p, places=True) for p in found[:placed]]
        if node.vararg is not None:
            found.append(self.param(node.vararg, None, "*"))
        found += [self.param(p, d, keyword=True) for p, d in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        if node.kwarg is not None:
            found.append(self.param(node.kwarg, None, "**"))
        return tuple(found)

    def param(self, node: ast.arg, default: ast.expr | None, star: str = "", *, keyword: bool = False) -> s.Parameter:
        start = self.at(node).start
        last = start + len(node.arg)
        if star and self.text:
            start = self.offset + self.text.rindex(star, 0, start - self.offset)
        return s.Parameter(Span(start, last), node.arg, star, keyword, self.maybe(node.annotation), self.maybe(default))


def _nearest_expressions(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Slice) or not isinstance(child, ast.expr):
            yield from _nearest_expressions(child)
        else:
            yield child


_SYMBOLS: dict[type[Any], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.USub: "-", ast.UAdd: "+", ast.Not: "not", ast.Invert: "~", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
# Nodes of `ast`: the node in `syntax`, and the fields of `ast` that its fields are converted from.
PLAIN: dict[type[ast.AST], tuple[Any, ...]] = {
    ast.UnaryOp: (s.Unary, "op", "operand"),
    ast.BinOp: (s.Binary, "op", "left", "right"), ast.IfExp: (s.IfExpr, "test", "body", "orelse"),
    ast.NamedExpr: (s.Walrus, "target", "value"), ast.BoolOp: (s.Logic, "op", "values"),
    ast.Expr: (s.Evaluate, "value"), ast.Return: (s.Return, "value"),
    ast.Assign: (s.Assign, "targets", "value"), ast.AugAssign: (s.Augment, "target", "op", "value"),
    ast.Raise: (s.Raise, "exc"), ast.If: (s.If, "test", "body", "orelse"),
    ast.For: (s.Loop, "target", "iter", "body", "orelse"), ast.AsyncFor: (s.Loop, "target", "iter", "body", "orelse"),
    ast.While: (s.Loop, "target", "test", "body", "orelse"),
}  # fmt: skip
_E = Expressions
_EXPR: dict[type[ast.AST], Callable[[Expressions, Any], s.Expr]] = {
    ast.Name: _E.name, ast.Attribute: _E.attribute,
    ast.Constant: _E.constant, ast.Call: _E.call, ast.Compare: _E.compare,
    ast.Subscript: _E.subscript, ast.Tuple: _E.sequence, ast.List: _E.sequence, ast.Set: _E.sequence,
    ast.Dict: _E.mapping, ast.Lambda: _E.lambda_, ast.JoinedStr: _E.joined, ast.ListComp: _E.comprehension,
    ast.SetComp: _E.comprehension, ast.GeneratorExp: _E.comprehension, ast.DictComp: _E.comprehension,
    **{kind: _E.plain for kind in PLAIN if issubclass(kind, ast.expr)},
}  # fmt: skip
