"""Functions, closures, comprehensions, names of the file, and loose statements."""

from __future__ import annotations

import pytest

from tests.evaluate.spines import IMPORTS, PLAIN, RMS, ROOT_OF_MEAN, function, main, norms, only, spines, table

NORM = ROOT_OF_MEAN
HELPER = f"\n\ndef _n(x, eps):\n    return {NORM}\n"


def of(name: str, text: str, *, snippet: bool = False) -> list[str]:
    """The spines that are told of one function."""
    return [n.spine for n in norms(text, snippet=snippet) if n.qualname == name]


@pytest.mark.parametrize(
    ("call", "before"),
    table(
        ("a function that isn't there", "_n(x, eps)", ""),
        ("a function of another module", "_n(x, eps)", "\nfrom other import _n\n"),
        ("a function that calls itself only", "_n(x, eps)", "\n\ndef _n(x, eps):\n    return _n(x, eps)\n"),
        ("a function that gives nothing", "_n(x, eps)", f"\n\ndef _n(x, eps):\n    y = {NORM}\n"),
        ("a call of a string", "'n'(x, eps)", HELPER),
        ("a call of a number", "3(x, eps)", HELPER),
        ("a call of a tuple", "(_n,)(x, eps)", HELPER),
        ("a checkpoint of nothing", "checkpoint()", f"\nfrom torch.utils.checkpoint import checkpoint\n{HELPER}"),
    ),
)
def test_a_call_that_cannot_be_followed_is_silent(call: str, before: str) -> None:
    assert of("rms_norm", function(f"return {call} * weight", before=before)) == []


@pytest.mark.parametrize(
    ("call", "helper"),
    table(
        ("by position", "_n(x, eps)", "def _n(x, eps):"),
        ("by keyword", "_n(eps=eps, x=x)", "def _n(x, eps):"),
        ("with a default", "_n(x)", "def _n(x, eps=1e-5):"),
        ("with a default of the file", "_n(x)", "E = 1e-5\ndef _n(x, eps=E):"),
        ("with arguments unpacked", "_n(*(x, eps))", "def _n(x, eps):"),
        ("with keywords unpacked", "_n(x, **kw)", "def _n(x, eps=1e-6):"),
        ("into a star", "_n(x, eps)", "def _n(*args):\n    x, eps = args"),
        ("into the rest", "_n(x, eps)", "def _n(x, *args):\n    eps = args[0]"),
        ("into a star with a star", "_n(x, eps)", "def _n(*args):\n    x, *rest = args\n    eps = rest[-1]"),
        ("beside keywords", "_n(x, eps, y=1)", "def _n(x, eps, **kw):"),
        ("by keyword only", "_n(x, eps=eps)", "def _n(x, *, eps=1e-6):"),
        ("by keyword only behind a star", "_n(x, 1, eps=eps)", "def _n(x, *rest, eps=1e-6):"),
        ("by position only", "_n(x, eps)", "def _n(x, eps, /):"),
        (
            "through a checkpoint",
            "torch.utils.checkpoint.checkpoint(_n, x, eps, use_reentrant=False)",
            "def _n(x, eps):",
        ),
        ("through typing.cast", "typing.cast('Tensor', _n(x, eps))", "import typing\ndef _n(x, eps):"),
        ("of an async function", "_n(x, eps)", "async def _n(x, eps):"),
        ("of a decorated function", "_n(x, eps)", "@torch.jit.script\ndef _n(x, eps):"),
    ),
)
def test_a_function_of_the_file_is_followed(call: str, helper: str) -> None:
    text = function(f"return {call} * weight", before=f"\n\n{helper}\n    return {NORM}\n")
    assert of("rms_norm", text) == [RMS]


