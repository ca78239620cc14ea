"""How norms are called: what is never said, and what is."""

from __future__ import annotations

import textwrap
import time

import pytest

from normlint.api import fix_source
from normlint.rules.callers import called
from normlint.text.making import may_make

ERRORS = ("NRM703", "NRM704", "NRM705", "NRM706")
BLOCK = """\
from torch import nn

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.group_norm = nn.GroupNorm(4, dim)
        self.attention = nn.Linear(dim, dim)
        self.mlp = nn.Linear(dim, 2 * dim)
        self.dim = dim
        self.head_dim = self.dim // 4
        self.head_size = self.dim // 4
        head_len = dim // 4
        self.head_len = head_len
        self.width = self.dim // 2
        self.width = dim
        self.q_norm = nn.LayerNorm(self.dim)
        self.k_norm = nn.LayerNorm(self.head_dim)
        self.transform = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim))
        self.input_norm = nn.LayerNorm(dim, 1e-6)
        self.adapter = nn.Linear(dim, dim)
        self.pre_norm = PreNorm(dim, nn.Linear(dim, dim))
        self.ada_norm = AdaNorm(dim)
        self.channels_norm = nn.BatchNorm1d(self.dim)

    def forward(self, x, c):
"""


def whole(body: str) -> str:
    """A block whose forward has these lines."""
    return BLOCK + "".join(f"        {line}\n" if line else "\n" for line in body.splitlines()) + OTHERS


OTHERS = """
    def modulate(self, x, shift, scale):
        return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)

def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)

def checked(x, shift, scale):
    if shift.ndim == 1:
        return x * (1 + scale) + shift
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)

class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x):
        return self.fn(self.norm(x))

class AdaNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.scale = nn.Linear(dim, dim)

    def forward(self, x, c):
        return self.norm(x) * (1 + self.scale(c))
"""


def codes(body: str) -> list[str]:
    return [finding.code for finding, _ in called(whole(body), wanted=ERRORS.__contains__).found]


