"""Find what `_init_weights`, or a function applied to all modules, fills weights with where nothing else changes it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from typing import Final

from normlint.evaluate.module import Refilled

# Comments belong to it whatever their indentation, since more of the function may follow them.
_FUNCTION: Final = r"^([ \t]*)def (?:%s)\b.*\n(?:(?:\1[ \t].*|[ \t]*#.*)?\n)*"
_APPLIED: Final = re.compile(r"\b(?!F\.)\w+\.apply\((?:\w+\.)?(\w+)\)")
_NAMED: Final = re.compile(r"\bdef (init_\w*weights)\(\w+, *\w+")
_FILLING: Final = re.compile(r"\b(?:fill|ones|zeros|zero|constant|normal|uniform|copy)_\(|\.data\s*=")
_OTHER_LAYERS: Final = re.compile(r"(?:torch\.)?(?:nn\.)?(?:Linear|Conv\w+|Embedding|LSTM|GRU|Bilinear|BatchNorm\w*)")
_NUMBERS: Final[dict[object, str]] = {1: "ones", 0: "zeros"}
_PLAIN: Final = {"ones_": "ones", "zeros_": "zeros", "zero_": "zeros"}
_ASKING: Final = ("isinstance", "hasattr")
_DRAWN: Final = ("normal_", "trunc_normal_")
Link = tuple["ast.expr | None", "list[ast.stmt]"]


def refilled(text: str) -> Refilled:
    """Return each class whose weight is filled, with what it is filled with: ones, zeros, random (around 0).

    An attribute of another name stands behind its class: `BertLayerNorm.gamma`.
    """
    return frozenset(pair for function in _functions(text) for pair in _of_function(function))


def applied(text: str) -> tuple[str, ...]:
    """Return the functions of the text that are called with every module: by `Module.apply`, or as their names say."""
    given = dict.fromkeys([*_APPLIED.findall(text), *_NAMED.findall(text)])
    return tuple(
        name for name in given if any(fills_norms(one[0]) for one in re.finditer(_FUNCTION % name, text, re.MULTILINE))
    )


def fills_norms(function: str, gains: str = "weight") -> bool:
    """Return whether a function, as text, may fill gains of these names, and not only those of torch's other layers."""
    fills = re.search(rf"\b(?:{gains})\b|parameters\(", function) and _FILLING.search(function)
    kinds = re.findall(r"isinstance\(\s*\w+,\s*(\([^()]*\)|[\w.]+)", function)
    others = all(_OTHER_LAYERS.fullmatch(one) for kind in kinds for one in re.findall(r"[\w.]+", kind))
    return bool(fills) and not (kinds and others)


