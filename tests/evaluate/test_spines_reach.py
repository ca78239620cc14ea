"""How far names reach: partial functions, mapped ones, decorators, configurations with a class, known shapes."""

from __future__ import annotations

import textwrap

import pytest

from tests.evaluate.spines import IMPORTS, PLAIN, RMS, ROOT_OF_MEAN, function, main, module, norms, only, spines, table

NORM = ROOT_OF_MEAN
SELF = NORM.replace("eps", "self.eps")
HELPER = (
    f"\nimport functools\nfrom functools import partial\n\n\ndef _n(x, eps, scale=1.0):\n    return {NORM} * scale\n"
)


def of(name: str, text: str) -> list[str]:
    return [n.spine for n in norms(text) if n.qualname == name]


@pytest.mark.parametrize(
    ("call", "spine"),
    table(
        ("a partial of nothing", "partial()(_n)(x, eps)", None),
        ("a map over an unknown list", "map(_n, k)", None),
        ("a map over nothing", "map(_n)", None),
        ("a partial by keyword", "functools.partial(_n, eps=eps)(x)", RMS),
        ("a partial by position", "partial(_n, x)(eps)", RMS),
        ("a partial whose keyword is given again", "partial(_n, eps=k, scale=1.0)(x, eps=eps)", RMS),
        ("a map over a tuple", "tuple(map(lambda t: _n(t, eps), (x, x)))[0]", RMS),
    ),
)
def test_functions_that_make_functions_are_followed(call: str, spine: str | None) -> None:
    found = of("rms_norm", function(f"return {call} * weight", before=HELPER))
    assert found == ([spine] if spine else [])


@pytest.mark.parametrize(
    ("decorators", "square"),
    table(
        ("none", "", "input"),
        ("one that compiles", "@torch.compile\n", "input"),
        ("one with arguments that compiles", "@torch.jit.script_if_tracing()\n", "input"),
        ("one that casts", "@torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)\n", "unknown"),
        ("one of the file", "@wrap\n", "unknown"),
    ),
)
def test_a_decorator_may_change_the_dtype_of_what_comes_in(decorators: str, square: str) -> None:
    before = "\n\ndef wrap(f):\n    return lambda *a: f(*a)\n"
    text = function(f"return {NORM} * weight", before=before).replace("def rms_norm", f"{decorators}def rms_norm")
    assert main(text).statistic.square.value == square


CONFIG = "\n\nclass Config:\n    rms_eps: float = 1e-5\n    name: str = 'norm'\n"


@pytest.mark.parametrize(
    ("annotation", "default"),
    table(
        ("no annotation", "config", None),
        ("a class that isn't there", "config: Other", None),
        ("a class of the file", "config: Config", 1e-5),
    ),
)
def test_the_class_of_a_configuration_knows_its_defaults(annotation: str, default: float | None) -> None:
    init = "self.e = config.rms_eps\nself.weight = nn.Parameter(torch.ones(4))"
    text = module(
        init, f"return {NORM.replace('eps', 'self.e')} * self.weight", parameters=f"{annotation}, eps=1", before=CONFIG
    )
    (eps,) = main(text).eps
    assert (eps.name, eps.default) == ("config.rms_eps", default)


@pytest.mark.parametrize(
    ("default", "value"),
    table(
        ("a number", "1e-6", 1e-6),
        ("a power", "10 ** -6", 1e-6),
        ("a constant of the file", "E", 1e-5),
        ("an attribute of the file", "C.e", 1e-4),
        ("a name that isn't known", "K", None),
        ("None", "None", None),
    ),
)
def test_the_default_of_a_parameter_may_be_an_expression(default: str, value: float | None) -> None:
    before = "\nE = 1e-5\n\n\nclass C:\n    e = 1e-4\n"
    (eps,) = main(module(parameters=f"dim, eps={default}", before=before)).eps
    assert eps.default == (pytest.approx(value) if value is not None else None)


@pytest.mark.parametrize(
    ("count", "of_features"),
    table(
        ("the length of the gain", "self.weight.shape[-1]", True),
        ("the size of the gain", "self.weight.size(0)", True),
        ("the number of gains", "self.weight.numel()", True),
        ("the length it was made with", "self.dim", True),
        ("another number of the constructor", "self.depth", None),
        ("the length of another axis", "x.shape[-2]", False),
    ),
)
def test_a_count_of_the_gain_is_the_feature_size(count: str, of_features: bool | None) -> None:
    init = "self.dim = dim\nself.depth = depth\nself.weight = nn.Parameter(torch.ones(dim))"
    forward = f"return x * torch.rsqrt(x.square().sum(-1, keepdim=True) / {count} + self.eps) * self.weight"
    norm = only(module(init, forward, parameters="dim, depth, eps=1e-6"))
    assert [c.of_features for c in norm.main.counts] == [of_features]


def test_a_parameter_of_a_list_is_a_gain() -> None:
    init = "self.weights = nn.ParameterList([nn.Parameter(torch.ones(dim))])"
    (gain,) = main(module(init, f"return {SELF} * self.weights[0]")).gains
    assert (gain.param.role, gain.param.init) == ("parameter", "ones")


