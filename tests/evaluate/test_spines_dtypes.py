"""Casts, dtype tests, gradients and memory: what rides along with the product."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import RMS, function, main, module, only, spines, table

NORM = "h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)"


def dtypes(text: str) -> list[tuple[str, str, str]]:
    """(of the square, of the accumulation, of the output) on each path."""
    computations = only(text).computations
    return [(c.statistic.square.value, c.statistic.accumulate.value, c.output.value) for c in computations]


@pytest.mark.parametrize(
    ("cast", "wide"),
    table(
        ("no cast", "x", "input"),
        ("a device", "x.to('cuda')", "input"),
        ("a device by name", "x.to(device)", "input"),
        ("cuda()", "x.cuda()", "input"),
        ("cpu()", "x.cpu()", "input"),
        ("clone()", "x.clone()", "input"),
        ("its own dtype", "x.to(x.dtype)", "input"),
        ("the dtype of autocast", "x.to(torch.get_autocast_gpu_dtype())", "input"),
        ("a dtype that isn't known", "x.to(compute_dtype)", "unknown"),
        ("a number for a dtype", "x.to(eps)", "unknown"),
        ("the type of something unknown", "x.type_as(other)", "unknown"),
        ("float()", "x.float()", "fp32"),
        ("double()", "x.double()", "fp64"),
        ("half()", "x.half()", "fp16"),
        ("bfloat16()", "x.bfloat16()", "bf16"),
        ("to(dtype)", "x.to(torch.float32)", "fp32"),
        ("to(dtype=)", "x.to(dtype=torch.float32)", "fp32"),
        ("to(device, dtype)", "x.to('cuda', torch.float32)", "fp32"),
        ("to(device=, dtype=)", "x.to(device=d, dtype=torch.float32)", "fp32"),
        ("to(other)", "x.to(x.float())", "fp32"),
        ("to(other=)", "x.to(other=x.float())", "fp32"),
        ("type(dtype)", "x.type(torch.bfloat16)", "bf16"),
        ("type of a tensor class", "x.type(torch.FloatTensor)", "fp32"),
        ("type by name", "x.type('torch.FloatTensor')", "fp32"),
        ("type by the name of a cuda class", "x.type('torch.cuda.HalfTensor')", "fp16"),
        ("type_as", "x.type_as(x.double())", "fp64"),
        ("asarray", "torch.asarray(x, dtype=torch.float32)", "fp32"),
        ("promote_types", "x.to(torch.promote_types(x.dtype, torch.float32))", "fp32"),
        ("result_type", "x.to(torch.result_type(x, x.float()))", "fp32"),
        ("promote_types with something unknown", "x.to(torch.promote_types(x.dtype, k))", "unknown"),
        ("a product with a wider tensor", "x * x.float().abs()", "fp32"),
        ("a product of two halves", "x.half() * x.bfloat16().abs()", "fp32"),
        ("a number is weak", "x.half() * 2.0", "fp16"),
        ("an unknown function of a tensor keeps its dtype", "torch.tanh(x.half())", "fp16"),
    ),
)
def test_a_cast_moves_the_dtype_of_the_square(cast: str, wide: str) -> None:
    assert dtypes(function(f"h = {cast}\nreturn {NORM}"))[0][:2] == (wide, wide)


@pytest.mark.parametrize(
    ("body", "expected"),
    table(
        ("squared before the cast", "s = x.square().float().mean(-1, keepdim=True)", ("input", "fp32")),
        ("squared by a product before", "s = (x * x).float().mean(-1, keepdim=True)", ("input", "fp32")),
        ("averaged before the cast", "s = x.square().mean(-1, keepdim=True).float()", ("input", "input")),
        ("averaged with a dtype", "s = x.square().mean(-1, keepdim=True, dtype=torch.float32)", ("input", "fp32")),
        ("summed with a dtype", "s = x.square().sum(-1, keepdim=True, dtype=torch.float32) / 8", ("input", "fp32")),
        ("a norm with a dtype", "s = x.norm(2, dim=-1, keepdim=True, dtype=torch.float32)", ("fp32", "fp32")),
        ("a dtype of None", "s = x.square().mean(-1, keepdim=True, dtype=None)", ("input", "input")),
        ("a variance", "s = x.float().var(-1, keepdim=True)", ("fp32", "fp32")),
        ("squared after the cast", "s = x.float().square().mean(-1, keepdim=True)", ("fp32", "fp32")),
    ),
)
def test_the_square_and_the_mean_have_dtypes_of_their_own(body: str, expected: tuple[str, str]) -> None:
    assert dtypes(function(f"{body}\nreturn x * torch.rsqrt(s + eps) * weight"))[0][:2] == expected


@pytest.mark.parametrize(
    ("back", "output"),
    table(
        ("as the input", ".type_as(x)", "input"),
        ("to the input's dtype", ".to(x.dtype)", "input"),
        ("to the input", ".to(x)", "input"),
        ("type", ".type(x.dtype)", "input"),
        ("to a half", ".half()", "fp16"),
        ("not at all", "", "fp32"),
    ),
)
def test_the_output_has_the_dtype_of_the_last_cast(back: str, output: str) -> None:
    assert dtypes(function(f"h = x.float()\nreturn ({NORM}){back}")) == [("fp32", "fp32", output)]


def test_the_gain_of_a_module_meets_the_dtype_of_its_parameters() -> None:
    forward = "h = x.float()\nh = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)\nreturn h.to(x.dtype)"
    init = "self.weight = nn.Parameter(torch.ones(dim))"
    assert dtypes(module(init, forward + " * self.weight"))[0][2] == "input"


@pytest.mark.parametrize(
    ("test", "paths"),
    table(
        ("never double", "x.dtype is torch.float64", [("input", {"fp16", "bf16", "fp32"})]),
        ("one half", "x.dtype == torch.float16", [("input", {"bf16", "fp32"}), ("fp32", {"fp16"})]),
        (
            "both halves",
            "x.dtype in (torch.float16, torch.bfloat16)",
            [("input", {"fp32"}), ("fp32", {"fp16", "bf16"})],
        ),
        ("not fp32", "x.dtype != torch.float32", [("fp32", {"fp16", "bf16"}), ("input", {"fp32"})]),
        (
            "not among the halves",
            "x.dtype not in [torch.float16, torch.bfloat16]",
            [("fp32", {"fp32"}), ("input", {"fp16", "bf16"})],
        ),
        (
            "one and then the other",
            "x.dtype == torch.float16 or x.dtype == torch.bfloat16",
            [("input", {"fp32"}), ("fp32", {"fp16"}), ("fp32", {"bf16"})],
        ),
        (
            "all that there are",
            "x.dtype in (torch.float16, torch.bfloat16, torch.float32)",
            [("fp32", {"fp16", "bf16", "fp32"})],
        ),
    ),
)
def test_a_dtype_test_narrows_the_path(test: str, paths: list[tuple[str, set[str]]]) -> None:
    text = function(f"h = x\nif {test}:\n    h = x.float()\nreturn {NORM} * weight")
    found = [(c.statistic.square.value, set(c.possible)) for c in only(text).computations]
    assert found == paths


@pytest.mark.parametrize(
    ("test", "squares"),
    table(
        ("what is fp32 is no half", "h.dtype == torch.float16", ["fp32"]),
        ("what is fp32 is fp32", "h.dtype == torch.float32", ["fp64"]),
        ("whether the input is fp32 isn't known", "h.dtype == x.dtype", ["fp32", "fp64"]),
        ("a dtype that isn't known", "h.dtype == compute_dtype", ["fp32", "fp64"]),
        ("a tensor's dtype is true", "h.dtype", ["fp64"]),
    ),
)
def test_a_dtype_that_is_known_decides_the_test(test: str, squares: list[str]) -> None:
    text = function(f"h = x.float()\nif {test}:\n    h = x.double()\nreturn {NORM} * weight")
    assert [square for square, _, _ in dtypes(text)] == squares


@pytest.mark.parametrize(
    ("body", "steps", "grad"),
    table(
        ("as usual", "s = x.square().mean(-1, keepdim=True)\nr = torch.rsqrt(s + eps)", "eps → rsqrt", False),
        (
            "detached",
            "s = x.square().mean(-1, keepdim=True)\nr = torch.rsqrt(s + eps).detach()",
            "eps → rsqrt → detach",
            False,
        ),
        (
            "detached as a function",
            "s = torch.detach(x.square().mean(-1, keepdim=True))\nr = torch.rsqrt(s + eps)",
            "eps → rsqrt → detach",
            False,
        ),
        (
            "under no_grad",
            "with torch.no_grad():\n    s = x.square().mean(-1, keepdim=True)\nr = torch.rsqrt(s + eps)",
            "eps → rsqrt",
            True,
        ),
        (
            "under inference_mode with another context",
            "with open('f') as f, torch.inference_mode() as g:\n    s = x.square().mean(-1, keepdim=True)\n"
            "r = torch.rsqrt(s + eps)",
            "eps → rsqrt",
            True,
        ),
        (
            "behind no_grad",
            "with torch.no_grad():\n    pass\ns = x.square().mean(-1, keepdim=True)\nr = torch.rsqrt(s + eps)",
            "eps → rsqrt",
            False,
        ),
        (
            "under another context",
            "with torch.autocast('cuda', enabled=False):\n    s = x.square().mean(-1, keepdim=True)\n"
            "r = torch.rsqrt(s + eps)",
            "eps → rsqrt",
            False,
        ),
    ),
)
def test_a_statistic_without_gradient_is_marked(body: str, steps: str, grad: bool) -> None:
    text = function(f"{body}\nreturn x * r * weight")
    assert spines(text) == [RMS.replace("eps → rsqrt", steps)]
    assert main(text).statistic.no_grad is grad


@pytest.mark.parametrize(
    ("root", "steps"),
    table(
        ("item()", "torch.rsqrt(x.square().mean() + eps).item()", "item"),
        ("float()", "float(torch.rsqrt(x.square().mean() + eps))", "item"),
        ("tolist()", "torch.rsqrt(x.square().mean() + eps).tolist()", "item"),
        ("data", "torch.rsqrt(x.square().mean() + eps).data", "detach"),
    ),
)
def test_a_number_taken_out_of_a_tensor_has_no_gradient(root: str, steps: str) -> None:
    text = function(f"return x * {root} * weight")
    assert spines(text) == [f"mean[*] | eps → rsqrt → {steps} → input(x) → scale(weight)"]


ROOT = "torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)"


@pytest.mark.parametrize(
    ("body", "mutated"),
    table(
        ("a product makes a new tensor", f"h = x\nh = h * {ROOT}", []),
        ("a clone is a copy", f"h = x.clone()\nh *= {ROOT}", []),
        ("a sum is a copy", f"h = x + 0.0 * weight\nh.mul_({ROOT})", []),
        ("a method with two underscores is none in place", f"h = x.__class__(x)\nh = h * {ROOT}", []),
        ("mul_ changes the input", f"h = x\nh.mul_({ROOT})", ["x"]),
        ("div_ through float() may change it", f"h = x.float()\nh.div_(1 / {ROOT})", ["x"]),
        ("*= changes it", f"h = x\nh *= {ROOT}", ["x"]),
        ("a store changes it", f"h = x\nh[..., 0] = 1\nh = h * {ROOT}", ["x"]),
        ("a store among several targets changes it", f"h = x\nh[0], y = 1, 2\nh = h * {ROOT}", ["x"]),
        ("a view shares its memory", f"h = x.view(2, -1)\nh.mul_({ROOT})", ["x"]),
        ("a part shares its memory", f"h = x[0]\nh.mul_({ROOT})", ["x"]),
    ),
)
def test_what_changes_the_memory_of_the_input_is_noted(body: str, mutated: list[str]) -> None:
    notes = main(function(f"{body}\nreturn h * weight")).notes
    assert [n.detail for n in notes if n.kind == "mutation"] == mutated


def test_what_is_changed_in_place_keeps_its_dtype() -> None:
    assert (
        dtypes(function(f"h = x.half()\nh.mul_({ROOT.replace('h.square', 'h.float().square')})\nreturn h"))[0][2]
        == "fp16"
    )


@pytest.mark.parametrize(
    "body",
    table(
        ("a name", "s = x.square().mean(-1, keepdim=True)\ns.add_(eps)\nr = s.rsqrt()"),
        ("a sum in place", "s = x.square().mean(-1, keepdim=True)\ns += eps\nr = s.rsqrt()"),
        ("a product in place", "s = x.square().mean(-1, keepdim=True)\nr = (s + eps).rsqrt()\nr *= 1.0"),
    ),
)
def test_an_operation_in_place_gives_its_name_the_new_value(body: str) -> None:
    assert spines(function(f"{body}\nreturn x * r * weight")) == [RMS]
