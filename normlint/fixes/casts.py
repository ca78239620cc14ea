"""Build the fixes of NRM201 to NRM206: cast the input to fp32 before it is squared, and the output back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import libcst as cst

from normlint.evaluate.dtypes import HALVES, DType
from normlint.evaluate.monomial import VARIANCE_AS_DIFFERENCE, Centred, Input, Param, Step
from normlint.fixes.calls import operand_of
from normlint.fixes.casts_words import (
    Back,
    back,
    behind,
    bound,
    cast,
    raising,
    receiver,
    scope,
    usual_upcast,
    without_cast,
    written_above,
)
from normlint.fixes.document import Changes, Document
from normlint.fixes.spelling import called, expression, last_name, operands, operation
from normlint.fixes.tree import Tree
from normlint.fixes.trial import Trial, stats_of
from normlint.norm.conventions import COMPLEX
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Applicability, Fix, Span
from normlint.text.pieces import pieces

# Where to cast the input before it is reduced: the node to replace → the node to cast in it. They differ only for a
# product of two equal names, which becomes a power.
Entry = dict[cst.BaseExpression, cst.BaseExpression]


def entry_of(document: Document, several: Iterable[Computation]) -> Entry:
    """Return the places where these computations take their input in, as far as they are found."""
    spans = dict.fromkeys((span, span in _squares(c)) for c in several for span in _spans(c))
    return {whole: node for span, square in spans for whole, node in _entered(document, document.at(span), square)}


def _spans(c: Computation) -> list[Span]:
    """Return the spans of what the centres and the statistic are taken of, without those that depend on another one."""
    centres = [s for s in stats_of(c) if s.span != c.statistic.span]
    spans = [s.inner_span for s in centres if not s.accumulate.wide]
    own = [f.atom for f in c.statistic.inner.factors if isinstance(f.atom, Centred)]
    if not any(a.stat.span != c.statistic.span for a in own):
        spans.append(max(_squares(c), key=lambda s: s.end, default=c.statistic.inner_span))
    return spans


def _squares(c: Computation) -> set[Span]:
    return {s.span for f in c.statistic.inner.factors for s in f.steps if s.op == "square"}


def _entered(document: Document, node: Any, square: bool) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    if called(node) in ("einsum", "vecdot"):
        several = [a.value for a in node.args if not a.star]  # torch requires one dtype
        yield from ((one, one) for one in several if not isinstance(one, cst.BaseString | cst.BaseNumber))
        return
    if square and isinstance(node, cst.BinaryOperation):
        node, twice = node.left, node if isinstance(node.left, cst.Name) and node.left.deep_equals(node.right) else None
        yield twice or node, node
        return
    operand = operand_of(document, node) if square and isinstance(node, cst.Call) else node
    yield from [(operand, operand)] if operand is not None else ()


def casting(document: Document, entry: Entry, up: str) -> Changes:
    """Cast the input up at each of these places."""
    changes = Changes()
    for whole, node in entry.items():
        suffix = raising(document, node, up)
        changes |= behind(node, suffix) if whole is node else {whole: expression("{x}.pow(2)", x=cast(node, suffix))}
    return changes


def shared_casts(c: Computation) -> list[Step]:
    """Return the casts of the whole product, without those of the statistic or the input alone."""
    return [s for s in c.trail if s.op == "cast" and s.span in {one.span for one in c.input_steps}]


def inputs_of(c: Computation) -> tuple[str, ...]:
    """Return the names of the input where it comes in."""
    return tuple(f.atom.name for f in c.input.factors if isinstance(f.atom, Input))


def lacks(c: Computation) -> bool:
    """Return whether the product would stay in fp32 in a module of halves, because nothing casts it back."""
    casts = shared_casts(c)
    back_again = bool(casts) and not (casts[-1].dtype is not None and casts[-1].dtype.wide)
    return c.gain_may_be_half and not back_again


def cast_back(
    document: Document, several: Iterable[Computation], entry: Entry | None = None, *, late: bool = False
) -> Changes | None:
    """Cast each of these products back where it is made, or (`late`) where it is returned.

    None where it isn't clear to which dtype. The changes include the new lines that store the input's dtype.
    """
    changes, lines = Changes(), dict[tuple[cst.CSTNode, str], None]()
    ways = [(c, _way_back(document, c, entry, late=late)) for c in several]
    made = {c.joined: way for c, way in ways if way is not None and document.span(way[0]).end <= c.joined.end}
    for c, its_own in ways:
        way = made.get(c.joined, its_own)  # a cast where it is made covers every path
        if way is None:
            return None
        node, found = way
        casts = [_cast(document, c, one, found.suffix) for one in _tensors(node)]
        changes |= {one: change for made_here in casts for one, change in made_here.items()}
        lines |= {(found.line_at, found.line): None} if found.line_at is not None and any(casts) else {}
    return changes | written_above(lines)


def _cast(document: Document, c: Computation, node: cst.BaseExpression, suffix: str) -> Changes:
    """Cast the node back, in place of a cast to fp32 if that is its last step."""
    dtypes = {step.span: step.dtype for step in shared_casts(c)}
    dtype, operand = dtypes.get(document.span(node)), receiver(document, node)
    own = isinstance(node, cst.Name) and suffix in (f".type_as({node.value})", f".to({node.value}.dtype)")
    if own or isinstance(document.parent(node), cst.Expr):
        return {}  # a change in place has kept the dtype
    if dtype is not None and dtype.wide and operand is not None:
        there = dtypes.get(document.span(operand)) is DType.INPUT
        return {node: lambda now: cast(now.func.value, "" if there else suffix)}
    return {node: lambda now: _cast_behind_gain(now, _plain_gain_names(c), suffix)}


def _cast_behind_gain(now: Any, names: set[str], suffix: str) -> cst.BaseExpression:
    """Turn `weight * x * y` into `weight * (x * y).to(…)`: a parameter in fp32 promotes it as behind a cast back."""
    first = now
    while operation(first) in ("mul", "div") and operation(getattr(first, "left", None)) in ("mul", "div"):
        first = first.left
    plain = isinstance(first, cst.BinaryOperation) and operation(first) == "mul" and last_name(first.left) in names
    if first is now or not plain:
        return cast(now, suffix)
    return expression("{g} * {v}", g=first.left, v=cast(now.deep_replace(first, first.right), suffix))


def _tensors(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the tensors to cast in a returned expression such as `y` or `(y, None) if more else y`."""
    branches = [node.body, node.orelse] if isinstance(node, cst.IfExp) else [node]
    several = [e.value for one in branches if isinstance(one, cst.Tuple) for e in one.elements]
    plain = [one for one in branches if not isinstance(one, cst.Tuple)]
    return [*plain, *(e for e in several if any(e.deep_equals(one) for one in plain))] if several else [node]


