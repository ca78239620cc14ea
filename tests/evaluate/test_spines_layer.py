"""Centres and variances: every spelling of a layer norm, and the ones that forget a side."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.evaluate.spines import function, main, module, norms, spines, table

VAR = "var[-1] keepdim | eps → rsqrt → input(x) → scale(weight)"
UNBIASED = VAR.replace("var", "var unbiased")
STD = "var[-1] keepdim | sqrt → eps → recip → input(x) → scale(weight)"
MU = "mu = x.mean(-1, keepdim=True)\n"
SCALED = "\nreturn c * torch.rsqrt(var + eps) * weight"


def kinds(text: str) -> list[str]:
    return [norm.kind for norm in norms(text)]


@pytest.mark.parametrize(
    "body",
    table(
        ("a centre of something else", f"{MU}c = x - mu\nvar = y.var(-1, keepdim=True){SCALED}"),
        (
            "two statistics that are not of one input",
            f"{MU}c = x - mu\nvar = x.square().mean(-1, keepdim=True) - y.mean(-1, keepdim=True) ** 2{SCALED}",
        ),
        ("a variance of a number", "var = torch.var(3.0)\nreturn x * torch.rsqrt(var + eps) * weight"),
        ("a deviation of a number", "return x / torch.std(3.0) * weight"),
        ("both of a number", "var, mu = torch.var_mean(3.0)\nreturn (x - mu) / var * weight"),
        ("data made standard", "return (x - x.mean()) / (x.std() + eps)"),
    ),
)
def test_what_is_no_layer_norm_is_silent(body: str) -> None:
    assert spines(function(body, "x, weight, y, eps=1e-6", name="compute")) == []


@pytest.mark.parametrize(
    "body",
    table(
        ("var without correction", f"{MU}c = x - mu\nvar = x.var(-1, keepdim=True, unbiased=False){SCALED}"),
        ("var by position", f"{MU}c = x - mu\nvar = x.var(-1, False, True){SCALED}"),
        ("var with correction 0", f"{MU}c = x - mu\nvar = x.var(-1, correction=0, keepdim=True){SCALED}"),
        ("var as a function", f"{MU}c = x - mu\nvar = torch.var(x, -1, False, True){SCALED}"),
        ("var of what is centred", f"c = x - x.mean(-1, keepdim=True)\nvar = c.var(-1, False, keepdim=True){SCALED}"),
        ("a correction that isn't known", f"{MU}c = x - mu\nvar = x.var(-1, correction=k, keepdim=True){SCALED}"),
        (
            "a correction that is an argument",
            f"{MU}c = x - mu\nvar = x.var(-1, correction=weight, keepdim=True){SCALED}",
        ),
        ("a flag that isn't known", f"{MU}c = x - mu\nvar = x.var(-1, unbiased=k, keepdim=True){SCALED}"),
        ("a flag that is an argument", f"{MU}c = x - mu\nvar = x.var(-1, unbiased=eps, keepdim=True){SCALED}"),
        ("the mean of squares of the centred", f"{MU}c = x - mu\nvar = c.square().mean(-1, keepdim=True){SCALED}"),
        ("a centre that is written twice", f"{MU}c = x - mu\nvar = ((x - mu) ** 2).mean(-1, keepdim=True){SCALED}"),
        ("sub as a function", f"{MU}c = torch.sub(x, mu)\nvar = (c * c).mean(-1, keepdim=True){SCALED}"),
        ("subtract as a function", f"{MU}c = torch.subtract(x, mu)\nvar = (c * c).mean(-1, keepdim=True){SCALED}"),
        ("sub as a method", f"{MU}c = x.sub(mu)\nvar = (c * c).mean(-1, keepdim=True){SCALED}"),
        ("rsub as a function", f"{MU}c = torch.rsub(mu, x)\nvar = (c * c).mean(-1, keepdim=True){SCALED}"),
        ("a centre in place", f"{MU}c = x.clone()\nc -= mu\nvar = (c * c).mean(-1, keepdim=True){SCALED}"),
        (
            "a mean by a sum",
            "mu = x.sum(-1, keepdim=True) / x.shape[-1]\nc = x - mu\n"
            f"var = c.square().sum(-1, keepdim=True) / x.shape[-1]{SCALED}",
        ),
        (
            "a mean by a sum over a number",
            f"mu = x.sum(-1, keepdim=True) / 512\nc = x - mu\nvar = (c * c).mean(-1, keepdim=True){SCALED}",
        ),
        (
            "a centre of what is centred along the same axis",
            "c = x - x.mean(-1, keepdim=True)\nc = c - c.mean(-1, keepdim=True)\n"
            f"var = (c * c).mean(-1, keepdim=True){SCALED}",
        ),
        ("var_mean", f"var, mu = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)\nc = x - mu{SCALED}"),
        ("var_mean by position", f"var, mu = torch.var_mean(x, -1, False, True)\nc = x - mu{SCALED}"),
        (
            "var_mean with correction 0",
            f"var, mu = torch.var_mean(x, -1, correction=0, keepdim=True)\nc = x - mu{SCALED}",
        ),
        ("one pass", f"{MU}c = x - mu\nvar = x.square().mean(-1, keepdim=True) - mu ** 2{SCALED}"),
        ("one pass with products", f"{MU}c = x - mu\nvar = (x * x).mean(-1, keepdim=True) - mu * mu{SCALED}"),
        (
            "one pass with a sum",
            f"{MU}c = x - mu\nvar = (x * x).sum(-1, keepdim=True) / x.shape[-1] - mu.square(){SCALED}",
        ),
    ),
)
def test_every_spelling_of_the_variance_is_one_spine(body: str) -> None:
    text = function(body)
    assert spines(text) == [VAR]
    assert kinds(text) == ["layer"]


@pytest.mark.parametrize(
    ("body", "spine"),
    table(
        ("var has a correction", f"{MU}c = x - mu\nvar = x.var(-1, keepdim=True){SCALED}", UNBIASED),
        ("correction 1", f"{MU}c = x - mu\nvar = x.var(-1, correction=1, keepdim=True){SCALED}", UNBIASED),
        ("unbiased=True", f"{MU}c = x - mu\nvar = x.var(-1, unbiased=True, keepdim=True){SCALED}", UNBIASED),
        ("var_mean has one too", f"var, mu = torch.var_mean(x, -1, keepdim=True)\nc = x - mu{SCALED}", UNBIASED),
        (
            "and std",
            f"{MU}return (x - mu) / (x.std(-1, keepdim=True) + eps) * weight",
            STD.replace("var", "var unbiased"),
        ),
        ("std without", f"{MU}return (x - mu) / (torch.std(x, -1, False, True) + eps) * weight", STD),
        (
            "std by keyword",
            f"{MU}return (x - mu) / (torch.std(input=x, dim=-1, unbiased=False, keepdim=True) + eps) * weight",
            STD,
        ),
        (
            "std_mean",
            "sd, mu = torch.std_mean(x, dim=-1, keepdim=True, correction=0)\nreturn (x - mu) / (sd + eps) * weight",
            STD,
        ),
        (
            "a correction of None",
            f"{MU}return (x - mu) / (x.std(-1, keepdim=True, correction=None) + eps) * weight",
            STD,
        ),
        (
            "a flag alone reduces everything",
            f"{MU}c = x - mu\nvar = x.var(False){SCALED}",
            VAR.replace("[-1] keepdim", "[*]"),
        ),
        ("the variance's centre alone", f"{MU}c = x\nvar = x.var(-1, False, True){SCALED}", VAR),
        (
            "the input's centre alone",
            f"{MU}c = x - mu\nvar = x.square().mean(-1, keepdim=True){SCALED}",
            VAR.replace("var", "centre → mean"),
        ),
        (
            "one pass that loses its axis",
            f"mu = x.mean(-1)\nc = x - mu\nvar = (x * x).mean(-1, keepdim=True) - mu * mu{SCALED}",
            VAR.replace(" keepdim", ""),
        ),
        (
            "a mean of what is centred but not squared",
            f"{MU}c = x - mu\nvar = c.abs().mean(-1, keepdim=True){SCALED}",
            "var[-1] keepdim | eps → rsqrt → input(x) → scale(weight)",
        ),
    ),
)
def test_the_correction_and_the_missing_sides_are_shown(body: str, spine: str) -> None:
    assert spines(function(body)) == [spine]


@pytest.mark.parametrize(
    ("body", "centred"),
    table(
        ("both sides", f"{MU}c = x - mu\nvar = c.square().mean(-1, keepdim=True){SCALED}", (True, True)),
        ("only the variance", f"{MU}c = x\nvar = (x - mu).square().mean(-1, keepdim=True){SCALED}", (True, False)),
        ("only the input", f"{MU}c = x - mu\nvar = x.square().mean(-1, keepdim=True){SCALED}", (False, True)),
        ("neither", f"c = x\nvar = x.square().mean(-1, keepdim=True){SCALED}", (False, False)),
    ),
)
def test_the_centre_is_known_on_each_side(body: str, centred: tuple[bool, bool]) -> None:
    assert main(function(body)).centred == centred


@pytest.mark.parametrize(
    "centre",
    table(
        ("twice the mean is no centre", "2 * x.mean(-1, keepdim=True)"),
        ("a median is no mean", "x.median(-1, keepdim=True)"),
        ("a mean of another tensor is no centre", "y.mean(-1, keepdim=True)"),
        ("a sum is no mean", "x.sum(-1, keepdim=True)"),
        ("a mean times a gain is no centre", "weight * x.mean(-1, keepdim=True)"),
        ("a maximum is no mean", "x.amax(-1, keepdim=True)"),
    ),
)
def test_a_difference_from_something_else_is_another_input(centre: str) -> None:
    text = function(f"c = x - {centre}\nvar = c.square().mean(-1, keepdim=True){SCALED}", "x, weight, y, eps=1e-6")
    assert kinds(text) == ["rms"]
    assert "input(x)" not in spines(text)[0]


def test_a_number_taken_away_is_another_input() -> None:
    text = function(f"c = x - 1.0\nvar = c.square().mean(-1, keepdim=True){SCALED}")
    assert (kinds(text), main(text).centred) == (["rms"], (False, False))


GLOBAL = """\
{check}mean = {mean}
var = {var}
return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias"""
GIVEN = "self.weight, self.bias = nn.Parameter(torch.ones(dim, 1)), nn.Parameter(torch.zeros(dim, 1))"
PLAIN = {"mean": "x.mean((1, 2), keepdim=True)", "var": "(x - mean).pow(2).mean((1, 2), keepdim=True)"}
TWICE = ".mean(1, keepdim=True).mean(2, keepdim=True)"
RAISES = "if x.dim() != 3:\n    raise ValueError\n"
EACH_RANK = (
    f"if rank == 3:\n{indent(GIVEN, '    ')}\nif rank == 4:\n{indent(GIVEN.replace('dim, 1', 'dim, 1, 1'), '    ')}"
)


@pytest.mark.parametrize(
    ("init", "forward", "axes"),
    table(
        ("the rank is unknown", GIVEN, GLOBAL.format(check="", **PLAIN), (1, 2)),
        ("another rank is refused", GIVEN, GLOBAL.format(check=RAISES, **PLAIN), (-2, -1)),
        (
            "without a gain on one path",
            f"if affine:\n{indent(GIVEN, '    ')}",
            GLOBAL.format(check=RAISES, **PLAIN),
            (-2, -1),
        ),
        ("with a gain of another rank on another path", EACH_RANK, GLOBAL.format(check=RAISES, **PLAIN), (-2, -1)),
        (
            "a mean of means of a tensor whose rank is known",
            GIVEN,
            GLOBAL.format(check=RAISES, mean=f"x{TWICE}", var=f"(x - mean).pow(2){TWICE}"),
            (-2, -1),
        ),
        ("a mean of means", GIVEN, GLOBAL.format(check="", mean=f"x{TWICE}", var=f"(x - mean).pow(2){TWICE}"), (1, 2)),
    ),
)
def test_a_norm_over_channels_and_frames_is_recognised(init: str, forward: str, axes: tuple[int, ...]) -> None:
    text = module(init, forward, parameters="dim, eps=1e-6, affine=True, rank=3").replace("RMSNorm", "GlobalLayerNorm")
    assert (kinds(text), main(text).statistic.axes) == (["layer"], axes)


def test_a_mean_of_means_whose_axes_moved_is_not_followed() -> None:
    text = function("ms = x.square().mean(1).mean(1, keepdim=True)\nreturn x * torch.rsqrt(ms + eps) * weight")
    assert not spines(text)
