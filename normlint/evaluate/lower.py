"""Convert statements from Python's `ast` to the tree of `syntax`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from normlint.evaluate import syntax as s
from normlint.evaluate.lower_expressions import MOST_NESTED, PLAIN, Expressions
from normlint.text.finding import Span


def lower(text: str, offset: int = 0, *, later: bool = False, deep: list[Span] | None = None) -> s.Block:
    """Return the statements of `text`, which begins at `offset` of the whole text; raise SyntaxError.

    With `later`, bodies of functions are converted when they are first read. The spans of code that is nested too
    deeply, and opaque in the tree, are appended to `deep`.
    """
    deep = [] if deep is None else deep
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as those for invalid escapes
            module = ast.parse(text)
        return Lowering(text, offset, deep, later=later).block(module.body)
    except (RecursionError, MemoryError):
        deep.append(Span(offset, offset + len(text)))
        return ()
    except ValueError as error:  # NUL, or half a surrogate pair
        raise SyntaxError(str(error)) from error


_NAME = re.compile(r"(?:def|class)[ \t\f\\\r\n]+([^\s(:\[\\#]+)")


class Lowering(Expressions):
    """The conversion of statements; `_STMT` maps each kind to its method."""

    def __init__(self, text: str, offset: int, deep: list[Span], *, later: bool = False) -> None:
        super().__init__(text, offset, deep)
        self.later = later

    def block(self, body: Sequence[ast.stmt]) -> s.Block:
        return tuple(self.statement(node) for node in body if type(node) in _STMT)

    def statement(self, node: ast.stmt) -> s.Stmt:
        self.depth += 1
        if self.depth > MOST_NESTED:
            found: s.Stmt = s.Evaluate(self.at(node), self.left_out(node))
        else:
            found = _STMT[type(node)](self, node)
        self.depth -= 1
        return found

    def ann_assign(self, node: ast.AnnAssign) -> s.Stmt:
        target = self.expr(node.target)
        if node.value is None:
            return s.Evaluate(self.at(node), s.Other(self.at(node), ()), "annotation", target)
        return s.Assign(self.at(node), (target,), self.expr(node.value), self.expr(node.annotation))

    def delete(self, node: ast.Delete) -> s.Stmt:
        value = self.expr(node.targets[0])
        if len(node.targets) > 1:
            items = tuple(self.expr(t) for t in node.targets)
            value = s.Sequence(Span(items[0].span.start, items[-1].span.end), "tuple", items)
        return s.Evaluate(self.at(node), value, "del")

    def asserts(self, node: ast.Assert) -> s.Stmt:
        """Convert an assert to `if test: pass` with a raise in `else`."""
        return s.If(self.at(node), self.expr(node.test), (), (s.Raise(self.at(node), self.maybe(node.msg), True),))

    def expression(self, node: ast.Expr) -> s.Stmt:
        """Convert an expression statement; `torch._assert(test, message)` and `torch._check` are asserts."""
        call = node.value
        func = call.func if isinstance(call, ast.Call) and call.args else None
        own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "torch"
        if isinstance(call, ast.Call) and own and func.attr in _CHECKS:  # type: ignore[union-attr]
            return s.If(self.at(node), self.expr(call.args[0]), (), (s.Raise(self.at(node), None, True),))
        return s.Evaluate(self.at(node), self.expr(call))

    def jump(self, node: ast.stmt) -> s.Stmt:
        return s.Jump(self.at(node), type(node).__name__.lower())

    def declare(self, node: ast.Global | ast.Nonlocal) -> s.Stmt:
        return s.Declare(self.at(node), type(node).__name__.lower(), tuple(node.names))

    def with_(self, node: ast.With) -> s.Stmt:
        items = tuple((self.expr(i.context_expr), self.maybe(i.optional_vars)) for i in node.items)
        return s.With(self.at(node), items, self.block(node.body))

    def try_(self, node: ast.Try) -> s.Stmt:
        handlers = tuple(
            s.Handler(self.at(h), self.maybe(h.type), h.name or "", self.block(h.body)) for h in node.handlers
        )
        blocks = self.block(node.body), handlers, self.block(node.orelse), self.block(node.finalbody)
        return s.Try(self.at(node), *blocks, not isinstance(node, ast.Try))

    def match(self, node: ast.Match) -> s.Stmt:
        cases = tuple((self.pattern(c.pattern), self.maybe(c.guard), self.block(c.body)) for c in node.cases)
        return s.Match(self.at(node), self.expr(node.subject), cases)

    def pattern(self, node: ast.pattern) -> s.Pattern:
        """Convert a pattern; a class pattern with arguments is of the kind "Attributes"."""
        kind, value = type(node).__name__.removeprefix("Match"), None
        match node:
            case ast.MatchValue(value=held) | ast.MatchClass(cls=held, patterns=[], kwd_patterns=[]):
                value = self.expr(held)
            case ast.MatchSingleton(value=constant):
                value = s.Literal(self.at(node), constant)
            case ast.MatchClass():
                kind = "Attributes"
        parts = tuple(self.pattern(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.pattern))
        return s.Pattern(self.at(node), kind, value, getattr(node, "name", None), parts)

    def function(self, node: ast.FunctionDef) -> s.Stmt:
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        params, head = self.params(node.args), self.head(node)
        body = (lambda: self.delayed_body(node)) if self.later else self.block(node.body)
        odd = "async functions" if isinstance(node, ast.AsyncFunctionDef) else _generic(node)
        return s.Function(self.at(node), node.name, params, body, decorators, head, odd)

    def delayed_body(self, node: ast.FunctionDef) -> s.Block:
        """Convert a function's body when it is first read."""
        self.depth = 0
        try:
            return self.block(node.body)
        except RecursionError:  # the caller's stack is deep
            self.deep.append(self.at(node))
            return ()

    def class_(self, node: ast.ClassDef) -> s.Stmt:
        bases = tuple(self.expr(b) for b in node.bases)
        keywords = tuple(k.arg or "**" for k in node.keywords)
        decorated = tuple(self.expr(d) for d in node.decorator_list)
        body, head = self.block(node.body), self.head(node)
        return s.Class(self.at(node), node.name, bases, body, head, keywords, decorated, _generic(node))

    def head(self, node: ast.FunctionDef | ast.ClassDef) -> Span:
        """Return the span of the name of a function or class."""
        match = _NAME.search(self.text, self.at(node).start - self.offset)
        assert match is not None
        return Span(match.start(1) + self.offset, match.end(1) + self.offset)

    def import_(self, node: ast.Import) -> s.Stmt:
        return s.Import(self.at(node), tuple(_plain_import(a) for a in node.names))

    def import_from(self, node: ast.ImportFrom) -> s.Stmt:
        prefix = "." * node.level + (f"{node.module}." if node.module else "")
        imported = (a for a in node.names if a.name != "*")
        # `from .compat import torch` imports torch itself
        paths = ((a.asname or a.name, "torch" if a.name == "torch" else prefix + a.name) for a in imported)
        return s.Import(self.at(node), tuple(paths))


