"""What is done to the statistic: roots, powers, quotients, eps and floors, each in every spelling."""

from __future__ import annotations

from fractions import Fraction

import pytest

from normlint.rules import analyse
from tests.evaluate.spines import RMS, function, main, spines, table

MEAN = "ms = x.square().mean(-1, keepdim=True)\nreturn "
HEAD, _, TAIL = RMS.partition("eps → rsqrt")


def of_mean(product: str, parameters: str = "x, weight, eps=1e-6") -> str:
    return function(f"{MEAN}({product}) * weight", parameters)


@pytest.mark.parametrize(
    "product",
    table(
        ("a quotient that is rounded", "torch.div(x, torch.sqrt(ms + eps), rounding_mode='floor')"),
        ("a floor by the input", "x / torch.fmax(ms.sqrt(), x)"),
        ("a matrix product", "x @ torch.rsqrt(ms + eps)"),
        ("a squared input", "x.square() * torch.rsqrt(ms + eps)"),
        ("two statistics in one product", "x * torch.rsqrt(ms * x.abs().mean(-1, keepdim=True) + eps)"),
        ("a mean of ones", "x * torch.rsqrt((x / x).mean(-1, keepdim=True) + eps)"),
        ("two statistics in one root", "x * torch.rsqrt(ms + x.abs().mean(-1, keepdim=True))"),
        ("a response norm", "x * torch.rsqrt(ms / ms.mean() + eps)"),
        ("a product that raises", "x * 0 ** -1 * torch.rsqrt(k + eps)"),
        ("a root of a negative number", "x * (-1) ** 0.5 * torch.rsqrt(k + eps)"),
        ("a power that overflows", "x * 1e200 ** 2 * torch.rsqrt(k + eps)"),
    ),
)
def test_what_is_no_power_of_the_mean_square_is_silent(product: str) -> None:
    assert spines(of_mean(product)) == []


@pytest.mark.parametrize(
    "product",
    table(
        ("an exponent that is learned", "x * (ms + eps) ** -weight"),
        ("an exponent that is not known", "x * torch.pow(ms + eps, k)"),
        ("an exponent beyond reason", "x * (ms + eps) ** -100"),
        ("an opposite sign under the root", "x / torch.sqrt(torch.rsub(ms, 1e-6))"),
        ("a ceiling", "x / torch.sqrt(ms.clamp(max=10.0))"),
        ("a floor that varies", "x / torch.fmax(ms.sqrt(), weight)"),
        ("a maximum of one tensor", "x / torch.max(ms.sqrt())"),
        ("an interpolation", "x / torch.lerp(ms, weight, 0.5)"),
        ("a logistic function", "x * torch.rsqrt(torch.special.expit(ms) + eps)"),
        ("a function of another file", "x * fused_rsqrt(ms + eps)"),
        ("a module of another file", "x * self.root(ms + eps)"),
    ),
)
def test_a_statistic_that_goes_through_the_unknown_stays_one_and_nothing_is_said_of_it(product: str) -> None:
    found = analyse(of_mean(product))
    assert ["unknown" in norm.spine for norm in found.norms] == [True]
    assert {one.code for one in found.findings} <= {"NRM304", "NRM601"}  # an eps that isn't there, a root by division


