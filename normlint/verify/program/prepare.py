"""Prepare a job from a recognised norm: find the class or function that is the norm, and what it needs to run."""

from __future__ import annotations

import os
import re
import textwrap
from dataclasses import dataclass, replace
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete.functions import bound_by
from normlint.evaluate.lower import lower
from normlint.evaluate.monomial import Apply, Atom, Input, Mono, Offset, Param, Plus
from normlint.evaluate.walk import definitions, walk
from normlint.norm.conventions import intent
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Span
from normlint.text.raw import PYTHON
from normlint.text.source import Source, Unit
from normlint.verify.job import Job, Meaning
from normlint.verify.names import input_role
from normlint.verify.program.meaning import along_features, meaning, open_question
from normlint.verify.program.surroundings import Surroundings, surroundings

_GATES: Final = ("gate", "z", "scale", "shift", "bias", "beta", "residual", "skip")
_FOLDED: Final = re.compile(
    r"\b(?:view|reshape|unflatten)\((?:(?!\bview\(|\breshape\().)*?(?:\bself\.|[ (](?:[2-9]|\d\d+)\b)"
    r"|\brearrange\([^\"']*[\"'][^\"'>]*\("
)
_TEST: Final = re.compile(r"(?P<name>[^\W\d]\w*)(?: (?P<is>[!=]=) (['\"])(?P<word>[^'\"]*)\3)?")
_AXES: Final = ("dim", "dims", "axis")
_HELD: Final = {
    "eps": "eps",
    "features": "dim",
    "gain": "torch.nn.Parameter(torch.ones(dim))",
    "shift": "torch.nn.Parameter(torch.zeros(dim))",
}
_CLASS: Final = """\
import torch

class Norm(torch.nn.Module):
    def __init__(self, {taken}):
        super().__init__()
"""


@dataclass(frozen=True)
class _Definition:
    """A class or function to verify: its dotted name `entry`, and its text `lifted` where it is nested in others."""

    entry: str
    method: str = ""
    function: s.Function | None = None  # None: in another file
    lifted: str = ""


@dataclass(frozen=True)
class _File:
    """A norm and the text around it."""

    around: Surroundings
    norm: Norm


def prepare(source: Source, unit: Unit, norm: Norm) -> Job:
    """Return the job that verifies a norm of `unit`, without running any of its code."""
    meant = meaning(norm, unit.text)
    named = norm.owner.intent not in ("", "other")
    claims = norm.meant or bool(meant.gain) or (named and not norm.factor)
    part = norm.main.fused and not norm.main.returned and not named  # a layer's call of torch's own norm
    claims = claims and not part and not _is_of_helper(norm, unit)
    if unclear := _test_reason(source.path, norm.qualname) or open_question(norm, unit.text):
        return Job(norm.qualname, meant, needs=unclear, claims=claims)
    try:
        job = _job(_File(surroundings(source, unit), norm), meant)
        return replace(job, claims=claims, folded=_is_folded(norm, unit.text), settings=_settings(norm))
    except (RecursionError, MemoryError):
        return Job(norm.qualname, meant, needs="code that is nested less deeply", claims=claims)
    except SyntaxError:
        return Job(norm.qualname, meant, needs="code that parses", claims=claims)


def _is_of_helper(norm: Norm, unit: Unit) -> bool:
    """Return whether a norm is that of a helper, which has a verdict of its own.

    The helper stands in another file, or only the helper, and not what calls it, is called an L2 norm.
    """
    around, (first, *_) = Surroundings(unit.text), norm.qualname.split(".")
    if norm.owner.intent != "l2" or intent(norm.qualname):
        return first != "<module>" and not around.defining(first)
    own = around.functions(norm.qualname.rpartition(".")[2])
    return bool(own) and not any(one.span.holds(norm.span) for one in own)