@pytest.mark.parametrize(
    ("product", "tail"),
    table(
        ("a product and its share are one plus the gain", "y + y * weight", " → scale(1 + weight)"),
        ("also the other way round", "y * weight + y", " → scale(1 + weight)"),
        ("a product and another's share are a shift", "y + x * weight", " → shift(x·weight)"),
    ),
)
def test_a_sum_of_products_is_taken_apart(product: str, tail: str) -> None:
    assert spines(function(f"y = {NORM}\nreturn {product}")) == [PLAIN + tail]


@pytest.mark.parametrize(
    ("test", "shown"),
    table(
        ("no test", "True", "1"),
        ("a test of the rank", "x.dim() == 2", "-1"),
        ("a test of ndim", "x.ndim == 2", "-1"),
        ("a test of the length", "len(x.shape) == 2", "-1"),
        ("another rank", "x.dim() == 3", "-2"),
    ),
)
def test_a_test_of_the_rank_turns_an_axis_round(test: str, shown: str) -> None:
    text = function(f"if {test}:\n    return x * torch.rsqrt(x.square().mean(1, True) + eps) * weight\nreturn x")
    assert spines(text) == [RMS.replace("-1", shown)]


def test_a_row_under_vmap_is_a_vector() -> None:
    row = f"{IMPORTS}\n\ndef rms_norm(x):\n    return x * torch.rsqrt(x.square().mean() + 1e-6)\n"
    assert only(row).main.over_everything
    assert not only(f"{row}\n\nf = torch.vmap(rms_norm)\n").main.over_everything


def test_a_copy_is_no_alias() -> None:
    body = "h = x.to(torch.float32{})\nh.mul_(torch.rsqrt(h.square().mean(-1, True) + eps))\nreturn h * weight"
    assert [n.detail for n in main(function(body.format(""))).notes] == ["x"]
    assert main(function(body.format(", copy=True"))).notes == ()


def test_a_pooled_vector_is_an_input_like_another() -> None:
    norm = only(function(f"x = x.mean(1)\nreturn {NORM} * weight"))
    assert (norm.kind, norm.spine.partition("input")[0]) == ("rms", "mean[-1] keepdim | eps → rsqrt → ")


@pytest.mark.parametrize(
    "body",
    table(
        ("where a fused kernel gives nothing", f"y = fused(x, weight)\nif y is not None:\n    return y\nreturn {NORM}"),
        ("where it gives None", f"y = fused(x, weight)\nif y is None:\n    y = {NORM}\nreturn y"),
        ("in its else", f"y = fused(x)\nif y is not None:\n    return y\nelse:\n    return {NORM}"),
        ("by a method of another object", f"y = kernels.norm(x)\nif y is not None:\n    return y\nreturn {NORM}"),
    ),
)
def test_what_a_call_outside_the_text_gives_may_be_none(body: str) -> None:
    text = function(body, before="\nfrom fast import fused, kernels\n")
    assert PLAIN in [norm.spine for norm in norms(text)]


@pytest.mark.parametrize(
    ("parameters", "eps", "weight"),
    table(
        ("a layer", "norm, x", "norm.eps", "norm.weight"),
        ("a layer with other names", "x, layernorm", "layernorm.variance_epsilon", "layernorm.gamma"),
        ("a layer whose weight is cast", "layer, x", "layer.epsilon", "layer.weight.float()"),
    ),
)
def test_a_module_that_is_passed_has_its_eps_and_its_gain(parameters: str, eps: str, weight: str) -> None:
    body = f"return {NORM.replace('eps', eps)} * {weight}"
    (norm,) = norms(function(body, parameters))
    assert norm.spine.startswith("mean[-1] keepdim | eps → rsqrt → input(x) → scale(")
    assert not norm.main.eps[0].value


def test_a_unit_vector_that_something_is_projected_on_is_still_a_norm() -> None:
    text = """
        def exclusive(attended, values, alpha):
            values = values[:, :, None, :, :].expand(2, 4, 3, 5, values.shape[-1]).flatten(1, 2)
            unit = F.normalize(values.float(), dim=-1).to(attended.dtype)
            return attended - alpha * (attended * unit).sum(-1, keepdim=True) * unit
    """
    assert [n.kind for n in norms("import torch.nn.functional as F\n" + textwrap.dedent(text))] == ["l2"]


@pytest.mark.parametrize(
    ("averaged", "steps"),
    table(
        ("a method gives the mean", "v = world().all_reduce(v, op=AVERAGE)", "unknown"),
        ("the sum is divided by how many there are", "world.all_reduce(v)\nv = v / world.size()", "unknown"),
        ("both", "v = world().all_reduce(v) / world().size()", "unknown → unknown"),
    ),
)
def test_a_statistic_that_processes_average_is_still_one_where_a_kernel_may_work_it_out(
    averaged: str, steps: str
) -> None:
    body = f"""if FAST:
    v = kernel(x)
else:
    v = x.square().mean(-1, keepdim=True)
{averaged}
return x * torch.rsqrt(v + eps) * weight"""
    text = function(body, before="\nfrom fast import kernel, world, AVERAGE, FAST\n")
    assert spines(text) == [RMS.replace("eps", f"{steps} → eps", 1)]