MODULATED = "a, b = self.mlp(c).chunk(2)\nreturn self.norm1(x) * (1 + a[:, None]) + b[:, None]"
BARE = MODULATED.replace("[:, None]", "")
VIEWED = "4, self.head_size)"
SPLIT = "self.mlp(c).chunk(2)"
HALF = "x = self.norm1(x)\nx = x + self.attention(x)"
SECOND = "return x + self.mlp(self.norm2(x))"
FLAGGED = """\
if self.pre:
    x = self.norm1(x)
x = x + self.attention(x)
if not self.pre:
    x = self.norm1(x)
return x
"""
SILENT = {
    "the parts are split along the last axis": MODULATED.replace("chunk(2)", "chunk(2, dim=-1)"),
    "the axis comes by its place": MODULATED.replace("chunk(2)", "chunk(2, -1)"),
    "the layer's size isn't so many times another": MODULATED.replace("self.mlp(c)", "self.attention(c)"),
    "what is split comes from elsewhere": MODULATED.replace(SPLIT, "c.chunk(2)"),
    "no part scales a norm": MODULATED.replace("* (1 + a[:, None])", "") + "\nreturn a",
    "a condition may have one axis": BARE,
    "a condition's one axis is made the last": MODULATED.replace("[:, None]", "[None, None, :]"),
    "channels lie behind the batch, and a vector of them may get axes behind it": MODULATED.replace(
        "self.norm1(x)", "self.group_norm(x)"
    ).replace("[:, None]", "[:, None, None]"),
    "a condition's axis for the batch is new": BARE.replace("(1 + a)", "(1 + a.unsqueeze(0))"),
    "two norms follow one another": "x = self.norm1(x)\nx = self.norm2(x)\nreturn x",
    "a norm is called again after a layer": "x = self.norm1(x)\nx = self.norm1(self.attention(x))\nreturn x",
    "the name has another value by then": "h = self.norm1(x)\nh = self.norm1(x)\nreturn h",
    "all residuals are of the norms": f"{HALF}\nx = self.norm2(x)\nx = x + self.mlp(x)\nreturn x",
    "a norm stands in front of the block": f"{HALF}\nreturn x",
    "what came in is added afterwards": (
        "h = self.norm1(x)\nh = h + self.attention(h)\nh = h + self.mlp(self.norm2(h))\nreturn x + h"
    ),
    "what came in was held by a name": f"r = x\n{HALF}\nx = x + self.mlp(self.norm2(x))\nreturn r + x",
    "the other half keeps another part": f"{HALF}\nx, z = self.parts(x)\nreturn x + self.mlp(self.norm2(z))",
    "it may be something else": f"if c is not None:\n    x = c\n{HALF}\n{SECOND}",
    "what came in has another name": f"h = self.norm1(x)\nx = x + self.attention(h)\n{SECOND}",
    "the features are moved": f"q = x.view(-1, 8, {VIEWED}.transpose(1, 3)\nreturn self.q_norm(q)",
    "a head's norm is given a head": "q = x.view(-1, 4, self.head_dim)\nreturn self.k_norm(q)",
    "the norm of all comes before the view": "return self.q_norm(x).view(-1, 4, self.head_size)",
    "the size of the view has another value, too": "q = x.view(-1, 4, self.width)\nreturn self.q_norm(q)",
    "the view is merged again": "q = x.view(-1, 4, self.head_size)\nq = q.flatten(-2)\nreturn self.q_norm(q)",
    "a helper is given another tensor": f"a, b = {SPLIT}\nreturn modulate(self.attention(x), b, a)",
    "a helper that does more isn't read": f"a, b = {SPLIT}\nreturn checked(self.norm1(x), b, a)",
    "a condition has one axis": f"assert c.ndim == 1\n{MODULATED}",
    "a condition is reduced to one axis": f"c = c.mean(dim=0)\n{MODULATED}",
    "samples come one by one": "for x, c in pairs:\n" + textwrap.indent(MODULATED, "    "),
    "what came in is added on the next line": f"skip = x\n{HALF}\nx = x + skip\n{SECOND}",
    "what is normalised isn't what came in": f"x = self.attention(x)\n{HALF}\n{SECOND}",
    "another stream has a norm in front": f"c = self.norm1(c)\nc = c + self.attention(c)\n{SECOND}",
    "a layer and a norm in turn are applied twice": "return self.transform(self.transform(x))",
    "a layer and a norm in turn come first": f"{HALF}\n{SECOND}".replace("norm1(x)", "transform(x)", 1),
    "a norm of the input stands in front, and what is added is no half": (
        f"x = self.input_norm(x)\nx = x + self.adapter(x)\n{SECOND}"
    ),
    "a layer that holds a norm is applied twice": "return self.pre_norm(self.pre_norm(x))",
    "the other branch keeps the input": (
        f"if self.post:\n    x = self.norm1(x)\n    x = x + self.attention(x)\n"
        f"else:\n    x = x + self.attention(self.norm1(x))\n{SECOND}"
    ),
    "the half that keeps the input is in another branch": (
        f"{HALF}\nif self.training:\n    return x + self.mlp(self.norm2(x))\nreturn x"
    ),
    "a norm under a condition is applied for two of them": "return self.ada_norm(self.ada_norm(x, c), x)",
    "the features are behind the batch": "q = x.view(-1, self.dim, self.head_size)\nreturn self.channels_norm(q)",
    "post-norm": "x = self.norm1(x + self.attention(x))\nx = self.norm2(x + self.mlp(x))\nreturn x",
    "before or behind by a flag, and the input has a name": FLAGGED.replace(
        "if self.pre:", "r = x\nif self.pre:", 1
    ).replace("x = x +", "x = r +"),
    "before by a flag, and behind another layer": FLAGGED.replace(
        "if not self.pre:", "x = self.mlp(x)\nif not self.pre:"
    ),
    "of embeddings by a flag": FLAGGED.replace("attention", "pos_conv"),
    "before by a flag, and never behind": FLAGGED.partition("if not")[0] + "return x",
    "before or behind by a flag, and the layer gets the input": FLAGGED.replace("attention(x)", "attention(c)"),
}
FOUND = {
    "before or behind by a flag": (FLAGGED, "NRM705"),
    "before or behind by a flag, with more results": (
        FLAGGED.replace("x = x + self.attention(x)", "a, w = self.attention(x)\nx = x + self.adapter(a)"),
        "NRM705",
    ),
    "before or behind by a flag, and added in place": (FLAGGED.replace("x = x +", "x +="), "NRM705"),
    "behind by a flag, before otherwise": (
        FLAGGED.replace("if not self.pre", "if self.post").replace(
            "if self.pre:\n", "if self.post:\n    pass\nelse:\n"
        ),
        "NRM705",
    ),
    "branches give what is added": (
        "x = self.norm1(x)\nif c is None:\n    a = self.attention(x)\nelse:\n    a = self.attention(x + c)\n"
        f"x = x + a\n{SECOND}",
        "NRM705",
    ),
    "one branch raises": (
        "x = self.norm1(x)\nif c is None:\n    raise ValueError\nelse:\n    a = self.attention(x)\n"
        f"x = x + a\n{SECOND}",
        "NRM705",
    ),
    "what is added comes far behind the norm": (
        "x = self.norm1(x)\n"
        + "".join(f"mask{i} = torch.zeros(4, 4, device=c.device)\n" for i in range(10))
        + f"x = x + self.attention(x)\n{SECOND}",
        "NRM705",
    ),
    "its own output is added to what a layer makes of the norm of that": (
        "x = self.norm1(x)\nreturn x + self.mlp(self.norm1(x))",
        "NRM704",
    ),
    "scale and shift are split along the batch": (MODULATED, "NRM703"),
    "the parts get an axis by name": (BARE.replace("(1 + a)", "(1 + a.unsqueeze(1))"), "NRM703"),
    "channels lie behind the batch, as those of the parts do": (
        MODULATED.replace("self.norm1(x)", "self.group_norm(x)").replace("[:, None]", "[:, :, None]"),
        "NRM703",
    ),
    "they are split by torch.chunk": (MODULATED.replace(SPLIT, "torch.chunk(self.mlp(c), 2)"), "NRM703"),
    "what is split has a name": (MODULATED.replace("a, b = self.mlp(c)", "e = self.mlp(c)\na, b = e"), "NRM703"),
    "the condition gets an axis before": (BARE.replace("self.mlp(c)", "self.mlp(c)[:, None]"), "NRM703"),
    "a helper of the file scales and shifts": (f"a, b = {SPLIT}\nreturn modulate(self.norm1(x), b, scale=a)", "NRM703"),
    "a method scales and shifts": (f"a, b = {SPLIT}\nh = self.norm1(x)\nreturn self.modulate(h, b, a)", "NRM703"),
    "a norm is nested in itself": ("return self.norm1(self.norm1(x))", "NRM704"),
    "a norm is applied to its output": ("x = self.norm1(x)\nx = self.norm1(x)\nreturn x", "NRM704"),
    "one of two in a branch is of the norm": (
        "if self.pre:\n    h = self.norm1(x)\n    x = h + self.attention(h)\n"
        "    h = self.norm2(x)\n    x = x + self.mlp(h)\n"
        "else:\n    x = self.norm1(x + self.attention(x))\n    x = self.norm2(x + self.mlp(x))\nreturn x",
        "NRM705",
    ),
    "what is added is one of several results": (
        "h = self.norm1(x)\na, b = self.attention(h)\nx = h + a\n"
        "r = x\nx = self.norm2(x)\nx = r + self.mlp(x)\nreturn x",
        "NRM705",
    ),
    "the other half adds to their sum": (
        "x = self.norm1(x)\nh = x + self.attention(x)\nout = h + self.mlp(self.norm2(h))\nreturn out",
        "NRM705",
    ),
    "one of two residuals is of the norm": (f"{HALF}\n{SECOND}", "NRM705"),
    "comments stand between both": (
        f"{HALF}\n{SECOND}".replace("norm1(x)", "norm1(x)  # before\n# and then"),
        "NRM705",
    ),
    "it is added to": (f"{HALF}\n{SECOND}".replace("x + self.attention(x)", "self.attention(x) + x"), "NRM705"),
    "what is added has a name": (f"x = self.norm1(x)\na = self.attention(x)\nx = x + a\n{SECOND}", "NRM705"),
    "the norm's output has another name": (
        "h = self.norm1(x)\nh = h + self.attention(h)\nreturn h + self.mlp(self.norm2(h))",
        "NRM705",
    ),
    "the output is held by a name": (f"x = self.norm1(x)\nr = x\nx = r + self.attention(x)\n{SECOND}", "NRM705"),
    "a part of what comes out is added": (f"{HALF}[0]\n{SECOND}", "NRM705"),
    "the second half": (
        "x = x + self.attention(self.norm1(x))\nx = self.norm2(x)\nx = x + self.mlp(x)\nreturn x",
        "NRM705",
    ),
    "it is added in place": (f"{HALF}\n{SECOND}".replace("x = x +", "x +="), "NRM705"),
    "the norm of all is given a head": (f"q = x.view(-1, {VIEWED}\nreturn self.q_norm(q)", "NRM706"),
    "it is given one at once": (f"return self.q_norm(x.view(-1, {VIEWED})", "NRM706"),
    "its heads are moved": (f"q = x.view(-1, 8, {VIEWED}.transpose(1, 2)\nq = self.q_norm(q)\nreturn q", "NRM706"),
    "it is split into heads": (f"q = x.unflatten(-1, ({VIEWED})\nreturn self.q_norm(q)", "NRM706"),
    "its size is a name": ("q = x.view(-1, 4, self.head_len)\nreturn self.q_norm(q)", "NRM706"),
    "it is given one by a tuple": (f"q = x.reshape((-1, {VIEWED})\nq = self.q_norm(q)\nreturn q", "NRM706"),
    "the norm has the name of what is added": (
        f"x = self.input_norm(x)\nx = x + self.attention(x)\n{SECOND}",
        "NRM705",
    ),
    "the other half has names": (f"{HALF}\nh = self.norm2(x)\nh = self.mlp(h)\nx = x + h\nreturn x", "NRM705"),
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_nothing_is_said_where(body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize(("body", "code"), FOUND.values(), ids=FOUND)
def test_it_is_said_where(body: str, code: str) -> None:
    assert may_make(whole(body))
    assert codes(body) == [code]


SPLIT_LAST = BARE.replace("chunk(2)", "chunk(2, dim=-1)")
NO_REVIEW = {
    "the norm has no weights": ("nn.LayerNorm(dim)", "nn.LayerNorm(dim, elementwise_affine=False)"),
    "it is chosen whether it has": ("nn.LayerNorm(dim)", "nn.LayerNorm(dim, 1e-5, affine)"),
    "what it is made with is not to be seen": ("nn.LayerNorm(dim)", "nn.LayerNorm(dim, **more)"),
    "the norm is of another library": ("nn.LayerNorm(dim)", "LayerNorm(dim)"),
    "the scale is a weight": ("(1 + a)", "(1 + self.a)"),
    "scale and shift are the cosine and sine of positions": ("self.mlp(c).chunk(2, dim=-1)", "self.rotary(c)"),
    "they are parts of what comes in": ("self.mlp(c).chunk", "c.chunk"),
    "they are statistics": ("self.mlp(c).chunk(2, dim=-1)", "torch.std_mean(x, -1, keepdim=True)"),
    "the scale isn't one of several": ("a, b = self.mlp(c)", "b = self.mlp(c)"),
    "nothing is added to the scale": ("(1 + a)", "a"),
    "a number is added that isn't one": ("(1 + a)", "(1e-3 + a)"),
    "no shift joins, and the bias has no other": (" * (1 + a) + b", " * (1 + a)"),
    "another tensor joins than a part": (" * (1 + a) + b", " * (1 + a) + x"),
    "the norm is called without a condition, too": (
        "a, b =",
        "if c is None:\n            return self.norm1(x)\n        a, b =",
    ),
    "the linear layer has no bias": ("nn.Linear(dim, 2 * dim)", "nn.Linear(dim, 2 * dim, bias=False)"),
}


def reviews(text: str) -> list[str]:
    return [finding.code for finding, _ in called(text, wanted="NRM707".__eq__).found] if may_make(text) else []


@pytest.mark.parametrize(("old", "new"), NO_REVIEW.values(), ids=NO_REVIEW)
def test_no_review_of_a_modulation_is_asked_for_where(old: str, new: str) -> None:
    assert old in whole(SPLIT_LAST)
    assert reviews(whole(SPLIT_LAST).replace(old, new)) == []


@pytest.mark.parametrize("factor", ["(1 + a)", "(1 + a[:, None])", "(1.0 + a.unsqueeze(1))"])
def test_a_norm_with_weights_under_a_modulation_is_a_review(factor: str) -> None:
    assert reviews(whole(SPLIT_LAST.replace("(1 + a)", factor))) == ["NRM707"]


def test_a_condition_may_be_shared_and_have_a_bias_of_its_own() -> None:
    text = whole(SPLIT_LAST.replace("self.mlp(c)", "(self.table[None] + c)"))
    assert reviews(text) == []
    assert reviews(text.replace("self.dim = dim", "self.table = nn.Parameter(dim)", 1)) == ["NRM707"]


def test_an_rms_norm_has_no_bias_that_a_shift_would_replace() -> None:
    text = whole(SPLIT_LAST.replace(" * (1 + a) + b", " * (1 + a)")).replace("norm1 = nn.Layer", "norm1 = nn.RMS")
    assert reviews(text) == ["NRM707"]


def test_a_shift_may_join_on_a_line_of_its_own() -> None:
    assert reviews(whole(SPLIT_LAST.replace("return", "x =").replace(" + b", "\nreturn x + b"))) == ["NRM707"]


REPEATED = "x = self.norm1(x)\nx = self.norm1(x)\nreturn x"
OF_ALL = f"q = x.view(-1, {VIEWED}\nreturn self.q_norm(q)"
UNFIXED = {
    "two norms are left that nothing calls": (REPEATED, "self.dim = dim", "self.norm3 = nn.LayerNorm(dim)"),
    "every norm is called": (f"y = self.norm2(c)\n{REPEATED}", "", ""),
    "the norm that is left is made otherwise": (REPEATED, "norm2 = nn.LayerNorm(dim)", "norm2 = nn.LayerNorm(2)"),
    "the output is handed on twice": (f"{HALF}\n{SECOND}".replace("attention(x)", "attention(x, x)"), "", ""),
    "a comment stands behind the norm": (
        f"c = self.norm1(c)\nc = c + self.attention(c)\n{HALF}\n{SECOND}".replace("norm1(x)", "norm1(x)  # before"),
        "",
        "",
    ),
    "the norm of all is given all, too": (f"c = self.q_norm(c)\n{OF_ALL}", "", ""),
    "the norm of all is made before the size of a head": (
        OF_ALL,
        "        self.head_dim = self.dim // 4\n",
        "        self.q_norm = nn.LayerNorm(self.dim)\n",
    ),
}
FIXED = {
    "the norm that nothing calls": (
        REPEATED,
        REPEATED.replace("x = self.norm1(x)\nreturn", "x = self.norm2(x)\nreturn"),
    ),
    "the inner norm's place is kept": ("return self.norm1(self.norm1(x))", "return self.norm2(self.norm1(x))"),
    "what came in": (f"{HALF}\n{SECOND}", f"x = x + self.attention(self.norm1(x))\n{SECOND}"),
    "what came in, in place": (
        f"{HALF}\n{SECOND}".replace("x = x +", "x +="),
        f"x = x + self.attention(self.norm1(x))\n{SECOND}",
    ),
    "what came in, with an argument more": (
        f"{HALF}\n\n{SECOND}".replace("attention(x)", "attention(c, h=x)"),
        f"x = x + self.attention(c, h=self.norm1(x))\n\n{SECOND}",
    ),
}


def fixed(text: str) -> str:
    return fix_source(text, unsafe=True, select=ERRORS).source


@pytest.mark.parametrize(("body", "old", "new"), UNFIXED.values(), ids=UNFIXED)
def test_nothing_is_fixed_where(body: str, old: str, new: str) -> None:
    text = whole(body).replace(new, "").replace(old, new, 1) if old else whole(body)
    assert [finding.code for finding, _ in called(text, wanted=ERRORS.__contains__).found] != []
    assert fixed(text) == text


@pytest.mark.parametrize(("body", "after"), FIXED.values(), ids=FIXED)
def test_it_is_fixed_by(body: str, after: str) -> None:
    text = whole(body).replace(
        "        self.q_norm = nn.LayerNorm(self.dim)\n        self.k_norm", "        self.k_norm"
    )
    assert fixed(text) == text.replace(whole(body)[len(BLOCK) :], whole(after)[len(BLOCK) :])


def test_a_norm_of_all_heads_is_made_for_one() -> None:
    text = whole(OF_ALL)
    assert fixed(text) == text.replace(
        "self.q_norm = nn.LayerNorm(self.dim)", "self.q_norm = nn.LayerNorm(self.head_size)"
    )


HOSTILE = {
    "blank lines": "Norm(x)\n" + " \n" * 50_000 + "x = ",
    "brackets": "self.a = LayerNorm(" * 6_000 + "x eps",
    "a long name": "Norm" * 25_000 + "(eps",
    "calls of chunk": "Norm chunk(" * 9_000,
    "an eps with a long name": "LayerNorm(x, eps=1e-6)\n" + "eps=" + "a" * 200_000 + "." + "b" * 200_000,
    "numbers for an eps": "LayerNorm(x, eps=1e-6)\n" * 9_000,
    "attributes and numbers": BLOCK.replace("dim):", "dim, c):")
    + "".join(f"        x = nn.LayerNorm(c.dim, {eps})\n" for eps in ("c.eps", "1e-6") for _ in range(300)),
    "statements": BLOCK + MODULATED.replace("a, b", "        a, b", 1).replace("return", "        return")
    + "\n" + "        a = b\n" * 8_000,
    "norms": BLOCK.replace("dim):", "dim, eps=1e-6):") + "        x = nn.LayerNorm(4)\n" * 3_000,
    "groups of an optimizer": BLOCK + "        return [\n"
    + "        {'params': [p for n, p in x.named_parameters() if any(w in n for w in c)], 'weight_decay': 0},\n" * 900
    + "        ]\n",
    "layers and norms": BLOCK
    + "".join(f"        x = self.l{i}(x)\n        x = self.norm{i}(x)\n" for i in range(190))
    + "    def __init__(self, dim, c):\n"
    + "".join(f"        self.l{i} = nn.Linear(dim, c)\n        self.norm{i} = nn.LayerNorm(dim)\n" for i in range(300)),
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_is_read_in_little_time_for_all_its(text: str) -> None:
    began = time.process_time()
    may_make(text)
    called(text)
    assert time.process_time() - began < 10  # a tenth of it on a quiet machine; what isn't linear takes minutes


def test_nothing_is_said_of_another_library() -> None:
    text = whole(FOUND["a norm is nested in itself"][0]).replace("from torch import nn", "import mlx.nn as nn")
    assert called(text, wanted=ERRORS.__contains__).found == ()


HEADS = """\
from torch import nn

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head_dim = config.head_dim
        self.q_proj = nn.Linear(config.dim, config.heads * self.head_dim)
        self.q_norm = nn.LayerNorm(config.dim)

    def forward(self, x):
        shape = (*x.shape[:-1], -1, self.head_dim)
        return self.q_norm(self.q_proj(x).view(shape))
"""
OF_A_HEAD = {
    "made for a head": HEADS.replace("LayerNorm(config.dim)", "LayerNorm(self.head_dim)"),
    "made for a head by the configuration": HEADS.replace("LayerNorm(config.dim)", "LayerNorm(config.head_dim)"),
    "made for all, where each head is as wide as that": HEADS.replace("config.head_dim", "config.dim"),
    "made for something else": HEADS.replace("LayerNorm(config.dim)", "LayerNorm(config.query_dim)"),
    "given all": HEADS.replace(".view(shape)", ""),
}


@pytest.mark.parametrize("text", OF_A_HEAD.values(), ids=OF_A_HEAD)
def test_a_norm_of_projected_heads_is_sound_that_is(text: str) -> None:
    assert not called(text, wanted=ERRORS.__contains__).found


def test_a_norm_is_reported_that_is_made_for_what_is_projected_and_given_a_head() -> None:
    [(finding, _)] = called(HEADS, wanted=ERRORS.__contains__).found
    assert finding.message == "`q_norm` is made for `config.dim` features, and given those of one head"
