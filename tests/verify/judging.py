"""Norms for the bench, written as the lines of a forward: what each must be called, and in which words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normlint.rules import analyse
from normlint.text.source import Source, Unit
from normlint.text.verdict import SKIPPED, Verdict
from normlint.verify.interpret import judged
from normlint.verify.job import FLOOR_OF_ROOT, OUTSIDE, Job, Meaning
from normlint.verify.program.prepare import prepare
from normlint.verify.subject import Made

RMS = Meaning("rms", gain="weight")
LAYER = Meaning("layer", gain="weight", shift="bias")
L2 = Meaning("l2", form=FLOOR_OF_ROOT)
NORMALIZE = Meaning("rms", gain="weight", form=FLOOR_OF_ROOT, eps=1e-12, lenient=True, of_sum=True)
MS = "h.pow(2).mean(-1, keepdim=True)"
LLAMA = f"h = x.float(); return self.weight * (h * torch.rsqrt({MS} + self.eps)).to(x.dtype)"


def judge_text(text: str, qualname: str, *, path: str = "", meant: Meaning | None = None) -> Verdict:
    """The verdict on the norm of this name in a text, by interpretation, held to what is recognised or `meant`."""
    if meant is not None:
        owner, _, name = qualname.rpartition(".")
        return judged(Job(qualname, meant, text, owner or name, name if owner else ""))
    found = [norm for norm in analyse(text).norms if norm.qualname == qualname and not norm.helper]
    return judged(prepare(Source(path, text), Unit(text), found[0])) if found else Verdict(SKIPPED, "no norm")


@dataclass
class ClassSubject:
    """A class whose constructor takes the number of features and perhaps an eps."""

    cls: Any
    meaning: Meaning
    ranks: tuple[int, ...] = (1, 2, 3, 4)
    sizes: tuple[int, ...] | None = None
    takes_eps: bool = True
    axis: int = -1

    def make(
        self, d: int, *, dtype: torch.dtype = torch.float32, device: str = "cpu", eps: float | None = None
    ) -> Made:
        module = self.cls(d) if eps is None else self.cls(d, eps=eps)
        given = getattr(module, "eps", None)
        module = module.to(device=device, dtype=dtype)
        gain, shift = (getattr(module, name) if name else None for name in (self.meaning.gain, self.meaning.shift))

        def run(x: Tensor) -> Tensor:
            return module(x) if self.axis == -1 else module(x.movedim(-1, self.axis)).movedim(self.axis, -1)

        return Made(run, gain, shift, given, module, self.meaning.offset)

    def doubt(self, *, values: bool) -> str:
        return ""


def norm(forward: str, init: str = "torch.ones(d)", eps: str = "1e-6", extra: str = "pass") -> Any:
    """A module of that forward; it has a weight, a bias if the forward mentions one, and an eps."""
    lines = "\n        ".join(forward.split("; "))
    bias = "self.bias = nn.Parameter(torch.zeros(d))" if "self.bias" in forward + extra else "pass"
    text = f"""
class Norm(nn.Module):
    def __init__(self, d, eps={eps}):
        super().__init__()
        self.eps = eps
        self.weight = {init if init.startswith(("nn.", "plain")) else f"nn.Parameter({init})"}
        {bias}
        {extra}

    def forward(self, x):
        {lines}
