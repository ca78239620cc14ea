"""Find every norm in a module: evaluate its entries, take their products apart and join the paths of each norm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from normlint.evaluate import syntax as s
from normlint.evaluate.context import Context, Flow
from normlint.evaluate.dtypes import FLOATS, HALVES, DType
from normlint.evaluate.entry import GAINS, Entry
from normlint.evaluate.module import Module
from normlint.evaluate.monomial import ONCE, Apply, Atom, Input, Mono, Offset, Param
from normlint.evaluate.replay import replay
from normlint.evaluate.value import Constant, Product, Tup, Value
from normlint.norm.blocks import OTHERS, STORING, reinitialises
from normlint.norm.entries import entries
from normlint.norm.evidence import gain_is_last, is_feature_norm, lies_elsewhere
from normlint.norm.norm import Computation, Eps, Gain, Norm, Owner
from normlint.norm.owner import can_be_undone, constructors, keeps_data, loses_its_result, owner_of, undoes
from normlint.norm.placing import placing
from normlint.norm.recognise import computation, deep_steps, entangled, without_shift
from normlint.norm.spine import sentence, spine
from normlint.norm.units import is_base
from normlint.text.finding import Covered, Span
from normlint.text.frozen import dataclass, replace
from normlint.text.marks import reductions
from normlint.text.pieces import COMMENT, without_forward

_TORCH = re.compile(r"\btorch\b")
_NUMPY = re.compile(r"^[ \t]*(?:import|from) numpy\b|\.numpy\(", re.MULTILINE)
_OF_TORCH = re.compile(
    r"\btorch\b|\bF\.|Tensor\b|\.(?:float|pow|to|type_as|rsqrt|half|double|bfloat16|unsqueeze|dim|size|new_\w+)\("
)
_RECEIVES = re.compile(r"\bdef __call__\(|\bself\.register_forward_pre_hook\(")  # what may cast before forward
_CASTS = re.compile(r"\.float\(|\.to\(|float32")
_TORCHS = re.compile(r"torch(?<=\btorch)\.(\w+)")


def norms(module: Module) -> tuple[Norm, ...]:
    """Return the norms of a unit in the order of the text, one for each entry that reaches it."""
    if _uses_other_arrays(module):
        return ()
    ran: set[Span] = set()
    begun = [_with_use(module, entry) for entry in entries(module)]
    found: list[tuple[int, Norm]] = []
    for number, entry in enumerate(sorted(begun, key=lambda e: e.fallback)):
        if not entry.fallback or _has_unreached(module, entry, ran):
            try:
                found += ((number, norm) for norm in _norms_of(module, entry, ran))
            except RecursionError:  # deeply nested expressions in deeply nested calls
                module.unread.setdefault(entry.qualname, entry.span)
    for span in module.deep:
        _record_unread(module, begun, span)
    return tuple(n for _, n in sorted(found, key=lambda one: (one[1].span, one[1].qualname, one[0])))


def _with_use(module: Module, entry: Entry) -> Entry:
    """Return the entry with what its callers tell about it, unless a flag makes its class more than one norm."""
    use = dict(module.uses).get(entry.cls.qualname) if entry.cls and module.uses else None
    if use is None or entry.cls is None or not entry.qualname.endswith((".forward", ".__call__")):
        return entry
    params = next((init.params[1:] for init in constructors(entry.cls)), ())
    if any(isinstance(p.default, s.Literal) and isinstance(p.default.value, bool | str | None) for p in params):
        return entry
    wide = params[use.wide : use.wide + 1] if use.wide is not None else ()
    return replace(entry, use=use, wide=wide[0].name if wide else "")


def _record_unread(module: Module, begun: Iterable[Entry], deep: Span) -> None:
    """Record as unread the entry, or else the top-level statement, that holds code nested too deeply."""
    for entry in begun:
        node = entry.function.node.span if entry.function else entry.span
        if node.start <= deep.start and deep.end <= node.end:
            module.unread.setdefault(entry.qualname, entry.span)
            return
    for piece in module.pieces:
        if piece.span.start <= deep.start < piece.span.end and piece.kind != "import":
            module.unread.setdefault(piece.names[0] if piece.names else "<module>", piece.span)


def _has_unreached(module: Module, entry: Entry, ran: set[Span]) -> bool:
    """Return whether the entry's text has a reduction that no evaluated path has reached."""
    if entry.function is None:
        return True
    marks = reductions(module.text, entry.function.node.span)
    covered = Covered(ran)
    return any(mark not in covered for mark in marks)


