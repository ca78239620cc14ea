"""The norm's own lines as a function: from the statistic to the product, with the input as its parameter."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete.functions import bound_by, bound_names
from normlint.evaluate.lower import lower
from normlint.evaluate.walk import children, walk
from normlint.norm.norm import Computation, Norm
from normlint.norm.owner import is_eps
from normlint.text.finding import Span
from normlint.verify.job import Job, Meaning
from normlint.verify.program.place import FUNCTIONS, Found, Given, class_in, given, last_name, product_of, steps_before
from normlint.verify.program.surroundings import FUNCTION, Surroundings, holds

_SIZES: Final = re.compile(
    r"(?:n_?|num_)?(?:d|dim|dims|size|width|channels|features|hidden|hidden_size|hidden_dim|d_model|model_dim|head_dim"
    r"|dim_head|d_head|embed_dim|embedding_dim|emb_dim|n_embd|in_channels|out_channels|num_features|inner_dim"
    r"|normalized_shape|num_channels|attention_head_dim)$"
)
_EPS: Final = "1e-06"
_POWERS: Final = {"sqrt": "0.5", "rsqrt": "-0.5", "int": "1", "float": "1"}
_X: Final = "\0"  # the input, until it is known what it can be called
_DEEPEST: Final = 4
_KEPT: Final = (s.Assign, s.Augment, s.Evaluate, s.Function, s.Class, s.Import, s.With)
_WIDER: Final = frozenset({"float", "double", "float32", "float64"})
_CASTS: Final = frozenset({"float", "double", "to", "type", "dtype"})
_MOVES: Final = frozenset("permute transpose movedim rearrange swapaxes T mT view reshape flatten".split())


class CannotCutError(Exception):
    """What is left over, as the text has it."""


def lines_of(around: Surroundings, norm: Norm, meant: Meaning) -> Job:
    """The job for the norm's own lines; `needs` says what of its surroundings they can't do without."""
    job = _tried(product_of(around, norm), around, norm, meant)
    for first in (False, True):
        if job.needs:
            job = _tried(product_of(around, norm, returned=False, first=first), around, norm, meant)
    return job


def _tried(found: Found | None, around: Surroundings, norm: Norm, meant: Meaning) -> Job:
    try:
        if found is None:
            raise CannotCutError("lines that can be run by themselves")
        return _job(found, around, norm, meant)
    except CannotCutError as left:
        return Job(norm.qualname, meant, needs=str(left))


def _job(found: Found, around: Surroundings, norm: Norm, meant: Meaning) -> Job:
    steps = steps_before(around, found.chain)
    held = given(around, found, steps, norm.main)
    if held is None:
        raise CannotCutError("the expression that is normalised")
    lines = _Lines(around, found, held, meant)
    lines.take(steps)
    centre = norm.main.centre
    if centre is not None and not lines.hold(centre.span):
        raise CannotCutError("the lines that subtract the mean")
    program = lines.written()
    if missing := around.missing(names := sorted(free(lower(program)))):
        raise CannotCutError(missing)
    # a norm in fp32 whose lines widen nothing themselves was cast on the way here
    halves = meant.halves and (lines.mention(_WIDER) or not norm.main.statistic.square.wide)
    layout = {} if lines.mention(_MOVES) else _layout(norm.main)
    renamed = replace(meant, gain=lines.gain, shift=lines.shift, halves=halves, **layout)
    # the count of a length's features may come after them
    uncounted = meant.of_sum and norm.kind != "l2" and not holds(found.product.span, norm.span)
    job = Job(norm.qualname, renamed, program, FUNCTION, input=lines.input, cut=True, more=uncounted)
    return around.job(job, names)


def _layout(c: Computation) -> dict[str, Any]:
    """The axes as they lie where the lines begin: moves before them don't count."""
    if not c.statistic.layout or not isinstance(c.statistic.axes, tuple):
        return {}
    return {"axes": c.statistic.axes, "rank": c.statistic.rank}


def free(nodes: object) -> set[str]:
    """The names that nodes take from outside."""
    names, bound = set[str](), set[str]()
    for node in walk(nodes):
        if isinstance(node, s.Name):
            names.add(node.id)
        elif isinstance(node, FUNCTIONS):
            bound.update(p.name for p in node.params)
        elif isinstance(node, s.Clause):
            bound.update(n.id for n in walk(node.target) if isinstance(n, s.Name))
        bound.update(bound_by(node))
    return names - bound


