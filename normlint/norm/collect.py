"""Every norm in a module: entries replayed, their products taken apart, the paths of one norm put together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from normlint.evaluate import syntax as s
from normlint.evaluate.context import Context, Flow
from normlint.evaluate.dtypes import DType
from normlint.evaluate.machine import Machine
from normlint.evaluate.module import REDUCTION, Module, Piece
from normlint.evaluate.monomial import Mono, Param
from normlint.evaluate.objects import ClassRef, FunctionRef
from normlint.evaluate.replay import Entry, replay
from normlint.evaluate.truth import describe
from normlint.evaluate.value import Defined, Value
from normlint.evaluate.walk import definitions, walk
from normlint.norm.evidence import is_feature_norm
from normlint.norm.norm import Computation, Norm, Owner
from normlint.norm.owner import owner_of
from normlint.norm.recognise import computation
from normlint.norm.spine import spine
from normlint.text.finding import Span

ROOT = re.compile(r"sqrt\s*\(|\*\*\s*-?[\d.(]|(?:pow|norm|normalize|std|std_mean|square)_?\s*\(")
FORWARDS = ("forward", "__call__", "call", "forward_native", "forward_torch", "_forward", "native_forward")
SKIPPED = ("backward", "__init__", "extra_repr", "__repr__", "setup_context", "reset_parameters", "_init_weights")


def norms(module: Module) -> tuple[Norm, ...]:
    """The norms of a unit, in the order of the text; one for each entry that reaches it."""
    if _elsewhere(module):
        return ()
    found: list[Norm] = []
    ran: set[Span] = set()
    for entry in sorted(entries(module), key=lambda e: e.spare):
        if not entry.spare or _unseen(module, entry, ran):
            try:
                found += _norms_of(module, entry, ran)
            except RecursionError:  # nested deeper than Python follows: opaque
                continue
    return tuple(sorted(found, key=lambda n: (n.span, n.qualname)))


def _unseen(module: Module, entry: Entry, ran: set[Span]) -> bool:
    """A reduction in the entry's text that no replay has come by."""
    if entry.function is None:
        return True
    marks = REDUCTION.finditer(module.text, *entry.function.node.span)
    return any(not any(span.start <= mark.start() < span.end for span in ran) for mark in marks)


_OTHERS = ("numpy", "jax", "tensorflow", "keras", "mlx", "paddle", "cupy", "flax")


def _elsewhere(module: Module) -> bool:
    """Arrays of another library: its norms are not torch's."""
    roots = {path.partition(".")[0] for path in module.imports.values()}
    return "torch" not in roots and "torch" not in module.text and bool(roots & set(_OTHERS))


# --- entries ---------------------------------------------------------------------------------------------------------


def entries(module: Module) -> Iterator[Entry]:
    """The methods and functions that reach a reduction, and the statements of the unit itself."""
    worthy = _worthy(module)
    machine = Machine(module, Context({}))
    for piece in worthy:
        try:
            block = module.block(piece)
        except SyntaxError:
            continue
        for node in definitions(block):
            yield from _entries_of(machine, module, node)
    yield from _top_level(module, [p for p in worthy if p.kind in ("plain", "compound")])


def _worthy(module: Module) -> list[Piece]:
    """Pieces that hold a reduction and a root, themselves or in a function they name; loose statements together."""
    reducing = _reaching(module, REDUCTION)
    rooted = _reaching(module, ROOT) | {p for p in reducing if any("norm" in n.lower() for n in p.names)}
    loose = {p for p in module.pieces if p.kind in ("plain", "compound")}
    if loose & reducing and loose & rooted:
        reducing, rooted = reducing | loose, rooted | loose
    return [p for p in module.pieces if p in reducing and p in rooted and p.kind != "import"]


def _reaching(module: Module, mark: re.Pattern[str]) -> set[Piece]:
    """Pieces that match, and those that name a function or class which does."""
    found = {p for p in module.pieces if mark.search(module.text, *p.span)}
    names = {n for p in found if p.kind in ("def", "class") for n in p.names}
    if names:
        mention = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")
        found |= {p for p in module.pieces if mention.search(module.text, *p.span)}
    return found


def _entries_of(machine: Machine, module: Module, node: s.Function | s.Class) -> Iterator[Entry]:
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
                yield from _methods(module, nested.ref)
    if isinstance(ref, FunctionRef):
        return
    if isinstance(ref, ClassRef):
        yield from _methods(module, ref)


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


def _methods(module: Module, cls: ClassRef) -> Iterator[Entry]:
    """The methods that reach a reduction and that no other method of the class calls."""
    methods = [f for f in cls.node.body if isinstance(f, s.Function) and f.name not in SKIPPED]
    have = {m.name for m in methods}
    for owner in list(cls.lineage())[1:]:
        inherited = [f for f in owner.node.body if isinstance(f, s.Function) and f.name not in SKIPPED]
        methods += [f for f in inherited if f.name not in have]
        have |= {m.name for m in inherited}
    named = {m.name: _names(m) - {m.name} for m in methods}
    called = set().union(*named.values()) if named else set()
    reaching = _closure({m.name for m in methods if REDUCTION.search(module.text, *m.span)}, module, named)
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


