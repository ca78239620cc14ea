"""What stands around the norm: imports, constants, the constructor and its base class."""

from __future__ import annotations

from typing import Final

from tests.grid.endings import GAINS, INITS
from tests.grid.recipe import Recipe
from tests.grid.spellings import AXES, COUNTS
from tests.grid.writer import fill, function, indent

CLASSES: Final = {
    ("rms", "short names"): "RMSNorm",
    ("rms", "long names"): "LlamaRMSNorm",
    ("rms", "other names"): "SimpleRMSNorm",
    ("layer", "short names"): "LayerNorm",
    ("layer", "long names"): "BertLayerNorm",
    ("layer", "other names"): "SimpleLayerNorm",
}
UNUSED_EPS: Final = ("stored, a literal used", "accepted, a literal used", "stored, nothing used")
LITERAL: Final = "1e-6"


def class_name(r: Recipe) -> str:
    """What the norm's class is called."""
    return CLASSES[r.kind, r.names]


def function_name(r: Recipe) -> str:
    """What the norm's function is called."""
    return {"rms": "rms_norm", "layer": "layer_norm"}[r.kind]


def weight_name(r: Recipe) -> str:
    """What the gain is called."""
    return "gamma" if r.module and r.names == "other names" else "weight"


def bias_name(r: Recipe) -> str:
    """What the shift is called."""
    return "beta" if r.module and r.names == "other names" else "bias"


def imports(r: Recipe) -> list[str]:
    """The imports the recipe asks for; the unneeded ones are dropped later."""
    return {
        "plain imports": ["import math", "", "import torch"],
        "nn and F by import as": [
            "import math",
            "",
            "import torch",
            "import torch.nn as nn",
            "import torch.nn.functional as F",
        ],
        "from torch import nn": [
            "import math",
            "",
            "import torch",
            "from torch import Tensor, nn",
            "from torch.nn import functional as F",
        ],
        "torch as t": [
            "import math",
            "",
            "import torch as t",
            "import torch.nn.functional as F",
            "from torch import nn",
        ],
        "rsqrt by name": [
            "import math",
            "",
            "import torch",
            "import torch.nn as nn",
            "import torch.nn.functional as F",
            "from torch import float32, rsqrt, sqrt",
        ],
    }[r.imports]


def typed(r: Recipe, parameters: str) -> str:
    """A signature's parameters, annotated where the imports bring `Tensor`."""
    if r.imports != "from torch import nn":
        return parameters
    types = {"self": "", "eps": ": float"}
    names = [one.split("=") for one in parameters.split(", ")]
    said = [(name + types.get(name, ": Tensor"), value) for name, *value in names]
    return ", ".join(" = ".join([name, *value]) for name, value in said)


def returns(r: Recipe) -> str:
    """A signature's end."""
    return " -> Tensor" if r.imports == "from torch import nn" else ""


def _attribute(r: Recipe) -> str:
    return "self.variance_epsilon" if r.eps_from == "self.variance_epsilon" else "self.eps"


def _from_caller(r: Recipe) -> str:
    """Eps as the class's own methods see it."""
    own = {"a class's EPS": "self.EPS", "a module's EPS": "EPS", "a literal eps": r.eps_value}
    return own.get(r.eps_from, _attribute(r))


def eps_inside(r: Recipe) -> str:
    """Eps as the code that takes the statistic sees it."""
    if r.eps_from in UNUSED_EPS:
        return LITERAL
    if r.eps_from == "an eps parameter" or helper_eps(r):
        return "eps"
    return _from_caller(r)


def helper_eps(r: Recipe) -> str:
    """What a helper without `self` must be given."""
    given = ("self.eps", "self.variance_epsilon", "an eps set in __init__", "a class's EPS")
    return _from_caller(r) if r.helper and not r.has_self and r.eps_from in given else ""


def accepts_eps(r: Recipe) -> bool:
    """Whether the constructor, or the function, takes an eps."""
    return r.eps_from in ("self.eps", "self.variance_epsilon", "an eps parameter", *UNUSED_EPS)


def _parameters(r: Recipe, *, default: bool = True) -> str:
    """The constructor's parameters after `self`."""
    eps = ([f"eps={r.eps_value}"] if default else ["eps"]) if accepts_eps(r) else []
    typed = [f"eps: float = {r.eps_value}"] if accepts_eps(r) else []
    extra = ["elementwise_affine=True"] if "elementwise_affine" in _affine(r) else []
    return {
        "dim and eps": ", ".join(["dim", *eps, *extra]),
        "hidden_size and eps": ", ".join(["hidden_size", *eps, *extra]),
        "a config": ", ".join(["config", *extra]),
        "annotated, keyword-only eps": ", ".join(
            [
                "dim: int",
                *(["*"] if typed or extra else []),
                *typed,
                *(f"{e.split('=')[0]}: bool = True" for e in extra),
            ]
        ),
    }[r.ctor]


def _affine(r: Recipe) -> str:
    return "elementwise_affine" if GAINS[r.gain].test else ""


def _dim(r: Recipe) -> str:
    return {"hidden_size and eps": "hidden_size", "a config": "config.hidden_size"}.get(r.ctor, "dim")


def _eps_lines(r: Recipe) -> list[str]:
    source = "eps"
    if r.ctor == "a config":
        source = "config.rms_norm_eps" if r.kind == "rms" else "config.layer_norm_eps"
    if r.eps_from == "an eps set in __init__":
        return [f"self.eps = {r.eps_value}"]
    if r.eps_from in ("a literal eps", "a module's EPS", "a class's EPS", "eps nowhere", "accepted, a literal used"):
        return []
    return [f"{_attribute(r)} = {source}"]