@pytest.mark.parametrize(
    ("product", "steps"),
    table(
        ("rsqrt as a function", "x * torch.rsqrt(ms + eps)", "eps → rsqrt"),
        ("rsqrt as a method", "(ms + eps).rsqrt() * x", "eps → rsqrt"),
        ("rsqrt by keyword", "x * torch.rsqrt(input=ms + eps)", "eps → rsqrt"),
        ("a negative power", "x * (ms + eps) ** -0.5", "eps → rsqrt"),
        ("a root by logarithms", "x * torch.exp(-0.5 * torch.log(ms + eps))", "eps → pow"),
        ("a negative power as a method", "x * (ms + eps).pow(-0.5)", "eps → rsqrt"),
        ("a negative power as a function", "x * torch.pow(ms + eps, -0.5)", "eps → rsqrt"),
        ("mul as a function", "torch.mul(x, torch.rsqrt(ms + eps))", "eps → rsqrt"),
        ("multiply as a method", "x.multiply(torch.rsqrt(ms + eps))", "eps → rsqrt"),
        ("multiply by keyword", "torch.multiply(input=x, other=torch.rsqrt(ms + eps))", "eps → rsqrt"),
        ("signs that cancel", "-(-x) * torch.rsqrt(+ms + eps)", "eps → rsqrt"),
        ("neg as a function, twice", "torch.neg(x.neg()) * torch.rsqrt(ms + eps)", "eps → rsqrt"),
        ("a root below", "x / torch.sqrt(ms + eps)", "eps → sqrt → recip"),
        ("a root as a method", "x / (ms + eps).sqrt()", "eps → sqrt → recip"),
        ("a power below", "x / (ms + eps) ** (1 / 2)", "eps → sqrt → recip"),
        ("a power as a method below", "x / (ms + eps).pow(1 / 2)", "eps → sqrt → recip"),
        ("a reciprocal", "x * (ms + eps).sqrt().reciprocal()", "eps → sqrt → recip"),
        ("a reciprocal as a function", "x * torch.reciprocal(torch.sqrt(ms + eps))", "eps → sqrt → recip"),
        ("one over", "x * (1 / (ms + eps).sqrt())", "eps → sqrt → recip"),
        ("a power of minus one", "x * (ms + eps).sqrt() ** -1", "eps → sqrt → recip"),
        ("div as a method", "x.div((ms + eps).sqrt())", "eps → sqrt → recip"),
        ("div as a function", "torch.div(x, torch.sqrt(ms + eps))", "eps → sqrt → recip"),
        ("true_divide", "torch.true_divide(x, torch.sqrt(ms + eps))", "eps → sqrt → recip"),
        ("divide", "x.divide(torch.sqrt(ms + eps))", "eps → sqrt → recip"),
        ("two signs below", "x / -(-torch.sqrt(ms + eps))", "eps → sqrt → recip"),
        ("a size under the root", "x / torch.sqrt(torch.abs(ms) + eps)", "eps → sqrt → recip"),
        ("a size of the sum", "x / torch.sqrt((ms + eps).abs())", "eps → sqrt → recip"),
        ("a size of the inverse", "x * abs(torch.rsqrt(ms + eps))", "eps → rsqrt"),
        ("no eps", "x / torch.sqrt(ms)", "sqrt → recip"),
        ("the inverse of the inverse root", "x / torch.rsqrt(ms + eps)", "eps → rsqrt → recip"),
        ("a root on the wrong side", "x * torch.sqrt(ms + eps)", "eps → sqrt"),
        ("Python's root", "x * math.sqrt(ms + eps)", "eps → sqrt"),
        ("no root", "x / (ms + eps)", "eps → recip"),
        ("two roots", "x / (ms + eps).sqrt().sqrt()", "eps → sqrt → sqrt → recip"),
        ("a fourth root", "x / (ms + eps) ** 0.25", "eps → pow → recip"),
    ),
)
def test_every_root_is_shown_in_the_order_of_the_code(product: str, steps: str) -> None:
    assert spines(of_mean(product)) == [HEAD + steps + TAIL]


