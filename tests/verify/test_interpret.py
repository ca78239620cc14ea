"""A text is judged in this process: interpreted, and never executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from normlint.api import verify_source
from normlint.rules import analyse
from normlint.text.verdict import INTERNAL, MATCH, SKIPPED, WRONG, Verdict
from normlint.verify.job import Meaning
from tests.verify.judging import judge_text

NORM = """
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
"""
GLOBAL = """
import torch
from torch import nn

class GlobalLayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(dim, 1)), nn.Parameter(torch.zeros(dim, 1))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        c = h - h.mean((1, 2), keepdim=True)
        return (self.gain * c / torch.sqrt(c.pow(2).mean((1, 2), keepdim=True) + self.eps) + self.shift).to(x.dtype)
"""
MEANT = Meaning("rms", gain="weight")
# name: (text, qualified name, what it is held to, status, words of the reason)
CASES = {
    "a sound norm matches": (NORM, "Norm.forward", None, MATCH, ""),
    "a factor that can't be worked out is not passed over, however often it is asked for": (
        NORM.replace("* self.weight", "* self.weight * SCALE") + "\nSCALE = 2.0\nSCALE /= float('{}'.format(2))\n",
        "Norm.forward", None, SKIPPED, "str.format"),
    "what is missing is named": (
        NORM.replace("+ self.eps", "+ self.eps + offset"), "Norm.forward", None, SKIPPED, "offset"),
    "what torch says of dtypes is asked": (
        NORM.replace("x.float()", "x.to(get_computation_dtype(x.dtype))")
        .replace("import torch\n", "import torch\nfrom torch._prims_common import get_computation_dtype\n", 1),
        "Norm.forward", None, MATCH, ""),
    "a global layer norm is one of channels and frames": (GLOBAL, "GlobalLayerNorm.forward", None, MATCH, ""),
    "a global layer norm has an eps that is right": (
        GLOBAL.replace("1e-8", "0.0"), "GlobalLayerNorm.forward", None, WRONG, ""),
    "a global layer norm of channels alone isn't compared": (
        GLOBAL.replace("(1, 2)", "1"), "GlobalLayerNorm.forward", None, SKIPPED, "over which frames"),
    "a cumulative layer norm isn't compared": (
        GLOBAL.replace("Global", "Cumulative"),
        "CumulativeLayerNorm.forward", None, SKIPPED, "over which frames"),
    "a function that casts what its inner function gets is run in fp16, too": (
        "import torch\n\n\ndef rms_norm(x, eps=1e-6):\n    def _norm(y):\n"
        "        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)\n    return _norm(x.float())\n",
        "rms_norm", None, WRONG, "fp16 input: output is fp32"),
    "torch's own Python is read where the tables hold nothing of it": (
        NORM.replace("x.float()", "wrappers._maybe_convert_to_dtype(x, torch.float32)")
        .replace("import torch\n", "import torch\nimport torch._prims_common.wrappers as wrappers\n", 1),
        "Norm.forward", None, MATCH, ""),
    "torch doesn't trace, in whichever of its files that is asked": (
        NORM.replace("x.float()", "x if _symbolic_trace.is_fx_symbolic_tracing() else x.float()")
        .replace("import torch\n", "import torch\nfrom torch.fx import _symbolic_trace\n", 1),
        "Norm.forward", None, MATCH, ""),
    "a base that says how it is deleted and pickled": (
        NORM.replace("class Norm(nn.Module)", "class Norm(Base)").replace("class Norm", "class Base(nn.Module):\n"
        "    def __del__(self):\n        pass\n\n    def __setstate__(self, state):\n        pass\n\nclass Norm", 1),
        "Norm.forward", None, MATCH, ""),
    "no package is found that the tables don't hold": (
        NORM.replace("x.float()", "x.float() if find_spec('deepspeed') is None else x")
        .replace("import torch\n", "import torch\nfrom importlib.util import find_spec\n", 1),
        "Norm.forward", None, MATCH, ""),
    "no logger writes": (
        NORM.replace("        h = x.float()", "        if logger.isEnabledFor(logging.DEBUG):\n"
        "            logger.debug(x.shape)\n        h = x.float()")
        .replace("class Norm", "import logging\n\nlogger = logging.getLogger(__name__)\n\nclass Norm", 1),
        "Norm.forward", None, MATCH, ""),
    "a setting of torch's backends is read": (
        NORM.replace("x.float()", "x.float() if torch.backends.cudnn.enabled in (True, False) else x"),
        "Norm.forward", None, MATCH, ""),
    "a subclass of torch's that sets its own eps is held to that": (
        "from torch import nn\n\n\nclass Norm(nn.LayerNorm):\n    def __init__(self, *args, **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n        self.eps = 1e-9\n\n    def forward(self, x):\n"
        "        shape, w, b = self.normalized_shape, self.weight.float(), self.bias.float()\n"
        "        return nn.functional.layer_norm(x.float(), shape, w, b, self.eps).type_as(x)\n",
        "Norm.forward", None, MATCH, ""),
    "the path of the reference is run, in whichever mode that is": (
        "import torch\nfrom torch import nn\n\n\nclass LayerNorm(nn.Module):\n"
        "    def __init__(self, dim, eps=1e-6, order='channels_first'):\n        super().__init__()\n"
        "        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))\n"
        "        self.dim, self.eps, self.order = (dim,), eps, order\n\n    def forward(self, x):\n"
        "        if self.order == 'channels_last':\n"
        "            return nn.functional.layer_norm(x, self.dim, self.weight, self.bias, self.eps)\n"
        "        elif self.order == 'channels_first':\n            h = x.float()\n"
        "            u = h.mean(1, keepdim=True)\n            s = (h - u).pow(2).sum(1, keepdim=True)\n"
        "            h = ((h - u) / torch.sqrt(s + self.eps)).to(x.dtype)\n"
        "            return self.weight[:, None, None] * h + self.bias[:, None, None]\n",
        "LayerNorm.forward", None, WRONG, ""),
    "a parameter that `dim` gets is the reduced axes, whatever its name": (
        "import torch\n\n\ndef rms_norm(x, over: list[int], eps=1e-6):\n    h = x.float()\n"
        "    return (h * torch.rsqrt(h.pow(2).mean(dim=over, keepdim=True) + eps)).type_as(x)\n",
        "rms_norm", None, MATCH, ""),
    "an inverted scale is wrong": (NORM.replace("torch.rsqrt", "torch.sqrt"), "Norm.forward", None, WRONG, ""),
    "a norm that is none any more is held to what was meant": (
        NORM.replace("h.pow(2).mean(-1, keepdim=True)", "h.amax(-1, True) ** 2"),
        "Norm.forward",
        MEANT,
        WRONG, ""),
    "printing once, or for halves alone, is no printing at every call": (
        NORM.replace("self.eps = eps", "self.eps = eps; self.told = False").replace("        h = x", (
            "        if not self.told:\n            self.told = True; print(x.shape)\n"
            "        if x.dtype == torch.float16: print('a half')\n        h = x")),
        "Norm.forward", None, MATCH, ""),
    "a gain that is a buffer of the root of the width is moved, and need not be saved": (
        NORM.replace("self.eps = eps", "self.eps = eps; root = torch.tensor(dim**0.5); "
                     "self.register_buffer('root', root, persistent=False)")
        .replace(".mean(-1, keepdim=True)", ".sum(-1, keepdim=True)").replace("dtype) *", "dtype) * self.root *"),
        "Norm.forward", None, MATCH, ""),
    "a gain that a flag turns off, and no flag turns on, is never applied": (
        NORM.replace("eps=1e-6", "eps=1e-6, affine=True").replace(
            "        self.weight = nn.Param", "        if affine:\n            self.weight = nn.Param"
        ).replace("return (h", "h = (h").replace(".to(x.dtype) * self.weight", ".to(x.dtype)")
        + "        if hasattr(self, 'scale'):\n            h = h * self.weight\n        return h\n",
        "Norm.forward", None, WRONG, "the gain is not applied"),
    "a class that isn't called a norm is run where it gives back nothing else": (
        NORM.replace("Norm(", "Stage(").replace("self.weight\n", "self.weight.exp()\n").replace("ones", "zeros"),
        "Stage.forward", None, MATCH, ""),
    "a bias without a gradient is seen": (
        NORM.replace("self.weight = ", "self.bias = nn.Parameter(torch.zeros(dim)); self.weight = ")
        .replace("* self.weight\n", "* self.weight + self.bias.detach()\n"),
        "Norm.forward", None, WRONG, "the shift gets no gradient"),
    "a width that is called `dim` and only multiplied with is no axis": (
        "import torch.nn.functional as F\n\ndef rms_norm(x, dim: int):\n"
        "    return F.normalize(x, dim=-1) * dim ** -0.5\n", "rms_norm", None, WRONG, "D times too small"),
    "a backward that reads what was saved by its old name": (
        "import torch\n\nclass RMSNorm(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x, weight, eps):\n"
        "        r = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)\n"
        "        ctx.save_for_backward(x, r, weight)\n        return (x.float() * r).to(x.dtype) * weight\n\n"
        "    @staticmethod\n    def backward(ctx, dy):\n        x, r, weight = ctx.saved_variables\n"
        "        n, d = x.float() * r, dy.float() * weight.float()\n"
        "        dx = r * (d - n * (d * n).sum(-1, keepdim=True))\n"
        "        return dx.to(x.dtype), (dy * n).reshape(-1, x.shape[-1]).sum(0), None\n",
        "RMSNorm.forward", None, WRONG, "gradient"),
    "printing at every call is seen, and nothing printed": (
        NORM.replace("h = x", "print(x); h = x"), "Norm.forward", None, WRONG, "prints at every call"),
    "torch's own in its place is held to what was meant": (
        NORM.replace("(h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight",
                     "nn.functional.rms_norm(x, (x.shape[-1],), self.weight, self.eps)"),
        "Norm.forward", MEANT, MATCH, ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "meant", "status", "words"), CASES.values(), ids=CASES)
def test_the_verdict_on_a_text(
    text: str, name: str, meant: Meaning | None, status: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = judge_text(text, name, meant=meant)
    assert verdict.status == status, verdict.reason
    assert words in verdict.reason
    assert capsys.readouterr().out == ""


def test_gradients_that_a_text_switches_off_are_on_again() -> None:
    import torch

    judge_text(NORM.replace("self.eps = eps", "self.eps = torch.set_grad_enabled(False) or eps"), "Norm.forward")
    assert torch.is_grad_enabled()


def test_nothing_of_the_text_is_executed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    head = f"import os\nos.mkdir({str(trace)!r})\nopen({str(trace)!r} + '2', 'w')\n"
    assert judge_text(head + NORM, "Norm.forward").status == MATCH
    opening = judge_text(NORM.replace("h = x", f"open({str(trace)!r}, 'w'); h = x"), "Norm.forward")
    assert "open()" in opening.reason
    assert list(tmp_path.iterdir()) == []


UNIT = """
import torch

