"""Build the fixes of NRM301, NRM303, NRM304 and NRM305: add eps, correct its value, use it, and pass it on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import libcst as cst

from normlint.fixes.calls import Reduction, argument_of, parameters, with_argument, with_parameter
from normlint.fixes.casts_words import written_above
from normlint.fixes.document import Change, Changes, Document
from normlint.fixes.eps_scope import (
    constructor,
    decorators,
    default,
    known,
    lineage,
    optional,
    origin,
    outermost,
    scopes,
    self_at,
    stores,
)
from normlint.fixes.flow import calls_of, class_of, names_in
from normlint.fixes.roots import joined, place
from normlint.fixes.spelling import number, shown
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial
from normlint.norm.norm import LARGE, Computation, Eps, Norm
from normlint.norm.owner import is_eps
from normlint.text.finding import Applicability, Fix, Span

VALUE: Final = {"layer": "1e-5"}  # torch's own; RMS norms have 1e-6
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE
_TRANSPARENT: Final = {"staticmethod", "classmethod", "no_grad", "compile", "autocast"}


class Source(NamedTuple):
    """An eps that the code is given: an attribute of a class, or a parameter of a function."""

    holder: cst.ClassDef | cst.FunctionDef
    name: str


class Reached(NamedTuple):
    """How to write eps at a place, and the changes that make it available there."""

    text: str
    changes: Changes

    def plus(self, more: Changes) -> Reached:
        """Add the changes that use eps there."""
        return Reached(self.text, {**self.changes, **more})


def usual(norm: Norm) -> str:
    """Return the usual eps of norms of this kind, as source text."""
    return VALUE.get(norm.kind, "1e-6")


def _instead(node: cst.BaseExpression, text: str) -> Changes:
    """Replace a node with a text and keep the parentheses around it."""
    return {node: cst.parse_expression(text).with_changes(lpar=node.lpar, rpar=node.rpar)}


# --- NRM301 ----------------------------------------------------------------------------------------------------------


def add(norm: Norm, statistic: Span, tree: Tree) -> Fix | None:
    """Add eps under the root of a statistic: one that the code already has, else a new parameter, else a number."""
    document = tree.document
    places = [place(document, c) for c in norm.judged if c.statistic.span == statistic]
    several = [where for where in places if where is not None]
    if not several or len(several) < len(places):
        return None
    for eps in _candidates(tree, several[0].node, usual(norm)):
        changes = {node: new for where in several for node, new in joined(document, where, eps.text).items()}
        fix = document.fix(f"Add eps: `{eps.text}`", {**eps.changes, **changes}, SAFE)
        fixed = Trial(tree, norm, "NRM301").fixed(fix.edits)
        if fixed is not None and fixed.judged and all(map(_protected, fixed.judged)):
            return fix  # findings that appear only now are fixed in the next round
    return None


def _candidates(tree: Tree, node: cst.CSTNode, value: str) -> Iterator[Reached]:
    yield from (Reached(text, {}) for text in known(tree, node))
    yield _new_parameter(tree.document, node, value) or Reached(value, {})


def _protected(c: Computation) -> bool:
    return bool(c.eps) and all(e.default is None or 0 < e.default < LARGE for e in c.eps)


def put_right(norm: Norm, e: Eps, code: str, tree: Tree) -> Fix | None:
    """Replace the number of an eps that is too small or too large by the usual one."""
    numbers = origin(tree, tree.document.at(e.at))
    if len(numbers) != 1 or e.default is None or number(numbers[0]) != e.default:
        return None
    way = (f"Use `{usual(norm)}`", _instead(numbers[0], usual(norm)))
    return Trial(tree, norm, code).first([way], SAFE if e.default <= 0 else UNSAFE)


# --- NRM304 ----------------------------------------------------------------------------------------------------------


def use(norm: Norm, unused: Span, tree: Tree) -> Fix | None:
    """Replace the eps that acts by the one that the constructor or function is given; None if that can't be done."""
    document = tree.document
    target = document.at(unused, cst.Attribute)
    if target is not None:
        cls = document.around(target, cst.ClassDef)
        return _use_source(norm, tree, Source(cls, target.attr.value), {}) if cls else None
    word = re.compile(r"\w*").match(tree.text, unused.start)
    name: Any = document.at(Span(*word.span()), cst.Name) if word else None
    function = document.around(name, cst.FunctionDef)
    if function is None:
        return None
    holder = class_of(document, function)
    if holder is None:
        return _use_source(norm, tree, Source(function, name.value), {})
    return _use_parameter(norm, tree, holder, name.value) if function is constructor(holder) else None


def _use_parameter(norm: Norm, tree: Tree, cls: cst.ClassDef, name: str) -> Fix | None:
    """Use a constructor's parameter: store it where an attribute is set to a number, or in a new attribute."""
    fix = Trial(tree, norm, "NRM304").first(_stored(norm, tree, cls, name))
    if fix is not None or stores(tree.document, cls, name):
        return fix
    return _use_source(norm, tree, Source(cls, name), kept(cls, name))


