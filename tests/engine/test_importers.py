"""What a fix would break in code that uses the norm, in its own file and in others of its package."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from normlint.engine import importers
from normlint.engine.cache import Cache
from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.linter import check_path
from normlint.engine.run import check_cached
from normlint.engine.selection import Demand
from normlint.verify.program.prepare import prepare

HEAD = "import torch\nfrom torch import nn\n\n\n"
RETURNS = "        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight\n"
NORM = (
    HEAD
    + """class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
"""
    + RETURNS
)
IN_PLACE = NORM.replace(
    RETURNS,
    "        x.mul_(torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps))\n        return x.mul_(self.weight)\n",
)
UNUSED = NORM.replace(" * self.weight\n", "\n")
WIDE = NORM.replace(".to(x.dtype) * self.weight", " * self.weight.float()")
NO_EPS = NORM.replace("dim, eps=1e-6", "dim").replace("        self.eps = eps\n", "").replace(" + self.eps", "")
SUM = NORM.replace("mean(", "sum(")
HELPER = (
    "import torch\n\n\ndef mean_square(h):\n    return h.pow(2).mean(-1)\n\n\n"
    "def rms_norm(x, weight, eps=1e-6):\n    h = x.float()\n"
    "    return (h * torch.rsqrt(mean_square(h) + eps)).to(x.dtype) * weight\n"
)
IN_HALF = HELPER.replace("x.float()", "x").replace("mean(-1)", "mean(-1, keepdim=True)")
BLOCK = (
    "class Block(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
    "        self.norm = RMSNorm(dim)\n\n    def forward(self, x):\n        {}\n"
)
SUBCLASS = "class Scaled(RMSNorm):\n    {}\n"

# the norm, what is in another file, and the same where nothing relies on the change
USERS = {
    "the effect of a norm that is called for it": (
        IN_PLACE, BLOCK.format("self.norm(x); return x"), BLOCK.format("return self.norm(x)")),
    "the effect of a norm under another name": (
        IN_PLACE,
        "from .norms import RMSNorm as Norm\n\n\n" + BLOCK.format("self.norm(x); return x").replace("RMSNorm", "Norm"),
        BLOCK.format("return self.norm(x)")),
    "an output in fp32": (
        WIDE, BLOCK.format("return self.norm(x) @ self.out.float()"), BLOCK.format("return self.norm(x) @ self.out")),
    "a subclass whose eps is a property": (
        NO_EPS, SUBCLASS.format("@property\n    def eps(self):\n        return 1e-3"), SUBCLASS.format("scale = 2")),
    "a subclass that has no eps on purpose": (
        NO_EPS, SUBCLASS.format("eps = None"), SUBCLASS.format("slope = None")),
    "the effect on a part of a tensor": (
        IN_PLACE, BLOCK.format("self.norm(x[..., :8]); return x"), BLOCK.format("return self.norm(x[..., :8])")),
    "the effect on each tensor of a list": (
        IN_PLACE,
        BLOCK.format("for one in x:\n            self.norm(one)\n        return x"),
        BLOCK.format("return [self.norm(one) for one in x]")),
    "a sum that the caller multiplies with a root": (
        SUM,
        BLOCK.format("return self.norm(x) * self.scale").replace("    def forward", "        self.scale = dim**0.5\n\n"
                                                                "    def forward"),
        BLOCK.format("return self.norm(x) * self.scale").replace("    def forward", "        self.scale = dim / 2\n\n"
                                                                "    def forward")),
    "a gain that is filled with a root": (
        SUM,
        BLOCK.format("return self.norm(x)").replace(
            "    def forward", "        nn.init.constant_(self.norm.weight, dim**0.5)\n\n    def forward"),
        BLOCK.format("return self.norm(x)").replace(
            "    def forward", "        nn.init.constant_(self.norm.weight, 1.0)\n\n    def forward")),
    "a helper that others call": (
        HELPER,
        "from .norms import mean_square\n\n\ndef energy(x):\n    return mean_square(x).sum(-1)\n",
        "from .norms import rms_norm\n\n\ndef energy(x):\n    return rms_norm(x, 1).sum(-1)\n"),
}  # fmt: skip


def fixed(folder: Path, norm: str, user: str, name: str = "user.py", *, unsafe: bool = False) -> Fixed:
    package = folder / "package"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "norms.py").write_text(norm)
    (package / name).write_text(user if "import" in user else f"{HEAD}from .norms import RMSNorm\n\n\n{user}")
    done = fix_file(str(package / "norms.py"), FixRequest(Demand(unsafe=unsafe)))
    assert isinstance(done, Fixed)
    return done


@pytest.mark.parametrize(("norm", "relying", "other"), USERS.values(), ids=USERS)
def test_a_fix_is_left_out_where_another_file_relies_on(
    norm: str, relying: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normlint.engine.importers._FRESH", 1e-9)  # the file is read again at once
    assert fixed(tmp_path, norm, other).changed
    done = fixed(tmp_path, norm, relying)
    assert not done.changed
    assert any("user.py relies on what it changes" in note.message for note in done.report.notes)


# the code of a finding, its file, what another file holds that makes it unfounded, and what leaves it true
CLEARED = {
    "a gain that is applied by a subclass": (
        "NRM505", UNUSED,
        SUBCLASS.format("def forward(self, x):\n        return super().forward(x) * self.weight"),
        SUBCLASS.format("def forward(self, x):\n        return super().forward(x) * 2")),
    "a gain that a subclass hands to a function": (
        "NRM505", UNUSED,
        SUBCLASS.format("def forward(self, x):\n        return scaled(super().forward(x), self.weight)"),
        SUBCLASS.format("def forward(self, x):\n        nn.init.ones_(self.weight); return super().forward(x)")),
    "a gain that is applied by the caller": (
        "NRM505", UNUSED, BLOCK.format("return self.norm(x) * self.norm.weight"), BLOCK.format("return self.norm(x)")),
    "a gain that the model fills by its class": (
        "NRM504", NORM.replace("ones(", "empty("),
        "class Model(nn.Module):\n    def _init_weights(self, m):\n        if isinstance(m, RMSNorm):\n"
        "            m.weight.data.fill_(1.0)\n",
        "class Model(nn.Module):\n    def _init_weights(self, m):\n        if isinstance(m, nn.LayerNorm):\n"
        "            m.weight.data.fill_(1.0)\n"),
    "a gain that the model fills by its name": (
        "NRM504", NORM.replace("ones(", "empty("),
        BLOCK.format("return self.norm(x)") + "\n    def post_init(self):\n"
        "        for name, p in self.named_parameters():\n            if 'norm' in name:\n"
        "                nn.init.ones_(p)\n",
        BLOCK.format("return self.norm(x)") + "\n    def post_init(self):\n        nn.init.ones_(self.out)\n"),
    "a gain of zeros that the model fills with ones": (
        "NRM406", NORM.replace("ones(", "zeros("),
        "def _init_weights(module):\n    if isinstance(module, RMSNorm):\n        nn.init.ones_(module.weight)\n",
        "def _init_weights(module):\n    if isinstance(module, nn.Linear):\n        nn.init.ones_(module.weight)\n"),
    "an eps that a subclass uses": (
        "NRM304", NORM.replace("+ self.eps", "+ 1e-6"),
        SUBCLASS.format("def forward(self, x):\n        return x / (x.norm() + self.eps)"),
        SUBCLASS.format("def forward(self, x):\n        return x / (x.norm() + 1e-5)")),
    "a helper whose callers all hand it fp32": (
        "NRM201", IN_HALF,
        "from .norms import rms_norm as norm\n\n\ndef block(x, w):\n    return norm(x.float(), w).type_as(x)\n",
        "from .norms import rms_norm\n\n\ndef block(x, w):\n    return rms_norm(x, w).float()\n"),
    "a helper that one caller of two hands halves": (
        "NRM201", IN_HALF,
        "from .norms import rms_norm\n\n\ndef block(x, w):\n    h = F.rms_norm(x, (8,))\n"
        "    return rms_norm(h.float(), w).type_as(x) + rms_norm(x.float(), w).type_as(x)\n",
        "from .norms import rms_norm\n\n\ndef block(x, w):\n"
        "    return rms_norm(x.float(), w).type_as(x) + rms_norm(x.float().half(), w).type_as(x)\n"),
    "a gain that the caller's own function fills": (
        "NRM504", NORM.replace("ones(", "empty("),
        BLOCK.format("return self.norm(x)") + "\n    def fill(self):\n        nn.init.ones_(self.norm.weight)\n",
        BLOCK.format("return self.norm(x)") + "\n    def fill(self):\n        nn.init.ones_(self.out.weight)\n"),
    "a gain of another name that the model fills": (
        "NRM504", NORM.replace("ones(", "empty(").replace("weight", "gain"),
        "def fill(module):\n    if isinstance(module, RMSNorm):\n        nn.init.ones_(module.gain)\n",
        "def fill(module):\n    if isinstance(module, RMSNorm):\n        nn.init.ones_(module.other)\n"),
    "an eps that the caller reads": (
        "NRM304", NORM.replace("+ self.eps", "+ 1e-6"),
        BLOCK.format("return self.norm(x) + self.norm.eps"),
        BLOCK.format("return self.norm(x) + self.eps + self.config.eps")),
    "a bias that a subclass hands on": (
        "NRM505", UNUSED,
        SUBCLASS.format("def forward(self, x):\n        return scaled(x, self.weight)"),
        SUBCLASS.format("def forward(self, x):\n        self.weight = None\n        return self.weight is None")),
    "an attribute that a subclass sets": (
        "NRM509", NORM.replace("+ self.eps", "+ self.floor"),
        SUBCLASS.format("def build(self):\n        self.floor = 1e-6"),
        SUBCLASS.format("def build(self):\n        return self.floor")),
    "an attribute that a model sets": (
        "NRM509", NORM.replace("+ self.eps", "+ self.floor"),
        BLOCK.format("self.norm.floor = 1e-6\n        return self.norm(x)"), BLOCK.format("return self.norm(x)")),
    "an eps for exploration": (
        "NRM701", HEAD + "class Policy(nn.Module):\n    def __init__(self, dim, eps=1e-3):\n"
        "        super().__init__()\n"
        "        self.net = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim))\n        self.eps = eps\n",
        "from .norms import Policy\n\n\ndef act(policy, p):\n    return (1 - policy.eps) * p\n",
        "from .norms import Policy\n\n\ndef act(policy, p):\n    policy.eps = 1\n    return policy.net(p)\n"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "norm", "clearing", "other"), CLEARED.values(), ids=CLEARED)
def test_nothing_is_found_where_another_file_has(
    code: str, norm: str, clearing: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normlint.engine.importers._FRESH", 1e-9)  # the file is read again at once
    monkeypatch.chdir(tmp_path)
    cache = Cache(str(tmp_path / "cache"))
    for text, found in [(other, True), (clearing, False), (other, True)]:
        fixed(tmp_path, norm, text)
        (report,) = check_cached([(os.path.join("package", "norms.py"), Demand())], cache, 1, norms=False)
        assert (code in {one.code for one in report.findings}) is found


def test_a_norm_of_the_same_name_elsewhere_makes_nothing_unfounded(tmp_path: Path) -> None:
    other = tmp_path / "package" / "other"
    other.mkdir(parents=True)
    (other / "norms.py").write_text(NORM)
    (other / "user.py").write_text(f"{HEAD}from .norms import RMSNorm\n\n\n{CLEARED['an eps that a subclass uses'][2]}")
    done = fixed(tmp_path, NORM.replace("+ self.eps", "+ 1e-6"), "")
    assert [one.code for one in done.report.findings] == []
    assert done.changed


def test_a_norm_whose_finding_another_file_clears_is_not_run(tmp_path: Path) -> None:
    for user, run in [(CLEARED["a gain that is applied by the caller"][2], False), ("", True)]:
        fixed(tmp_path, UNUSED, user)
        importers._package.cache_clear()
        (norm,) = check_path(str(tmp_path / "package" / "norms.py"), Demand(prepare=prepare)).norms
        assert (norm.pending is not None) is run


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "norms (1) ** +.py"
    path.write_text(UNUSED)
    (tmp_path / "user.py").write_text(f"{HEAD}from norms import RMSNorm\n\n\n{BLOCK.format('return self.norm(x)')}")
    report = check_path(str(path), Demand())
    assert ([one.code for one in report.findings], report.errors) == (["NRM505"], ())


def test_of_a_folder_of_scripts_only_the_nearest_files_are_read(tmp_path: Path) -> None:
    far = tmp_path / "a" / "b"
    far.mkdir(parents=True)
    (tmp_path / "norms.py").write_text(UNUSED)
    user = f"{HEAD}from norms import RMSNorm\n\n\n{CLEARED['a gain that is applied by the caller'][2]}"
    for at, found in [(far, ["NRM505"]), (tmp_path / "a", []), (tmp_path, [])]:
        (at / "user.py").write_text(user)
        importers._package.cache_clear()
        assert [one.code for one in check_path(str(tmp_path / "norms.py"), Demand()).findings] == found
        (at / "user.py").unlink()


def test_a_plain_gain_that_another_module_sets_is_no_parameter(tmp_path: Path) -> None:
    norm = NORM.replace("nn.Parameter(torch.ones(dim))", "torch.ones(dim)")
    setting = BLOCK.format("self.norm.weight = 1 + x.mean(); return self.norm(x)")
    assert not fixed(tmp_path, f"{norm}\n\n{setting}", "", unsafe=True).changed
    assert fixed(tmp_path, f"{norm}\n\n{BLOCK.format('return self.norm(x)')}", "", unsafe=True).changed


BY_HAND = """class Norm:
    def forward(self, x):
        self.kept = x.float()
        rms = torch.sqrt(self.kept.pow(2).mean(-1, keepdim=True))
        return (self.kept / rms).to(x.dtype)

    def {}(self, dy):
        rms = torch.sqrt(self.kept.pow(2).mean(-1, keepdim=True))
        n = self.kept / rms
        return (dy - n * (dy * n).mean(-1, keepdim=True)) / rms