def {name}(v):
    v {operator} v.norm(dim=-1, keepdim=True)
    return v
"""
DOUBLED = NORM.replace("self.weight\n", "self.weight * 2\n")
UNJUDGED = {
    "a unit vector without a norm's name promises nothing": (
        UNIT.format(name="project", operator="/="), "project", "", "a name or a gain that promises a norm"),
    "test code has norms that are wrong on purpose": (
        DOUBLED, "Norm.forward", "/a/test_norms.py", "a norm outside of tests"),
    "a method that always raises may want another input": (
        NORM.replace("h = x.float()", "h = x.float().reshape(3, 7)"), "Norm.forward", "", "invalid for input of size"),
    "what takes images alone isn't told to fail on tokens": (
        NORM.replace("h = x.float()", "b, c, t, z, y = x.shape; h = x.float()"), "Norm.forward", "", ""),
    "an activation that follows on some paths is no part of the norm": (
        NORM.replace("(self, dim, eps=1e-6)", "(self, dim, eps=1e-6, act=True)")
        .replace("self.eps = eps", "self.eps = eps; self.act = nn.ReLU() if act else nn.Identity()")
        .replace("return (h", "y = (h").replace("self.weight\n", "self.weight\n        return self.act(y)\n"),
        "Norm.forward", "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "path", "needs"), UNJUDGED.values(), ids=UNJUDGED)
def test_nobody_is_called_wrong_for_what_was_not_promised(text: str, name: str, path: str, needs: str) -> None:
    verdict = judge_text(text, name, path=path)
    assert verdict.status in (MATCH, SKIPPED), verdict.reason
    assert needs in verdict.reason


GROUPED = NORM.replace("self.eps = eps", "self.eps = eps; self.g = 4").replace(
    "h = x.float()", "h = x.float().view(*x.shape[:-1], self.g, -1)"
).replace("+ self.eps)).to(x.dtype)", "+ self.eps)).view(x.shape).to(x.dtype)")  # fmt: skip
FIXED = NORM.replace("h.pow(2).mean(-1, keepdim=True)", "h.pow(2).sum(-1, keepdim=True) / 64")
SIZED = {
    "the width stands in the text": FIXED,
    "the width stands in the text, and for the gain": FIXED.replace("torch.ones(dim)", "torch.ones(64)"),
    "the width has a name": FIXED.replace("64", "WIDTH") + "\nWIDTH = 64\n",
    "a function's width stands in the text": """