def _uses_other_arrays(module: Module) -> bool:
    """Return whether the arrays are another library's or the project's own, so that the norms are not torch's."""
    roots = {path.partition(".")[0] for path in module.imports.values()}
    # Without torch, a class of these names comes from a library that has tensors of its own.
    if roots.isdisjoint(OTHERS) and module.imports.keys().isdisjoint(("Tensor", "Parameter", "Module")):
        return False
    used = {path.split(".")[1] for path in module.imports.values() if path.startswith("torch.")}
    used.update(_TORCHS.findall(module.text))
    absent = "torch" not in roots and not _TORCH.search(module.text)
    return absent or (bool(used) and used <= STORING)


# --- norms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    flow: Flow
    computation: Computation
    origin: Flow  # the first product with this statistic and input
    made: Flow  # the first product that is complete
    decisions: Mapping[str, bool]  # the outcomes of tests on its path


def _norms_of(module: Module, entry: Entry, ran: set[Span]) -> Iterator[Norm]:
    places: dict[tuple[Span, Span, str], list[_Found]] = {}
    attrs: dict[str, Value] = {}
    keeps = undone = back = wide = False
    passing: set[bool] = set()  # for each path with a norm, whether it returns its input instead
    idle: set[tuple[Mono, bool]] = set()
    for path in replay(module, entry):
        attrs = {**path.attrs, **{name: v for name, v in attrs.items() if v != Constant(None)}}
        keeps = keeps or keeps_data(path.attrs, path.result)
        results = path.result.items if isinstance(path.result, Tup) else ()
        wide = wide or _is_wide(path.context, results[0] if results else path.result)
        several = ((*path.attrs.values(), *results), *(one.items for one in path.context.returned_tuples))
        undone = undone or any(map(can_be_undone, several))
        back = back or any(undoes(flow.product.mono) for flow in path.context.flows)
        ran |= path.context.ran
        for one in _best(path.context, idle):
            if _of_numpy(module, entry, one.computation):
                continue
            kept = not any(note.kind == "view changed" for note in path.context.notes)
            passing.add(kept and all(map(_is_input, results or (path.result,))))
            found = _with_gain(entry, _as_called(entry, _with_written_eps(module.text, one)))
            key = found.computation.statistic.span, found.origin.span, _qualname(entry, found)
            places.setdefault(key, []).append(found)
    owners: dict[str, Owner] = {}
    norms: list[Norm] = []
    read = [f.computation for several in places.values() for f in several if not f.computation.fused]
    learned = {name for c in read for name in c.learned}
    for group in _merged(entry, places):
        name = _qualname(entry, group[0])
        if name not in owners:
            owner = _owner(module, entry, name, group[0].origin.owner, attrs)
            handed = tuple(p for p in owner.handed_params if p.name not in learned)
            owners[name] = replace(
                owner, handed_params=handed, keeps=keeps, undone=undone, brought_back=back, passes=passing == {True}
            )
        norm = _norm(module, entry, name, owners[name], group)
        norms += [norm] if norm is not None else []
    yield from (replace(norm, wide=wide) for norm in _compared(norms, entry))


def _compared(norms: list[Norm], entry: Entry) -> Iterator[Norm]:
    """Yield the norms of an entry with `factor` and `either`, which depend on the entry's other norms."""
    kinds: dict[str, set[str]] = {}
    for norm in norms:
        kinds.setdefault(norm.qualname, set()).update([norm.kind] if norm.main.returned else [])
    factor = not any(c.returned for norm in norms for c in norm.computations)
    for norm in norms:
        yield replace(norm, factor=factor and norm.qualname == entry.qualname, either=len(kinds[norm.qualname]) > 1)