def _way_back(
    document: Document, c: Computation, entry: Entry | None, *, late: bool
) -> tuple[cst.BaseExpression, Back] | None:
    """Return what to cast back and how: in the function that makes the product, if possible without a new line."""
    given, made = _exactly(document, c.span), _exactly(document, c.joined)
    if entry is None and not _half_there(c):
        made = None
    joined = [f.atom for f in c.shift.factors] if c.shift else []
    mixed = made is not None and any(not isinstance(a, Input | Param) for a in c.others)
    if mixed or any(not isinstance(a, Param) for a in joined):
        given = None  # another tensor or a residual is added: it isn't clear whose dtype to take
    whole = given is not None and document.span(given).holds(c.joined)  # in one expression
    ways = [
        (_without_parameters(document, c, node), found)
        for node in ((given, made) if late or whole else (made, given))
        if node is not None and (found := _cast_to_input(document, c, node, entry)) is not None
    ]
    return min(ways, key=lambda way: bool(way[1].line), default=None)


def _half_there(c: Computation) -> bool:
    """Return whether the input, where the product is made, still has the caller's dtype, unlike the statistic."""
    wide = c.widened is not None or c.statistic.square.wide or c.statistic.accumulate.wide
    return wide and not any(s.op == "cast" and s.dtype is not None and s.dtype.wide for s in c.input_steps)


def _plain_gain_names(c: Computation) -> set[str]:
    return {g.param.name.rpartition(".")[2] for g in c.gains if g.offset is None}


