"""NRM7xx: what the constructors of norms are given."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial

from normlint.evaluate.binding import Args, fit
from normlint.evaluate.ops.signatures import Param, overloads
from normlint.norm.makes import Makes, Owner, constructors, defaults
from normlint.norm.nodes import Function, arguments, dotted, plain
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.text.finding import Applicability, Edit, Span
from normlint.text.making import TORCHS, unfit

makings = Fixes("makings")


@calls_rule("NRM715", name="norm-arguments", fix=Applicability.UNSAFE)
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
    ```diff
    -        self.norm = nn.Layernorm(dim)
    +        self.norm = nn.LayerNorm(dim)
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

    It is checked for torch's own norms and for classes of the same file that nothing decorates or defines again.

    Fix safety: unsafe: a name of torch is written as torch spells it, and a call that raised is run.
    """
    places = sorted(unfit(makes.file.text))
    for owner in makes.owners_at(places):
        for call in _calls_at(owner, places):
            name = dotted(call.func)
            params = _taken(makes, name)
            meant = _torchs(name) if params is None and _is_nn(makes, name) else ""
            if meant:
                edits = (Edit(Span(owner.span(call.func).end - len(meant), owner.span(call.func).end), meant),)
                repair = partial(makings.edited, f"Write `{meant}`", edits)
                message = f"torch.nn has no `{name.rpartition('.')[2]}`: is `{meant}` meant?"
                yield Problem(owner.span(call.func), message, repair, owner=owner.name)
            wrong = _misfit(name.rpartition(".")[2], call, params) if params is not None and plain(call) else ""
            if wrong:
                yield Problem(owner.span(call), wrong, owner=owner.name)


def _calls_at(owner: Owner, places: Sequence[int]) -> Iterator[ast.Call]:
    """Yield the calls of what is named at one of these places, which are sorted."""
    for node in ast.walk(owner.node) if owner.node is not None else ():
        if isinstance(node, ast.Call):
            start, end = owner.span(node.func)
            at = bisect_left(places, start)
            if at < len(places) and places[at] < end:
                yield node


def _misfit(name: str, call: ast.Call, params: Sequence[Param]) -> str:
    """Return what is wrong with the arguments of a call; empty if Python accepts them."""
    args = Args(tuple(call.args), {k.arg: k.value for k in call.keywords if k.arg})
    found = fit(params, args)
    if found.unexpected:
        return f"`{name}` takes no `{found.unexpected[0]}`"
    if found.twice:
        return f"`{name}` is given `{found.twice[0]}` twice"
    if found.surplus:
        return f"`{name}` takes {found.surplus} fewer argument{'s' * (found.surplus > 1)}"
    return f"`{name}` needs `{found.missing[0]}`" if found.missing else ""


def _torchs(name: str) -> str:
    """Return torch's norm whose name differs in its case or in underscores alone; empty if there is none."""
    bare = name.rpartition(".")[2].replace("_", "").lower()
    return next((one for one in sorted(TORCHS) if one.lower() == bare and one != name.rpartition(".")[2]), "")


def _is_nn(makes: Makes, name: str) -> bool:
    """Return whether a dotted name begins with torch.nn, as the text imports it."""
    path = name.rpartition(".")[0]
    imported = path == "torch.nn" or any(one.module == "torch" and one.sure for one in makes.file.imports("nn"))
    known = imported or any(module == "torch.nn" for module, _ in makes.file.modules(name))
    return known and makes.is_of_torch(name)


def _taken(makes: Makes, name: str) -> Sequence[Param] | None:
    """Return the parameters of the class of this name; None if another class may be called, or may change them."""
    last = name.rpartition(".")[2]
    if last in TORCHS and (_is_nn(makes, name) or (last == name and makes.is_of_torch(name))):
        return next(iter(overloads(f"torch.nn.{last}")), None)
    file, node = makes.file, makes.file.class_named(name)
    bound = re.compile(rf"\b(?:class|def|as)[ \t]+{name}\b|\b{name}[ \t]*(?::[^=\n]+)?=(?!=)")
    if node is None or len(bound.findall(file.text)) > 1 or any(file.imports(name)):
        return None
    if node.decorator_list or node.keywords:
        return None
    inits = constructors(node.body)
    changed = any(isinstance(one, Function) and one.name == "__new__" for one in node.body)
    if changed or len(inits) != 1 or inits[0].decorator_list or inits[0].args.posonlyargs:
        return None
    return list(_params(inits[0]))[1:]


def _params(function: Function) -> Iterator[Param]:
    """Yield the parameters of a function."""
    given, args = defaults(function), function.args
    for one in arguments(function):
        default = given[one.arg]
        yield Param(one.arg, "", one in args.kwonlyargs, None if default is None else ast.unparse(default))
    yield from (Param(one.arg, star) for one, star in ((args.vararg, "*"), (args.kwarg, "**")) if one is not None)
