"""The entry points of evaluation: methods and functions in which a statistic may be multiplied by its own input.

Most code that calls a reduction is no norm, and evaluating it is expensive. In doubt it is evaluated.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from normlint.evaluate import syntax as s
from normlint.evaluate.binding import Args
from normlint.evaluate.context import Context
from normlint.evaluate.entry import Entry
from normlint.evaluate.machine import Machine
from normlint.evaluate.module import Module
from normlint.evaluate.objects import MOST_ABOVE, ClassRef, FunctionRef
from normlint.evaluate.ops.table import Given
from normlint.evaluate.truth import describe
from normlint.evaluate.value import Defined
from normlint.evaluate.walk import definitions, walk
from normlint.norm.candidates import Found, Functions, candidates
from normlint.norm.units import is_base, mentions
from normlint.text.finding import Span
from normlint.text.frozen import kept_each
from normlint.text.marks import Marks, any_reduction
from normlint.text.pieces import WORD, Piece, pieces

_STRING = re.compile(r'"""[\s\S]*?"""|"[^"\n]*"|\'[^\'\n]*#[^\'\n]*\'|#[^\n]*')
_CLASS = re.compile(r"\n[ \t\f]+class\b")  # nested in another class
_WIDENED = re.compile(r"\(\s*[\w.]+\.(?:float|double)\(")  # the first argument of a call
_HANDED = re.compile(r"(?:\b(?:self|cls|[A-Z]\w*)\.|\)\.|[\"'])([^\W\d]\w*)")  # names that may be methods
_MAPPED = re.compile(r"\bvmap\(\s*(\w+)")
_CASTS = re.compile(r"fwd|fp32|float|cast")  # in a decorator's name
_OFF = re.compile(r"enabled\s*=\s*False")
FORWARDS = ("forward", "__call__", "call", "forward_native", "forward_torch", "_forward", "native_forward")
_CALLED = ("forward", "__call__")  # torch and Python call these by themselves
SKIPPED = ("backward", "__init__", "extra_repr", "__repr__", "setup_context", "reset_parameters", "_init_weights")


def entries(module: Module) -> Iterator[Entry]:
    """Yield the methods and functions that reach a reduction, and the module level as an entry of its own."""
    marks = Marks(module.text)
    found = _candidates(module, marks)
    if not found:
        return
    machine = Machine(module, Context({}))
    names = Named(module)
    for piece in found:
        try:
            block = module.block(piece)
        except SyntaxError:
            continue
        for node in definitions(block):
            yield from entries_of(machine, node, names, found[piece])
    yield from top_level(module, [p for p in found if p.kind in ("plain", "compound")])


def _candidates(module: Module, marks: Marks) -> Found:
    if module.begin is not None:
        known = dict(module.begin)
        return {piece: known[piece.span.start] for piece in module.pieces if piece.span.start in known}
    found = candidates(module.text, pieces(module.text), marks)
    if not found.keys() <= set(module.pieces):  # cutting by lines went wrong
        found = candidates(module.text, module.pieces, marks)
    return found


def entries_of(machine: Machine, node: s.Function | s.Class, names: Named, where: Functions) -> Iterator[Entry]:
    """Yield the entries of a definition; `where` names the functions in which a norm may be (None: all)."""
    module = machine.module
    value = machine.define(node, machine.globals, "")
    ref, cls = value.defined(FunctionRef), value.defined(ClassRef)
    if ref is not None and isinstance(node, s.Function):
        decorated = any("vmap" in module.source(decorator.span) for decorator in node.decorators)
        vector = decorated or node.name in names.mapped
        called = names.is_called(node.name) or _recast(machine, node)
        yield Entry(ref.qualname, node.head, ref, called=called and not vector, vector=vector)
    for inner in _inside(module, node):
        if isinstance(inner, s.Class):
            nested = machine.define(inner, machine.globals, f"{node.name}.").defined(ClassRef)
            if nested is not None:
                yield from _methods(module, nested, None)
    if cls is not None:
        yield from _methods(module, cls, where)


def _inside(module: Module, node: s.Function | s.Class) -> Iterator[s.Node]:
    """Yield the nodes of the statements that hold a nested class."""
    places = [match.end() - 1 for match in _CLASS.finditer(module.text, *node.span)]
    for stmt in node.body if places else ():
        if any(stmt.span.start <= at < stmt.span.end for at in places):
            yield from walk(stmt)


def _recast(machine: Machine, node: s.Function) -> bool:
    """Return whether a decorator may change or cast the arguments."""
    module = machine.module
    for decorator in node.decorators:
        func = decorator.func if isinstance(decorator, s.Call) else decorator
        value = machine.eval(machine.globals, func)
        if isinstance(value, Defined) and func is decorator and _leaves(machine, value, node):
            continue
        # a region without autocast leaves the dtypes as they come in
        off = "autocast" in describe(value) and _OFF.search(module.source(decorator.span))
        if isinstance(value, Defined) or (not off and _CASTS.search(describe(value))):
            return True
    return False


def _leaves(machine: Machine, decorator: Defined, node: s.Function) -> bool:
    """Return whether a decorator of the text returns the function unchanged."""
    given = Defined(FunctionRef(node, machine.globals, node.name), node.name)
    found = machine.call(decorator, Args((Given(given, node.head),)), node.head).defined(FunctionRef)
    return found is not None and found.node is node


def _methods(module: Module, cls: ClassRef, where: Functions) -> Iterator[Entry]:
    """Yield the methods that reach a reduction and that no other method of the class calls."""
    methods = [f for f in cls.node.body if isinstance(f, s.Function) and f.name not in SKIPPED]
    have = {m.name for m in methods}
    above = list(cls.lineage())[1:]
    if len(above) >= MOST_ABOVE:
        module.unread.setdefault(cls.qualname, cls.node.span)
        return
    for owner in above:
        inherited = [f for f in owner.node.body if isinstance(f, s.Function) and f.name not in SKIPPED]
        methods += [f for f in inherited if f.name not in have]
        have |= {m.name for m in inherited}
    names = [(m.name, _names(module, m)) for m in methods]
    called = set().union(*(words - {name} for name, words in names))
    ours = set().union(*(words for name, words in names if name in _CALLED))  # `forward` calls `_forward`
    reaching = have if where is None or _handed_on(module, cls, where) else set(where)
    aliased = {
        stmt.value.id
        for stmt in cls.node.body
        if isinstance(stmt, s.Assign) and isinstance(stmt.value, s.Name)
        for target in stmt.targets
        if isinstance(target, s.Name) and target.id in FORWARDS
    }
    for method in methods:
        extended = f"super().{method.name}(" in module.text and is_base(module.text, cls.node.name)
        begun = method.name in _CALLED or (method.name in FORWARDS and method.name not in ours)
        public = (begun or method.name in aliased) and not extended
        own = any(method is stmt for stmt in cls.node.body)
        if not own and method.name == "__call__" and "forward" in have:
            continue  # of a base of all layers
        if method.name in reaching and (public or own):
            ref = FunctionRef(method, cls.env, f"{cls.qualname}.{method.name}", cls)
            fallback = not public and method.name in called
            elsewhere = not public or _recast(Machine(module, Context({})), method)
            yield Entry(ref.qualname, method.head, ref, cls, called=elsewhere, fallback=fallback)


def _handed_on(module: Module, cls: ClassRef, functions: frozenset[str]) -> bool:
    """Return whether one of the functions may be called by another name.

    It may if a constructor or a top-level statement names it, or if the constructor calls a reduction itself.
    """
    made = [f.span for owner in cls.lineage() for f in owner.node.body if getattr(f, "name", "") == "__init__"]
    if "__init__" in functions and any(any_reduction(module.text, span) for span in made):
        return True
    loose = [p.span for p in module.pieces if p.kind in ("plain", "compound")]
    words = {word for span in (*made, *loose) for word in _HANDED.findall(module.text, *span)}
    return not words.isdisjoint(functions)


class Named:
    """The places where the module names its own functions."""

    def __init__(self, module: Module) -> None:
        self._text = module.text
        self._every = module.pieces
        self._starts = [piece.span.start for piece in module.pieces]
        self.mapped = frozenset(_MAPPED.findall(module.text)) if "vmap(" in module.text else frozenset()

    @kept_each
    def is_called(self, name: str) -> bool:
        """Return whether a function has callers: in the text, or elsewhere if its name is private."""
        return name.startswith("_") or any(self._calls(at, name) for at in self._uses(name))

    def _calls(self, place: int, name: str) -> bool:
        """Return whether an offset lies in a class or in another function; one of a test counts if it casts."""
        piece = self._every[bisect_right(self._starts, place) - 1]
        held = piece.kind in ("class", "def") and name not in piece.names and place in range(*piece.span)
        casts = _WIDENED.match(self._text, place + len(name)) is not None
        return held and (casts or not piece.names[0].lower().startswith("test"))

    def _uses(self, name: str) -> Iterator[int]:
        for at in mentions(self._text, name, Span(0, len(self._text))):
            if self._text[at - 1 : at] != "." and self._text[max(at - 4, 0) : at] != "def ":
                yield at


def _names(module: Module, method: s.Function) -> set[str]:
    return set(WORD.findall(_STRING.sub("", module.source(method.span))))


def top_level(module: Module, pieces: list[Piece]) -> Iterator[Entry]:
    """Yield the top-level statements as one entry, if there are any."""
    block: list[s.Stmt] = []
    for piece in pieces:
        try:
            block += [b for b in module.block(piece) if not isinstance(b, s.Function | s.Class)]
        except SyntaxError:
            continue
    if block:
        yield Entry("<module>", block[0].span, None, block=tuple(block), called=True)
