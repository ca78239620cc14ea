"""What nobody writes: long names, open brackets, shapes by the thousand, odd encodings, callers without end."""

from __future__ import annotations

from typing import Final

from tests.hostile.builder import HEAD, NORM, WRONG, Texts, function, normed

ONE: Final = f"def f(x):\n    return {NORM}\n"
ALONG: Final = "class RMSNorm(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n        self.weight = nn.Parameter(torch.ones(dim))\n\n    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * self.weight\n\n\n"


def _above(head: str, line: str = "", *, foot: str = "") -> object:
    """A norm below lines of one kind; `@`: the number of the line."""
    return lambda size: HEAD + head + "".join(line.replace("@", str(i)) for i in range(size)) + foot + "\n\n" + ONE


def _said(text: str, more: str) -> object:
    """A norm whose docstring says shapes."""
    return lambda size: function([f'"""x: {text}{more * size}"""', f"return {NORM}"])


def _noted(text: str) -> object:
    return lambda size: function([f"return {NORM}"], params=f"x: '{text * size}'")


def _called(line: str, *, norm: str = ALONG) -> object:
    return lambda size: HEAD + norm + "".join(line.replace("@", str(i)) for i in range(size))


def _coded(cookie: str, encoding: str) -> object:
    """Another encoding, and characters that it has."""
    return lambda size: (f"# -*- coding: {cookie} -*-\n" + HEAD + f"# {'é' * size}\n" + ONE).encode(encoding)


