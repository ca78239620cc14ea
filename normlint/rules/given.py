"""NRM7xx: what the constructors of norms are given."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from normlint.evaluate.binding import Args, fit
from normlint.evaluate.ops.signatures import Param, overloads
from normlint.norm.makes import Makes, Owner, constructors, defaults
from normlint.norm.nodes import Function, arguments, dotted, plain
from normlint.rules.registry import Problem, calls_rule
from normlint.text.finding import Span
from normlint.text.making import TORCHS, unfit
from normlint.text.syntax import parsed_part

_DYNAMIC: Final = ("globals", "exec", "vars", "locals")  # by which names may be bound


@calls_rule("NRM715", name="norm-arguments")
def norm_arguments(makes: Makes) -> Iterator[Problem]:
    """Is given an argument that its class doesn't take, or lacks one that it needs.

    The call raises a TypeError, be it in a branch that nobody has run yet; a name that torch doesn't have raises an
    AttributeError.

    Instead: Pass what the class takes

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.Layernorm(dim)  # error: [norm-arguments]

        def forward(self, x):
            return x + self.norm(x)
    ```

    Other libraries have other names for the eps, and for whether there is a gain:

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim, epsilon=1e-6)  # error: [norm-arguments]

        def forward(self, x):
            return x + self.norm(x)
    ```

    Torch's names are these:

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim, eps=1e-6, elementwise_affine=False)

        def forward(self, x):
            return x + self.norm(x)
    ```

    It is checked for torch's own norms, under torch's names, and for classes of the same file that nothing decorates
    or defines again.
    A call that a test expects to raise is no finding.
    """
    places = sorted(unfit(makes.file.text))
    known: dict[str, tuple[Sequence[Param] | None, str]] = {}
    for owner in makes.owners_at(places):
        for call in _calls_at(owner, places):
            path, name = dotted(call.func), dotted(call.func).rpartition(".")[2]
            if path not in known:
                params = _taken(makes, path)
                known[path] = params, _torchs(name) if params is None and _is_nn(makes, path) else ""
            params, meant = known[path]
            args = Args(tuple(call.args), {k.arg: k.value for k in call.keywords if k.arg})
            if params is not None and plain(call) and (wrong := fit(params, args).refusal(name)):
                yield Problem(owner.span(call), wrong, owner=owner.name)
            elif meant:
                message = f"torch.nn has no `{name}`: is `{meant}` meant?"
                yield Problem(owner.span(call.func), message, owner=owner.name)


def _calls_at(owner: Owner, places: Sequence[int]) -> Iterator[ast.Call]:
    """Yield the calls of what is named at one of these places, which are sorted, but those that may well raise."""
    waiting: list[ast.AST] = [owner.node] if owner.node is not None else []
    while waiting:
        node = waiting.pop()
        expected = [item.context_expr for item in node.items] if isinstance(node, ast.With) else [node]
        if isinstance(node, ast.Try) or any(map(_expects, expected)):
            continue
        waiting += reversed(list(ast.iter_child_nodes(node)))
        if isinstance(node, ast.Call):
            start, end = owner.span(node.func)
            at = bisect_left(places, start)
            if at < len(places) and places[at] < end:
                yield node


def _expects(node: ast.AST) -> bool:
    """Return whether a call expects an exception, as `pytest.raises` does."""
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    return re.search("raises|suppress", name, re.IGNORECASE) is not None


def _torchs(name: str) -> str:
    """Return torch's norm whose name differs in its case or in underscores alone; empty if there is none."""
    bare = name.replace("_", "").lower()
    return next((one for one in sorted(TORCHS) if one.lower() == bare and one != name), "")


def _is_nn(makes: Makes, name: str) -> bool:
    """Return whether a name must be one of torch.nn, and nothing asks for the rest of a dotted one or sets that."""
    path, _, last = name.rpartition(".")
    bound = _bound(makes.file.text)
    if f".{last}" in bound or (not path and "*" in bound):
        return False
    if not path:
        return {re.sub(r"\.modules\.(?:\w+\.)?", ".", one) for one in bound[name]} == {f"torch.nn.{last}"}
    alone = path == "torch.nn" or {*bound[path]} == {"torch.nn"}
    quoted = f"'{last}'" in makes.file.text or f'"{last}"' in makes.file.text
    return alone and (last in TORCHS or not quoted)


def _taken(makes: Makes, name: str) -> Sequence[Param] | None:
    """Return the parameters of the class of this name; None if another class may be called, or may change them."""
    last = name.rpartition(".")[2]
    if last in TORCHS and (last != name or makes.file.class_named(name) is None):
        return next(iter(overloads(f"torch.nn.{last}")), None) if _is_nn(makes, name) else None
    node, bound = makes.file.class_named(name), _bound(makes.file.text)
    if node is None or bound[name] != ["class"] or f"{name}.__init__" in bound or any(makes.file.imports(name)):
        return None
    bases = [makes.file.class_named(dotted(base)) for base in node.bases]
    inits = [one for one in ast.walk(node) if isinstance(one, Function) and one.name in ("__init__", "__new__")]
    changed = node.decorator_list or any(one.keywords for one in (node, *bases) if one is not None)
    if changed or len(inits) != 1 or constructors(node.body) != inits:
        return None
    return None if inits[0].decorator_list or inits[0].args.posonlyargs else list(_params(inits[0]))[1:]


@lru_cache(maxsize=1)  # asked for each call
def _bound(text: str) -> Mapping[str, list[str]]:
    """Return how each name of a text is bound, and which attributes of names are set; every name if that is dynamic."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in ast.walk(parsed_part(text, Span(0, len(text)))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found[dotted(node)].append("set")
            found[f".{node.attr}"].append("set")
        elif isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Store) or node.id in _DYNAMIC):
            found[node.id].append("set")
        elif isinstance(node, ast.arg):
            found[node.arg].append("set")
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name:
            found[node.name].append("set")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{'.' * node.level}{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for one in node.names:
                found[one.asname or one.name].append(f"{module}{one.name}")
        elif isinstance(node, ast.ClassDef | Function):
            found[node.name].append("class" if isinstance(node, ast.ClassDef) else "def")
    return found if found.keys().isdisjoint(_DYNAMIC) else defaultdict(lambda: ["set"])


def _params(function: Function) -> Iterator[Param]:
    """Yield the parameters of a function."""
    given, args = defaults(function), function.args
    for one in arguments(function):
        default = given[one.arg]
        yield Param(one.arg, "", one in args.kwonlyargs, None if default is None else ast.unparse(default))
    yield from (Param(one.arg, star) for one, star in ((args.vararg, "*"), (args.kwarg, "**")) if one is not None)
