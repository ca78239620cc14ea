"""How a text spells a cast, up to fp32 and back; putting a cast behind an expression, and taking one away."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from normlint.fixes.tree import ATOM, Function, Tree, binding, is_module, parameters, spelled
from normlint.fixes.work import CALL, took, walk
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


_NAME = "\0"  # in a cast that asks for the dtype of what it casts
_DOUBLES = frozenset(("float64", "double"))
_CHECKS = frozenset(("gradcheck", "gradgradcheck"))  # of gradients, in fp64
_UP = re.compile(r"\.(?:float\(\)|(?:to|type)\((?:dtype\s*=\s*)?(?:(\w+)\.)?(float(?:32)?)\))")
_BACK = re.compile(r"\.(?:(type_as)\(\w+\)|to\((dtype\s*=\s*)?\w+\.dtype\))")
_SAVED = re.compile(r"^[ \t]*(\w*dtype\w*) = \w+\.dtype[ \t]*$", re.MULTILINE)
_BY_NAME = re.compile(r"\.(to|type)\((dtype\s*=\s*)?\w*dtype\)")


def upwards(tree: Tree) -> str:
    """The cast to fp32 that the text uses most, else `.float()`; where it speaks of fp64, one for `raising`."""
    return tree.once(upwards, lambda: _upwards(tree))


def _upwards(tree: Tree) -> str:
    bound = {alias.asname or alias.name for node in tree.root.body for alias in _aliases(node)}
    found = Counter(m[0] for m in _UP.finditer(tree.text) if "(" in m[0] and _resolves(m, bound))
    promote, single = (spelled(tree, f"torch.{name}") for name in ("promote_types", "float32"))
    said = {word for node in walk(tree.root) for word in _words(node)}
    if promote and single and (_CHECKS & said or (_DOUBLES & said and not found)):
        return f".to({promote}({_NAME}.dtype, {single}))"
    return max(found, key=lambda cast: found[cast], default=".float()")


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name | ast.Attribute | ast.alias):
        yield from (getattr(node, field) for field in ("id", "attr", "name") if hasattr(node, field))


def raising(tree: Tree, node: ast.expr, up: str) -> str:
    """The cast `up` as it is written behind this node."""
    if _NAME not in up:
        return up
    if isinstance(node, ast.Name | ast.Attribute):
        return up.replace(_NAME, tree.source(node))
    names = (n.id for n in walk(node) if isinstance(n, ast.Name) and not is_module(tree, n) and n.id != "self")
    name = next(names, None)
    return up.replace(_NAME, name) if name else ".float()"


def _aliases(node: ast.stmt) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []


def _resolves(match: re.Match[str], bound: set[str]) -> bool:
    """The dtype's name means the same in the whole text."""
    if match[0] == ".float()":
        return True
    if match[1]:
        return match[1] in bound
    return match[2] == "float32" and match[2] in bound


@dataclass(frozen=True, slots=True)
class Back:
    """A cast back as a suffix, and the line that must stand before `line_at` for it."""

    suffix: str
    line: str = ""
    line_at: ast.stmt | None = None


def back(
    tree: Tree, node: ast.AST, names: tuple[str, ...], *, since: int = 0, rebound: ast.stmt | None = None
) -> Back | None:
    """A cast of what `node` computes to the dtype of the input, which goes by one of `names`.

    `since`: from this place on a name that is bound anew may be of another dtype; `rebound`: an edit binds it anew
    in front of this statement.
    """
    took(CALL)
    function = scope(tree, node)
    if function is None:
        return None
    until = tree.span(node).start
    kept = _saved(tree, function, until)
    if kept:
        return Back(_by_name(tree, kept))
    here = set(arguments(function)) | set(stores(tree, function))
    known = [name for name in names if name in here]
    for name in known:
        if rebound is None and not any(since <= at < until for at in _rebound(tree, function, name, node)):
            return Back(_from_tensor(tree, name))
    if isinstance(function, ast.Lambda):
        return None
    place = rebound or _first(function)
    for name in known:
        own = name in arguments(function) or rebound is not None
        if own and not any(at < tree.span(place).start for at in stores(tree, function).get(name, ())):
            fresh = _fresh(tree, function)
            line = f"{fresh} = {name}.dtype"
            return Back(_by_name(tree, fresh), line, place) if starts_its_line(tree, place) else None
    return None


def arguments(function: Function | ast.Lambda) -> list[str]:
    """The names of the parameters."""
    return [one.arg for one in parameters(function)]


def _saved(tree: Tree, function: Function | ast.Lambda, until: int) -> str:
    """The name under which the function keeps a tensor's dtype, where there is just one."""
    if isinstance(function, ast.Lambda):
        return ""
    found = tree.once((_saved, function), lambda: {name for node in walk(function) for name in _dtypes(node)})
    straight = tree.once((_straight, function), lambda: list(_straight_names(tree, function)))
    kept = {name for end, name in straight if end <= until}
    once = [name for name in kept if len(stores(tree, function).get(name, ())) == 1]
    return once[0] if len(once) == len(found) == 1 else ""


def _dtypes(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives to dtypes: `dtype, dim = x.dtype, -1`."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    target, value = node.targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for name, of in pairs:
        read = isinstance(of, ast.Attribute) and of.attr == "dtype" and isinstance(of.value, ast.Name)
        if read and isinstance(name, ast.Name):
            yield name.id


def _straight_names(tree: Tree, function: Function) -> Iterator[tuple[int, str]]:
    """The names of dtypes that are not under a test, each with where its statement ends."""
    return ((tree.span(stmt).end, name) for stmt in _straight(function.body) for name in _dtypes(stmt))


def _straight(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in block:
        yield stmt
        if isinstance(stmt, ast.With):
            yield from _straight(stmt.body)


def _rebound(tree: Tree, function: Function | ast.Lambda, name: str, node: ast.AST) -> Iterator[int]:
    """Where the name is bound anew, but for the statement that `node` is part of: its value comes first."""
    own = tree.statement(node)
    for at in stores(tree, function).get(name, ()):
        if own is None or not tree.span(own).start <= at < tree.span(own).end:
            yield at


def _first(function: Function) -> ast.stmt:
    """The first statement behind the docstring."""
    told = ast.get_docstring(function, clean=False) is not None
    return function.body[1] if told and len(function.body) > 1 else function.body[0]


def _fresh(tree: Tree, function: Function) -> str:
    """A name for the dtype that came in: the one the text uses elsewhere, where it is free here."""
    taken = {n.id for n in walk(function) if isinstance(n, ast.Name)} | set(arguments(function))
    used = Counter[str](_SAVED.findall(tree.text))
    names: list[str] = [*sorted(used, key=lambda name: -used[name]), "input_dtype", "in_dtype", "dtype_of_input"]
    return next(name for name in names if name not in taken)


def _by_name(tree: Tree, name: str) -> str:
    return tree.once((_by_name, name), lambda: _found_by_name(tree, name))


def _found_by_name(tree: Tree, name: str) -> str:
    own = re.search(rf"\.(?:to|type)\((?:dtype\s*=\s*)?{re.escape(name)}\)", tree.text)
    if own:
        return own[0]
    other = _BY_NAME.search(tree.text)
    return f".{other[1]}({other[2] or ''}{name})" if other else f".to({name})"


def _from_tensor(tree: Tree, name: str) -> str:
    own = tree.once(_BACK, lambda: _BACK.search(tree.text))
    if own is None or own[1]:
        return f".type_as({name})"
    return f".to({own[2] or ''}{name}.dtype)"
