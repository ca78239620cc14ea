"""Follow how a module calls the norms that it owns: with what, and what their results are used for.

Statements are read in order, as long as each name is assigned one value after the other.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from normlint.norm.makes import Makes, Owner, constructors, statements, stored
from normlint.norm.nodes import Function, arguments, dotted, plain
from normlint.text.pieces import COMMENT
from normlint.text.syntax import parsed_part

_MOST: Final = 400  # statements; longer functions aren't read
_NORM: Final = re.compile(r"(?!Pre|Post|Conv|Linear|Add|Res)\w*Norm(?:\d[dD]|[A-Z]\w{0,4})?")
_TENSORS: Final = ("Parameter", "Buffer", "Tensor", "Size")  # what a norm makes that is no module
_FAR: Final = 24  # values that are followed
_LEAVING: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BODIES: Final = ("body", "orelse", "finalbody")


class Value(NamedTuple):
    """An expression with the values of the names in it."""

    node: ast.expr
    values: Values


Values = Mapping[str, Value]
Step = tuple[ast.stmt, Values, "ast.stmt | None"]  # a statement, the values of names in it, and the statement before it


class Module:
    """A class with what it owns and the statements of the functions that are looked at."""

    def __init__(self, makes: Makes, owner: Owner, looked: tuple[Function, ...]) -> None:
        self.makes, self.owner = makes, owner
        short = [f for f in looked if len(statements(f)) <= _MOST]
        self.functions = {f: tuple(_steps(f.body, {})) for f in short if f.name != "__init__"}

    @cached_property
    def owned(self) -> dict[str, ast.Call]:
        """Return the call that `__init__` sets each attribute to; of a Sequential, the last call in it."""
        return {name: last for name, several in self._made.items() if isinstance(last := several[-1], ast.Call)}

    def result_of(self, call: ast.Call) -> ast.expr | None:
        """Return what a call gives, in terms of its arguments, if its function does nothing but return something."""
        name = dotted(call.func)
        if name.startswith("self."):
            function = next((f for f in self.owner.functions if f"self.{f.name}" == name), None)
        else:
            place = self.makes.elsewhere.place(name, self.makes.file) if name else None
            part = parsed_part(place.file.text, place.piece.span).body if place and place.piece.kind == "def" else []
            function = next((node for node in part if isinstance(node, ast.FunctionDef)), None)
        last = function.body[-1] if function is not None else None
        if function is None or not isinstance(last, ast.Return) or last.value is None or not plain(call):
            return None
        short = all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in function.body[:-1])
        bound = name.startswith("self.") and all(dotted(one) != "staticmethod" for one in function.decorator_list)
        names = [argument.arg for argument in arguments(function)][bound:]
        given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        return _with(last.value, given, call) if short else None

    @property
    def alone(self) -> dict[str, ast.Call]:
        """Return those of `owned` that are no part of a Sequential with others."""
        return {name: call for name, call in self.owned.items() if len(self._made[name]) == 1}

    @cached_property
    def _made(self) -> dict[str, list[ast.expr]]:
        """Return what `__init__` sets each attribute to; of a Sequential, the modules in it."""
        return {name: _modules_in(several[-1]) for name, several in self._set.items()}

    @cached_property
    def divided(self) -> dict[str, ast.expr]:
        """Return the attributes that are set once, to a floor division, with the expression that is divided."""
        inits = constructors(self.owner.functions)
        several = [(name, self._named(value, init)) for init in inits for name, value in stored(init)]
        divided = {n: v.left for n, v in several if isinstance(v, ast.BinOp) and isinstance(v.op, ast.FloorDiv)}
        return {name: whole for name, whole in divided.items() if len(self._set[name]) == 1}

    @cached_property
    def projected(self) -> dict[str, list[ast.expr]]:
        """Return the factors of what linear layers give, as in `heads * self.head_dim`, with what those layers take."""
        found: dict[str, list[ast.expr]] = {}
        for call in self.owned.values():
            sizes = call.args[:2] if called_last(call) == "Linear" else []
            product = sizes[1] if len(sizes) > 1 else None
            if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
                several = [one for one in (product.left, product.right) if self.plain(one) != self.plain(sizes[0])]
                for name in filter(None, map(dotted, several)):
                    found.setdefault(name.removeprefix("self."), []).append(sizes[0])
        return found

    def _named(self, value: ast.expr, init: Function) -> ast.expr:
        """Return what a name is assigned in a constructor, if that happens once; any other expression itself."""
        given = [s.value for s in statements(init) if isinstance(s, ast.Assign) and _is_named(s.targets, value)]
        return given[0] if len(given) == 1 and self.is_kept(given[0]) else value

    def plain(self, node: ast.expr) -> str:
        """Return the text of an expression; of an attribute that is set once, to a dotted name, that name."""
        text = ast.unparse(node)
        several = self._set.get(text.removeprefix("self."), []) if text.startswith("self.") else []
        return (dotted(several[0]) if len(several) == 1 else "") or text

    @cached_property
    def _set(self) -> dict[str, list[ast.expr]]:
        """Return what the constructors set each attribute to."""
        found: dict[str, list[ast.expr]] = {}
        for name, value in (pair for init in constructors(self.owner.functions) for pair in stored(init)):
            found.setdefault(name, []).append(value)
        return found

    def is_kept(self, node: ast.expr) -> bool:
        """Return whether no constructor gives the names in an expression another value."""
        every = (n for init in constructors(self.owner.functions) for n in ast.walk(init) if isinstance(n, ast.Name))
        return names_in(node).isdisjoint(n.id for n in every if isinstance(n.ctx, ast.Store))

    def written(self, name: str) -> int:
        """Return how often a name occurs in the class's text, without comments."""
        return self._words[name]

    @cached_property
    def _words(self) -> Counter[str]:
        return Counter(re.findall(r"\w+", COMMENT.sub("", self.owner.text[slice(*self.owner.piece.span)])))

    def calls(self, node: ast.AST | None, kind: str) -> str:
        """Return the attribute that a node calls if a class of this kind makes it (`norm` of a Norm); else empty."""
        name = dotted(node.func) if isinstance(node, ast.Call) else ""
        made = self.owned.get(name.removeprefix("self.")) if name.startswith("self.") else None
        return name.removeprefix("self.") if made is not None and kind in called_last(made) else ""

    def norm(self, node: ast.AST | None) -> str:
        """Return the attribute that a node calls if it is a norm and nothing more; else empty."""
        name = self.calls(node, "Norm")
        return name if name in self.alone and is_norm(self.owned[name], self.makes) else ""