"""


@pytest.mark.parametrize(("name", "changed"), [("backward", False), ("pulled_back", True)])
def test_a_forward_is_left_alone_where_its_backward_is_written_by_hand(
    name: str, *, changed: bool, tmp_path: Path
) -> None:
    done = fixed(tmp_path, HEAD + BY_HAND.replace("Norm:", "RMSNorm:").format(name), "", unsafe=True)
    assert done.changed is changed


def test_an_eps_is_a_number_where_the_class_has_a_method_of_that_name(tmp_path: Path) -> None:
    done = fixed(
        tmp_path, NO_EPS.replace("    def forward", "    def eps(self):\n        return 0\n\n    def forward"), ""
    )
    assert "keepdim=True) + 1e-6)" in done.after.text


@pytest.mark.parametrize("name", ["the effect of a norm that is called for it", "a subclass whose eps is a property"])
def test_a_fix_is_left_out_where_its_own_file_relies_on(name: str, tmp_path: Path) -> None:
    norm, relying, _ = USERS[name]
    assert not fixed(tmp_path, f"{norm}\n\n{relying}", "").changed


USED_RIGHTLY = {
    "its gain is filled": (UNUSED, BLOCK.format("nn.init.ones_(self.norm.weight); return self.norm(x)")),
    "its gain's device is asked for": (UNUSED, BLOCK.format("return self.norm(x.to(self.norm.weight.device))")),
    "a comment speaks of fp32": (WIDE, BLOCK.format("return self.norm(x)  # in float32")),
    "it is called to warm up": (IN_PLACE, BLOCK.format("self.norm(torch.ones(2, 8)); return self.norm(x)")),
    "a subclass has a local variable of this name": (
        NO_EPS, SUBCLASS.format("def slope(self):\n        eps = 1\n        return eps")),
    "attention is scaled": (
        SUM, BLOCK.format("return self.norm(x) * x.shape[-1] ** -0.5")),
    "a branch is scaled": (SUM, BLOCK.format("return (0.5**0.5 + math.sqrt(0.5)) * self.norm(x) * 1 / math.sqrt(12)")),
    "numbers of what warms it up are read": (
        IN_PLACE, BLOCK.format("n = 2; self.norm(torch.ones(n, 8)); return self.norm(x)[:n]")),
    "a backward goes through a loss": (
        SUM + "\n    def backward(self, loss):\n        loss.backward()\n", BLOCK.format("return self.norm(x)")),
    "torch's norm of this name is used": (
        IN_PLACE, "from torch.nn import RMSNorm\n\n\n" + BLOCK.format("self.norm(x); return x")),
    "a helper of this name is its own": (
        HELPER, "from .norms import rms_norm\n\n\ndef mean_square(h):\n    return rms_norm(h, 1).mean_square\n"),
}  # fmt: skip


@pytest.mark.parametrize(("norm", "user"), USED_RIGHTLY.values(), ids=USED_RIGHTLY)
def test_a_fix_is_made_where(norm: str, user: str, tmp_path: Path) -> None:
    assert fixed(tmp_path, norm, user).changed


def test_a_file_that_imports_nothing_of_it_is_no_user(tmp_path: Path) -> None:
    assert fixed(
        tmp_path, IN_PLACE, "import torch\n\n\n" + USERS["the effect of a norm that is called for it"][1]
    ).changed
