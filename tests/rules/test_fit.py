"""What a norm is made with, what feeds it and what trains it: what is never said, and what is."""

from __future__ import annotations

from pathlib import Path

import pytest

from normlint.rules.callers import called
from normlint.text.making import may_make
from tests.rules.test_callers import laid

REVIEWS = ("NRM708", "NRM709", "NRM710")


def codes(text: str, path: str = "") -> list[str]:
    return [finding.code for finding, _ in called(text, path, REVIEWS.__contains__).found] if may_make(text) else []


MODEL = """\
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.mlp = nn.Linear(dim, dim)

"""
OWN = MODEL.replace("nn.LayerNorm", "RMSNorm")
LISTED = """\
def groups(model, wd):
    parts = ["bias", "LayerNorm.weight"]
    decayed = [p for n, p in model.named_parameters() if not any(part in n for part in parts)]
    spared = [p for n, p in model.named_parameters() if any(part in n for part in parts)]
    return [{"params": decayed, "weight_decay": wd}, {"params": spared, "weight_decay": 0.0}]
"""
WRITTEN = '["bias", "LayerNorm.weight"]'
SORTED = """\
def groups(model, wd):
    decayed, spared = [], []
    for name, p in model.named_parameters():
        if "LayerNorm" in name or name.endswith("bias"):
            spared.append(p)
        else:
            decayed.append(p)
    return [{"params": decayed, "weight_decay": wd}, {"params": spared, "weight_decay": 0}]
"""
TYPED = """\
def groups(model, wd):
    spared = [p for m in model.modules() if isinstance(m, (nn.LayerNorm, nn.Embedding)) for p in m.parameters()]
    known = {id(p) for p in spared}
    decayed = [p for p in model.parameters() if id(p) not in known]
    return [{"params": decayed, "weight_decay": wd}, {"params": spared, "weight_decay": 0.0}]
"""
MINGPT = """\
def optimizer_of(model, wd):
    decay, no_decay = set(), set()
    whitelist = (nn.Linear,)
    blacklist = (nn.LayerNorm, nn.Embedding)
    for mn, m in model.named_modules():
        for pn, p in m.named_parameters():
            fpn = f"{mn}.{pn}" if mn else pn
            if pn.endswith("bias"):
                no_decay.add(fpn)
            elif pn.endswith("weight") and isinstance(m, whitelist):
                decay.add(fpn)
            elif pn.endswith("weight") and isinstance(m, blacklist):
                no_decay.add(fpn)
    named = {pn: p for pn, p in model.named_parameters()}
    assert len(named.keys() - (decay | no_decay)) == 0
    return torch.optim.AdamW([
        {"params": [named[pn] for pn in sorted(list(decay))], "weight_decay": wd},
        {"params": [named[pn] for pn in sorted(list(no_decay))], "weight_decay": 0.0},
    ])
"""
RUN = """\
class Run:
    def __init__(self):
        self.bert = bert()

    def groups(self, wd):
        parts = ["bias", "LayerNorm.weight"]
        decayed = [p for n, p in self.bert.named_parameters() if not any(part in n for part in parts)]
        spared = [p for n, p in self.bert.named_parameters() if any(part in n for part in parts)]
        return [{"params": decayed, "weight_decay": wd}, {"params": spared, "weight_decay": 0.0}]
"""
OWN_GROUP = """
    other = [p for n, p in model.named_parameters() if "ln" in n]
    return [OTHER, """
ZERO = "dict(params=other, weight_decay=0.0)"
NAMED = """\
    named = [(n, p) for n, p in model.named_parameters() if "ln" not in n]
    parts"""