def _modules_in(value: ast.expr) -> list[ast.expr]:
    """Return the modules of a Sequential, or the one that a value is; of a choice by `if`, the first."""
    several = [value.body if isinstance(value, ast.IfExp) else value]
    while isinstance(last := several[-1], ast.Call) and called_last(last) == "Sequential" and last.args:
        several[-1:] = last.args
    return several


class Either(ast.IfExp):
    """What a name stands for after an `if`: the name `then`, or the name `else`."""


class Called(NamedTuple):
    """A call of an attribute of `self` with arguments, in a statement that contains no other statements."""

    name: str  # the attribute
    node: ast.Call
    values: Values
    last: ast.stmt | None  # the statement before the call's
    stmt: ast.stmt

    @property
    def given(self) -> ast.expr:
        """Return its first argument."""
        return self.node.args[0]


class Read(NamedTuple):
    """A function of a class that owns norms, statement by statement."""

    module: Module
    function: Function
    steps: tuple[Step, ...]
    calls: tuple[Called, ...]

    def norms(self) -> Iterator[Called]:
        """Yield the calls of the norms that the class owns."""
        return (call for call in self.calls if self.module.norm(call.node))

    @property
    def written_out(self) -> tuple[Step, ...]:
        """Return the statements, and the results of short helpers that get a norm's output, as `modulate(norm(x), s)`.

        The nodes of a helper have the place of its call.
        """
        more: list[Step] = []
        for stmt, values, last in self.steps:
            for node in ast.walk(stmt) if not hasattr(stmt, "body") else ():
                if isinstance(node, ast.Call) and any(self.module.norm(traced(one, values)) for one in node.args):
                    result = self.module.result_of(node)
                    more += [(ast.copy_location(ast.Expr(result), node), values, last)] if result is not None else []
        return (*self.steps, *more)

    @property
    def qualname(self) -> str:
        """Return the name of the function with that of its class."""
        return f"{self.module.owner.name}.{self.function.name}"

    @property
    def parameters(self) -> frozenset[str]:
        """Return the names of the function's parameters."""
        return frozenset(argument.arg for argument in arguments(self.function))


