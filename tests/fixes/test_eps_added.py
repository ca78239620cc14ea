"""NRM301, NRM303 and NRM305: an eps is added, or its number put right."""

from __future__ import annotations

import pytest

from normlint.fixes import analyse
from normlint.text.finding import Applicability
from tests.fixes.eps_cases import Case, function, is_fixed, module, stays

NO_ROOT = "return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True))).type_as(x)"
H = "h = x.float()"
MS = "h.pow(2).mean(-1, keepdim=True)"
DIM = "dim"
UNIT = "class L2Norm(nn.Module):\n    def forward(self, x):\n"
TAKES = ("def __init__(self, dim):", "def __init__(self, dim, eps=1e-6):")
KEEPS = ("        super().__init__()\n", "        super().__init__()\n        self.eps = eps\n")

STAYS = [
    Case(
        "an eps that is set in two places has no one number to change",
        "NRM303",
        module("dim, old=True", "self.eps = 0.0 if old else 1e-6", H, NO_ROOT.replace("True)", "True) + self.eps")),
    ),
    Case(
        "an eps of F.normalize may be among what is unpacked",
        "NRM305",
        module(DIM, "self.how = {}", "return F.normalize(x, dim=-1, **{}) * x.shape[-1] ** 0.5 * self.weight"),
    ),
]

MENDED = [
    Case(
        "the number that a subclass's parameter has by default and hands on",
        "NRM303",
        "class Base(nn.Module):\n    def __init__(self, dim, eps):\n        super().__init__()\n"
        "        self.eps = eps\n"
        "        self.weight = nn.Parameter(torch.ones(dim))\n\n\n"
        "class RMSNorm(Base):\n    def __init__(self, dim, eps=0.0):\n        super().__init__(dim, eps)\n\n"
        f"    def forward(self, x):\n        {H}\n        {NO_ROOT.replace('True)', 'True) + self.eps')}\n",
        (("eps=0.0", "eps=1e-6"),),
    ),
    Case(
        "a module takes an eps and keeps it",
        "NRM301",
        module(DIM, "", H, NO_ROOT),
        (TAKES, KEEPS, ("keepdim=True)", "keepdim=True) + self.eps")),
    ),
    Case(
        "annotations are kept up",
        "NRM301",
        module("dim: int", "", H, NO_ROOT),
        (("dim: int)", "dim: int, eps: float = 1e-6)"), KEEPS, ("keepdim=True)", "keepdim=True) + self.eps")),
    ),
    Case(
        "a parameter that stands on its own line gets a neighbour, and keeps its comment",
        "NRM301",
        module("\n        dim,  # features\n    ", "", H, NO_ROOT).replace("self, \n", "\n        self,\n"),
        (
            ("        dim,  # features\n", "        dim,  # features\n        eps=1e-6,\n"),
            KEEPS,
            ("keepdim=True)", "keepdim=True) + self.eps"),
        ),
    ),
    Case(
        "the last parameter has no comma before its comment",
        "NRM301",
        module("\n        dim  # features\n    ", "", H, NO_ROOT).replace("self, \n", "\n        self,\n"),
        (
            ("        dim  # features\n", "        dim,  # features\n        eps=1e-6\n"),
            KEEPS,
            ("keepdim=True)", "keepdim=True) + self.eps"),
        ),
    ),
    Case(
        "a keyword-only parameter is joined by another",
        "NRM301",
        module("dim, *, flag=False, **_", "", H, NO_ROOT),
        (("flag=False,", "flag=False, eps=1e-6,"), KEEPS, ("keepdim=True)", "keepdim=True) + self.eps")),
    ),
    Case(
        "an eps that is None where nothing is given can't be added, and the constructor takes one",
        "NRM301",
        module(DIM, "", H, NO_ROOT).replace("(self, x)", "(self, x, eps=None)"),
        (TAKES, KEEPS, ("keepdim=True)", "keepdim=True) + self.eps")),
    ),
    Case(
        "keyword arguments that go on to another constructor might hold an eps: a number does",
        "NRM301",
        module("dim, **more", "", H, NO_ROOT).replace("super().__init__()", "super().__init__(**more)"),
        (("keepdim=True)", "keepdim=True) + 1e-6"),),
    ),
    Case(
        "an eps that the class has is used",
        "NRM301",
        module("dim, eps=1e-5", "self.eps = eps", H, NO_ROOT, "", "def floor(self):", "    return self.eps"),
        (("keepdim=True)", "keepdim=True) + self.eps"),),
    ),
    Case(
        "a constant of the module is used, also for a function",
        "NRM301",
        "EPS = 1e-5\n\n\n" + function("", H, "return (h * (h**2).mean(-1, True) ** -0.5).type_as(x) * weight"),
        (("(h**2).mean(-1, True) **", "((h**2).mean(-1, True) + EPS) **"),),
    ),
    Case(
        "a constant that is 0 is not",
        "NRM301",
        "EPS = 0\n\n\n" + function("", H, "ms = (h**2).mean(-1, True)", "return (h * ms.rsqrt()).type_as(x) * weight"),
        (("weight)", "weight, eps=1e-6)"), ("ms.rsqrt()", "(ms + eps).rsqrt()")),
    ),
    Case(
        "a chain of methods gets its sum in parentheses",
        "NRM301",
        function("", H, "return (h / h.pow(2).mean(-1, keepdim=True).sqrt()).type_as(x) * weight"),
        (("weight)", "weight, eps=1e-6)"), (f"{MS}.sqrt()", f"({MS} + eps).sqrt()")),
    ),
    Case(
        "a norm gets a floor, since nothing can be added under its root",
        "NRM301",
        function("", "rms = x.norm(dim=-1, keepdim=True) / x.shape[-1] ** 0.5", "return x / rms * weight"),
        (("weight):", "weight, eps=1e-6):"), ("x / rms", "x / rms.clamp(min=eps)")),
    ),
    Case(
        "a norm with its count needs parentheses for it",
        "NRM301",
        function("", "return torch.div(x, x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5) * weight"),
        (
            ("weight):", "weight, eps=1e-6):"),
            (
                "x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5",
                "(x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5).clamp(min=eps)",
            ),
        ),
    ),
    Case(
        "an autograd function's signature is torch's: a number does",
        "NRM301",
        "class RMSNorm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, weight):\n"
        "        h = x.float()\n"
        "        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True))).type_as(x) * weight\n",
        (("keepdim=True)", "keepdim=True) + 1e-6"),),
    ),
    Case(
        "what is compiled from annotations would take an eps for a tensor: a number does",
        "NRM301",
        "@torch.jit.script\n" + function("", H, NO_ROOT.replace("self.", "")),
        (("keepdim=True)", "keepdim=True) + 1e-6"),),
    ),
    Case(
        "so would what is handed to the compiler by name",
        "NRM301",
        function("", H, NO_ROOT.replace("self.", "")) + "\n\nscripted = torch.jit.script(rms_norm)\n",
        (("keepdim=True)", "keepdim=True) + 1e-6"),),
    ),
    Case(
        "a type comment counts the parameters: a number does",
        "NRM301",
        module(DIM, "", H, NO_ROOT).replace("dim):\n", "dim):\n        # type: (int) -> None\n"),
        (("keepdim=True)", "keepdim=True) + 1e-6"),),
    ),
    Case(
        "what a layer norm takes is torch's own 1e-5",
        "NRM301",
        "def layer_norm(x):\n    c = x.float() - x.float().mean(-1, True)\n"
        "    return (c * torch.rsqrt((c * c).mean(-1, True))).type_as(x)\n",
        (("norm(x)", "norm(x, eps=1e-5)"), ("(c * c).mean(-1, True)", "(c * c).mean(-1, True) + eps")),
    ),
    Case(
        "a class's 0 is put right where it stands",
        "NRM303",
        module(DIM, "self.eps = 0.0", H, NO_ROOT.replace("True)", "True) + self.eps")),
        (("0.0", "1e-6"),),
    ),
    Case(
        "so is the default of a parameter that is stored",
        "NRM303",
        module("dim, eps=-1e-6", "self.eps = eps", H, NO_ROOT.replace("True)", "True) + self.eps")),
        (("-1e-6", "1e-6"),),
    ),
    Case(
        "F.normalize gets the eps that the class has",
        "NRM305",
        module(
            "dim, eps=1e-5",
            "self.eps = eps",
            "x = x / self.eps",
            "return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight",
        ),
        (("dim=-1)", "dim=-1, eps=self.eps)"),),
    ),
    Case(
        "but not one of 0, which is for something else",
        "NRM305",
        module(
            "dim, noise_eps=0.0",
            "self.noise_eps = noise_eps",
            "x = x + self.noise_eps * torch.randn_like(x)",
            "return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight",
        ),
        (("dim=-1)", "dim=-1, eps=1e-6)"),),
    ),
    Case(
        "what is reported gets one, spaced as the others; reps are no eps",
        "NRM305",
        function(
            ", all_reps",
            "x = F.normalize(x, dim = -1)",
            "weight = F.normalize(weight, dim = -1)",
            "return x @ weight.T * all_reps",
        ),
        (("x, dim = -1)", "x, dim = -1, eps = 1e-6)"),),
    ),
]


