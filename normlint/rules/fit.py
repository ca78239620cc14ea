"""NRM7xx: what a norm is made with, beside what feeds it, what its owner knows and what trains it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from normlint.norm.conventions import is_grouping
from normlint.norm.groups import Choice, gains
from normlint.norm.makes import Makes, Owner, statements, stored
from normlint.norm.nodes import Function, dotted, plain
from normlint.norm.wiring import functions, traced
from normlint.rules.registry import Problem, calls_rule
from normlint.text.finding import REVIEW

_SIZES = 2  # a linear layer's first arguments
_NORMS = ("LayerNorm", "RMSNorm")
Sizes = list[tuple[str, ast.expr]]  # names with the values that they are given


@calls_rule("NRM708", name="decayed-gain", default=False, severity=REVIEW)
def decayed_gain(makes: Makes) -> Iterator[Problem]:
    """Has a gain that weight decay pulls to zero, since what spares the norms doesn't know it.

    A list of names that was written for another model has none of this one's, and a norm of the text's own is no
    `nn.LayerNorm`. Nothing is said where one norm of the text is spared, or a test isn't understood, as `p.ndim < 2`.

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.ln_1 = nn.LayerNorm(dim)

    def groups(model):
        names = ["bias", "LayerNorm.weight"]
        decayed = [p for n, p in model.named_parameters() if not any(part in n for part in names)]
        spared = [p for n, p in model.named_parameters() if any(part in n for part in names)]  # error: [decayed-gain]
        return [{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}]
    ```

    Here `ln_1` belongs into the list.
    """
    text = makes.file.text
    pieces = makes.file.pieces if "from_pretrained(" not in text else ()  # then the model may be another one
    owners = [Owner(text, p) for p in pieces if "weight_decay" in text[slice(*p.span)]]
    held = gains(makes) if owners else ()
    for owner in owners if held else ():
        for choice in (Choice(makes, owner, function) for function in owner.functions):
            told = next(choice.speaks_of_norms(), None)
            if told is not None and not any(map(choice.may_spare, held)):
                message = f"`{held[0].label}` isn't spared here: weight decay pulls it to zero"
                yield Problem(owner.span(told), message, owner=choice.function.name, evidence=held[0].span)


@calls_rule("NRM709", name="size-of-input", severity=REVIEW)
def size_of_input(makes: Makes) -> Iterator[Problem]:
    """Is made for the features that go into a linear layer, and is given those that come out.

    The call fails as soon as both sizes differ. A test in which they are equal hides it.

    ```py
    from torch import nn

    class Embeddings(nn.Module):
        def __init__(self, emb_dim, dim):
            super().__init__()
            self.project = nn.Linear(emb_dim, dim)
            self.norm = nn.LayerNorm(emb_dim)  # error: [size-of-input]

        def forward(self, x):
            return self.norm(self.project(x))
    ```

    Sound is `self.project(self.norm(x))`, or a norm of `dim` features.
    """
    for read in functions(makes):
        owner, own = read.module.owner, _own(read.module.owner)
        for call in read.calls:
            norm, linear = _called(own, call.node), _called(own, traced(call.given, call.values))
            if norm is not None and linear is not None and _is_for_input(makes, owner, norm, linear):
                into, out = map(ast.unparse, linear.args[:_SIZES])
                message = f"it is made for `{into}` features, and given the `{out}` that a linear layer gives"
                yield Problem(owner.span(norm), message, owner=owner.name, evidence=owner.span(linear))


def _own(owner: Owner) -> dict[str, ast.expr]:
    """Return the attributes that are set once, with their values; for a module that may be left out, the module."""
    times = Counter(name for name, _ in owner.stored)
    return {name: _alone(value) for name, value in owner.stored if times[name] == 1}


def _alone(value: ast.expr) -> ast.expr:
    sides = [value.body, value.orelse] if isinstance(value, ast.IfExp) else []
    kept = [one for one in sides if not ast.unparse(one).endswith(("Identity()", "None"))]
    return kept[0] if len(kept) == 1 else value


def _called(own: dict[str, ast.expr], node: ast.expr | ast.AST | None) -> ast.Call | None:
    """Return the call that makes the module that a node calls; None if that isn't known."""
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    made = own.get(name.removeprefix("self.")) if name.startswith("self.") else None
    return made if isinstance(made, ast.Call) else None


def _is_for_input(makes: Makes, owner: Owner, norm: ast.Call, linear: ast.Call) -> bool:
    """Return whether the norm has the size of the layer's input, and the output has a size of other names."""
    names = [dotted(made.func) for made in (norm, linear)]
    kinds = [name.rpartition(".")[2] for name in names]
    known = all(map(makes.is_of_torch, names)) and kinds[0] in _NORMS and kinds[1] == "Linear"
    if not known or len(linear.args) < _SIZES or not norm.args:
        return False
    into, out = linear.args[:_SIZES]
    if not ast.dump(norm.args[0]) == ast.dump(into) != ast.dump(out):
        return False
    sizes = _assigned(owner)
    return _depends_on(sizes, into).isdisjoint(_depends_on(sizes, out))


def _assigned(owner: Owner) -> Sizes:
    """Return what is assigned to names and attributes, in place, too."""
    stmts = [n for f in owner.functions for n in statements(f) if isinstance(n, ast.Assign | ast.AugAssign)]
    whole = [(stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target], stmt.value) for stmt in stmts]
    return [(name, value) for targets, value in whole for target in targets for name in _names(target)]


def _depends_on(given: Sizes, size: ast.expr) -> set[str]:
    """Return the names and attributes that a size is computed from; one with a default stands for itself."""
    found, waiting = set[str](), [size]
    while waiting:
        for name in _names(waiting.pop()) - found:
            found.add(name)
            waiting += [value for target, value in given if target == name and name not in _names(value)]
    return found


def _names(node: ast.expr) -> set[str]:
    found = {dotted(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)}
    return found - {name.rpartition(".")[0] for name in found}


@calls_rule("NRM710", name="setting-of-owner", severity=REVIEW)
def setting_of_owner(makes: Makes) -> Iterator[Problem]:
    """Has another setting than its owner: no groups where that has some, a count of all devices, or a flag.

    With one group, or on one device, all is the same. A fused function that is handed the norm's weight with another
    flag makes training and decoding compute two norms.

    ```py
    from kernels import fused
    from torch import nn

    class GatedNorm(nn.Module):
        def __init__(self, dim, group_size=None, norm_before_gate=True):
            super().__init__()
            self.group_size, self.norm_before_gate = group_size, norm_before_gate

    class Mixer(nn.Module):
        def __init__(self, dim, ngroups, world_size):
            super().__init__()
            self.dim = dim // world_size
            self.ngroups = ngroups // world_size
            self.all = GatedNorm(self.dim)  # error: [setting-of-owner]
            self.norm = GatedNorm(self.dim, group_size=self.dim // ngroups)  # error: [setting-of-owner]

        def forward(self, x, z):
            if self.training:
                return fused(x, z, self.norm.weight, norm_before_gate=False)  # error: [setting-of-owner]
            return self.norm(self.all(x, z), z)
    ```

    Sound is `GatedNorm(self.dim, group_size=self.dim // self.ngroups)`.
    """
    for owner, looked in makes.wired:
        own = _own(owner) if looked else {}
        weights = owner.places_of(r"\.weight\b") if looked else []
        found = [problem for function in looked for problem in _ungrouped(makes, own, function)]
        found += [problem for function, call in owner.calls_at(weights) for problem in _two_flags(makes, own, call)]
        for node, message in found:
            yield Problem(owner.span(node), message, owner=owner.name)


def _ungrouped(makes: Makes, own: dict[str, ast.expr], function: Function) -> Iterator[tuple[ast.expr, str]]:
    """Yield the norms that are given no groups, or parts of a size divided by the count of all devices."""
    held = next((name for name in own if is_grouping(name)), "")
    values = [value for _, value in stored(function) if held and value in own.values()]
    for call in (v for v in values if isinstance(v, ast.Call) and "Norm" in dotted(v.func)):
        taken = makes.taken_by(dotted(call.func)) if plain(call) else {}
        for name in (name for name in taken if is_grouping(name)):
            given = _given(call, list(taken), name)
            if given is None:
                yield call, f"`{name}` is not passed, and there is `self.{held}`"
            elif part := _also_divided(own, given):
                yield given, f"`{ast.unparse(given)}` divides one device's part by the count of all: `self.{part}`"


def _given(call: ast.Call, taken: list[str], name: str) -> ast.expr | None:
    """Return what a call passes for a parameter; None if nothing."""
    at = taken.index(name)
    named = (keyword.value for keyword in call.keywords if keyword.arg == name)
    return call.args[at] if at < len(call.args) else next(named, None)


def _also_divided(own: dict[str, ast.expr], given: ast.expr) -> str:
    """Return the attribute that is `b // n` if `self.a // b` is given and `self.a` is divided by n, too; else empty."""
    match = re.fullmatch(r"self\.(\w+) // (\w+)", ast.unparse(given))
    counts = re.findall(r"// ([\w.]+)", ast.unparse(own[match[1]])) if match and match[1] in own else []
    parts = [f"{match[2]} // {count}" for count in counts if match]
    return next((name for name, value in own.items() if ast.unparse(value) in parts), "")


def _two_flags(makes: Makes, own: dict[str, ast.expr], call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """Yield a call that is handed a norm's weight, and a setting that it wasn't made with."""
    given = [dotted(getattr(one, "body", one)) for one in (*call.args, *(k.value for k in call.keywords))]
    names = [path[1] for path in (one.split(".") for one in given) if path[:1] + path[2:] == ["self", "weight"]]
    for made in (m for m in map(own.get, names) if isinstance(m, ast.Call) and plain(m)):
        taken = makes.taken_by(dotted(made.func))
        for name, here in ((k.arg, k.value) for k in call.keywords if k.arg and k.arg in taken):
            match here, _given(made, list(taken), name) or taken[name]:
                case ast.Constant(bool() | float() as one), ast.Constant(bool() | float() as two) if one != two:
                    yield call, f"`{name}` is {one} here, and {two} where the norm is made"