@pytest.mark.parametrize(
    ("below", "steps", "power"),
    table(
        ("the sum", "torch.sqrt(ms + eps)", "eps → sqrt → recip", 1),
        ("the sum the other way round", "torch.sqrt(eps + ms)", "eps → sqrt → recip", 1),
        ("add as a method", "torch.sqrt(ms.add(eps))", "eps → sqrt → recip", 1),
        ("add as a function", "torch.sqrt(torch.add(ms, eps))", "eps → sqrt → recip", 1),
        ("add with a factor", "torch.sqrt(torch.add(ms, 1, alpha=1e-6))", "eps → sqrt → recip", 1),
        ("minus a negative number", "torch.sqrt(ms - -1e-6)", "eps → sqrt → recip", 1),
        ("sub as a method", "torch.sqrt(ms.sub(-1e-6))", "eps → sqrt → recip", 1),
        ("rsub as a function", "torch.sqrt(torch.rsub(-1e-6, ms))", "eps → sqrt → recip", 1),
        ("a large eps", "torch.sqrt(ms + 1.0)", "eps → sqrt → recip", 1),
        ("the eps of a dtype", "torch.sqrt(ms + torch.finfo(x.dtype).eps)", "eps → sqrt → recip", 1),
        ("a floor by keyword", "torch.sqrt(ms.clamp(min=eps))", "eps → sqrt → recip", 1),
        ("a floor by position", "torch.sqrt(ms.clamp(eps))", "eps → sqrt → recip", 1),
        ("a floor by clip", "torch.sqrt(torch.clip(ms, min=eps))", "eps → sqrt → recip", 1),
        ("a floor by clamp_min", "torch.sqrt(ms.clamp_min(eps))", "eps → sqrt → recip", 1),
        ("clamp_min by keyword", "torch.sqrt(torch.clamp_min(ms, min=eps))", "eps → sqrt → recip", 1),
        ("a floor by maximum", "torch.sqrt(torch.maximum(ms, eps))", "eps → sqrt → recip", 1),
        ("maximum the other way round", "torch.sqrt(torch.maximum(eps, ms))", "eps → sqrt → recip", 1),
        ("max with two arguments", "torch.sqrt(torch.max(ms, eps))", "eps → sqrt → recip", 1),
        ("a sum behind the root", "(torch.sqrt(ms) + eps)", "sqrt → eps → recip", Fraction(1, 2)),
        ("add behind the root", "torch.sqrt(ms).add(eps)", "sqrt → eps → recip", Fraction(1, 2)),
        ("a floor behind the root", "ms.sqrt().clamp(min=eps)", "sqrt → eps → recip", Fraction(1, 2)),
    ),
)
def test_eps_is_found_with_the_power_of_what_it_joins(below: str, steps: str, power: Fraction) -> None:
    text = of_mean(f"x / {below}")
    assert spines(text) == [HEAD + steps + TAIL]
    assert [e.power for e in main(text).eps] == [power]


@pytest.mark.parametrize(
    "mean",
    table(
        ("as a function", "torch.mean(x**2 + eps, dim=-1, keepdim=True)"),
        ("as a method", "(x * x + eps).mean(-1, keepdim=True)"),
        ("of a product of its own", "torch.add(x.square(), eps).mean(dim=(-1,), keepdim=True)"),
    ),
)
def test_eps_added_before_the_mean_is_the_eps_of_the_mean(mean: str) -> None:
    text = function(f"return x * torch.rsqrt({mean}) * weight", "x, weight, eps=1e-6")
    assert spines(text) == [RMS]
    assert [(e.name, e.power) for e in main(text).eps] == [("eps", 1)]


@pytest.mark.parametrize(
    ("below", "powers"),
    table(
        ("both inside", "torch.sqrt(ms + 1e-6 + 1e-8)", [1, 1]),
        ("one on each side", "(torch.sqrt(ms + 1e-6) + 1e-8)", [1, Fraction(1, 2)]),
        ("both outside", "torch.sqrt(ms).add(1e-6).clamp(min=1e-8)", [Fraction(1, 2), Fraction(1, 2)]),
    ),
)
def test_two_eps_are_both_found(below: str, powers: list[Fraction]) -> None:
    assert sorted(e.power for e in main(of_mean(f"x / {below}")).eps) == sorted(powers)


