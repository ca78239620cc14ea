"""NRM301, NRM303, NRM304 and NRM305: eps is added, put right, used, and handed to where it is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from normlint.fixes.eps_scope import (
    Scope,
    after_arguments,
    argument,
    bound_first,
    calls_of,
    constructor,
    decorators,
    default,
    has_attribute,
    joined,
    known,
    lineage,
    number,
    origin,
    outermost,
    passed,
    place,
    scopes,
    self_at,
    stores,
)
from normlint.fixes.tree import Tree, parameters
from normlint.fixes.trial import Trial
from normlint.fixes.work import walk
from normlint.norm.norm import Computation, Eps, Norm
from normlint.norm.owner import is_eps
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass

VALUE: Final = {"layer": "1e-5"}  # torch's own; RMS norms have 1e-6
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def usual(norm: Norm) -> str:
    """The eps that norms of this kind have."""
    return VALUE.get(norm.kind, "1e-6")


def add(norm: Norm, statistic: Span, tree: Tree) -> Fix | None:
    """Add eps under the root of a statistic: the one that the code has, or a new parameter."""
    edits: list[Edit] = []
    text = ""
    for c in norm.judged:
        if c.statistic.span != statistic:
            continue
        where = place(tree, c.trail)
        if where is None:
            return None
        eps = _some(tree, where.node, usual(norm))
        text = text or eps.text
        edits += [*eps.edits, *joined(tree, where, eps.text)]
    made = tuple(dict.fromkeys(edits))
    mended = Trial(tree, norm, "NRM301").mended(made) if made else None
    protected = mended is not None and mended.judged and all(c.eps for c in mended.judged)
    return Fix(f"Add eps: `{text}`", made, SAFE) if protected else None  # what comes to light now is the next round's


def _some(tree: Tree, node: ast.AST, value: str) -> Reached:
    text = known(tree, node)
    return Reached(text) if text else new_parameter(tree, node, value) or Reached(value)


def _tried(trial: Trial, message: str, edits: Sequence[Edit], applicability: Applicability) -> Fix | None:
    return trial.first([(message, tuple(dict.fromkeys(edits)))], applicability)


# --- NRM303 ----------------------------------------------------------------------------------------------------------


def put_right(norm: Norm, e: Eps, tree: Tree) -> Fix | None:
    """A usual eps in place of one that does nothing, or too much: where its number stands."""
    node = tree.at(e.at)
    if node is None or e.default is None:
        return None
    numbers = origin(tree, node)
    if len(numbers) != 1 or number(numbers[0]) != e.default:
        return None
    value = usual(norm)
    safe = SAFE if e.default <= 0 else UNSAFE
    return _tried(Trial(tree, norm, "NRM303"), f"Use `{value}`", (tree.replace(numbers[0], value),), safe)


# --- NRM304 ----------------------------------------------------------------------------------------------------------


def use(norm: Norm, unused: Span, tree: Tree) -> Fix | None:
    """Let the eps that is taken be the one that acts."""
    arg = tree.around(unused, ast.arg)
    target = tree.at(unused, ast.Attribute)
    if target is not None:
        cls = tree.enclosing_class(target)
        return _used(norm, tree, Source(cls, target.attr), []) if cls else None
    function = tree.function(arg) if arg else None
    if arg is None or function is None:
        return None
    holder = tree.parent(function)
    if not isinstance(holder, ast.ClassDef):
        return _used(norm, tree, Source(function, arg.arg), [])
    return _kept(norm, tree, holder, arg.arg) if function is constructor(holder) else None


def _kept(norm: Norm, tree: Tree, cls: ast.ClassDef, name: str) -> Fix | None:
    """A constructor's parameter is stored first: in place of a number that stands there, or by the base, or anew."""
    for edit, message in _stored(norm, tree, cls, name):
        fix = _tried(Trial(tree, norm, "NRM304"), message, [edit], SAFE)
        if fix is not None:
            return fix
    storing = kept(tree, cls, name)
    if has_attribute(tree, cls, name) or storing is None:
        return None
    return _used(norm, tree, Source(cls, name), [storing])


def _stored(norm: Norm, tree: Tree, cls: ast.ClassDef, name: str) -> Iterator[tuple[Edit, str]]:
    """Where an attribute that acts as eps gets its number: here, or from the base class, which takes an eps, too."""
    init = constructor(cls)
    places = (e.at for c in norm.computations for e in c.eps)
    for node in (node for at in places if (node := tree.at(at, ast.Attribute)) is not None):
        given = stores(tree, cls, node.attr)
        sole = given[0] if len(given) == 1 else None
        if sole is not None and number(sole) is not None and tree.function(sole) is init:
            yield tree.replace(sole, name), f"Store `{name}`"
    handed = to_base(tree, cls, name)
    if handed is not None:
        yield handed, f"Pass `{name}` to the base class"


