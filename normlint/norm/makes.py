"""Find where a text makes norms: of which class, in which function, and with which eps.

Only the classes and functions that make norms are parsed, and the classes that these name, in this file or another of
the package.
"""

from __future__ import annotations

import ast
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from normlint.norm.nodes import Function, annotated, arguments, dotted, plain
from normlint.norm.numbers import may_be_eps, number
from normlint.text.elsewhere import Definition, Elsewhere, File
from normlint.text.finding import Span
from normlint.text.frozen import kept_each
from normlint.text.making import Making, configured, makings, sets_eps, wired
from normlint.text.pieces import Piece
from normlint.text.source import line_starts
from normlint.text.syntax import parsed_part

# Norms of libraries by top-level module: the place of eps among the arguments, and its default.
_LIBRARY: Final[dict[str, dict[str, tuple[int, float | None]]]] = {
    "torch": {"LayerNorm": (1, 1e-5), "RMSNorm": (1, None)},
    "apex": dict.fromkeys(("FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm"), (1, 1e-5)),
    "transformer_engine": dict.fromkeys(("LayerNorm", "RMSNorm"), (1, 1e-5)),
    "flash_attn": dict.fromkeys(("RMSNorm", "LayerNorm", "DropoutAddLayerNorm"), (1, 1e-5)),
    "liger_kernel": {"LigerRMSNorm": (1, 1e-6), "LigerLayerNorm": (1, 1e-6)},
}
_TORCH_PATHS: Final = ("nn", "torch.nn")
_OTHER_NN: Final = re.compile(  # mlx.nn, say
    r"^[ \t]*(?:import[ \t]+(?!torch\b)\S+[ \t]+as[ \t]+nn|from[ \t]+(?!torch\b)\S+[ \t]+import[^#\n]*\bnn)\b",
    re.MULTILINE,
)
_ANNOTATED: Final = re.compile(r"[:\[|][ \"']*([A-Za-z_][\w.]*)[ \"']*[\]|,)=]")  # the names of classes in annotations
_CONFIGURATION: Final = re.compile(r"^class (\w*(?:Config|Configuration|Args))\b", re.MULTILINE)
_CONFIGURATIONS: Final = re.compile(r"config|cfg|args")  # parameters whose class need not be named
_TAKES_EPS: Final = re.compile(r"def \w+\([^()]*eps")
_CALLED: Final = re.compile(r"\b(\w+)\(")
_EPS: Final = re.compile(r"(?:\b|_|norm|[0-9])eps(?:ilon)?(?![a-z])", re.IGNORECASE)
_INHERITED: Final = 6  # most bases, from a class upwards, that are looked through
_SEVERAL: Final = 2
_MOST: Final = 500  # calls of a text that are looked at
_BLOCKS: Final = ("body", "handlers", "orelse", "finalbody", "cases")  # the fields of a node that hold statements


class Eps(NamedTuple):
    """The eps of a class: its name, place among the arguments, and default (None: torch's finfo(dtype).eps)."""

    name: str
    place: int
    default: float | None


class Configured(NamedTuple):
    """An eps in a configuration: the parameter that holds that, its class, the attribute, and its default.

    The attribute is empty where the parameter is the eps itself.
    """

    parameter: str
    kind: str
    attribute: str
    value: float

    @property
    def source(self) -> str:
        """Return the expression that reads it, such as `config.norm_eps`."""
        return f"{self.parameter}.{self.attribute}" if self.attribute else self.parameter

    def speaks_of(self, norm: str) -> bool:
        """Return whether its name may mean a norm of this name: `rms_norm_eps` means RMS norms alone."""
        name, root = norm.lower(), self.attribute.lower().startswith("rms")
        return root == ("rms" in name) if "rms" in name or root else True


class Made(NamedTuple):
    """A call that makes a norm. `given`: the expression that is passed as eps; None if there is none."""

    call: ast.Call
    name: str
    given: ast.expr | None
    function: Function
    owner: Owner

    @property
    def span(self) -> Span:
        """Return the place of the call in the text."""
        return self.owner.span(self.call)

    @property
    def qualname(self) -> str:
        """Return the qualified name of the function that makes it."""
        within = isinstance(self.owner.node, ast.ClassDef)
        return f"{self.owner.name}.{self.function.name}" if within else self.function.name