SPARED = {
    "a part is in the attribute's name": MODEL + LISTED.replace(WRITTEN, '["bias", "ln_", "LayerNorm.weight"]'),
    "a part is in the gain's name": OWN + LISTED.replace(WRITTEN, '["bias", "norm", "scale"]'),
    "a part is in the name of what holds the norm": MODEL
    + LISTED.replace(WRITTEN, '["bias", "norm"]')
    + "class Model(nn.Module):\n    def __init__(self):\n        self.normed = Block(8)\n",
    "a part runs over two names": MODEL
    + LISTED.replace(WRITTEN, '["bias", "norms.0.ln", "layer.ln_1.weight", "LayerNorm"]')
    + "class Model(nn.Module):\n    def __init__(self):\n        self.layer = Block(8)\n",
    "the names are written small": MODEL.replace("ln_1", "LNorm")
    + LISTED.replace("part in n ", "part in n.lower() ").replace(WRITTEN, '["bias", "norm"]'),
    "no part speaks of norms": MODEL + LISTED.replace(WRITTEN, '["bias"]'),
    "another norm of the text is spared": MODEL.replace(
        "        self.mlp", "        self.LayerNorm = nn.LayerNorm(dim)\n        self.mlp"
    )
    + LISTED,
    "the list comes from elsewhere": MODEL + LISTED.replace(WRITTEN, "model.no_decay"),
    "the list grows": MODEL + LISTED.replace("    decayed", '    parts += ["ln"]\n    decayed'),
    "the list grows by a call": MODEL + LISTED.replace("    decayed", '    parts.append("ln")\n    decayed'),
    "the list is one of two": MODEL + LISTED.replace(WRITTEN, f'{WRITTEN} if bert else ["ln"]'),
    "callers pass the list by name": MODEL
    + LISTED.replace(f"    parts = {WRITTEN}\n", "").replace("model, wd", f"model, wd, parts={WRITTEN}")
    + 'groups(Block(8), 0.1, parts=["ln"])\n',
    "the names are matched from the start": MODEL + LISTED.replace("part in n ", "n.startswith(part) "),
    "vectors are told by their axes": MODEL + LISTED.replace("parts)]", "parts) or p.ndim < 2]"),
    "a loop sorts them": MODEL + SORTED,
    "another list is added": MODEL + LISTED.replace("    return", "    spared += model.norms()\n    return"),
    "another function makes the list": MODEL + LISTED.replace("    return", "    spared = norms(model)\n    return"),
    "the norms are left out before": MODEL
    + LISTED.replace("    parts", NAMED, 1).replace("in model.named_parameters()", "in named"),
    "the norms aren't in the other group": MODEL + LISTED.replace("if not any", 'if "ln" not in n and not any'),
    "no group decays": MODEL + LISTED.replace('"weight_decay": wd', '"weight_decay": 0.0'),
    "the list grows at the top": MODEL
    + f"PARTS = {WRITTEN}\nPARTS += ['ln']\n\n"
    + LISTED.replace("in parts", "in PARTS"),
    "the norms have a group of their own": MODEL
    + LISTED.replace("    return [", OWN_GROUP.replace("OTHER", ZERO.replace("0.0", "wd / 2"))).replace(
        "if not any", 'if "ln" not in n and not any'
    ),
    "the norms have a group that dict makes": MODEL + LISTED.replace("    return [", OWN_GROUP.replace("OTHER", ZERO)),
    "models are loaded": MODEL + LISTED + "bert = AutoModel.from_pretrained('bert')\n",
    "the model is of another package": MODEL + LISTED.replace("    parts", "    model = bert(wd)\n    parts", 1),
    "a part of the model is of another package": MODEL + RUN,
    "the norm has no gain": MODEL.replace("LayerNorm(dim)", "LayerNorm(dim, elementwise_affine=False)") + LISTED,
    "the norm's class stands elsewhere": MODEL.replace("nn.LayerNorm", "layers.LayerNorm") + LISTED,
    "the norm is of its class": MODEL + TYPED,
    "the norm's own class is asked for": OWN + TYPED.replace("nn.LayerNorm", "RMSNorm"),
    "a class of another file is asked for": OWN + TYPED.replace("nn.LayerNorm", "LlamaRMSNorm"),
    "the classes come from elsewhere": OWN + TYPED.replace("(nn.LayerNorm, nn.Embedding)", "NORMS"),
    "the norm derives from another class": OWN.replace("RMSNorm(nn.Module)", "RMSNorm(Norm)") + TYPED,
    "minGPT lists its norms": MODEL + MINGPT,
    "minGPT lists its own norm": OWN.replace("scale", "weight") + MINGPT.replace("nn.LayerNorm", "RMSNorm"),
    "minGPT would fail on a norm that it doesn't list": OWN + MINGPT,
}
DECAYED = {
    "no part is in the name": MODEL + LISTED,
    "nor in that of a gain of its own": OWN + LISTED,
    "the list stands at the top": MODEL + f"PARTS = {WRITTEN}\n\n" + LISTED.replace("in parts", "in PARTS"),
    "the list is a default": MODEL
    + LISTED.replace(f"    parts = {WRITTEN}\n", "").replace("model, wd", f"model, wd, parts={WRITTEN}"),
    "the list is written where it is used": MODEL + LISTED.replace("in parts", f"in {WRITTEN}"),
    "the parameters have a name": MODEL
    + LISTED.replace("    parts", "    named = list(model.named_parameters())\n    parts", 1).replace(
        "in model.named_parameters()", "in named"
    ),
    "frozen parameters are left out": MODEL + LISTED.replace("parts)]", "parts) and p.requires_grad]"),
    "the model is one of the text": MODEL + LISTED.replace("    parts", "    model = Block(8)\n    parts", 1),
    "a part of the model is one of the text": MODEL + RUN.replace("bert()", "Block(8)"),
    "the class is another one": OWN + TYPED,
}