def _closure(reaching: set[str], module: Module, named: dict[str, set[str]]) -> set[str]:
    """Methods that reach a reduction through methods and functions they name."""
    functions = (p for p in module.pieces if p.kind == "def" and REDUCTION.search(module.text, *p.span))
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


# --- norms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    flow: Flow
    computation: Computation
    origin: Flow  # the first product with this statistic and input
    made: Flow  # the first that is complete


def _norms_of(module: Module, entry: Entry, ran: set[Span]) -> Iterator[Norm]:
    places: dict[tuple[Span, Span, str], list[_Found]] = {}
    attrs: dict[str, Value] = {}
    for path in replay(module, entry):
        attrs = attrs or path.attrs
        ran |= path.context.ran
        for found in _best(path.context):
            key = found.computation.statistic.span, found.origin.span, _qualname(entry, found)
            places.setdefault(key, []).append(found)
    owners: dict[str, Owner] = {}
    for group in _merged(entry, places):
        name = _qualname(entry, group[0])
        if name not in owners:
            owners[name] = _owner(module, entry, name, attrs)
        norm = _norm(entry, name, owners[name], group)
        if norm is not None:
            yield norm


def _best(context: Context) -> Iterator[_Found]:
    """For each statistic and input the most complete product: what is returned, else the last and largest."""
    best: dict[tuple[Span, Mono], _Found] = {}
    for flow in context.flows:
        c = computation(flow, context)
        if c is None:
            continue
        old = best.get((c.statistic.span, c.input))
        if old is None:
            best[c.statistic.span, c.input] = _Found(flow, c, flow, flow)
            continue
        made = flow if _richness(c) > _richness(old.computation) else old.made
        if _rank(c) > _rank(old.computation):
            best[c.statistic.span, c.input] = _Found(flow, c, old.origin, made)
    yield from best.values()


def _rank(c: Computation) -> tuple[bool, int]:
    return (c.returned, _richness(c))


def _richness(c: Computation) -> int:
    """How much of a norm's last product is there."""
    bias = c.shift is not None and all(isinstance(f.atom, Param) for f in c.shift.factors)  # no residual
    return len(c.gains) + len(c.counts) + bias


def _qualname(entry: Entry, found: _Found) -> str:
    """The entry's name where it gives the norm back; else that of the function that made it."""
    owner = found.origin.owner
    return entry.qualname if found.computation.returned or owner == "<module>" else owner


def _merged(entry: Entry, places: dict[tuple[Span, Span, str], list[_Found]]) -> Iterator[list[_Found]]:
    """The paths of one norm: by place; what a forward returns in several ways is one norm."""
    returned: dict[tuple[str, str, Mono], list[_Found]] = {}
    for (_, _, name), group in places.items():
        if entry.function is not None and any(f.computation.returned for f in group):
            c = group[0].computation
            returned.setdefault((name, c.kind, c.input), []).extend(group)
        else:
            yield group
    yield from returned.values()


def _owner(module: Module, entry: Entry, name: str, attrs: dict[str, Value]) -> Owner:
    subclassed = entry.cls is not None and _is_base(module, entry.cls.node.name)
    # a quantised copy takes its weights over from a trained model
    reinitialised = "_init_weights" in module.text or "quant_mode" in module.text
    return owner_of(entry, name, attrs, reinitialised=reinitialised, subclassed=subclassed)


def _norm(entry: Entry, name: str, owner: Owner, group: list[_Found]) -> Norm | None:
    meant = (f for f in group if is_feature_norm(f.computation, owner))
    kept = _unique(replace(_intended(f.computation, owner), joined=f.origin.span) for f in meant)
    if not owner.method and owner.intent not in ("rms", "layer") and not any(c.gains for c in kept):
        kept = tuple(replace(c, entered=DType.UNKNOWN) for c in kept)  # a helper, whose callers may cast
    if not kept:
        return None
    return Norm(kept[0].kind, name, group[0].made.span, spine(kept[0]), owner, kept, entry.called)


def _is_base(module: Module, name: str) -> bool:
    """Another class of the text derives from it."""
    return bool(re.search(rf"^[ \t]*class[ \t]+\w+\(.*\b{re.escape(name)}\b", module.text, re.MULTILINE))


def _intended(c: Computation, owner: Owner) -> Computation:
    """A sum of squares is an L2 norm, unless the name says RMS."""
    return replace(c, kind="rms") if c.kind == "l2" and owner.intent == "rms" else c


def _unique(found: Iterable[Computation]) -> tuple[Computation, ...]:
    return tuple(dict.fromkeys(found))