def _of_numpy(module: Module, entry: Entry, c: Computation) -> bool:
    """Return whether numpy's `keepdims` is passed, in a function that names no torch, near code that uses numpy."""
    start, end = c.statistic.span
    if entry.cls is not None or "keepdims" not in module.text[start:end]:
        return False
    near = module.text[max(module.text.rfind("def ", 0, start), 0) : end]
    whole = next((module.source(p.span) for p in module.pieces if p.span.start <= start < p.span.end), near)
    aliases = [name for name, path in module.imports.items() if path.partition(".")[0] == "numpy"]
    return any(f"{name}." in whole for name in aliases) and re.search(r"\btorch\b|\bF\.", near) is None


def _is_wide(context: Context, result: Value | None) -> bool:
    """Return whether the result is fp32 or wider on a path where the input and the gain may both be halves."""
    halves = all(context.possible.get(of, FLOATS) & HALVES for of in (DType.INPUT, DType.PARAM))
    return halves and isinstance(result, Product) and result.dtype.wide


def _is_input(result: Value | None) -> bool:
    """Return whether the result is the unchanged input, at most times and plus parameters, and was fully read."""
    mono = result.mono if isinstance(result, Product) else Mono()
    atom = mono.only
    terms = atom.args if isinstance(atom, Apply) and atom.name == "+" else (mono,)
    kinds = [[type(f.atom) for f in term.factors] for term in terms if isinstance(term, Mono)]
    known = len(kinds) == len(terms) and all(kind in (Input, Param, Offset) for term in kinds for kind in term)
    return known and sum(term.count(Input) for term in kinds) == 1


def _best(context: Context, idle: set[tuple[Mono, bool]]) -> Iterator[_Found]:
    """Yield the most complete product of each statistic and input: a returned one, or else the last and largest.

    `idle` collects the products that are no norms, so that later paths skip them.
    """
    best: dict[tuple[Span, Mono], _Found] = {}
    vain: dict[Mono, set[Atom]] = {}
    for flow in context.flows:
        key = flow.product.mono, flow.returned
        c = None if key in idle else computation(flow, context)
        if c is None:
            idle.add(key)
            vain[flow.product.mono] = {f.atom for f in flow.product.mono.factors}
            continue
        old = best.get((c.statistic.span, c.input))
        if old is None:
            best[c.statistic.span, c.input] = _Found(flow, c, flow, flow, context.decisions)
            continue
        made = flow if _richness(c) > _richness(old.computation) else old.made
        if _rank(c) > _rank(old.computation):
            best[c.statistic.span, c.input] = _Found(flow, c, old.origin, made, context.decisions)
    for one in best.values():
        c = one.computation
        places = placing(c.statistic, c.centre, c.gains, context, learned=c.scaled)
        laid = c.statistic.layout
        met = one.origin.product.layout == laid
        alike = met and one.flow.product.layout[: len(laid)] == laid
        atoms = {f.atom for f in one.flow.product.mono.factors}
        part = any(atoms <= whole and entangled(mono) for mono, whole in vain.items())
        unread = c.unread | ({"power", "scale"} if part else set())
        tests = frozenset(one.decisions.items())
        c = replace(c, placing=places, layout_matches=met and c.layout_matches, laid_alike=alike, apart=not met)
        c = replace(c, unread=unread, tests=tests, needed=tests)
        yield replace(one, computation=c)


_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?|-?\d+\.", re.IGNORECASE)


def _is_written(text: str, eps: Eps) -> bool:
    return eps.value is not None and _NUMBER.fullmatch(text, *eps.at) is not None


def _with_written_eps(text: str, found: _Found) -> _Found:
    """Mark each eps that is written as a number at its place in the text."""
    eps = tuple(replace(e, written=_is_written(text, e)) for e in found.computation.eps)
    return replace(found, computation=replace(found.computation, eps=eps)) if eps else found


