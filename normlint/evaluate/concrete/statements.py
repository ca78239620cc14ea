"""Interpret statements; running one returns how it left its block."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

from normlint.evaluate import syntax as s
from normlint.evaluate.binding import spread
from normlint.evaluate.concrete import attributes, calls, classes, expressions, functions, world
from normlint.evaluate.concrete.values import CLASS, MODULE, Scope, Space, Unknown, Unsupported, known


@dataclass(frozen=True, slots=True)
class Returned:
    value: Any


Outcome: TypeAlias = "Returned | str | None"  # a returned value, "break" or "continue", or None


def execute(scope: Scope, block: s.Block) -> Outcome:
    """Run the statements until one of them leaves the block, and return how it did."""
    for stmt in block:
        scope.program.budget.step()
        outcome = _EXECUTE[type(stmt)](scope, stmt)
        if outcome is not None:
            return outcome
    return None


# --- assignments -----------------------------------------------------------------------------------------------------


def _assign(scope: Scope, stmt: s.Assign) -> Outcome:
    value = expressions.evaluate(scope, stmt.value)
    for target in stmt.targets:
        assign(scope, target, value)
    if stmt.annotation is not None:
        _annotate(scope, stmt.targets[0], stmt.annotation)
    return None


def _annotate(scope: Scope, target: s.Expr | None, annotation: s.Expr | None) -> None:
    """Store the text of an annotation in the `__annotations__` of a class."""
    if scope.kind == CLASS and isinstance(target, s.Name):
        text = scope.program.module.source(annotation.span) if annotation is not None else ""
        scope.names.setdefault("__annotations__", {})[target.id] = text


def assign(scope: Scope, target: s.Expr, value: Any) -> None:
    """Assign a value to a target."""
    match target:
        case s.Name(id=name):
            expressions.store_name(scope, name, value)
        case s.Attribute(base=base, name=name):
            expressions.refuse_mangled(scope, name)
            if not _is_setting(scope, base, value):
                attributes.store(expressions.evaluate(scope, base), name, value)
        case s.Subscript(base=base):
            held = expressions.evaluate(scope, base)
            held[expressions.index(scope, target)] = value
        case s.Sequence(items=items):
            _unpack(scope, items, value)
        case _:
            raise Unsupported("this target of an assignment")


def _is_setting(scope: Scope, base: s.Expr, value: Any) -> bool:
    """Return whether an assignment like `torch.backends.cudnn.benchmark = True` sets an option, which is ignored."""
    root = base
    while isinstance(root, s.Attribute):
        root = root.base
    if root is base or not isinstance(root, s.Name) or not isinstance(value, bool | int | float | str | None):
        return False
    if expressions.evaluate(scope, root) != Space("torch"):
        return False
    try:
        found = expressions.evaluate(scope, base)
    except Unsupported:
        return True
    return isinstance(found, Unknown) or world.is_backend(found)


def _unpack(scope: Scope, targets: tuple[s.Expr, ...], value: Any) -> None:
    values = list(value)
    places = spread([isinstance(target, s.Starred) for target in targets], len(values))
    if places is None:
        raise ValueError(f"{len(values)} values to unpack for {len(targets)} targets")
    for target, place in zip(targets, places, strict=True):
        assign(scope, target.value if isinstance(target, s.Starred) else target, values[place])


def _augment(scope: Scope, stmt: s.Augment) -> Outcome:
    """Run an augmented assignment, which evaluates the parts of its target once."""
    match stmt.target:
        case s.Attribute(base=base_node, name=name):
            expressions.refuse_mangled(scope, name)
            base = expressions.evaluate(scope, base_node)
            attributes.store(base, name, _augmented(scope, stmt, attributes.get(base, name)))
        case s.Subscript(base=base_node) as target:
            base = expressions.evaluate(scope, base_node)
            key = expressions.index(scope, target)
            base[key] = _augmented(scope, stmt, base[key])
        case s.Name(id=name) as target:
            expressions.store_name(scope, name, _augmented(scope, stmt, expressions.evaluate(scope, target)))
        case _:
            raise Unsupported("this target of an assignment")
    return None


def _augmented(scope: Scope, stmt: s.Augment, old: Any) -> Any:
    return expressions.binary(stmt.op, old, expressions.evaluate(scope, stmt.value), in_place=True)


def _evaluate(scope: Scope, stmt: s.Evaluate) -> Outcome:
    if stmt.word == "annotation":
        _annotate(scope, stmt.target, stmt.value)
    elif stmt.word == "del":
        targets = stmt.value.items if isinstance(stmt.value, s.Sequence) else (stmt.value,)
        for target in targets:
            _delete(scope, target)
    elif not (scope.kind == MODULE and isinstance(stmt.value, s.Call) and _is_registration(scope, stmt.value.func)):
        expressions.evaluate(scope, stmt.value)
    return None


def _is_registration(scope: Scope, func: s.Expr) -> bool:
    """Return whether a called name of another package, such as `MODELS.register_module`, only registers something."""
    base = func
    while isinstance(base, s.Attribute):
        base = base.base
    return isinstance(base, s.Name) and _registers(expressions.evaluate(scope, func))


def _delete(scope: Scope, target: s.Expr) -> None:
    match target:
        case s.Name(id=name):
            names = expressions.owner_of(scope, name).names
            if name not in names:
                raise (UnboundLocalError if name in scope.local else NameError)(f"name {name!r} is not defined")
            del names[name]
        case s.Attribute(base=base, name=name):
            attributes.delete(expressions.evaluate(scope, base), name)
        case s.Subscript(base=base):
            del expressions.evaluate(scope, base)[expressions.index(scope, target)]
        case _:
            raise Unsupported("del of this")


# --- leaving ---------------------------------------------------------------------------------------------------------


def _return(scope: Scope, stmt: s.Return) -> Outcome:
    return Returned(None if stmt.value is None else expressions.evaluate(scope, stmt.value))


def _raise(scope: Scope, stmt: s.Raise) -> Outcome:
    if stmt.asserted:
        message = () if stmt.value is None else (expressions.evaluate(scope, stmt.value),)
        raise AssertionError(*message)
    if stmt.value is None:
        if scope.caught is None:
            raise RuntimeError("No active exception to reraise")
        raise scope.caught
    value = known(expressions.evaluate(scope, stmt.value))
    if isinstance(value, type) and issubclass(value, Exception):
        value = calls.call(value, (), {})
    if not isinstance(value, Exception):
        raise TypeError("exceptions must derive from BaseException")
    raise value


# --- branches and loops ----------------------------------------------------------------------------------------------


def _if(scope: Scope, stmt: s.If) -> Outcome:
    return execute(scope, stmt.body if expressions.evaluate(scope, stmt.test) else stmt.orelse)


def _loop(scope: Scope, stmt: s.Loop) -> Outcome:
    subject: Any = None if stmt.target is None else iter(expressions.evaluate(scope, stmt.subject))
    while _next_iteration(scope, stmt, subject):
        outcome = execute(scope, stmt.body)
        if outcome == "break":
            return None
        if isinstance(outcome, Returned):
            return outcome
    return execute(scope, stmt.orelse)


def _next_iteration(scope: Scope, stmt: s.Loop, subject: Any) -> bool:
    scope.program.budget.step()
    if stmt.target is None:
        return bool(expressions.evaluate(scope, stmt.subject))
    for item in subject:
        assign(scope, stmt.target, item)
        return True
    return False


def _jump(scope: Scope, stmt: s.Jump) -> Outcome:
    return stmt.word


def _with(scope: Scope, stmt: s.With) -> Outcome:
    with ExitStack() as stack:
        for node, target in stmt.items:
            manager = expressions.evaluate(scope, node)
            if not (classes.is_interpreted(type(manager)) or world.is_context(manager)):
                raise Unsupported(f"with {type(manager).__name__}")
            entered = stack.enter_context(manager)
            if target is not None:
                assign(scope, target, entered)
        return execute(scope, stmt.body)
    return None


def _try(scope: Scope, stmt: s.Try) -> Outcome:
    if stmt.groups:
        raise Unsupported("except*")
    guards = any(_catches_imports(handler.test) for handler in stmt.handlers)
    scope.program.guarded += guards
    try:
        outcome = _guarded(scope, stmt, guards)
    except Unsupported:
        raise
    except BaseException:
        last = execute(scope, stmt.final)
        if last is not None:
            return last
        raise
    return execute(scope, stmt.final) or outcome


def _guarded(scope: Scope, stmt: s.Try, guards: bool) -> Outcome:
    """Run the body of a `try`, and the handler of an exception or the `else` block."""
    try:
        try:
            outcome = execute(scope, stmt.body)
        finally:
            scope.program.guarded -= guards
    except (Unsupported, RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the handlers decide which exceptions they catch
        return _handled(scope, stmt, error)
    return execute(scope, stmt.orelse) if outcome is None else outcome


def _handled(scope: Scope, stmt: s.Try, error: Exception) -> Outcome:
    for handler in stmt.handlers:
        test, name = handler.test, handler.name
        if test is not None and not isinstance(error, _exceptions(expressions.evaluate(scope, test))):
            continue
        before, scope.caught = scope.caught, error
        if name:
            expressions.store_name(scope, name, Unknown("exception objects"))
        try:
            return execute(scope, handler.body)
        finally:
            scope.caught = before
            if name:
                expressions.owner_of(scope, name).names.pop(name, None)
    raise error


def _exceptions(value: Any) -> Any:
    for kind in value if isinstance(value, tuple) else (value,):
        if not (isinstance(known(kind), type) and issubclass(kind, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return value


def _catches_imports(test: s.Expr | None) -> bool:
    tests = test.items if isinstance(test, s.Sequence) else (test,)
    known = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
    return any(t is None or (isinstance(t, s.Name) and t.id in known) for t in tests)


# --- match -----------------------------------------------------------------------------------------------------------


def _match(scope: Scope, stmt: s.Match) -> Outcome:
    subject = expressions.evaluate(scope, stmt.subject)
    for pattern, guard, block in stmt.cases:
        bound: dict[str, Any] = {}
        if not _fits(scope, pattern, subject, bound):
            continue
        for name, value in bound.items():
            expressions.store_name(scope, name, value)
        if guard is None or expressions.evaluate(scope, guard):
            return execute(scope, block)
    return None


def _fits(scope: Scope, pattern: s.Pattern, subject: Any, bound: dict[str, Any]) -> bool:
    match pattern.kind:
        case "Value" if pattern.value is not None:
            return bool(subject == expressions.evaluate(scope, pattern.value))
        case "Singleton" if isinstance(pattern.value, s.Literal):
            return subject is pattern.value.value
        case "Class" if pattern.value is not None:
            return calls.is_instance(subject, expressions.evaluate(scope, pattern.value))
        case "Or":
            return any(_fits(scope, part, subject, bound) for part in pattern.parts)
        case "As" | "Star":
            if not all(_fits(scope, part, subject, bound) for part in pattern.parts):
                return False
            if pattern.name:
                bound[pattern.name] = subject
            return True
        case "Sequence":
            return _fits_items(scope, pattern, subject, bound)
    raise Unsupported(f"a {pattern.kind.lower()} pattern")


def _fits_items(scope: Scope, pattern: s.Pattern, subject: Any, bound: dict[str, Any]) -> bool:
    if not isinstance(subject, list | tuple | range):
        if isinstance(subject, str | bytes | int | float | dict | set | type(None)):
            return False
        raise Unsupported(f"a sequence pattern for {type(subject).__name__}")
    items = list(subject)
    places = spread([part.kind == "Star" for part in pattern.parts], len(items))
    pairs = zip(pattern.parts, places or (), strict=False)
    return places is not None and all(_fits(scope, part, items[place], bound) for part, place in pairs)


# --- definitions -----------------------------------------------------------------------------------------------------


def _define(scope: Scope, stmt: s.Function | s.Class) -> Outcome:
    decorators = [_decorator(scope, node) for node in stmt.decorators]
    made = functions.make(scope, stmt) if isinstance(stmt, s.Function) else classes.make(scope, stmt)
    expressions.store_name(scope, stmt.name, calls.decorated(made, decorators))
    return None


def _decorator(scope: Scope, node: s.Expr) -> Any:
    """Return the value of a decorator, without the options of one that doesn't change what is computed."""
    head = node.func if isinstance(node, s.Call) else node
    try:
        named = expressions.evaluate(scope, head)
    except (Unsupported, TypeError):
        if isinstance(head, s.Attribute) and head.name.startswith("register"):  # in a registry that isn't known
            return world.UNCHANGED
        raise
    if _registers(named):
        return world.UNCHANGED
    if not isinstance(node, s.Call):
        return named
    return world.UNCHANGED if world.changes_nothing(known(named)) else expressions.evaluate(scope, node)


def _registers(value: Any) -> bool:
    """Return whether a value from elsewhere is a decorator that registers what it decorates, and so returns it."""
    return isinstance(value, Unknown) and value.what.rpartition(".")[2].startswith("register")


def _import(scope: Scope, stmt: s.Import) -> Outcome:
    for name, path in stmt.bindings:
        value = scope.program.imported(path)
        expressions.store_name(scope, name, value if scope.kind == MODULE else scope.program.settled(value))
    return None


def _declare(scope: Scope, stmt: s.Declare) -> Outcome:
    scope.declared.update(dict.fromkeys(stmt.names, stmt.word))
    return None


_EXECUTE: dict[type[Any], Callable[[Scope, Any], Outcome]] = {
    s.Assign: _assign, s.Augment: _augment, s.Evaluate: _evaluate, s.Return: _return, s.Raise: _raise, s.Jump: _jump,
    s.Declare: _declare, s.If: _if, s.Loop: _loop, s.With: _with, s.Try: _try, s.Match: _match, s.Function: _define,
    s.Class: _define, s.Import: _import,
}  # fmt: skip
