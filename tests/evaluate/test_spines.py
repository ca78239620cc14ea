"""What is averaged or summed: every spelling of a statistic is one spine."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import RMS, function, spines, table

NORM = "mean[-1] keepdim | sqrt → eps → recip → input(x) → scale(weight)"
LENGTH = "sum[-1] keepdim | sqrt → eps → recip → input(x) → scale(weight)"
MEAN_SIZE = "mean[-1] keepdim | sqrt → recip → input(x) → scale(weight)"


@pytest.mark.parametrize(
    "statistic",
    table(
        ("a power that isn't known is no square", "x.pow(k).mean(-1, keepdim=True)"),
        ("a huge power isn't followed", "x.pow(200).mean(-1, keepdim=True)"),
        ("the maximum is no mean", "x.square().amax(-1, keepdim=True)"),
        ("a mean under a mask is pooling", "(x * mask).square().mean(-1, keepdim=True)"),
        ("a masked fill is pooling", "x.masked_fill(gone, 0).square().mean(-1, keepdim=True)"),
        ("a mean square of something else is guidance", "y.square().mean(-1, keepdim=True)"),
        ("a constant has no features", "torch.ones(3).mean(-1, keepdim=True)"),
        ("the axes of an image are instance norm", "x.square().mean((2, 3), keepdim=True)"),
        ("an einsum that permutes isn't followed", "torch.einsum('bnd,bnd->nb', x, x)[..., None] / 64"),
        ("an einsum over two tensors is a product", "torch.einsum('bnd,bnd->bn', x, weight)[..., None] / 64"),
        ("an einsum with other letters is a matrix", "torch.einsum('bnd,bmd->bnm', x, x) / 64"),
        ("an einsum without an arrow isn't followed", "torch.einsum('bnd,bnd', x, x) / 64"),
        ("an einsum with an ellipsis behind isn't followed", "torch.einsum('d...,d...->...', x, x) / 64"),
        ("an einsum with an unknown equation isn't followed", "torch.einsum(equation, x, x)[..., None] / 64"),
        ("a maximum by einops is no mean", "einops.reduce(x * x, 'b n d -> b n 1', 'max')"),
        ("a patch by einops isn't followed", "einops.reduce(x * x, 'b (h a) -> b h', 'mean')"),
        ("a permutation by einops isn't followed", "einops.reduce(x * x, 'b n d -> n b', 'mean')[..., None]"),
        ("einops without an arrow isn't followed", "einops.reduce(x * x, 'b n d', 'mean')"),
        ("einops with an unknown pattern isn't followed", "einops.reduce(x * x, pattern, 'mean')"),
        ("a product of two vectors is no square", "torch.linalg.vecdot(x, weight).unsqueeze(-1)"),
        ("the norm of order 3 isn't followed", "x.norm(p=3, dim=-1, keepdim=True)"),
        ("the largest value isn't followed", "torch.linalg.vector_norm(x, ord=math.inf, dim=-1, keepdim=True)"),
        ("infinity may be spelled float", "x.norm(p=float('inf'), dim=-1, keepdim=True)"),
        ("the nuclear norm isn't followed", "x.norm(p='nuc', dim=-1, keepdim=True)"),
        ("an order that isn't known isn't followed", "x.norm(p=k, dim=-1, keepdim=True)"),
        ("the first positional argument of norm is its order", "x.norm(-1)"),
    ),
)
def test_what_is_no_mean_square_of_the_input_is_silent(statistic: str) -> None:
    text = function(f"return x * torch.rsqrt({statistic} + eps) * weight", "x, weight, y, eps=1e-6")
    assert spines(text) == []


@pytest.mark.parametrize(
    "statistic",
    table(
        ("a power as a method", "x.pow(2).mean(-1, keepdim=True)"),
        ("a power as a function", "torch.pow(x, 2).mean(-1, True)"),
        ("a power by keyword", "torch.pow(input=x, exponent=2).mean(dim=-1, keepdim=True)"),
        ("a power in float64", "torch.float_power(x, 2).mean(-1, keepdim=True)"),
        ("a square as a method", "x.square().mean(dim=(-1,), keepdim=True)"),
        ("a square as a function", "torch.square(x).mean(axis=-1, keepdims=True)"),
        ("the star star operator", "torch.mean(x ** 2, -1, True)"),
        ("a product with itself", "torch.mean(input=x * x, dim=[-1], keepdim=True)"),
        ("mul as a function", "torch.mul(x, x).mean(-1, keepdim=True)"),
        ("mul as a method", "x.mul(x).mean(-1, keepdim=True)"),
        ("multiply by keyword", "torch.multiply(input=x, other=x).mean(-1, keepdim=True)"),
        ("the square of the size", "(x.abs() ** 2).mean(-1, keepdim=True)"),
        ("the square of the size by torch", "torch.absolute(x).square().mean(-1, keepdim=True)"),
        ("the square of Python's abs", "(abs(x) * abs(x)).mean(-1, keepdim=True)"),
        ("the square of the opposite", "(-x).square().mean(-1, keepdim=True)"),
        ("a mean that skips NaN", "torch.nanmean(x * x, dim=-1, keepdim=True)"),
        ("a mean by the class of tensors", "torch.Tensor.mean(x * x, -1, True)"),
        ("a sum over the last length", "(x * x).sum(-1, keepdim=True) / x.shape[-1]"),
        ("a sum over the last size", "torch.sum(x * x, dim=-1, keepdim=True).div(x.size(-1))"),
        ("a sum over all sizes, then the last", "x.square().sum(-1, keepdim=True) / x.size()[-1]"),
        ("a sum divided by a function", "torch.div((x * x).sum(-1, keepdim=True), x.size(-1))"),
        ("a sum times the reciprocal", "(x * x).sum(-1, keepdim=True) * (1 / x.shape[-1])"),
        ("a sum times a power", "(x * x).sum(-1, keepdim=True) * x.shape[-1] ** -1"),
        ("a sum that skips NaN", "torch.nansum(x * x, dim=-1, keepdim=True) / x.shape[-1]"),
        ("a sum over a number that may be D", "x.square().sum(-1, keepdim=True) / 512"),
        ("a sum over a length of the gain", "x.square().sum(-1, keepdim=True) / len(weight)"),
        ("a sum of squares divided before", "(x.square() / x.shape[-1]).sum(-1, keepdim=True)"),
        ("a sum of scaled values", "(x / x.shape[-1] ** 0.5).square().sum(-1, keepdim=True)"),
        ("a product of vectors", "torch.linalg.vecdot(x, x).unsqueeze(-1) / x.shape[-1]"),
        ("a product of vectors along an axis", "torch.linalg.vecdot(x, x, dim=-1).unsqueeze(-1) / x.shape[-1]"),
        ("an einsum with an ellipsis", "torch.einsum('...d,...d->...', x, x).unsqueeze(-1) / x.shape[-1]"),
        ("an einsum of one tensor", "torch.einsum('bnd->bn', x * x)[..., None] / x.shape[-1]"),
        ("an einsum with letters", "torch.einsum('b n d, b n d -> b n', x, x)[..., None] / x.shape[-1]"),
        ("einops with a one", "einops.reduce(x * x, 'b n d -> b n 1', 'mean')"),
        ("einops without a one", "einops.reduce(x * x, 'b n d -> b n', 'mean')[..., None]"),
        ("einops with an ellipsis", "einops.reduce(x * x, '... d -> ... 1', reduction='mean')"),
        ("einops that sums", "einops.reduce(x * x, 'b n d -> b n 1', 'sum') / x.shape[-1]"),
    ),
)
def test_every_spelling_of_the_mean_square_is_one_spine(statistic: str) -> None:
    assert spines(function(f"return x * torch.rsqrt({statistic} + eps) * weight")) == [RMS]


@pytest.mark.parametrize(
    ("product", "spine"),
    table(
        ("a norm times a power of D", "x / (x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + eps)", NORM),
        ("a norm over a root of D", "x / (x.norm(2, -1, True) / math.sqrt(x.shape[-1]) + eps)", NORM),
        ("a norm by keyword", "x / (x.norm(p=2, dim=-1, keepdim=True) / math.sqrt(x.shape[-1]) + eps)", NORM),
        ("a norm with a float order", "x / (torch.norm(x, 2.0, -1, True) * x.shape[-1] ** -0.5 + eps)", NORM),
        (
            "a norm with the order of a name",
            "x / (x.norm(p='fro', dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + eps)",
            NORM,
        ),
        (
            "a norm with no order",
            "x / (x.norm(p=None, dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + eps)",
            NORM,
        ),
        (
            "a vector norm",
            "x / (torch.linalg.vector_norm(x, 2, -1, True) * x.shape[-1] ** -0.5 + eps)",
            NORM,
        ),
        ("linalg.norm", "x / (torch.linalg.norm(x, dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + eps)", NORM),
        ("a clamped norm, D at the end", "x / x.norm(dim=-1, keepdim=True).clamp(min=eps) * x.shape[-1] ** 0.5", NORM),
        ("normalize times a power of D", "F.normalize(x, dim=-1) * x.shape[-1] ** 0.5", NORM),
        ("normalize times a root of D", "F.normalize(x, dim=-1) * math.sqrt(x.shape[-1])", NORM),
        ("normalize with all arguments", "F.normalize(x, p=2.0, dim=-1, eps=1e-6) * x.size(-1) ** 0.5", NORM),
        ("normalize by position", "F.normalize(x, 2, -1) * x.size(-1) ** 0.5", NORM),
        ("normalize along its default axis", "F.normalize(x) * x.size(1) ** 0.5", NORM.replace("[-1]", "[1]")),
        ("normalize alone is an L2 norm", "F.normalize(x, dim=-1)", LENGTH),
        ("normalize by its whole path", "torch.nn.functional.normalize(input=x, dim=-1)", LENGTH),
        ("a norm alone is an L2 norm", "x / (x.norm(dim=-1, keepdim=True) + eps)", LENGTH),
        ("a norm of everything", "x / (x.norm() + eps)", LENGTH.replace("[-1] keepdim", "[*]")),
        ("a norm that loses its axis", "x / (x.norm(dim=1) + eps)", LENGTH.replace("[-1] keepdim", "[1]")),
        ("the root of a mean", "x / x.square().mean(-1, keepdim=True).sqrt()", MEAN_SIZE),
        (
            "the sum of sizes",
            "x / x.norm(p=1, dim=-1, keepdim=True)",
            "sum(x)[-1] keepdim | recip → input(x) → scale(weight)",
        ),
        (
            "the mean of sizes",
            "x / (x.abs().mean(-1, keepdim=True) + eps)",
            "mean(x)[-1] keepdim | eps → recip → input(x) → scale(weight)",
        ),
        (
            "the root of the mean",
            "x / (x.mean(-1, keepdim=True) + eps).sqrt()",
            "mean(x)[-1] keepdim | eps → sqrt → recip → input(x) → scale(weight)",
        ),
    ),
)
def test_norms_and_sums_keep_their_roots_and_counts(product: str, spine: str) -> None:
    assert spines(function(f"return {product} * weight")) == [spine]


@pytest.mark.parametrize(
    ("product", "silent"),
    table(
        ("normalize with order 1 isn't followed", "F.normalize(x, p=1, dim=-1)", True),
        ("normalize into another tensor isn't followed", "F.normalize(x, dim=-1, out=y)", True),
        ("normalize of a number isn't followed", "F.normalize(3.0, dim=-1)", True),
        ("normalize is followed", "F.normalize(x, dim=-1)", False),
    ),
)
def test_normalize_is_followed_with_its_own_arguments_only(product: str, silent: bool) -> None:
    assert (spines(function(f"return {product} * weight")) == []) is silent


@pytest.mark.parametrize(
    ("count", "shown"),
    table(
        ("the last length is D", "x.shape[-1]", ""),
        ("a length that isn't known may be D", "x.shape[k]", ""),
        ("the last of the others is not D", "x.shape[:-1][-1]", "size -2 of x"),
        ("a shape without its first keeps its last", "x.shape[1:][-1]", ""),
        ("the number of elements is not D", "x.numel()", "size None of x"),
    ),
)
def test_a_count_that_is_not_the_feature_size_is_shown(count: str, shown: str) -> None:
    text = function(f"return x * torch.rsqrt(x.square().sum(-1, keepdim=True) / {count} + eps) * weight")
    expected = RMS if not shown else RMS.replace("mean", "sum") + f" → count({shown}^1/2)"
    assert spines(text) == [expected]


def test_a_ratio_of_element_counts_is_the_feature_size() -> None:
    s = "s = x.square().sum(-1, keepdim=True)\n"
    assert spines(function(s + "return x * torch.rsqrt(s * s.numel() / x.nelement() + eps) * weight")) == [RMS]


def test_all_elements_are_the_count_of_a_sum_over_everything() -> None:
    text = function("return x * torch.rsqrt(x.square().sum() / x.numel() + eps) * weight")
    assert spines(text) == [RMS.replace("[-1] keepdim", "[*]")]


@pytest.mark.parametrize(
    ("axes", "shown"),
    table(
        ("no axis is every axis", "", "[*]"),
        ("an empty tuple is every axis", "dim=(), keepdim=True", "[*]"),
        ("None is every axis", "dim=None, keepdim=True", "[*]"),
        ("an axis without keepdim is lost", "-1", "[-1]"),
        ("keepdim=False is written out", "-1, keepdim=False", "[-1]"),
        ("a keepdim that is not known counts as kept", "-1, keepdim=k", "[-1] keepdim"),
        ("axes may be a list", "[-1], True", "[-1] keepdim"),
        ("an unknown axis is a question mark", "k, True", "[?] keepdim"),
        ("an axis among unknown ones is a question mark", "(k, -1), True", "[?] keepdim"),
        ("half an axis is none", "0.5, True", "[?] keepdim"),
        ("a range of axes is its numbers", "tuple(range(1, 3)), True", "[1,2] keepdim"),
        ("a range that ends at zero counts from the end", "list(range(-1, 0)), True", "[-1] keepdim"),
        (
            "a range from the rank less a length up to the rank",
            "tuple(range(x.ndim - len(weight.shape), x.ndim)), True",
            "[normalized_shape] keepdim",
        ),
        (
            "a range as long as a shape is that shape",
            "tuple(range(-len(weight.shape), 0)), True",
            "[normalized_shape] keepdim",
        ),
        (
            "a comprehension that counts from the end is a shape",
            "[-(i + 1) for i in range(len(weight.shape))], True",
            "[normalized_shape] keepdim",
        ),
        ("a negated index is a shape", "[-i for i in range(1, k)], True", "[normalized_shape] keepdim"),
        ("a comprehension that counts up is not known", "[i for i in range(1, k)], True", "[?] keepdim"),
        ("an unpacked range is its numbers", "[*range(-1, 0)], True", "[-1] keepdim"),
        ("an empty tuple plus a tuple", "tuple() + (-1,), True", "[-1] keepdim"),
    ),
)
def test_the_axes_are_read_in_every_spelling(axes: str, shown: str) -> None:
    text = function(f"return x * torch.rsqrt(x.square().mean({axes}) + eps) * weight")
    assert spines(text) == [f"mean{shown} | eps → rsqrt → input(x) → scale(weight)"]


@pytest.mark.parametrize(
    ("order", "spine"),
    table(
        ("an order of 2 by default", "p=2", LENGTH.replace("eps → ", "")),
        ("an order of 1 by default", "p=1", "sum(x)[-1] keepdim | recip → input(x) → scale(weight)"),
    ),
)
def test_the_order_of_a_norm_may_be_a_default(order: str, spine: str) -> None:
    assert spines(function("return x / x.norm(p, -1, True) * weight", f"x, weight, {order}")) == [spine]