import torch

def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / 64 + eps)).to(x.dtype) * weight
""",
    "a base class takes further arguments": """
import torch.nn.functional as F
from torch import nn

class Norm(nn.LayerNorm):
    def __init__(self, birch, eps=1e-6, **more):
        super().__init__(birch, eps=eps, **more)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x.float(), self.normalized_shape, self.weight, self.bias, self.eps).to(x.dtype)
        return x.permute(0, 3, 1, 2)
""",
}  # fmt: skip


@pytest.mark.parametrize("text", SIZED.values(), ids=SIZED)
def test_sizes_are_what_the_text_says(text: str) -> None:
    (name,) = {norm.qualname for norm in analyse(text).norms}
    verdict = judge_text(text, name)
    assert verdict.status == MATCH, verdict.reason


def test_a_wrong_norm_of_a_width_in_the_text_is_wrong() -> None:
    assert judge_text(FIXED.replace("rsqrt", "sqrt"), "Norm.forward").status == WRONG


def test_groups_that_cannot_be_known_are_not_called_wrong() -> None:
    text = GROUPED.replace("self.g = 4", "self.g = 4; self.weight = nn.Parameter(torch.ones(1, dim, 1))")
    assert judge_text(text, "Norm.forward").status != WRONG


EITHER = """
import torch
import torch.nn.functional as F

def _fwd(x, weight, eps, rms=False):
    if rms:
        rstd = 1 / torch.sqrt(x.float().square().mean(dim=-1, keepdim=True) + eps)
        return (x * rstd).to(x.dtype) * weight
    return F.layer_norm(x, x.shape[-1:], weight=weight, eps=eps)

def rms_norm_forward(x, weight, eps=1e-6, rms=True):
    return _fwd(x.contiguous(), weight.contiguous(), eps, rms=rms)
"""


def test_a_function_that_is_either_of_two_norms_is_held_to_neither() -> None:
    assert {verdict.status for verdict in verify_source(EITHER)} == {MATCH, SKIPPED}


def test_a_unit_vector_that_claims_to_be_one_is_judged() -> None:
    assert judge_text(UNIT.format(name="l2_norm", operator="/="), "l2_norm").status == WRONG
    assert judge_text(DOUBLED, "Norm.forward").status == WRONG


RAISING = """
class Odd(Exception):
    pass

""" + NORM.replace("h = x", "if self.eps: raise Odd('of its own')\n        h = x")


def test_an_exception_of_the_text_is_what_the_norm_needs() -> None:
    assert "needs a norm that can be built (Odd: of its own)" in judge_text(RAISING, "Norm.forward").reason


def test_an_exception_of_ours_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normlint.verify.bench.judge._settled", None)
    found = judge_text(NORM, "Norm.forward")
    assert found.status == SKIPPED
    assert found.reason.startswith(f"{INTERNAL}: TypeError: 'NoneType' object is not callable in judge, line ")


def test_an_internal_error_is_reported_and_ends_nothing(tmp_path: Path) -> None:
    from normlint.engine.run import check_all
    from normlint.engine.selection import Demand
    from normlint.faces.verifying import preparing, verified

    (tmp_path / "a.py").write_text(NORM)
    (report,) = check_all([(str(tmp_path / "a.py"), preparing(Demand()))], 1)
    (note,) = verified(report, [(0, Verdict(SKIPPED, f"{INTERNAL}: KeyError"))], "2").notes
    assert (note.line, note.message, note.internal) == (13, f"Norm.forward: {INTERNAL}: KeyError", True)


ODD = NORM.replace("Norm(", "RMSNorm(")
DEFAULT = """
import torch
from torch.nn import functional as F

def rms_norm_ref(x, birch, cedar, dune=None, eps=1e-6, elm=None):
    dtype = x.dtype
    x = x.float()
    if elm is None:
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * birch
    else:
        y = x.view(*x.shape[:-1], elm, -1)
        y = (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)).view(x.shape) * birch
    y = y + cedar if cedar is not None else y
    y = y * F.silu(dune) if dune is not None else y
    return y.to(dtype)
"""
MODES = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, elm="whole"):
        super().__init__()
        self.eps, self.elm = eps, elm
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if self.elm == "whole":
            return torch.sigmoid(x) * self.weight
        if self.elm == "each":
            h = x.float()
            h = h - torch.mean(h, -1, True)
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight
        raise ValueError(self.elm)
"""
GIVEN = {
    "a mode is that of the path to the norm": MODES,
    "an argument whose attributes are read is a configuration": ODD.replace("(self, dim, eps", "(self, oak, eps")
    .replace("torch.ones(dim)", "torch.ones(oak.width)").replace("self.eps = eps", "self.eps = eps; self.oak = oak"),
    "an argument that is only asked for is a flag": ODD.replace("(self, dim, eps", "(self, dim, oak, eps").replace(
        "self.eps = eps", "self.eps = eps; self.more = nn.Parameter(torch.ones(1)) if oak else None"),
    "an argument that has a length is a shape": """
import torch

def rms_norm(x, oak, eps=1e-6):
    dims = [-1 - i for i in range(len(oak))]
    h = x.float()
    return (h * torch.rsqrt(h.square().mean(dims, keepdim=True) + eps)).to(x.dtype)
""",
    "what is None by default is left out": DEFAULT,
}  # fmt: skip


@pytest.mark.parametrize("text", GIVEN.values(), ids=GIVEN)
def test_arguments_are_what_their_use_says(text: str) -> None:
    (name,) = {norm.qualname for norm in analyse(text).norms}
    right = judge_text(text, name)
    assert (right.status, right.reason) == (MATCH, "")
    for broken in (text.replace("torch.rsqrt(", "torch.sqrt("), text.replace("keepdim=True)", "keepdim=True) * 2")):
        assert judge_text(broken, name).status == WRONG


