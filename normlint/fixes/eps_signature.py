"""An eps makes its way: a parameter that takes it, an attribute that keeps it, calls that hand it on."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from normlint.fixes.eps_scope import (
    Scope,
    argument,
    bound_first,
    calls_of,
    constructor,
    decorators,
    default,
    lineage,
    outermost,
    parameters,
    scopes,
    self_at,
)
from normlint.fixes.eps_syntax import after_arguments, number, passed
from normlint.fixes.tree import Tree
from normlint.fixes.work import walk
from normlint.norm.owner import is_eps
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_TRANSPARENT: Final = {"staticmethod", "classmethod", "no_grad", "compile", "autocast"}
_DEEP = 3


@dataclass(frozen=True, slots=True)
class Source:
    """An eps that is taken: an attribute of a class, or a parameter of a function."""

    holder: ast.ClassDef | FunctionNode
    name: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How eps is written at a place, and the edits that bring it there."""

    text: str
    edits: tuple[Edit, ...] = ()


def reach(tree: Tree, node: ast.AST, source: Source, value: str, depth: int = 0) -> Reached | None:
    """Eps at the node; where it can't be seen, the function takes it and its callers pass it. `value`: its default."""
    seen = _seen(tree, node, source)
    if seen is not None:
        return Reached(seen)
    function = outermost(tree, node)
    if (
        function is None
        or depth > _DEEP
        or (self_at(tree, node) is not None and isinstance(source.holder, ast.ClassDef))
    ):
        return None
    return _through(tree, function, source, value, depth)


def _seen(tree: Tree, node: ast.AST, source: Source) -> str | None:
    if isinstance(source.holder, ast.ClassDef):
        me = self_at(tree, node)
        return f"{me.name}.{source.name}" if me and source.holder in lineage(tree, me.cls) else None
    for scope in scopes(tree, node):
        if scope is source.holder:
            return source.name
        if any(arg.arg == source.name for arg in parameters(scope)):
            return None
    return None


def _through(tree: Tree, function: FunctionNode, source: Source, value: str, depth: int) -> Reached | None:
    """The function takes eps; every call that can see one hands it over."""
    if not _may_take_more(tree, function) and not _own(function):
        return None
    name = _own(function) or _free_name(function, source)
    calls = calls_of(tree, function)
    edits: list[Edit] = []
    seen = 0
    for call in calls:
        found = reach(tree, call, source, value, depth + 1)
        handed = _handed(tree, function, call, name, found.text) if found else None
        if found is not None and handed is not None:
            edits += [*found.edits, handed]
            seen += 1
    if not seen:
        return None
    if not _own(function):
        everyone = seen == len(calls) and _private(tree, function, len(calls))
        edits.insert(0, taken(tree, function, name, None if everyone else value))
    elif seen < len(calls) and default(function, name) is None:
        return None
    return Reached(name, tuple(dict.fromkeys(edits)))


def _own(function: FunctionNode) -> str:
    names = [arg.arg for arg in parameters(function) if is_eps(arg.arg)]
    return names[0] if len(names) == 1 else ""


def _free_name(function: FunctionNode, source: Source) -> str:
    used = {n.id for n in walk(function) if isinstance(n, ast.Name)}
    return source.name if "eps" in used else "eps"


def _private(tree: Tree, function: FunctionNode, calls: int) -> bool:
    """Nobody else can call it: its name says so, and every mention is one of the calls."""
    mentions = sum(
        getattr(n, "id", getattr(n, "attr", None)) == function.name
        for n in walk(tree.root)
        if isinstance(n, ast.Name | ast.Attribute)
    )
    return function.name.startswith("_") and mentions == calls and not _follows_default(function)


def _follows_default(function: FunctionNode) -> bool:
    """The last positional parameter has a default: one without can't follow."""
    return bool(function.args.defaults) and not function.args.kwonlyargs


def _handed(tree: Tree, function: FunctionNode, call: ast.Call, name: str, text: str) -> Edit | None:
    """The call gives eps to the parameter, which may be new: in place of a number, or as one argument more."""
    given = argument(call, function, name)
    if given is not None:
        return tree.replace(given, text) if number(given) is not None else None
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    at = names.index(name) if name in names else len(names) if _last(function) is not None else -1
    plain = not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)
    if plain and len(call.args) + bound_first(function, call) == at:
        return after_arguments(tree, call, text)
    return passed(tree, call, name, text)


def to_base(tree: Tree, cls: ast.ClassDef, text: str) -> Edit | None:
    """The constructor hands its eps to that of a base class of the text, which takes one and doesn't get it."""
    for base in lineage(tree, cls)[1:]:
        init = constructor(base)
        if init is not None:
            calls = [call for call in calls_of(tree, init) if tree.enclosing_class(call) is cls]
            name = _own(init)
            return _handed(tree, init, calls[0], name, text) if len(calls) == 1 and name else None
    return None


# --- a parameter more ------------------------------------------------------------------------------------------------