def _used(norm: Norm, tree: Tree, source: Source, edits: list[Edit]) -> Fix | None:
    if _may_be_none(source):
        return None
    text = ""
    for c in norm.computations:
        found = _acting(norm, tree, c, source)
        if found is None:
            return None
        text = text or found.text
        edits += found.edits
    trial = Trial(tree, norm, "NRM304", gained=not norm.main.eps, partly=True)  # eps may be what tells of a norm
    fix = _tried(trial, f"Use `{text}`", edits, SAFE)
    return fix or _tried(trial, f"Use `{text}`", [*edits, *_in_range(tree, norm, source)], UNSAFE)


def taken_here(norm: Norm, place: Span, tree: Tree) -> Fix | None:
    """The eps that other paths use, or that is kept, in place of a number."""
    node = tree.at(place)
    text = known(tree, node) if node is not None and number(node) is not None else None
    if node is None or text is None:
        return None
    return _tried(Trial(tree, norm, "NRM304"), f"Use `{text}`", [tree.replace(node, text)], UNSAFE)


def _may_be_none(source: Source) -> bool:
    """Where nothing is given, there is nothing to add: a parameter of the same name has None as its default."""
    holder = constructor(source.holder) if isinstance(source.holder, ast.ClassDef) else source.holder
    if holder is None:
        return False
    value = default(holder, source.name)
    bound = {n.id for n in walk(holder) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return isinstance(value, ast.Constant) and value.value is None and source.name not in bound


def _in_range(tree: Tree, norm: Norm, source: Source) -> list[Edit]:
    """An eps that nobody used may be one that nobody can use: it gets the usual number."""
    if isinstance(source.holder, ast.ClassDef):
        given = stores(tree, source.holder, source.name) or _taken_as(source)
    else:
        given = [default(source.holder, source.name)]
    numbers = origin(tree, given[0]) if len(given) == 1 else []
    return [tree.replace(one, usual(norm)) for one in numbers if not 0 < (number(one) or 0) < 1e-2]


def _taken_as(source: Source) -> list[ast.expr | None]:
    init = constructor(source.holder) if isinstance(source.holder, ast.ClassDef) else None
    return [default(init, source.name)] if init else []


def _acting(norm: Norm, tree: Tree, c: Computation, source: Source) -> Reached | None:
    """The edits that make this path use the source."""
    acting = [e for e in c.eps if e.value != 0] or list(c.eps)
    if not acting:
        return _joining(norm, tree, c, source)
    if len(acting) != 1:
        return None
    node = tree.at(acting[0].at) if acting[0].at.start < acting[0].at.end else None
    if node is None:
        call = tree.at(c.statistic.span, ast.Call)
        return _as_argument(tree, call, source, usual(norm)) if c.statistic.default_eps and call else None
    return _in_place(tree, node, source)


def _joining(norm: Norm, tree: Tree, c: Computation, source: Source) -> Reached | None:
    where = place(tree, c.trail)
    found = reach(tree, where.node, source, usual(norm)) if where else None
    if where is None or found is None:
        return None
    return Reached(found.text, (*found.edits, *joined(tree, where, found.text)))


def _as_argument(tree: Tree, call: ast.Call, source: Source, value: str) -> Reached | None:
    found = reach(tree, call, source, value)
    edit = passed(tree, call, "eps", found.text) if found else None
    return Reached(found.text, (*found.edits, edit)) if found and edit else None


def _in_place(tree: Tree, node: ast.expr, source: Source) -> Reached | None:
    """In place of a number, or of a constant; where a helper's parameter acts, its callers pass it."""
    numbers = origin(tree, node)
    if not numbers:
        return None
    found = reach(tree, node, source, tree.source(numbers[0]))
    if found is None:
        return None
    if tree.source(node) == found.text:
        return found if found.edits else None
    if isinstance(node, ast.Name) and any(node.id == arg.arg for s in scopes(tree, node) for arg in parameters(s)):
        return None
    if isinstance(node, ast.Attribute) and not _constant(tree, node, numbers[0]):
        return None
    return Reached(found.text, (*found.edits, tree.replace(node, found.text)))


def _constant(tree: Tree, node: ast.Attribute, value: ast.expr) -> bool:
    """The class's own, and set nowhere else."""
    return isinstance(tree.parent(tree.statement(value) or node), ast.ClassDef)


# --- NRM305 ----------------------------------------------------------------------------------------------------------


def given_to_normalize(statistic: Span, tree: Tree) -> Fix | None:
    """An eps that isn't 0 in fp16."""
    call = tree.at(statistic, ast.Call)
    if call is None:
        return None
    text = known(tree, call) or "1e-6"
    edit = passed(tree, call, "eps", text)
    return Fix(f"Pass an eps: `eps={text}`", (edit,), UNSAFE) if edit else None


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