def _settings(norm: Norm) -> tuple[tuple[str, str | bool], ...]:
    """Return the flags and modes of the path that the reference is for, such as ("mode", "node")."""
    found = (_setting(text, holds=holds) for text, holds in norm.main.needed)
    return tuple(sorted((one for one in found if one is not None), key=repr))  # a name may have a flag and a mode


def _setting(test: str, *, holds: bool) -> tuple[str, str | bool] | None:
    """Return the name and the value that a test and its outcome tell, None if they don't tell one."""
    found = _TEST.fullmatch(test)
    if found is None or (found["word"] is not None and holds != (found["is"] == "==")):
        return None
    return found["name"], holds if found["word"] is None else found["word"]


def _is_folded(norm: Norm, text: str) -> bool:
    """Return whether the reduced axes are unknown, or reshaped by numbers in the text or of the constructor."""
    if norm.main.statistic.axes is None:
        return True
    views = (move[1] for move in norm.main.statistic.layout if move[0] == "view")
    return any(isinstance(span, Span) and _FOLDED.search(text, *span) for span in views)


def _test_reason(path: str, qualname: str) -> str:
    """Return what test code needs, "" outside of tests: its norms may be wrong on purpose, or of another precision."""
    file = os.path.basename(path)
    tests = (
        file.startswith(("test_", "conftest")) or file.endswith("_test.py") or qualname.startswith(("test_", "Test"))
    )
    return "a norm outside of tests" if tests else ""


def prepare_to_execute(source: Source, unit: Unit, norm: Norm) -> Job:
    """Return the job of `prepare`, with the file to import where the norm is a class or function of a .py file."""
    job = prepare(source, unit, norm)
    if source.kind != PYTHON or unit.snippet or not source.path.endswith(".py"):
        return job
    *owners, name = job.qualname.split(".")
    entry = ".".join(owners) if job.method else name
    return replace(job, entry=entry, module=os.path.abspath(source.path)) if job.program else job


def prepare_rewritten(source: Source, unit: Unit, norm: Norm, old: Unit) -> Job:
    """Return the job for a norm of the unit `old` that is no longer recognised in `unit`, but keeps its meaning."""
    meant = meaning(norm, old.text)
    place = _place_after(norm, Surroundings(old.text), Surroundings(unit.text))
    if place is None or not any(c.returned for c in norm.computations):
        return Job(norm.qualname, meant, needs="a definition of its own")
    moved = replace(norm, span=place, owner=replace(norm.owner, span=place))
    return replace(_job(_File(surroundings(source, unit), moved), meant), settings=_settings(norm))


def _place_after(norm: Norm, before: Surroundings, after: Surroundings) -> Span | None:
    """Return the span in `after` of the function that holds the norm, found by its name and its number among these."""
    was, now = (around.functions(norm.qualname.rpartition(".")[2]) for around in (before, after))
    held = [at for at, n in enumerate(was) if n.span.holds(norm.span)]
    return now[held[-1]].span if held and len(was) == len(now) else None


# --- the whole definition --------------------------------------------------------------------------------------------


def _job(file: _File, meant: Meaning) -> Job:
    """Return the job for the class or function itself, if it returns the norm of its argument or is named a norm."""
    norm, found = file.norm, _definition(file)
    if found is not None and not found.method and found.function and _takes_self(found.function):
        found, meant = _with_class(file, found.function, meant), replace(meant, filled_later=True)
    inside = Job(norm.qualname, meant, needs=f"a class or a def of its own: it stands in {norm.qualname}")
    if found is None:
        return inside
    names = None if found.function is None else [p.name for p in found.function.params]
    given = _input(file, names)
    if given is None and norm.owner.intent in ("", "other") and not norm.main.returned:
        return inside
    job = Job(norm.qualname, meant, found.lifted, found.entry, found.method, given or "", axis=_open_axis(norm, found))
    others = [atom for atom in norm.main.others if not _is_left_out(atom, meant.gain, found.function)]
    whole = all(c.returned for c in norm.computations)
    more = given is None or norm.either or not whole or bool(others)
    job = replace(job, more=more and not norm.owner.passes)
    names = sorted(_free(lower(found.lifted))) if found.lifted else [found.entry.partition(".")[0]]
    missing = file.around.missing(names)
    return replace(job, program="", needs=missing) if missing else file.around.job(job, names)


