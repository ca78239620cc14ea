"""What parameters are for where their names don't tell: their use in the function that takes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_FUSED: Final = ("layer_norm", "rms_norm")


@lru_cache(maxsize=8)
def roles(program: str, qualname: str) -> dict[str, str]:
    """The role (config, shape, features, flag) of each parameter of a function of the program whose use tells it."""
    function = _function(ast.parse(program), qualname.split("."))
    if function is None:
        return {}
    found = {arg.arg: _role(function, arg.arg) for arg in (*function.args.args, *function.args.kwonlyargs)}
    return {name: role for name, role in found.items() if role}


def _function(node: ast.AST, names: list[str]) -> ast.FunctionDef | None:
    for name in names:
        same = (n for n in ast.walk(node) if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name)
        node = next(same, ast.Pass())
    return node if isinstance(node, ast.FunctionDef) else None


def _role(function: ast.FunctionDef, name: str) -> str:
    """The first role that one of its uses gives it; a flag has no other use than as a condition."""
    names = _carrying(function, name)
    held = [
        (node, child)
        for node in ast.walk(function)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.Name) and child.id in names and isinstance(child.ctx, ast.Load)
    ]
    told = (role for role, applies in _TOLD if any(applies(function, node, child) for node, child in held))
    flag = bool(held) and all(isinstance(node, _TESTS) and child is node.test for node, child in held)
    return next(told, "flag" if flag else "")


_TESTS: Final = (ast.If, ast.IfExp)


def _carrying(function: ast.FunctionDef, name: str) -> set[str]:
    """The name, and those of lists and tuples that it is put into."""
    lists = (n for n in ast.walk(function) if isinstance(n, ast.Assign) and isinstance(n.value, ast.List | ast.Tuple))
    holding = (n.targets for n in lists if any(isinstance(m, ast.Name) and m.id == name for m in ast.walk(n.value)))
    return {name} | {target.id for targets in holding for target in targets if isinstance(target, ast.Name)}


def _is_config(function: ast.FunctionDef, node: ast.AST, _child: ast.AST) -> bool:
    """A constructor reads attributes of what holds its numbers."""
    return function.name == "__init__" and isinstance(node, ast.Attribute)


def _is_shape(_function: ast.FunctionDef, node: ast.AST, child: ast.AST) -> bool:
    """It has a length, or is what torch's own norm takes as one."""
    if not isinstance(node, ast.Call):
        return False
    called = _last_name(node.func)
    return called == "len" or (called in _FUSED and node.args[1:2] == [child])


def _is_features(function: ast.FunctionDef, node: ast.AST, child: ast.AST) -> bool:
    """A parameter of the module is made as long, or a layer as wide, or it is what a base is told first."""
    made = (call for call in _calls(function) if _last_name(call.func) == "Parameter" or _is_layer(call.func))
    base = isinstance(node, ast.Call) and _last_name(node.func) == "__init__" and node.args[:1] == [child]
    return base or any(inner is child for call in made for inner in ast.walk(call))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Call))


def _is_layer(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and _last_name(node.value) == "nn" and node.attr[0].isupper()


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_TOLD: Final = (("config", _is_config), ("shape", _is_shape), ("features", _is_features))