def _generic(node: ast.stmt) -> str:
    return "type parameters" if getattr(node, "type_params", ()) else ""


def _plain_import(node: ast.alias) -> tuple[str, str]:
    """Return the name and path that an import binds: a for `import a.b`, and c to a.b for `import a.b as c`."""
    first = node.name.partition(".")[0]
    return (node.asname, node.name) if node.asname else (first, first)


_CHECKS: Final = ("_assert", "_check")
_L = Lowering
_STMT: dict[type[ast.stmt], Callable[[Lowering, Any], s.Stmt]] = {
    ast.AnnAssign: _L.ann_assign, ast.Assert: _L.asserts, ast.Delete: _L.delete, ast.Break: _L.jump,
    ast.Continue: _L.jump, ast.Global: _L.declare, ast.Nonlocal: _L.declare, ast.With: _L.with_,
    ast.AsyncWith: _L.with_, ast.Try: _L.try_, ast.Match: _L.match, ast.FunctionDef: _L.function,
    ast.AsyncFunctionDef: _L.function, ast.ClassDef: _L.class_, ast.Import: _L.import_, ast.ImportFrom: _L.import_from,
    **{kind: _L.plain for kind in PLAIN if issubclass(kind, ast.stmt)}, ast.Expr: _L.expression,
}  # fmt: skip
if hasattr(ast, "TryStar"):  # since Python 3.11
    _STMT[ast.TryStar] = _L.try_