def _attributes(r: Recipe) -> list[str]:
    """What the constructor stores besides eps and the gain."""
    dim, lines = _dim(r), []
    if "self.dim" in COUNTS[r.count].text or r.wrap == "a fused path beside it":
        lines.append(f"self.dim = {dim}")
    if "self.scale" in COUNTS[r.count].text:
        lines.append(f"self.scale = {dim} ** {'-0.5' if r.family == 'norm' else '0.5'}")
    if AXES[r.axis] == "self.axis":
        lines.append("self.axis = -1")
    if "self.shape" in AXES[r.axis]:
        lines.append(f"self.shape = ({dim},)")
    if r.wrap == "a fused path beside it":
        lines.append("self.fused = False")
    return lines


def _parameter(r: Recipe, name: str, value: str) -> list[str]:
    """One parameter in the recipe's way of making it."""
    dim = _dim(r)
    made = fill(value, d=dim) if "{" in value else value
    if GAINS[r.gain].test:
        if r.gain == "w * y behind a flag":
            return [f"self.elementwise_affine = {_affine(r)}", f"if {_affine(r)}:", f"    self.{name} = {made}"]
        return [f"self.{name} = {made} if {_affine(r)} else None"]
    if made == "register":
        return [f'self.register_parameter("{name}", nn.Parameter(torch.ones({dim})))']
    if made in ("reset", "init"):
        end = ["self.reset_parameters()"] if made == "reset" else [f"nn.init.ones_(self.{name})"]
        return [f"self.{name} = nn.Parameter(torch.empty({dim}))", *end]
    return [f"self.{name} = {made}"]


def _parameters_made(r: Recipe, marks: dict[str, str]) -> list[str]:
    """The gain's and the bias's lines."""
    weight, bias = weight_name(r), bias_name(r)
    lines: list[str] = []
    if GAINS[r.gain].form != "none":
        lines = _parameter(r, weight, INITS[r.init][1])
        marks["init"] = "\n".join(line.strip() for line in lines[-1:])
    if r.bias != "no bias":
        made = f"nn.Parameter(torch.zeros({_dim(r)}))"
        more = _parameter(r, bias, made) if GAINS[r.gain].test else [f"self.{bias} = {made}"]
        shift = more[1:] if r.gain == "w * y behind a flag" else more
        lines = [*lines, *(shift[1:] if shift[0].startswith("if ") else shift)]
        marks["bias"] = more[-1].strip()
    return lines


def _reset(r: Recipe) -> list[str]:
    if INITS[r.init][1] != "reset":
        return []
    return [*function("reset_parameters", "self", [f"nn.init.ones_(self.{weight_name(r)})"]), ""]


def _with_base(r: Recipe, head: list[str], made: list[str], methods: list[str], forward: list[str]) -> list[str]:
    """A base class that keeps the attributes or the helper, and the norm that derives from it."""
    eps = accepts_eps(r) and r.ctor != "a config"
    base = ["class NormBase(nn.Module):"]
    constant, own = head[:-1], head[-1:]
    if r.structure == "a helper of the base class":
        setup = function(
            "__init__", f"self, {_parameters(r)}", ["super().__init__()", *_eps_lines(r), *_attributes(r), *made]
        )
        return [
            *base,
            *indent([*constant, *setup, "", *_reset(r), *methods[:-1]]),
            "",
            "",
            own[0].replace("nn.Module", "NormBase"),
            *indent(forward),
        ]
    setup = function(
        "__init__", f"self, {_parameters(r, default=False)}", ["super().__init__()", *_eps_lines(r), *_attributes(r)]
    )
    first = _parameters(r).split(",")[0].split(":")[0]
    keyword = "eps=eps" if "*" in _parameters(r) else "eps"
    flag = [f"{_affine(r)}={_affine(r)}"] if _affine(r) else []
    call = f"super().__init__({', '.join([first, *([keyword] if eps else []), *flag])})"
    derived = function("__init__", f"self, {_parameters(r)}", [call, *made])
    return [
        *base,
        *indent([*constant, *setup]),
        "",
        "",
        own[0].replace("nn.Module", "NormBase"),
        *indent([*derived, "", *_reset(r), *forward]),
    ]


def constructor(
    r: Recipe, marks: dict[str, str], before: list[str], methods: list[str], forward: list[str]
) -> list[str]:
    """The whole class around its forward."""
    constants = [f"EPS = {r.eps_value}"] if r.eps_from == "a class's EPS" else []
    constants += ["AXIS = -1"] if AXES[r.axis] == "self.AXIS" else []
    constants += [""] if constants else []
    out = [f"EPS = {r.eps_value}", "", ""] if r.eps_from == "a module's EPS" else []
    head = f"class {class_name(r)}(nn.Module):"
    made = _parameters_made(r, marks)
    if "base class" in r.structure:
        return [*out, *before, *_with_base(r, [*constants, head], made, methods, forward)]
    setup = ["super().__init__()", *_eps_lines(r), *_attributes(r), *made]
    init = function("__init__", f"self, {_parameters(r)}", setup)
    if setup == ["super().__init__()"] and r.ctor == "no constructor":
        init = []
    return [*out, *before, head, *indent([*constants, *init, "", *_reset(r), *methods, *forward])]