def _takes_self(function: s.Function) -> bool:
    """Return whether a function takes a norm first: `self`, or what is read only as a gain, an eps and the like are."""
    first = function.params[0].name if function.params else ""
    read = _read_of(function, first)
    alone = len(read) == sum(isinstance(n, s.Name) and n.id == first for n in walk(function.body))
    return first == "self" or (alone and "gain" in map(input_role, read))


def _read_of(function: s.Function, name: str) -> list[str]:
    """Return the attributes of a parameter that a function reads."""
    return [n.name for n in walk(function) if isinstance(n, s.Attribute) and getattr(n.base, "id", "") == name]


def _with_class(file: _File, function: s.Function, meant: Meaning) -> _Definition | None:
    """Put a method without a class into one with the gain, shift, eps and number of features that it reads."""
    read = set(_read_of(function, function.params[0].name))
    held = {name: _HELD[input_role(name)] for name in read if input_role(name) in _HELD}
    held |= {meant.gain.rpartition(".")[2]: _HELD["gain"], meant.shift.rpartition(".")[2]: _HELD["shift"]}
    if not read <= held.keys():
        return None
    taken = "dim, eps=1e-6" if "eps" in held.values() else "dim"
    made = "".join(f"        self.{name} = {held[name]}\n" for name in sorted(read))
    body = textwrap.indent(_lifted(file, function), "    ")
    cls = _CLASS.format(taken=taken) + made.replace("ones(dim)", f"full((dim,), {1 - meant.offset})")
    return _Definition("Norm", function.name, function, f"{cls}\n{body}\n")


def _free(nodes: object) -> set[str]:
    """Return the names that the nodes read but do not bind."""
    names, bound = set[str](), set[str]()
    for node in walk(nodes):
        if isinstance(node, s.Name):
            names.add(node.id)
        elif isinstance(node, s.Function | s.Lambda):
            bound.update(p.name for p in node.params)
        elif isinstance(node, s.Clause):
            bound.update(n.id for n in walk(node.target) if isinstance(n, s.Name))
        bound.update(bound_by(node))
    return names - bound


def _is_left_out(atom: Atom, gain: str, function: s.Function | None) -> bool:
    """Return whether a factor is the gain, or is made of arguments that are None by default, so that calls omit it."""
    none = {
        p.name
        for p in (function.params if function else ())
        if isinstance(p.default, s.Literal) and p.default.value is None
    }
    return _names(atom) <= ({gain} if isinstance(atom, Input) else set()) | none and bool(_names(atom))


def _names(atom: Atom) -> set[str]:
    """Return the names of the arguments that a factor is made of."""
    match atom:
        case Input(name=name):
            return {name}
        case Apply(args=args):
            return {name for arg in args if isinstance(arg, Mono) for f in arg.factors for name in _names(f.atom)}
    return set()


def _open_axis(norm: Norm, found: _Definition) -> str:
    """Return the name of the parameter for the reduced axes where its default is all axes, else ""."""
    params = found.function.params if found.function and norm.main.statistic.axes is None else ()
    return next((p.name for p in params if p.name in _AXES and isinstance(p.default, s.Literal)), "")


def _definition(file: _File) -> _Definition | None:
    """Return the definition of the norm's qualified name, lifted out of the function it stands in, if any."""
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
    inner = len(holders) > 1 and cls not in definitions(holders[-2].body)
    if inner or any(isinstance(one, s.Function) for one in holders):
        return _Definition(cls.name, name, function, _lifted(file, cls))
    return _Definition(".".join(one.name for one in holders), name, function)