@pytest.mark.parametrize(
    ("eps", "how", "value", "default", "name"),
    table(
        ("a number is known", "ms + 1e-5", "add", 1e-5, 1e-5, ""),
        ("numbers are added up", "ms + (1e-5 + 2e-5)", "add", 3e-5, 3e-5, ""),
        ("numbers are subtracted", "ms + (3e-5 - 1e-5)", "add", 2e-5, 2e-5, ""),
        ("numbers are divided", "ms + 1e-5 / 2", "add", 5e-6, 5e-6, ""),
        ("a power of ten is a number", "ms + 10 ** -5", "add", 1e-5, 1e-5, ""),
        ("a whole quotient is a number", "ms + 3e-5 * (7 // 3)", "add", 6e-5, 6e-5, ""),
        ("the size of a number is a number", "ms + abs(-1e-5)", "add", 1e-5, 1e-5, ""),
        ("the larger of two numbers is known", "ms + max(1e-5, 1e-6)", "add", 1e-5, 1e-5, ""),
        ("the smaller of two numbers is known", "ms + min(1e-5, 1e-6)", "add", 1e-6, 1e-6, ""),
        ("float of a number is that number", "ms + float(1e-5)", "add", 1e-5, 1e-5, ""),
        ("a parameter has a default", "ms + eps", "add", None, 1e-6, "eps"),
        ("a floor is told from a sum", "ms.clamp(min=eps)", "clamp", None, 1e-6, "eps"),
        ("a parameter without a default is only a name", "ms + epsilon", "add", None, None, "epsilon"),
        ("the larger of two names is a name", "ms + max(eps, 1e-6)", "add", None, None, "max(eps, 1e-06)"),
    ),
)
def test_the_value_of_eps_is_known_where_the_text_fixes_it(
    eps: str, how: str, value: float | None, default: float | None, name: str
) -> None:
    found = main(of_mean(f"x * torch.rsqrt({eps})", "x, weight, epsilon, eps=1e-6")).eps[0]
    assert (found.how, found.value, found.default, found.name) == (
        how,
        value if value is None else pytest.approx(value),
        default if default is None else pytest.approx(default),
        name,
    )


@pytest.mark.parametrize(
    ("result", "tail"),
    table(
        ("a shift behind the gain", "y * weight + bias", " → scale(weight) → shift(bias)"),
        ("a shift before the gain", "(y + bias) * weight", " → scale(weight) → shift(bias)"),
        ("a shift from the left", "bias + y * weight", " → scale(weight) → shift(bias)"),
        ("a shift by addcmul", "torch.addcmul(bias, y, weight)", " → scale(weight) → shift(bias)"),
        ("a shift that is subtracted", "y * weight - bias", " → scale(weight) → shift(-1·bias)"),
        ("a residual", "x + y * weight", " → scale(weight) → shift(x)"),
        ("one plus the gain", "y * (1 + weight)", " → scale(1 + weight)"),
        ("the gain plus one", "y * (weight + 1.0)", " → scale(1 + weight)"),
        ("one plus the gain as a function", "y * torch.add(weight, 1)", " → scale(1 + weight)"),
        ("the gain through a function", "y * torch.sigmoid(weight)", " → times(sigmoid)"),
        ("a gate", "y * weight * F.silu(gate)", " → scale(weight) → times(silu)"),
        ("a small number beside the gain is no offset", "y * (weight + 0.1)", " → times(plus)"),
        ("an argument as a factor", "y * gate", " → times(gate)"),
        ("a number as a factor", "y * 3", " → count(a number^1)"),
        (
            "the two by addcmul with a factor",
            "torch.addcmul(bias, y, weight, value=2)",
            " → scale(weight) → count(a number^1) → shift(bias)",
        ),
        ("what follows a remainder is not followed", "y * weight % 2", " → scale(weight)"),
        ("what follows a floor is not followed", "y * weight // 1", " → scale(weight)"),
    ),
)
def test_gains_shifts_and_gates_are_distinguished(result: str, tail: str) -> None:
    text = function(
        f"y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)\nreturn {result}", "x, weight, bias, gate, eps"
    )
    assert spines(text) == ["mean[-1] keepdim | eps → rsqrt → input(x)" + tail]


def test_an_argument_that_is_both_the_power_and_the_root_has_its_default() -> None:
    text = function(
        "norm = x.abs().pow(p).sum(-1, keepdim=True).pow(1 / p)\nreturn x / norm * weight", "x, weight, p=2"
    )
    assert spines(text) == ["sum[-1] keepdim | sqrt → recip → input(x) → scale(weight)"]


def test_an_argument_with_another_default_is_no_square() -> None:
    text = function(
        "norm = x.abs().pow(p).sum(-1, keepdim=True).pow(1 / p)\nreturn x / norm * weight", "x, weight, p=3"
    )
    assert spines(text) == []
