"""From a recipe to source text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tests.grid.core import Place, applied, scale, upcast, write_core
from tests.grid.endings import BACKS, BIASES, CASTS, GAINS
from tests.grid.modules import (
    accepts_eps,
    bias_name,
    constructor,
    eps_inside,
    function_name,
    helper_eps,
    imports,
    returns,
    typed,
    weight_name,
)
from tests.grid.recipe import Recipe
from tests.grid.writer import NAMES, Body, fill, function, indent

BY_NAME: Final = ("rsqrt", "sqrt", "float32")


@dataclass(frozen=True, slots=True)
class Composed:
    """A recipe's text, and the text of each step in it."""

    text: str
    marks: dict[str, str]


def compose(r: Recipe) -> Composed:
    """Write the recipe down."""
    marks: dict[str, str] = {}
    lines = _pure(r, marks) if not r.module else _module(r, marks)
    head = imports(r)
    body = [_renamed(r, line) for line in lines]
    text = "\n".join([*_needed(head, "\n".join(body)), "", "", *body]) + "\n"
    return Composed(text, {step: _renamed(r, mark) for step, mark in marks.items()})


def _needed(head: list[str], body: str) -> list[str]:
    """Of the imports, those that something uses."""
    kept = [line for line in head if line != "import math" or "math." in body]
    kept = [line for line in kept if not line.endswith(("as F", "import functional as F")) or re.search(r"\bF\.", body)]
    return _only_used(
        [line for line in kept if not line.endswith("torch.nn as nn") or re.search(r"\bnn\.", body)], body
    )


def _only_used(head: list[str], body: str) -> list[str]:
    """The `from torch import` line without the names nobody uses, and no blank line at the top."""
    found = []
    for line in head:
        start, names = line.split(" import ") if line.startswith("from torch import") else ("", "")
        used = [name for name in names.split(", ") if name and re.search(rf"(?<![\w.]){name}\b", body)]
        if not start or used:
            found.append(f"{start} import {', '.join(used)}" if start else line)
    return found[1:] if not found[0] else found


def _signed(r: Recipe, name: str, parameters: str, lines: list[str]) -> list[str]:
    return function(name, typed(r, parameters), lines, returns(r))


def _renamed(r: Recipe, text: str) -> str:
    """The text under the recipe's import aliases."""
    if r.imports == "plain imports":
        text = re.sub(r"(?<![\w.])nn\.", "torch.nn.", text)
        return re.sub(r"(?<![\w.])F\.", "torch.nn.functional.", text)
    if r.imports == "torch as t":
        return re.sub(r"(?<![\w.])torch\.", "t.", text)
    if r.imports == "rsqrt by name":
        return re.sub(rf"(?<![\w.])torch\.({'|'.join(BY_NAME)})\b", r"\1", text)
    return text


def _body(r: Recipe, marks: dict[str, str]) -> Body:
    return Body(r.flow, NAMES[r.names], marks)


def _wrapped(r: Recipe, body: Body, place: Place) -> str:
    """The core, perhaps in a block that switches autocast off."""
    if r.wrap != "autocast switched off":
        return write_core(body, r, place)
    inner = _body(r, body.marks)
    value = write_core(inner, r, place)
    name = place.x if r.flow == "rebinding" else body.names.y
    if value != name:
        inner.lines.append(f"{name} = {value}")
    body.lines.append(f"with torch.autocast(device_type={place.x}.device.type, enabled=False):")
    body.lines += indent(inner.lines)
    return name


def _weight(r: Recipe) -> str:
    return f"self.{weight_name(r)}" if r.module else "weight"


def _finish(body: Body, r: Recipe, y: str) -> list[str]:
    """From the normalised value to the return: cast back, gain, bias."""
    x, gain = body.names.x, GAINS[r.gain]
    out = x if r.flow == "rebinding" else body.names.y
    back = fill(BACKS[r.back], y=y, x=x)
    if r.back_at == "before the gain":
        y = body.step("back", out, back)
    if gain.test and y != out:
        body.lines.append(f"{out} = {y}")
        y = out
    gained = fill(gain.text, y=y, w=_weight(r))
    shifted = fill(BIASES[r.bias], y=gained, b=f"self.{bias_name(r)}" if r.module else "bias")
    body.marks["gain"] = gained
    if gain.test:
        test = gain.test.replace("self.weight", _weight(r))
        body.lines += [f"if {test}:", f"    {out} = {shifted}"]
        shifted = out
    elif shifted != y and r.back_at == "after the gain":
        shifted = body.step("gained", out, shifted)
    if r.back_at == "after the gain":
        shifted = fill(BACKS[r.back], y=shifted, x=x)
        body.marks["back"] = shifted
    return _noise(r, body, [f"return {shifted}"])


def _noise(r: Recipe, body: Body, end: list[str]) -> list[str]:
    """Perhaps a print before the end."""
    x = body.names.x
    prints = {
        "print(x.shape)": f"print({x}.shape)",
        "an f-string printed": f'print(f"input {{{x}.shape}} {{{x}.dtype}}")',
        "a labelled print": f'print("normalised", {x}.dtype)',
    }
    noise = prints.get(r.noise)
    body.marks["noise"] = noise or ""
    return [*body.lines, *([noise] if noise else []), *end]