def _functions(text: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions that fill weights, by their name or since every module is given to them, if they parse."""
    names = "|".join(("_init_weights", *applied(text)))
    for found in re.finditer(_FUNCTION % names, text + "\n", re.MULTILINE):
        try:
            (node,) = ast.parse(textwrap.dedent(found[0])).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(node, ast.FunctionDef) and node.args.args:
            yield node


def _of_function(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield what the branches fill, for classes that one branch alone handles and no later statement can change."""
    module = function.args.args[-1].arg
    found: list[tuple[str, list[ast.stmt]]] = []
    for stmt in function.body:
        if any(isinstance(node, ast.Return) for node in ast.walk(stmt)):
            return
        links = list(_links(stmt))
        plain = list(takewhile(lambda link: _classes(link[0], module), links))
        if len(plain) < max(len(links), 1) and _mentions(stmt, module):
            found = []
        found += [(name, suite) for test, suite in plain for name in _classes(test, module)]
    times = Counter(name for name, _ in found)
    for name, suite in (pair for pair in found if times[pair[0]] == 1):
        nodes = (node for stmt in suite for node in ast.walk(stmt) if isinstance(node, ast.Attribute))
        for attribute in dict.fromkeys(node.attr for node in nodes if _is_module(node.value, module)):
            how = _filled_with(suite, module, attribute)
            if how:
                yield f"{name}.{attribute}".removesuffix(".weight"), how


def _links(stmt: ast.stmt) -> Iterator[Link]:
    """Yield the tests and suites of an `if` with its `elif`s; the `else` has no test."""
    while isinstance(stmt, ast.If):
        yield stmt.test, stmt.body
        if len(stmt.orelse) != 1 or not isinstance(stmt.orelse[0], ast.If):
            if stmt.orelse:
                yield None, stmt.orelse
            return
        stmt = stmt.orelse[0]


def _classes(test: ast.expr | None, module: str) -> tuple[str, ...]:
    """Return the classes of `isinstance(module, …)`; () for any other test."""
    match test:
        case ast.Call(func=ast.Name("isinstance"), args=[ast.Name(name), of], keywords=[]) if name == module:
            several = of.elts if isinstance(of, ast.Tuple) else [of]
            named = all(isinstance(one, ast.Name | ast.Attribute) for one in several)
            return tuple(map(ast.unparse, several)) if named else ()
    return ()


def _filled_with(suite: list[ast.stmt], module: str, name: str) -> str:
    """Return what a suite fills the module's attribute of this name with; empty if that isn't sure."""
    weighed = [stmt for stmt in suite if any(map(partial(_is_weight, module=module, name=name), ast.walk(stmt)))]
    others = (stmt for stmt in suite if stmt not in weighed)
    call = weighed[0].value if len(weighed) == 1 and isinstance(weighed[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or any(_is_handed_on(stmt, module) for stmt in others):
        return ""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    method = receiver is not None and _is_filled(receiver, module, name)
    if not method and not (call.args and _is_filled(call.args[0], module, name)):
        return ""
    return _fills(ast.unparse(call.func).rpartition(".")[2], call, call.args if method else call.args[1:])


def _fills(name: str, call: ast.Call, args: list[ast.expr]) -> str:
    """Return what a call fills with; empty if a number isn't written out, or arguments may be unpacked."""
    if any(keyword.arg is None for keyword in call.keywords):
        return ""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    first = args[0] if args else named.get("mean", named.get("val", named.get("value", ast.Constant(0))))
    number = first.value if isinstance(first, ast.Constant) else None
    if name in _DRAWN:
        return "random" if number == 0 else ""
    return _NUMBERS.get(number, "") if name in ("fill_", "constant_") else _PLAIN.get(name, "")


def _is_weight(node: ast.AST, module: str, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and _is_module(node.value, module)


def _is_filled(node: ast.expr, module: str, name: str) -> bool:
    """Return whether a node is `module.weight` or `module.weight.data`, for the attribute of this name."""
    data = isinstance(node, ast.Attribute) and node.attr == "data"
    return _is_weight(node.value if data and isinstance(node, ast.Attribute) else node, module, name)


def _is_module(node: ast.AST, module: str) -> bool:
    return isinstance(node, ast.Name) and node.id == module


def _mentions(stmt: ast.stmt, module: str) -> bool:
    """Return whether a statement uses the module in another way than for a class, a bias, or to ask what it has."""
    nodes = list(ast.walk(stmt))
    asked = [n.args[0] for n in nodes if isinstance(n, ast.Call) and n.args and ast.unparse(n.func) in _ASKING]
    known = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr == "bias"}.union(asked)
    return any(_is_module(node, module) and node not in known for node in nodes)


def _is_handed_on(stmt: ast.stmt, module: str) -> bool:
    """Return whether the module is passed to a call, or a method of it is called, which may fill its weight."""
    below = [child for node in ast.walk(stmt) for child in ast.iter_child_nodes(node)]
    held = {id(node.value) for node in below if isinstance(node, ast.Attribute)}
    called = {
        id(node.func.value) for node in below if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return any(_is_module(node, module) and (id(node) not in held or id(node) in called) for node in below)
