"""Whole files: many small things, copies of one thing, notebooks, pages."""

from __future__ import annotations

import json
from typing import Final

from tests.hostile.builder import HEAD, MOST, NORM, WRONG, Texts

ONE: Final = f"def f(x):\n    return {NORM}\n\n\n"
ALIKE: Final = "def f(x): return x / x.std()\n"


def _functions(text: str) -> object:
    """`@`: the number of the function."""
    return lambda size: HEAD + "".join(text.replace("@", str(i)) for i in range(size))


def _tiny(size: int) -> str:
    """As many as fit into the bytes that there are."""
    return (HEAD + "def f(x):0\n" * size)[: MOST - 80].rpartition("\n")[0] + "\n" + ONE


def _notebook(source: str, *, cells: int) -> str:
    made = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": source.replace("@", str(i)),
        }
        for i in range(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _page(source: str) -> object:
    return lambda size: "".join(f"```py\n{source.replace('@', str(i))}\n```\n\ntext\n\n" for i in range(size))


def _cells(source: str) -> object:
    return lambda size: _notebook(source, cells=size)


TEXTS: Final[Texts] = {
    "tiny functions": (_tiny, 100, 3000, 30_000),
    "functions with a norm": (_functions("def f@(x):\n    return " + NORM + "\n\n\n"), 24, 200, 1000),
    "functions with a wrong norm": (_functions("def rms_norm@(x):\n    return " + WRONG + "\n\n\n"), 24, 200, 1000),
    "functions with an eps outside": (_functions("def rms_norm@(x, eps):\n    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)\n\n\n"), 24, 200, 800),
    "functions without an eps": (_functions("def rms_norm@(x):\n    return x / x.pow(2).mean(-1, keepdim=True).sqrt()\n\n\n"), 24, 200, 1000),
    "copies of one function": (_functions(ALIKE), 24, 300, 3000),
    "copies of a norm": (_functions(ONE), 24, 200, 1000),
    "norms in one function": (lambda size: HEAD + "def f(x):\n" + "".join(f"    y{i} = {NORM}\n" for i in range(size)), 24, 200, 1000),
    "wrong norms in one function": (lambda size: HEAD + "def f(x):\n" + "".join(f"    y{i} = {WRONG}\n" for i in range(size)), 24, 200, 1000),
    "wrong norms of many inputs": (lambda size: HEAD + f"def f({', '.join(f'x{i}' for i in range(size))}):\n" + "".join("    y@ = x@ * torch.rsqrt(x@.pow(2).mean() + 1e-6)\n".replace("@", str(i)) for i in range(size)), 24, 200, 1000),
    "one line of norms": (lambda size: HEAD + "def f(x):\n    return (" + f"{NORM}, " * size + ")\n", 24, 200, 1000),
    "one sum of norms": (lambda size: HEAD + "def f(x):\n    return " + f"{NORM} + " * size + "x\n", 24, 200, 1000),
    "statements in one line": (lambda size: HEAD + f"x = {NORM}; " * size + "\n", 24, 200, 1000),
    "cells": (_cells(f"x = torch.randn(3)\ny = {NORM}"), 24, 200, 400),
    "cells with a wrong norm": (_cells(f"x = torch.randn(3)\ny@ = {WRONG}"), 24, 200, 400),
    "cells with a function": (_cells(f"def f@(x):\n    return {WRONG}"), 24, 200, 400),
    "cells that call the cell before": (_cells(f"def f@(x):\n    x = {NORM}\n    return f(x) + f0(x)"), 24, 200, 400),
    "empty cells": (_cells(""), 24, 200, 900),
    "blocks": (_page(f"y = {WRONG}"), 24, 200, 1000),
    "blocks with a function": (_page(f"def f@(x):\n    return {WRONG}"), 24, 200, 1000),
    "imports": (lambda size: HEAD + "".join(f"import a{i} as b{i}\n" for i in range(size)) + ONE, 24, 200, 4000),
    "imports of many": (lambda size: HEAD + f"from a import {', '.join(f'a{i}' for i in range(size))}\n" + ONE, 24, 200, 10_000),
    "constants that stand on each other": (lambda size: HEAD + "".join(f"A{i} = A{i + 1} + A{i + 1}\n" for i in range(size)) + f"def f(x):\n    return {NORM} * A0\n", 24, 200, 3000),
    "constants set again and again": (lambda size: HEAD + "A = 1\n" * size + f"def f(x):\n    return {NORM} * A\n", 24, 200, 10_000),
    "a dict": (lambda size: HEAD + f"D = {{{', '.join(f'{i}: [{i}, 0.5]' for i in range(size))}}}\n" + f"def f(x):\n    return {NORM} * D\n", 24, 200, 4000),
    "a list": (lambda size: HEAD + f"D = [{'1, ' * size}]\n" + f"def f(x):\n    return {NORM} * D[0]\n", 24, 200, 30_000),
    "a list of lambdas": (lambda size: HEAD + f"D = [{f'lambda x: {NORM}, ' * size}]\n" + "def f(x):\n    return D[0](x)\n", 24, 200, 1000),
    "a huge number": (lambda size: HEAD + f"N = {'9' * size}\n" + f"def f(x):\n    return {NORM} * N\n", 24, 2000, 4000, 90_000),
    "a huge hexadecimal number": (lambda size: HEAD + f"N = 0x{'f' * size}\n" + f"def f(x):\n    return {NORM} * N * N\n", 24, 2000, 90_000),
    "a huge float": (lambda size: HEAD + f"N = 1e{'9' * size}\n" + f"def f(x):\n    return {NORM} * N\n", 2, 24, 2000, 90_000),
    "a huge string": (lambda size: HEAD + f"N = '{'a' * size}'\n" + f"def f(x):\n    return {NORM} * N\n", 24, 2000, 90_000),
    "a huge f-string": (lambda size: HEAD + f"N = f'{'{x}' * size}'\n" + f"def f(x):\n    return {NORM} * N\n", 24, 2000, 20_000),
    "a huge comment": (lambda size: HEAD + f"# {'a ' * size}\n" + ONE, 24, 2000, 40_000),
    "a huge docstring": (lambda size: f"{HEAD}'''" + "x.mean() x ** 0.5\n" * size + f"'''\n{ONE}", 24, 2000, 5000),
    "noqa comments": (lambda size: HEAD + f"x = {WRONG}  # noqa: NRM101\n" * size, 24, 200, 1000),
    "noqa comments of many codes": (lambda size: HEAD + f"x = {WRONG}  # noqa: {', '.join(f'NRM{i}' for i in range(size))}\n", 24, 200, 10_000),
    "parameters": (lambda size: HEAD + f"def f(x, {', '.join(f'a{i}=1' for i in range(size))}):\n    return {NORM}\n", 24, 200, 5000),
    "parameters that are tensors": (lambda size: HEAD + f"def f({', '.join(f'a{i}' for i in range(size))}, x):\n    return {NORM} * {' * '.join(f'a{i}' for i in range(size))}\n", 24, 200, 4000),
    "arguments": (lambda size: HEAD + f"def f(x):\n    return g({', '.join(f'a{i}=x' for i in range(size))}) * {NORM}\n", 24, 200, 5000),
    "targets": (lambda size: HEAD + f"def f(x):\n    {', '.join(f'a{i}' for i in range(size))} = x\n    return {NORM} * a0\n", 24, 200, 5000),
    "targets in a chain": (lambda size: HEAD + f"def f(x):\n    {' = '.join(f'a{i}' for i in range(size))} = {NORM}\n    return a0\n", 24, 200, 5000),
    "stars": (lambda size: HEAD + f"def f(x):\n    t = ({'x, ' * size})\n    a, *b = *t, *t\n    return {NORM} * a\n", 24, 200, 5000),
}  # fmt: skip
