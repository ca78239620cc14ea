"""libcst to our own tree: the one place that knows libcst.

Positions come from libcst's own code generation, counted in characters: one pass, no metadata wrapper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import libcst as cst

from normlint.evaluate import syntax as s
from normlint.evaluate.offsets import Offsets
from normlint.text.finding import Span


def lower(text: str, offset: int = 0) -> s.Block:
    """The statements of `text`, with spans that count from `-offset`. Raises SyntaxError."""
    try:
        module = cst.parse_module(text)
        state = Offsets(module.default_indent, module.default_newline, at=offset)
        module._codegen(state)  # noqa: SLF001  (what libcst's own position provider calls)
        return _Lowering(state.spans).block(module.body)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise SyntaxError(str(error)) from error


class _Lowering:
    """One method a family of libcst nodes; `_EXPR` and `_STMT` below say which."""

    def __init__(self, spans: dict[int, Span]) -> None:
        self.spans = spans

    def at(self, node: cst.CSTNode) -> Span:
        return self.spans[id(node)]

    # --- statements

    def block(self, body: Sequence[cst.CSTNode]) -> s.Block:
        return tuple(stmt for node in body for stmt in self.statement(node))

    def suite(self, node: cst.BaseSuite) -> s.Block:
        return self.block(node.body)

    def statement(self, node: cst.CSTNode) -> Iterator[s.Stmt]:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                yield from self.statement(small)
            return
        make = _STMT.get(type(node))
        if make is not None:
            yield make(self, node)

    def assign(self, node: cst.Assign) -> s.Stmt:
        return s.Assign(self.at(node), tuple(self.expr(t.target) for t in node.targets), self.expr(node.value))

    def ann_assign(self, node: cst.AnnAssign) -> s.Stmt:
        if node.value is None:
            return s.Evaluate(self.at(node), s.Other(self.at(node), ()))
        return s.Assign(self.at(node), (self.expr(node.target),), self.expr(node.value))

    def aug_assign(self, node: cst.AugAssign) -> s.Stmt:
        op = _OPERATORS.get(type(node.operator).__name__.removesuffix("Assign"), "?")
        return s.Augment(self.at(node), self.expr(node.target), op, self.expr(node.value))

    def evaluate(self, node: cst.Expr | cst.Del) -> s.Stmt:
        value = {cst.Expr: "value", cst.Del: "target"}[type(node)]
        return s.Evaluate(self.at(node), self.expr(getattr(node, value)))

    def asserts(self, node: cst.Assert) -> s.Stmt:
        """`if test: pass, else: raise`."""
        return s.If(self.at(node), self.expr(node.test), (), (s.Raise(self.at(node), self.maybe(node.msg)),))

    def returns(self, node: cst.Return) -> s.Stmt:
        return s.Return(self.at(node), self.maybe(node.value))

    def raises(self, node: cst.Raise) -> s.Stmt:
        return s.Raise(self.at(node), self.maybe(node.exc))

    def jump(self, node: cst.CSTNode) -> s.Stmt:
        return s.Jump(self.at(node))

    def declare(self, node: cst.Global | cst.Nonlocal) -> s.Stmt:
        return s.Declare(self.at(node), type(node).__name__.lower(), tuple(n.name.value for n in node.names))

    def if_(self, node: cst.If) -> s.Stmt:
        return s.If(self.at(node), self.expr(node.test), self.suite(node.body), self.orelse(node.orelse))

    def orelse(self, node: cst.If | cst.Else | None) -> s.Block:
        if node is None:
            return ()
        return (self.if_(node),) if isinstance(node, cst.If) else self.suite(node.body)

    def for_(self, node: cst.For) -> s.Stmt:
        head = self.expr(node.target), self.expr(node.iter)
        return s.Loop(self.at(node), *head, self.suite(node.body), self.orelse(node.orelse))

    def while_(self, node: cst.While) -> s.Stmt:
        return s.Loop(self.at(node), None, self.expr(node.test), self.suite(node.body), self.orelse(node.orelse))

    def with_(self, node: cst.With) -> s.Stmt:
        items = tuple((self.expr(i.item), self.expr(i.asname.name) if i.asname else None) for i in node.items)
        return s.With(self.at(node), items, self.suite(node.body))

    def try_(self, node: cst.Try | cst.TryStar) -> s.Stmt:
        final = self.suite(node.finalbody.body) if node.finalbody else ()
        handlers = tuple(self.suite(h.body) for h in node.handlers)
        return s.Try(self.at(node), self.suite(node.body), handlers, self.orelse(node.orelse), final)

    def match(self, node: cst.Match) -> s.Stmt:
        cases = tuple((tuple(_captures(c.pattern)), self.suite(c.body)) for c in node.cases)
        return s.Match(self.at(node), self.expr(node.subject), cases)

    def function(self, node: cst.FunctionDef) -> s.Stmt:
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        body = self.suite(node.body)
        return s.Function(
            self.at(node), node.name.value, self.params(node.params), body, decorators, self.at(node.name)
        )

    def class_(self, node: cst.ClassDef) -> s.Stmt:
        bases = tuple(self.expr(a.value) for a in node.bases)
        return s.Class(self.at(node), node.name.value, bases, self.suite(node.body), self.at(node.name))

    def import_(self, node: cst.Import) -> s.Stmt:
        return s.Import(self.at(node), tuple(_plain_import(a) for a in node.names))

    def import_from(self, node: cst.ImportFrom) -> s.Stmt:
        if isinstance(node.names, cst.ImportStar):
            return s.Import(self.at(node), ())
        prefix = "." * len(node.relative) + (_dotted(node.module) + "." if node.module else "")
        names = ((_alias(a) or _dotted(a.name), prefix + _dotted(a.name)) for a in node.names)
        return s.Import(self.at(node), tuple(names))

    # --- expressions

    def maybe(self, node: cst.BaseExpression | None) -> s.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: cst.CSTNode) -> s.Expr:
        make = _EXPR.get(type(node))
        if make is not None:
            return make(self, node)
        return s.Other(self.at(node), tuple(self.expr(c) for c in _nearest_expressions(node)))

    def name(self, node: cst.Name) -> s.Expr:
        constants = {"None": None, "True": True, "False": False}
        if node.value in constants:
            return s.Literal(self.at(node), constants[node.value])
        return s.Name(self.at(node), node.value)

    def literal(self, node: cst.BaseNumber | cst.SimpleString | cst.ConcatenatedString) -> s.Expr:
        try:
            value = node.evaluated_value  # type: ignore[union-attr]
            return s.Other(self.at(node), ()) if value is None else s.Literal(self.at(node), value)
        except (ValueError, SyntaxError):
            return s.Other(self.at(node), ())

    def ellipsis(self, node: cst.Ellipsis) -> s.Expr:
        return s.Literal(self.at(node), ...)

    def attribute(self, node: cst.Attribute) -> s.Expr:
        return s.Attribute(self.at(node), self.expr(node.value), node.attr.value)

    def call(self, node: cst.Call) -> s.Expr:
        args = tuple(
            s.Argument(self.at(a), a.keyword.value if a.keyword else "", a.star, self.expr(a.value)) for a in node.args
        )
        return s.Call(self.at(node), self.expr(node.func), args)

    def binary(self, node: cst.BinaryOperation) -> s.Expr:
        op = _OPERATORS.get(type(node.operator).__name__, "?")
        return s.Binary(self.at(node), op, self.expr(node.left), self.expr(node.right))

    def unary(self, node: cst.UnaryOperation) -> s.Expr:
        op = {cst.Minus: "-", cst.Plus: "+", cst.Not: "not"}.get(type(node.operator), "~")
        return s.Unary(self.at(node), op, self.expr(node.expression))

    def compare(self, node: cst.Comparison) -> s.Expr:
        rights = tuple(
            (_COMPARE.get(type(c.operator).__name__, "?"), self.expr(c.comparator)) for c in node.comparisons
        )
        return s.Compare(self.at(node), self.expr(node.left), rights)

    def logic(self, node: cst.BooleanOperation) -> s.Expr:
        op = "and" if isinstance(node.operator, cst.And) else "or"
        return s.Logic(self.at(node), op, self.expr(node.left), self.expr(node.right))

    def if_expr(self, node: cst.IfExp) -> s.Expr:
        return s.IfExpr(self.at(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def subscript(self, node: cst.Subscript) -> s.Expr:
        return s.Subscript(self.at(node), self.expr(node.value), tuple(self.element(e.slice) for e in node.slice))

    def element(self, node: cst.BaseSlice) -> s.Expr:
        if isinstance(node, cst.Slice):
            return s.Slice(self.at(node), self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))
        assert isinstance(node, cst.Index)
        value = self.expr(node.value)
        return s.Starred(value.span, value) if node.star else value

    def sequence(self, node: cst.Tuple | cst.List | cst.Set) -> s.Expr:
        def item(e: cst.BaseElement) -> s.Expr:
            value = self.expr(e.value)
            return s.Starred(self.at(e), value) if isinstance(e, cst.StarredElement) else value

        return s.Sequence(self.at(node), type(node).__name__.lower(), tuple(item(e) for e in node.elements))

    def mapping(self, node: cst.Dict) -> s.Expr:
        def item(e: cst.BaseDictElement) -> tuple[s.Expr | None, s.Expr]:
            return (self.expr(e.key) if isinstance(e, cst.DictElement) else None, self.expr(e.value))

        return s.Mapping(self.at(node), tuple(item(e) for e in node.elements))

    def walrus(self, node: cst.NamedExpr) -> s.Expr:
        target = self.expr(node.target)
        assert isinstance(target, s.Name)
        return s.Walrus(self.at(node), target, self.expr(node.value))

    def comprehension(self, node: cst.BaseSimpleComp) -> s.Expr:
        inner = node.for_in
        if inner.inner_for_in is not None:
            return s.Other(self.at(node), ())
        element = self.expr(getattr(node, "elt"))  # noqa: B009  (only GeneratorExp, ListComp and SetComp come here)
        return s.Comprehension(self.at(node), element, self.expr(inner.target), self.expr(inner.iter))

    def lambda_(self, node: cst.Lambda) -> s.Expr:
        return s.Lambda(self.at(node), self.params(node.params), self.expr(node.body))

    def params(self, node: cst.Parameters) -> tuple[s.Parameter, ...]:
        def one(p: cst.Param, star: str = "", *, keyword: bool = False, places: bool = False) -> s.Parameter:
            note = self.maybe(p.annotation.annotation) if p.annotation else None
            return s.Parameter(self.at(p), p.name.value, star, keyword, note, self.maybe(p.default), places)

        found = [one(p, places=True) for p in node.posonly_params] + [one(p) for p in node.params]
        if isinstance(node.star_arg, cst.Param):
            found.append(one(node.star_arg, "*"))
        found += [one(p, keyword=True) for p in node.kwonly_params]
        if node.star_kwarg is not None:
            found.append(one(node.star_kwarg, "**"))
        return tuple(found)


def _nearest_expressions(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        if isinstance(child, cst.BaseExpression):
            yield child
        else:
            yield from _nearest_expressions(child)


def _captures(pattern: cst.CSTNode) -> Iterator[str]:
    if isinstance(pattern, cst.MatchAs | cst.MatchStar) and pattern.name is not None:
        yield pattern.name.value
    for child in pattern.children:
        yield from _captures(child)


def _dotted(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _alias(node: cst.ImportAlias) -> str:
    return _dotted(node.asname.name) if node.asname else ""


def _plain_import(node: cst.ImportAlias) -> tuple[str, str]:
    """`import a.b` binds a; `import a.b as c` binds c to a.b."""
    path, alias = _dotted(node.name), _alias(node)
    return (alias, path) if alias else (path.partition(".")[0], path.partition(".")[0])


_OPERATORS = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "FloorDivide": "//", "Modulo": "%", "Power": "**",
    "MatrixMultiply": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LeftShift": "<<", "RightShift": ">>",
}  # fmt: skip
_COMPARE = {
    "Equal": "==", "NotEqual": "!=", "LessThan": "<", "LessThanEqual": "<=", "GreaterThan": ">",
    "GreaterThanEqual": ">=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip
_L = _Lowering
_STMT: dict[type[cst.CSTNode], Callable[[_Lowering, Any], s.Stmt]] = {
    cst.Assign: _L.assign, cst.AnnAssign: _L.ann_assign, cst.AugAssign: _L.aug_assign, cst.Expr: _L.evaluate,
    cst.Assert: _L.asserts, cst.Del: _L.evaluate, cst.Return: _L.returns, cst.Raise: _L.raises, cst.Break: _L.jump,
    cst.Global: _L.declare, cst.Nonlocal: _L.declare,
    cst.Continue: _L.jump, cst.If: _L.if_, cst.For: _L.for_, cst.While: _L.while_, cst.With: _L.with_,
    cst.Try: _L.try_, cst.TryStar: _L.try_, cst.Match: _L.match, cst.FunctionDef: _L.function,
    cst.ClassDef: _L.class_, cst.Import: _L.import_, cst.ImportFrom: _L.import_from,
}  # fmt: skip
_EXPR: dict[type[cst.CSTNode], Callable[[_Lowering, Any], s.Expr]] = {
    cst.Name: _L.name, cst.Integer: _L.literal, cst.Float: _L.literal, cst.SimpleString: _L.literal,
    cst.ConcatenatedString: _L.literal, cst.Ellipsis: _L.ellipsis, cst.Attribute: _L.attribute, cst.Call: _L.call,
    cst.BinaryOperation: _L.binary, cst.UnaryOperation: _L.unary, cst.Comparison: _L.compare,
    cst.BooleanOperation: _L.logic, cst.IfExp: _L.if_expr, cst.Subscript: _L.subscript, cst.Tuple: _L.sequence,
    cst.List: _L.sequence, cst.Set: _L.sequence, cst.Dict: _L.mapping, cst.NamedExpr: _L.walrus,
    cst.ListComp: _L.comprehension, cst.SetComp: _L.comprehension, cst.GeneratorExp: _L.comprehension,
    cst.Lambda: _L.lambda_,
}  # fmt: skip