def _without_parameters(document: Document, c: Computation, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return only y of `weight * y + bias`: parameters in fp32 may promote it, as in LLaMA."""
    gains = _plain_gain_names(c) | {a.name for a in c.others if isinstance(a, Input)}
    factors = c.shift.factors if c.shift else ()
    shifts = {f.atom.name.rpartition(".")[2] for f in factors if isinstance(f.atom, Param)}
    for word, names in (("add", shifts), ("mul", gains)):
        if operation(node) == word and not called(node).endswith("_"):
            node = _operand_beside(document, node, names)
    return node


def _operand_beside(document: Document, node: cst.BaseExpression, names: set[str]) -> cst.BaseExpression:
    """Return the operand beside one of these parameters, or the node itself if neither operand is one."""
    function, several = scope(document, node), operands(node)
    for one, other in zip(several, several[::-1], strict=True):
        local = isinstance(one, cst.Name) and function is not None and bound(document, function, one.value)
        if last_name(one) in names and not local:
            return other
    return node


def _exactly(document: Document, span: Span) -> cst.BaseExpression | None:
    """Return the expression that fills the whole span, with or without its parentheses."""
    node = document.at(span)
    return node if node is not None and span in (document.span(node), document.outer(node)) else None


def _cast_to_input(document: Document, c: Computation, node: cst.BaseExpression, entry: Entry | None) -> Back | None:
    """Return how to cast a result to the dtype of the nearest name that still holds an input, if there is one."""
    function = scope(document, node)
    local = [n for n in (entry.values() if entry else ()) if isinstance(n, cst.Name) and scope(document, n) is function]
    found = [back(document, node, (one.value,), since=_statement_start(document, one)) for one in local]
    found.append(back(document, node, inputs_of(c)))
    return min((one for one in found if one is not None), key=lambda one: bool(one.line), default=None)


def _statement_start(document: Document, node: cst.BaseExpression) -> int:
    """Return the start of the node's statement, which may bind the name anew: `k = k * k.square()`."""
    stmt = document.around(node, cst.BaseSmallStatement | cst.BaseCompoundStatement)
    return document.span(stmt if stmt is not None else node).start


_FP32: Final = re.compile(r"\bfloat32\b|\.float\(\)")


def upcast(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """Cast the input to fp32 before it is squared, and the product back where nothing does so yet."""
    document = tree.document
    entry = entry_of(document, several)
    backs = cast_back(document, [c for c in several if not c.output.wide and lacks(c)], entry)
    return _upcast(several, tree, entry, backs) if backs is not None else None


def _upcast(several: tuple[Computation, ...], tree: Tree, entry: Entry, more: Changes) -> Fix | None:
    document, up, first = tree.document, usual_upcast(tree), next(iter(entry.values()), None)
    centred = all(c.statistic.spelled != VARIANCE_AS_DIFFERENCE for c in several)  # NRM204 is fixed first
    if first is None or not centred or COMPLEX.search(document.source(document.scope(first))):
        return None
    asked = any(c.possible <= HALVES for c in several)  # the code names a half dtype on this path, on purpose
    safety = Applicability.UNSAFE if asked else Applicability.SAFE
    message = f"Upcast before the square: `{raising(document, first, up)}`"
    return document.fix(message, casting(document, entry, up) | more, safety)


def earlier(several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """Move the upcast from behind the square to the input."""
    document, gone = tree.document, Changes()
    for c in several:
        late = _late_span(c)
        gone |= (without_cast(document, document.at(late)) or {}) if late != c.statistic.span else {}
    return _upcast(several, tree, entry_of(document, several), gone)


def _late_span(c: Computation) -> Span:
    """Return the span of the late cast, or of the statistic if the reduction itself casts."""
    inner = [s for f in c.statistic.inner.factors for s in f.steps]
    squared = max((n for n, s in enumerate(inner) if s.op == "square"), default=-1)
    shared = {s.span for s in shared_casts(c)}
    own = [s for s in (*inner[squared + 1 :], *c.trail) if s.op == "cast" and s.span not in shared]
    return next((s.span for s in own if s.dtype is not None and s.dtype.wide), c.statistic.span)


def downcast(norm: Norm, several: tuple[Computation, ...], tree: Tree) -> Fix | None:
    """Cast the output back to the input's dtype."""
    wanted = _is_wanted_wide(tree.text, norm.owner.name.rpartition(".")[0] or norm.owner.name)
    message = "Cast the output back to the input's dtype"
    ways = ((message, cast_back(tree.document, several, late=late) or {}) for late in (False, True))
    return Trial(tree, norm, "NRM203").first(ways, Applicability.UNSAFE if wanted else Applicability.SAFE)


def _is_wanted_wide(text: str, name: str) -> bool:
    """Return whether another class or function that speaks of fp32 calls this one, and so may rely on its dtype."""
    others = (text[slice(*p.span)] for p in pieces(text) if p.kind in ("class", "def") and name not in p.names)
    return any(re.search(rf"\b{name}\(", other) and _FP32.search(other) for other in others)


def widen(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """Leave the statistic in fp32, and cast the product back where nothing does so yet."""
    document = tree.document
    changes = without_cast(document, document.at(span))
    backs = cast_back(document, [c for c in several if lacks(c)])
    if changes is None or backs is None or any(c.partial for c in several):
        return None
    return document.fix("Leave the statistic in fp32 until the product", backs | changes, Applicability.SAFE)


def follow(several: tuple[Computation, ...], span: Span, tree: Tree) -> Fix | None:
    """Cast the product to the input's dtype, whatever that is."""
    document = tree.document
    node = document.at(span)
    if receiver(document, node) is None or not all(span in {s.span for s in shared_casts(c)} for c in several):
        return None
    found = back(document, node, tuple(dict.fromkeys(name for c in several for name in inputs_of(c))))
    if found is None:
        return None
    line = written_above([(found.line_at, found.line)]) if found.line_at is not None else {}
    changes = {**line, node: lambda now: cast(now.func.value, found.suffix)}
    return document.fix(f"Cast to the input's dtype: `{found.suffix}`", changes, Applicability.UNSAFE)
