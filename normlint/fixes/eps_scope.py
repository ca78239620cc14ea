"""Who knows an eps, where its value stands, what a root is taken of, and how eps joins it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from normlint.evaluate.monomial import Step
from normlint.fixes.casts_words import first_operand
from normlint.fixes.tree import ATOM, SUM, Function, Tree, binding, called, is_module, parameters
from normlint.fixes.work import walk
from normlint.norm.owner import is_eps
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DEEP = 6
_KEEP_EPS = {"LayerNorm", "RMSNorm", "GroupNorm"}  # as an attribute, in torch.nn


@dataclass(frozen=True, slots=True)
class Self:
    """What a method calls its object, and the class it stands in."""

    name: str
    cls: ast.ClassDef


def scopes(tree: Tree, node: ast.AST) -> Iterator[Scope]:
    """The functions whose names can be seen, from the inside out: up to a method or a function of the module."""
    for above in tree.above(node):
        if isinstance(above, ast.ClassDef):
            return
        if isinstance(above, Function | ast.Lambda) and _within(tree, node, above):
            yield above


def _within(tree: Tree, node: ast.AST, scope: Scope) -> bool:
    """In the body, not among the defaults or decorators."""
    body = scope.body if isinstance(scope.body, list) else [scope.body]
    return tree.span(body[0]).start <= tree.span(node).start


def outermost(tree: Tree, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The method, or function of the module, that holds the node."""
    found = [scope for scope in scopes(tree, node) if not isinstance(scope, ast.Lambda)]
    return found[-1] if found else None


def default(scope: Scope, name: str) -> ast.expr | None:
    """The default of a parameter."""
    positional = [*scope.args.posonlyargs, *scope.args.args]
    for arg, value in zip(reversed(positional), reversed(scope.args.defaults), strict=False):
        if arg.arg == name:
            return value
    pairs = zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
    return next((value for arg, value in pairs if arg.arg == name), None)


def decorators(scope: Scope) -> set[str]:
    """The last parts of the decorators' names."""
    found = (getattr(d, "func", d) for d in getattr(scope, "decorator_list", ()))
    return {getattr(d, "attr", getattr(d, "id", "")) for d in found}


def self_at(tree: Tree, node: ast.AST) -> Self | None:
    """The object whose attributes can be seen from the node."""
    method = outermost(tree, node)
    cls = tree.parent(method) if method else None
    if method is None or not isinstance(cls, ast.ClassDef) or decorators(method) & {"staticmethod", "classmethod"}:
        return None
    names = parameters(method)
    inner = [scope for scope in scopes(tree, node) if scope is not method]
    if not names or any(arg.arg == names[0].arg for scope in inner for arg in parameters(scope)):
        return None
    return Self(names[0].arg, cls)


# --- classes ---------------------------------------------------------------------------------------------------------


def lineage(tree: Tree, cls: ast.ClassDef) -> list[ast.ClassDef]:
    """The class and its bases in the text."""
    named = {n.name: n for n in walk(tree.root) if isinstance(n, ast.ClassDef)}
    found: list[ast.ClassDef] = []
    waiting = [cls]
    while waiting:
        one = waiting.pop(0)
        if one not in found:
            found.append(one)
            waiting += [named[b.id] for b in one.bases if isinstance(b, ast.Name) and b.id in named]
    return found