def _as_called(entry: Entry, found: _Found) -> _Found:
    """Return the computation without what only a caller's flag causes: an output in fp32, or an eps of 0."""
    left_out = {p.name for p in entry.params if p.optional}
    values = {p.name: p.default.value for p in entry.params if isinstance(p.default, s.Literal)}
    flags = {name: default for name, default in values.items() if default in (True, False)}
    if any(found.decisions.get(name, default) is not default for name, default in flags.items()):
        found = replace(found, computation=replace(found.computation, output=DType.UNKNOWN))
    if not any(found.decisions.get(f"{name} is None") is False for name in left_out):
        return found
    names = {p.name for p in entry.params}
    eps = tuple(replace(e, default=None) if e.default == 0 and e.name in names else e for e in found.computation.eps)
    return replace(found, computation=replace(found.computation, eps=eps))


def _with_gain(entry: Entry, found: _Found) -> _Found:
    """Read another argument of a function as the gain if the function returns the norm of one argument times that."""
    c = found.computation
    channels = c.statistic.axes == (1,) and all(e.how == "add" for e in c.eps)  # a floor may be a threshold
    if entry.function is None or entry.cls is not None or c.gains or not (c.returned and c.eps):
        return found
    if not c.over_last and not channels:
        return found
    if any(p.name.lower() in GAINS for p in entry.params[1:]):
        return found  # that is the gain, and the other one a gate
    own = {Input(p.name) for p in entry.params[1:]}
    product = without_shift(found.flow.product.mono)[0]
    given = [f for f in product.factors if _argument(f.atom) in own and f.atom in c.others]
    if len(given) != 1 or given[0].power != 1:
        return found
    atom, argument = given[0].atom, _argument(given[0].atom)
    offset = atom.constant if isinstance(atom, Offset) else None
    parameter = Param(argument.name if argument else "", "unknown", axis="other" if channels else "last")
    gain = Gain(parameter, offset, ONCE, given[0].span)
    others = tuple(other for other in c.others if other != atom)
    unread = c.unread if any(isinstance(other, Input) for other in others) else c.unread - {"scale"}
    return replace(found, computation=replace(c, gains=(gain,), others=others, unread=unread))


def _argument(atom: Atom) -> Input | None:
    """Return the function's argument that an atom is, or that it is one plus; None for other atoms."""
    inner = atom.inner.factors if isinstance(atom, Offset) else ()
    base = inner[0].atom if len(inner) == 1 and inner[0].power == 1 else atom
    return base if isinstance(base, Input) else None


def _rank(c: Computation) -> tuple[bool, int]:
    return (c.returned, _richness(c))


def _richness(c: Computation) -> int:
    """Return how many gains, counts and biases the product has, which says how complete a norm it is."""
    bias = c.shift is not None and all(isinstance(f.atom, Param) for f in c.shift.factors)  # no residual
    return len(c.gains) + len(c.counts) + bias


def _qualname(entry: Entry, found: _Found) -> str:
    """Return the entry's name if it returns the norm, or else that of the function that made it."""
    owner = found.origin.owner
    return entry.qualname if found.computation.returned or owner == "<module>" else owner


def _merged(entry: Entry, places: dict[tuple[Span, Span, str], list[_Found]]) -> Iterator[list[_Found]]:
    """Yield the paths of each norm: those at one place, and all that a function returns of one input."""
    returned: dict[tuple[str, str, Mono], list[_Found]] = {}
    for (_, _, name), group in places.items():
        if entry.function is not None and any(f.computation.returned for f in group):
            c = group[0].computation
            returned.setdefault((name, c.kind, c.input), []).extend(group)
        else:
            yield group
    yield from returned.values()


def _owner(module: Module, entry: Entry, name: str, maker: str, attrs: dict[str, Value]) -> Owner:
    own = entry.cls.node.name if entry.cls is not None else ""
    subclassed = own in module.read or is_base(module.text, own)
    reinitialised = reinitialises(module.text) if module.reinitialised is None else module.reinitialised
    owner = owner_of(entry, name, maker, attrs, reinitialised=reinitialised, subclassed=subclassed)
    unused, handed = (
        tuple(p for p in several if not read_elsewhere(module, p.name))
        for several in (owner.unused_params, owner.handed_params)
    )
    groups = owner.unused_groups
    if groups is not None and read_elsewhere(module, module.source(groups).rpartition(".")[2]):
        groups = None
    loses = owner.module and loses_its_result(entry, module)
    return replace(owner, unused_params=unused, handed_params=handed, unused_groups=groups, loses=loses)


