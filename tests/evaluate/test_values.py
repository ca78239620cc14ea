"""Monomials, dtypes and words: the arithmetic under the evaluation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from normlint.evaluate.dtypes import DType, promote
from normlint.evaluate.expressions import binary
from normlint.evaluate.monomial import (
    Abs,
    Apply,
    Centred,
    Factor,
    Input,
    Mono,
    Offset,
    Param,
    Plus,
    Scalar,
    Shifted,
    Size,
    Stat,
    Step,
    positive,
    raised,
    stats_of,
)
from normlint.evaluate.truth import describe
from normlint.evaluate.value import (
    MOST_TEXT,
    AxesOf,
    Constant,
    Defined,
    Dtype,
    Method,
    Opaque,
    Path,
    Product,
    Shape,
    Tup,
    Value,
    number,
    of_atom,
    scalar,
)
from normlint.text.finding import Span
from tests.evaluate.spines import table

HERE, THERE = Span(1, 2), Span(3, 4)
HALF = Fraction(1, 2)


def mono(*atoms: object, coef: float = 1.0) -> Mono:
    """A product; an atom may come with its power."""
    pairs = [a if isinstance(a, tuple) else (a, 1) for a in atoms]
    return Mono(coef, tuple(Factor(atom, Fraction(power)) for atom, power in pairs))


X, Y = Input("x"), Input("y")
SQUARE = Stat(mono((X, 2)), "mean", (-1,), True)
MEAN = Stat(mono(X), "mean", (-1,), True)


@pytest.mark.parametrize(
    ("left", "right", "product"),
    table(
        ("one changes nothing", mono(X), Mono(), mono(X)),
        ("numbers multiply", mono(coef=2.0), mono(X, coef=3.0), mono(X, coef=6.0)),
        ("different atoms stand beside each other", mono(X), mono(Y), mono(X, Y)),
        ("powers of one atom are added", mono((X, HALF)), mono((X, HALF)), mono(X)),
        ("opposite powers cancel", mono((X, 2), Y), mono((X, -2)), mono(Y)),
    ),
)
def test_products_add_powers(left: Mono, right: Mono, product: Mono) -> None:
    assert left.times(right) == product
    assert right.times(left) == product


def test_a_product_keeps_the_order_of_the_code_and_every_step() -> None:
    one = mono(X, Y).stepped(Step("cast", HERE, DType.FP32))
    both = one.times(mono(X).stepped(Step("square", THERE)))
    assert [f.atom for f in both.factors] == [X, Y]
    assert [[s.op for s in f.steps] for f in both.factors] == [["cast", "square"], ["cast"]]


@pytest.mark.parametrize(
    ("left", "right"),
    table(
        ("the order of factors", mono(X, Y), mono(Y, X)),
        (
            "the place",
            Mono(1.0, (Factor(X, Fraction(1), span=HERE),)),
            Mono(1.0, (Factor(X, Fraction(1), span=THERE),)),
        ),
        ("the steps", mono(X), mono(X).stepped(Step("cast", HERE))),
        ("the dtypes of a statistic", mono(SQUARE), mono(Stat(mono((X, 2)), "mean", (-1,), True, square=DType.FP32))),
        ("the spelling of a statistic", mono(SQUARE), mono(Stat(mono((X, 2)), "mean", (-1,), True, spelled="einsum"))),
        ("how a parameter was made", mono(Param("w", "parameter")), mono(Param("w", "parameter", "ones"))),
        ("a default", mono(Scalar("eps", 1e-5)), mono(Scalar("eps", 1e-6))),
        ("the place of a sum", mono(Plus(mono(X), mono(), span=HERE)), mono(Plus(mono(X), mono(), span=THERE))),
    ),
)
def test_equality_does_not_see(left: Mono, right: Mono) -> None:
    assert left == right
    assert hash(left) == hash(right)


@pytest.mark.parametrize(
    ("left", "right"),
    table(
        ("the number in front", mono(X), mono(X, coef=2.0)),
        ("the power", mono(X), mono((X, 2))),
        ("the atom", mono(X), mono(Y)),
        ("the axes of a statistic", mono(SQUARE), mono(Stat(mono((X, 2)), "mean", (1,), True))),
        ("whether it keeps its axis", mono(SQUARE), mono(Stat(mono((X, 2)), "mean", (-1,), False))),
        ("whether it is a mean", mono(SQUARE), mono(Stat(mono((X, 2)), "sum", (-1,), True))),
        ("whether it is biased", mono(SQUARE), mono(Stat(mono((X, 2)), "mean", (-1,), True, biased=False))),
        ("sum and floor", mono(Plus(mono(X), mono(), "add")), mono(Plus(mono(X), mono(), "clamp"))),
        ("a tensor and a parameter of one name", mono(X), mono(Param("x", "parameter"))),
        ("the place of a call that may change", mono(Apply("f", (), HERE)), mono(Apply("f", (), THERE))),
        ("a product and something else", mono(X), X),
    ),
)
def test_equality_sees(left: Mono, right: object) -> None:
    assert left != right


@pytest.mark.parametrize(
    ("base", "power", "result"),
    table(
        ("a root halves the power", mono((X, 3)), HALF, mono((X, Fraction(3, 2)))),
        ("a root of a square is a size", mono((X, 2)), HALF, mono(Abs(mono(X)))),
        ("an even power of a square stays even", mono((X, 2)), Fraction(2), mono((X, 4))),
        ("the inverse of a square is none", mono((X, 2)), Fraction(-1), mono((X, -2))),
        ("a root of a squared size needs none", mono((Abs(mono(X)), 2)), HALF, mono(Abs(mono(X)))),
        ("nor of a squared length", mono((Size(mono(X), -1), 2)), HALF, mono(Size(mono(X), -1))),
        ("nor of a squared mean square", mono((SQUARE, 2)), HALF, mono(SQUARE)),
        ("but of a squared mean", mono((MEAN, 2)), HALF, mono(Abs(mono(MEAN)))),
        ("a number has its root", mono(X, coef=4.0), HALF, mono((X, HALF), coef=2.0)),
        ("nothing is inverted as nothing", Mono(2.0), Fraction(-1), Mono(0.5)),
    ),
)
def test_a_power_multiplies_the_powers(base: Mono, power: Fraction, result: Mono) -> None:
    assert raised(base, power, ()) == result


@pytest.mark.parametrize(
    ("coef", "power"),
    table(
        ("zero has no inverse", 0.0, Fraction(-1)),
        ("minus one has no root", -1.0, HALF),
        ("the square of a huge number is none", 1e200, Fraction(2)),
    ),
)
def test_a_power_that_is_no_number_is_none(coef: float, power: Fraction) -> None:
    assert raised(mono(X, coef=coef), power, ()) is None


def test_a_power_leaves_its_steps() -> None:
    product = raised(mono(X).stepped(Step("cast", HERE)), HALF, (Step("sqrt", THERE),))
    assert product is not None
    assert [s.op for s in product.factors[0].steps] == ["cast", "sqrt"]


@pytest.mark.parametrize(
    ("atom", "expected"),
    table(
        ("an input may be negative", X, False),
        ("a parameter may be negative", Param("w", "parameter"), False),
        ("a mean may be negative", MEAN, False),
        ("a centred value may be negative", Centred(mono(X), MEAN), False),
        ("one plus a gain may be negative", Offset(1.0, mono(Y)), False),
        ("a shifted product may be negative", Shifted(mono(X), mono(Y)), False),
        ("an input plus eps may be negative", Plus(mono(X), mono(Scalar("eps"))), False),
        ("a size is positive", Abs(mono(X)), True),
        ("a length is positive", Size(mono(X), -1), True),
        ("a number of the constructor is positive", Scalar("dim"), True),
        ("a mean square is positive", SQUARE, True),
        ("a mean square plus eps is positive", Plus(mono(SQUARE), mono(Scalar("eps"))), True),
    ),
)
def test_what_is_never_negative(atom: object, expected: bool) -> None:
    assert positive(atom) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("product", "expected"),
    table(
        ("none in an input", mono(X), []),
        ("none in a difference", mono(Centred(mono(X), MEAN)), []),
        ("one of its own", mono(X, (SQUARE, -HALF)), [SQUARE]),
        ("one under eps", mono(Plus(mono(SQUARE), mono(Scalar("eps")))), [SQUARE]),
        ("one under a size under eps", mono(Plus(mono(Abs(mono(MEAN))), mono())), [MEAN]),
        ("two", mono(SQUARE, MEAN), [SQUARE, MEAN]),
    ),
)
def test_the_statistics_of_a_product(product: Mono, expected: list[Stat]) -> None:
    assert list(stats_of(product)) == expected
    assert product.has_stat is bool(expected)


@pytest.mark.parametrize(
    ("product", "depth"),
    table(
        ("nothing", Mono(), 0),
        ("an input", mono(X), 0),
        ("a statistic", mono(SQUARE), 1),
        ("a statistic under eps", mono(X, Plus(mono(SQUARE), mono())), 2),
        ("a difference", mono(Centred(mono(SQUARE), MEAN)), 2),
        ("a call", mono(Apply("f", (mono(SQUARE),))), 2),
    ),
)
def test_the_depth_of_a_product_is_that_of_its_deepest_atom(product: Mono, depth: int) -> None:
    assert product.depth == depth


@pytest.mark.parametrize(
    ("left", "right", "result"),
    table(
        ("equal dtypes stay", DType.FP16, DType.FP16, DType.FP16),
        ("a number is weak", DType.WEAK, DType.FP16, DType.FP16),
        ("a whole number gives way", DType.INT, DType.BF16, DType.BF16),
        ("fp32 wins over a half", DType.FP32, DType.FP16, DType.FP32),
        ("fp32 wins over the input", DType.INPUT, DType.FP32, DType.FP32),
        ("fp64 wins over fp32", DType.FP64, DType.FP32, DType.FP64),
        ("two different halves make fp32", DType.FP16, DType.BF16, DType.FP32),
        ("the input wins over a half", DType.FP16, DType.INPUT, DType.INPUT),
        ("the input wins over a parameter", DType.PARAM, DType.INPUT, DType.INPUT),
        ("a half wins over what isn't known", DType.UNKNOWN, DType.BF16, DType.BF16),
    ),
)
def test_dtypes_are_promoted_as_torch_does(left: DType, right: DType, result: DType) -> None:
    assert promote(left, right) is result
    assert promote(right, left) is result


@pytest.mark.parametrize("dtype", DType, ids=lambda d: f"{d.value} beside fp64")
def test_what_meets_fp64_is_wide(dtype: DType) -> None:
    assert promote(dtype, DType.FP64).wide


def product(atom: object) -> Product:
    return of_atom(atom, DType.INPUT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "words"),
    table(
        ("a number", number(0.5), "0.5"),
        ("a tensor", product(X), "x"),
        ("a multiple", Product(mono(X, coef=-2.0)), "-2·x"),
        ("a power", Product(mono((X, HALF), Y)), "x^1/2·y"),
        ("a length", product(Size(mono(X), -1)), "size -1 of x"),
        ("a size", product(Abs(mono(X))), "|x|"),
        ("a statistic", product(SQUARE), "stat"),
        ("a name", scalar("eps"), "eps"),
        ("None", Constant(None), "None"),
        ("a string", Constant("rms"), "'rms'"),
        ("a dtype of its own", Dtype(DType.FP16), "dtype fp16 "),
        ("the dtype of a tensor", Dtype(DType.INPUT, "x"), "dtype input x"),
        ("something imported", Path("torch.nn.Linear"), "torch.nn.Linear"),
        ("a module", Opaque("module nn.Linear"), "module nn.Linear"),
        ("a definition", Defined(None, "RMSNorm"), "RMSNorm"),
        ("a shape", Shape(product(X)), "shape of x"),
        ("a tuple", Tup((number(1.0), Constant(None))), "(1, None)"),
        ("the axes of a shape", AxesOf(), "AxesOf"),
        ("a method", Method(product(X), "mean"), "Method"),
    ),
)
def test_a_value_in_words(value: Value, words: str) -> None:
    assert describe(value) == words


@pytest.mark.parametrize("long", [False, True], ids=["short ones are", "long ones are not"])
def test_strings_that_are_added_are_followed(long: bool) -> None:
    half = Constant("ab" * (MOST_TEXT if long else 1))
    assert (binary(None, "+", half, half, Span(0, 1)) == Constant("abab")) is not long
    assert isinstance(binary(None, "+", half, half, Span(0, 1)), Opaque) is long
