"""Views, permutations and lost axes: what is transparent to the product, and what makes another tensor."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import RMS, function, main, only, spines, table

NORM = "h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)"
SCALED = f"\nreturn {NORM} * weight"
LOST = RMS.replace(" keepdim", "")
ROOT = "r = torch.rsqrt(x.square().mean(-1) + eps)\n"
KEPT = "r = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)\n"


OTHER = " * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * weight"


@pytest.mark.parametrize(
    "body",
    table(
        ("a part of a statistic is another tensor", f"{KEPT}return x * r[0] * weight"),
        ("a repeated input is another tensor", f"h = x.repeat(2, 1)\nreturn x{OTHER}"),
        ("a part of the input is another tensor", f"h = x[0]\nreturn x{OTHER}"),
        ("a transpose by an unknown axis is another tensor", f"h = x.transpose(1, k)\nreturn x{OTHER}"),
        ("a permutation of a number isn't followed", f"h = torch.permute(3.0, (0, 1))\nreturn x{OTHER}"),
        ("a view of a number isn't followed", f"h = torch.reshape(3.0, (1,))\nreturn x{OTHER}"),
        ("a transpose of a number isn't followed", f"h = torch.transpose(3.0, 0, 1)\nreturn x{OTHER}"),
        ("a rearranged number isn't followed", f"h = einops.rearrange(3.0, 'a -> a')\nreturn x{OTHER}"),
        ("a flattened number isn't followed", f"h = torch.flatten(3.0)\nreturn x{OTHER}"),
        ("an axis on nothing isn't followed", f"h = torch.unsqueeze(k, 0)\nreturn x{OTHER}"),
        ("a squeezed unknown isn't followed", f"h = torch.squeeze(k)\nreturn x{OTHER}"),
    ),
)
def test_the_statistic_of_another_tensor_is_silent(body: str) -> None:
    assert spines(function(body)) == []


@pytest.mark.parametrize(
    "body",
    table(
        ("a view to groups and back", f"h = x.view(2, 3, -1, 64)\nh = {NORM}\nreturn h.view(2, 3, -1) * weight"),
        ("a view like the input", f"h = x.view(*x.shape[:-1], -1, 64)\nh = {NORM}\nreturn h.view_as(x) * weight"),
        ("a view by a tuple", f"h = x.view((2, -1))\nh = {NORM}\nreturn h.view((2, 3, -1)) * weight"),
        ("a reshape to rows", f"h = x.reshape(-1, x.shape[-1])\nh = {NORM}\nreturn h.reshape(x.shape) * weight"),
        ("reshape as a function", f"h = torch.reshape(x, (-1, 64))\nh = {NORM}\nreturn h.reshape_as(x) * weight"),
        ("flatten", f"h = x.flatten(0, 1)\nh = {NORM}\nreturn h.reshape_as(x) * weight"),
        ("unflatten", f"h = x.unflatten(-1, (8, 64))\nh = {NORM}\nreturn h.flatten(-2) * weight"),
        ("permute", f"h = x.permute(0, 2, 3, 1)\nh = {NORM} * weight\nreturn h.permute(0, 3, 1, 2)"),
        ("permute as a function", f"h = torch.permute(x, (0, 2, 3, 1)){SCALED}"),
        ("permute by a name", f"h = x.permute(order){SCALED}"),
        ("transpose", f"h = x.transpose(1, 2)\nh = {NORM} * weight\nreturn h.transpose(1, 2)"),
        ("swapaxes", f"h = torch.swapaxes(x, 1, 2)\nh = {NORM} * weight\nreturn torch.swapaxes(h, 1, 2)"),
        ("T", f"h = x.T\nh = {NORM} * weight\nreturn h.T"),
        ("mT", f"h = x.mT\nh = {NORM} * weight\nreturn h.mT"),
        ("movedim", f"h = x.movedim(1, -1){SCALED}"),
        (
            "rearrange that permutes",
            f"h = einops.rearrange(x, 'b c n -> b n c')\nh = {NORM} * weight\n"
            "return einops.rearrange(h, 'b n c -> b c n')",
        ),
        (
            "rearrange to heads",
            f"h = einops.rearrange(x, 'b n (h d) -> b h n d', h=8)\nh = {NORM} * weight\n"
            "return einops.rearrange(h, 'b h n d -> b n (h d)')",
        ),
        ("contiguous and clone", f"h = x.contiguous().clone(){SCALED}"),
        ("squeeze", f"h = x.squeeze(0){SCALED}"),
        ("a new axis in front", f"h = x.unsqueeze(0){SCALED}"),
        ("a new axis by None", f"h = x[None, :]{SCALED}"),
        ("all of it", f"h = x[...]{SCALED}"),
        ("all of each axis", f"h = x[:, :]{SCALED}"),
    ),
)
def test_a_view_is_transparent_to_the_product(body: str) -> None:
    assert spines(function(body)) == [RMS]


@pytest.mark.parametrize(
    ("body", "matches"),
    table(
        ("no view at all", f"h = x{SCALED}", True),
        ("the view that was there before", f"h = x.view(2, -1){SCALED}", True),
        ("a permutation undone", f"h = x.permute(0, 2, 1)\nh = {NORM}\nreturn h.permute(0, 2, 1) * weight", False),
        ("a transposed input beside a plain statistic", f"{KEPT}return x.transpose(1, 2) * r * weight", False),
        (
            "undone before the product",
            f"{KEPT}return x.transpose(1, 2).transpose(1, 2) * r * weight",
            True,
        ),
        (
            "a permutation undone before the product",
            f"{KEPT}return x.permute(0, 2, 3, 1).permute(0, 3, 1, 2) * r * weight",
            True,
        ),
        (
            "another permutation is not undone",
            f"{KEPT}return x.permute(1, 2, 0).permute(1, 2, 0) * r * weight",
            False,
        ),
        ("a transpose is undone by a permutation", f"{KEPT}return x.mT.permute(0, 2, 1) * r * weight", True),
    ),
)
def test_the_layout_of_the_product_is_compared_with_that_of_the_statistic(body: str, matches: bool) -> None:
    assert main(function(body)).layout_matches is matches


@pytest.mark.parametrize(
    ("body", "shown"),
    table(
        ("one row", f"h = x[0]{SCALED}", "index"),
        ("a part of the features", f"h = x[..., :64]{SCALED}", "index"),
        ("an index that is unpacked", f"h = x[*where]{SCALED}", "index"),
        ("a step", f"h = x[::2]{SCALED}", "index"),
        ("a mask", f"h = x[mask]{SCALED}", "index"),
        ("a chunk", f"h, rest = x.chunk(2, dim=-1){SCALED}", "item(chunk"),
        ("a split", f"h = x.split(64, -1)[0]{SCALED}", "index(split"),
        ("rows repeated", f"h = x.repeat(2, 1){SCALED}", "repeat"),
        ("an operation that isn't known", f"h = x.roll(1){SCALED}", "roll"),
        ("a pattern that isn't known", f"h = einops.rearrange(x, pattern){SCALED}", "rearrange"),
        ("a transpose by an axis that isn't known", f"h = x.transpose(1, k){SCALED}", "transpose"),
    ),
)
def test_a_part_is_an_input_of_its_own(body: str, shown: str) -> None:
    (spine,) = spines(function(body))
    assert spine.startswith(f"mean[-1] keepdim | eps → rsqrt → input({shown}")
    assert spine.endswith("→ scale(weight)")


@pytest.mark.parametrize(
    "body",
    table(
        ("a different part", "a = x[0]\nb = x[1]\nreturn a * torch.rsqrt(b.square().mean(-1, keepdim=True) + eps)"),
        (
            "a different chunk",
            "a, b = x.chunk(2, -1)\nreturn a * torch.rsqrt(b.square().mean(-1, keepdim=True) + eps)",
        ),
        (
            "a different slice",
            "a = x[:4]\nb = x[4:]\nreturn a * torch.rsqrt(b.square().mean(-1, keepdim=True) + eps)",
        ),
    ),
)
def test_one_part_is_not_scaled_by_the_statistic_of_another(body: str) -> None:
    assert spines(function(body)) == []


def test_the_same_part_written_twice_is_one_input() -> None:
    text = function("return x[:4] * torch.rsqrt(x[:4].square().mean(-1, keepdim=True) + eps) * weight")
    assert only(text).main.kind == "rms"


@pytest.mark.parametrize(
    ("product", "spine"),
    table(
        ("left as it is", f"{ROOT}return x * r", LOST),
        ("put elsewhere by unsqueeze", "r = torch.rsqrt(x.square().mean(-1).unsqueeze(0) + eps)\nreturn x * r", LOST),
        ("a view without a one at the end", f"{ROOT}return x * r.view(2, 3)", LOST),
        ("unsqueeze", f"{ROOT}return x * r.unsqueeze(-1)", RMS),
        ("unsqueeze by keyword", f"{ROOT}return x * r.unsqueeze(dim=-1)", RMS),
        ("unsqueeze as a function", f"{ROOT}return x * torch.unsqueeze(r, -1)", RMS),
        ("unsqueeze at a place that isn't known", f"{ROOT}return x * r.unsqueeze(k)", RMS),
        ("None at the end", f"{ROOT}return x * r[..., None]", RMS),
        ("None behind a slice", f"{ROOT}return x * r[:, None]", RMS),
        ("None behind two slices", f"{ROOT}return x * r[:, :, None]", RMS),
        ("a view with a one at the end", f"{ROOT}return x * r.view(-1, 1)", RMS),
        ("a reshape with a one at the end", f"{ROOT}return x * r.reshape(*x.shape[:-1], 1)", RMS),
        ("rearrange with a one", f"{ROOT}return x * einops.rearrange(r, 'b n -> b n 1')", RMS),
        ("expanded", f"{KEPT}return x * r.expand_as(x)", RMS),
        ("expanded to a shape", f"{KEPT}return x * r.expand(x.shape)", RMS),
        ("repeated", f"{KEPT}return x * r.repeat(1, 64)", RMS),
        ("transposed with the rest", f"{KEPT}return x * r.transpose(0, 1)", RMS),
    ),
)
def test_an_axis_that_was_lost_can_be_put_back(product: str, spine: str) -> None:
    assert spines(function(f"{product} * weight")) == [spine]


@pytest.mark.parametrize(
    ("body", "shown"),
    table(
        ("an axis from the front without a rank", "return {} * weight", "2"),
        ("a variance of a tensor whose rank is known", "b, n, d = x.shape\nreturn {} * weight", "-1"),
        ("the rank by size", "b, n, d = x.size()\nreturn {} * weight", "-1"),
        ("a star says nothing about the rank", "*b, d = x.shape\nreturn {} * weight", "2"),
        ("a view has the rank of its sizes", "x = x.view(2, 3, 4)\nreturn {} * weight", "-1"),
        ("a permutation has the rank of its axes", "x = x.permute(0, 2, 1)\nreturn {} * weight", "-1"),
    ),
)
def test_a_rank_turns_an_axis_round(body: str, shown: str) -> None:
    text = function(body.format("(x - x.mean(2, keepdim=True)) * torch.rsqrt(x.var(2, False, True) + eps)"))
    assert spines(text) == [f"var[{shown}] keepdim | eps → rsqrt → input(x) → scale(weight)"]


@pytest.mark.parametrize(
    "rank",
    table(("dim()", "x.dim()"), ("ndim", "x.ndim"), ("ndimension()", "x.ndimension()"), ("len", "len(x.shape)")),
)
def test_the_number_of_axes_is_a_number_where_the_rank_is_known(rank: str) -> None:
    axis = f"{rank} - 1, keepdim=True"
    product = f"return (x - x.mean({axis})) * torch.rsqrt(x.var({axis}, unbiased=False) + eps)"
    spine = "var[-1] keepdim | eps → rsqrt → input(x)"
    assert spines(function(product)) == [spine.replace("-1", "?")]
    assert spines(function("b, d = x.shape\n" + product)) == [spine]


@pytest.mark.parametrize(
    ("unpack", "count"),
    table(
        ("the last of three", "b, n, d = x.shape", "d"),
        ("the last of a list", "[b, n, d] = x.shape", "d"),
        ("the last behind a star", "*b, d = x.shape", "d"),
        ("the last behind a star in the middle", "b, *n, d = x.shape", "d"),
        ("the last of the last two", "d = x.shape[-2:][-1]", "d"),
        ("the second of the last two", "d = x.shape[-2:][1]", "d"),
        ("the last of a size", "d = x.size(-1)", "d"),
        ("the last of a torch.Size", "d = torch.Size(x.shape)[-1]", "d"),
        ("the last of a tuple", "d = tuple(x.shape)[-1]", "d"),
    ),
)
def test_the_feature_size_is_found_in_the_shape(unpack: str, count: str) -> None:
    text = function(f"{unpack}\nreturn x * torch.rsqrt(x.square().sum(-1, keepdim=True) / {count} + eps) * weight")
    assert spines(text) == [RMS]
    assert [c.of_features for c in main(text).counts] == [True]