def read_elsewhere(module: Module, name: str) -> bool:
    """Return whether an attribute is read from another object than `self`, or by a function outside of classes."""
    read = name in module.read or is_base(module.text, name)
    used = re.compile(rf"(?<!\bself)\.{name}\b|\bgetattr\([^()]*[\"']{name}[\"']")
    if read or (used.search(module.text) and used.search(COMMENT.sub("", module.text))):
        return True
    loose = (module.source(piece.span) for piece in module.pieces if piece.kind == "def")
    return any(re.search(rf"\bself\.{name}\b", text) for text in loose)


def _may_be_of_arrays(module: Module, owner: Owner) -> bool:
    """Return whether a function names nothing of torch, calls methods as numpy spells them, and numpy is imported."""
    if owner.method or "keepdims" not in module.text:
        return False
    own = next((module.source(piece.span) for piece in module.pieces if piece.span.holds(owner.span)), "")
    return "keepdims" in own and bool(_NUMPY.search(module.text)) and not _OF_TORCH.search(own)


def _norm(module: Module, entry: Entry, name: str, owner: Owner, group: list[_Found]) -> Norm | None:
    if _may_be_of_arrays(module, owner):
        return None
    both = _with_moved_gain(group)
    meant = (f for f in group if f.computation.statistic.span not in both and is_feature_norm(f.computation, owner))
    kept = _unique(replace(_intended(f.computation, owner), joined=f.origin.span, grad=f.origin.grad) for f in meant)
    bare = not owner.method and owner.intent not in ("rms", "layer") and not any(c.gains or c.casts for c in kept)
    body = module.source(entry.cls.node.span) if entry.cls is not None else ""
    if bare or ("def forward(" in body and _RECEIVES.search(body) and _CASTS.search(without_forward(body))):
        kept = tuple(replace(c, entered=DType.UNKNOWN) for c in kept)  # a helper, whose callers may cast
    if not kept:
        return None
    text = spine(kept[0])
    words = sentence(kept[0], grouped=owner.intent == "groups")
    return Norm(kept[0].kind, name, group[0].made.span, text, owner, kept, entry.called, words)


def _with_moved_gain(group: list[_Found]) -> set[Span]:
    """Return the statistics whose gains lie along the last axis on one path and along another axis on another path."""
    several = [f.computation for f in group]
    return {c.statistic.span for c in several if lies_elsewhere(c)} & {
        c.statistic.span for c in several if gain_is_last(c)
    }


def _intended(c: Computation, owner: Owner) -> Computation:
    """Read a sum of squares as an L2 norm unless the name says RMS; one of x − mean, unless it says RMS or layer.

    Of group and instance norms it isn't known which axes are meant, nor whether they are run in halves.
    """
    if owner.intent == "groups":
        return replace(c, unread=c.unread | {"axes", "keepdim", "scale", "dtype"})
    if c.kind == "layer" and c.is_length and owner.intent not in ("rms", "layer"):
        return replace(c, kind="l2")
    return replace(c, kind="rms") if c.kind == "l2" and owner.intent == "rms" else c


def _unique(found: Iterable[Computation]) -> tuple[Computation, ...]:
    """Drop repeated computations; branches that write the formula twice, use other dtypes or detach it stay two."""

    def key(c: Computation) -> tuple[object, ...]:
        steps = (*c.own_steps(), *deep_steps(c.statistic.inner.factors))
        cut = any(s.op == "detach" for s in steps)
        return c, c.statistic.span, c.statistic.square, c.statistic.accumulate, cut

    kept: dict[object, Computation] = {}
    needed: dict[tuple[object, ...], frozenset[tuple[str, bool]]] = {}
    for c in found:
        needed[key(c)] = needed.get(key(c), c.needed) & c.needed
        shift = [f.atom.init for f in (c.shift.factors if c.shift else ()) if isinstance(f.atom, Param)]
        first = (*(g.param.init for g in c.gains), *shift)  # an option may choose it
        kept[key(c), first] = c
    return tuple(replace(c, needed=needed[key(c)]) for c in kept.values())
