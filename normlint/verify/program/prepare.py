"""From a recognised norm to a job: the class or function that is the norm, or only its own lines."""

from __future__ import annotations

import os
import re
import textwrap
from dataclasses import dataclass, replace
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.lower import lower
from normlint.evaluate.monomial import Apply, Atom, Input, Mono, Offset, Param, Plus
from normlint.evaluate.walk import definitions
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Span
from normlint.text.raw import PYTHON
from normlint.text.source import Source, Unit
from normlint.verify.job import Job, Meaning
from normlint.verify.program.lines import free, lines_of
from normlint.verify.program.meaning import along_features, meaning, open_question
from normlint.verify.program.place import function_in, input_name, product_of
from normlint.verify.program.surroundings import FUNCTION, Surroundings, holds, surroundings

_GATES: Final = ("gate", "z", "scale", "shift", "bias", "beta", "residual", "skip")
_FOLDED: Final = re.compile(
    r"\b(?:view|reshape|unflatten)\((?:(?!\bview\(|\breshape\().)*?(?:\bself\.|[ (](?:[2-9]|\d\d+)\b)"
)
_AXES: Final = ("dim", "dims", "axis")


@dataclass(frozen=True)
class _Definition:
    """What a qualified name means: how a program calls the class or function, or its text where it stands inside."""

    entry: str
    method: str = ""
    function: s.Function | None = None  # None: in another file
    lifted: str = ""


@dataclass(frozen=True)
class _File:
    """The text of a norm."""

    around: Surroundings
    norm: Norm


def prepare(source: Source, unit: Unit, norm: Norm) -> Job:
    """What to run to verify a norm of `unit`; nothing of it is run here."""
    meant = meaning(norm, unit.text)
    if unclear := _of_a_test(source.path, norm.qualname) or open_question(norm, unit.text):
        return Job(norm.qualname, meant, needs=unclear)
    claims = norm.meant or bool(meant.gain) or norm.owner.intent not in ("", "other")
    try:
        job = _job(_File(surroundings(source, unit), norm), meant)
        return job.claiming(claims, folded=_is_folded(norm, unit.text))
    except (RecursionError, MemoryError):
        return Job(norm.qualname, meant, needs="code that is nested less deeply")
    except SyntaxError:
        return Job(norm.qualname, meant, needs="code that parses")


def _is_folded(norm: Norm, text: str) -> bool:
    """Whether the axes that are reduced aren't known, or were reshaped by numbers of the text or the constructor."""
    if norm.main.statistic.axes is None:
        return True
    views = (move[1] for move in norm.main.statistic.layout if move[0] == "view")
    return any(isinstance(span, Span) and _FOLDED.search(text, *span) for span in views)


def _of_a_test(path: str, qualname: str) -> str:
    """Test code has norms that are wrong on purpose, and references in another precision."""
    file = os.path.basename(path)
    tests = (
        file.startswith(("test_", "conftest")) or file.endswith("_test.py") or qualname.startswith(("test_", "Test"))
    )
    return "a norm outside of tests" if tests else ""


def prepare_to_execute(source: Source, unit: Unit, norm: Norm) -> Job:
    """The same, to be imported from its file where it is the class or function of one."""
    job = prepare(source, unit, norm)
    if source.kind != PYTHON or unit.snippet or not source.path.endswith(".py"):
        return job
    return _executed(job, os.path.abspath(source.path))


def _executed(job: Job, path: str) -> Job:
    fallback = job.fallback and _executed(job.fallback, path)
    *owners, name = job.qualname.split(".")
    whole = bool(job.program) and (job.entry != FUNCTION or (name == FUNCTION and not owners))
    if not whole:
        return replace(job, fallback=fallback)
    return replace(job, entry=".".join(owners) if job.method else name, module=path, fallback=fallback)


def prepare_rewritten(source: Source, unit: Unit, norm: Norm, old: Unit) -> Job:
    """What to run where a norm of the unit `old` is no norm in `unit` any more, but what it was is still meant."""
    meant = meaning(norm, old.text)
    place = _moved(norm, Surroundings(old.text), Surroundings(unit.text))
    none = Job(norm.qualname, meant, needs="a definition of its own")
    if place is None or not any(c.returned for c in norm.computations):
        return none
    moved = replace(norm, span=place, owner=replace(norm.owner, span=place))
    return _whole(_File(surroundings(source, unit), moved), meant) or none


