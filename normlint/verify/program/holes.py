"""What lines cut out of a function still name: eps, gains, sizes and flags, as parameters or as their values."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from normlint.norm.owner import is_eps
from normlint.verify.job import Meaning
from normlint.verify.program.place import AnyFunction, last_name
from normlint.verify.program.scope import Function, loads, own_names, parameters

_SIZES: Final = re.compile(
    r"(?:n_?|num_)?(?:d|dim|dims|size|width|channels|features|hidden|hidden_size|hidden_dim|d_model|model_dim|head_dim"
    r"|dim_head|d_head|embed_dim|embedding_dim|emb_dim|n_embd|in_channels|out_channels|num_features|inner_dim"
    r"|normalized_shape|num_channels|attention_head_dim)$"
)
_POWERS: Final = {"sqrt": 0.5, "rsqrt": -0.5, "int": 1, "float": 1}
_EPS: Final = 1e-6
_LIKE: Final = "like"
_DEEPEST: Final = 4


@dataclass(eq=False)
class Holes:
    """The parameters of the function that is cut, found while its lines are filled."""

    functions: tuple[AnyFunction, ...]  # those that hold the lines, the innermost first
    cls: ast.ClassDef | None
    meant: Meaning
    input: str
    gain: str = ""
    shift: str = ""
    left: str = ""  # the first thing that can't be filled, as the text has it
    _given: dict[str, ast.expr | None] = field(default_factory=dict)

    @cached_property
    def _owned(self) -> list[set[str]]:
        """The local names of each of the functions."""
        return [own_names(f) for f in self.functions]

    def fill(self, body: list[ast.stmt]) -> ast.FunctionDef:
        """The lines as a function."""
        filled = [_Fill(self).visit(stmt) for stmt in body]
        node = ast.FunctionDef("norm", _arguments({self.input: None}), filled, [], None)
        self._say_like(node)
        local = own_names(node)
        for name in sorted(_free(node) - local):
            self._parameter(name)
        required = {name: None for name, default in self._given.items() if default is None}
        optional = {name: default for name, default in self._given.items() if default is not None}
        node.args = _arguments({self.input: None, **required, **optional})
        self._call_it_x(node)
        return ast.fix_missing_locations(node)

    def _say_like(self, node: ast.FunctionDef) -> None:
        """Another tensor that only its dtype and device are wanted of is as good as the input, as it came in."""
        others = {name for names in self._owned for name in names} & _free(node) - own_names(node)
        alike = {n for n in others if _only_like(node, n)}
        if not alike:
            return
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in alike:
                part.id = _LIKE
        node.body.insert(0, ast.Assign([ast.Name(_LIKE, ast.Store())], ast.Name(self.input, ast.Load())))

    def _call_it_x(self, node: ast.FunctionDef) -> None:
        """The same lines about another tensor are the same program."""
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        if "x" in {n.id for n in names} | set(self._given):
            return
        for n in names:
            n.id = "x" if n.id == self.input else n.id
        node.args.args[0].arg = self.input = "x"

    def _parameter(self, name: str) -> None:
        """A name of the function that the lines were cut from."""
        owners = zip(self.functions, self._owned, strict=True)
        function = next((f for f, names in owners if name in names), None)
        if name in self._given or function is None:
            return
        default = _default(function, name)
        if name == self.meant.gain:
            self.gain = name
        if name == self.meant.shift:
            self.shift = name
        is_parameter = any(a.arg == name for a in parameters(function.args))
        if is_eps(name):
            self._given[name] = default if isinstance(default, ast.Constant) else ast.Constant(_EPS)
        elif is_parameter or name in (self.gain, self.shift):
            self._given[name] = default if isinstance(default, ast.Constant | ast.UnaryOp) else None
        else:
            self.left = self.left or name

    def attribute(self, node: ast.Attribute) -> ast.expr:
        """What stands for `self.eps`, `self.weight`, `config.hidden_size`."""
        path = _dotted(node)
        root, _, below = path.partition(".")
        if root == self.input or root not in self._owners() or self._is_tensor(below.rpartition(".")[0]):
            return node
        last = below.rsplit(".", 1)[-1]
        if below in (self.meant.gain, self.meant.shift):
            return self._tensor(below, last)
        if is_eps(last):
            self._given[last] = _default(self._init(), last) or ast.Constant(_EPS)
            return ast.Name(last, ast.Load())
        return self._value(node, below, last)

    def _is_tensor(self, path: str) -> bool:
        """Of `self.weight.float` the first two names are the gain."""
        return bool(path) and path in (self.meant.gain, self.meant.shift)

    def _owners(self) -> set[str]:
        first = parameters(self.functions[0].args)[:1] if self.functions and self.cls else []
        return {"self", "cls", "config", "cfg", "args", *(a.arg for a in first)}

    def _tensor(self, path: str, name: str) -> ast.expr:
        self._given[name] = None
        if path == self.meant.gain:
            self.gain = name
        else:
            self.shift = name
        return ast.Name(name, ast.Load())

    def _value(self, node: ast.Attribute, path: str, last: str) -> ast.expr:
        """A number that the constructor computes; a size is that of the reduced axes."""
        made = self._made(path)
        if made is not None and (number := self._number(made, _DEEPEST)) is not None:
            return number
        if last == "normalized_shape":
            return ast.Tuple(self._lengths(), ast.Load())
        if _SIZES.match(last):
            return self._size()
        self.left = self.left or ast.unparse(node)
        return node

    def _made(self, path: str) -> ast.expr | None:
        """What `__init__` assigns to the attribute, or the class's own value."""
        init = self._init()
        for stmt in ast.walk(init) if init else ():
            if isinstance(stmt, ast.Assign) and _dotted(stmt.targets[0]) == f"self.{path}":
                return stmt.value
        for stmt in self.cls.body if self.cls else ():
            if isinstance(stmt, ast.Assign) and _dotted(stmt.targets[0]) == path:
                return stmt.value
        return None

    def _init(self) -> Function | None:
        body = self.cls.body if self.cls else []
        return next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)

    def _number(self, node: ast.expr, depth: int) -> ast.expr | None:
        """The expression with sizes and defaults in place of the constructor's parameters; None where it isn't one."""
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.BinOp) and depth:
            left, right = self._number(node.left, depth - 1), self._number(node.right, depth - 1)
            return None if left is None or right is None else ast.BinOp(left, node.op, right)
        if isinstance(node, ast.UnaryOp) and depth:
            inner = self._number(node.operand, depth - 1)
            return None if inner is None else ast.UnaryOp(node.op, inner)
        if isinstance(node, ast.Call) and last_name(node) in _POWERS and len(node.args) == 1:
            inner = self._number(node.args[0], depth - 1) if depth else None
            return None if inner is None else ast.BinOp(inner, ast.Pow(), ast.Constant(_POWERS[last_name(node)]))
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(node, depth)
        return None

    def _named(self, node: ast.Name | ast.Attribute, depth: int) -> ast.expr | None:
        path = _dotted(node)
        last = path.rsplit(".", 1)[-1]
        default = _default(self._init(), path) if isinstance(node, ast.Name) else None
        if _SIZES.match(last):
            return self._size()
        if isinstance(default, ast.Constant | ast.UnaryOp):
            return default
        made = self._made(path.removeprefix("self.")) if path.startswith("self.") else None
        return self._number(made, depth - 1) if made is not None and depth else None

    def _size(self) -> ast.expr:
        """The number of features, taken from the input."""
        first, *others = self._lengths()
        for length in others:
            first = ast.BinOp(first, ast.Mult(), length)
        return first

    def _lengths(self) -> list[ast.expr]:
        """Of the reduced axes."""
        shape = ast.Attribute(ast.Name(self.input, ast.Load()), "shape", ast.Load())
        return [ast.Subscript(shape, ast.Constant(axis), ast.Load()) for axis in self.meant.axes or (-1,)]