GUESSED = {
    "an argument that a parameter is as long as is a size": ODD.replace("(self, dim, eps", "(self, elm, oak, eps")
    .replace("torch.ones(dim)", "torch.ones(oak)").replace("self.eps = eps", "self.eps = eps; self.elm = elm"),
    "of several paths the plain one is run": ODD.replace("(self, x)", "(self, x, oak)").replace(
        "self.eps = eps", "self.eps = eps; self.elm = nn.Linear(dim, dim)").replace(
        "return (h", "if oak is not None:\n            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True)"
        " + self.eps)).to(x.dtype) * (1 + self.elm(oak))\n        return (h"),
}  # fmt: skip


@pytest.mark.parametrize("text", GUESSED.values(), ids=GUESSED)
def test_an_argument_that_was_guessed_speaks_for_a_norm_and_never_against_it(text: str) -> None:
    (name,) = {norm.qualname for norm in analyse(text).norms}
    assert judge_text(text, name).status == MATCH
    assert judge_text(text.replace("torch.rsqrt(", "torch.sqrt("), name).status == SKIPPED


WRITTEN_OUT = (
    ODD.replace("torch.ones(dim)", "torch.ones(dim)); self.shape = (dim,")
    .replace("h = x.float()", "h = x.float(); dims = [-1 - i for i in range(len(self.shape))]")
    .replace("(-1, keep", "(dims, keep")
)


def test_axes_that_are_computed_are_confirmed_by_an_input_whose_axes_differ() -> None:
    assert judge_text(WRITTEN_OUT, "RMSNorm.forward").status == MATCH
    assert judge_text(WRITTEN_OUT.replace("+ self.eps", "+ 1e-4"), "RMSNorm.forward").status == WRONG


GAIN = "to(x.dtype) * self.weight"
DEAD = {
    "a gain that is rolled": NORM.replace(GAIN, "to(x.dtype) * self.weight.roll(1)"),
    "a gain of which the first number is for all": NORM.replace(GAIN, "to(x.dtype) * self.weight[0]"),
    "a gain that is made smaller by its mean": NORM.replace(
        GAIN, "to(x.dtype) * (self.weight - self.weight.mean() + 1)"
    ),
    "a bias that is added before the norm": NORM.replace("h = x.float()", "h = x.float() + self.b.tanh()").replace(
        "self.eps = eps", "self.eps = eps; self.b = nn.Parameter(torch.zeros(dim))"
    ),
    "a bias under a condition that never holds": NORM.replace(
        "self.eps = eps", "self.eps = eps; self.bias = nn.Parameter(torch.zeros(dim))"
    ).replace("return (", "y = (")
    + "        return y + self.bias if hasattr(self, 'shift') else y\n",
    "a gain that is asked for under another name": NORM.replace("self.weight = ", "self.gamma = ").replace(
        "* self.weight", "* getattr(self, 'weight', 1)"
    ),
}


@pytest.mark.parametrize("text", DEAD.values(), ids=DEAD.keys())
def test_a_parameter_that_has_no_effect_or_another_one_is_no_match(text: str) -> None:
    assert judge_text(NORM, "Norm.forward").status == MATCH
    found = judge_text(text, "Norm.forward")
    assert found.status == SKIPPED
    assert re.search(r"has an effect|what `\w+` does", found.reason)