def constructor(cls: ast.ClassDef) -> ast.FunctionDef | None:
    """The class's own `__init__`, if there is one and no more."""
    found = [n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    return found[0] if len(found) == 1 else None


def stores(tree: Tree, cls: ast.ClassDef, name: str) -> list[ast.expr | None]:
    """Everything that the class and its bases give to an attribute; None where it isn't an expression of its own."""
    found: list[ast.expr | None] = []
    for one in lineage(tree, cls):
        nodes = (n for n in walk(one) if isinstance(n, ast.Attribute) and n.attr == name)
        found += [_given(tree, n) for n in nodes if not isinstance(n.ctx, ast.Load)]
        own = (s for s in one.body if not isinstance(s, ast.AnnAssign) or s.value is not None)  # else only declared
        found += [getattr(s, "value", None) for s in own if getattr(_target(s), "id", None) == name]
    return found or [k.value for k in _handed_up(cls) if k.arg == name]


def _handed_up(cls: ast.ClassDef) -> list[ast.keyword]:
    """What a base class is given by name, and keeps by that name, as torch's do: `super().__init__(d, eps=eps)`."""
    init = constructor(cls)
    calls = [n for n in walk(init) if isinstance(n, ast.Call) and called(n) == "__init__"] if init else []
    return calls[0].keywords if len(calls) == 1 else []


def _given(tree: Tree, target: ast.expr) -> ast.expr | None:
    stmt = tree.parent(target)
    return stmt.value if isinstance(stmt, ast.Assign | ast.AnnAssign) else None


def _target(stmt: ast.stmt) -> ast.expr | None:
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        return stmt.targets[0]
    return stmt.target if isinstance(stmt, ast.AnnAssign) else None


def has_attribute(tree: Tree, cls: ast.ClassDef, name: str) -> bool:
    """Something in the class goes by this name."""
    defined = (n.name for one in lineage(tree, cls) for n in one.body if isinstance(n, ast.FunctionDef))
    return bool(stores(tree, cls, name)) or name in defined


# --- an eps that is there --------------------------------------------------------------------------------------------


def known(tree: Tree, node: ast.AST) -> str | None:
    """How an eps that the code has already is written at the node: a parameter, an attribute or a constant."""
    for scope in scopes(tree, node):
        names = [arg.arg for arg in parameters(scope) if is_eps(arg.arg) and _given_a_number(tree, scope, arg.arg)]
        if len(names) == 1:
            return names[0]
    me = self_at(tree, node)
    names = sorted(_attributes(tree, me.cls)) if me else []
    if me and len(names) == 1:
        return f"{me.name}.{names[0]}"
    constants = [name for name in _constants(tree) if len(_constants(tree)[name]) == 1]
    return constants[0] if len(constants) == 1 and _usable(tree, _constants(tree)[constants[0]][0]) else None


def _given_a_number(tree: Tree, scope: Scope, name: str) -> bool:
    """Not a parameter that may be None when it comes to be added."""
    value = default(scope, name)
    if isinstance(value, ast.Constant) and value.value is None:
        return bool(_bound(tree, scope, name))
    return _usable(tree, value)


def _attributes(tree: Tree, cls: ast.ClassDef) -> set[str]:
    family = lineage(tree, cls)
    nodes = [n for one in family for n in walk(one)]
    stored = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    stored |= {k.arg for k in _handed_up(cls) if k.arg}
    names = stored | {t.id for one in lineage(tree, cls) for s in one.body if isinstance(t := _target(s), ast.Name)}
    bases = {called(base) for one in lineage(tree, cls) for base in one.bases} - {
        one.name for one in lineage(tree, cls)
    }
    own = {n for n in names if is_eps(n) and all(v is not None and _usable(tree, v) for v in stores(tree, cls, n))}
    return own | ({"eps"} if bases & _KEEP_EPS else set())


def _constants(tree: Tree) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for stmt in tree.root.body:
        target, value = _target(stmt), getattr(stmt, "value", None)
        if isinstance(target, ast.Name) and is_eps(target.id) and value is not None and number(value) is not None:
            found.setdefault(target.id, []).append(value)
    return found


def _usable(tree: Tree, value: ast.expr | None) -> bool:
    """A number that does what eps should, or one that is not known here."""
    origins = origin(tree, value) if value is not None else []
    if any(not 0 < (number(o) or 0) < 1e-2 for o in origins):
        return False
    return value is None or not isinstance(value, ast.Call) or (not origins and _float(value))


def _float(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("float", "getattr")


# --- where a value stands --------------------------------------------------------------------------------------------


def origin(tree: Tree, node: ast.expr | None, depth: int = 0) -> list[ast.expr]:
    """The numbers in the text that an expression may be; none where they aren't all there."""
    if number(node) is not None and node is not None:
        return [node]
    if depth > _DEEP:
        return []
    found: list[ast.expr] = []
    for one in _sources(tree, node):
        values = origin(tree, one, depth + 1)
        if not values:
            return []
        found += values
    return list(dict.fromkeys(found))


def _sources(tree: Tree, node: ast.expr | None) -> list[ast.expr | None]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        me = self_at(tree, node)
        return list(stores(tree, me.cls, node.attr)) if me and node.value.id == me.name else []
    return _of_name(tree, node) if isinstance(node, ast.Name) else []


def _of_name(tree: Tree, node: ast.Name) -> list[ast.expr | None]:
    for scope in scopes(tree, node):
        if any(arg.arg == node.id for arg in parameters(scope)):
            return list(arguments(tree, scope, node.id)) if not isinstance(scope, ast.Lambda) else []
        bound = _bound(tree, scope, node.id)
        if bound:
            return bound if len(bound) == 1 else []
    bound = [getattr(s, "value", None) for s in tree.root.body if getattr(_target(s), "id", "") == node.id]
    return bound if len(bound) == 1 else []


def _bound(tree: Tree, scope: Scope, name: str) -> list[ast.expr | None]:
    stored = [n for n in walk(scope) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    return [_given(tree, n) for n in stored]


def arguments(tree: Tree, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[ast.expr | None]:
    """What a parameter is given: by each call in the text, or by its default."""
    calls = [argument(call, function, name) for call in calls_of(tree, function)]
    if default(function, name) is not None and (None in calls or not calls):
        yield default(function, name)
    yield from (value for value in calls if value is not None)


def calls_of(tree: Tree, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.Call]:
    """The calls of a function in the text; of a constructor those by the classes that derive from its class."""
    cls = tree.parent(function)
    calls = [n for n in walk(tree.root) if isinstance(n, ast.Call)]
    if not isinstance(cls, ast.ClassDef):
        return [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == function.name]
    named = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == function.name]
    return [c for c in named if function.name != "__init__" or _above_is(tree, c, cls)]


def _above_is(tree: Tree, call: ast.Call, cls: ast.ClassDef) -> bool:
    own = tree.enclosing_class(call)
    return own is not None and own is not cls and cls in lineage(tree, own)


def argument(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    """What a call gives to a parameter, as far as it is written there."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    at = position(function, call, name)
    return call.args[at] if at is not None and at < len(call.args) else None


def position(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str) -> int | None:
    """Where among its positional arguments a call gives a parameter."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if name not in names:
        return None
    return names.index(name) - bound_first(function, call)


def bound_first(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> int:
    """1 where the call binds the first parameter by the dot."""
    if not isinstance(call.func, ast.Attribute) or "staticmethod" in decorators(function):
        return 0
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    return 1 if names and names[0] in ("self", "cls") else 0


ONE, HALF = Fraction(1), Fraction(1, 2)
_POWERS: Final = {"norm": HALF, "std": HALF, "sqrt": HALF, "rsqrt": -HALF, "recip": -ONE, "square": Fraction(2)}
_DIVISIONS = ("div", "div_", "divide", "divide_", "true_divide", "true_divide_")


@dataclass(frozen=True, slots=True)
class Place:
    """Where eps belongs: beside `node`, which is the mean square (`squared`) or already its root."""

    node: ast.expr
    squared: bool


def place(tree: Tree, trail: Sequence[Step]) -> Place | None:
    """What the last root is taken of; where the statistic is a root itself, what the input is divided by."""
    walked = list(_walked(tree, trail))
    for wanted, squared in ((ONE, True), (HALF, False)):
        leaving = [step for step, before, after in walked if before == wanted != after]
        if leaving:
            node = operand(tree, leaving[-1])
            return Place(node, squared) if node is not None else None
    return None


def _walked(tree: Tree, trail: Sequence[Step]) -> Iterator[tuple[Step, Fraction, Fraction]]:
    """Each step that changes the power of the mean square, but not a root that the statistic is itself."""
    power = ONE
    for step in trail:
        factor = exponent(tree, step) if step.op == "pow" else _POWERS.get(step.op, ONE)
        if factor is None:
            return
        if step.op not in ("norm", "std"):
            yield step, power, power * factor
        power *= factor


def exponent(tree: Tree, step: Step) -> Fraction | None:
    """The number that a power is taken to."""
    node = tree.at(step.span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _fraction(node.right)
    if isinstance(node, ast.Call):
        given = [*node.args, *(k.value for k in node.keywords if k.arg == "exponent")]
        return _fraction(given[-1]) if given else None
    return None


def _fraction(node: ast.expr) -> Fraction | None:
    value = number(node)
    return None if value is None else Fraction(value).limit_denominator(64)


def number(node: ast.AST | None) -> float | None:
    """The value of a number as it is written, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    plain = isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return float(node.value) if plain else None  # type: ignore[union-attr]


# --- what a step is taken of -----------------------------------------------------------------------------------------


def operand(tree: Tree, step: Step) -> ast.expr | None:
    """What the root, the power or the reciprocal is taken of; what is divided by."""
    statement = tree.at(step.span, ast.AugAssign)
    if statement is not None:
        return statement.value if isinstance(statement.op, ast.Div) else None
    node = tree.at(step.span)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            return node.left
        return node.right if isinstance(node.op, ast.Div) else None
    return _argument(tree, node) if isinstance(node, ast.Call) else None


def _argument(tree: Tree, call: ast.Call) -> ast.expr | None:
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "other")]
    if called(call) in _DIVISIONS:
        return given[-1] if given else None
    return first_operand(tree, call)


# --- eps joins -------------------------------------------------------------------------------------------------------


def added(tree: Tree, node: ast.expr, eps: str, style: str = "") -> tuple[Edit, ...]:
    """`node + eps`, as it must be written where the node stands; `style`: chain, left, right or what is shortest."""
    start, end = tree.span(node)
    bare = tree.with_parentheses(node) == (start, end) and not _stands_alone(tree.parent(node))
    if bare and style in ("", "chain") and isinstance(tree.parent(node), ast.Attribute) and _in_a_chain(tree, node):
        return (Edit(Span(end, end), f".add({eps})"),)
    before, after = ("(", ")") if binding(node) < SUM else ("", "")
    before, after = (f"{eps} + {before}", after) if style == "left" else (before, f"{after} + {eps}")
    if bare:
        before, after = f"({before}", f"{after})"
    edits = Edit(Span(start, start), before), Edit(Span(end, end), after)
    return tuple(edit for edit in edits if edit.text)


def _stands_alone(parent: ast.AST | None) -> bool:
    """No operator and no dot is beside what this node holds."""
    return isinstance(parent, ast.Call | ast.keyword | ast.Assign | ast.AnnAssign | ast.Return | ast.AugAssign)


def _in_a_chain(tree: Tree, node: ast.expr) -> bool:
    """A call of a method: the next link may be one, too."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not is_module(tree, node.func.value)


def clamped(tree: Tree, node: ast.expr, eps: str) -> tuple[Edit, ...]:
    """`node.clamp(min=eps)`."""
    start, end = outer = tree.with_parentheses(node)
    after = f".clamp(min={eps})"
    if outer != tree.span(node) or binding(node) >= ATOM:
        return (Edit(Span(end, end), after),)
    return Edit(Span(start, start), "("), Edit(Span(end, end), f"){after}")


def joined(tree: Tree, where: Place, eps: str) -> tuple[Edit, ...]:
    """Eps at its place: added to the mean square, or a floor of its root."""
    return added(tree, where.node, eps) if where.squared else clamped(tree, where.node, eps)


def passed(tree: Tree, call: ast.Call, name: str, text: str) -> Edit | None:
    """One more keyword argument; None where it may be given already, out of sight."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    return after_arguments(tree, call, f"{name}={text}")


def after_arguments(tree: Tree, call: ast.Call, text: str) -> Edit:
    """One more argument, the last."""
    given = [*call.args, *(k.value for k in call.keywords)]
    ends = [tree.with_parentheses(one).end for one in given]
    end = max(ends, default=tree.span(call).end - 1)
    return Edit(Span(end, end), f", {text}" if ends else text)
