"""Read shapes from a function's annotations, such as `Float[Tensor, "b n d"]`, its docstring and its comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from normlint.evaluate import syntax as s
from normlint.evaluate.attributes import SIZES
from normlint.evaluate.dims import symbol
from normlint.evaluate.monomial import Mono, Scalar, mono_of
from normlint.evaluate.value import Product
from normlint.text.finding import Span

if TYPE_CHECKING:
    from normlint.evaluate.context import Context
    from normlint.evaluate.machine import Machine
    from normlint.evaluate.objects import FunctionRef

_ITEM = r"(?:[A-Za-z_]\w*|\d+|\.\.\.|\*)"
_SHAPE = re.compile(rf"[(\[]\s*({_ITEM}(?:\s*,\s*{_ITEM})*)\s*,?\s*[)\]]")
_TIMES = re.compile(rf"({_ITEM}(?:\s+[x×]\s+{_ITEM})+)")  # batch x 36 x 2048
_PARTS = re.compile(r"\W*(?:format|order|convention|component|coordinate)", re.IGNORECASE)  # no axes before these
_TYPED = re.compile(r"\[\s*[\w.]*(?:Tensor|Array)\s*,\s*[\"']([^\"']+)[\"']\s*\]")
_AXIS = re.compile(
    r"[A-Za-z]\d?|[A-Z]{2,3}|\d+|\.\.\.|\*|.*(?:batch|seq|len|dim|hid|chan|embed|feat|head|tok|time|height|width|num|size"
    r"|model|patch|group|frame|pos|channels|bsz|ctx).*",
    re.IGNORECASE,
)
_NO_AXIS = frozenset("tensor torch float int bool str none optional default list tuple dict any self".split())
MOST_TEXT = 4000  # characters that are searched
_ANY = ("...", "*")


def learn_shapes(m: Machine, ref: FunctionRef, values: Mapping[str, object]) -> None:
    """Record the shapes that a function's annotations, docstring and comments give for its tensors."""
    node = ref.node
    if not isinstance(node, s.Function) or not node.body:
        return
    tensors = {p.name: v for p in node.params if isinstance(v := values.get(p.name), Product) and v.tensor}
    if not tensors:
        return
    head = _head(m, node, ref)
    for param in node.params:
        if param.name in tensors:
            note = m.module.source(param.annotation.span) if param.annotation else ""
            shape = _read(head, param.name, note, len(tensors) == 1)
            if shape is not None:
                _learn(m.ctx, tensors[param.name], shape, node.span.start)


@lru_cache(maxsize=512)
def _read(head: str, name: str, note: str, alone: bool) -> tuple[str, ...] | None:
    """Return the axis names of a parameter's shape; None if the text gives no shape or several."""
    lines = head.splitlines() if any(c in head for c in "([") and any(c in head for c in "#\"'") else []
    shapes = set(_typed(note) or _documented(lines, name) or (_input(lines) if alone else ()))
    return shapes.pop() if len(shapes) == 1 else None


def _head(m: Machine, node: s.Function, ref: FunctionRef) -> str:
    """Return the text from a function's name to its first statement, with its docstring and that of its class."""
    first = node.body[0]
    end = first.span.end if _is_text(first) else first.span.start
    head = m.module.source(Span(node.head.end, min(end, node.head.end + MOST_TEXT)))
    above = ref.owner.node.body[:1] if ref.owner is not None else ()
    for stmt in above:
        if _is_text(stmt):
            head += "\n" + m.module.source(Span(stmt.span.start, min(stmt.span.end, stmt.span.start + MOST_TEXT)))
    return head


def _is_text(stmt: s.Stmt) -> bool:
    return isinstance(stmt, s.Evaluate) and isinstance(stmt.value, s.Literal) and isinstance(stmt.value.value, str)


def _typed(note: str) -> tuple[tuple[str, ...], ...]:
    """Return the shape in an annotation like `Float[Tensor, "b n d"]`, if there is one."""
    found = _TYPED.search(note)
    if found is None or "," in found[1] or "(" in found[1]:
        return ()
    words = found[1].split()
    items = tuple("..." if "..." in w or w[0] == "*" else w.lstrip("#_?").partition("=")[0] for w in words)
    return (items,) if items and all(item == "..." or item.isalnum() or "_" in item for item in items) else ()


def _documented(lines: list[str], name: str) -> tuple[tuple[str, ...], ...]:
    """Return shapes like `x: (B, T, C)` or `x (Tensor): of shape [batch, seq, dim]`, also from the next line."""
    found: list[tuple[str, ...]] = []
    spoken = [(number, line) for number, line in enumerate(lines) if name in line]
    named = re.compile(rf"(?:^|[\s#`\"'(:]){re.escape(name)}\b(?=[`\s:(=\[,]|$)") if spoken else _SHAPE
    for number, line in spoken:
        match = named.search(line)
        if match is None or "return" in line.lower()[: match.start()]:
            continue
        here = list(_shapes(line[match.end() :]))
        declares = line[match.end() :].lstrip("` ").startswith((":", "("))
        found += here[:1] or (list(_shapes(lines[number + 1]))[:1] if declares and number + 1 < len(lines) else [])
    return tuple(found)


def _input(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return shapes like `Input: (N, L, D)`, or in a comment line, for the only tensor of a function."""
    spoken = (line for line in lines if re.search(r"\binputs?\b|^\s*#", line, re.IGNORECASE))
    return tuple(shape for line in spoken for shape in list(_shapes(line))[:1])


def _shapes(line: str) -> Iterator[tuple[str, ...]]:
    """Yield tuples of axis names in brackets, or joined by ×."""
    for match in (*_SHAPE.finditer(line), *_TIMES.finditer(line)):
        if _PARTS.match(line, match.end()):
            continue
        items = tuple(re.split(r"\s*,\s*|\s+[x×]\s+", match[1]))
        named = sum(item.isidentifier() for item in items)
        if named and (len(items) > 1 or match[0].rstrip(")] ").endswith(",")) and all(map(_is_axis, items)):
            yield items


def _is_axis(item: str) -> bool:
    return item.lower() not in _NO_AXIS and _AXIS.fullmatch(item) is not None


def _learn(ctx: Context, x: Product, items: tuple[str, ...], scope: int) -> None:
    """Record the rank of a shape and its named lengths, which are equal for equal names in a function."""
    shapes, dims = ctx.shapes, ctx.dims(x)
    if any(item in _ANY for item in items[1:]):
        return
    back = items[1:] if items[0] in _ANY else items
    if len(back) == len(items):
        if shapes.rank(dims) not in (None, len(items)) or shapes.least(dims) > len(items):
            return
        shapes.learn_rank(dims, len(items))
    for i, item in enumerate(back):
        length = shapes.axis(dims, i - len(back))
        if item.isdigit():
            shapes.unite(length, Mono(float(item)))
        elif item.strip("_"):
            shapes.unite(length, _named(item, scope))
            shapes.name(length, item)


def _named(item: str, scope: int) -> Mono:
    return mono_of(Scalar(item)) if item in SIZES and len(item) > 1 else symbol(f"{item}@{scope}")
