"""NRM301, NRM303, NRM304 and NRM305: eps is added, put right, used."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from normlint.fixes.eps_scope import (
    constructor,
    default,
    has_attribute,
    known,
    origin,
    parameters,
    scopes,
    stores,
)
from normlint.fixes.eps_signature import Reached, Source, kept, new_parameter, reach, to_base
from normlint.fixes.eps_syntax import joined, number, passed, place
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.fixes.work import walk
from normlint.norm.norm import Computation, Eps, Norm
from normlint.text.finding import Applicability, Edit, Fix, Span

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