def _loaded(stmt: s.Node) -> set[str]:
    """The names that a statement reads, also those that it binds anew."""
    if isinstance(stmt, s.Assign):
        places = {n.id for n in walk(stmt.targets) if isinstance(n, s.Name)}
        return free(stmt.value) | (places - bound_names((stmt,)))
    return free(stmt) | (bound_names((stmt,)) if isinstance(stmt, s.Augment) else set())


def _changed(stmt: s.Stmt) -> set[str]:
    """Names that a statement binds, or changes in place."""
    match stmt:
        case s.Evaluate(value=s.Call(func=s.Attribute(base=base, name=name))) if name.endswith("_"):
            return {_root(base)}
        case s.Assign(targets=targets):
            return bound_names((stmt,)) | {_root(target) for target in targets if isinstance(target, s.Subscript)}
        case s.Augment(target=s.Subscript() as target):
            return {_root(target)}
    return bound_names((stmt,))


def _root(node: s.Expr) -> str:
    while isinstance(node, s.Attribute | s.Subscript | s.Call):
        node = node.func if isinstance(node, s.Call) else node.base
    return node.id if isinstance(node, s.Name) else ""


def _dotted(node: s.Node) -> str:
    """`a.b.c`, or nothing where there is more than names."""
    if isinstance(node, s.Attribute):
        above = _dotted(node.base)
        return above and f"{above}.{node.name}"
    return node.id if isinstance(node, s.Name) else ""


