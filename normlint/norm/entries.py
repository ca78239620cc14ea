"""Where evaluation begins: the methods and functions whose text reaches a reduction and a root.

All of it is decided by the text, before anything is parsed: most of what reduces is no norm, and to evaluate it is what
costs. A doubt is a yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from normlint.evaluate import syntax as s
from normlint.evaluate.context import Context
from normlint.evaluate.machine import Machine
from normlint.evaluate.module import REDUCTION, Module, Piece
from normlint.evaluate.objects import ClassRef, FunctionRef
from normlint.evaluate.replay import Entry
from normlint.evaluate.truth import describe
from normlint.evaluate.value import Defined
from normlint.evaluate.walk import definitions, walk
from normlint.norm.names import intent
from normlint.text.finding import Span

_FRACTION = r"\(?\s*-?\s*\(?\s*(?:0?\.\d|1\s*/|[A-Za-z_])"
TIGHT = re.compile(
    r"sqrt|(?<!self\.)\b(?:vector_)?norm\s*\(|normalize\s*\(|\bstd|reciprocal"
    rf"|[\w)\]]\s*\*\*\s*{_FRACTION}|pow_?\s*\(\s*(?:[^()]*,\s*)?-?\s*{_FRACTION}"
)
_DEFINED = re.compile(r"\bdef[ \t]+(\w+)|\bself\.(\w+)[ \t]*=(?![ \t]*(?:nn\.|[A-Z=]))")
_DOC = re.compile(r'"""[\s\S]*?"""')
_GAIN = re.compile(r"\b(?:weights?|gamma|gain|scale|g|w)\b")
_HEAD = re.compile(r"[ \t]*class\b")
ROOT = re.compile(r"sqrt\s*\(|[\w)\]]\s*\*\*\s*-?[\w.(]|(?:pow|norm|normalize|std|std_mean|square)_?\s*\(")
FORWARDS = ("forward", "__call__", "call", "forward_native", "forward_torch", "_forward", "native_forward")
SKIPPED = ("backward", "__init__", "extra_repr", "__repr__", "setup_context", "reset_parameters", "_init_weights")


def entries(module: Module) -> Iterator[Entry]:
    """The methods and functions that reach a reduction, and the statements of the unit itself."""
    marks = _marks(module)
    worthy = _worthy(module, marks)
    if not worthy:
        return
    machine = Machine(module, Context({}))
    for piece in worthy:
        try:
            block = module.block(piece)
        except SyntaxError:
            continue
        for node in definitions(block):
            yield from _entries_of(machine, module, node, marks)
    yield from _top_level(module, [p for p in worthy if p.kind in ("plain", "compound")])


@dataclass(frozen=True, slots=True)
class _Marks:
    """What a stretch of the text shows by its spelling alone."""

    text: str
    defined: frozenset[str]  # names of functions and methods, and of attributes that are set

    def reduces(self, span: Span) -> bool:
        """A reduction; `self.norm(x)` is one only where the text says what `self.norm` is."""
        return any(self._reduction(match) for match in REDUCTION.finditer(self.text, *span))

    def _reduction(self, match: re.Match[str]) -> bool:
        before = self.text[max(match.start() - 12, 0) : match.start()]
        if before.endswith("unicodedata."):
            return False
        word = match.group().rstrip("( \t\n\\")
        return not before.endswith("self.") or word in self.defined

    def roots(self, span: Span) -> bool:
        """A root, an inverse, a fractional power."""
        return TIGHT.search(self.text, *span) is not None

    def may_root(self, span: Span) -> bool:
        """A root, or what stands for one in a norm that takes none."""
        return ROOT.search(self.text, *span) is not None


def _marks(module: Module) -> _Marks:
    return _Marks(_without_docs(module.text), frozenset(a or b for a, b in _DEFINED.findall(module.text)))


def _without_docs(text: str) -> str:
    """The text with its triple-quoted strings blanked; as it is where they don't pair up."""
    if text.count('"""') % 2 or "'''" in text:
        return text
    return _DOC.sub(lambda match: " " * len(match.group()), text)


def _worthy(module: Module, marks: _Marks) -> list[Piece]:
    """Pieces that hold a reduction and a root, themselves or in a function they name; loose statements together."""
    reducing = _reaching(module, marks.reduces)
    if not reducing:
        return []
    rooted = _reaching(module, marks.roots) | {p for p in reducing if _meant(module, p)}
    loose = {p for p in module.pieces if p.kind in ("plain", "compound")}
    if loose & reducing and loose & rooted:
        reducing, rooted = reducing | loose, rooted | loose
    return [p for p in module.pieces if p in reducing and p in rooted and p.kind != "import"]


def _meant(module: Module, piece: Piece) -> bool:
    """A name, or parameters of its own, say that it may be a norm whatever it lacks."""
    if any(_named(name) for name in piece.names):
        return True
    own = _GAIN.search(module.text, *piece.span) if piece.kind == "def" else "Parameter(" in module.source(piece.span)
    return bool(own) and bool(ROOT.search(module.text, *piece.span))


def _named(name: str) -> bool:
    return bool(intent(name)) or "norm" in name.lower()


def _reaching(module: Module, holds: Callable[[Span], bool]) -> set[Piece]:
    """Pieces that show the mark, those that name a function which does, and classes whose base does."""
    found = {p for p in module.pieces if holds(p.span)}
    names = sorted({n for p in found if p.kind in ("def", "class") for n in p.names})
    if names:
        either = "|".join(map(re.escape, names))
        mention = re.compile(rf"(?<![\"'\w])(?:{either})\b(?![\"'])")
        found |= {p for p in module.pieces if p not in found and _names_one(module, p, mention, found)}
    return found