def _stored(norm: Norm, tree: Tree, cls: cst.ClassDef, name: str) -> Iterator[Change]:
    """Yield changes that replace the number that a statement of the constructor makes the eps by the parameter."""
    document = tree.document
    acting = (document.at(e.at) for c in norm.computations for e in c.eps)
    for sole in (numbers[0] for numbers in (origin(tree, node) for node in acting) if len(numbers) == 1):
        if document.line(sole) is not None and document.around(sole, cst.FunctionDef) is constructor(cls):
            yield f"Store `{name}`", _instead(sole, name)


def _use_source(norm: Norm, tree: Tree, source: Source, changes: Changes) -> Fix | None:
    if _may_be_none(tree.document, source):
        return None
    text = ""
    for c in norm.computations:
        found = _changes_for(norm, tree, c, source)
        if found is None:
            return None
        text, changes = text or found.text, {**changes, **found.changes}
    # only its eps may show that it is a norm
    trial = Trial(tree, norm, "NRM304", gained=not norm.main.eps, partly=True)
    # a model was trained with the number that acts
    moved = any(e.value is not None and e.value != _default(tree, source) for c in norm.computations for e in c.eps)
    more = ", and hand it on" if any(isinstance(node, cst.Parameters) for node in changes) else ""
    fix = trial.first([(f"Use `{text}`{more}", changes)], UNSAFE if moved else SAFE)
    return fix or trial.first([(f"Use `{text}`{more}", {**changes, **_with_usual_value(tree, norm, source)})], UNSAFE)


def _with_usual_value(tree: Tree, norm: Norm, source: Source) -> Changes:
    """Set an eps that is out of range to the usual number; as it was unused, nobody noticed its value."""
    wrong = (one for v in _first_values(tree, source) for one in origin(tree, v) if not 0 < (number(one) or 0) < LARGE)
    return {node: new for one in wrong for node, new in _instead(one, usual(norm)).items()}


def _first_values(tree: Tree, source: Source) -> list[cst.BaseExpression | None]:
    """Return what the class stores as its eps, or else the default of the parameter."""
    holder = source.holder
    taking = constructor(holder) if isinstance(holder, cst.ClassDef) else holder
    stored_there = stores(tree.document, holder, source.name) if isinstance(holder, cst.ClassDef) else []
    return stored_there or [default(taking, source.name) if taking is not None else None]


def _default(tree: Tree, source: Source) -> float | None:
    """Return the number that the eps is unless another is passed; None if that isn't known."""
    values = {number(one) for v in _first_values(tree, source) for one in origin(tree, v)}
    first = values.pop() if len(values) == 1 else None
    return None if first is None else float(first)


def taken_here(norm: Norm, place: Span, tree: Tree) -> Fix | None:
    """Replace a number by the eps that the other paths use, or that the class stores."""
    node = tree.document.at(place)
    several = known(tree, node) if number(node) is not None else ()
    return Trial(tree, norm, "NRM304").first(((f"Use `{text}`", _instead(node, text)) for text in several), UNSAFE)


def _may_be_none(document: Document, source: Source) -> bool:
    holder = constructor(source.holder) if isinstance(source.holder, cst.ClassDef) else source.holder
    return holder is not None and optional(document, holder, source.name)


def _changes_for(norm: Norm, tree: Tree, c: Computation, source: Source) -> Reached | None:
    """Return the changes that make this computation use the source."""
    document = tree.document
    acting = [e for e in c.eps if e.value != 0] or list(c.eps)
    if not acting:
        where = place(document, c)
        found = reach(document, where.node, source, usual(norm)) if where else None
        return found.plus(joined(document, where, found.text)) if where and found else None
    if len(acting) != 1:
        return None
    node = document.at(acting[0].at)
    if node is None:
        call = document.at(c.statistic.span, cst.Call)
        found = reach(document, call, source, usual(norm)) if call and c.statistic.default_eps else None
        passed = with_argument(call, "eps", found.text) if found else {}
        return found.plus(passed) if found and passed else None
    return _in_place(tree, node, source)


def _in_place(tree: Tree, node: cst.BaseExpression, source: Source) -> Reached | None:
    """Replace a number or constant by the source; where a helper's parameter acts, make its callers pass it."""
    document, numbers = tree.document, origin(tree, node)
    found = reach(document, node, source, document.source(numbers[0])) if numbers else None
    if found is None or document.source(node) == found.text:
        return found if found is not None and found.changes else None
    if isinstance(node, cst.Name) and any(node.value in parameters(s) for s in scopes(document, node)):
        return None
    return found.plus(_instead(node, found.text))


