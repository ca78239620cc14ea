"""Where casts stand: at what is squared, in one line in front, where a helper is called, around what comes out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Centred, Input, Param, Stat, Step
from normlint.fixes.casts_words import (
    Back,
    Scope,
    Square,
    arguments,
    asks,
    back,
    behind,
    lines_above,
    own_nodes,
    raising,
    receiver,
    scope,
    square,
    starts_its_line,
    stores,
)
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


def shared_casts(c: Computation) -> list[Step]:
    """Casts of the whole product, not of the statistic or the input alone."""
    inputs = {s.span for s in c.input_steps}
    return [s for s in c.trail if s.op == "cast" and s.span in inputs]


def _cast_back(c: Computation) -> bool:
    """The product is cast to something that isn't known to be wide."""
    casts = shared_casts(c)
    return bool(casts) and not (casts[-1].dtype is not None and casts[-1].dtype.wide)


def names_of(c: Computation) -> tuple[str, ...]:
    """What the input is called where it comes in."""
    return tuple(f.atom.name for f in c.input.factors if isinstance(f.atom, Input))


def lacks(tree: Tree, c: Computation) -> bool:
    """With its statistic in fp32 the product would be, too, in a module of halves: nothing casts it back."""
    return c.gain_may_be_half and not _cast_back(c) and not _cast_later(tree, c) and not _compared(tree, c)


def _compared(tree: Tree, c: Computation) -> bool:
    """The text looks whether the product has the dtype that came in, and casts it where it hasn't."""
    found = (tree.at(span) for span in (c.joined, c.span))
    nodes: list[ast.expr] = list(filter(None, found))
    several = [n for node in nodes for n in (node, *getattr(tree.statement(node), "targets", ()))] if nodes else []
    names = {n.id for n in several if isinstance(n, ast.Name)}
    function = scope(tree, nodes[0]) if nodes else None
    sides = (side for n in walk(function or tree.root) if isinstance(n, ast.Compare) for side in _sides(n))
    return any(side.attr == "dtype" and isinstance(side.value, ast.Name) and side.value.id in names for side in sides)


def _sides(test: ast.Compare) -> list[ast.Attribute]:
    return [side for side in (test.left, *test.comparators) if isinstance(side, ast.Attribute)]


def _cast_later(tree: Tree, c: Computation) -> bool:
    """The text that is read no further casts the product, or the name that it gets."""
    node = tree.at(c.span)
    holder = tree.parent(node) if node is not None else None
    call = tree.parent(holder) if isinstance(holder, ast.Attribute) else None
    if isinstance(call, ast.Call) and call.func is holder and (asks(call) or _named_dtype(call)):
        return True
    stmt = tree.statement(node) if node is not None and not c.returned else None
    if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
        return False
    function, name, end = scope(tree, stmt), stmt.targets[0].id, tree.span(stmt).end
    return function is not None and any(
        isinstance(n, ast.Call) and tree.span(n).start > end and asks(n) and _is_name(receiver(tree, n), name)
        for n in walk(function)
    )