def _start(r: Recipe, body: Body, *, core_here: bool) -> list[str]:
    """What comes first: a fused path, the saved dtype."""
    lines = []
    if r.wrap == "a fused path beside it" and core_here:
        shift = f", {f'self.{bias_name(r)}' if r.bias != 'no bias' else 'None'}" if r.kind == "layer" else ""
        call = "rms_norm" if r.kind == "rms" else "layer_norm"
        eps = "self.eps" if r.eps_from == "self.eps" else "self.variance_epsilon"
        lines += ["if self.fused:"]
        lines += [f"    return F.{call}({body.names.x}, (self.dim,), {_weight(r)}{shift}, {eps})"]
    if "input_dtype" in BACKS[r.back]:
        lines.append(f"input_dtype = {body.names.x}.dtype")
    return lines


def _outer(r: Recipe, marks: dict[str, str], call: str) -> list[str]:
    """A forward that calls a helper."""
    body = _body(r, marks)
    start = _start(r, body, core_here=True)
    if r.back_at in ("in the helper", "nowhere"):
        start = [line for line in start if "input_dtype" not in line]
    x = body.names.x
    given = fill(CASTS[r.cast], x=x) if r.cast_at == "by the caller" else x
    name = x if r.flow == "rebinding" else body.names.y
    y = body.step("call", name, call.replace("@", given))
    return [*start, *_finish(body, r, y)]


def _helper(r: Recipe, marks: dict[str, str], eps: str) -> list[str]:
    """The lines of a helper that holds the core."""
    body = _body(r, marks)
    x = body.names.x
    saved = r.back_at == "in the helper" and "input_dtype" in BACKS[r.back]
    start = [f"input_dtype = {x}.dtype"] if saved else []
    y = _wrapped(r, body, Place(x, eps, _weight(r)))
    if r.back_at == "in the helper":
        y = body.step("back", x if r.flow == "rebinding" else body.names.y, fill(BACKS[r.back], y=y, x=x))
    return [*start, *body.lines, f"return {y}"]


def _pure(r: Recipe, marks: dict[str, str]) -> list[str]:
    """A function that is a norm."""
    body = _body(r, marks)
    gain = ["weight"] if GAINS[r.gain].form != "none" else []
    gain += ["bias"] if r.bias != "no bias" else []
    eps = [f"eps={r.eps_value}"] if accepts_eps(r) else []
    inside = eps_inside(r)
    lines = _start(r, body, core_here=False)
    y = _wrapped(r, body, Place(body.names.x, inside, "weight"))
    out = [f"EPS = {r.eps_value}", "", ""] if r.eps_from == "a module's EPS" else []
    return [*out, *_signed(r, function_name(r), ", ".join([body.names.x, *gain, *eps]), lines + _finish(body, r, y))]


def _scaled(r: Recipe, marks: dict[str, str]) -> list[str]:
    """A method for the scale, and the forward that uses it."""
    inner, outer = _body(r, marks), _body(r, marks)
    x = inner.names.x
    place = Place(x, eps_inside(r), _weight(r))
    root = scale(inner, r, x, place)
    lines = _signed(r, "_scale", f"self, {x}", [*inner.lines, f"return {root}"])
    start = _start(r, outer, core_here=True)
    h, s = upcast(outer, r, x)
    value = outer.step("call", outer.names.root, f"self._scale({s})")
    y = applied(outer, r, h, value, place)
    return [*lines, "", *_signed(r, "forward", f"self, {x}", start + _finish(outer, r, y))]


def _module(r: Recipe, marks: dict[str, str]) -> list[str]:
    """A class that is a norm, with what belongs beside it."""
    if r.structure == "a method for the scale":
        return constructor(r, marks, [], [], _scaled(r, marks))
    x = NAMES[r.names].x
    if r.helper:
        return _with_helper(r, marks, x)
    body = _body(r, marks)
    start = _start(r, body, core_here=True)
    y = _wrapped(r, body, Place(x, eps_inside(r), _weight(r)))
    return constructor(r, marks, [], [], _signed(r, "forward", f"self, {x}", [*start, *_finish(body, r, y)]))


def _with_helper(r: Recipe, marks: dict[str, str], x: str) -> list[str]:
    """A class whose forward calls a helper: a method, static or not, a function of the module or a nested one."""
    core = _helper(r, marks, eps_inside(r))
    passed = helper_eps(r)
    given, taken = (f", {passed}", ", eps") if passed else ("", "")
    before: list[str] = []
    methods: list[str] = []
    if r.structure == "a module-level helper":
        before = [*_signed(r, "normalise_rows", f"{x}{taken}", core), "", ""]
        forward = _outer(r, marks, f"normalise_rows(@{given})")
    elif r.structure == "a nested function":
        forward = [*_signed(r, "normalise", x, core), "", *_outer(r, marks, "normalise(@)")]
    elif r.structure == "a static helper":
        methods = ["@staticmethod", *_signed(r, "_norm", f"{x}{taken}", core), ""]
        forward = _outer(r, marks, f"self._norm(@{given})")
    else:
        methods = [*_signed(r, "_norm", f"self, {x}", core), ""]
        forward = _outer(r, marks, "self._norm(@)")
    return constructor(r, marks, before, methods, _signed(r, "forward", f"self, {x}", forward))