CALLER: Final = "class B@(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n        self.n = RMSNorm(d)\n\n    def forward(self, x):\n        b, t, d = x.shape\n        return self.n(x)\n\n\n"
TEXTS: Final[Texts] = {
    "a long name": (lambda size: normed([f"{'a' * size} = x * 2", f"x = {'a' * size} + 1"]), 24, 2000, 40_000),
    "long names": (lambda size: normed([f"{'a' * 400}{i} = x * 2" for i in range(size)]), 24, 200),
    "a long attribute": (lambda size: normed([f"x = self.{'a' * size} * x"]), 24, 2000, 90_000),
    "star imports": (_above("", "from a@ import *\n"), 24, 200, 5000),
    "imports in a block with an open bracket": (_above("if torch:\n", "    import a (\n"), 24, 200, 6000),
    "adjoining strings": (_above("S = (", "'a@' ", foot=")\n"), 24, 200, 9000),
    "a sum of strings": (_above("S = 'a'", " + 'b@'"), 24, 200, 9000),
    "formats in formats": (lambda size: normed(["s = f'" + "{x:{x}}" * size + "'"]), 24, 200, 9000),
    "a dict of norms": (lambda size: normed([f"d = {{{', '.join(f'{i}: {NORM}' for i in range(size))}}}"]), 24, 200, 1000),
    "a dict of dicts": (lambda size: normed(["d = " + "{'a': " * size + "x" + "}" * size]), 24, 90, 200, 3000),
    "numbers of many digits": (lambda size: normed([f"x = x * {'9' * 300}{i}" for i in range(size)]), 24, 200, 300),
    "floats of many digits": (lambda size: normed([f"x = x * 0.{'9' * 300}{i}" for i in range(size)]), 24, 200, 300),
    "powers of powers": (lambda size: normed(["n = 9" + " ** 9" * size, "x = x * n"]), 24, 200, 9000),
    "shifts of shifts": (lambda size: normed(["n = 9" + " << 9999" * size, "x = x * n"]), 24, 200, 9000),
    "a shape of many axes": (_said("(a", ", a"), 24, 200, 9000),
    "a shape that never ends": (_said("", "(a, "), 24, 200, 9000),
    "sizes times sizes": (_said("a", " x a"), 24, 200, 9000),
    "lines of shapes": (_said("", "\n    x: (batch, seq, dim)"), 24, 200, 3000),
    "an annotation of brackets": (_noted("["), 24, 200, 9000),
    "an annotation of a long word": (_noted("[a"), 24, 200, 9000),
    "a view of many sizes": (lambda size: normed([f"x = x.view({'2, ' * size}-1)"]), 24, 200, 9000),
    "many axes permuted": (lambda size: normed([f"x = x.permute({', '.join(map(str, range(size)))})"]), 24, 200, 9000),
    "an equation of many letters": (lambda size: normed([f"x = torch.einsum('{'abcdefgh' * size}->a', x)"]), 24, 200, 9000),
    "a pattern of many names": (lambda size: normed([f"x = rearrange(x, '{'a (b c) ' * size} -> a')"]), 24, 200, 6000),
    "unpacked shapes": (lambda size: normed([", ".join(f"d{i}" for i in range(size)) + " = x.shape"]), 24, 200, 9000),
    "means of axes": (lambda size: normed([f"y{i} = x.mean({i}, keepdim=True)" for i in range(size)]), 24, 200, 2000),
    "axes of one mean": (lambda size: function([f"return x * torch.rsqrt(x.pow(2).mean(({'-1, ' * size})))"]), 24, 200, 9000),
    "a class, and its callers": (_called(CALLER), 24, 200, 600),
    "callers of many classes": (_called(ALONG.replace("RMSNorm", "RMSNorm@") + CALLER.replace("RMSNorm", "RMSNorm@")), 24, 100, 200),
    "classes along an axis": (_called(ALONG.replace("RMSNorm", "RMSNorm@")), 24, 200, 300),
    "calls at the top": (_called("x = RMSNorm(8)(x.view(2, 3, 4))\n"), 24, 200, 2000),
    "calls in one caller": (lambda size: HEAD + ALONG + "def f(x):\n    n = RMSNorm(8)\n" + "    x = n(x + x * x)\n" * size, 24, 200, 4000),
    "examples": (_called("'''\n>>> x = torch.randn(2, 3, 4)\n>>> RMSNorm(8)(x + x)\n'''\n"), 24, 200, 1500),
    "examples of RMSNorm in brackets": (_called("# >>> RMSNorm((\n"), 24, 200, 4000),
    "globals": (lambda size: normed([f"global g{i}; g{i} = x" for i in range(size)]), 24, 200, 3000),
    "names deleted": (lambda size: normed([f"y{i} = x; del y{i}" for i in range(size)]), 24, 200, 3000),
    "items set": (lambda size: normed(["d = {}"] + [f"d['{i}'] = x" for i in range(size)]), 24, 200, 3000),
    "items appended": (lambda size: normed(["d = []"] + ["d.append(x)" for i in range(size)] + ["x = sum(d)"]), 24, 200, 3000),
    "attributes set by name": (lambda size: normed([f"setattr(self, 'a{i}', x)" for i in range(size)], params="self, x"), 24, 200, 2500),
    "a global set by functions": (lambda size: HEAD + "".join(f"def g{i}(x):\n    global y\n    y = {WRONG}\n\n\n" for i in range(size)), 24, 200, 800),
    "functions of one name that call it": (lambda size: HEAD + "".join(f"def f(x):\n    return f({NORM})\n\n\n" for i in range(size)), 24, 200, 1000),
    "helpers of a norm": (lambda size: HEAD + f"def n(x):\n    return {WRONG}\n\n\n" + "".join(f"def g{i}(x):\n    return n(x) + n(x * 2)\n\n\n" for i in range(size)), 24, 200, 1500),
    "defaults": (lambda size: function([f"return {NORM}"], params="x, " + ", ".join(f"a{i}={NORM.replace('x', 'torch')}" for i in range(size))), 24, 200, 1000),
    "latin-1": (_coded("latin-1", "latin-1"), 24, 2000, 90_000),
    "an encoding that isn't": (_coded("nonsense", "utf-8"), 24, 2000, 40_000),
    "UTF-16": (lambda size: (HEAD + "# a\n" * size + ONE).encode("utf-16"), 24, 2000, 10_000),
    "UTF-16 that claims to be": (_coded("utf-16", "utf-8"), 24, 2000, 40_000),
    "UTF-7": (_coded("utf-7", "utf-7"), 24, 2000, 20_000),
    "idna": (_coded("idna", "utf-8"), 24, 2000, 40_000),
    "rot13": (_coded("rot13", "utf-8"), 24, 2000, 40_000),
    "byte order marks": (lambda size: b"\xef\xbb\xbf" * size + (HEAD + ONE).encode(), 1, 2, 24, 30_000),
    "bytes that are no text": (lambda size: (HEAD + ONE).encode() + b"# \xff\xfe\x80" * size, 24, 2000, 20_000),
    "NULs": (lambda size: (HEAD + ONE).encode() + b"\0" * size, 1, 24, 2000, 90_000),
    "halves of surrogate pairs": (lambda size: (HEAD + f"S = '{chr(0xD800) * size}'\n" + ONE), 24, 2000, 30_000),
    "escapes of surrogates": (lambda size: HEAD + "S = '" + r"\ud800" * size + "'\n" + ONE, 24, 2000, 15_000),
    "tabs and blanks": (lambda size: HEAD + "def f(x):\n" + "\tif x:\n\t    x = x + 1\n" * size + f"\treturn {NORM}\n", 24, 200, 3000),
    "form feeds in a function": (lambda size: HEAD + "def f(x):\n" + "\f    x = x + 1\n" * size + f"    return {NORM}\n", 24, 200, 5000),
}  # fmt: skip