OWN = NORM.replace(
    "self.weight = nn.Parameter(torch.ones(dim))", "self.weight = nn.Parameter(torch.full((dim,), {first}))"
)
SPARED: dict[str, tuple[str, str, str]] = {
    "a backend that torch doesn't have": (
        NORM.replace("x.float()", "x.float() + (1 if hasattr(torch.backends, 'no_such_thing') else 0)"),
        "Norm.forward",
        "match",
    ),
    "a backend's setting that the text sets": (
        NORM.replace("x.float()", "x.float() + (1 if torch.backends.cudnn.enabled else 0)")
        + "\ntorch.backends.cudnn.enabled = False\n",
        "Norm.forward",
        "skipped",
    ),
    "a private function of torch as a default that nothing calls": (
        NORM.replace("import torch\n", "import torch\nfrom torch.library import custom_op\n", 1).replace(
            "eps=1e-6", "eps=1e-6, register=custom_op"
        ),
        "Norm.forward",
        "match",
    ),
    "a flag that a function sets when the module is made": (
        NORM.replace("x.float()", "x.float() + (1 if FAST else 0)")
        + "\nFAST = True\n\ndef set_fast(value):\n    global FAST\n    FAST = value\n\nset_fast(False)\n",
        "Norm.forward",
        "match",
    ),
    "a shift that is subtracted": (
        NORM.replace(
            "torch.ones(dim))", "torch.ones(dim))\n        self.bias = nn.Parameter(torch.zeros(dim))"
        ).replace("* self.weight", "* self.weight - self.bias"),
        "Norm.forward",
        "skipped",
    ),
    "an activation that an argument chooses behind the norm": (
        "import torch\nfrom torch import nn\n\n\n"
        "def layer_norm_activation(x, weight, bias, activation='gelu', eps=1e-5):\n"
        "    h = x.float()\n    c = h - h.mean(-1, keepdim=True)\n"
        "    y = (c * torch.rsqrt(c.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight + bias\n"
        "    if activation == 'gelu':\n        return nn.functional.gelu(y)\n"
        "    return nn.functional.relu(y) if activation == 'relu' else y\n",
        "layer_norm_activation",
        "skipped",
    ),
    "a size whose default is a placeholder": (
        NORM.replace("dim, eps", "dim=-1, eps"),
        "Norm.forward",
        "match",
    ),
    "a library that nothing has set up": (
        NORM.replace("import torch\n", "import torch\nimport deepspeed\n", 1).replace(
            "        h = x", "        if deepspeed.utils.is_initialized():\n            return x\n        h = x"
        ),
        "Norm.forward",
        "match",
    ),
    "a text that takes one eps alone isn't judged with others": (
        NORM.replace("        h = x", "        assert self.eps == 1e-6, self.eps\n        h = x"),
        "Norm.forward",
        "match",
    ),
    "a direction as long as it has features, under a name that promises none of this": (
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass CustomNorm(nn.Module):\n"
        "    def forward(self, x):\n        return x.shape[-1] * F.normalize(x, dim=-1)\n",
        "CustomNorm.forward",
        "skipped",
    ),
    "a cache of a size, the platform, Python's version and a range of a profiler": (
        NORM.replace(
            "class",
            "import platform\nimport sys\nfrom functools import lru_cache\nfrom torch.cuda import nvtx\n\n"
            "@lru_cache(maxsize=1)\ndef is_fast():\n"
            "    return sys.version_info < (3, 8) or (sys.platform, platform.machine()) == ('none', 'none')\n\nclass",
            1,
        )
        .replace("    def forward", "    @nvtx.range('norm')\n    def forward")
        .replace("h = x", "if is_fast(): return x\n        h = x"),
        "Norm.forward",
        "match",
    ),
    "a training loop beside a function": (
        "import sys\nimport torch\nfrom torch import nn\n\nwith open(sys.argv[0]) as file:\n    code = file.read()\n\n"
        "def rms_norm(x0, eps=1e-6):\n    x = x0.float()\n"
        "    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)).type_as(x0)\n\n"
        "class Model(nn.Module):\n    def forward(self, x):\n        return self.head(rms_norm(x))\n\nmodel = Model()\n"
        "for step in range(3):\n    with open('log', 'a') as file:\n        file.write(code); model.train()\n",
        "rms_norm",
        "match",
    ),
    "a norm that takes its numbers from another": (
        NORM.replace("self, dim, eps=1e-6", "self, norm")
        .replace("torch.ones(dim)", "norm.weight.data.clone()")
        .replace("= eps", "= getattr(norm, 'eps', 1e-6)"),
        "Norm.forward",
        "match",
    ),
    "a constructor that takes the gain": (
        NORM.replace("self, dim, eps=1e-6", "self, eps: float, weight: torch.Tensor").replace(
            "nn.Parameter(torch.ones(dim))", "weight"
        ),
        "Norm.forward",
        "match",
    ),
    "a device that isn't here": (
        NORM.replace("eps=1e-6", "eps=1e-6, device='cuda:0'").replace("ones(dim)", "ones(dim, device=device)"),
        "Norm.forward",
        "match",
    ),
    "a function that takes the module": (
        "import torch\n\ndef fast_rms_norm(norm, x):\n    h = x.float()\n    ms = h.pow(2).mean(-1, keepdim=True)\n"
        "    return (h * torch.rsqrt(ms + norm.variance_epsilon)).to(x.dtype) * norm.weight\n",
        "fast_rms_norm",
        "match",
    ),
    "a function that fills a tensor it is given": (
        "import torch\n\ndef fast_layer_norm(norm, x, out_weight=None):\n    h = x.to(torch.float32, copy=True)\n"
        "    h -= h.mean(-1, keepdim=True)\n    var = h.square().mean(-1, keepdim=True)\n"
        "    h *= torch.rsqrt(var + norm.variance_epsilon)\n    out_weight[:] = norm.weight\n"
        "    h *= out_weight\n    return h.to(x.dtype)\n",
        "fast_layer_norm",
        "match",
    ),
    "a constructor that takes two widths in one argument": (
        "from torch import nn\n\nclass LayerNorm(nn.Module):\n    def __init__(self, dims):\n"
        "        super().__init__()\n"
        "        self.scalars, self.vectors = dims\n        self.norm = nn.LayerNorm(self.scalars)\n\n"
        "    def forward(self, x):\n        if not self.vectors:\n            return self.norm(x)\n"
        "        s, v = x\n        return self.norm(s), v / v.abs().amax((-2, -1), keepdim=True)\n",
        "LayerNorm.forward",
        "match",
    ),
    "a constructor that takes what the gain is filled with elsewhere": (
        "import torch\nfrom torch import nn\n\nclass L2Norm(nn.Module):\n    def __init__(self, n_channels, scale):\n"
        "        super().__init__()\n        self.gamma = scale or None\n        self.eps = 1e-10\n"
        "        self.weight = nn.Parameter(torch.Tensor(n_channels))\n        self.reset()\n\n"
        "    def reset(self):\n        nn.init.constant_(self.weight, self.gamma)\n\n    def forward(self, x):\n"
        "        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps\n"
        "        return self.weight[None, :, None, None] * (x / norm)\n",
        "L2Norm.forward",
        "precision",
    ),
    "a sample that is flattened": (
        "from torch import nn\n\nclass LayerNorm(nn.Module):\n    def forward(self, x):\n"
        "        s = x.shape\n        h = x.float().reshape(s[0], -1)\n"
        "        h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True, unbiased=False) + 1e-4).sqrt()\n"
        "        return h.view(s).type_as(x)\n",
        "LayerNorm.forward",
        "match",
    ),
    "a gain for each head that is not applied, and no heads in the input": (
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\nclass RMSNorm(nn.Module):\n"
        "    def __init__(self, heads, dim):\n        super().__init__()\n        self.scale = dim**0.5\n"
        "        self.gain = nn.Parameter(torch.ones(heads, 1, dim))\n\n"
        "    def forward(self, x):\n        return F.normalize(x, dim=-1) * self.scale\n",
        "RMSNorm.forward",
        "skipped",
    ),
    "an iterator that ends": (
        "import torch\nfrom torch import nn\n\nSTEPS = iter([1e-6])\n\n\ndef step(steps=iter([1e-6])):\n"
        "    return next(steps)\n\n\n" + NORM.replace("+ self.eps", "+ step()"),
        "Norm.forward",
        "skipped",
    ),
    "a class made in a method": (
        NORM.replace("\n    ", "\n            ").replace(
            "class Norm", "class Norms:\n    def make(self):\n        class Norm"
        ),
        "Norms.Norm.forward",
        "match",
    ),
    "a docstring that gives a rank too low": (
        NORM.replace("self, x):", 'self, x):\n        """x: (B, C, H, W)"""')
        .replace("mean(-1", "mean(1")
        .replace("* self.weight", "* self.weight[:, None, None, None]"),
        "Norm.forward",
        "match",
    ),
    "an axis moved by einops": (
        "from einops import rearrange\nfrom torch import nn\n\nclass LayerNorm(nn.Module):\n"
        "    def __init__(self, dim):\n        super().__init__()\n        self.norm = nn.LayerNorm(dim)\n\n"
        "    def forward(self, x):\n        y = self.norm(rearrange(x, 'b d ... -> b ... d'))\n"
        "        return rearrange(y, 'b ... d -> b d ...')\n",
        "LayerNorm.forward",
        "match",
    ),
    "rows of zeros that are refused": (
        "import torch\n\ndef l2_normalize(x):\n    size = x.norm(dim=-1, keepdim=True)\n"
        "    if (size <= 0).any().item():\n        raise ValueError('a row of zeros')\n    return x / size\n",
        "l2_normalize",
        "match",
    ),
    "a statistic handed back beside a view of the norm": (
        "import torch\n\nWIDTH = 8\n\ndef rms_and_norm(x):\n"
        "    rms = x.square().mean(dim=1, keepdim=True).sqrt().clamp_min(1e-6)\n"
        "    return rms, (x / rms).reshape(-1, WIDTH)\n",
        "rms_and_norm",
        "skipped",
    ),
    "an eps of a configuration before that of the constructor": (
        NORM.replace("dim, eps=1e-6", "config, eps=1e-5")
        .replace("(dim)", "(config.dim)")
        .replace("= eps", "= config.norm_eps or eps"),
        "Norm.forward",
        "match",
    ),
    "a class that a registry takes, whose making can't be followed": (
        NORM.replace("import torch\n", "import torch\nfrom catalogue import Registry\n").replace(
            "class Norm",
            "class Own(Registry): pass\nNORMS = Own(kind=type[int])\n\n@NORMS.register_class('LN')\nclass Norm",
            1,
        ),
        "Norm.forward",
        "match",
    ),
    "a test of torch's version": (
        NORM.replace("import torch\n", "import torch\nfrom packaging import version\n")
        .replace(
            "class",
            "NEW = version.parse(version.parse(torch.__version__).base_version) >= version.parse('1.13')\n\nclass",
            1,
        )
        .replace("h = x.float()", "h = x.float() if NEW else x"),
        "Norm.forward",
        "match",
    ),
    "a dataclass with slots and a variable of the class": (
        NORM.replace("import torch\n", "import torch\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n")
        .replace(
            "class Norm",
            "@dataclass(slots=True)\nclass Config:\n    kind: ClassVar[str] = ''\n    eps: float = 1e-6\n\nclass Norm",
            1,
        )
        .replace("self.eps = eps", "self.eps = Config(eps).eps"),
        "Norm.forward",
        "match",
    ),
    "a gain that starts at a tenth and is applied ten times": (
        OWN.format(first="0.1").replace(GAIN, "to(x.dtype) * (10 * self.weight)"),
        "Norm.forward",
        "skipped",
    ),
    "a gain that is a function of its parameter": (
        OWN.format(first="0.54132485").replace(GAIN, "to(x.dtype) * nn.functional.softplus(self.weight)"),
        "Norm.forward",
        "match",
    ),
    "a bias that a flag keeps from being trained": (
        NORM.replace("eps=1e-6", "eps=1e-6, freeze=True")
        .replace("self.weight = ", "self.bias = nn.Parameter(torch.zeros(dim)); self.weight = ")
        .replace("self.eps = eps", "self.eps, self.freeze = eps, freeze")
        .replace("* self.weight\n", "* self.weight + (self.bias.detach() if self.freeze else self.bias)\n"),
        "Norm.forward",
        "match",
    ),
    "a parameter that another method reads": (
        NORM.replace("self.eps = eps", "self.eps = eps; self.token = nn.Parameter(torch.zeros(dim))")
        + "\n    def masked(self, x):\n        return x + self.token\n",
        "Norm.forward",
        "match",
    ),
    "an observer that is not trained": (
        NORM.replace(
            "self.eps = eps", "self.eps = eps; self.seen = nn.Parameter(torch.zeros(dim), requires_grad=False)"
        ),
        "Norm.forward",
        "match",
    ),
    "a gain that is asserted to be small": (
        NORM.replace("self.eps = eps", "self.eps = eps; self.extra = nn.Parameter(torch.ones(dim))")
        .replace("h = x.float()", "assert (self.extra < 1.5).all(); h = x.float()")
        .replace(GAIN, "to(x.dtype) * self.weight * self.extra"),
        "Norm.forward",
        "match",
    ),
    "a second gain that starts small": (
        NORM.replace(GAIN, "to(x.dtype) * self.weight * self.small").replace(
            "self.eps = eps", "self.eps = eps; self.small = nn.Parameter(torch.full((dim,), 1e-4))"
        ),
        "Norm.forward",
        "skipped",
    ),
    "a method that gets what others have cast": (
        """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps
    def _one(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    def forward(self, x):
        return torch.cat([self._one(part.float()) for part in x.split(4, dim=-1)], -1) * self.weight
""",
        "Norm._one",
        "match",
    ),
    "groups that einops makes by another name": (
        """
import torch
from einops import rearrange, reduce
from torch import nn
class GroupRMSNorm(nn.Module):
    def __init__(self, dim, g=4, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps, self.g = eps, g
    def forward(self, x):
        h = rearrange(x.float(), "... (g d) -> ... g d", g=self.g)
        h = h * torch.rsqrt(reduce(h.square(), "... d -> ... 1", "mean") + self.eps)
        return rearrange(h, "... g d -> ... (g d)").to(x.dtype) * self.weight
""",
        "GroupRMSNorm.forward",
        "skipped",
    ),
    "an upcast that an argument asks for": (
        """
import torch
def rms_norm_ref(x, weight, eps=1e-6, upcast=False):
    dtype = x.dtype
    if upcast:
        x = x.float()
        weight = weight.float()
    rstd = 1 / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps)
    return (x * rstd * weight).to(dtype)
""",
        "rms_norm_ref",
        "precision",
    ),
    "gains that only fit channels that come first": (
        """
import torch
from torch import nn
from torch.nn import functional as F
class LayerNorm(nn.Module):
    def __init__(self, n_out, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_out, 1, 1))
        self.bias = nn.Parameter(torch.zeros(n_out, 1, 1))
    def forward(self, x):
        shape = x.size()[1:]
        return F.layer_norm(x, shape, self.weight.expand(shape), self.bias.expand(shape))
""",
        "LayerNorm.forward",
        "skipped",
    ),
    "an axis that a call may say": (
        """
import torch
from torch import nn
class ChannelRMSNorm(nn.Module):
    def __init__(self, channel_dim=1, eps=1e-8):
        super().__init__()
        self.channel_dim, self.eps = channel_dim, eps
    def forward(self, x, channel_dim=None):
        if channel_dim is None:
            channel_dim = self.channel_dim
        h = x.float()
        return (h / torch.sqrt(torch.mean(h ** 2, dim=channel_dim, keepdim=True) + self.eps)).type_as(x)
""",
        "ChannelRMSNorm.forward",
        "match",
    ),
    "all axes but the first": (
        """
import torch
def rms_normalize(x, eps=1e-4):
    dim = list(range(1, x.ndim))
    h = x.float()
    return (h / torch.sqrt(h.square().mean(dim, keepdim=True) + eps)).type_as(x)
""",
        "rms_normalize",
        "match",
    ),
    "a share of features called p, which is no rate of dropout": (
        """
import torch
from torch import nn
class RMSNorm(nn.Module):
    def __init__(self, d, p=-1.0, eps=1e-8):
        super().__init__()
        self.eps, self.d, self.p = eps, d, p
        self.scale = nn.Parameter(torch.ones(d))
    def forward(self, x):
        h = x.float()
        if self.p < 0.0 or self.p > 1.0:
            length, d = h.norm(2, dim=-1, keepdim=True), self.d
        else:
            d = int(self.d * self.p)
            length = h[..., :d].norm(2, dim=-1, keepdim=True)
        return (self.scale * (h / (length * d ** -0.5 + self.eps))).type_as(x)
""",
        "RMSNorm.forward",
        "match",
    ),
    "a gain that the model around it fills": (
        """
import torch
from torch import nn
class L2Norm(nn.Module):
    def __init__(self, n, scale=20.0, eps=1e-10):
        super().__init__()
        self.weight, self.eps, self.scale = nn.Parameter(torch.Tensor(n)), eps, scale
    def forward(self, x):
        h = x.float()
        norm = h.pow(2).sum(1, keepdim=True).sqrt() + self.eps
        return (self.weight[None, :, None, None].float().expand_as(h) * h / norm).type_as(x)
""",
        "L2Norm.forward",
        "match",
    ),
    "a weight that is scaled": (
        """
from torch import nn
def NormedLinear(*args, scale=1.0, **kwargs):
    out = nn.Linear(*args, **kwargs)
    out.weight.data *= scale / out.weight.norm(dim=1, p=2, keepdim=True)
    return out
""",
        "NormedLinear",
        "skipped",
    ),
    "a norm of what a layer gives back": (
        """
import torch.nn.functional as F
from torch import nn

def norm(x):
    return F.rms_norm(x, (x.size(-1),))

class Model(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.embed, self.head = nn.Embedding(n, d), nn.Linear(d, n)

    def forward(self, ids):
        return self.head(norm(self.embed(ids)))
""",
        "norm",
        "match",
    ),
    "an argument of which nothing says what it is": (
        """
import torch
class Norm:
    def __init__(self, weight, eps=1e-5):
        self.weight, self.eps = weight, eps
    def forward(self, x):
        h = x.float()
        return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""",
        "Norm.forward",
        "skipped",
    ),
    "an axis that the constructor is told": (
        """
import torch
class LayerNorm(torch.nn.LayerNorm):
    def __init__(self, nout, dim=-1):
        super().__init__(nout, eps=1e-12)
        self.dim = dim
    def forward(self, x):
        if self.dim == -1:
            return super().forward(x)
        return super().forward(x.transpose(1, -1)).transpose(1, -1)
""",
        "LayerNorm.forward",
        "match",
    ),
    "a layer's gain and shift that are passed": (
        """
import torch.nn.functional as F
from torch import nn
class RNN(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.w = args, load(MODEL_NAME)
    def LN(self, x, w):
        return F.layer_norm(x, (self.args.n_embd,), weight=w.weight, bias=w.bias)
""",
        "RNN.LN",
        "skipped",
    ),
    "a residual beside what is normalised": (
        """
import torch
from torch import nn
class AddNorm(nn.Module):
    def __init__(self, maker, eps=1e-5):
        super().__init__()
        self.kind, self.eps = maker.build(), eps
    def forward(self, x):
        y = self.kind(x)
        h = x.float()
        y = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
        return x + y
""",
        "AddNorm.forward",
        "skipped",
    ),
    "a view that says so where it can't be had": (
        """
import torch
from torch import nn
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps, self.d = eps, d
        self.weight = nn.Parameter(torch.ones(d))
    def forward(self, x):
        h = x.view(-1, self.d).float()
        y = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)
        return (y.type_as(x) * self.weight).view(x.shape)
""",
        "RMSNorm.forward",
        "match",
    ),
    "a direction that meets a length worked out behind it": (
        """
import torch
from torch import nn
class VectorLayerNorm(nn.Module):
    def __init__(self, channels, kind="spread"):
        super().__init__()
        self.eps = 1e-6
        self.weight = nn.Parameter(torch.ones(channels))
        self.norm = self.spread if kind == "spread" else self.same
    def same(self, vec):
        return vec
    def spread(self, vec):
        length = torch.norm(vec, dim=-2, keepdim=True)
        if (length == 0).all():
            return torch.zeros_like(vec)
        length = length.clamp(min=self.eps)
        direction = vec / length
        least, _ = torch.min(length, dim=-1)
        most, _ = torch.max(length, dim=-1)
        length = (length - least.unsqueeze(-1)) / (most - least).clamp(min=1e-3).unsqueeze(-1)
        return length * direction
    def forward(self, vec):
        return self.norm(vec) * self.weight.view(1, 1, -1)
""",
        "VectorLayerNorm.spread",
        "skipped",
    ),
    "the scale of a layer norm, for a caller that centres": (
        """
import torch
def layernorm_centred(x):
    return x - x.mean(dim=-1, keepdim=True)
def layernorm_scales(x, eps=1e-5):
    x = layernorm_centred(x.float())
    return 1 / (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()
""",
        "layernorm_scales",
        "skipped",
    ),
    "statistics of each feature over the batch": (
        """
import torch
from torch import nn
class TokenNorm(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
    def forward(self, x):
        h = x.float()
        mean = h.mean(dim=0, keepdim=True)
        var = ((h - mean) ** 2).mean(dim=0, keepdim=True)
        normed = ((h - mean) / torch.sqrt(var + self.eps)).type_as(x)
        return self.weight[None, :] * normed + self.bias[None, :]
""",
        "TokenNorm.forward",
        "skipped",
    ),
    "an eps that is added to the least variance of the data": (
        """
import torch
import torch.nn.functional as F
from torch import nn
class ScaledNorm(nn.Module):
    def __init__(self, dim, least=0.02, eps=1e-5):
        super().__init__()
        self.least, self.eps = least, eps
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))
    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.gamma, self.beta, self.least * self.least + self.eps)
""",
        "ScaledNorm.forward",
        "match",
    ),
    "an output that is divided by how much wider the model is": (
        """
import torch
from torch import nn
class ScaledRMSNorm(nn.Module):
    def __init__(self, d, width_mult=4.0, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.mult, self.eps = width_mult, eps
    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)
        return (h * self.weight / self.mult).to(x.dtype)
""",
        "ScaledRMSNorm.forward",
        "skipped",
    ),
    "a gain that starts at the root of the length, by which a unit vector is multiplied": (
        """
import torch
from torch import nn
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.full((dim,), dim ** 0.5))
    def forward(self, x):
        h = x.float()
        n = torch.linalg.vector_norm(h, dim=-1, keepdim=True)
        return ((h / (n + self.eps)) * self.g).type_as(x)
""",
        "RMSNorm.forward",
        "skipped",
    ),
    "a point that is brought back into a ball": (
        """
import torch
def project_to_manifold(p, max_norm=1.0 - 1e-5, dim=-1, eps=1e-8):
    p_norm = p.norm(dim=dim, keepdim=True).clamp_min(eps)
    scale = (p_norm > max_norm).float() * (max_norm / p_norm) + (p_norm <= max_norm).float()
    p.data.mul_(scale)
""",
        "project_to_manifold",
        "skipped",
    ),
    "a gain for each feature of several inputs, whose number the shape of x has to be": (
        """
import torch
from torch import nn
class EachNorm(nn.Module):
    def __init__(self, n_features: int, d: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_features, d))
        self.bias = nn.Parameter(torch.zeros(n_features, d))
    def forward(self, x):
        assert x.ndim == 3
        x = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
        x = self.weight * x + self.bias
        return x
""",
        "EachNorm.forward",
        "skipped",
    ),
    "torch's norm over two axes between two transpositions": (
        """
import torch
from torch import nn
class LayerNorm2D(nn.Module):
    def __init__(self, channel, idim, eps=1e-12):
        super().__init__()
        self.norm = nn.LayerNorm([channel, idim], eps=eps)
    def forward(self, xs):
        B, C, T, F = xs.size()
        xs = xs.transpose(2, 1).contiguous()
        xs = self.norm(xs)
        return xs.transpose(2, 1)
""",
        "LayerNorm2D.forward",
        "skipped",
    ),
    "torch's norm of the sum of three inputs": (
        """
import torch
class AddNorm(torch.nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.layernorm = torch.nn.LayerNorm(dim)
    def forward(self, x, y, z):
        x = x + y + z
        return self.layernorm(x)
""",
        "AddNorm.forward",
        "match",
    ),
    **{
        f"features that {way} puts second, of three axes": (
            NORM.replace("x.float()", f"x.float().{way}")
            .replace("mean(-1, keepdim=True)", "mean(1, True)")
            .replace("self.eps))", f"self.eps)).{way}"),
            "Norm.forward",
            "match",
        )
        for way in ("mT", "transpose(-1, -2)", "transpose(1, 2)")
    },
    "a gain that is folded into the layer behind the norm": (
        NORM.replace(".to(x.dtype) * self.weight", ".to(x.dtype)")
        + """
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.proj = Norm(dim), nn.Linear(dim, dim)
    def forward(self, x):
        return nn.functional.linear(self.norm(x), self.proj.weight * self.norm.weight)
""",
        "Norm.forward",
        "match",
    ),
    "names that only a star import of a file that isn't there could bind": (
        NORM.replace("import torch\n", "from helpers import *\n", 1),
        "Norm.forward",
        "match",
    ),
    "a registry of another package that is told about torch's layers": (
        NORM.replace(
            "class",
            'from models import MODELS\n\nMODELS.register("Linear", module=nn.Linear)\n\n@MODELS.register()\nclass',
        ),
        "Norm.forward",
        "match",
    ),
    "a star import that may bring another sum": (
        NORM.replace("import torch\n", "import torch\nfrom helpers import *\n", 1).replace(
            "self.eps = eps", "self.eps = sum([eps])"
        ),
        "Norm.forward",
        "skipped",
    ),
    "a function of one row that is mapped over the rows": (
        """
import torch
from functools import partial
def _row(v, weight, eps):
    h = v.float()
    return (h * torch.rsqrt(h.square().mean() + eps)).type_as(v) * weight
class RMSNorm(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(dim))
    def forward(self, x):
        norm = torch.vmap(partial(_row, weight=self.weight, eps=self.eps))
        return norm(x.reshape(-1, x.shape[-1])).view_as(x)
""",
        "_row",
        "skipped",
    ),
    "an eps whose square is added": (NORM.replace("self.eps)", "self.eps ** 2)"), "Norm.forward", "match"),
    "an eps in a dataclass of the file": (
        NORM.replace("class", "@dataclass\nclass Config:\n    dim: int = 8\n    eps: float = 1e-6\n\nclass")
        .replace("import torch\n", "import torch\nfrom dataclasses import dataclass\n")
        .replace("= eps", "= Config(dim, eps).eps"),
        "Norm.forward",
        "match",
    ),
    "a helper whose callers do more": (
        """
import torch
def normalize(x, dim=-1, eps=1e-4):
    return x / (torch.linalg.vector_norm(x, dim=dim, keepdim=True) + eps)
class Labels(torch.nn.Module):
    def get(self, labels):
        return self.embedding(normalize(labels))
""",
        "normalize",
        "match",
    ),
    "a pooled input, which agrees with the norm of one token by chance": (
        """
import torch
from torch import nn
def l1norm(x, dim, eps=1e-8):
    return torch.div(x, torch.abs(x).sum(dim=dim, keepdim=True) + eps)
def l2norm(x, dim, eps=1e-8):
    return torch.div(x, torch.pow(x, 2).sum(dim=dim, keepdim=True).sqrt() + eps)
class Pooled(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.Linear(dim, 1)
        self.bn = nn.BatchNorm1d(1)
    def forward(self, emb):
        attn = l1norm(torch.sigmoid(self.bn(self.attn(emb).permute(0, 2, 1))), dim=-1)
        pooled = torch.matmul(attn, emb)
        return l2norm(pooled.squeeze(1), dim=-1)
""",
        "Pooled.forward",
        "skipped",
    ),
}


@pytest.mark.parametrize("name", SPARED)
def test_what_is_sound_or_cannot_be_known_is_not_called_wrong(name: str) -> None:
    text, qualname, status = SPARED[name]
    verdict = judge_text(text, qualname)
    assert verdict.status == status
    assert INTERNAL not in verdict.reason
