"""The norms that a module makes: those that it never applies, or applies in another one's place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from normlint.engine import importers
from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.linter import check_path
from normlint.engine.selection import Demand
from normlint.rules.callers import called
from normlint.text.making import may_make
from tests.rules.test_callers import laid

RULES = ("NRM711", "NRM712")


def found(text: str, path: str = "", codes: Sequence[str] = RULES) -> list[tuple[str, str]]:
    several = called(text, path, codes.__contains__).found if may_make(text) else ()
    return [(finding.code, finding.message) for finding, _ in several]


BLOCK = """\
from torch import nn

class Block(nn.Module):
    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.norm2 = norm_layer(dim)
        self.mlp = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.mlp(self.norm1(x))
"""
ATTENTION = """\
class Attention(nn.Module):
    def forward(self, x):
        q, k = self.to_q(x), self.to_k(x)
        q = self.q_norm(q)
        k = self.q_norm(k)
        return q @ k.transpose(-2, -1) + self.k_norm.weight
"""
LAYER = """\
class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.ln2 = nn.LayerNorm(dim)

    def forward(self, x):
        if self.norm_first:
            x = x + self.attention(self.ln1(x))
            return x + self.mlp(self.ln2(x))
        else:
            x = self.ln1(x + self.attention(x))
            return self.ln1(x + self.mlp(x))
