"""NRM7xx: settings of norms that a module takes, and doesn't hand on to the modules that it makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice

from normlint.norm.makes import Makes, Owner, constructors, defaults, stored
from normlint.norm.nodes import Function, dotted, plain
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.text.finding import REVIEW, WARNING, Applicability
from normlint.text.making import is_setting, lost

_KNOWN = re.compile(  # said of a parameter
    r"(?i)unused|not used|deprecated|ignored|legacy|compat|no effect|no longer|obsolete|removed|noqa|signature"
)
_KEEPS = re.compile(r"^locals$|^(?:self\.)?(?:save|store)_")
_MOST = 400  # calls of a constructor that are looked at


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

    A setting is a parameter of the constructor whose name has "norm" in it, or an attribute that is set to one of a
    configuration under the same name, and never read. One that is said to be unused is ignored,
    and so are those of a decorated constructor, which may keep them as a configuration.

    Fix safety: unsafe: the outputs change where another value is asked for, or where the defaults differ.
    """
    for owner in makes.classes_at(lost(makes.file.text)):
        for init in constructors(owner.functions):
            for name, call, read in (*_lost(makes, init), *_unread(makes, owner, init)) if not _is_kept(init) else ():
                if not _is_known(owner, name):
                    message = f"`{name}` isn't passed to `{dotted(call.func)}`, which takes it"
                    severity = REVIEW if read else ""
                    source = name if name in defaults(init) else f"self.{name}"
                    repair = partial(makings.with_argument, owner.span(call), name, source)
                    yield Problem(owner.span(call), message, repair, severity=severity, owner=owner.name)


def _lost(makes: Makes, init: Function) -> Iterator[tuple[str, ast.Call, bool]]:
    """Yield each setting with the first call of a class that takes it and isn't given it, and whether it is read."""
    own = {name: default for name, default in defaults(init).items() if is_setting(name)}
    read = {node.id for part in init.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    for name, default in own.items():
        for call, other in _not_given(makes, init, name):
            if name not in read or (_is_flag(default) and _is_flag(other)):
                yield name, call, name in read
                break


def _unread(makes: Makes, owner: Owner, init: Function) -> Iterator[tuple[str, ast.Call, bool]]:
    """Yield each setting of a configuration that is stored and never read again, with the first call that lacks it."""
    text, own = owner.text, owner.text[slice(*owner.piece.span)]
    for name, value in stored(init):
        if not isinstance(value, ast.Attribute) or value.attr != name or not is_setting(name):
            continue
        others = re.findall(rf"(?<!\bself)(?<!\b{re.escape(ast.unparse(value.value))})\.{name}\b", text)
        derived = re.search(rf"\bclass \w+\([^()]*\b{owner.name}\b", text)
        if not others and not derived and len(re.findall(rf"\bself\.{name}\b", own)) == 1:
            yield from ((name, call, False) for call, _ in islice(_not_given(makes, init, name), 1))


def _not_given(makes: Makes, init: Function, name: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield the calls of classes that take a setting of this name and aren't given it, with its default."""
    for call, several in _calls(makes, init):
        place = next((at for at, (one, _) in enumerate(several) if one == name), len(several))
        passed = any(keyword.arg == name for keyword in call.keywords) or len(call.args) > place
        default = None if place == len(several) or passed else several[place][1]
        if default is not None:
            yield call, default


@lru_cache(maxsize=1)  # asked for each setting
def _calls(makes: Makes, init: Function) -> list[tuple[ast.Call, list[tuple[str, ast.expr | None]]]]:
    """Return the calls of a constructor with the parameters of the classes that they make, and their defaults."""
    calls = [node for node in ast.walk(init) if isinstance(node, ast.Call) and plain(node) and dotted(node.func)]
    taken = {path: list(makes.taken_by(path).items()) for path in dict.fromkeys(dotted(c.func) for c in calls[:_MOST])}
    return [(call, taken[dotted(call.func)]) for call in calls[:_MOST]]


def _is_flag(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _is_kept(init: Function) -> bool:
    """Return whether all parameters may be kept at once: by a decorator, `locals()`, or `save_hyperparameters()`."""
    calls = (node for part in init.body for node in ast.walk(part) if isinstance(node, ast.Call))
    return bool(init.decorator_list) or any(_KEEPS.match(dotted(call.func)) for call in calls)


def _is_known(owner: Owner, name: str) -> bool:
    """Return whether a comment or docstring that speaks of a parameter says that it has no effect."""
    lines = owner.text[slice(*owner.piece.span)].splitlines()
    said = (" ".join(lines[at : at + 2]) for at, line in enumerate(lines) if re.search(rf"\b{name}\b", line))
    return any(map(_KNOWN.search, said))