def _moved(norm: Norm, before: Surroundings, after: Surroundings) -> Span | None:
    """Where the function that holds the norm stands now: of those with its name the one with its number."""
    was, now = (around.functions(norm.qualname.rpartition(".")[2]) for around in (before, after))
    held = [at for at, n in enumerate(was) if holds(n.span, norm.span)]
    return now[held[-1]].span if held and len(was) == len(now) else None


def _job(file: _File, meant: Meaning) -> Job:
    norm, whole = file.norm, _whole(file, meant)
    if whole is None or whole.needs:
        lines = lines_of(file.around, norm, meant)
        return lines if whole is None or not lines.needs else whole
    if norm.owner.passes or not whole.method:
        return whole  # what passes its input on has lines that are right, and not what it gives
    lines = lines_of(file.around, norm, meant)
    returned = all(c.returned for c in norm.computations) and not norm.helper
    if not lines.needs and not (returned and (norm.owner.intent or norm.meant)) and not _named(norm):
        return replace(lines, fallback=whole)
    return replace(whole, fallback=None if lines.needs else lines)


def _named(norm: Norm) -> bool:
    """What is called a norm is run as a whole, whatever else it does: where that is too much, its own lines are."""
    return norm.owner.intent in ("rms", "layer")


# --- the whole definition --------------------------------------------------------------------------------------------


def _whole(file: _File, meant: Meaning) -> Job | None:
    """The class or function as it stands, where it gives the norm of its own argument back."""
    norm, found = file.norm, _definition(file)
    if found is None:
        return None
    names = None if found.function is None else [p.name for p in found.function.params]
    if not found.method and names and names[0] == "self":
        return None  # a method that is put into a class elsewhere
    given = _input(file, names, found)
    if given is None and not (found.method and _named(norm)):
        return None
    job = Job(norm.qualname, meant, found.lifted, found.entry, found.method, given or "", axis=_open_axis(norm, found))
    others = [atom for atom in norm.main.others if not _is_left_out(atom, meant.gain, found.function)]
    more = given is None or norm.either or not norm.main.returned or bool(others)
    job = replace(job, more=more and not norm.owner.passes)
    names = sorted(free(lower(found.lifted))) if found.lifted else [found.entry.partition(".")[0]]
    return None if file.around.missing(names) else file.around.job(job, names)


def _is_left_out(atom: Atom, gain: str, function: s.Function | None) -> bool:
    """It is the gain, or a call leaves it out: it comes of arguments that are None by default."""
    none = {
        p.name
        for p in (function.params if function else ())
        if isinstance(p.default, s.Literal) and p.default.value is None
    }
    return _names(atom) <= ({gain} if isinstance(atom, Input) else set()) | none and bool(_names(atom))


def _names(atom: Atom) -> set[str]:
    """The arguments that a gate is made of."""
    match atom:
        case Input(name=name):
            return {name}
        case Apply(args=args):
            return {name for arg in args if isinstance(arg, Mono) for f in arg.factors for name in _names(f.atom)}
    return set()


def _open_axis(norm: Norm, found: _Definition) -> str:
    """The name of the parameter for the reduced axes, where its default is all of them; "" if there is none."""
    params = found.function.params if found.function and norm.main.statistic.axes is None else ()
    return next((p.name for p in params if p.name in _AXES and isinstance(p.default, s.Literal)), "")


def _definition(file: _File) -> _Definition | None:
    """What the norm's qualified name means; what stands in a function is lifted out of it."""
    *owners, name = file.norm.qualname.split(".")
    if name == "<module>":
        return None
    chain = _chain(file, [*owners, name]) or _chain(file, owners)
    if not chain or (not owners and not isinstance(chain[-1], s.Function)):
        return None
    function = chain[-1] if isinstance(chain[-1], s.Function) and len(chain) == len(owners) + 1 else None
    if function is None and isinstance(chain[-1], s.Function):
        return None
    holders = chain[:-1] if function else chain
    if not holders or isinstance(holders[-1], s.Function):
        return _Definition(name, "", function, _lifted(file, function) if holders and function else "")
    cls = holders[-1]
    while base := _only_base(file, cls):
        cls = base
    holders = [*holders[:-1], cls]
    function = function or _inherited(file, cls, name)
    if any(isinstance(one, s.Function) for one in holders):
        return _Definition(cls.name, name, function, _lifted(file, cls))
    return _Definition(".".join(one.name for one in holders), name, function)