"""
MADE = "self.norm2 = norm_layer(dim)"
SILENT = {
    "a base may apply it": BLOCK.replace("(nn.Module)", "(Base)"),
    "a class without a forward is applied by others": BLOCK.replace("forward", "features"),
    "a subclass applies it": BLOCK + "\nclass Own(Block):\n    def forward(self, x):\n        return self.norm2(x)\n",
    "an owner applies it": BLOCK + "\ndef run(block, x):\n    return block.norm2(x)\n",
    "it is fetched by its name": BLOCK + "\ndef run(block, x):\n    return getattr(block, 'norm2')(x)\n",
    "the module is handed on": BLOCK.replace("x + self.mlp", "run(self, x) + self.mlp"),
    "all parts are applied": BLOCK.replace("x + self.mlp", "apply_all(self.children(), x) + self.mlp"),
    "it is handed to a container": BLOCK.replace(MADE, f"{MADE}\n        self.rest = nn.ModuleList([self.norm2])"),
    "another method applies it": BLOCK + "\n    def features(self, x):\n        return self.norm2(x)\n",
    "its comment says that it isn't used": BLOCK.replace(MADE, f"{MADE}  # not used, but the checkpoint has it"),
    "the comment above says so": BLOCK.replace(MADE, f"# unused\n        {MADE}"),
    "a layer whose name has norm in it": BLOCK.replace(MADE, "self.norm2 = weight_norm(nn.Linear(dim, dim))"),
    "a loss": BLOCK.replace(MADE, "self.norm2 = NormLoss(dim)"),
    "its gain alone is read": BLOCK.replace("x + self.mlp", "x * self.norm2.weight + self.mlp"),
    "its base is abstract": BLOCK.replace("return x + self.mlp(self.norm1(x))", "raise NotImplementedError"),
    "a base's header has several lines": BLOCK + "\nclass Own(\n    Block,\n):\n    def forward(self, x):\n"
    "        return self.norm2(x)\n",
    "a subclass has a base by another name": BLOCK + "\nBase = Block\n\nclass Own(Base):\n    def forward(self, x):\n"
    "        return self.norm2(x)\n",
    "a subclass stands in a branch": BLOCK + "\nif True:\n    class Own(Block):\n        def forward(self, x):\n"
    "            return self.norm2(x)\n",
    "its forward is replaced": BLOCK + "\ndef run(self, x):\n    return self.norm2(x)\n\nBlock.forward = run\n",
    "it has two names": BLOCK.replace(MADE, "self.norm2 = self.last = norm_layer(dim)"),
    "names are put together": BLOCK + "\ndef run(block, x, i):\n    return getattr(block, f'norm{i}')(x)\n",
    "the forward goes through all modules": BLOCK.replace("x + self.mlp", "run(self.modules(), x) + self.mlp"),
    "a length is no layer": BLOCK.replace(MADE, "self.norm2 = torch.norm(dim)"),
    "the comment above has several lines": BLOCK.replace(MADE, f"# A checkpoint has it,\n        # so\n        {MADE}"),
    "a variant shares it": "from torch import nn\n\n" + LAYER.replace("norm_first", "share"),
    "the keys have their own norm in the other branch": "from torch import nn\n\n" + ATTENTION.replace(
        "        k = self.q_norm(k)\n", "        if self.shared:\n            k = self.q_norm(k)\n        else:\n"
        "            k = self.k_norm(k)\n"),
    "there may be no norm of keys": "from torch import nn\n\n" + ATTENTION.replace(
        "        k = self.q_norm(k)\n", "        if self.k_norm is None:\n            k = self.q_norm(k)\n"),
    "a word only ends like a norm": "from torch import nn\n\n" + ATTENTION.replace("q_norm", "q_transform").replace(
        "k_norm", "k_transform"),
    "each norm has its own input": "from torch import nn\n\n" + ATTENTION.replace("self.q_norm(k)", "self.k_norm(k)"),
    "there is no norm of keys": "from torch import nn\n\n" + ATTENTION.replace("k_norm.weight", "scale"),
    "queries become keys": "from torch import nn\n\n" + ATTENTION.replace("k = self.q_norm(k)", "k = self.q_norm(q)"),
    "a norm of both": "from torch import nn\n\n" + ATTENTION.replace("q_norm", "qk_norm"),
    "both branches apply each": "from torch import nn\n\n" + LAYER.replace("return self.ln1", "return self.ln2"),
    "one branch has fewer": (
        "from torch import nn\n\n" + LAYER.replace("self.attention(self.ln1(x))", "self.ln2(self.attention(x))")
    ),
}  # fmt: skip
NEVER = ("NRM711", "`norm2` is never applied")
CROSSED = ("NRM712", "`q_norm` is applied to `k`, which `k_norm` is named for")
TWICE = ("NRM712", "`ln1` is applied twice, and `ln2`, which the other branch applies, is not")
FOUND = {
    "nothing applies it": (BLOCK, NEVER),
    "it is one of torch": (BLOCK.replace(MADE, "self.norm2: nn.Module = nn.LayerNorm(dim)"), NEVER),
    "it may be an Identity": (BLOCK.replace(MADE, f"{MADE} if dim else nn.Identity()"), NEVER),
    "its class is a parameter with a longer name": (BLOCK.replace("norm_layer", "qk_norm_layer"), NEVER),
    "it is made in a branch": (BLOCK.replace(MADE, f"if dim:\n            {MADE}"), NEVER),
    "another class applies its own": (BLOCK + BLOCK.replace("Block", "Other").replace("norm1(x)", "norm2(x)"),
                                      NEVER),
    "the constructor fills its gain": (
        BLOCK.replace(MADE, f"{MADE}\n        nn.init.zeros_(self.norm2.weight)"),
        NEVER,
    ),
    "another is applied twice": (
        BLOCK.replace("return x", "x = self.norm1(x)\n        return x"),
        ("NRM711", "`norm2` is never applied, and `norm1` is applied 2 times"),
    ),
    "no branch applies the other": (
        "from torch import nn\n\n" + LAYER.replace("self.mlp(self.ln2", "self.mlp(self.ln1"),
        ("NRM711", "`ln2` is never applied, and `ln1` is applied 4 times"),
    ),
    "a norm of queries gets keys": ("from torch import nn\n\n" + ATTENTION, CROSSED),
    "each norm gets what the next one is for": (
        "from torch import nn\n\n" + ATTENTION.replace("return", "v = self.k_norm(v)\n        return"), CROSSED,
    ),
    "a processor applies the norms of its module": (
        "from torch import nn\n\n" + ATTENTION.replace("(nn.Module)", "").replace("self.q_", "attn.q_"), CROSSED,
    ),
    "whole words are the names": (
        "from torch import nn\n\n" + ATTENTION.replace("k = self.q_norm(k)", "added_key = self.q_norm(added_key)"),
        ("NRM712", "`q_norm` is applied to `added_key`, which `k_norm` is named for"),
    ),
    "one branch applies a norm twice": ("from torch import nn\n\n" + LAYER, TWICE),
    "the branch that returns is the other": ("from torch import nn\n\n" + LAYER.replace(
        "        else:\n            x = self.ln1(x + self.attention(x))\n            return self.ln1",
        "        x = self.ln1(x + self.attention(x))\n        return self.ln1"), TWICE),
}  # fmt: skip


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_said_where(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_it_is_found_where(text: str, expected: tuple[str, str]) -> None:
    assert expected in found(text)


def reported(file: Path) -> list[str]:
    return [one.code for one in check_path(str(file), Demand()).findings if one.code in RULES]


USERS = {
    "by a name": "from pkg.block import Block\n\ndef run(x, b: Block):\n    return b.norm2(x)\n",
    "of one of several": "from pkg.block import Block\n\ndef run(x, m):\n    return m.blocks[-1].norm2(x)\n",
    "by a string": "from pkg.block import Block\n\ndef run(x, b):\n    return getattr(b, 'norm' + '2')(x)\n",
    "a decorated subclass": "from pkg.block import Block\n\n@register('last')\nclass Last(Block):\n"
    "    def forward(self, x):\n        return self.norm2(x)\n",
    "a subclass of a subclass": "from pkg.middle import Middle\n\nclass Last(Middle):\n    def forward(self, x):\n"
    "        return self.norm2(x)\n",
    "a mixin": "class Mixin:\n    def forward(self, x):\n        return self.norm2(x)\n",
    "a function that gets anything": "def run(module, x):\n    return module.norm2(x)\n",
    "by the package": "import pkg\n\ndef run(x):\n    return pkg.Block(8).norm2(x)\n",
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_another_file_of_the_package_applies_it(user: str, tmp_path: Path) -> None:
    file = laid(
        tmp_path, {"pkg/block.py": BLOCK, "pkg/__init__.py": "", "pkg/model.py": "from pkg.block import Block\n"}
    )
    importers._package.cache_clear()
    assert reported(file) == ["NRM711"]
    (file.parent / "other.py").write_text(user)
    importers._package.cache_clear()
    assert reported(file) == []


def test_another_class_that_applies_a_norm_of_its_own_is_no_use(tmp_path: Path) -> None:
    own = "from torch import nn\n\nclass Other(nn.Module):\n    def __init__(self):\n"
    own += "        self.norm2 = nn.LayerNorm(8)\n\n    def forward(self, x):\n        return self.norm2(x)\n"
    file = laid(tmp_path, {"block.py": BLOCK, "other.py": own})
    importers._package.cache_clear()
    importers._scripts.cache_clear()
    assert reported(file) == ["NRM711"]


def test_a_script_beside_the_package_applies_it(tmp_path: Path) -> None:
    file = laid(tmp_path, {"pkg/block.py": BLOCK, "pkg/__init__.py": "", "train.py": USERS["by a name"]})
    importers._package.cache_clear()
    importers._scripts.cache_clear()
    assert reported(file) == []


def test_a_norm_that_is_named_for_it_takes_the_place_of_another(tmp_path: Path) -> None:
    file = laid(tmp_path, {"attention.py": "from torch import nn\n\n" + ATTENTION})
    done = fix_file(str(file), FixRequest(Demand(unsafe=True)))
    assert isinstance(done, Fixed)
    assert done.after.text == "from torch import nn\n\n" + ATTENTION.replace("self.q_norm(k)", "self.k_norm(k)")


def test_another_class_of_the_text_is_no_norm_where_one_is_never_applied() -> None:
    act = "\nclass Act(nn.Module):\n    def forward(self, x):\n        return x.sigmoid() * x\n"
    assert found(BLOCK.replace(MADE, f"{MADE}\n        self.act = Act()") + act) == [NEVER]