@pytest.mark.parametrize(
    "body",
    table(
        ("a nested function", f"def inner(x):\n    return {NORM}\nreturn inner(x) * weight"),
        ("a nested function with a default", f"def inner(x, eps=eps):\n    return {NORM}\nreturn inner(x) * weight"),
        ("a lambda", f"n = lambda x: {NORM}\nreturn n(x) * weight"),
        ("a lambda with a default", f"n = lambda x, eps=1e-6: {NORM}\nreturn n(x) * weight"),
        (
            "a lambda with a star",
            "n = lambda *a: a[0] * torch.rsqrt(a[0].square().mean(-1, True) + eps)\nreturn n(x) * weight",
        ),
        ("a function by another name", f"def inner(x):\n    return {NORM}\nother = inner\nreturn other(x) * weight"),
        ("a function in a tuple", f"def inner(x):\n    return {NORM}\nreturn (inner,)[0](x) * weight"),
        (
            "an operation by another name",
            "mean = torch.mean\nreturn x * torch.rsqrt(mean(x * x, -1, True) + eps) * weight",
        ),
        (
            "a method by another name",
            "s = x.square()\nmean = s.mean\nreturn x * torch.rsqrt(mean(-1, True) + eps) * weight",
        ),
    ),
)
def test_a_function_in_a_function_is_followed(body: str) -> None:
    assert of("rms_norm", function(body)) == [RMS]


def test_a_function_that_is_given_away_is_a_norm_of_its_own() -> None:
    text = function(f"def inner(x):\n    return {NORM}\nreturn inner", "eps=1e-6", name="make_rms_norm")
    assert of("make_rms_norm.inner", text) == [PLAIN]


def test_a_method_that_is_given_away_is_a_norm_of_its_own() -> None:
    inner = f"def forward(self, x):\n    return {NORM.replace('eps', 'self.eps')} * self.weight\nreturn forward"
    assert of("make_rms_norm.forward", function(inner, "", name="make_rms_norm")) == [RMS]


def test_functions_are_followed_only_so_deep() -> None:
    chain = "".join(f"def f{i}(x, eps):\n    return f{i + 1}(x, eps)\n" for i in range(9))
    text = function("return f0(x, eps) * weight", before=f"\n\n{chain}def f9(x, eps):\n    return {NORM}\n")
    assert of("rms_norm", text) == []
    assert of("f9", text) == [PLAIN]


def test_a_function_that_calls_itself_is_followed_once() -> None:
    assert spines(function(f"if eps:\n    return rms_norm(x, weight, 0) + 1\nreturn {NORM} * weight")) == [RMS]


@pytest.mark.parametrize(
    ("body", "shown"),
    table(
        ("rows of a tensor", f"return [{NORM.replace('x', 'h')} for h in x]", "item(x, 0)"),
        ("rows of a tensor in a set", f"return {{{NORM.replace('x', 'h')} for h in x}}", "item(x, 0)"),
        ("rows of a tensor in a generator", f"return list({NORM.replace('x', 'h')} for h in x)", "item(x, 0)"),
    ),
)
def test_a_comprehension_over_a_tensor_is_followed_row_by_row(body: str, shown: str) -> None:
    (spine,) = spines(function(body.replace("mehan", "mean")))
    assert spine.startswith(f"mean[-1] keepdim | eps → rsqrt → input({shown}")


@pytest.mark.parametrize(
    "before",
    table(
        ("a number", "EPS = 1e-6"),
        ("an annotated number", "EPS: float = 1e-6"),
        ("a number by a number", "BASE = 1e-6\nEPS = BASE / 10"),
        ("the last of two", "EPS = 'eps'\nEPS = 1e-6"),
        ("a number by a function", "def get():\n    return 1e-6\n\n\nEPS = get()"),
    ),
)
def test_a_constant_of_the_file_is_a_number(before: str) -> None:
    text = function(f"return {NORM.replace('eps', 'EPS')} * weight", before=f"\n{before}\n")
    assert spines(text) == [RMS]
    assert main(text).eps[0].value is not None


def test_a_constant_may_stand_behind_the_function() -> None:
    assert spines(function(f"return {NORM.replace('eps', 'EPS')} * weight") + "\n\nEPS = 1e-6\n") == [RMS]


def test_a_constant_that_needs_itself_is_not_known() -> None:
    text = function(f"return {NORM.replace('eps', 'EPS')} * weight", before="\nEPS = OTHER\nOTHER = EPS\n")
    assert [e.value for e in main(text).eps] == [None]


