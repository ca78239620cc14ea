"""Norms that are put together by Python's own functions and containers are read as if they were written plainly."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from tests.evaluate.spines import function, spines, table

PLAIN = "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight"


def found(body: str) -> tuple[list[str], set[str]]:
    body = body.replace("MS", "x.square().mean(-1, True)")
    text = function(body, "x, weight, eps=1e-6", before="\nimport functools, math, operator\n")
    analysis = analyse(text)
    return spines(text), {f.code for f in analysis.findings}


@pytest.mark.parametrize(
    "body",
    table(
        ("functions of operator", "return operator.mul(x, torch.rsqrt(MS + eps)) * weight"),
        ("a method of two underscores", "return x.__mul__(torch.rsqrt(MS.__add__(eps))) * weight"),
        ("the reflected one", "r = torch.rsqrt(MS.__radd__(eps))\nreturn r.__rmul__(x) * weight"),
        ("sum", "return x * torch.rsqrt(sum((MS, eps))) * weight"),
        ("functools.reduce", f"return functools.reduce(lambda a, b: b(a), [lambda t: {PLAIN.replace('x', 't')}], x)"),
        ("reduce of products", "r = torch.rsqrt(MS + eps)\nreturn functools.reduce(torch.mul, (x, r, weight))"),
        ("math.prod", "return math.prod((x, torch.rsqrt(MS + eps), weight))"),
        ("next of a generator", "return x * next(torch.rsqrt(s + eps) for s in (MS,)) * weight"),
        ("a method by its name", "return x * operator.methodcaller('rsqrt')(MS + eps) * weight"),
        ("a mapped root", "return x * torch.vmap(torch.rsqrt)(MS + eps) * weight"),
        ("map and zip", "r = [MS]\nreturn [a * torch.rsqrt(b + eps) * weight for a, b in zip([x], r)][0]"),
        ("a list that is filled", f"outs = []\nouts.append({PLAIN})\nreturn outs[-1]"),
        ("a list that is emptied", "todo = [x]\nx = todo.pop()\nreturn " + PLAIN),
        ("a dict that is filled", "kept = {}\nkept['x'] = x\nx = kept['x']\nreturn " + PLAIN),
        ("a dict that is updated", "kept = {'x': None}\nkept.update(x=x)\nx = kept.get('x')\nreturn " + PLAIN),
        ("a loop over functions", "for f in (lambda t: t, torch.clone):\n    x = f(x)\nreturn " + PLAIN),
        ("an eps or zero", "return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + (eps or 0.0)) * weight"),
        ("an eps in a tensor", "s = MS\nreturn x * torch.rsqrt(s + s.new_tensor(eps)) * weight"),
        ("an eps that fills", "s = MS\nreturn x * torch.rsqrt(s + torch.full_like(s, eps)) * weight"),
        ("minus a negative", "return x * torch.rsqrt(torch.rsub(-MS, eps)) * weight"),
        ("a rectified mean square", "return x * torch.rsqrt(torch.relu(MS) + eps) * weight"),
        ("NaN replaced where there is none", "return torch.nan_to_num(torch.rsqrt(MS + eps)) * x * weight"),
        ("a mean of one element", "return x * torch.rsqrt(MS.sum(-1, True) + eps) * weight"),
    ),
)  # fmt: skip
def test_it_is_read_as_the_plain_one(body: str) -> None:
    plain = found("return " + PLAIN)
    assert plain[0]
    assert found(body) == plain


@pytest.mark.parametrize(
    "body",
    table(
        ("the sum of one element over another axis", "s = MS.sum(-2, True)"),
        ("a rectified mean", "s = torch.relu(x.mean(-1, True))"),
        ("a list that is filled in a loop", "s = []\nfor t in x:\n    s.append(t.square().mean())\ns = s[0]"),
        ("another item of a dict", "kept = {'a': MS}\nkept[weight] = x\ns = kept['b']"),
    ),
)
def test_what_is_something_else_is_not_read_so(body: str) -> None:
    text = f"{body}\nreturn x * torch.rsqrt(s + eps) * weight"
    assert found(text)[0] != found("return " + PLAIN)[0]


@pytest.mark.parametrize("way", ["x + -m", "-m + x", "torch.add(x, m, alpha=-1)", "torch.subtract(x, m)"])
def test_a_centre_is_a_centre_by_adding_the_negative(way: str) -> None:
    def layer(centred: str) -> tuple[list[str], set[str]]:
        root = "(c.square().mean(-1, keepdim=True) + eps).sqrt()"
        return found(f"m = x.mean(-1, keepdim=True)\nc = {centred}\nreturn c / {root} * weight")

    assert layer("x - m")[0]
    assert layer(way) == layer("x - m")
