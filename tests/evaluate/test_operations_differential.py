"""Operations as the analysis reads them, against torch: axes, shape, dtype and degree, for random ways of calling."""

from __future__ import annotations

import random
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from normlint.evaluate.context import Context
from normlint.evaluate.dtypes import DType
from normlint.evaluate.entry import Entry
from normlint.evaluate.machine import Machine
from normlint.evaluate.module import Module
from normlint.evaluate.monomial import ALL, Abs, Apply, Atom, Centred, Input, Mono, Plus, Shifted, Stat, Through
from normlint.evaluate.objects import Env, FunctionRef
from normlint.evaluate.ops import OPS
from normlint.evaluate.run import Run
from normlint.evaluate.value import Defined, Product, Tup, Value

torch = pytest.importorskip("torch")
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
LENGTHS = (2, 3, 5, 7)
DTYPES = {"float32": DType.FP32, "float64": DType.FP64, "float16": DType.FP16, "bfloat16": DType.BF16}


def read(expression: str) -> Value | None:
    """What the expression is, for an x and a y from outside."""
    module = Module(f"{HEAD}def f(x: torch.Tensor, y: torch.Tensor, *args, **kwargs):\n    return {expression}\n")
    found = Machine(module, Context({})).lookup(Env(), "f")
    assert isinstance(found, Defined)
    assert isinstance(found.ref, FunctionRef)
    path = Run(module, Entry("f", found.ref.node.span, found.ref), {}).path()
    return path.result if path else None


def degree(mono: Mono) -> Fraction | None:
    """How the product scales with the inputs; None where that isn't known."""
    parts = [_degree_of(f.atom) for f in mono.factors]
    known = [d * f.power for d, f in zip(parts, mono.factors, strict=True) if d is not None]
    return sum(known, Fraction(0)) if len(known) == len(parts) else None


def _degree_of(atom: Atom) -> Fraction | None:
    match atom:
        case Input():
            return Fraction(1)
        case Stat(inner=inner) | Abs(inner=inner) | Centred(base=inner):
            return degree(inner)
        case Plus(inner=inner, eps=eps) if not eps.coef:
            return degree(inner)
        case Apply() | Through() | Shifted():
            return None
    return Fraction(0)


class Call(NamedTuple):
    """A reduction as it is written; `rank` and `dtype` are those of its input."""

    text: str
    rank: int
    dtype: str


OPERATIONS = ("mean", "sum", "nanmean", "nansum", "var", "std", "norm", "vector_norm", "var_mean", "std_mean")


def a_call(rng: random.Random) -> Call:
    name, rank = rng.choice(OPERATIONS), rng.randint(1, 4)
    ways = {
        "vector_norm": ["torch.linalg.vector_norm(x{})"], "var_mean": ["torch.var_mean(x{})[0]"],
        "std_mean": ["torch.std_mean(x{})[0]"],
    }  # fmt: skip
    others = [f"x.{name}({{}})", f"torch.{name}(x{{}})", f"torch.Tensor.{name}(x{{}})"]
    aten = [f"torch.ops.aten.{name}(x{{}})"] if name in ("mean", "sum") else []
    way = rng.choice(ways.get(name, others + aten))
    axes = rng.sample(range(-rank, rank), rng.randint(1, min(rank, 2)))
    dim = rng.choice([str(axes[0]), f"({axes[0]},)", f"[{', '.join(map(str, axes))}]"])
    order = rng.choice(["2", "ord=2" if name == "vector_norm" else "p=2"]) if "norm" in name else ""
    given = [order] if order else []
    by_name = "=" in order or (bool(order) and rng.random() < 0.5) or rng.random() < 0.5
    if rng.random() < 0.9:
        word = rng.choice(["dim", "axis"]) if name != "norm" and "aten" not in way else "dim"
        given.append(f"{word}={dim}" if by_name else dim)
        if name in ("var", "std") and not by_name and rng.random() < 0.4:
            given.append(rng.choice(["True", "False"]))
            by_name = rng.random() < 0.5
        elif name in ("var", "std", "var_mean", "std_mean"):
            given.append(rng.choice(["correction=0", "correction=1", "unbiased=False"]))
            by_name = True
        if rng.random() < 0.7:
            word = rng.choice(["keepdim", "keepdims"]) if name != "norm" and "aten" not in way else "keepdim"
            flag = rng.choice(["True", "False"])
            given.append(f"{word}={flag}" if by_name else flag)
    if name in ("mean", "sum", "vector_norm") and rng.random() < 0.3:
        given.append(f"dtype=torch.{rng.choice(['float32', 'float64'])}")
    arguments = ", ".join(given)
    text = way.format(arguments if way.startswith("x.") else f", {arguments}" if arguments else "")
    return Call(text, rank, rng.choice(list(DTYPES)))


