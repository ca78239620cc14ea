"""What the constructors of norms are given, and whether they take it."""

from __future__ import annotations

import pytest

from normlint.evaluate.ops.signatures import overloads, public
from normlint.rules.callers import called
from normlint.text.making import TORCHS, may_make

HEAD = "import torch\nfrom torch import nn\n\n"
OWN = """\
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, *, scale=True):
        super().__init__()
        self.eps = eps

"""


def found(text: str) -> list[str]:
    several = called(text, "", ("NRM715",).__contains__).found if may_make(text) else ()
    return [finding.message for finding, _ in several]


FROM = "from torch.nn import LayerNorm, Module\nfrom torch import nn\n\n"

SILENT = {
    "what an imported norm of torch takes": FROM + "norm = LayerNorm(8, eps=1e-6, bias=False)\n",
    "an imported norm of another library": "import torch\nfrom apex import LayerNorm\n\nnorm = LayerNorm(8, e=1)\n",
    "a norm that two libraries may give": (
        "try:\n    from apex import LayerNorm\nexcept ImportError:\n    from torch.nn import LayerNorm\n\n"
        "norm = LayerNorm(8, memory_efficient=True)\n"
    ),
    "an imported norm that a star import may replace": FROM + "from fast import *\nnorm = LayerNorm(8, kind=1)\n",
    "a package that is called torch": "import torch\nfrom .torch import nn\n\nnorm = nn.LayerNorm(8, e=1)\n",
    "a norm that is put into torch.nn": "import torch\n\ntorch.nn.LayerNorm = Fast\n"
    + FROM
    + "norm = LayerNorm(8, kind=1)\n",
    "a norm that is put into the module": FROM
    + "sys.modules[__name__].LayerNorm = Fast\nnorm = LayerNorm(8, kind=1)\n",
    "names that are bound by vars": FROM + "vars()['LayerNorm'] = Fast\nnorm = LayerNorm(8, kind=1)\n",
    "a name that a pattern binds": (
        FROM + "def make(kind):\n    match kind:\n        case LayerNorm:\n            return LayerNorm(8, kind=1)\n"
    ),
    "what a function is expected to raise": FROM + "self.assertRaises(TypeError, lambda: LayerNorm(8, kind=1))\n",
    "an imported norm that is bound again": FROM + "LayerNorm = wrapped(LayerNorm)\nnorm = LayerNorm(8, kind=1)\n",
    "an imported norm with a class of its name": FROM
    + OWN.replace("RMSNorm", "LayerNorm")
    + "norm = LayerNorm(8, kind=1)\n",
    "a module under torch.nn's alias and another's": (
        "import torch.nn as tnn\nimport paddle.nn as tnn\n\nnorm = tnn.LayerNorm(8, epsilon=1e-6)\n"
    ),
    "what torch's norm takes": HEAD + "norm = nn.LayerNorm(8, eps=1e-6, bias=False, device='cpu')\n",
    "what torch's norm of groups takes": HEAD + "norm = nn.GroupNorm(4, num_channels=8)\n",
    "unknown arguments": HEAD + "norm = nn.LayerNorm(*sizes, **options)\n",
    "a norm of another library": "import mlx.nn as nn\n\nnorm = nn.LayerNorm(8, affine=False, epsilon=1e-6)\n",
    "a norm of a library that isn't imported here": "norm = nn.GroupNorm(num_groups=8, epsilon=1e-5)\n",
    "a norm that torch doesn't have, under another's name": HEAD + "norm = nn.PixelNorm(8)\n",
    "what the text's class takes": HEAD + OWN + "norm = RMSNorm(8, 1e-6, scale=False)\n",
    "a class that takes anything": HEAD + OWN.replace("scale=True", "**options") + "norm = RMSNorm(8, any=1)\n",
    "a class that is defined twice": HEAD + OWN + OWN.replace("scale", "other") + "norm = RMSNorm(8, scale=1)\n",
    "a class that is defined again in a function": (
        HEAD + OWN + "def f():\n    class RMSNorm:\n        def __init__(self, kind): ...\n    return RMSNorm(kind=1)\n"
    ),
    "a class that is bound again": HEAD + OWN + "RMSNorm = other(RMSNorm)\nnorm = RMSNorm(8, kind=1)\n",
    "a class that an import may replace": (
        HEAD + OWN + "try:\n    from fast import RMSNorm\nexcept ImportError:\n    pass\nnorm = RMSNorm(8, kind=1)\n"
    ),
    "a decorated class": HEAD + "@registered\n" + OWN + "norm = RMSNorm(8, kind=1)\n",
    "a class with a metaclass": HEAD + OWN.replace("Module)", "Module, metaclass=M)") + "norm = RMSNorm(8, kind=1)\n",
    "a decorated constructor": HEAD + OWN.replace("    def", "    @lenient\n    def") + "norm = RMSNorm(8, kind=1)\n",
    "a class made by __new__": (
        HEAD + OWN + "    def __new__(cls, *args, **kwargs):\n        return cls\n\nnorm = RMSNorm(8, kind=1)\n"
    ),
    "torch.nn under a name that is a parameter": HEAD + "def make(nn):\n    return nn.Layernorm(8)\n",
    "a library that is chosen at run time": (
        "import torch.nn as nn\nimport paddle\n\nif paddle:\n    nn = paddle.nn\nnorm = nn.LayerNorm(8, epsilon=1e-6)\n"
    ),
    "a name that is put into torch.nn": HEAD + "nn.Layer_Norm = X\nnorm = nn.Layer_Norm(8)\n",
    "a name that is asked for": HEAD + "norm = nn.RmsNorm(8) if hasattr(nn, 'RmsNorm') else nn.RMSNorm(8)\n",
    "what a test expects to raise": (
        HEAD + "def test_it():\n    with pytest.raises(TypeError):\n        nn.LayerNorm(8, epsilon=1e-6)\n"
    ),
    "what is tried": HEAD + "try:\n    norm = nn.LayerNorm(8, epsilon=1)\nexcept TypeError:\n    norm = None\n",
    "a class that a parameter stands for": HEAD + OWN + "def make(RMSNorm):\n    return RMSNorm(8, kind=1)\n",
    "a class that is bound with another": HEAD
    + OWN
    + "RMSNorm, old = wrap(RMSNorm), RMSNorm\nnorm = RMSNorm(8, kind=1)\n",
    "a constructor that is replaced": HEAD + OWN + "RMSNorm.__init__ = other\nnorm = RMSNorm(8, kind=1)\n",
    "a base with a metaclass": (
        HEAD
        + "class Base(nn.Module, metaclass=M):\n    pass\n\n"
        + OWN.replace("nn.Module", "Base")
        + "norm = RMSNorm(8, kind=1)\n"
    ),
    "a constructor for each case": (
        HEAD + "class RMSNorm(nn.Module):\n    if FAST:\n        def __init__(self, dim, kind): ...\n"
        "    else:\n        def __init__(self, dim): ...\n\nnorm = RMSNorm(8, kind=1)\n"
    ),
    "names that are bound by strings": HEAD + OWN + "globals()['RMSNorm'] = other\nnorm = RMSNorm(8, kind=1)\n",
    "a class whose base isn't known": HEAD + "class MyNorm(Base):\n    pass\n\nnorm = MyNorm(8, kind=1)\n",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_accepted_is(text: str) -> None:
    assert not found(text)


FOUND = {
    "a keyword of another library": ("nn.LayerNorm(8, epsilon=1e-6)", "`LayerNorm` takes no `epsilon`"),
    "a keyword of torch's other norms": ("nn.LayerNorm(8, affine=False)", "`LayerNorm` takes no `affine`"),
    "groups without channels": ("nn.GroupNorm(8)", "`GroupNorm` needs `num_channels`"),
    "a norm in another case": ("nn.Layernorm(8)", "torch.nn has no `Layernorm`: is `LayerNorm` meant?"),
    "a function's name": ("torch.nn.layer_norm(8)", "torch.nn has no `layer_norm`: is `LayerNorm` meant?"),
    "a keyword that the text's class lacks": ("RMSNorm(8, bias=False)", "`RMSNorm` takes no `bias`"),
    "more arguments than the text's class takes": ("RMSNorm(8, 1e-6, True)", "`RMSNorm` takes 1 fewer argument"),
    "one that is given twice": ("RMSNorm(8, 1e-6, eps=1e-5)", "`RMSNorm` is given `eps` twice"),
    "one of torch's that is given twice": ("nn.LayerNorm(8, 1e-6, eps=1e-5)", "`LayerNorm` is given `eps` twice"),
    "one that is missing": ("RMSNorm(eps=1e-5)", "`RMSNorm` needs `dim`"),
    "nothing, where torch needs a shape": ("nn.RMSNorm()", "`RMSNorm` needs `normalized_shape`"),
    "more than torch takes": ("nn.RMSNorm(8, None, True, None, None, 1)", "`RMSNorm` takes 1 fewer argument"),
}


@pytest.mark.parametrize(("call", "message"), FOUND.values(), ids=FOUND)
def test_reported_is(call: str, message: str) -> None:
    text = HEAD + OWN + f"class Block(nn.Module):\n    def __init__(self):\n        self.norm = {call}\n"
    assert found(text) == [message]


MODULES = {
    "a name that torch.nn gives": ("from torch.nn import LayerNorm", "LayerNorm"),
    "one of several names": ("from torch.nn import Linear, LayerNorm", "LayerNorm"),
    "a name of many lines": ("from torch.nn import (\n    Linear,\n    LayerNorm,\n)", "LayerNorm"),
    "the file that has torch's norms": ("from torch.nn.modules.normalization import LayerNorm", "LayerNorm"),
    "torch.nn under another name": ("import torch.nn as tnn", "tnn.LayerNorm"),
}


@pytest.mark.parametrize(("line", "name"), MODULES.values(), ids=MODULES)
def test_a_wrong_argument_is_reported_for(line: str, name: str) -> None:
    assert found(f"import torch\n{line}\n\nnorm = {name}(8, epsilon=1e-6)\n") == ["`LayerNorm` takes no `epsilon`"]


def written(name: str) -> tuple[str, ...]:
    """The parameters of a norm of torch as the prefilter writes them."""
    params = overloads(f"torch.nn.{name}")[0]
    places = [f"{p.name}{'=' * (p.default is not None)}" for p in params if not p.keyword]
    named = [f"{p.name}{'=' * (p.default is not None)}" for p in params if p.keyword]
    return (*places, *(["*"] if named else []), *named)


def test_the_prefilter_knows_what_torch_has() -> None:
    assert {name: written(name) for name in public("nn") if "Norm" in name} == TORCHS
