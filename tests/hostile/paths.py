"""Ways through a function: flags, early returns, loops, handlers, cases."""

from __future__ import annotations

from typing import Final

from tests.hostile.builder import HEAD, NORM, WRONG, Texts, function, module, normed


def _flags(line: str, *, lines: int = 1) -> object:
    """A test after another, each of a flag of its own; `{i}` is its number."""
    return lambda size: normed([part for i in range(size) for part in line.format(i=i).split("\n")])


def _deep(head: str, inner: str, tail: str = "") -> object:
    """Blocks in blocks, which Python allows up to 100."""

    def build(size: int) -> str:
        lines = []
        for depth in range(size):
            lines += [" " * depth + part for part in head.format(i=depth).split("\n")]
        lines.append(" " * size + inner)
        if tail:
            lines += [
                " " * depth + part for depth in reversed(range(size)) for part in tail.format(i=depth).split("\n")
            ]
        return normed(lines)

    return build


def _flagged(size: int) -> str:
    """Flags that the constructor keeps."""
    return module(
        [f"self.f{i} = f{i}" for i in range(size)],
        [*(f"if self.f{i}: x = x * {i + 2}" for i in range(size)), f"return {NORM}"],
        given=", ".join(f"f{i}=False" for i in range(size)),
    )


def _either(size: int) -> str:
    """A constructor that decides, again and again, what the forward sees."""
    init = [
        line for i in range(size) for line in (f"if f{i}:", f"    self.a{i} = {i}.0", "else:", f"    self.a{i} = None")
    ]
    forward = [line for i in range(size) for line in (f"if self.a{i} is not None:", f"    x = {NORM} * self.a{i}")]
    return module(init, [*forward, "return x"], given=", ".join(f"f{i}=False" for i in range(size)))


def _helpers(size: int, *, twice: bool = False) -> str:
    """Each calls the next one, or calls it twice."""
    call = "f{0}(x) * f{0}(x + 1)" if twice else "f{0}(x)"
    chain = "".join(f"def f{i}(x):\n    return {call.format(i + 1)}\n\n\n" for i in range(size))
    return f"{HEAD}{chain}def f{size}(x):\n    return {NORM}\n"


def _mutual(size: int) -> str:
    """Each calls all the others."""
    names = [f"f{i}" for i in range(size)]
    calls = " + ".join(f"{name}(x)" for name in names)
    return HEAD + "".join(f"def {name}(x):\n    x = {NORM}\n    return {calls}\n\n\n" for name in names)


def _methods(size: int) -> str:
    """Each calls the two that follow."""
    head = HEAD + "class RMSNorm(nn.Module):\n"
    chain = "".join(
        f"    def m{i}(self, x):\n        return self.m{i + 1}(x) + self.m{min(i + 2, size)}(x)\n\n"
        for i in range(size)
    )
    return f"{head}{chain}    def m{size}(self, x):\n        return {NORM}\n\n    def forward(self, x):\n        return self.m0(x)\n"


def _closures(size: int) -> str:
    lines = [" " * i + f"def f{i}(x):" for i in range(size)]
    lines.append(" " * size + f"return {NORM}")
    lines += [" " * i + f"return f{i}(x)" for i in reversed(range(size))]
    return function(lines)


def _inner(size: int, *, fresh: bool = False) -> str:
    """Functions in a function: each calls the one before a dozen times, with the same or with other values."""
    lines = ["def f0(x): return x * x"]
    for i in range(1, size + 1):
        calls = (f"f{i - 1}(x{f'.relu() * {number}' if fresh else ''})" for number in range(12))
        lines.append(f"def f{i}(x): return {' + '.join(calls)}")
    return function([*lines, f"x = f{size}(x)", f"return {NORM}"])


def _recursive(size: int) -> str:
    """A function in a function that calls itself."""
    calls = " + ".join(f"f(x * {i})" for i in range(size))
    return function([f"def f(x): return {calls} + x * x", "x = f(x)", f"return {NORM}"])


