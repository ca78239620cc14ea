"""Random texts: statements from a small grammar, tokens thrown together, lines of two norms, odd characters."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from tests.hostile.strange import CHARACTERS

HEAD: Final = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
NAMES: Final = ("x", "y", "w", "eps", "d", "self.eps", "self.weight", "self", "torch", "F", "nn", "t", "i", "f", "_")
NUMBERS: Final = ("0", "1", "2", "-1", "0.5", "-0.5", "1e-6", "1e400", "10**30", "1j", "True", "None", "...", "'x'")
METHODS: Final = (
    "mean var std sum norm pow sqrt rsqrt reciprocal square abs clamp clamp_min add_ mul_ div_ float half to type_as "
    "unsqueeze view reshape transpose permute chunk split unbind size dim numel item detach expand softmax exp log"
).split()
FUNCTIONS: Final = (
    "torch.mean torch.sqrt torch.rsqrt torch.var_mean torch.std torch.einsum torch.where torch.cat torch.stack "
    "torch.linalg.vector_norm F.normalize F.layer_norm F.rms_norm F.linear torch.mul torch.addcmul torch.ones_like "
    "nn.Parameter len range zip map isinstance getattr setattr super tuple list sum max f self.f print"
).split()
KEYWORDS: Final = ("dim", "axis", "keepdim", "dtype", "eps", "p", "unbiased", "correction", "out", "min", "nonsense")
OPERATORS: Final = "+ - * / ** // % @ & | ^ << >>".split()
TESTS: Final = (*"== != < <= > >= is in".split(), "is not", "not in")


class Soup:
    """A text from the grammar; the deeper, the simpler."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._of: tuple[Callable[[int], str], ...] = (
            self.binary, self.binary, self.method, self.method, self.call, self.call, self.unary, self.test,
            self.subscript, self.display, self.conditional, self.comprehension, self.lambda_, self.walrus,
        )  # fmt: skip

    def module(self) -> str:
        """A function, a class or bare statements."""
        match self.chance.randrange(4):
            case 0:
                return HEAD + "\n".join(self.statements("", 3)) + "\n"
            case 1:
                lines = [*self.statements("        ", 2)]
                made = "\n".join(self.statements("        ", 2))
                head = f"class RMSNorm(nn.Module):\n    def __init__(self, {self.params()}):\n{made}\n\n"
                return f"{HEAD}{head}    def forward(self, x):\n" + "\n".join(lines) + "\n"
            case _:
                return f"{HEAD}def rms_norm({self.params()}):\n" + "\n".join(self.statements("    ", 3)) + "\n"

    def params(self) -> str:
        names = self.chance.sample(("x", "w", "d", "eps", "f"), self.chance.randint(1, 4))
        known = [name if self.chance.random() < 0.6 else f"{name}={self.expr(3)}" for name in names]
        return ", ".join(sorted(known, key=lambda one: "=" in one))

    def statements(self, indent: str, depth: int) -> list[str]:
        found = [line for _ in range(self.chance.randint(1, 5)) for line in self.statement(indent, depth)]
        return [*found, f"{indent}return {self.expr(0)}"] if indent and self.chance.random() < 0.7 else found

    def statement(self, indent: str, depth: int) -> list[str]:
        kind = self.chance.randrange(14 if depth else 7)
        inner = f"{indent}    "
        if kind < 4:
            return [f"{indent}{self.target()} = {self.expr(0)}"]
        if kind == 4:
            target = self.chance.choice(("x", "y", "self.weight"))
            return [f"{indent}{target} {self.chance.choice(OPERATORS)}= {self.expr(0)}"]
        if kind == 5:
            return [f"{indent}{self.expr(0)}"]
        if kind == 6:
            return [f"{indent}{self.chance.choice(('pass', 'assert x', 'del y', 'raise ValueError', 'import math'))}"]
        head = {
            7: f"if {self.expr(1)}:",
            8: f"for {self.target()} in {self.expr(1)}:",
            9: f"while {self.expr(2)}:",
            10: "with torch.no_grad():",
            11: f"def f({self.params()}):",
            12: "try:",
            13: f"match {self.expr(2)}:",
        }[kind]
        body = self.statements(inner, depth - 1)
        if kind == 12:
            return [f"{indent}{head}", *body, f"{indent}except ValueError:", *self.statements(inner, 0)]
        if kind == 13:
            return [
                f"{indent}{head}",
                f"{inner}case [y, *t] | {{'a': y, **t}}:" if depth > 2 else f"{inner}case y:",
            ] + [f"    {line}" for line in body]
        rest = (
            [f"{indent}else:", *self.statements(inner, 0)] if kind in (7, 8, 9) and self.chance.random() < 0.4 else []
        )
        return [f"{indent}{head}", *body, *rest]

    def target(self) -> str:
        return self.chance.choice(("x", "y", "y", "w", "self.y", "x[0]", "x, y", "y, *t", "(x, y), t", "f"))

    def expr(self, depth: int) -> str:
        if depth > 4 or self.chance.random() < 0.15 * (depth + 1):
            return self.chance.choice(NAMES if self.chance.random() < 0.7 else NUMBERS)
        return self.chance.choice(self._of)(depth + 1)

    def binary(self, depth: int) -> str:
        return f"({self.expr(depth)} {self.chance.choice(OPERATORS[:5] * 4 + OPERATORS)} {self.expr(depth)})"

    def unary(self, depth: int) -> str:
        return f"({self.chance.choice(('-', '+', '~', 'not '))}{self.expr(depth)})"

    def test(self, depth: int) -> str:
        return f"({self.expr(depth)} {self.chance.choice((*TESTS, 'and', 'or'))} {self.expr(depth)})"

    def arguments(self, depth: int) -> str:
        given = [self.expr(depth) for _ in range(self.chance.randrange(3))]
        if self.chance.random() < 0.1:
            given.append(f"*{self.chance.choice(NAMES)}")
        named = self.chance.sample(KEYWORDS, self.chance.randrange(3))
        given += [f"{name}={self.expr(depth + 1)}" for name in named]
        if self.chance.random() < 0.05:
            given.append("**w")
        return ", ".join(given)

    def method(self, depth: int) -> str:
        return f"({self.expr(depth)}).{self.chance.choice(METHODS)}({self.arguments(depth)})"

    def call(self, depth: int) -> str:
        return f"{self.chance.choice(FUNCTIONS)}({self.arguments(depth)})"

    def subscript(self, depth: int) -> str:
        index = self.chance.choice(("0", "-1", "..., None", "::2", "x", "None, :", "1:y", ":, *t"))
        return f"({self.expr(depth)})[{index}]"

    def display(self, depth: int) -> str:
        items = ", ".join(self.expr(depth) for _ in range(self.chance.randrange(4)))
        return self.chance.choice((f"[{items}]", f"({items},)" if items else "()", f"{{{items}}}", f"f'{{x}}{depth}'"))

    def conditional(self, depth: int) -> str:
        return f"({self.expr(depth)} if {self.expr(depth)} else {self.expr(depth)})"

    def comprehension(self, depth: int) -> str:
        return f"[{self.expr(depth)} for {self.chance.choice(('y', 'y, t', 'i'))} in {self.expr(depth)}]"

    def lambda_(self, depth: int) -> str:
        return f"(lambda {self.chance.choice(('', 'x', 'x, *t', 'y=1'))}: {self.expr(depth)})"

    def walrus(self, depth: int) -> str:
        return f"(y := {self.expr(depth)})"


def spliced(one: str, two: str, chance: random.Random) -> str:
    """Lines of two texts, each from where chance has it."""
    first, second = one.splitlines(keepends=True), two.splitlines(keepends=True)
    at, to = chance.randint(0, len(first)), chance.randint(0, len(second))
    return "".join((*first[:at], *second[to:]))


def thrown(tokens: list[str], chance: random.Random) -> str:
    """Tokens in any order, a line break here and there."""
    some = chance.choices([*tokens, "\n", "\n    "], k=chance.randint(3, 60))
    return f"{HEAD}def rms_norm(x):\n    " + " ".join(some) + "\n"


def sprinkled(text: str, chance: random.Random) -> str:
    """Odd characters between the others."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        text = text[:at] + chance.choice(list(CHARACTERS.values())) + text[at:]
    return text