class Owner:
    """A top-level class or function of a text, parsed."""

    def __init__(self, text: str, piece: Piece) -> None:
        self.text, self.piece = text, piece
        self.node = next(iter(parsed_part(text, piece.span).body), None)
        self._lines = line_starts(text[slice(*piece.span)])

    @property
    def name(self) -> str:
        """Return the name of the class or function; of any other statement, that of the module."""
        return self.piece.names[0] if self.piece.names else "<module>"

    def places_of(self, word: str) -> list[int]:
        """Return where the text of the class or function has a word."""
        return [found.start() for found in re.compile(word).finditer(self.text, *self.piece.span)]

    def span(self, node: Any) -> Span:
        """Return the place of a node in the text."""
        start = self._offset(node.lineno, node.col_offset)
        return Span(start, self._offset(node.end_lineno, node.end_col_offset))

    def _offset(self, line: int, column: int) -> int:
        start = self.piece.span.start + self._lines[line - 1]
        return start + len(self.text[start : start + column].encode()[:column].decode(errors="ignore"))

    def around(self, places: Iterable[int]) -> tuple[Function, ...]:
        """Return the functions that hold one of the places."""
        inside = [place for place in places if self.piece.span.start <= place < self.piece.span.end]
        spans = [(function, self.span(function)) for function in self.functions] if inside else []
        return tuple(f for f, (start, end) in spans if any(start <= place < end for place in inside))

    def calls_at(self, places: Iterable[int]) -> Iterator[tuple[Function, ast.Call]]:
        """Yield the calls on the lines of these places, in the order of the text, with their functions."""
        inside = (place - self.piece.span.start for place in places if place < self.piece.span.end)
        lines = sorted({bisect_right(self._lines, place) for place in inside if place >= 0})
        for function in self.functions:
            calls = [node for node in _on_lines(function, lines) if isinstance(node, ast.Call)]
            yield from ((function, call) for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Return the methods of the class, or the function itself."""
        body = self.node.body if isinstance(self.node, ast.ClassDef) else [self.node]
        return tuple(node for node in body if isinstance(node, Function))

    @cached_property
    def stored(self) -> tuple[tuple[str, ast.expr], ...]:
        """Return the attributes of `self` that its functions set, with the values."""
        return tuple(pair for function in self.functions for pair in stored(function))


class Makes:
    """The norms that a text makes; what is found also depends on the files in `elsewhere.asked`."""

    def __init__(self, text: str, path: str = "") -> None:
        self.file = File(text, path)
        self.elsewhere = Elsewhere()
        self.norms: dict[str, bool] = {}  # whether the class of a name is a norm and nothing more, once it was asked

    @cached_property
    def _marked(self) -> dict[Piece, list[Making]]:
        """Return the top-level classes and functions that may make a norm, with the calls that may."""
        found: dict[Piece, list[Making]] = {}
        for making in islice(makings(self.file.text), _MOST):
            piece = self._piece_at(making.start)
            if piece is not None and piece.kind in ("class", "def"):
                found.setdefault(piece, []).append(making)
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [piece.span.start for piece in self.file.pieces]

    def _piece_at(self, place: int) -> Piece | None:
        at = bisect_right(self._starts, place) - 1
        return self.file.pieces[at] if at >= 0 and place < self.file.pieces[at].span.end else None

    def without_eps(self, *, hinted: bool = False) -> Iterator[tuple[Made, Eps]]:
        """Yield the norms that are given no eps, of classes that take one, where a configuration may have it.

        `hinted`: where the code around them speaks of an eps.
        """
        if sets_eps(self.file.text):
            return
        for piece in (piece for piece, several in self._marked.items() if not all(one.passes for one in several)):
            if hinted and "eps" not in self.file.text[slice(*piece.span)] and not any(self._around(piece)):
                continue
            takes_eps = hinted and _TAKES_EPS.search(self.file.text, *piece.span) is not None
            kinds = (*_ANNOTATED.findall(self.file.text, *piece.span), self._configuration)
            if not takes_eps and not any(map(self._eps_of_configuration, kinds)):
                continue
            for made in self._made(piece):
                eps = self.eps_of(made.name) if made.given is None else None
                if eps is not None:
                    yield made, eps

    def written(self) -> Iterator[Made]:
        """Yield the norms that are given a number as eps, in a text where others are given an attribute."""
        marked = self._marked if configured(self.file.text) else {}
        pieces = (piece for piece, several in marked.items() if any(one.written for one in several))
        made = (one for piece in pieces for one in self._made(piece))
        return (one for one in made if not math.isnan(number(one.given)))

    def passing(self, one: Made) -> dict[str, list[str]]:
        """Return what norms of the same class and size are given as eps, with the functions that pass it.

        Only attributes of the parameter that also holds the size count, and only those that several functions pass.
        """
        size = _size(one).rpartition(".")[0]
        kinds = {argument.arg: annotated(argument.annotation) for argument in arguments(one.function)}
        found: dict[str, list[str]] = {}
        last = one.name.rpartition(".")[2]
        named = (piece for piece, several in self._marked.items() if any(other.name == last for other in several))
        for other in (m for piece in named for m in self._made(piece) if m.name == one.name):
            parameter, _, attribute = dotted(other.given).rpartition(".") if other.given is not None else ("", "", "")
            if parameter != size or parameter == "self" or _size(other) != _size(one) or not is_eps_of_norm(attribute):
                continue
            if {annotated(a.annotation) for a in arguments(other.function) if a.arg == size} == {kinds.get(size)}:
                found.setdefault(f"{parameter}.{attribute}", []).append(other.qualname)
        return {source: names for source, names in found.items() if len(set(names)) >= _SEVERAL}

    def beside(self, one: Made) -> Iterator[list[Made]]:
        """Yield the norms of the same class with an eps: in the same owner, or several where that owner is made."""
        for piece in (one.owner.piece, *self._around(one.owner.piece)):
            norms = [m for m in self._made(piece) if m.name == one.name and m.given is not None]
            if len(norms) >= (1 if piece is one.owner.piece else _SEVERAL):
                yield norms

    def _around(self, piece: Piece) -> Iterator[Piece]:
        """Yield the other statements that give norms an eps and call what this one defines."""
        return (other for other in self._making.get(piece.names[0], ()) if other is not piece)

    @cached_property
    def _making(self) -> dict[str, list[Piece]]:
        """Return the statements that give norms an eps, by the names that they call."""
        found: dict[str, list[Piece]] = {}
        for piece in (piece for piece, several in self._marked.items() if any(one.passes for one in several)):
            for name in dict.fromkeys(_CALLED.findall(self.file.text, *piece.span)):
                found.setdefault(name, []).append(piece)
        return found

    @kept_each
    def _made(self, piece: Piece) -> tuple[Made, ...]:
        return tuple(self._read(self._owner(piece)))

    @kept_each
    def _owner(self, piece: Piece) -> Owner:
        return Owner(self.file.text, piece)

    def _read(self, owner: Owner) -> Iterator[Made]:
        marked = self._marked.get(owner.piece, ())
        names = {making.name for making in marked}
        for function, call in owner.calls_at(making.start for making in marked):
            name = dotted(call.func)
            if name.rpartition(".")[2] in names and not name.startswith(("self.", "cls.")) and plain(call):
                yield Made(call, name, self._given(call, name), function, owner)

    def _given(self, call: ast.Call, name: str) -> ast.expr | None:
        named = next((k.value for k in call.keywords if k.arg and is_eps(k.arg)), None)
        eps = self.eps_of(name) if named is None and len(call.args) > 1 else None
        return call.args[eps.place] if eps is not None and 0 <= eps.place < len(call.args) else named

    @cached_property
    def wired(self) -> tuple[tuple[Owner, tuple[Function, ...]], ...]:
        """Return the classes that own norms and hold calls marked by the prefilter, with the functions around these."""
        text = self.file.text
        places = sorted(wired(text)) if "Norm" in text and not _OTHER_NN.search(text) else ()
        named = (one for one in self.classes_at(places) if "Norm" in text[slice(*one.piece.span)])
        return tuple((one, one.around(places)) for one in named)

    def classes_at(self, places: Iterable[int]) -> list[Owner]:
        """Return the top-level classes around these places, in their order."""
        return [owner for owner in self.owners_at(places) if owner.piece.kind == "class"]

    def owners_at(self, places: Iterable[int]) -> list[Owner]:
        """Return the top-level statements around these places, in their order."""
        return [self._owner(piece) for piece in dict.fromkeys(map(self._piece_at, places)) if piece is not None]

    # --- classes -----------------------------------------------------------------------------------------------------

    @kept_each
    def eps_of(self, name: str) -> Eps | None:
        """Return how the class of this name takes its eps; None if it takes none, or isn't known."""
        return self._eps_in(name, self.file, 0)

    def taken_by(self, name: str) -> dict[str, ast.expr | None]:
        """Return the constructor's parameters of a class of the package, with their defaults; empty if unknown."""
        found = self.elsewhere.definition(name, self.file)
        inits = constructors(found.node.body) if found else []
        return dict(list(defaults(inits[0]).items())[1:]) if inits else {}

    def is_of_torch(self, name: str) -> bool:
        """Return whether the text imports this name from `torch.nn`."""
        path = name.rpartition(".")[0]
        bare = not path and self.file.class_named(name) is None
        modules = (one.module for one in self.file.imports(name) if bare)
        return self._is_torch_path(path) or any(module.startswith("torch.nn") for module in modules)

    def _is_torch_path(self, path: str) -> bool:
        return path in _TORCH_PATHS and (path != "nn" or not _OTHER_NN.search(self.file.text))

    def _eps_in(self, name: str, file: File, far: int) -> Eps | None:
        path, _, last = name.rpartition(".")
        if path and self._is_torch_path(path):
            return _of_library("torch", last)
        found = self.elsewhere.definition(name, file) if file.class_named(name) else None
        bound = found is None and file.value_of(name) is not None  # anew, as by `LayerNorm = partial(LayerNorm, …)`
        for one in file.imports(name) if found is None and not bound else ():
            if (root := one.module.partition(".")[0]) in _LIBRARY and one.name != "*":
                return _of_library(root, one.name)
        found = found or self.elsewhere.definition(name, file)
        return self._eps_of_class(found, far) if found is not None and far < _INHERITED else None

    def _eps_of_class(self, found: Definition, far: int) -> Eps | None:
        if inits := constructors(found.node.body):
            return _eps_parameter(inits[0], found.file)
        bases = (self._eps_in(dotted(base), found.file, far + 1) for base in found.node.bases)
        return next((eps for eps in bases if eps is not None), None)

    # --- configurations ----------------------------------------------------------------------------------------------

    def configured(self, made: Made) -> Iterator[Configured]:
        """Yield every eps for norms in the configurations that its function takes, found by their annotations."""
        for argument in arguments(made.function):
            named = argument.annotation is None and _CONFIGURATIONS.fullmatch(argument.arg) is not None
            kind = self._configuration if named else annotated(argument.annotation)
            for attribute, value in self._eps_of_configuration(kind).items():
                yield Configured(argument.arg, kind, attribute, value)

    @cached_property
    def _configuration(self) -> str:
        """Return the one class of configurations in the text that has an eps for norms; empty if there are several."""
        names = [name for name in _CONFIGURATION.findall(self.file.text) if self._eps_of_configuration(name)]
        return names[0] if len(names) == 1 else ""

    @kept_each
    def _eps_of_configuration(self, kind: str) -> dict[str, float]:
        """Return the attributes of a class of configurations that hold an eps for norms, with their defaults."""
        found = self.elsewhere.definition(kind, self.file) if kind else None
        fields = self._fields(found, 0) if found is not None else {}
        return {n: v for n, v in fields.items() if is_eps_of_norm(n) and may_be_eps(n, v)}

    def _fields(self, found: Definition, far: int) -> dict[str, float]:
        """Return the attributes of a configuration whose names speak of an eps, with their defaults."""
        fields: dict[str, ast.expr | None] = {}
        for stmt in found.node.body:
            if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
                fields[stmt.target.id] = stmt.value
            elif isinstance(stmt, ast.Assign):
                fields |= {t.id: stmt.value for t in stmt.targets if isinstance(t, ast.Name)}
            elif isinstance(stmt, Function) and stmt.name == "__init__":
                fields |= _stored(stmt)
        read = {name: (value, number(value, found.file)) for name, value in fields.items() if is_eps(name)}
        own = {name: value for name, (node, value) in read.items() if node is None or not math.isnan(value)}
        for base in found.node.bases if far < _INHERITED and not own else ():
            above = self.elsewhere.definition(dotted(base), found.file)
            own |= self._fields(above, far + 1) if above is not None else {}
        return own


def _size(made: Made) -> str:
    """Return the name of the number of features that a norm is made for; empty if it has none."""
    return dotted(made.call.args[0]) if made.call.args else ""


def _of_library(root: str, name: str) -> Eps | None:
    known = _LIBRARY[root].get(name)
    return Eps("eps", *known) if known is not None else None


def _eps_parameter(init: Function, file: File) -> Eps | None:
    given, places = defaults(init), len(init.args.args)
    for at, name in enumerate(argument.arg for argument in arguments(init)):
        default = given.get(name)
        if is_eps(name) and default is not None:
            instead = _in_place_of_none(name, init) if ast.unparse(default) == "None" else []
            numbers = [one for one in instead if isinstance(one, ast.Constant)]
            if len(numbers) < len(instead):
                return None
            return Eps(name, at - 1 if at < places else -1, number(numbers[0] if numbers else default, file))
    return None


def _in_place_of_none(name: str, init: Function) -> list[ast.AST | list[ast.stmt]]:
    """Return what a constructor takes where this argument is None, as in `eps or 1e-6`."""
    found: list[ast.AST | list[ast.stmt]] = []
    for node in ast.walk(init):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and ast.unparse(node.values[0]) == name:
            found.append(node.values[-1])
        elif isinstance(node, ast.IfExp | ast.If) and (test := ast.unparse(node.test)).startswith(f"{name} is "):
            found.append(node.orelse if " not " in test else node.body)
    return found


def constructors(body: Iterable[ast.AST]) -> list[Function]:
    """Return the functions named `__init__`, of which overloads may make several."""
    return [node for node in body if isinstance(node, Function) and node.name == "__init__"]


def defaults(function: Function) -> dict[str, ast.expr | None]:
    """Return the defaults of a function's parameters by name; None for a parameter without one."""
    names = [argument.arg for argument in arguments(function)]
    places, last = function.args.args, function.args.defaults
    every = (*[None] * (len(places) - len(last)), *last, *function.args.kw_defaults)
    return dict(zip(names, every, strict=False))


def _stored(init: Function) -> dict[str, ast.expr | None]:
    """Return the attributes that `__init__` sets, with what they hold by default; None for a required argument."""
    given = defaults(init)
    return {name: given.get(v.id, v) if isinstance(v, ast.Name) else v for name, v in stored(init)}


def stored(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes of `self` that a function sets, with the values."""
    for stmt in statements(function):
        value = stmt.value if isinstance(stmt, ast.Assign | ast.AnnAssign) else None
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
        for target, given in _pairs(targets, value):
            if isinstance(target, ast.Attribute) and dotted(target) == f"self.{target.attr}":
                yield target.attr, given


def _pairs(targets: Iterable[ast.AST | None], value: ast.expr | None) -> Iterator[tuple[ast.AST | None, ast.expr]]:
    """Yield each target with what it is set to; of a tuple that is set to a tuple, each item with its own."""
    for target in targets if value is not None else ():
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            yield from zip(target.elts, value.elts, strict=True)
        elif value is not None:
            yield target, value


@lru_cache(maxsize=512)  # several rules look through the functions of a text in turn
def statements(function: Function) -> tuple[ast.stmt, ...]:
    """Return the statements of a function, nested ones too, in the order of the text."""
    found: list[ast.stmt] = []
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        found += [node] if isinstance(node, ast.stmt) else []
        waiting += reversed([child for name in _BLOCKS for child in getattr(node, name, ())])
    return tuple(found)


def _on_lines(function: Function, lines: list[int]) -> Iterator[ast.AST]:
    """Yield the nodes that reach over one of the lines, which are sorted."""
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        first = getattr(node, "lineno", None)
        at = bisect_left(lines, first) if first is not None else 0
        if at < len(lines) and (first is None or lines[at] <= (getattr(node, "end_lineno", None) or first)):
            yield node
            waiting += ast.iter_child_nodes(node)


def is_eps(name: str) -> bool:
    """Return whether a name says that it holds an eps."""
    return _EPS.search(name) is not None


def is_eps_of_norm(name: str) -> bool:
    """Return whether an attribute of this name holds the eps of layer or RMS norms, and not of others."""
    words = name.lower()
    return is_eps(name) and not any(other in words for other in ("batch", "group", "instance", "adam", "bn_", "gn_"))