@pytest.mark.parametrize("text", SPARED.values(), ids=SPARED)
def test_no_gain_is_said_to_decay_where(text: str) -> None:
    compile(text, "text", "exec")
    assert codes(text) == []


@pytest.mark.parametrize("text", DECAYED.values(), ids=DECAYED)
def test_a_gain_is_said_to_decay_where(text: str) -> None:
    assert codes(text) == ["NRM708"]


SIZED = """\
from torch import nn

class Head(nn.Module):
    def __init__(self, dim, inner):
        super().__init__()
        self.first = nn.Linear(dim, inner)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.first(x)
        return self.norm(x)
"""
KEPT = """\
        self.dim = dim
        self.inner = inner
        super"""
FED = "x = self.first(x)\n        return self.norm(x)"
FITTING = {
    "the norm comes first": SIZED.replace(FED, "x = self.norm(x)\n        return self.first(x)"),
    "it is made for the output": SIZED.replace("LayerNorm(dim)", "LayerNorm(inner)"),
    "the layer keeps the size": SIZED.replace("dim, inner)\n        self.norm", "dim, dim)\n        self.norm"),
    "both sizes have one value": SIZED.replace("        super", "        inner = dim\n        super"),
    "the output's size is computed from the input's": SIZED.replace("dim, inner):", "dim):").replace(
        "        super", "        heads, part = 4, dim // 4\n        inner = heads * part\n        super"
    ),
    "attributes are computed from one another": SIZED.replace(
        "        super", KEPT.replace("= inner", "= 4 * (self.dim // 4)")
    )
    .replace("(dim, inner)\n", "(self.dim, self.inner)\n")
    .replace("LayerNorm(dim)", "LayerNorm(self.dim)"),
    "the input's size is computed from the output's": SIZED.replace(
        "        super", "        dim = inner // 2 * 2\n        super"
    ),
    "the output's size is written with the input's": SIZED.replace("(dim, inner)\n", "(dim, 4 * dim // 4)\n"),
    "a layer stands between both": SIZED.replace(FED, "x = self.out(self.first(x))\n        return self.norm(x)"),
    "the layer is left out sometimes": SIZED.replace(
        "x = self.first(x)", "if self.wide:\n            x = self.first(x)"
    ),
    "the norm is made for one of two places": SIZED.replace(
        "self.norm = nn.LayerNorm(dim)", "self.norm = nn.LayerNorm(dim) if first else nn.LayerNorm(inner)"
    ),
    "the norm is made twice": SIZED.replace(
        "        self.norm",
        "        if first:\n            self.norm = nn.LayerNorm(inner)\n        else:\n            self.norm",
    ),
    "the first argument isn't a size": SIZED.replace("nn.L", "algebra.L"),
}
UNFITTING = {
    "a name stands between both": SIZED,
    "the call is nested": SIZED.replace(FED, "return self.norm(self.first(x))"),
    "the sizes are attributes": SIZED.replace("        super", KEPT)
    .replace("(dim, inner)\n", "(self.dim, self.inner)\n")
    .replace("LayerNorm(dim)", "LayerNorm(self.dim)"),
    "the sizes are numbers": SIZED.replace("(dim, inner)\n", "(64, 128)\n").replace("LayerNorm(dim)", "LayerNorm(64)"),
    "one of the sizes has a default": SIZED.replace("        super", "        inner = inner or dim\n        super"),
    "the layer is made where the sizes differ": SIZED.replace(
        "nn.Linear(dim, inner)", "nn.Identity() if dim == inner else nn.Linear(dim, inner)"
    ),
}