@lru_cache(maxsize=1)  # several rules ask for them in turn
def functions(makes: Makes) -> tuple[Read, ...]:
    """Return the functions that hold a call marked by the prefilter, with their modules, statements and calls."""
    modules = (Module(makes, owner, looked) for owner, looked in makes.wired)
    read = ((module, function, steps) for module in modules for function, steps in module.functions.items())
    return tuple(Read(*one, tuple(_calls(one[2]))) for one in read)


def _calls(steps: Iterable[Step]) -> Iterator[Called]:
    for stmt, values, last in steps:
        for node in ast.walk(stmt) if not hasattr(stmt, "body") else ():
            name = dotted(node.func) if isinstance(node, ast.Call) and node.args else ""
            if name.startswith("self.") and isinstance(node, ast.Call):
                yield Called(name.removeprefix("self."), node, values, last, stmt)


def _steps(body: Iterable[ast.stmt], values: Values) -> Generator[Step, None, Values]:
    """Yield the statements, those within others too, and return the values of names after them."""
    last: ast.stmt | None = None
    for stmt in body:
        yield stmt, values, last
        ends: dict[str, Values] = {}
        for name in _BODIES:
            ends[name] = yield from _steps(getattr(stmt, name, ()), values)
        written = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        after = {**values, **{name: Value(ast.Constant(...), {}) for name in written}}  # unread, each by itself
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            given = _given(stmt.targets[0], stmt.value)
            after.update({target.id: Value(value, values) for target, value in given if isinstance(target, ast.Name)})
        elif isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            before = ast.Name(stmt.target.id, ast.Load())
            after[before.id] = Value(ast.BinOp(before, stmt.op, stmt.value), values)
        elif isinstance(stmt, ast.If):
            blocks = ((stmt.body, ends["body"]), (stmt.orelse, ends["orelse"]))
            reached = [end for block, end in blocks if not _leaves(block)]
            after.update({name: _either(name, reached) for name in written if reached})
        elif isinstance(stmt, ast.With):
            bound = {n.id for item in stmt.items for n in ast.walk(item) if isinstance(n, ast.Name)}
            after.update({name: value for name, value in ends["body"].items() if name in written - bound})
        values, last = after, stmt
    return values


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Return whether nothing behind a block is run after it."""
    last = block[-1] if block else None
    return isinstance(last, _LEAVING) or (isinstance(last, ast.If) and _leaves(last.body) and _leaves(last.orelse))


def _either(name: str, ends: Sequence[Values]) -> Value:
    """Return what a name stands for after branches: one value, or a choice of several."""
    several = [end.get(name, Value(ast.Name(name, ast.Load()), {})) for end in ends]
    if all(value is several[0] for value in several):
        return several[0]
    one, two = (ast.Name(word, ast.Load()) for word in ("then", "else"))
    return Value(Either(ast.Constant(...), one, two), dict(zip(("then", "else"), several, strict=True)))


def _given(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target of an assignment with the expression that it is given."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False)) if len(target.elts) == len(value.elts) else []
    places = (ast.Constant(at) for at in range(len(target.elts)))
    return [(one, ast.Subscript(value, at, ast.Load())) for one, at in zip(target.elts, places, strict=True)]


def traced(node: ast.expr, values: Values) -> ast.expr:
    """Return the expression that a name stands for; any other expression is returned itself."""
    return _followed(node, values).node


def _followed(node: ast.expr, values: Values) -> Value:
    value = Value(node, values)
    while isinstance(value.node, ast.Name) and value.node.id in value.values:
        value = value.values[value.node.id]
    return value


def choices(name: str, values: Values) -> list[Value]:
    """Return what a name stands for by the branch that is taken; empty if it is one thing."""
    value = _followed(ast.Name(name, ast.Load()), values)
    return [value.values["then"], value.values["else"]] if isinstance(value.node, Either) else []


def settled(name: str, values: Values) -> str | ast.expr:
    """Return what a name stands for, which is no name that has a value itself."""
    found = traced(ast.Name(name, ast.Load()), values)
    return found.id if isinstance(found, ast.Name) else found


def made_of(node: ast.expr, values: Values) -> Iterator[Value]:
    """Yield the expression, its subexpressions, and the same for the values of the names in it."""
    waiting, seen = [Value(node, values)], {node}
    while waiting and len(seen) < _FAR:
        value = waiting.pop()
        for one in ast.walk(value.node):
            if isinstance(one, ast.expr):
                yield Value(one, value.values)
            named = value.values.get(one.id) if isinstance(one, ast.Name) else None
            if named is not None and named.node not in seen:
                seen.add(named.node)
                waiting.append(named)


def _is_named(targets: list[ast.expr], value: ast.expr) -> bool:
    """Return whether the one target of an assignment is the name that a value is."""
    target = targets[0] if len(targets) == 1 else None
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id


def is_norm(call: ast.Call, makes: Makes) -> bool:
    """Return whether a call makes a norm, and no module that holds one besides others, by its class or its name."""
    path = dotted(call.func)
    if path not in makes.norms:  # a text makes many of one class
        makes.norms[path] = _is_norms_name(path, makes)
    return makes.norms[path]


def _is_norms_name(path: str, makes: Makes) -> bool:
    """Return whether a name is that of a norm alone: it or a base of its class says so, and the class holds no more."""
    found = makes.elsewhere.definition(path, makes.file)
    bases = map(dotted, found.node.bases) if found is not None else ()
    named = any(_NORM.fullmatch(name.rpartition(".")[2]) for name in (path, *bases))
    return named and (found is None or not _holds_others(found.node))


def _holds_others(node: ast.ClassDef) -> bool:
    """Return whether the constructor of a class stores a module that is no norm, or one that it is given."""
    for function in constructors(node.body):
        taken = {argument.arg for argument in arguments(function)}
        for name, value in stored(function):
            made = called_last(value) if isinstance(value, ast.Call) else ""
            held = isinstance(value, ast.Name) and value.id in taken and f"self.{name}(" in ast.unparse(node)
            if held or (made[:1].isupper() and made not in _TENSORS and "Norm" not in made):
                return True
    return False


def _with(result: ast.expr, given: Mapping[str, ast.expr], place: ast.AST) -> ast.expr:
    """Return a copy of an expression at another place, with expressions for names."""

    class Given(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return given.get(node.id, node)

    copied = copy.deepcopy(result)
    for node in ast.walk(copied):
        ast.copy_location(node, place)
    found = Given().visit(copied)
    return found if isinstance(found, ast.expr) else copied


def called_last(node: ast.Call) -> str:
    """Return the last part of the called name, such as `LayerNorm` in `nn.LayerNorm(d)`."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def names_in(node: ast.AST) -> set[str]:
    """Return the names in a statement or an expression."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