"""
    space: dict[str, Any] = {"nn": nn, "torch": torch, "F": nn.functional, "math": math, "plain": lambda t: t}
    exec(text, space)
    return space["Norm"]


def subject(forward: str, meaning: Meaning = RMS, init: str = "torch.ones(d)", **more: Any) -> ClassSubject:
    """The subject of such a module."""
    made = {name: more.pop(name) for name in ("eps", "extra") if name in more}
    return ClassSubject(norm(forward, init, **made), meaning, **more)


SOUND: dict[str, ClassSubject] = {
    "LLaMA's: cast before the gain": subject(LLAMA),
    "Gemma's: 1 + w with w from zeros, cast after the gain": subject(
        f"h = x.float(); h = h * torch.rsqrt({MS} + self.eps); return (h * (1 + self.weight.float())).type_as(x)",
        Meaning("rms", gain="weight", offset=1.0),
        "torch.zeros(d)",
    ),
    "a gain kept in fp32, which no half can take the place of": subject(
        f"h = x.float(); h = h * torch.rsqrt({MS} + self.eps); return (h @ torch.diag(self.weight)).type_as(x)"
    ),
    "T5's: the cast follows the weight": subject(
        "v = x.to(torch.float32).pow(2).mean(-1, keepdim=True); x = x * torch.rsqrt(v + self.eps); "
        "x = x.to(self.weight.dtype) if self.weight.dtype in (torch.float16, torch.bfloat16) else x; "
        "return self.weight * x"
    ),
    "the eps of the input's dtype, as torch.nn.RMSNorm has it": subject(
        "h = x.float(); eps = torch.finfo(x.dtype).eps; "
        f"return (h * torch.rsqrt({MS} + eps)).to(x.dtype) * self.weight",
        eps="torch.finfo(torch.float32).eps",
        takes_eps=False,
    ),
    "another eps where none is given, and torch's own is assumed": subject(
        f"h = x.float(); return self.weight * (h * torch.rsqrt({MS} + 1e-6)).to(x.dtype)",
        eps="torch.finfo(torch.float32).eps",
        takes_eps=False,
    ),
    "torch.nn.LayerNorm": ClassSubject(nn.LayerNorm, LAYER),
    "torch.nn.RMSNorm": ClassSubject(lambda d, eps=1e-6: nn.RMSNorm(d, eps=eps), RMS),
    "a two-pass layer norm": subject(
        "h = x.float(); u = h.mean(-1, keepdim=True); s = (h - u).pow(2).mean(-1, keepdim=True); "
        "y = (h - u) / torch.sqrt(s + self.eps); return (y * self.weight.float() + self.bias.float()).to(x.dtype)",
        LAYER,
        eps="1e-5",
    ),
    "F.normalize in fp32 times √d": subject(
        "return (F.normalize(x.float(), dim=-1) * x.shape[-1] ** 0.5).to(x.dtype) * self.weight",
        NORMALIZE,
        takes_eps=False,
        extra="self.eps = None",
    ),
    "channels first, of four axes": subject(
        "h = x.float(); u = h.mean(1, keepdim=True); s = (h - u).pow(2).mean(1, keepdim=True); "
        "y = (h - u) / torch.sqrt(s + self.eps); y = y * self.weight.float()[:, None, None]; "
        "return (y + self.bias.float()[:, None, None]).to(x.dtype)",
        LAYER,
        ranks=(4,),
        axis=1,
    ),
    "only 64 features, only rows": subject(LLAMA, sizes=(64,), ranks=(2,)),
    "only 4 features": subject(LLAMA, sizes=(4,)),
    "a gain that other code fills": subject(LLAMA, Meaning("rms", gain="weight", filled_later=True), "torch.empty(d)"),
    "a gain that starts at zero on purpose": subject(
        LLAMA, Meaning("rms", gain="weight", zero_gain=True), "torch.zeros(d)"
    ),
    "an L2 norm in half, which overflows where torch's own does": subject(
        "return F.normalize(x, dim=-1)", L2, takes_eps=False
    ),
    "an L2 norm without eps, in fp32": subject(
        "h = x.float(); return (h / h.norm(dim=-1, keepdim=True)).type_as(x)",
        L2,
        takes_eps=False,
        extra="self.eps = None",
    ),
    "a norm of values that halves never reach": subject(
        f"h = x; return self.weight * (h * torch.rsqrt({MS} + self.eps))", Meaning("rms", gain="weight", halves=False)
    ),
    "eps beside torch's own norm": subject(
        "h = x.float(); r = h.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + self.eps; "
        "return (h / r).type_as(x) * self.weight",
        Meaning("rms", gain="weight", form=OUTSIDE),
    ),
    "eps added to the sum": subject(
        "h = x.float(); s = h.pow(2).sum(-1, keepdim=True) + self.eps; "
        "return (h * torch.rsqrt(s) * x.shape[-1] ** 0.5).type_as(x) * self.weight",
        Meaning("rms", gain="weight", of_sum=True),
    ),
    "a gain of a scalar shape": subject(LLAMA, init="torch.tensor(1.0)"),
    "no rows at all are refused": subject("assert x.numel(); " + LLAMA),
}

UP = "h = x.float(); "
END = ".type_as(x) * self.weight"
BROKEN: dict[str, tuple[ClassSubject, str, str]] = {
    "an eps that is cast with the module": (
        subject(
            f"h = x.float(); return (h * torch.rsqrt({MS} + self.small.float())).to(x.dtype) * self.weight",
            extra="self.register_buffer('small', torch.tensor(eps))",
        ),
        "precision",
        "fp16 input ×1e-3: eps is rounded to 1.01e-06",
    ),
    "one scale for the whole batch": (
        subject(UP + "return (h * torch.rsqrt(h.pow(2).mean() + self.eps))" + END),
        "wrong",
        "changing one token changes 14 of the 14 others",
    ),
    "no keepdim": (
        subject(UP + "return (h * torch.rsqrt(h.pow(2).mean(-1) + self.eps))" + END),
        "wrong",
        "fp32 input: raises RuntimeError: The size of tensor a",
    ),
    "no keepdim, of square inputs only": (
        subject(
            "h = x.float(); m = h.pow(2).mean(-1, keepdim=True); m = h.pow(2).mean(-1) if h.ndim == 2 and "
            "h.shape[0] == h.shape[1] else m; return (h * torch.rsqrt(m + self.eps)).type_as(x) * self.weight"
        ),
        "wrong",
        r"fp32 input of shape \(D, D\): output is off",
    ),
    "the tokens reduced": (
        subject(UP + "return (h * torch.rsqrt(h.pow(2).mean(0, keepdim=True) + self.eps))" + END),
        "wrong",
        "changing one token",
    ),
    "a sum that is never divided": (
        subject(UP + "return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) + self.eps))" + END),
        "wrong",
        r"0\.25 times what it should be \(√D times too small: the sum is never divided by D\)",
    ),
    "an unbiased variance": (
        subject(
            UP + "r = torch.rsqrt(h.var(-1, keepdim=True) + self.eps); "
            "return ((h - h.mean(-1, keepdim=True)) * r).type_as(x) * self.weight + self.bias",
            LAYER,
        ),
        "wrong",
        r"the variance is unbiased: it divides by D − 1",
    ),
    "no upcast": (
        subject("return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight"),
        "wrong",
        r"fp16 input ×1e4: output is all zeros, expected RMS 1\.\d+ \(x² overflows beyond 65504\)",
    ),
    "torch's norm in half": (
        subject(
            "return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight",
            NORMALIZE,
            takes_eps=False,
            extra="self.eps = None",
        ),
        "precision",
        r"fp16 input ×1e4: \d+ of 15 rows are all zeros, .*the norm of a row overflows beyond 65504",
    ),
    "a root rounded to half": (
        subject(UP + f"return x * torch.rsqrt({MS} + self.eps).type_as(x) * self.weight"),
        "precision",
        r"rows are scaled off by 0\.2\d* times its precision: a statistic kept in fp16",
    ),
    "no downcast": (
        subject(UP + f"return h * torch.rsqrt({MS} + self.eps) * self.weight"),
        "wrong",
        "fp16 input: output is fp32, expected fp16",
    ),
    "E[x²] − E[x]²": (
        subject(
            UP + f"m = h.mean(-1, keepdim=True); v = {MS} - m * m; "
            "return ((h - m) * torch.rsqrt(v + self.eps)).type_as(x) * self.weight + self.bias",
            LAYER,
        ),
        "wrong",
        "fp32 input with a mean of 1e3: .*cancels",
    ),
    "no eps": (
        subject(UP + f"return (h * torch.rsqrt({MS}))" + END, takes_eps=False, extra="self.eps = None"),
        "wrong",
        "fp32 row of zeros: output is NaN, expected zeros",
    ),
    "eps after the root": (
        subject(UP + f"return (h / ({MS}.sqrt() + self.eps))" + END),
        "wrong",
        "eps 1e-06 is added after the root",
    ),
    "an eps of 0.1": (subject(LLAMA, eps="0.1"), "wrong", "eps 0.1 is as large as the mean square"),
    "an eps of 0": (subject(LLAMA, eps="0.0"), "wrong", "eps is 0: nothing keeps the root"),
    "a negative eps": (subject(LLAMA, eps="-1e-6"), "wrong", "eps is -1e-06: nothing keeps the root"),
    "another eps than the one given": (
        subject(UP + f"return (h * torch.rsqrt({MS} + 1e-8))" + END),
        "wrong",
        "eps 1e-06 is given, but 1e-08 acts",
    ),
    "an eps that is taken and the same literal used": (
        subject(UP + f"return (h * torch.rsqrt({MS} + 1e-6))" + END),
        "wrong",
        "eps=0.3 is passed, but 1e-06 acts",
    ),
    "an eps that is 0 in fp16": (
        subject(f"h = x.float(); m = {MS}.type_as(x); return x / torch.sqrt(m + self.eps) * self.weight", eps="1e-8"),
        "wrong",
        "fp16 ",
    ),
    "multiplied by the root": (
        subject(UP + f"return (h * torch.sqrt({MS} + self.eps))" + END),
        "wrong",
        "multiplied by the root instead of divided",
    ),
    "no root": (subject(UP + f"return (h / ({MS} + self.eps))" + END), "wrong", "no root is taken"),
    "two roots": (
        subject(UP + f"return (h * torch.rsqrt(({MS} + self.eps).sqrt()))" + END),
        "wrong",
        "two roots are taken",
    ),
    "the mean of x": (
        subject(UP + "return (h * torch.rsqrt(h.mean(-1, keepdim=True) + self.eps))" + END),
        "wrong",
        "fp32 input: output is NaN",
    ),
    "a numerator without its mean subtracted": (
        subject(
            UP + "m = h.mean(-1, keepdim=True); v = (h - m).pow(2).mean(-1, keepdim=True); "
            "return (h * torch.rsqrt(v + self.eps)).type_as(x) * self.weight + self.bias",
            LAYER,
        ),
        "wrong",
        "the mean is subtracted in the variance alone",
    ),
    "a detached statistic": (
        subject(UP + f"return (h * torch.rsqrt({MS} + self.eps).detach())" + END),
        "wrong",
        r"the gradient of the input is off by \d+ % \(the statistic is treated as a constant\)",
    ),
    "1 + w with w from ones": (
        subject(
            UP + f"return (h * torch.rsqrt({MS} + self.eps) * (1 + self.weight)).type_as(x)",
            Meaning("rms", gain="weight", offset=1.0),
        ),
        "wrong",
        r"a fresh norm's output has RMS 2, expected 1 \(1 \+ w, where w starts at 1\)",
    ),
    "a gain from zeros": (subject(LLAMA, init="torch.zeros(d)"), "wrong", "all zeros: its gain starts at 0"),
    "a gain from -1": (subject(LLAMA, init="-torch.ones(d)"), "wrong", "has the wrong sign"),
    "a random gain": (subject(LLAMA, init="torch.randn(d)"), "wrong", "a fresh norm's output"),
    "a gain that is a plain tensor": (
        subject(LLAMA, init="plain(torch.ones(d))"),
        "wrong",
        "the gain is not in state_dict",
    ),
    "an input changed in place": (
        subject(UP + f"m = {MS}; h.mul_(torch.rsqrt(m + self.eps)); return h" + END),
        "wrong",
        "the input is changed in place",
    ),
    "a print": (subject("print('shape', x.shape[-1]); " + LLAMA), "wrong", r"prints at every call: 'shape 16'"),
    "torch.Tensor([d]) as gain": (subject(LLAMA, init="torch.Tensor([d])"), "wrong", "RMS 16, expected 1"),
    "one gain for all": (subject(LLAMA, init="torch.ones(1)"), "wrong", "one element for 16 features"),
    "a gain that is never filled": (subject(LLAMA, init="torch.empty(d)"), "wrong", "the gain is never filled"),
    "a gain that is never applied": (
        subject(UP + f"return (h * torch.rsqrt({MS} + self.eps)).type_as(x)"),
        "wrong",
        "the gain is not applied",
    ),
    "dropout": (
        subject(UP + f"y = h * torch.rsqrt({MS} + self.eps); return F.dropout(y.type_as(x), 0.1) * self.weight"),
        "wrong",
        "the same input gives two different outputs",
    ),
    "a view of any input": (
        subject(
            f"h = x.view(-1, x.shape[-1]).float(); h = h * torch.rsqrt({MS} + self.eps); "
            "return h.type_as(x).view(x.shape) * self.weight"
        ),
        "wrong",
        "fp32 transposed view: raises RuntimeError: view size",
    ),
    "a tensor made on the CPU": (
        subject(
            "w = self.weight * torch.ones(x.shape[-1], dtype=x.dtype); "
            f"h = x.float(); r = torch.rsqrt({MS} + self.eps); "
            "return (h * r).type_as(x) * w"
        ),
        "wrong",
        r'after \.to\("meta"\) it raises RuntimeError',
    ),
    "a method that isn't there": (subject("return x.normalise()"), "wrong", "raises AttributeError: 'Tensor'"),
    "a tuple": (subject("return x, x"), "wrong", "gives back a tuple, not a tensor"),
    "a missing name": (subject("return helper(x)"), "skipped", "needs helper"),
}