@pytest.mark.parametrize("text", FITTING.values(), ids=FITTING)
def test_no_size_is_said_to_be_wrong_where(text: str) -> None:
    compile(text, "text", "exec")
    assert codes(text) == []


@pytest.mark.parametrize("text", UNFITTING.values(), ids=UNFITTING)
def test_a_size_is_said_to_be_that_of_the_input_where(text: str) -> None:
    assert codes(text) == ["NRM709"]


GATED = """\
from torch import nn

class GatedNorm(nn.Module):
    def __init__(self, dim, eps=1e-5, group_size=None, norm_before_gate=True):
        super().__init__()
        self.weight = nn.Parameter(dim)

"""
MIXER = """\
class Mixer(nn.Module):
    def __init__(self, dim, ngroups, ranks):
        super().__init__()
        self.dim = dim // ranks
        self.ngroups = ngroups // ranks
        self.norm = GatedNorm(self.dim, eps=1e-5, group_size=self.dim // self.ngroups)

    def forward(self, x, z):
        return fused(x, z, self.norm.weight, norm_before_gate=True)
"""
SIZE = ", group_size=self.dim // self.ngroups"
AGREEING = {
    "the groups are passed": MIXER,
    "the groups are passed by their place": MIXER.replace("eps=1e-5, group_size=", "1e-5, "),
    "what is passed is not to be seen": MIXER.replace(SIZE, ", **more"),
    "the owner has no groups": MIXER.replace("ngroups", "heads").replace(SIZE, ""),
    "the owner takes groups and keeps none": MIXER.replace("self.ngroups", "self.heads").replace(SIZE, ""),
    "the class takes no groups": MIXER.replace("GatedNorm", "nn.LayerNorm").replace(SIZE, ""),
    "one of two norms has groups": MIXER.replace(
        "        self.norm",
        "        if grouped:\n            self.norm = GatedNorm(dim)\n        else:\n            self.norm",
    ),
    "groups are chosen": MIXER.replace(SIZE + ")", SIZE + ") if ngroups > 1 else GatedNorm(self.dim)"),
    "nothing is divided among ranks": MIXER.replace(" // ranks", "").replace("// self.n", "// n"),
    "only the size is divided among ranks": MIXER.replace("ngroups // ranks", "ngroups").replace("// self.n", "// n"),
    "a flag is handed on": MIXER.replace("gate=True", "gate=self.before"),
    "a weight of another module is handed on": MIXER.replace("gate=True", "gate=False").replace(
        "self.norm.w", "self.out.w"
    ),
    "another object's weight is handed on": MIXER.replace("gate=True", "gate=False").replace(
        "self.norm.w", "stem.norm.w"
    ),
    "what is handed on isn't a weight": MIXER.replace("gate=True", "gate=False").replace("norm.weight", "norm.offset"),
    "the flag is another function's": MIXER.replace("norm_before_gate=True", "fast=False"),
}
DIFFERING = {
    "no groups are passed": MIXER.replace(SIZE, ""),
    "a part is divided by the groups of all": MIXER.replace("// self.n", "// n"),
    "a function is handed another flag": MIXER.replace("gate=True", "gate=False"),
    "a flag is passed, and its default isn't": MIXER.replace("eps=1e-5, ", "norm_before_gate=False, "),
    "a function is handed another eps": MIXER.replace("norm_before_gate=True", "eps=1e-6"),
}


@pytest.mark.parametrize("text", AGREEING.values(), ids=AGREEING)
def test_no_setting_is_said_to_differ_where(text: str) -> None:
    compile(text, "text", "exec")
    assert codes(GATED + text) == []


@pytest.mark.parametrize("text", DIFFERING.values(), ids=DIFFERING)
def test_a_setting_is_said_to_differ_where(text: str) -> None:
    assert codes(GATED + text) == ["NRM710"]


def test_a_norm_and_its_parameters_are_looked_up_where_they_stand(tmp_path: Path) -> None:
    text = f"from torch import nn\nfrom .norms import GatedNorm\n{DIFFERING['no groups are passed']}"
    file = laid(tmp_path, {"p/model.py": text, "p/norms.py": GATED})
    assert codes(text, str(file)) == ["NRM710"]
    assert codes(text) == []