def _named_dtype(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("half", "bfloat16", "float", "double")


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def cast_back(
    tree: Tree, several: Iterable[Computation], entry: Entry | None = None, top: Top | None = None
) -> tuple[Edit, ...] | None:
    """Each of these products cast back where it is made or given back; None where it isn't clear to what.

    The lines that this takes are among the edits, and that of `top`.
    """
    wrapped: dict[ast.expr, tuple[Edit, ...]] = {}
    lines: dict[tuple[ast.stmt, str], None] = {}
    for c in several:
        node, found = _backwards(tree, c, entry, top) or (None, None)
        if found is None or node is None:
            return None
        wrapped |= {one: _cast(tree, c, one, found.suffix) for one in _tensors(node)}
        lines |= {(found.line_at, found.line): None} if found.line_at else {}
    lines |= {(top.stmt, top.line): None} if top else {}
    places = dict.fromkeys(stmt for stmt, _ in lines)
    put = [lines_above(tree, place, *(line for stmt, line in lines if stmt is place)) for place in places]
    return (*put, *(edit for edits in wrapped.values() for edit in edits))


def _cast(tree: Tree, c: Computation, node: ast.expr, suffix: str) -> tuple[Edit, ...]:
    """The node cast back; in place of a cast to fp32 that is its last step."""
    dtypes = {step.span: step.dtype for step in shared_casts(c)}
    dtype = dtypes.get(tree.span(node))
    operand = receiver(tree, node) if isinstance(node, ast.Call) and dtype is not None and dtype.wide else None
    if isinstance(node, ast.Name) and suffix in (f".type_as({node.id})", f".to({node.id}.dtype)"):
        return ()  # changed in place, it has kept its dtype
    if operand is None:
        return behind(tree, node, suffix)
    there = dtypes.get(tree.span(operand)) is DType.INPUT
    return (Edit(Span(tree.with_parentheses(operand).end, tree.span(node).end), "" if there else suffix),)


def _tensors(node: ast.expr) -> list[ast.expr]:
    """What is cast of `y`, and of `(y, None) if more else y`."""
    branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]
    several = [e for one in branches if isinstance(one, ast.Tuple) for e in one.elts]
    plain = [one for one in branches if not isinstance(one, ast.Tuple)]
    alike = {ast.dump(one) for one in plain}
    return [*plain, *(e for e in several if ast.dump(e) in alike)] if several else [node]


def _backwards(tree: Tree, c: Computation, entry: Entry | None, top: Top | None) -> tuple[ast.expr, Back] | None:
    """What is cast back and how: where it takes no line of its own, and in the function that makes the product."""
    given, made = _exactly(tree, c.span), _exactly(tree, c.joined)
    helper = made is not None and given is not None and scope(tree, made) is not scope(tree, given)
    if made is not None and not _half_there(tree, c, made, entry):
        made = None
    joined = [f.atom for f in c.shift.factors] if c.shift else []
    mixed = made is not None and any(not isinstance(a, Input | Param) for a in c.others)
    if mixed or any(not isinstance(a, Param) for a in joined):
        given = None  # another tensor or a residual joined: whose dtype counts isn't clear
    ways = [
        (_but_for_gain(tree, c, node), found)
        for node in ((made, given) if helper else (given, made))
        if node is not None and (found := _to_input(tree, c, node, entry, top)) is not None
    ]
    return min(ways, key=lambda way: bool(way[1].line), default=None)


def _half_there(tree: Tree, c: Computation, made: ast.expr, entry: Entry | None) -> bool:
    """What comes in where the product is made has the dtype that the caller's input has, unlike the statistic."""
    if entry is not None:
        return any(scope(tree, n) is scope(tree, made) for n in entry.nodes)
    wide = c.widened is not None or c.statistic.square.wide or c.statistic.accumulate.wide
    return wide and not any(s.op == "cast" and s.dtype is not None and s.dtype.wide for s in c.input_steps)


def _but_for_gain(tree: Tree, c: Computation, node: ast.expr) -> ast.expr:
    """Of `weight * y` only y: a gain in fp32 may promote it, as in LLaMA."""
    function = scope(tree, node)
    bound = stores(tree, function) if function is not None else {}
    gains = {g.param.name.rpartition(".")[2] for g in c.gains if g.offset is None}
    gains |= {a.name for a in c.others if isinstance(a, Input)}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if called(one) in gains and not (isinstance(one, ast.Name) and one.id in bound):
                return other
    return node


def _exactly(tree: Tree, span: Span) -> ast.expr | None:
    node = tree.at(span)
    return node if node is not None and span in (tree.with_parentheses(node), tree.span(node)) else None


def _to_input(tree: Tree, c: Computation, node: ast.expr, entry: Entry | None, top: Top | None) -> Back | None:
    function = scope(tree, node)
    if top is not None and top.function is function:
        return back(tree, node, (top.name,), rebound=top.stmt)
    local = [n for n in (entry.nodes if entry else []) if isinstance(n, ast.Name) and scope(tree, n) is function]
    found = [back(tree, node, (one.id,), since=_line_of(tree, one)) for one in local]
    found.append(back(tree, node, names_of(c)))
    return min((one for one in found if one is not None), key=lambda one: bool(one.line), default=None)


