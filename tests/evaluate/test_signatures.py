"""The table of torch's signatures: what the installed torch shows, and how calls are bound by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from normlint.evaluate.binding import Args
from normlint.evaluate.ops import signatures

ROOT = Path(__file__).parents[2]
T = object()  # a tensor
UNKNOWN = object()


def letter(value: object) -> str:
    if value is T or value is UNKNOWN:
        return "T" if value is T else ""
    return {int: "i", float: "f", bool: "b", tuple: "I", str: "s", type(None): "n"}[type(value)]


def bound(dotted: str, *places: Any, rest: bool = False, more: bool = False, **names: Any) -> signatures.Fit[Any]:
    key = signatures.key_of(dotted)
    assert key is not None
    return signatures.bind(key, Args(places, names, rest, more), letter)


def test_the_table_is_what_the_installed_torch_shows() -> None:
    torch = pytest.importorskip("torch")
    made_from = signatures.version()
    if torch.__version__.partition("+")[0] != made_from:
        pytest.skip(f"the table was made from torch {made_from}, and {torch.__version__} is installed")
    check = (sys.executable, str(ROOT / "scripts" / "torch_signatures.py"), "--check")
    done = subprocess.run(check, capture_output=True, text=True, check=False)  # others' imports change what torch holds
    assert done.returncode == 0, done.stdout + done.stderr


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {
    "torch.Tensor.mean": ((T, -1, True), {}, {"dim": -1, "keepdim": True}),
    "torch.mean": ((T,), {"axis": -1, "keepdims": True}, {"dim": -1, "keepdim": True}),
    "torch.Tensor.var": ((T, False), {}, {"unbiased": False}),
    "torch.var": ((T, -1, False), {}, {"dim": -1, "unbiased": False}),
    "torch.std": ((T, (0, 1)), {"correction": 0}, {"dim": (0, 1), "correction": 0}),
    "torch.Tensor.size": ((T,), {"dim": -1}, {"dim": -1}),
    "torch.Tensor.max": ((T, T), {}, {"other": T}),
    "torch.Tensor.min": ((T, 1), {}, {"dim": 1}),
    "torch.norm": ((T, 2, -1), {}, {"p": 2, "dim": -1}),
    "torch.linalg.norm": ((T, None, -1, True), {}, {"ord": None, "dim": -1, "keepdim": True}),
    "torch.linalg.vector_norm": ((), {"x": T, "dim": -1}, {"dim": -1}),
    "torch.nn.functional.normalize": ((T, 2.0, -1), {}, {"p": 2.0, "dim": -1}),
    "torch.ops.aten.mean.dim": ((T, (-1,), True), {}, {"dim": (-1,), "keepdim": True}),
    "torch.ops.aten.sum.default": ((), {"self": T}, {}),
    "torch.ops.aten.linalg_vector_norm": ((T, 2), {}, {"ord": 2}),
    "torch.Tensor.add_": ((T, 1), {"alpha": 2}, {"other": 1, "alpha": 2}),
    "torch.addcmul": ((T, T, T), {"value": 2}, {"tensor1": T, "tensor2": T, "value": 2}),
}


@pytest.mark.parametrize("dotted", CALLS)
def test_an_argument_fills_the_parameter_that_torch_gives_it_to(dotted: str) -> None:
    places, names, values = CALLS[dotted]
    found = bound(dotted, *places, **names)
    assert found.accepted
    assert found.values == {"input": T, **values}
    assert not found.unknown


@pytest.mark.parametrize(
    ("dotted", "name"),
    [("torch.Tensor.view", "size"), ("torch.Tensor.permute", "dims"), ("torch.Tensor.expand", "size")],
)
def test_lengths_come_one_by_one_or_as_a_tuple(dotted: str, name: str) -> None:
    assert bound(dotted, T, 0, 2, 1).star == (0, 2, 1)
    assert bound(dotted, T, (0, 2, 1)).values == {"input": T, name: (0, 2, 1)}


def test_what_is_unpacked_and_not_known_leaves_no_default() -> None:
    assert bound("torch.mean", T, more=True).unknown == {"dim", "keepdim", "dtype", "out"}
    assert bound("torch.Tensor.mean", T, rest=True).unknown == {"dim", "keepdim"}
    assert bound("torch.mean", T, -1, more=True, keepdim=True).unknown == {"dtype", "out"}
    assert bound("torch.nn.functional.normalize", T, dim=-1, more=True).unknown == {"p", "eps", "out"}


def test_a_value_that_may_be_either_leaves_both_unknown() -> None:
    assert bound("torch.Tensor.var", T, UNKNOWN).unknown == {"dim", "unbiased"}
    assert bound("torch.Tensor.var", T, UNKNOWN, keepdim=True).unknown == set()


def test_what_torch_would_refuse_is_reported() -> None:
    assert bound("torch.var", T, unbaiased=False).unexpected == ("unbaiased",)
    assert bound("torch.Tensor.mean", T, axes=-1).unexpected == ("axes",)
    assert bound("torch.rsqrt", T, 1e-6).surplus == 1
    assert bound("torch.lerp", T, T).missing == ("weight",)
    assert bound("torch.nn.functional.normalize", T, axis=-1).unexpected == ("axis",)  # Python's own, no alias


def test_names_that_torch_does_not_have() -> None:
    assert signatures.key_of("torch.vart") is None
    assert "vart" not in signatures.public("torch")
    assert {"var", "float32", "no_grad", "Generator"} <= signatures.public("torch")
    assert {"mean", "shape", "mT", "requires_grad"} <= signatures.public("Tensor")
    assert {"rms_norm", "normalize"} <= signatures.public("F")


def test_reading_the_table_imports_no_torch() -> None:
    code = (
        "import sys; from normlint.evaluate.ops import signatures as s; s.overloads('torch.mean'); print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert "torch" not in ran.stdout.split()


def examples() -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Ways of passing arguments that torch takes, and some that it refuses."""
    names: list[dict[str, Any]] = [
        {}, {"dim": 1}, {"axis": 1}, {"dim": (0, 1)}, {"keepdim": True, "dim": 0}, {"keepdims": True, "axis": 0},
        {"unbiased": False}, {"correction": 0}, {"correction": 0, "dim": 1}, {"p": 2}, {"ord": 2}, {"exponent": 2},
        {"other": 2.0}, {"min": 0.5}, {"max": 0.5}, {"axes": 1}, {"keep_dim": True}, {"alpha": 2, "other": 1},
        {"end": T, "weight": 0.5}, {"tensor1": T, "tensor2": T}, {"dtype": None}, {"eps": 1e-6}, {"out": None},
    ]  # fmt: skip
    places: list[tuple[Any, ...]] = [(), (1,), (1, True), (True,), (0.5,), (T,), ((0, 1),), (2, 1), (1, False, True)]
    ops = (
        *(
            "mean",
            "sum",
            "var",
            "std",
            "norm",
            "var_mean",
            "std_mean",
            "pow",
            "mul",
            "add",
            "clamp",
            "clamp_min",
            "lerp",
        ),
        *("addcmul", "sqrt", "rsqrt", "amax", "max", "logsumexp", "cumsum", "unsqueeze", "div", "sub", "nanmean"),
    )
    spaces = ("torch", "torch.Tensor", "torch.linalg", "torch.nn.functional")
    made = [f"{space}.{op}" for space in spaces for op in (*ops, "vector_norm", "normalize", "softmax")]
    return [(d, p, n) for d in made if signatures.key_of(d) for p in places for n in names]


@pytest.mark.filterwarnings("ignore")
def test_a_call_is_refused_where_torch_refuses_it() -> None:
    """Names and numbers of arguments, for every example; wrong values of the right name are torch's own business."""
    torch = pytest.importorskip("torch")
    x = torch.rand(3, 3)
    wrong = []
    for dotted, places, names in examples():
        given = [x if p is T else p for p in places], {k: x if v is T else v for k, v in names.items()}
        owner, _, name = dotted.removeprefix("torch.").rpartition(".")
        function: Any = torch
        for part in (*owner.split("."), name):
            function = getattr(function, part) if part else function
        try:
            function(x, *given[0], **given[1])
            works = True
        except (RuntimeError, TypeError, IndexError, ValueError):
            works = False
        if works and not bound(dotted, T, *places, **names).accepted:
            wrong.append((dotted, places, names))
    assert wrong == []
