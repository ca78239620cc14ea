"""Stand-ins for what a norm's file takes from elsewhere and a norm doesn't depend on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from normlint.verify.program.imports import Definition, Outside, Thing
from normlint.verify.program.scope import CHECK, FLAG
from normlint.verify.program.tidy import last_name

BASE: Final = "Base"
_MODULE: Final = """
from torch import nn
class {name}(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
"""
_NEVER: Final = """
def {name}(*args, **kwargs):
    return False
"""
_OFF: Final = "{name} = False"
_ACTIVATIONS: Final = """
from torch import nn
{name} = {{
    "silu": nn.functional.silu, "swish": nn.functional.silu, "gelu": nn.functional.gelu,
    "relu": nn.functional.relu, "sigmoid": nn.functional.sigmoid, "tanh": nn.functional.tanh,
}}
"""
_MODULES: Final = re.compile(r"(?:GradientCheckpointingLayer|\w*PreTrainedModel|\w*PretrainedModel|ModelMixin)$")
_LEFT_OUT: Final = re.compile(r"(?:\w*Mixin|Generic|Protocol|ABC)$")
_SUBMODULES: Final = ("torch.distributed.nn", "torch.utils.checkpoint", "einops.layers.torch", "collections.abc")


def stub(name: str, found: Thing, user: ast.stmt) -> str | None:
    """The text of a stand-in for `name`, which `user` needs; None where the thing itself will do."""
    if isinstance(found, Outside):
        return None
    if CHECK.match(name):
        return _NEVER
    if name == "ACT2FN" and not (isinstance(found, Definition) and found.scope.depth == 0):
        return _ACTIVATIONS
    if FLAG.match(name) and not _is_plain(found):
        return _NEVER if _is_called(name, user) else _OFF
    return None


def _is_plain(found: Thing) -> bool:
    """Defined by the text as a constant or a function."""
    node = found.nodes[-1] if isinstance(found, Definition) else None
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def _is_called(name: str, user: ast.stmt) -> bool:
    calls = (n.func for n in ast.walk(user) if isinstance(n, ast.Call))
    return any(isinstance(func, ast.Name) and func.id == name for func in calls)


def base(node: ast.expr, found: Thing) -> str | None:
    """The stand-in for a base class, "" where it is left out, None where it is none of those known."""
    head = node.value if isinstance(node, ast.Subscript) else node
    name = last_name(head)
    if isinstance(found, Definition) and found.scope.depth == 0:
        return None
    if _MODULES.match(name):
        return _MODULE
    return "" if _LEFT_OUT.match(name) else None


def root_name(node: ast.expr) -> str:
    """`a` of `a.b.c`, of `a(...)` and of `a[...]`."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def import_line(thing: Outside, name: str) -> str:
    """The import that binds `name` to the thing."""
    if thing.name:
        return f"from {thing.module} import {thing.name}" + (f" as {name}" if name != thing.name else "")
    return f"import {thing.module}" + (f" as {name}" if name != thing.module else "")


def submodules(code: str) -> Iterator[str]:
    """Modules that `import torch` alone does not bring along, as far as the code names them."""
    return (path for path in _SUBMODULES if f"{path}." in code and path.startswith("torch."))