class _Fill(ast.NodeTransformer):
    def __init__(self, holes: Holes) -> None:
        self.holes = holes

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        filled = self.holes.attribute(node) if _dotted(node) else node
        return filled if filled is not node else self.generic_visit(node)


def _arguments(given: dict[str, ast.expr | None]) -> ast.arguments:
    found = [copy.deepcopy(d) for d in given.values() if d is not None]
    return ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, found)


def _only_like(node: ast.AST, name: str) -> bool:
    """Every use is `name.dtype`, `name.device`, `y.type_as(name)` or `y.to(name)`."""
    uses = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id=root), attr="dtype" | "device") if root == name:
                uses -= 1
            case ast.Call(func=ast.Attribute(attr="type_as" | "to"), args=[ast.Name(id=root)]) if root == name:
                uses -= 1
    return uses == 0


def _free(node: ast.FunctionDef) -> set[str]:
    return set(loads(node))


def _dotted(node: ast.expr) -> str:
    """`a.b.c`, or nothing where there is more than names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _default(function: AnyFunction | None, name: str) -> ast.expr | None:
    """The default value of a function's parameter."""
    if function is None:
        return None
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    pairs: Iterator[tuple[ast.arg, ast.expr | None]] = zip(
        [*plain[len(plain) - len(args.defaults) :], *args.kwonlyargs], [*args.defaults, *args.kw_defaults], strict=True
    )
    return next((default for arg, default in pairs if arg.arg == name), None)