def given_to_normalize(statistic: Span, tree: Tree) -> Fix | None:
    """Pass an eps that isn't 0 in fp16."""
    call = Reduction.of(tree.document, tree.document.at(statistic))
    if call is None or call.value("eps") is not None:
        return None
    text = next(known(tree, call.node), "1e-6")
    return tree.document.fix(f"Pass an eps: `eps={text}`", with_argument(call.node, "eps", text), UNSAFE)


# --- passing eps from where it is known to where it is used ----------------------------------------------------------


def reach(document: Document, node: cst.CSTNode, source: Source, value: str) -> Reached | None:
    """Return eps as it is visible at the node or as a helper's callers can pass it; `value` is its default there."""
    seen, function = _visible(document, node, source), outermost(document, node)
    if seen is not None or function is None:
        return Reached(seen, {}) if seen is not None else None
    return _through_callers(document, function, source, value)


def _visible(document: Document, node: cst.CSTNode, source: Source) -> str | None:
    if isinstance(source.holder, cst.ClassDef):
        me = self_at(document, node)
        return f"{me.name}.{source.name}" if me and source.holder in lineage(document, me.cls) else None
    return source.name if source.holder in scopes(document, node) else None


def _through_callers(document: Document, function: cst.FunctionDef, source: Source, value: str) -> Reached | None:
    """Add an eps parameter to the function, if it has none, and pass eps in every call that can see one."""
    own = [name for name in parameters(function) if is_eps(name)]
    if len(own) > 1 or not (own or _may_take_eps(document, function)):
        return None
    name = own[0] if own else "eps"
    changes: Changes = {} if own else with_parameter(function, name, value)
    for call in calls_of(document, function):
        text = _visible(document, call, source)
        handed = _passed(function, call, name, text) if text is not None else {}
        if not handed and own and default(function, name) is None:
            return None
        changes |= handed
    return Reached(name, changes) if len(changes) > (not own) else None


def _passed(function: cst.FunctionDef, call: cst.Call, name: str, text: str) -> Changes:
    """Pass eps to the parameter, which may be new: in place of a number, or as an additional argument."""
    given = argument_of(function, call, name)
    if given is not None:
        return _instead(given, text) if number(given) is not None else {}
    return with_argument(call, name, text)


# --- new parameters --------------------------------------------------------------------------------------------------


def _may_take_eps(document: Document, function: cst.FunctionDef) -> bool:
    """Return whether a parameter `eps` can be added to the function without breaking a protocol or a forwarded call."""
    name, params = function.name.value, function.params
    forwarded = {"eps", params.star_kwarg.name.value if params.star_kwarg else ""}
    used = any(n.value in forwarded for n in names_in(document, function.body))
    own = name == "forward" or name.startswith("__") or parameters(function)[:1] == ["ctx"]
    protocol = own and name != "__init__"
    typed = "# type:" in document.source(function) or "jit.script" in document.text
    full = isinstance(params.star_arg, cst.Param) or "eps" in parameters(function)
    return not (protocol or typed or full or used) and decorators(function) <= _TRANSPARENT


def kept(cls: cst.ClassDef, name: str) -> Changes:
    """Store a constructor's parameter as an attribute behind `super().__init__()` or as the first statement."""
    init = constructor(cls)
    if init is None or not init.params.params or not isinstance(init.body, cst.IndentedBlock):
        return {}
    line, body = f"{init.params.params[0].name.value}.{name} = {name}", init.body.body
    documented = body[:1] if init.get_docstring(clean=False) is not None else ()
    calls = [s for s in body if isinstance(s, cst.SimpleStatementLine) and "__init__" in shown(s)]
    for last in [*documented, *calls][-1:]:
        return {last: lambda now: cst.FlattenSentinel([now, cst.parse_statement(line)])}
    return written_above([(body[0], line)])


def _new_parameter(document: Document, node: cst.CSTNode, value: str) -> Reached | None:
    """Add a parameter `eps=1e-6` to the class or to a function named like a norm; None if neither can take it."""
    me, function = self_at(document, node), outermost(document, node)
    if me is not None:
        return _new_parameter_of_class(document, me.cls, me.name, value)
    named = function is not None and "norm" in function.name.value.lower()
    if function is None or not named or not _may_take_eps(document, function):
        return None
    return Reached("eps", with_parameter(function, "eps", value))


def _new_parameter_of_class(document: Document, cls: cst.ClassDef, me: str, value: str) -> Reached | None:
    family = lineage(document, cls)
    owner = next((one for one in family if constructor(one) is not None), None)
    init = constructor(owner) if owner is not None else None
    taking = any(n.attr.value == "eps" for one in family for n in document.below(one, cst.Attribute))
    taking |= any(n.name.value == "eps" for one in family for n in document.below(one, cst.FunctionDef))
    if owner is None or init is None or taking or not _may_take_eps(document, init):
        return None
    keeping = kept(owner, "eps")
    return Reached(f"{me}.eps", {**with_parameter(init, "eps", value), **keeping}) if keeping else None
