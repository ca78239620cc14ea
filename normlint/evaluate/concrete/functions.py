"""Create and call interpreted functions, and find the names that code binds."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from normlint.evaluate import syntax as s
from normlint.evaluate.binding import Args, fit
from normlint.evaluate.concrete import expressions, statements
from normlint.evaluate.concrete.values import FUNCTION, Function, Scope, Unsupported
from normlint.evaluate.walk import walk


def make(scope: Scope, node: s.Function | s.Lambda) -> Function:
    """Return the function of a `def` or lambda with its defaults evaluated, without its decorators."""
    if isinstance(node, s.Function) and node.odd:
        raise Unsupported(node.odd)
    defaults = {p.name: expressions.evaluate(scope, p.default) for p in node.params if p.default is not None}
    name = node.name if isinstance(node, s.Function) else "<lambda>"
    return Function(node, scope.seen, scope.cell, name, defaults)


def run(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function and return its result."""
    scope = enter(function, args, kwargs)
    with ExitStack() as stack:
        stack.enter_context(scope.program.budget.deeper())
        for manager in function.managers:
            stack.enter_context(manager())
        node = function.node
        if isinstance(node, s.Lambda):
            return expressions.evaluate(scope, node.body)
        outcome = statements.execute(scope, node.body)
        return outcome.value if isinstance(outcome, statements.Returned) else None


def enter(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Scope:
    """Return the scope of a call, with the parameters bound."""
    outer = function.scope
    local, declared = names_of(function)
    first = function.node.params[0].name if function.node.params else ""
    names = bind(function, args, kwargs)
    return Scope(outer.program, FUNCTION, names, outer, function.cell, local, declared, first)


# --- parameters ------------------------------------------------------------------------------------------------------


def bind(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the parameters by name; raise TypeError if the arguments don't fit."""
    found = fit(function.node.params, Args(args, kwargs))
    if not found.accepted:
        names = ", ".join((*found.unexpected, *found.twice, *found.missing)) or f"{found.surplus} too many"
        raise TypeError(f"{function.name}() doesn't fit its arguments: {names}")
    bound = {**function.defaults, **found.values}
    for param in function.node.params:
        if param.star:
            bound[param.name] = found.star if param.star == "*" else dict(found.extra)
    return bound


def signature(function: Function) -> inspect.Signature:
    """Return the signature for `inspect.signature`, in which annotations are strings."""
    source, none, params = function.scope.program.module.source, inspect.Parameter.empty, function.node.params
    notes = [source(p.annotation.span) if p.annotation else none for p in params]
    defaults = [function.defaults.get(p.name, none) for p in params]
    rows = zip(params, defaults, notes, strict=True)
    return inspect.Signature([inspect.Parameter(p.name, _kind(p), default=d, annotation=n) for p, d, n in rows])


def _kind(param: s.Parameter) -> Any:
    if param.star:
        return inspect.Parameter.VAR_POSITIONAL if param.star == "*" else inspect.Parameter.VAR_KEYWORD
    if param.keyword:
        return inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter.POSITIONAL_ONLY if param.places else inspect.Parameter.POSITIONAL_OR_KEYWORD


# --- names -----------------------------------------------------------------------------------------------------------


def names_of(function: Function) -> tuple[frozenset[str], dict[str, str]]:
    """Return the function's local names, and a mapping of those it declares to "global" or "nonlocal"."""
    kept = function.scope.program.locals
    node = function.node
    if node.span not in kept:
        own = list(walk(node.body, own=True))
        declared = {name: d.word for d in own if isinstance(d, s.Declare) for name in d.names}
        bound = {p.name for p in node.params} | {name for n in own for name in bound_by(n)}
        kept[node.span] = frozenset(bound - declared.keys()), declared
    return kept[node.span]


def bound_names(block: s.Block) -> set[str]:
    """Return the names that statements bind in their own scope."""
    return {name for node in walk(block, own=True) for name in bound_by(node)}


def bound_by(node: s.Node) -> Iterator[str]:
    """Yield the names that a node itself binds in its scope, without those that nodes in it bind."""
    match node:
        case s.Assign(targets=targets):
            for target in targets:
                yield from _targets(target)
        case s.Augment(target=aim) | s.Loop(target=aim):
            yield from _targets(aim)
        case s.Evaluate(word="del", value=value):
            yield from _targets(value)
        case s.Evaluate(word="annotation", target=s.Name(id=name)) | s.Walrus(target=s.Name(id=name)):
            yield name
        case s.With(items=items):
            for _, named in items:
                yield from _targets(named)
        case s.Handler(name=name) if name:
            yield name
        case s.Match(cases=cases):
            yield from (name for pattern, _, _ in cases for name in pattern.names)
        case s.Import(bindings=bindings):
            yield from (name for name, _ in bindings)
        case s.Function(name=name) | s.Class(name=name):
            yield name


def _targets(target: s.Expr | None) -> Iterator[str]:
    match target:
        case s.Name(id=name):
            yield name
        case s.Sequence(items=items):
            for item in items:
                yield from _targets(item)
        case s.Starred(value=value):
            yield from _targets(value)


# --- super -----------------------------------------------------------------------------------------------------------


def above(scope: Scope) -> Any:
    """Return `super()` for this scope; raise `Unsupported` outside a method."""
    if scope.kind != FUNCTION or scope.cell is None or not scope.first:
        raise Unsupported(f"super() in a {scope.kind}" if scope.kind != FUNCTION else "super() outside a method")
    if not scope.cell:
        raise Unsupported("super() before the class is made")
    return super(scope.cell[0], scope.names[scope.first])