ENOUGH = {
    "eps is chosen by the dtype": ("eps = 1e-4 if x.dtype == torch.float16 else 1e-12", "return x / (n + eps)"),
    "F.normalize gets an eps by the dtype": (
        "eps = 1e-4 if x.dtype == torch.float16 else 1e-12",
        "return F.normalize(x, dim=-1, eps=eps)",
    ),
    "zeros are replaced": ("n = torch.where(n == 0, torch.ones_like(n), n)", "return x / n.clamp(min=1e-12)"),
    "rows of zeros are left as they are": ("return torch.where(n > 0, x / (n + 1e-12), x)",),
}


@pytest.mark.parametrize("lines", ENOUGH.values(), ids=ENOUGH)
def test_nothing_is_said_of_fp16_where(lines: tuple[str, ...]) -> None:
    body = "".join(f"        {line}\n" for line in ("n = x.norm(dim=-1, keepdim=True)", *lines))
    text = f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n{UNIT}{body}"
    assert "NRM305" not in [f.code for f in analyse(text).findings]
    plain = text.replace(body, "        return x / (x.norm(dim=-1, keepdim=True) + 1e-12)\n")
    assert "NRM305" in [f.code for f in analyse(plain).findings]


@pytest.mark.parametrize("case", STAYS, ids=lambda c: c.says)
def test_no_edit_is_certain(case: Case) -> None:
    stays(case)


@pytest.mark.parametrize("case", MENDED, ids=lambda c: c.says)
def test_the_fix_makes_these_changes_and_no_others(case: Case) -> None:
    is_fixed(case)


@pytest.mark.parametrize(
    ("eps", "trusted"), [("0.0", Applicability.SAFE), ("-1e-5", Applicability.SAFE), ("0.1", Applicability.UNSAFE)]
)
def test_a_number_that_protected_may_have_been_trained_with(eps: str, trusted: Applicability) -> None:
    text = Case("", "", module(DIM, f"self.eps = {eps}", H, NO_ROOT.replace("True)", "True) + self.eps"))).before
    (finding,) = (f for f in analyse(text).findings if f.code == "NRM303")
    assert finding.fix is not None
    assert finding.fix.applicability is trusted
