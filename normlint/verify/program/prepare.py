"""From a recognised norm to a job: the class or function that is the norm, or only its own lines."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from normlint.evaluate.monomial import Apply, Atom, Input, Mono, Offset, Param, Plus
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Span
from normlint.text.source import Source, Unit
from normlint.verify.job import Job, Meaning
from normlint.verify.program.bases import Lineage, inherits_all, lineage, reached
from normlint.verify.program.cut import cut, input_name
from normlint.verify.program.imports import Finder
from normlint.verify.program.meaning import meaning, open_question
from normlint.verify.program.place import Chain, Page, definitions, function_in, page_of
from normlint.verify.program.product import along_features, product_of
from normlint.verify.program.scope import FUNCTIONS, Function, Scope, bindings, parameters, scope_of
from normlint.verify.program.slice import CLASS, FUNCTION, Program, TooMuchError
from normlint.verify.program.tidy import MODES, keeps, last_name

_Place: TypeAlias = "tuple[Scope, Lineage, Function]"
_GATES: Final = ("gate", "z", "scale", "shift", "bias", "beta", "residual", "skip")


@dataclass(frozen=True, eq=False)
class _File:
    """The text of a norm: its tree, its names, and what follows them to other files."""

    page: Page
    top: Scope
    finder: Finder = field(default_factory=Finder)


def prepare(source: Source, unit: Unit, norm: Norm) -> Job:
    """What to run to verify a norm of `unit`; nothing of it is run here."""
    meant = meaning(norm, unit.text)
    page = page_of(unit.text)
    unclear = "code that parses" if page is None else open_question(norm)
    if page is None or unclear:
        return Job(norm.qualname, meant, needs=unclear)
    file = _File(page, scope_of(page.tree.body, _path(source), snippet=unit.snippet))
    try:
        return _job(file, norm, meant)
    except RecursionError:
        return Job(norm.qualname, meant, needs="code that is nested less deeply")


def prepare_rewritten(source: Source, unit: Unit, norm: Norm, old: Unit) -> Job:
    """What to run where a norm of the unit `old` is no norm in `unit` any more, but what it was is still meant."""
    meant = meaning(norm, old.text)
    before, after = page_of(old.text), page_of(unit.text)
    place = _moved(norm, before, after) if before and after else None
    if after is None or place is None or not any(c.returned for c in norm.computations):
        return Job(norm.qualname, meant, needs="a definition of its own")
    file = _File(after, scope_of(after.tree.body, _path(source), snippet=unit.snippet))
    moved = replace(norm, span=place, owner=replace(norm.owner, span=place))
    return _whole(file, moved, meant) or Job(norm.qualname, meant, needs="a definition of its own")


def _moved(norm: Norm, before: Page, after: Page) -> Span | None:
    """Where the function that holds the norm stands now: of those with its name the one with its number."""
    name = norm.qualname.rpartition(".")[2]
    was, now = (
        [n for n in definitions(page.tree) if isinstance(n, FUNCTIONS) and n.name == name] for page in (before, after)
    )
    held = [at for at, n in enumerate(was) if _holds(before.span(n), norm.span)]
    return after.span(now[held[-1]]) if held and len(was) == len(now) else None


def _path(source: Source) -> str:
    """Where imports count from; nothing for text that has no file."""
    return source.path if source.path.endswith((".py", ".pyi", ".ipynb", ".md")) else ""


def _job(file: _File, norm: Norm, meant: Meaning) -> Job:
    lines = cut(file.page, _inside(file.top, file.page.chain(norm.span)), norm, meant)
    whole = _whole(file, norm, meant)
    if whole is None or whole.needs:
        return lines if whole is None or not lines.needs else whole
    returned = any(c.returned for c in norm.computations) and not norm.helper
    if whole.method and not lines.needs and not (returned and (norm.owner.intent or norm.meant)):
        return replace(lines, spare=whole)
    return replace(whole, spare=None if lines.needs or not whole.method else lines)


# --- the whole definition --------------------------------------------------------------------------------------------


def _whole(file: _File, norm: Norm, meant: Meaning) -> Job | None:
    """The class or function as it stands, where it gives the norm of its own argument back."""
    owner, _, name = norm.qualname.rpartition(".")
    if name == "<module>":
        return None
    found = _definition(file, norm, name, owner.rpartition(".")[2])
    if found is None:
        return None
    scope, family, function = found
    if not family and [a.arg for a in parameters(function.args)][:1] == ["self"]:
        return None  # a method that is put into a class elsewhere
    if not family and any(keeps(d, scope) and last_name(d) not in MODES for d in function.decorator_list):
        return None  # what is called is another function
    given = _input(file.page, norm, function, method=bool(family))
    if given is None:
        return None
    job = Job(norm.qualname, meant, method=name if family else "", input=given)
    try:
        return _class(job, file.finder, family, name) if family else _function(job, scope, _over_last(function, norm))
    except TooMuchError:
        return replace(job, needs="too much of its surroundings", method="")


def _class(job: Job, finder: Finder, family: Lineage, method: str) -> Job:
    kept = reached(family, method)
    while len(family) > 1 and inherits_all(family[0][1], kept):
        family = family[1:]
    program = Program(finder)
    program.add_class(family[0][0], family, kept)
    if program.lost:
        return Job(job.qualname, job.meaning, needs=program.lost)
    return replace(job, program=program.text(), entry=CLASS)


def _function(job: Job, scope: Scope, function: Function) -> Job:
    program = Program(Finder())
    program.add_function(scope, function, function.name)
    if program.missing and scope.parent is not None:  # the function around it would bind it, in a call
        return Job(job.qualname, job.meaning, needs=program.missing[0])
    return replace(job, program=program.text(), entry=FUNCTION)


def _over_last(function: Function, norm: Norm) -> Function:
    """Where the caller says over which axes, and the default is all, the last one is asked for."""
    if norm.main.statistic.axes is not None:
        return function
    result = copy.deepcopy(function)
    names = [a.arg for a in (*result.args.posonlyargs, *result.args.args)]
    given = result.args.defaults
    for i, name in enumerate(names[len(names) - len(given) :]):
        if name in ("dim", "dims", "axis") and isinstance(given[i], ast.Constant):
            given[i] = ast.UnaryOp(ast.USub(), ast.Constant(1))
    return result


# --- where it is -----------------------------------------------------------------------------------------------------


def _definition(file: _File, norm: Norm, name: str, owner: str) -> _Place | None:
    """The function with its scope, and the class it is a method of with its bases."""
    page, top = file.page, file.top
    if owner:
        cls = _best([n for n in definitions(page.tree) if isinstance(n, ast.ClassDef) and n.name == owner], page, norm)
        if isinstance(cls, ast.ClassDef):
            scope = _inside(top, page.chain(page.span(cls)))
            family = lineage(file.finder, scope, cls)
            own = (n for _, c in family for n in c.body if isinstance(n, FUNCTIONS) and n.name == name)
            function = next(own, None)
            if function is not None:
                return scope, family, function
    found = _best([n for n in definitions(page.tree) if isinstance(n, FUNCTIONS) and n.name == name], page, norm)
    if not isinstance(found, FUNCTIONS):
        return None
    chain = page.chain(page.span(found))
    is_method = any(isinstance(n, ast.ClassDef) for n in chain[-2:-1])
    return None if is_method else (_inside(top, chain), (), found)


def _best(nodes: list[ast.AST], page: Page, norm: Norm) -> ast.AST | None:
    """Of definitions with one name the one that holds the norm, or its entry; else the last."""
    for place in (norm.span, norm.main.statistic.span, norm.owner.span):
        held = [n for n in nodes if _holds(page.span(n), place)]
        if held:
            return held[-1]
    return nodes[-1] if nodes else None


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _inside(top: Scope, chain: Chain) -> Scope:
    """The scope at the end of a chain: what the functions around it bind comes before the file's names."""
    scope = top
    for node in chain[:-1]:
        if isinstance(node, FUNCTIONS):
            scope = Scope(bindings(node.body), scope, top.path, 0, top.snippet)
        if isinstance(node, ast.ClassDef):
            names = {k: v for k, v in bindings(node.body).items() if isinstance(v[-1].node, ast.ClassDef)}
            scope = Scope(names, scope, top.path, 0, top.snippet) if names else scope
    return scope


