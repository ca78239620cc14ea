"""Find the roles of parameters from their use in the function that takes them."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final

Definition = ast.ClassDef | ast.FunctionDef
_FUSED: Final = ("layer_norm", "rms_norm")
_FILLS: Final = {"constant_": 1, "constant": 1, "fill_": 0, "full": 1, "full_like": 1}  # with the place of the value
_AXES: Final = ("dim", "axis")  # keywords of torch and numpy


@lru_cache(maxsize=8)
def roles(program: str, qualname: str) -> dict[str, str]:
    """Return the role of each parameter whose use tells it: config, norm, shape, axis, count, features and so on."""
    first, *names = qualname.split(".")
    home = node = _definitions(program)[0].get(first, ast.Pass())
    for name in names:
        home, node = node, _defined(list(ast.walk(node))).get(name, ast.Pass())
    found = _Body(node, home).roles() if isinstance(node, ast.FunctionDef) else {}
    return {name: role for name, role in found.items() if role}


def literals(program: str) -> list[str]:
    """Return the string constants of the program that are single words, as the names of modes are."""
    return _definitions(program)[1]


@lru_cache(maxsize=2)
def _definitions(program: str) -> tuple[dict[str, Definition], list[str]]:
    """Return the program's classes and functions by name, and its string constants that are single words."""
    nodes = list(ast.walk(ast.parse(program)))
    texts = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return _defined(nodes), list(dict.fromkeys(text for text in texts if text.isidentifier()))


def _defined(nodes: list[ast.AST]) -> dict[str, Definition]:
    """Return the first class or function of each name."""
    return {n.name: n for n in reversed(nodes) if isinstance(n, ast.ClassDef | ast.FunctionDef)}


class _Body:
    """A function, and the places where it reads each name."""

    def __init__(self, function: ast.FunctionDef, home: ast.AST) -> None:
        self._function, self._home = function, home
        self._nodes = list(ast.walk(function))
        self._made = {inner for node in self._nodes if _makes_layer(node) for inner in ast.walk(node)}
        self._reads: dict[str, list[tuple[ast.AST, ast.Name]]] = {}
        for node in self._nodes:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                    self._reads.setdefault(child.id, []).append((node, child))

    def roles(self) -> dict[str, str]:
        taken = self._function.args
        return {arg.arg: self._role(arg.arg) for arg in (*taken.args, *taken.kwonlyargs)}

    def _role(self, name: str) -> str:
        """Return the first role that a use of the parameter gives it; a flag is used only as a condition."""
        held = [use for name in self._carrying(name) for use in self._reads.get(name, ())]
        constructs = self._function.name == "__init__"  # which reads attributes of what holds its numbers
        read = {node.attr for node, _ in held if isinstance(node, ast.Attribute)}
        if constructs and read:
            return "norm" if "weight" in read else "config"
        if any(_is_shape(node, child) for node, child in held):
            return "shape"
        if not constructs and any(isinstance(node, ast.keyword) and node.arg in _AXES for node, _ in held):
            return "axis"
        if constructs and any(_is_taken_apart(node, child) for node, child in held):
            return "pair"
        if constructs and held and all(child in self._made and _is_leading_length(node, child) for node, child in held):
            return "count"
        if any(child in self._made or _goes_to_base(node, child) for node, child in held):
            return "features"
        if constructs and self._fills(name):
            return "value"
        tests = bool(held) and all(isinstance(node, ast.If | ast.IfExp) and child is node.test for node, child in held)
        return "flag" if tests else ""

    def _fills(self, name: str) -> bool:
        """Return whether a weight is filled with the parameter, or with an attribute that it is stored in."""
        stores = [n for n in self._nodes if isinstance(n, ast.Assign) and _reads_name(n.value, name)]
        held = {name} | {
            ast.unparse(target) for n in stores for target in n.targets if isinstance(target, ast.Attribute)
        }
        calls = [n for n in ast.walk(self._home) if isinstance(n, ast.Call) and _last_name(n.func) in _FILLS]
        given = (call.args[_FILLS[_last_name(call.func)] :][:1] for call in calls)
        return any(ast.unparse(value) in held for values in given for value in values)

    def _carrying(self, name: str) -> set[str]:
        """Return the name and the names of lists and tuples that it is put into."""
        lists = (n for n in self._nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.List | ast.Tuple))
        holding = (n.targets for n in lists if any(isinstance(m, ast.Name) and m.id == name for m in ast.walk(n.value)))
        return {name} | {target.id for targets in holding for target in targets if isinstance(target, ast.Name)}


def _makes_layer(node: ast.AST) -> bool:
    """Return whether a call makes a module's Parameter or a layer of `nn`, whose size its arguments are."""
    if not isinstance(node, ast.Call):
        return False
    layer = isinstance(node.func, ast.Attribute) and _last_name(node.func.value) == "nn" and node.func.attr[0].isupper()
    return layer or _last_name(node.func) == "Parameter"


def _reads_name(value: ast.expr, name: str) -> bool:
    """Return whether a value is a name, or that or another one."""
    several = value.values if isinstance(value, ast.BoolOp) else [value]
    return any(isinstance(one, ast.Name) and one.id == name for one in several)


def _is_shape(node: ast.AST, child: ast.AST) -> bool:
    """Return whether `child` is passed to `len`, or as the shape to torch's own norm."""
    if not isinstance(node, ast.Call):
        return False
    called = _last_name(node.func)
    return called == "len" or (called in _FUSED and node.args[1:2] == [child])


def _is_taken_apart(node: ast.AST, child: ast.AST) -> bool:
    """Return whether `child` is unpacked into two names."""
    targets = node.targets if isinstance(node, ast.Assign) and node.value is child else []
    return any(isinstance(target, ast.Tuple) and len(target.elts) == 2 for target in targets)


def _is_leading_length(node: ast.AST, child: ast.AST) -> bool:
    """Return whether `child` is a length in a shape such as (heads, 1, dim), whose last length has another name."""
    if _makes_layer(node):
        return False
    lengths = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple | ast.List) else []
    last = lengths[-1] if child in lengths[:-1] else None
    return isinstance(last, ast.Name) and isinstance(child, ast.Name) and last.id != child.id


def _goes_to_base(node: ast.AST, child: ast.AST) -> bool:
    """Return whether `child` is the first argument of a base's constructor."""
    return isinstance(node, ast.Call) and _last_name(node.func) == "__init__" and node.args[:1] == [child]


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
