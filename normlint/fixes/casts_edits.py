"""Putting a cast behind an expression, taking one away, and where names are bound."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from normlint.fixes.tree import ATOM, Function, Tree, binding, is_module
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

Scope = Function | ast.Lambda


def behind(tree: Tree, node: ast.expr, suffix: str) -> tuple[Edit, ...]:
    """The suffix behind the node, in parentheses where it would bind to a part of it."""
    start, end = tree.with_parentheses(node)
    if (binding(node) >= ATOM and not isinstance(node, ast.Tuple)) or Span(start, end) != tree.span(node):
        return (Edit(Span(end, end), suffix),)
    return Edit(Span(start, start), "("), Edit(Span(end, end), f"){suffix}")


def scope(tree: Tree, node: ast.AST) -> Scope | None:
    """The function or lambda whose names the node sees first."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return next((n for n in tree.above(node) if isinstance(n, kinds)), None)


def own_nodes(function: Scope) -> Iterator[ast.AST]:
    """The nodes of the function's body, without those of functions in it."""
    waiting: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def stores(tree: Tree, function: Scope) -> dict[str, list[int]]:
    """Where each name is bound in the function; in place is not anew."""
    return tree.once((stores, function), lambda: _stores(tree, function))


def _stores(tree: Tree, function: Scope) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for node in own_nodes(function):
        if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Load):
            continue
        if not isinstance(tree.parent(node), ast.AugAssign):
            found.setdefault(node.id, []).append(tree.span(node).start)
    return {name: sorted(places) for name, places in found.items()}


def starts_its_line(tree: Tree, stmt: ast.stmt) -> bool:
    """Nothing but white space stands in front of the statement."""
    start = tree.span(stmt).start
    return not tree.text[tree.text.rfind("\n", 0, start) + 1 : start].strip(" \t\f")


def lines_above(tree: Tree, stmt: ast.stmt, *lines: str) -> Edit:
    """New lines in front of a statement that starts its line, and of the comments directly above it."""
    start = tree.text.rfind("\n", 0, tree.span(stmt).start) + 1
    indent = tree.indent(stmt)
    while start:
        above = tree.text.rfind("\n", 0, start - 1) + 1
        if not tree.text[above:start].startswith(f"{indent}#"):
            break
        start = above
    return Edit(Span(start, start), "".join(f"{indent}{line}{tree.newline}" for line in lines))


# --- operands --------------------------------------------------------------------------------------------------------


def receiver(tree: Tree, call: ast.Call) -> ast.expr | None:
    """The tensor a method is called on; None for a function."""
    if isinstance(call.func, ast.Attribute) and not is_module(tree, call.func.value):
        return call.func.value
    return None


def first_operand(tree: Tree, call: ast.Call) -> ast.expr | None:
    """The tensor that an operation is about: `x` in `x.pow(2)` and in `torch.pow(x, 2)`."""
    found = receiver(tree, call)
    if found is not None:
        return found
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return next((k.value for k in call.keywords if k.arg == "input"), None)


def asks(call: ast.Call) -> bool:
    """A cast, for which an argument's dtype counts."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("type_as", "to", "type")


@dataclass(frozen=True, slots=True)
class Square:
    """A square and what is squared; `twice`: written as a product of two equal names."""

    node: ast.expr
    operand: ast.expr
    twice: bool = False


def square(tree: Tree, span: Span) -> Square | None:
    """The square that stands at the span."""
    node = tree.at(span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        same = isinstance(node.left, ast.Name) and ast.dump(node.left) == ast.dump(node.right)
        return Square(node, node.left, same)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return Square(node, node.left)
    operand = first_operand(tree, node) if isinstance(node, ast.Call) else None
    return Square(node, operand) if node is not None and operand is not None else None


# --- taking away -----------------------------------------------------------------------------------------------------


def without_cast(tree: Tree, call: ast.expr | None) -> tuple[Edit, ...] | None:
    """The edits that take a cast away, with its statement where that does nothing else; None: they aren't clear."""
    if not isinstance(call, ast.Call):
        return None
    operand = receiver(tree, call)
    if operand is None:
        return None
    stmt = tree.statement(call)
    if isinstance(stmt, ast.Assign) and stmt.value is call and ast.unparse(stmt.targets[-1]) == ast.unparse(operand):
        return without_statement(tree, stmt) if len(stmt.targets) == 1 else None
    whole, wide, bare = tree.span(call), tree.with_parentheses(operand), tree.span(operand)
    if (
        wide != bare
        and (binding(operand) >= ATOM or _free(tree, call))
        and "\n" not in tree.text[wide.start : wide.end]
    ):
        return Edit(Span(whole.start, bare.start), ""), Edit(Span(bare.end, whole.end), "")
    return (Edit(Span(wide.end, whole.end), ""),)


def _free(tree: Tree, node: ast.expr) -> bool:
    """Nothing binds the node to what stands beside it."""
    holder = tree.parent(node)
    if isinstance(holder, ast.Call):
        return node is not holder.func
    return isinstance(holder, ast.stmt | ast.keyword) or tree.with_parentheses(node) != tree.span(node)


def without_statement(tree: Tree, stmt: ast.stmt) -> tuple[Edit, ...] | None:
    """The lines of a statement that has them to itself, taken away."""
    if len(tree.body_of(stmt)) == 1 or not starts_its_line(tree, stmt):
        return None
    span = tree.span(stmt)
    start = tree.text.rfind("\n", 0, span.start) + 1
    end = tree.text.find("\n", span.end)
    end = len(tree.text) if end < 0 else end + 1
    rest = tree.text[span.end : end].strip()
    if rest and not rest.startswith("#"):
        return None
    return (Edit(Span(start, end), ""),)


def without_keyword(tree: Tree, call: ast.Call, name: str) -> tuple[Edit, ...] | None:
    """A keyword taken out of a call, with its comma."""
    found = next((k for k in call.keywords if k.arg == name), None)
    if found is None:
        return None
    others = sorted((*call.args, *(k for k in call.keywords if k is not found)), key=lambda n: tree.span(n).start)
    here = tree.span(found)
    before = [n for n in others if tree.span(n).start < here.start]
    if before:
        last = before[-1]
        value = last.value if isinstance(last, ast.keyword) else last
        return (Edit(Span(tree.with_parentheses(value).end, tree.with_parentheses(found.value).end), ""),)
    end = tree.span(others[0]).start if others else tree.with_parentheses(found.value).end
    return (Edit(Span(here.start, end), ""),)
