"""Values that grow: squares of squares, sums of sums, products of many factors, long tuples."""

from __future__ import annotations

from typing import Final

from tests.hostile.builder import NORM, WRONG, Texts, function, module, normed


def _repeated(line: str) -> object:
    return lambda size: normed([line] * size)


def _numbered(line: str) -> object:
    """`{i}` and `{j}`: the number of the line, and that of the one before."""
    return lambda size: normed([line.format(i=i + 1, j=i) for i in range(size)])


def _nested(before: str, after: str, seed: str = "x") -> object:
    return lambda size: function([f"return {before * size}{seed}{after * size}", f"return {NORM}"])


def _after_norm(line: str) -> object:
    return lambda size: function([f"y = {NORM}", *[line] * size, "return y"])


TEXTS: Final[Texts] = {
    "x = x * x + x": (_repeated("x = x * x + x"), 8, 24, 200, 3000),
    "x = x + x": (_repeated("x = x + x"), 24, 200, 3000),
    "x = x * x": (_repeated("x = x * x"), 24, 200, 1000, 5000),
    "x = (x + 1) * (x + 2)": (_repeated("x = (x + 1) * (x + 2)"), 8, 24, 200, 2000),
    "x = (x - x.mean(-1)) / x.std(-1)": (_repeated("x = (x - x.mean(-1)) / x.std(-1)"), 8, 24, 200, 1500),
    "x = a norm of x": (_repeated(f"x = {NORM}"), 8, 24, 200, 1000),
    "x = a wrong norm of x": (_repeated(f"x = {WRONG}"), 8, 24, 200, 1000),
    "x = x + a norm of x": (_repeated(f"x = x + {NORM}"), 8, 24, 200, 1000),
    "x += x.mean(-1, True)": (_repeated("x += x.mean(-1, True)"), 24, 200, 3000),
    "x = abs(x) ** 0.5": (_repeated("x = abs(x) ** 0.5"), 24, 200, 3000),
    "x = x ** x": (_repeated("x = x ** x"), 24, 200, 3000),
    "x = x ** 3": (_repeated("x = x ** 3"), 24, 200, 1000, 5000),
    "x = x ** 0.1": (_repeated("x = x ** 0.1"), 24, 200, 3000),
    "x = x / 3 * 7": (_repeated("x = x / 3 * 7"), 24, 200, 3000),
    "x = x.float().half()": (_repeated("x = x.float().half()"), 24, 200, 3000),
    "x = torch.cat([x, x])": (_repeated("x = torch.cat([x, x])"), 24, 200, 3000),
    "x = torch.stack([x, x]).sum(0)": (_repeated("x = torch.stack([x, x]).sum(0)"), 8, 24, 200, 2000),
    "x = (x, x)": (_repeated("x = (x, x)"), 24, 200, 3000),
    "t = t + t": (lambda size: normed(["t = (x, x)", *["t = t + t"] * size]), 24, 200, 3000),
    "t = t * 16": (lambda size: normed(["t = [x]", *["t = t * 16"] * size]), 24, 200, 3000),
    "t = [*t, *t]": (lambda size: normed(["t = [x]", *["t = [*t, *t]"] * size]), 24, 200, 3000),
    "f(*t, *t)": (lambda size: normed([f"t = ({'x, ' * size})", *["torch.add(*t, *t)"] * (size // 2)]), 20, 200, 2000),
    "s = s + s of strings": (lambda size: normed(["s = 'ab'", *["s = s + s"] * size, "s = s * 10**9"]), 24, 200, 3000),
    "n = n * n of numbers": (lambda size: normed(["n = 3", *["n = n * n"] * size, "x = x * n"]), 24, 200, 3000),
    "x.transpose(0, 1)": (_repeated("x = x.transpose(0, 1)"), 24, 200, 2500),
    "x.view(x.shape[0], -1)": (_repeated("x = x.view(x.shape[0], -1)"), 24, 200, 2500),
    "x.unsqueeze(0)": (_repeated("x = x.unsqueeze(0)"), 24, 200, 3000),
    "x = torch.where(x > 0, x, x)": (_repeated("x = torch.where(x > 0, x, x)"), 24, 200, 2500),
    "x = self.f(x) + x": (_repeated("x = self.f(x) + x"), 24, 200, 3000),
    "x = f(x, x, x, x)": (_repeated("x = f(x, x, x, x)"), 24, 200, 3000),
    "x = torch.exp(x + x)": (_repeated("x = torch.exp(x + x)"), 24, 200, 3000),
    "x = torch.maximum(x, x * 2)": (_repeated("x = torch.maximum(x, x * 2)"), 24, 200, 3000),
    "x[0] = x": (_repeated("x[0] = x"), 24, 200, 3000),
    "x, y = y, x + y": (lambda size: normed(["y = x", *["x, y = y, x + y"] * size]), 24, 200, 3000),
    "x, y = x * y, x + y": (lambda size: normed(["y = x", *["x, y = x * y, x + y"] * size]), 24, 200, 3000),
    "many names in one product": (
        lambda size: normed([*(f"x{i} = torch.sin(x + {i})" for i in range(size)), "x = x * " + " * ".join(f"x{i}" for i in range(size))]),
        24, 200, 1500,
    ),
    "a running product of names": (_numbered("x{i} = x.sin(); x = x * x{i}"), 24, 200, 2000),
    "a running sum of names": (_numbered("x{i} = x.sin(); x = x + x{i} * x"), 24, 200, 2000),
    "a chain of names": (lambda size: normed(["x0 = x", *(f"x{i + 1} = x{i} * x{i} + x{i}" for i in range(size)), f"x = x{size}"]), 24, 200, 2500),
    "many gains": (
        lambda size: module([f"self.g{i} = nn.Parameter(torch.ones(dim))" for i in range(size)], [f"x = {NORM}", *(f"x = x * self.g{i}" for i in range(size)), "return x"]),
        8, 24, 200, 1000,
    ),
    "many shifts": (_after_norm("y = y + x"), 8, 24, 200, 3000),
    "many scales": (_after_norm("y = y * x"), 8, 24, 200, 3000),
    "many negations": (_after_norm("y = -y"), 24, 200, 3000),
    "many casts": (_after_norm("y = y.float()"), 24, 200, 3000),
    "y = y * y + y": (_after_norm("y = y * y + y"), 8, 24, 200, 3000),
    "y = y * y": (_after_norm("y = y * y"), 8, 24, 200, 3000),
    "y = y + y.mean(-1)": (_after_norm("y = y + y.mean(-1)"), 8, 24, 200, 2500),
    "y = (y, y)": (_after_norm("y = (y, y)"), 24, 200, 3000),
    "the same norm, flowing on": (_after_norm("f(y)"), 24, 200, 3000),
    "minus signs": (_nested("-", ""), 24, 200, 1000, 3000, 60_000),
    "not, not": (_nested("not ", ""), 24, 200, 3000),
    "calls in calls": (_nested("f(", ")"), 24, 90, 190, 500),
    "abs in abs": (_nested("torch.abs(", ")"), 24, 90, 190, 500),
    "norms in norms": (_nested("F.normalize(", ", dim=-1)"), 24, 90, 190, 500),
    "tuples in tuples": (_nested("(", ",)"), 24, 90, 190, 500),
    "lists in lists": (_nested("[", "]"), 24, 90, 190, 500),
    "subscripts": (_nested("", "[0]"), 24, 200, 1000, 5000),
    "attributes": (_nested("", ".a"), 24, 200, 1000, 5000),
    "method calls": (_nested("", ".abs()"), 24, 200, 1000, 5000),
    "transposes": (_nested("", ".T"), 24, 200, 1000, 5000),
    "terms": (_nested("", " + x"), 24, 200, 1000, 5000),
    "factors": (_nested("", " * x"), 24, 200, 1000, 5000),
    "powers": (_nested("", " ** 2"), 24, 200, 1000, 5000),
    "and": (_nested("", " and x"), 24, 200, 1000, 5000),
    "comparisons": (_nested("", " < x"), 24, 200, 1000, 5000),
    "conditionals": (_nested("x if x else ", ""), 24, 200, 1000, 3000),
    "lambdas": (_nested("lambda: ", NORM.replace("x", "y"), ""), 24, 90, 200, 1000),
}  # fmt: skip