def _names_one(module: Module, piece: Piece, mention: re.Pattern[str], found: set[Piece]) -> bool:
    kinds = {name: other.kind for other in found for name in other.names}
    for match in mention.finditer(module.text, *piece.span):
        if kinds[match.group()] == "def" or piece.kind in ("plain", "compound"):
            return True
        if _HEAD.match(module.text[module.text.rfind("\n", 0, match.start()) + 1 : match.start()]):
            return True
    return False


def _entries_of(machine: Machine, module: Module, node: s.Function | s.Class, marks: _Marks) -> Iterator[Entry]:
    value = machine.define(node, machine.globals, "")
    ref = value.ref if isinstance(value, Defined) else None
    if isinstance(ref, FunctionRef) and isinstance(node, s.Function):
        vector = bool(re.search(rf"\bvmap\(\s*{re.escape(node.name)}\b", module.text))
        called = _is_called(module, node) or _recast(machine, node)
        yield Entry(ref.qualname, node.head, ref, called=called and not vector, vector=vector)
    for inner in walk(node.body):
        if isinstance(inner, s.Class):
            nested = machine.define(inner, machine.globals, f"{node.name}.")
            if isinstance(nested, Defined) and isinstance(nested.ref, ClassRef):
                yield from _methods(module, nested.ref, marks)
    if isinstance(ref, FunctionRef):
        return
    if isinstance(ref, ClassRef):
        yield from _methods(module, ref, marks)


def _is_called(module: Module, node: s.Function) -> bool:
    """Somebody else in the text calls the function, or it is private and its callers are elsewhere."""
    if node.name.startswith("_"):
        return True
    calls = re.finditer(rf"(?<![\w.\"'])(?<!def ){re.escape(node.name)}\b(?![\"'])", module.text)
    pieces = [p for p in module.pieces if p.kind in ("class", "def") and node.name not in p.names]
    held = [p.span for p in pieces if not p.names[0].lower().startswith("test")]
    return any(span.start <= c.start() < span.end for c in calls for span in held)


def _recast(machine: Machine, node: s.Function) -> bool:
    """A decorator of the text, or one that casts: what comes in is not what the caller passes."""
    for decorator in node.decorators:
        func = decorator.func if isinstance(decorator, s.Call) else decorator
        value = machine.eval(machine.globals, func)
        if isinstance(value, Defined) or re.search(r"fwd|autocast|fp32|float|cast", describe(value)):
            return True
    return False


def _methods(module: Module, cls: ClassRef, marks: _Marks) -> Iterator[Entry]:
    """The methods that reach a reduction and that no other method of the class calls."""
    methods = [f for f in cls.node.body if isinstance(f, s.Function) and f.name not in SKIPPED]
    have = {m.name for m in methods}
    for owner in list(cls.lineage())[1:]:
        inherited = [f for f in owner.node.body if isinstance(f, s.Function) and f.name not in SKIPPED]
        methods += [f for f in inherited if f.name not in have]
        have |= {m.name for m in inherited}
    named = {m.name: _names(m) - {m.name} for m in methods}
    called = set().union(*named.values()) if named else set()
    reaching = _closure({m.name for m in methods if marks.reduces(m.span)}, module, named, marks.reduces)
    if not _named(cls.qualname):
        roots = marks.may_root if "Parameter(" in module.source(cls.node.span) else marks.roots
        made = (f for f in cls.node.body if isinstance(f, s.Function) and f.name == "__init__")
        if not any(roots(init.span) for init in made):  # what the constructor roots, any method may give back
            reaching &= _closure({m.name for m in methods if roots(m.span)}, module, named, roots)
    above = re.compile(rf"\bclass[ \t]+\w+\(.*\b{re.escape(cls.node.name)}\b")
    reaching |= {m.name for m in methods if f"super().{m.name}(" in module.source(m.span)}
    for method in methods:
        extended = f"super().{method.name}(" in module.text and bool(above.search(module.text))
        public = method.name in FORWARDS and not extended
        own = any(method is stmt for stmt in cls.node.body)
        if method.name in reaching and (public or own):
            ref = FunctionRef(method, cls.env, f"{cls.qualname}.{method.name}", cls)
            spare = not public and method.name in called
            elsewhere = not public or _recast(Machine(module, Context({})), method)
            yield Entry(ref.qualname, method.head, ref, cls, called=elsewhere, spare=spare)


def _closure(reaching: set[str], module: Module, named: dict[str, set[str]], holds: Callable[[Span], bool]) -> set[str]:
    """Methods that reach the mark through methods and functions they name."""
    functions = (p for p in module.pieces if p.kind == "def" and holds(p.span))
    reaching = reaching.union(n for p in functions for n in p.names)
    while True:
        more = {name for name, uses in named.items() if uses & reaching} - reaching
        if not more:
            return reaching
        reaching |= more


def _names(method: s.Function) -> set[str]:
    nodes = list(walk(method.body))
    return {n.name for n in nodes if isinstance(n, s.Attribute)} | {n.id for n in nodes if isinstance(n, s.Name)}


def _top_level(module: Module, pieces: list[Piece]) -> Iterator[Entry]:
    block: list[s.Stmt] = []
    for piece in pieces:
        try:
            block += [b for b in module.block(piece) if not isinstance(b, s.Function | s.Class)]
        except SyntaxError:
            continue
    if block:
        yield Entry("<module>", block[0].span, None, block=tuple(block), called=True)
