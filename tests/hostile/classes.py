"""Classes: in chains and diamonds, with many methods, attributes and parameters."""

from __future__ import annotations

from typing import Final

from tests.hostile.builder import HEAD, NORM, Texts, module

FORWARD = f"    def forward(self, x):\n        return {NORM}\n"


def _chain(size: int, *, body: str = "    pass\n", last: str = FORWARD) -> str:
    chain = "".join(f"class C{i + 1}(C{i}):\n{body.format(i=i + 1)}\n\n" for i in range(size))
    return f"{HEAD}class C0(nn.Module):\n{FORWARD}\n\n{chain}class RMSNorm(C{size}):\n{last}"


def _super(size: int) -> str:
    body = "    def __init__(self, dim):\n        super().__init__(dim)\n        self.a{i} = dim\n\n    def forward(self, x):\n        return super().forward(x) * self.a{i}\n"
    return _chain(size, body=body, last=body.format(i="z"))


def _diamonds(size: int) -> str:
    rows = "".join(
        f"class A{i + 1}(A{i}, B{i}):\n    pass\n\n\nclass B{i + 1}(A{i}, B{i}):\n    pass\n\n\n" for i in range(size)
    )
    return f"{HEAD}class A0(nn.Module):\n{FORWARD}\n\nclass B0(nn.Module):\n    pass\n\n\n{rows}class RMSNorm(A{size}):\n{FORWARD}"


def _many(build: str) -> object:
    return lambda size: HEAD + "\n\n".join(build.replace("@", str(i)) for i in range(size))


def _methods(size: int) -> str:
    return f"{HEAD}class RMSNorm(nn.Module):\n" + "\n".join(
        f"    def m{i}(self, x):\n        return {NORM}\n" for i in range(size)
    )


def _nested(size: int) -> str:
    lines = [" " * i + f"class C{i}(nn.Module):" for i in range(size)]
    return HEAD + "\n".join([*lines, " " * size + "def forward(self, x):", " " * (size + 1) + f"return {NORM}"])


CLASS: Final = f"class Norm@(nn.Module):\n{FORWARD}\n"
FULL: Final = """class RMSNorm@(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean() + self.eps) * self.weight

"""

TEXTS: Final[Texts] = {
    "classes in a chain": (_chain, 8, 50, 200, 1000),
    "classes in a chain that call super": (_super, 8, 50, 200, 400),
    "classes in a chain, a norm in each": (lambda size: _chain(size, body=FORWARD), 8, 50, 200, 600),
    "diamonds": (_diamonds, 4, 12, 50, 300, 800),
    "a class that derives from itself": (lambda size: f"{HEAD}class RMSNorm({'RMSNorm, ' * size}nn.Module):\n{FORWARD}", 1, 20, 5000),
    "classes that derive from each other": (lambda size: HEAD + "".join(f"class A{i}(A{(i + 1) % size}):\n{FORWARD}\n\n" for i in range(size)), 2, 20, 500),
    "many bases": (lambda size: HEAD + "".join(f"class A{i}: pass\n\n\n" for i in range(size)) + f"class RMSNorm({', '.join(f'A{i}' for i in range(size))}):\n{FORWARD}", 24, 200, 2000),
    "classes with a norm": (_many(CLASS), 24, 200, 600),
    "classes with a wrong norm": (_many(FULL), 24, 100, 300),
    "one class, again and again": (_many(CLASS.replace("@", "")), 24, 200, 600),
    "methods with a norm": (_methods, 24, 200, 800),
    "classes in classes": (_nested, 4, 20, 90),
    "attributes": (lambda size: module([f"self.a{i} = dim * {i}" for i in range(size)], [f"return {NORM}"]), 24, 200, 2500),
    "attributes of attributes": (lambda size: module([f"self.a{i + 1} = self.a{i} * dim + self.a{i}" for i in range(size)], [f"return {NORM} * self.a{size}"], given="dim, a0=1"), 24, 200, 2000),
    "parameters of a constructor": (lambda size: module(["self.eps = a0"], [f"return {NORM}"], given=", ".join(f"a{i}=1e-6" for i in range(size))), 24, 200, 5000),
    "properties": (
        lambda size: HEAD + "class RMSNorm(nn.Module):\n" + "".join(f"    @property\n    def p{i + 1}(self):\n        return self.p{i} + self.p{i}\n\n" for i in range(size)) + f"    def forward(self, x):\n        return {NORM} * self.p{size}\n",
        8, 30, 200, 1000,
    ),
    "decorators": (lambda size: HEAD + "@f\n" * size + f"def rms_norm(x):\n    return {NORM}\n", 24, 200, 10_000),
    "decorators that are calls": (lambda size: HEAD + "@f(g(1)(2), lambda: 3)\n" * size + f"def rms_norm(x):\n    return {NORM}\n", 24, 200, 3000),
}  # fmt: skip