def run(call: Call, x: Any) -> Any:
    """What torch makes of it; None where torch refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(call.text, {"torch": torch, "x": x})
        except (RuntimeError, TypeError, IndexError):
            return None


@pytest.mark.parametrize("seed", range(6))
def test_a_reduction_is_read_as_torch_computes_it(seed: int) -> None:
    rng = random.Random(seed)
    tried = 0
    for _ in range(80):
        call = a_call(rng)
        torch.manual_seed(0)
        x = torch.rand(LENGTHS[: call.rank], dtype=torch.float64).to(getattr(torch, call.dtype)) + 0.5
        shown, value = run(call, x), read(call.text)
        assert isinstance(value, Product), call
        if shown is None:
            continue
        tried += 1
        (stat,) = [f.atom for f in value.mono.factors if isinstance(f.atom, Stat)]
        axes = range(call.rank) if stat.axes == ALL else [a % call.rank for a in stat.axes or ()]
        lengths = [1 if i in axes else n for i, n in enumerate(x.shape) if stat.keepdim or i not in axes]
        assert lengths == list(shown.shape), call
        assert (DTYPES[call.dtype] if value.dtype is DType.INPUT else value.dtype) is DTYPES[str(shown.dtype)[6:]], call
        _same_degree(value, call, x.double())
    assert tried > 40


def _same_degree(value: Product, call: Call, x: Any) -> None:
    k = degree(value.mono)
    one, four = run(call, x), run(call, 4 * x)
    assert k is not None, call
    if one is None:  # dtype= of a smaller one
        return
    finite = torch.isfinite(one)  # the variance of one element isn't
    assert torch.allclose(four[finite].double(), one[finite].double() * 4.0 ** float(k), rtol=1e-4), call


ELEMENTWISE = (
    "x * y", "x / y", "torch.mul(x, 3)", "x.div(2.0)", "torch.true_divide(x, y)", "x.square()", "x ** 2", "x.pow(0.5)",
    "torch.pow(x, exponent=-0.5)", "x.sqrt()", "torch.rsqrt(x)", "x.reciprocal()", "torch.float_power(x, 2)", "abs(x)",
    "x.abs()", "-x", "x.neg()", "torch.exp(0.5 * torch.log(x))", "torch.exp2(-1 * torch.log2(x))", "1 / x",
    "x.float().double()", "x.to(torch.float64)", "x.to(y)", "x.type_as(y)", "x.contiguous().clone()", "x.detach()",
    "torch.ops.aten.mul.Tensor(x, y)", "torch.Tensor.square(x)", "x.clone().mul_(2)", "x.clone().sqrt_().pow_(3)",
    "torch.linalg.vecdot(x, x)", "torch.einsum('...d,...d->...', x, x)", "x.cumsum(-1)[..., -1]",
    "(x.unsqueeze(-2) @ x.unsqueeze(-1)).squeeze(-1)", "torch.stack(x.unbind(-1), -1)",
    "x / x.norm(dim=-1, keepdim=True)",
    "torch.cat(x.chunk(2, dim=-1), dim=-1)", "x @ torch.diag(torch.ones(4, dtype=torch.float64))",
    "x.mean(-1).mean(-1)", "x.mean(-1, keepdim=True).mean((0, -1))", "F.adaptive_avg_pool1d(x * x, 1)",
    "F.normalize(x, dim=-1, eps=0.0)", "x - x.mean(-1, keepdim=True)", "x.sum(-1) / x.shape[-1]",
    "x.sum(-1) / torch.count_nonzero(torch.ones_like(x), -1)", "x.sum((0, 1)) / torch.ones_like(x).count_nonzero(0, 1)",
    "x.sum_to_size(*x.shape[:-1], 1) / x.size(-1)", "x.square().sum_to_size(2, 3, 1).sqrt()", "x.sum_to_size(x.shape)",
)  # fmt: skip


@pytest.mark.parametrize("text", ELEMENTWISE)
def test_the_degree_that_is_read_is_the_one_that_torch_shows(text: str) -> None:
    value = read(text)
    assert isinstance(value, Product)
    k = degree(value.mono)
    if k is None:
        pytest.fail("it is not followed")
    x, y = (torch.rand(2, 3, 4, dtype=torch.float64) + 0.5 for _ in range(2))
    names = {"torch": torch, "F": torch.nn.functional}
    one = eval(text, names | {"x": x, "y": y})
    both = eval(text, names | {"x": 4 * x, "y": 4 * y})
    assert torch.allclose(both.double(), one.double() * 4.0 ** float(k), rtol=1e-3)


ARGUMENTS = ("", "y", "-1", "dim=-1", "2, True", "y, 0.5", "*args", "**kwargs", "y, y", "[x, y]", "dtype=torch.float32")


@pytest.mark.parametrize("start", range(0, len(OPS), 100))
def test_no_operation_raises_whatever_it_is_given(start: int) -> None:
    for name in sorted(OPS)[start : start + 100]:
        for head in (f"x.{name}(", f"torch.{name}(x, ", f"torch.{name}_(", f"F.{name}("):
            for arguments in ARGUMENTS[:: 1 if head[0] == "x" else 3]:
                assert read(f"{head}{arguments})") is not None
        assert isinstance(read(f"(x.{name}(-1), x.{name}())"), Tup)