TEXTS: Final[Texts] = {
    "early returns of a norm": (_flags(f"if flag{{i}}:\n    return {NORM}"), 8, 30, 200, 1000),
    "early returns of a wrong norm": (_flags(f"if flag{{i}}:\n    return {WRONG} * {{i}}"), 8, 30, 200, 1000),
    "early returns of other norms": (_flags("if flag{i}:\n    return x * (x * x + {i}).mean(-1, True).rsqrt()"), 8, 30, 200, 1000),
    "early returns of x": (_flags("if flag{i}:\n    return x"), 8, 30, 200, 2000),
    "early raises": (_flags("if flag{i}:\n    raise ValueError"), 8, 30, 200, 2000),
    "asserts": (_flags("assert x.shape[{i}] == flag{i}"), 30, 200, 2000),
    "flags that scale": (_flags("if flag{i}:\n    x = x * {i}"), 8, 30, 200, 2000),
    "flags that scale or shift": (_flags("if flag{i}:\n    x = x * 2\nelse:\n    x = x + 1"), 8, 30, 200, 1500),
    "flags that double": (_flags("if flag{i}:\n    x = x * x + x"), 8, 30, 200, 2000),
    "flags with a mean each": (_flags("if flag{i}:\n    x = x / x.mean(-1, True)"), 8, 30, 200, 1500),
    "flags with a norm each": (_flags(f"if flag{{i}}:\n    x = {NORM}"), 8, 30, 200, 800),
    "flags with a wrong norm each": (_flags(f"if flag{{i}}:\n    y{{i}} = {WRONG}"), 8, 30, 200, 800),
    "conditional expressions": (_flags("x = x if flag{i} else x * x"), 8, 30, 200, 2000),
    "or": (_flags("y = flag{i} or x.mean() or x"), 8, 30, 200, 2000),
    "dtypes tested": (_flags("if x.dtype == torch.float16 and flag{i}:\n    x = x.float()"), 8, 30, 200, 1000),
    "flags the module keeps": (_flagged, 8, 30, 200, 1000),
    "attributes either way": (_either, 8, 30, 150),
    "flags nested": (_deep("if flag{i}:", f"y = {NORM}"), 8, 30, 90),
    "flags nested, a norm in each": (_deep(f"x = {NORM}\nif flag{{i}}:", f"y = {NORM}"), 8, 30, 90),
    "flags nested with else": (_deep("if flag{i}:", f"y = {NORM}", f"else:\n x = {NORM}"), 8, 30, 90),
    "flags nested, a return in each": (_deep("if flag{i}:", f"return {WRONG}", f"else:\n return {NORM}"), 8, 30, 90),
    "loops in loops": (_deep("for i{i} in range(10**9):", f"x = {NORM}"), 4, 19),
    "loops in loops, with flags": (_deep("for i{i} in x:\n if f{i}: x = x * x", f"x = {NORM}"), 4, 19),
    "whiles in whiles": (_deep("while x.sum() > {i}:", f"x = {NORM}"), 4, 19),
    "withs in withs": (_deep("with torch.no_grad():", f"x = {NORM}"), 4, 19),
    "tries in tries": (_deep("try:", f"x = {NORM}", "except ValueError:\n x = x * 2\nfinally:\n x = x + 1"), 4, 19),
    "a try after another": (_flags(f"try:\n    x = {NORM}\nexcept ValueError:\n    x = x / x.mean()"), 8, 30, 200, 600),
    "loops": (_flags("for i in x:\n    x = x * i + x"), 24, 200, 2000),
    "withs": (_flags("with torch.no_grad(), open('a') as f:\n    x = x * x + x"), 24, 200, 1000),
    "elifs": (lambda size: normed(["if f: pass", *(f"elif f{i}: x = {NORM}" for i in range(size))]), 24, 90, 400, 1000),
    "cases": (lambda size: normed(["match x:", *(part for i in range(size) for part in (f" case {i}:", f"  return {NORM} * {i}"))]), 24, 200, 800),
    "or-patterns": (lambda size: normed(["match x:", " case " + " | ".join(map(str, range(size))) + ":", f"  return {NORM}"]), 24, 200, 10_000),
    "captures": (lambda size: normed(["match x:", " case [" + ", ".join(f"a{i}" for i in range(size)) + "]:", f"  return {NORM} * a0"]), 24, 200, 5000),
    "helpers in a chain": (_helpers, 8, 60, 300, 1500),
    "helpers that double": (lambda size: _helpers(size, twice=True), 6, 20, 60, 300),
    "helpers that call each other": (_mutual, 4, 8, 20, 80),
    "methods that call the next two": (_methods, 8, 30, 200),
    "closures in closures": (_closures, 4, 19, 60),
    "inner functions that call another": (_inner, 4, 8, 60),
    "inner functions that call another with other values": (lambda size: _inner(size, fresh=True), 4, 8, 60),
    "an inner function that calls itself": (_recursive, 4, 12, 300),
    "comprehensions": (_flags("y = [a * a for a in (x, x, x, x, x, x, x, x)]"), 24, 200, 1000),
    "comprehensions in comprehensions": (
        lambda size: normed(["y = " + "[" * size + "x" + "".join(f" for a{i} in (x, x, x, x)]" for i in range(size))]),
        4, 8, 20, 90,
    ),
    "lambdas that call lambdas": (
        lambda size: normed(["f0 = lambda x: " + NORM, *(f"f{i + 1} = lambda x: f{i}(x) + f{i}(x * 2)" for i in range(size)), f"y = f{size}(x)"]),
        4, 8, 60, 500,
    ),
    "partials of partials": (
        lambda size: normed(["from functools import partial", "f = torch.mul", *["f = partial(f, x, *[x, x])"] * size, "f(x)"]),
        24, 200, 2000,
    ),
    "norms at the top": (lambda size: f"{HEAD}x = torch.randn(3)\n" + f"x = {NORM}\n" * size, 24, 200, 1000),
    "wrong norms at the top": (lambda size: f"{HEAD}x = torch.randn(3)\n" + f"y = {WRONG}\n" * size, 24, 200, 1000),
    "doublings at the top": (lambda size: f"{HEAD}x = torch.randn(3)\n" + "x = x * x + x\n" * size + f"y = {NORM}\n", 24, 200, 3000),
    "flags at the top": (lambda size: f"{HEAD}x = torch.randn(3)\n" + "".join(f"if f{i}:\n    y = {NORM}\n" for i in range(size)), 24, 200, 1000),
}  # fmt: skip