# --- whether it is the norm ------------------------------------------------------------------------------------------


def _input(page: Page, norm: Norm, function: Function, *, method: bool) -> str | None:
    """The parameter that takes what is normalised; None where the definition is more than the norm."""
    names = [a.arg for a in parameters(function.args)][1 if method else 0 :]
    c = next((c for c in norm.computations if c.returned), None)
    if c is not None:
        return _argument(c, names) if _is_plain(c, norm.owner.intent in ("rms", "layer", "norm")) else None
    found = product_of(page, norm)
    if function_in(found.chain) is not function or not found.returned:
        return None
    name = input_name(found, norm.main)
    return name if name in names else None


def _is_plain(c: Computation, named: bool) -> bool:
    """Nothing is added to the norm but a bias, and nothing multiplied with it but gains, counts and gates."""
    shift = all(_is_bias(f.atom) for f in c.shift.factors) if c.shift else True
    return shift and along_features(c) == c.gains and all(_is_gate(atom, named) for atom in c.others)


def _is_bias(atom: Atom) -> bool:
    return isinstance(atom, Param) or (isinstance(atom, Input) and atom.name in _GATES)


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


def _argument(c: Computation, names: list[str]) -> str | None:
    """The parameter that the input of the computation is, alone or beside a residual or a gate."""
    if not all(_inputs(f.atom) or (isinstance(f.atom, Apply) and _is_gate(f.atom)) for f in c.input.factors):
        return None
    found = [name for f in c.input.factors for name in _inputs(f.atom) if name in names]
    return next((name for name in found if name not in _GATES), None)


def _inputs(atom: Atom) -> list[str]:
    if isinstance(atom, Input):
        return [atom.name]
    if isinstance(atom, Apply) and atom.name == "+" and all(_is_argument(a) for a in atom.args):  # x + residual
        return [n for m in atom.args if isinstance(m, Mono) for f in m.factors for n in _inputs(f.atom)]
    return []


def _is_argument(value: object) -> bool:
    return isinstance(value, Mono) and len(value.factors) == 1 and value.coef == 1 and _of_inputs(value)