@pytest.mark.parametrize(
    ("imports", "body"),
    table(
        ("import torch", "import torch", "torch.rsqrt(torch.mean(x * x, -1, True) + eps)"),
        ("import torch as t", "import torch as t", "t.rsqrt(t.mean(x * x, -1, True) + eps)"),
        ("names of torch", "from torch import rsqrt, mean", "rsqrt(mean(x * x, -1, True) + eps)"),
        ("a name by another name", "from torch import rsqrt, mean, square as s", "rsqrt(mean(s(x), -1, True) + eps)"),
        ("an import behind a test", "if True:\n    import torch as t", "t.rsqrt(t.mean(x * x, -1, True) + eps)"),
        (
            "an import behind a try",
            "try:\n    import torch as t\nexcept ImportError:\n    t = None",
            "t.rsqrt(t.mean(x * x, -1, True) + eps)",
        ),
        ("torch unimported", "", "torch.rsqrt(torch.mean(x * x, -1, True) + eps)"),
        ("a part of a path", "import torch.linalg", "torch.rsqrt(torch.mean(x * x, -1, True) + eps)"),
        (
            "a part of a path by another name",
            "import torch.linalg as la",
            "la.vector_norm(x, 2, -1, True).pow(-1) * x.shape[-1] ** 0.5",
        ),
        ("einops by a name", "from einops import reduce", "torch.rsqrt(reduce(x * x, 'n d -> n 1', 'mean') + eps)"),
    ),
)
def test_an_import_says_what_a_name_means(imports: str, body: str) -> None:
    (norm,) = norms(f"{imports}\n\n\ndef rms_norm(x, weight, eps):\n    return x * {body} * weight\n")
    assert norm.kind == "rms"
    assert norm.spine.startswith("mean[-1] keepdim |")


def test_a_relative_import_is_no_operation() -> None:
    text = f"from .torch import rsqrt\n{function(f'return {NORM} * weight').replace('torch.rsqrt', 'rsqrt')}"
    assert spines(text) == [RMS.replace("rsqrt", "unknown")]


@pytest.mark.parametrize(
    ("statements", "snippet", "expected"),
    table(
        ("a file of unknown names is not followed", "y = x * torch.rsqrt(x.square().mean(-1, True) + eps)", False, []),
        ("a snippet is", "y = x * torch.rsqrt(x.square().mean(-1, True) + eps)", True, [PLAIN]),
        ("its sizes are counts", "y = x * torch.rsqrt(x.square().sum(-1, True) / dim + eps)", True, [PLAIN]),
        ("it may name self", "y = x * torch.rsqrt(x.square().mean(-1, True) + self.eps) * self.weight", True, [RMS]),
        (
            "its functions are followed",
            "def root(s):\n    return torch.rsqrt(s + eps)\ny = x * root(x.square().mean(-1, True))",
            True,
            [PLAIN],
        ),
    ),
)
def test_loose_statements_are_read_where_their_names_are_known(
    statements: str, snippet: bool, expected: list[str]
) -> None:
    assert spines(f"import torch\n{statements}\n", snippet=snippet) == expected


@pytest.mark.parametrize(
    ("statements", "snippet"),
    table(
        ("made by torch", "x = torch.randn(2, 8)\ns = x.square().mean(-1, True)\ny = x * torch.rsqrt(s + 1e-6)", False),
        ("in a loop", "for h in x:\n    s = h.square().mean(-1, True)\n    y = h * torch.rsqrt(s + eps)", True),
    ),
)
def test_loose_statements_belong_together(statements: str, snippet: bool) -> None:
    (spine,) = spines(f"import torch\n{statements}\n", snippet=snippet)
    assert spine.startswith("mean[-1] keepdim | eps → rsqrt → input(")


def test_a_method_without_its_class_is_read_by_the_names_of_its_attributes() -> None:
    text = f"{IMPORTS}\n\ndef forward(self, x):\n    return {NORM.replace('eps', 'self.eps')} * self.gamma\n"
    assert spines(text) == [RMS.replace("weight", "gamma")]


def test_a_path_that_is_too_long_is_given_up() -> None:
    assert spines(function("y = x\n" * 30000 + f"return {NORM} * weight")) == []


def test_paths_are_tried_only_so_many() -> None:
    tests = "".join(f"if f{i}:\n    x = x * 2.0\n" for i in range(12))
    text = function(f"{tests}return {NORM} * weight", "x, weight, eps, " + ", ".join(f"f{i}" for i in range(12)))
    assert 0 < len(only(text).computations) <= 32