def _chain(file: _File, names: list[str]) -> list[s.Class | s.Function]:
    """Return the nested definitions that a dotted name leads through, [] where one is missing."""
    found: list[s.Class | s.Function] = []
    block = file.around.defining(names[0]) if names else ()
    for name in names:
        within = [one for method in definitions(block) if isinstance(method, s.Function) for one in method.body]
        same = [one for one in definitions(block) if one.name == name]
        same = same or [one for one in definitions(tuple(within)) if one.name == name]
        if not same:
            return []
        found.append(next((one for one in same if one.span.holds(file.norm.span)), same[-1]))
        block = found[-1].body
    return found


def _inherited(file: _File, cls: s.Class, name: str) -> s.Function | None:
    """Return the method that the class inherits from a base in the same text, None if there is none."""
    for base in cls.bases:
        above = _chain(file, [base.id]) if isinstance(base, s.Name) and base.id != cls.name else []
        if above and isinstance(above[0], s.Class):
            own = [one for one in above[0].body if isinstance(one, s.Function) and one.name == name]
            return own[-1] if own else _inherited(file, above[0], name)
    return None


def _only_base(file: _File, cls: s.Class | s.Function) -> s.Class | None:
    """Return the only base of a class without a body of its own, if that base is in the same text."""
    if not isinstance(cls, s.Class) or len(cls.bases) != 1 or not isinstance(cls.bases[0], s.Name) or cls.decorators:
        return None
    own = [one for one in cls.body if not (isinstance(one, s.Evaluate) and isinstance(one.value, s.Literal))]
    above = _chain(file, [cls.bases[0].id]) if not own else []
    return above[0] if above and isinstance(above[0], s.Class) and above[0].name != cls.name else None


def _lifted(file: _File, node: s.Class | s.Function) -> str:
    """Return the dedented text of a definition."""
    text = file.around.text
    start = text.rfind("\n", 0, node.span.start) + 1
    return textwrap.dedent(text[start : node.span.end])


# --- whether it is the norm ------------------------------------------------------------------------------------------


def _input(file: _File, names: list[str] | None) -> str | None:
    """Return the parameter that takes the tensor to normalise, None where the definition does more than the norm."""
    norm = file.norm
    named = norm.owner.intent in ("rms", "layer", "norm")
    plain = (c for c in norm.computations if c.returned and _is_plain(c, named))
    return next((_argument(c, names) for c in plain), None)


def _is_plain(c: Computation, named: bool) -> bool:
    """Return whether only a bias is added to the norm, and only gains, counts and gates multiply it."""
    given = {f.atom for f in c.input.factors}
    shift = all(isinstance(f.atom, Input | Param) and f.atom not in given for f in c.shift.factors) if c.shift else True
    return shift and along_features(c) == c.gains and all(_is_gate(atom, named) for atom in c.others)


def _is_gate(atom: Atom, named: bool = False) -> bool:
    """Return whether a factor is an argument or a function of arguments; if `named` a norm, also of unknown ones."""
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
    """Return the parameter that is the computation's input, alone or with a residual or a gate; None if none is."""
    if not all(_inputs(f.atom) or (isinstance(f.atom, Apply | Param) and _is_gate(f.atom)) for f in c.input.factors):
        return None
    found = [name for f in c.input.factors for name in _inputs(f.atom) if names is None or name in names]
    return next((name for name in found if name not in _GATES), next(iter(found), None))


def _inputs(atom: Atom) -> list[str]:
    if isinstance(atom, Input):
        return [atom.name]
    if isinstance(atom, Apply) and atom.name == "+" and all(_is_argument(a) for a in atom.args):  # x + residual
        return [n for m in atom.args if isinstance(m, Mono) for f in m.factors for n in _inputs(f.atom)]
    return []


def _is_argument(value: object) -> bool:
    return isinstance(value, Mono) and len(value.factors) == 1 and value.coef == 1 and _of_inputs(value)
