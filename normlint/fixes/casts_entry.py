"""Where the input must be cast for its squares to be taken in fp32: at each operand, or in one line in front."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from normlint.evaluate.monomial import Centred, Stat
from normlint.fixes.casts_edits import Square, asks, behind, scope, square, starts_its_line
from normlint.fixes.casts_words import raising
from normlint.fixes.tree import Function, Tree, called
from normlint.fixes.work import walk
from normlint.norm.norm import Computation
from normlint.text.edit import overlap
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

_LOOKS = ("shape", "size", "ndim", "dim", "device", "numel", "is_cuda", "requires_grad")  # the same in every dtype


@dataclass(slots=True)
class Entry:
    """The places where the input must be cast before it is reduced."""

    squares: list[Square] = field(default_factory=list)
    operands: list[ast.expr] = field(default_factory=list)

    @property
    def nodes(self) -> list[ast.expr]:
        """What is cast at each of them."""
        return [*self.operands, *(s.operand for s in self.squares)]


def entry_of(tree: Tree, several: Iterable[Computation]) -> Entry | None:
    """The places for these computations; None where one of them can't be found."""
    found, seen = Entry(), set[Span]()
    for c in several:
        for stat in _spans(c):
            if stat in seen:
                continue
            seen.add(stat)
            if not _enter(tree, found, c, stat):
                return None
    names = {node.id for node in found.nodes if isinstance(node, ast.Name)}
    found.operands += dict.fromkeys(node for c in several for node in _scaled_first(tree, c, names))
    return found


def _scaled_first(tree: Tree, c: Computation, names: set[str]) -> Iterator[ast.expr]:
    """Where the input meets the gain before the statistic: in halves this product may overflow, too."""
    gains = {gain.param.name.rpartition(".")[2] for gain in c.gains}
    made = tree.at(c.joined)
    nodes: Iterable[ast.AST] = walk(made) if made is not None else ()
    for node in nodes:
        one, other = _factors(node) or (node, node)
        for tensor, gain in ((one, other), (other, one)):
            if isinstance(tensor, ast.Name) and tensor.id in names and called(gain) in gains:
                yield tensor


def _factors(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two of `a * b`, `a.mul(b)` and `torch.mul(a, b)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left, node.right
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "mul":
        return None
    several = [*([node.func.value] if len(node.args) == 1 else []), *node.args]
    return (several[0], several[1]) if len(several) == 2 else None


def _spans(c: Computation) -> list[Span]:
    """What the centres and the statistic are taken of, as far as the one doesn't come from the other."""
    centres = [s for s in _centres(c) if not s.accumulate.wide]
    spans = [s.inner_span for s in centres]
    own = [f.atom for f in c.statistic.inner.factors if isinstance(f.atom, Centred)]
    if not any(a.stat.span != c.statistic.span for a in own):
        steps = [s.span for f in c.statistic.inner.factors for s in f.steps if s.op == "square"]
        spans.append(max(steps, key=lambda s: s.end, default=c.statistic.inner_span))
    return spans


def _enter(tree: Tree, found: Entry, c: Computation, span: Span) -> bool:
    squares = {s.span for f in c.statistic.inner.factors for s in f.steps if s.op == "square"}
    product = tree.at(span)
    if isinstance(product, ast.Call) and called(product) in ("einsum", "vecdot"):
        several = [a for a in product.args if not isinstance(a, ast.Constant)]  # all in one dtype, or torch refuses
        found.operands += several
        return bool(several) and not any(isinstance(a, ast.Starred) for a in several)
    if span in squares:
        one = square(tree, span)
        found.squares += [one] if one else []
        return one is not None
    node = tree.at(span)
    found.operands += [node] if node is not None else []
    return node is not None


def casting(tree: Tree, entry: Entry, up: str, gone: Iterable[Edit] = ()) -> tuple[Edit, ...]:
    """The input cast at each of these places; `gone` are edits that may take parentheses away around them."""
    edits = [edit for node in entry.operands for edit in behind(tree, node, raising(tree, node, up))]
    for one in entry.squares:
        if one.twice:
            squared = f"{tree.source(one.operand)}{raising(tree, one.operand, up)}.pow(2)"
            edit = Edit(tree.with_parentheses(one.node), squared)
            edits.append(replace(edit, span=tree.span(one.node)) if overlap([edit], gone) else edit)
        else:
            edits += behind(tree, one.operand, raising(tree, one.operand, up))
    return tuple(edits)


@dataclass(frozen=True, slots=True)
class Top:
    """A line in front of `stmt` that casts `name` for all that follows in the function."""

    stmt: ast.stmt
    name: str
    up: str
    function: Function

    @property
    def line(self) -> str:
        """As it is written."""
        return f"{self.name} = {self.name}{self.up}"


def _at_the_top(tree: Tree, entry: Entry, end: int, up: str) -> Top | None:
    """The line, where one casts what all these places use."""
    nodes = entry.nodes
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    functions = {scope(tree, n) for n in nodes}
    first = tree.statement(min(nodes, key=lambda n: tree.span(n).start))
    if len(names) != 1 or not all(isinstance(n, ast.Name) for n in nodes) or len(functions) != 1 or first is None:
        return None
    name, function = names.pop(), functions.pop()
    block = tree.body_of(first)
    later = block[block.index(first) :]
    inside = [any(one in tree.above(n) for one in later) for n in nodes]
    if function is None or not all(inside) or not starts_its_line(tree, first):
        return None
    anew = (tree.span(one).end for one in later if _binds(one, name))
    stretch = Span(tree.span(first).start, end)
    if isinstance(function, ast.Lambda) or not _only_there(tree, function, name, stretch, next(anew, len(tree.text))):
        return None
    return Top(first, name, raising(tree, nodes[0], up), function)


def _binds(stmt: ast.stmt, name: str) -> bool:
    return isinstance(stmt, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in stmt.targets)


def _only_there(tree: Tree, function: ast.AST, name: str, stretch: Span, anew: int) -> bool:
    """From there on nobody asks for the dtype, and behind it nobody reads the tensor until its name is bound `anew`."""
    for node in walk(function):
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        at, holder = tree.span(node).start, tree.parent(node)
        if at < stretch.start or (isinstance(holder, ast.Attribute) and holder.attr in _LOOKS):
            continue
        if isinstance(holder, ast.Attribute) and holder.attr == "dtype":
            return False
        if (isinstance(holder, ast.Call) and node in holder.args and asks(holder)) or stretch.end <= at < anew:
            return False
    return True


def one_line(tree: Tree, entry: Entry, made: Span, up: str) -> Top | None:
    """One line, where the input would be cast in several places or by many words."""
    node = tree.at(made)
    stmt = tree.statement(node) if node is not None else None
    several = len(entry.nodes) > 1 or (entry.nodes and up != raising(tree, entry.nodes[0], up))
    function = scope(tree, entry.nodes[0]) if several else None
    if function is None or isinstance(function, ast.Lambda):
        return None
    here = stmt is not None and any(n is function for n in tree.above(stmt))
    end = tree.span(stmt).end if here and stmt is not None else tree.span(function).end
    return _at_the_top(tree, entry, end, up)


def _centres(c: Computation) -> list[Stat]:
    """The means that are subtracted, where they are reductions of their own."""
    inner = [f.atom.stat for f in c.statistic.inner.factors if isinstance(f.atom, Centred)]
    found = {s.span: s for s in (*inner, *([c.centre] if c.centre else []))}
    return [s for s in found.values() if s.span != c.statistic.span]