def _may_take_more(tree: Tree, function: FunctionNode) -> bool:
    """Its signature is its own affair: no protocol, no wrapper, nothing that swallows what it doesn't know."""
    if "# type:" in tree.text[tree.span(function).start : tree.span(function.body[0]).start]:
        return False
    dunder = function.name.startswith("__") and function.name != "__init__"
    bare = not dunder and function.name not in ("forward", "backward", "main") and not function.args.vararg
    return bare and decorators(function) <= _TRANSPARENT and not _forwards(function)


def _forwards(function: FunctionNode) -> bool:
    kwargs = function.args.kwarg
    return kwargs is not None and any(isinstance(n, ast.Name) and n.id == kwargs.arg for n in walk(function))


def may_take_eps(tree: Tree, function: FunctionNode) -> bool:
    """A parameter `eps` can be added."""
    return _may_take_more(tree, function) and not any(isinstance(n, ast.Name) and n.id == "eps" for n in walk(function))


def _last(scope: Scope) -> ast.arg | None:
    """The last positional parameter, where nothing but it can be followed by a new one."""
    named = [*scope.args.posonlyargs, *scope.args.args]
    return named[-1] if named and not scope.args.kwonlyargs and not scope.args.vararg else None


def taken(tree: Tree, function: FunctionNode, name: str, value: str | None) -> Edit:
    """One more parameter, the last, written as its neighbours are; `value`: its default."""
    args = parameters(function)
    typed = any(arg.annotation is not None for arg in args)
    said = f"{name}: float" if typed else name
    if value is not None:
        said += f" = {value}" if typed else f"={value}"
    if not args:
        at = tree.text.index("(", tree.text.index(function.name, tree.span(function).start)) + 1
        return Edit(Span(at, at), said)
    last = args[-1]
    value_node = default(function, last.arg)
    end = max(tree.span(last).end, tree.with_parentheses(value_node).end if value_node else 0)
    return _after_last(tree, args, end, said)


def _after_last(tree: Tree, args: Sequence[ast.arg], end: int, said: str) -> Edit:
    """Behind the last parameter, on a line of its own where that one has a line of its own."""
    start = tree.text.rfind("\n", 0, tree.span(args[-1]).start) + 1
    before = tree.text[start : tree.span(args[-1]).start]
    if before.strip():
        return Edit(Span(end, end), f", {said}")
    stop = tree.text.find("\n", end)
    rest = tree.text[end:stop].rstrip("\r")
    comma = rest.lstrip().startswith(",")
    if "#" in rest:  # the comment is the last parameter's
        comment = rest.lstrip(", \t")
        gap = "  " if comment else ""
        after = "," if comma else ""
        return Edit(Span(end, end + len(rest)), f",{gap}{comment}{tree.newline}{before}{said}{after}")
    return Edit(Span(end, end), f",{tree.newline}{before}{said}")


def kept(tree: Tree, cls: ast.ClassDef, name: str) -> Edit | None:
    """`self.eps = eps`, behind `super().__init__()` or as the first statement."""
    init = constructor(cls)
    if init is None or not init.args.args:
        return None
    line = f"{init.args.args[0].arg}.{name} = {name}"
    body = init.body
    if body[0].lineno == init.lineno or any(tree.indent(body[0]) != tree.indent(s) for s in body[:1]):
        return None
    calls = [s for s in body if isinstance(s, ast.Expr) and "__init__" in tree.source(s)]
    if calls:
        return tree.line_after(calls[-1], line)
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return tree.line_after(body[0], line) if documented else tree.line_before(body[0], line)


def new_parameter(tree: Tree, node: ast.AST, value: str) -> Reached | None:
    """A new `eps=1e-6`: of the class, or of the function where its name says norm. None: it must stay a number."""
    me = self_at(tree, node)
    if me is not None:
        return _of_class(tree, me.cls, me.name, value)
    function = outermost(tree, node)
    innermost = next((s for s in scopes(tree, node) if not isinstance(s, ast.Lambda)), None)
    if function is None or function is not innermost or "norm" not in function.name.lower():
        return None
    if not may_take_eps(tree, function) or _first_only(function):
        return None
    return Reached("eps", (taken(tree, function, "eps", value),))


def _first_only(function: FunctionNode) -> bool:
    """What it takes is decided elsewhere: the first parameter is a context."""
    return bool(function.args.args) and function.args.args[0].arg == "ctx"


def _of_class(tree: Tree, cls: ast.ClassDef, me: str, value: str) -> Reached | None:
    init = next((found for one in lineage(tree, cls) if (found := constructor(one)) is not None), None)
    owner = tree.parent(init) if init is not None else None
    if init is None or not isinstance(owner, ast.ClassDef) or not may_take_eps(tree, init):
        return None
    taking = any(
        "eps" in (getattr(n, "attr", None), getattr(n, "name", None))
        for one in {*lineage(tree, cls), owner}
        for n in walk(one)
    )
    keeping = kept(tree, owner, "eps")
    if taking or keeping is None:
        return None
    return Reached(f"{me}.eps", (taken(tree, init, "eps", value), keeping))