def _chain(file: _File, names: list[str]) -> list[s.Class | s.Function]:
    """The definitions that a dotted name leads through, [] where there is none."""
    found: list[s.Class | s.Function] = []
    block = file.around.defining(names[0]) if names else ()
    for name in names:
        same = [one for one in definitions(block) if one.name == name]
        if not same:
            return []
        found.append(next((one for one in same if holds(one.span, file.norm.span)), same[-1]))
        block = found[-1].body
    return found


def _inherited(file: _File, cls: s.Class, name: str) -> s.Function | None:
    """The method of a base class of the same text."""
    for base in cls.bases:
        above = _chain(file, [base.id]) if isinstance(base, s.Name) and base.id != cls.name else []
        if above and isinstance(above[0], s.Class):
            own = [one for one in above[0].body if isinstance(one, s.Function) and one.name == name]
            return own[-1] if own else _inherited(file, above[0], name)
    return None


def _only_base(file: _File, cls: s.Class | s.Function) -> s.Class | None:
    """The base of a class that has nothing of its own, where it stands in the same text."""
    if not isinstance(cls, s.Class) or len(cls.bases) != 1 or not isinstance(cls.bases[0], s.Name) or cls.decorated:
        return None
    own = [one for one in cls.body if not (isinstance(one, s.Evaluate) and isinstance(one.value, s.Literal))]
    above = _chain(file, [cls.bases[0].id]) if not own else []
    return above[0] if above and isinstance(above[0], s.Class) and above[0].name != cls.name else None


def _lifted(file: _File, node: s.Class | s.Function) -> str:
    """The text of a definition without what it stands in."""
    text = file.around.text
    start = text.rfind("\n", 0, node.span.start) + 1
    return textwrap.dedent(text[start : node.span.end])


# --- whether it is the norm ------------------------------------------------------------------------------------------


def _input(file: _File, names: list[str] | None, found: _Definition) -> str | None:
    """The parameter that takes what is normalised; None where the definition is more than the norm."""
    norm = file.norm
    returned = [c for c in norm.computations if c.returned]
    if returned:
        plain = (c for c in returned if _is_plain(c, norm.owner.intent in ("rms", "layer", "norm")))
        return next((_argument(c, names) for c in plain), None)
    product = product_of(file.around, norm)
    function = function_in(product.chain) if product else None
    if product is None or not product.returned or getattr(function, "name", "") != (found.method or found.entry):
        return None
    given = input_name(file.around, product, norm.main)
    return given if function and given in {p.name for p in function.params} else None


def _is_plain(c: Computation, named: bool) -> bool:
    """Nothing is added to the norm but a bias, and nothing multiplied with it but gains, counts and gates."""
    given = {f.atom for f in c.input.factors}
    shift = all(isinstance(f.atom, Input | Param) and f.atom not in given for f in c.shift.factors) if c.shift else True
    return shift and along_features(c) == c.gains and all(_is_gate(atom, named) for atom in c.others)


def _is_gate(atom: Atom, named: bool = False) -> bool:
    """A factor that comes in as an argument, or through a function of one; in what is called a norm, any function."""
    match atom:
        case Input() | Param():
            return True
        case Offset(inner=inner) | Plus(inner=inner):
            return all(_is_gate(f.atom, named) for f in inner.factors)
        case Apply(name=name, args=args) if name not in ("index", "item", "call"):
            monos = [a for a in args if isinstance(a, Mono)]
            return all(_of_inputs(m) for m in monos) and (bool(monos) or named)
    return False


def _of_inputs(mono: Mono) -> bool:
    return bool(mono.factors) and all(isinstance(f.atom, Input) for f in mono.factors)


def _argument(c: Computation, names: list[str] | None) -> str | None:
    """The parameter that the input of the computation is, alone or beside a residual or a gate."""
    if not all(_inputs(f.atom) or (isinstance(f.atom, Apply | Param) and _is_gate(f.atom)) for f in c.input.factors):
        return None
    found = [name for f in c.input.factors for name in _inputs(f.atom) if names is None or name in names]
    return next((name for name in found if name not in _GATES), None)


def _inputs(atom: Atom) -> list[str]:
    if isinstance(atom, Input):
        return [atom.name]
    if isinstance(atom, Apply) and atom.name == "+" and all(_is_argument(a) for a in atom.args):  # x + residual
        return [n for m in atom.args if isinstance(m, Mono) for f in m.factors for n in _inputs(f.atom)]
    return []


def _is_argument(value: object) -> bool:
    return isinstance(value, Mono) and len(value.factors) == 1 and value.coef == 1 and _of_inputs(value)