@dataclass(eq=False)
class _Lines:
    """The function that is put together: its lines, and what they still name as parameters or as their values."""

    around: Surroundings
    found: Found
    held: Given
    meant: Meaning
    gain: str = ""
    shift: str = ""
    _taken: list[tuple[s.Node, bool]] = field(default_factory=list)  # and whether the input's expression stands for it
    _given: dict[str, str] = field(default_factory=dict)  # parameters and their defaults, "" for none
    _edits: dict[Span, str] = field(default_factory=dict)
    _names: dict[str, list[Span]] = field(default_factory=dict)  # what is still named, and where
    _alike: set[Span] = field(default_factory=set)  # where only the dtype or device of a name is wanted

    @cached_property
    def _functions(self) -> list[s.Function | s.Lambda]:
        """Those that hold the lines, the innermost first."""
        return [n for n in reversed(self.found.chain) if isinstance(n, FUNCTIONS)]

    @cached_property
    def _owned(self) -> list[set[str]]:
        """The local names of each of them."""
        return [{p.name for p in f.params} | bound_names(_block(f)) for f in self._functions]

    @cached_property
    def _class(self) -> s.Class | None:
        return class_in(self.found.chain)

    # --- which lines

    def take(self, steps: list[s.Stmt]) -> None:
        """The steps that the product depends on."""
        product, held = self.found.product, self.held
        if not isinstance(product, s.Expr | s.Augment):
            raise CannotCutError("a single expression")
        self._taken = [(product, True)]
        needed = self._read(product, swapped=True)
        for i in reversed(range(len(steps))):
            step, early = steps[i], i <= held.since
            wanted = _changed(step) & needed
            if not wanted or (early and wanted <= {held.name}):
                continue
            if not isinstance(step, _KEPT):
                raise CannotCutError(sorted(wanted)[0])
            swapped = not (early and held.name)
            self._taken.insert(0, (step, swapped))
            if isinstance(step, s.Assign):
                needed -= _changed(step)
            needed |= self._read(step, swapped=swapped) - {held.name if early else ""}

    def hold(self, span: Span) -> bool:
        """Whether one of the lines is there."""
        return any(holds(node.span, span) for node, _ in self._taken)

    def _read(self, node: s.Node, *, swapped: bool) -> set[str]:
        """What it takes from elsewhere: nothing of what the input is made of."""
        return _loaded(node) & {n.id for n in self._seen(node, swapped=swapped) if isinstance(n, s.Name)}

    def _seen(self, node: s.Node, *, swapped: bool) -> Iterator[s.Node]:
        """The node and those below it, down to the input."""
        yield node
        if not (swapped and self._is_input(node)):
            for child in children(node):
                yield from self._seen(child, swapped=swapped)

    def _is_input(self, node: s.Node) -> bool:
        expr = self.held.expr
        return type(node) is type(expr) and self.around.spelled(node) == self.around.spelled(expr)

    def mention(self, words: frozenset[str]) -> bool:
        """Whether the lines name one of these."""
        names = (n for node, swapped in self._taken for n in self._seen(node, swapped=swapped) if not self._is_input(n))
        return any(getattr(n, "name", getattr(n, "id", "")) in words for n in names)

    # --- their text

    @property
    def input(self) -> str:
        """What the input is called: x, unless the lines have another one."""
        return "x" if "x" not in self._names else self.held.name or "x_"

    def written(self) -> str:
        """The function."""
        for node, swapped in self._taken:
            self._fill(node, swapped=swapped)
        alike = self._as_parameters()
        *before, last = (self._text(node) for node, _ in self._taken)
        product, back = self.found.product, ""
        if isinstance(product, s.Augment):
            last = f"{self._text(product.target)} {product.op} ({self._text(product.value)})"
        if self.mention(_CASTS) and (self.found.several or not self.found.returned):
            before.insert(0, f"dtype_ = {_X}.dtype")  # what comes after the lines may cast back
            back = ".to(dtype_)"
        body = [*[f"like = {_X}"] * alike, *before, f"return ({last}){back}"]
        parameters = [name for name, default in self._given.items() if not default]
        parameters += [f"{name}={default}" for name, default in self._given.items() if default]
        head = f"def {FUNCTION}({', '.join([_X, *parameters])}):\n"
        return (head + textwrap.indent("\n".join(body), "    ")).replace(_X, self.input)

    def _text(self, node: s.Node) -> str:
        """The node's text with its edits."""
        text, found, at = self.around.text, "", node.span.start
        for (start, end), new in sorted(self._edits.items()):
            if at <= start and end <= node.span.end:
                found, at = found + text[at:start] + new, end
        column = node.span.start - text.rfind("\n", 0, node.span.start) - 1
        return re.sub(rf"\n[ \t]{{0,{column}}}", "\n", found + text[at : node.span.end])

    def _fill(self, node: s.Node, *, swapped: bool) -> None:
        """Put what is known in the place of what is named."""
        if (swapped and self._is_input(node)) or (isinstance(node, s.Name) and node.id == self.held.name):
            self._edits[node.span] = _X
            return
        if isinstance(node, s.Name):
            self._names.setdefault(node.id, []).append(node.span)
        if isinstance(node, s.Attribute) and (path := _dotted(node)) and (text := self._attribute(node, path)):
            self._edits[node.span] = text
            return
        match node:
            case s.Attribute(base=s.Name(span=span), name="dtype" | "device"):
                self._alike.add(span)
            case s.Call(func=s.Attribute(name="type_as" | "to"), args=(s.Argument(value=s.Name(span=span)),)):
                self._alike.add(span)
        for child in children(node):
            self._fill(child, swapped=swapped)

    # --- what they still name

    def _as_parameters(self) -> bool:
        """The names of the functions around become parameters.

        Another tensor that only its dtype and device are wanted of is as good as the input, as it came in: `like`.
        """
        nodes = [node for node, _ in self._taken]
        bound = bound_names(tuple(n for n in nodes if isinstance(n, s.Stmt)))
        owned = {name for names in self._owned for name in names}
        left = {name for node in nodes for name in free(node)} & owned & self._names.keys() - bound
        alike = {name for name in left if self._alike.issuperset(self._names[name])}
        self._edits |= {span: "like" for name in alike for span in self._names[name]}
        for name in sorted(left - alike):
            self._parameter(name)
        return bool(alike)

    def _parameter(self, name: str) -> None:
        """A name of the function that the lines were cut from."""
        function = next(f for f, names in zip(self._functions, self._owned, strict=True) if name in names)
        default = _default(function, name)
        if name == self.meant.gain:
            self.gain = name
        if name == self.meant.shift:
            self.shift = name
        if is_eps(name):
            self._given[name] = self.around.source(default) if isinstance(default, s.Literal) else _EPS
        elif any(p.name == name for p in function.params) or name in (self.gain, self.shift):
            plain = default if isinstance(default, s.Literal | s.Unary) else None
            self._given[name] = self.around.source(plain) if plain else ""
        else:
            raise CannotCutError(name)

    def _attribute(self, node: s.Attribute, path: str) -> str:
        """What stands for `self.eps`, `self.weight`, `config.hidden_size`; "" where its base alone is looked at."""
        root, _, below = path.partition(".")
        last = node.name
        tensors = {self.meant.gain, self.meant.shift} - {""}
        owner = below.rpartition(".")[0]
        whole = path if path in tensors else below  # `w.weight` of an argument, `weight` of self
        if root == self.held.name or (whole is below and root not in self._owners) or (owner and owner in tensors):
            return ""
        if whole in tensors:
            self._given[last] = ""
            if whole == self.meant.gain:
                self.gain = last
            else:
                self.shift = last
            return last
        if is_eps(last):
            default = _default(self._init, last)
            self._given[last] = self.around.source(default) if default else _EPS
            return last
        return self._value(node, below)

    @cached_property
    def _owners(self) -> set[str]:
        first = self._functions[0].params[:1] if self._class else ()
        return {"self", "cls", "config", "cfg", "args", *(p.name for p in first)}

    # --- numbers of the constructor

    def _value(self, node: s.Attribute, path: str) -> str:
        """A number that the constructor computes; a size is that of the reduced axes."""
        made = self._made(path)
        if made is not None and (number := self._number(made, _DEEPEST)):
            return number
        if node.name == "normalized_shape":
            return f"({', '.join(self._lengths)},)"
        if _SIZES.match(node.name):
            return self._size
        raise CannotCutError(self.around.source(node))

    @property
    def _lengths(self) -> list[str]:
        """Of the reduced axes."""
        return [f"{_X}.shape[{axis}]" for axis in self.meant.axes or (-1,)]

    @property
    def _size(self) -> str:
        """The number of features, taken from the input."""
        return self._lengths[0] if len(self._lengths) == 1 else f"({' * '.join(self._lengths)})"

    @cached_property
    def _init(self) -> s.Function | None:
        body = self._class.body if self._class else ()
        return next((n for n in body if isinstance(n, s.Function) and n.name == "__init__"), None)

    def _made(self, path: str) -> s.Expr | None:
        """What `__init__` assigns to the attribute, or the class's own value."""
        places = (
            (f"self.{path}", self._init.body if self._init else ()),
            (path, self._class.body if self._class else ()),
        )
        for wanted, block in places:
            for stmt in walk(block, own=True):
                if isinstance(stmt, s.Assign) and _dotted(stmt.targets[0]) == wanted:
                    return stmt.value
        return None

    def _number(self, node: s.Expr, depth: int) -> str:
        """The expression with sizes and defaults in place of the constructor's parameters; "" where it isn't one."""
        match node:
            case s.Literal():
                return self.around.source(node)
            case s.Name() | s.Attribute():
                return self._named(node, depth)
            case s.Binary(op=op, left=left, right=right) if depth:
                one, two = self._number(left, depth - 1), self._number(right, depth - 1)
                return one and two and f"({one} {op} {two})"
            case s.Unary(op=op, operand=operand) if depth:
                inner = self._number(operand, depth - 1)
                return inner and f"({op} {inner})"
            case s.Call(func=func, args=(s.Argument(value=value),)) if depth and last_name(func) in _POWERS:
                inner = self._number(value, depth - 1)
                return inner and f"({inner} ** {_POWERS[last_name(func)]})"
        return ""

    def _named(self, node: s.Name | s.Attribute, depth: int) -> str:
        path = _dotted(node)
        if _SIZES.match(path.rsplit(".", 1)[-1]):
            return self._size
        default = _default(self._init, path) if isinstance(node, s.Name) else None
        if isinstance(default, s.Literal | s.Unary):
            return self.around.source(default)
        made = self._made(path.removeprefix("self.")) if path.startswith("self.") and depth else None
        return self._number(made, depth - 1) if made is not None else ""


def _block(function: s.Function | s.Lambda) -> s.Block:
    return function.body if isinstance(function, s.Function) else ()


def _default(function: s.Function | s.Lambda | None, name: str) -> s.Expr | None:
    """The default value of a function's parameter."""
    params = function.params if function else ()
    return next((p.default for p in params if p.name == name), None)