def _line_of(tree: Tree, node: ast.expr) -> int:
    """Where its statement starts, which may bind the name anew: `k = k * k.square()`."""
    stmt = tree.statement(node)
    return tree.span(stmt if stmt is not None else node).start


def at_the_call(
    tree: Tree, entry: Entry, several: Sequence[Computation], lacking: Sequence[Computation], up: str
) -> tuple[Edit, ...] | None:
    """The casts around the only call of the private helper that all happens in; None where it isn't so."""
    names = {n.id if isinstance(n, ast.Name) else "" for n in entry.nodes}
    helpers = {scope(tree, n) for n in entry.nodes}
    if len(names) != 1 or len(helpers) != 1:
        return None
    name, helper = names.pop(), helpers.pop()
    if not name or not isinstance(helper, Function) or not _private(tree, helper):
        return None
    call = _only_call(tree, helper)
    given = _argument(tree, helper, call, name) if call is not None else None
    if call is None or given is None or not _hands_on(tree, helper, name, entry):
        return None
    if any(_scope_at(tree, c.span) is not scope(tree, call) for c in several):
        return None
    edits = behind(tree, given, raising(tree, given, up))
    if not lacking:
        return edits
    own = (given.id,) if isinstance(given, ast.Name) else ()
    found = back(tree, call, (*own, *names_of(lacking[0])))
    if found is None or found.line or any(_scope_at(tree, c.joined) is not helper for c in lacking):
        return None
    return edits + behind(tree, call, found.suffix)


def _scope_at(tree: Tree, span: Span) -> Scope | None:
    node = tree.at(span)
    return scope(tree, node) if node is not None else None


def _private(tree: Tree, helper: Function) -> bool:
    """Nobody else calls it: its name begins with an underscore, or it stands in a function."""
    plain = all(isinstance(d, ast.Name) and d.id == "staticmethod" for d in helper.decorator_list)
    return plain and (helper.name.startswith("_") or scope(tree, helper) is not None)


def _only_call(tree: Tree, helper: Function) -> ast.Call | None:
    """The one place in the text that speaks of the helper, where that is a call."""
    found = [
        node
        for node in walk(tree.root)
        if (isinstance(node, ast.Name) and node.id == helper.name)
        or (isinstance(node, ast.Attribute) and node.attr == helper.name)
    ]
    holder = tree.parent(found[0]) if len(found) == 1 else None
    return holder if isinstance(holder, ast.Call) and holder.func is found[0] else None


def _argument(tree: Tree, helper: Function, call: ast.Call, name: str) -> ast.expr | None:
    """What the call gives for the parameter."""
    keyword = next((k.value for k in call.keywords if k.arg == name), None)
    if keyword is not None or any(isinstance(a, ast.Starred) for a in call.args):
        return keyword
    named = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args)]
    bound = isinstance(tree.parent(helper), ast.ClassDef) and not helper.decorator_list
    named = named[1:] if bound and isinstance(call.func, ast.Attribute) else named
    at = named.index(name) if name in named else len(call.args)
    return call.args[at] if at < len(call.args) else None


def _hands_on(tree: Tree, helper: Function, name: str, entry: Entry) -> bool:
    """What is cast is the parameter as it came in, and the helper doesn't ask for its dtype."""
    first = max(tree.span(n).start for n in entry.nodes)
    if name not in arguments(helper) or any(at < first for at in stores(tree, helper).get(name, ())):
        return False
    for node in own_nodes(helper):
        holder = tree.parent(node)
        if isinstance(node, ast.Name) and node.id == name:
            if isinstance(holder, ast.Attribute) and holder.attr == "dtype":
                return False
            if isinstance(holder, ast.Call) and node in holder.args and asks(holder):
                return False
    return True
