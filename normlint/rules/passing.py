"""NRM7xx: settings of norms that a module takes, and doesn't hand on to the modules that it makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from normlint.norm.makes import Makes, Owner, constructors, defaults
from normlint.norm.nodes import Function, dotted, plain
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.text.finding import REVIEW, WARNING, Applicability
from normlint.text.making import lost

_KNOWN = re.compile(r"(?i)unused|not used|deprecated|ignored|legacy|compat|no effect")  # said of a parameter


makings = Fixes("makings")


@calls_rule("NRM714", name="setting-not-passed", fix=Applicability.UNSAFE, severity=WARNING)
def setting_not_passed(makes: Makes) -> Iterator[Problem]:
    """Has a setting that its owner takes and doesn't hand on.

    Whatever is asked for, the modules inside are made with their default. It is a review where the owner reads the
    setting, a flag, for something else.

    Instead: Pass it

    ```py
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, dim, norm_type="layer"):
            super().__init__()
            self.norm = nn.LayerNorm(dim) if norm_type == "layer" else nn.RMSNorm(dim)

        def forward(self, x):
            return self.norm(x)

    class Model(nn.Module):
        def __init__(self, dim, norm_type="layer"):
            super().__init__()
            self.layer = Layer(dim)  # error: [setting-not-passed]

        def forward(self, x):
            return self.layer(x)
    ```
    ```diff
    -        self.layer = Layer(dim)
    +        self.layer = Layer(dim, norm_type=norm_type)
    ```

    A setting is a parameter of the constructor whose name has "norm" in it. One that is said to be unused is ignored,
    and so are those of a decorated constructor, which may keep them as a configuration.

    Fix safety: unsafe: the outputs change where another value is asked for, or where the defaults differ.
    """
    for owner in makes.classes_at(lost(makes.file.text)):
        for init in (one for one in constructors(owner.functions) if not one.decorator_list):
            for name, call in _lost(makes, init):
                if not _is_known(owner, name):
                    message = f"`{name}` isn't passed to `{dotted(call.func)}`, which takes it"
                    severity = REVIEW if _reads(init, name) else ""
                    repair = partial(makings.with_argument, owner.span(call), name, name)
                    yield Problem(owner.span(call), message, repair, severity=severity, owner=owner.name)


def _lost(makes: Makes, init: Function) -> Iterator[tuple[str, ast.Call]]:
    """Yield each setting with the first call of a class that takes it and isn't given it."""
    own = {name: default for name, default in defaults(init).items() if "norm" in name.lower()}
    calls = [node for node in ast.walk(init) if isinstance(node, ast.Call) and plain(node)]
    for name, default in own.items():
        for call in calls:
            taken = list(makes.taken_by(dotted(call.func)).items()) if dotted(call.func) else []
            place = next((at for at, (one, _) in enumerate(taken) if one == name), len(taken))
            passed = any(keyword.arg == name for keyword in call.keywords) or len(call.args) > place
            if place == len(taken) or passed or taken[place][1] is None:
                continue
            if not _reads(init, name) or (_is_flag(default) and _is_flag(taken[place][1])):
                yield name, call
                break


def _reads(init: Function, name: str) -> bool:
    """Return whether a constructor reads a parameter, perhaps as one of all that it has."""
    return any(
        isinstance(node, ast.Name) and node.id in (name, "locals") for part in init.body for node in ast.walk(part)
    )


def _is_flag(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _is_known(owner: Owner, name: str) -> bool:
    """Return whether a line of the class that speaks of a parameter says that it has no effect."""
    lines = owner.text[slice(*owner.piece.span)].splitlines()
    return any(re.search(rf"\b{name}\b", line) and _KNOWN.search(line) for line in lines)
