"""NRM302 and NRM304: an eps moves under the root, and one that was taken is used."""

from __future__ import annotations

import pytest

from normlint.fixes import analyse
from normlint.text.finding import Applicability
from tests.fixes.eps_cases import Case, function, is_fixed, module, stays
from tests.fixes.fixing import fix_text, only

H = "h = x.float()"
MS = "h.pow(2).mean(-1, keepdim=True)"
EPS = ", eps=1e-6"
TAKES = "dim, eps=1e-6"
LITERAL = f"return self.weight * (h * torch.rsqrt({MS} + 1e-8)).type_as(x)"
HELPER = f"def {{}}(x):\n    h = x.float()\n    return (h * torch.rsqrt({MS} + 1e-8)).type_as(x)\n\n\n"

STAYS = [
    Case(
        "comments stand between the parts of the sum",
        "NRM302",
        function(
            EPS, H, f"rms = torch.sqrt({MS})", "return h / (", "    rms  # root", "    + eps  # floor", ") * weight"
        ),
    ),
    Case(
        "an eps that the base class takes and doesn't get",
        "NRM304",
        module(TAKES, "self.eps = eps", H, LITERAL.replace("1e-8", "self.eps"))
        .replace("RMSNorm", "Base")
        .replace("forward", "_norm")
        + "\n\nclass RMSNorm(Base):\n    def __init__(self, dim, eps=1e-5):\n        super().__init__(dim)\n"
        + "\n    def forward(self, x):\n        return self._norm(x)\n",
    ),
    Case(
        "somebody else sees the root",
        "NRM302",
        function(EPS, H, f"rms = {MS}.sqrt()", "show(rms)", "return (h / (rms + eps)).type_as(x) * weight"),
    ),
    Case(
        "another branch takes the root of something else, which needs eps as well",
        "NRM302",
        function(
            ", mask=None, eps=1e-6",
            H,
            "if mask is None:",
            f"    rms = {MS}.sqrt()",
            "else:",
            "    rms = norm_of(h, mask)",
            "return (h / (rms + eps)).type_as(x) * weight",
        ),
    ),
    Case(
        "two formulas add eps to the root",
        "NRM302",
        function(
            EPS,
            H,
            f"rms = {MS}.sqrt()",
            "gradient = (h / (rms + eps)).detach()",
            "return ((h - h * gradient) / (rms + eps)).type_as(x) * weight",
        ),
    ),
    Case(
        "what eps would be added to is not yet the mean",
        "NRM302",
        function(EPS, H, "r = h.pow(2).sum(-1, True).sqrt() * x.shape[-1] ** -0.5", "return h / (r + eps) * weight"),
    ),
    Case(
        "an eps that is None where nothing is given can't be added",
        "NRM304",
        module("dim, eps=None", "self.eps = eps", H, f"return self.weight * (h * torch.rsqrt({MS})).type_as(x)"),
    ),
    Case(
        "a helper that two classes use, of which one has no eps, is shown only",
        "NRM304",
        HELPER.format("rms")
        + module(TAKES, "self.eps = eps", "return rms(x) * self.weight")
        + module("dim", "", "return rms(x) * self.weight").replace("RMSNorm", "QNorm"),
    ),
]

MOVED = [
    Case(
        "where the root is taken, whose name stays",
        "NRM302",
        function(EPS, H, f"rms = torch.sqrt({MS})  # why", "return (h / (rms + eps)).type_as(x) * weight"),
        ((f"torch.sqrt({MS})", f"torch.sqrt({MS} + eps)"), ("(rms + eps)", "rms")),
    ),
    Case(
        "where the root is taken of what is changed afterwards",
        "NRM302",
        function(EPS, H, f"rms = torch.sqrt({MS})", "h = 2 * h", "return (h / (rms + eps)).type_as(x) * weight"),
        ((f"torch.sqrt({MS})", f"torch.sqrt({MS} + eps)"), ("(rms + eps)", "rms")),
    ),
    Case(
        "also where eps isn't known yet when the root is taken",
        "NRM302",
        function("", H, f"rms = {MS}.sqrt()", "eps = 1e-6", "return (h / (rms + eps)).type_as(x) * weight"),
        ((f"    rms = {MS}.sqrt()\n", ""), ("(rms + eps)", f"torch.sqrt({MS} + eps)")),
    ),
    Case(
        "within one expression, as a sum",
        "NRM302",
        function(EPS, H, f"return (h / ({MS}.sqrt() + eps)).type_as(x) * weight"),
        ((f"({MS}.sqrt() + eps)", f"torch.sqrt({MS} + eps)"),),
    ),
    Case(
        "as an operator under a power",
        "NRM302",
        function(EPS, H, f"ms = {MS}", "return (h / (ms**0.5 + eps)).type_as(x) * weight"),
        (("(ms**0.5 + eps)", "torch.sqrt(ms + eps)"),),
    ),
    Case(
        "where it stood in front",
        "NRM302",
        function(EPS, H, f"return (h / (eps + torch.sqrt({MS}))).type_as(x) * weight"),
        ((f"(eps + torch.sqrt({MS}))", f"torch.sqrt({MS} + eps)"),),
    ),
    Case(
        "from a method",
        "NRM302",
        function(EPS, H, f"return (h * {MS}.rsqrt().add(eps)).type_as(x) * weight"),
        ((f"{MS}.rsqrt().add(eps)", f"torch.rsqrt({MS} + eps)"),),
    ),
    Case(
        "one over an inverse root is a root",
        "NRM302",
        function(EPS, H, f"rms = 1 / (torch.rsqrt({MS}) + eps)", "return (h / rms).type_as(x) * weight"),
        ((f"1 / (torch.rsqrt({MS}) + eps)", f"torch.sqrt({MS} + eps)"),),
    ),
    Case(
        "also on the branch that takes the statistic of an argument",
        "NRM302",
        function(
            ", running=None, eps=1e-6",
            H,
            "if running is not None:",
            "    h = h / (running.sqrt() + eps)",
            "else:",
            f"    h = h / ({MS}.sqrt() + eps)",
            "return h.type_as(x) * weight",
        ),
        (("(running.sqrt() + eps)", "torch.sqrt(running + eps)"), (f"({MS}.sqrt() + eps)", f"torch.sqrt({MS} + eps)")),
    ),
    Case(
        "a line that only added it goes",
        "NRM302",
        function(EPS, H, f"rms = torch.sqrt({MS})", "rms += eps", "return (h / rms).type_as(x) * weight"),
        (("keepdim=True)", "keepdim=True) + eps"), ("    rms += eps\n", "")),
    ),
    Case(
        "so does one that rebinds the name",
        "NRM302",
        function(EPS, H, f"rms = torch.sqrt({MS})", "rms = torch.add(rms, eps)", "return h / rms * weight"),
        (("keepdim=True)", "keepdim=True) + eps"), ("    rms = torch.add(rms, eps)\n", "")),
    ),
    Case(
        "a deviation becomes the root of a variance",
        "NRM302",
        "def layer_norm(x, eps=1e-6):\n    s = x.std(-1, keepdim=True, correction=0)\n"
        "    return (x - x.mean(-1, keepdim=True)) / (s + eps)\n",
        (
            ("x.std(-1, keepdim=True, correction=0)", "torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps)"),
            ("(s + eps)", "s"),
        ),
    ),
    Case(
        "parentheses over several lines go, too",
        "NRM302",
        function(EPS, H, f"rms = torch.sqrt({MS})", "return h / (", "    rms", "    + eps", ") * weight"),
        ((f"torch.sqrt({MS})", f"torch.sqrt({MS} + eps)"), ("(\n        rms\n        + eps\n    )", "rms")),
    ),
]

USED = [
    Case(
        "in place of a number",
        "NRM304",
        module(TAKES, "self.eps = eps", H, LITERAL),
        (("1e-8", "self.eps"),),
    ),
    Case(
        "stored first, where it was only taken",
        "NRM304",
        module(TAKES, "", H, LITERAL),
        (
            ("        super().__init__()\n", "        super().__init__()\n        self.eps = eps\n"),
            ("1e-8", "self.eps"),
        ),
    ),
    Case(
        "in place of the number that is stored under its name",
        "NRM304",
        module(TAKES, "self.eps = 1e-8", H, LITERAL.replace("1e-8", "self.eps")),
        (("1e-8", "eps"),),
    ),
    Case(
        "or under another",
        "NRM304",
        module(TAKES, "self.variance_epsilon = 1e-8", H, LITERAL.replace("1e-8", "self.variance_epsilon")),
        (("1e-8", "eps"),),
    ),
    Case(
        "also where a helper adds it",
        "NRM304",
        HELPER.format("rms").replace("(x)", "(x, eps)", 1).replace("1e-8", "eps")
        + module(TAKES, "self.eps = 1e-8", "return rms(x, self.eps) * self.weight"),
        (("1e-8", "eps"),),
    ),
    Case(
        "in place of a constant of the module",
        "NRM304",
        "EPS = 1e-8\n\n\n" + module(TAKES, "self.eps = eps", H, LITERAL.replace("1e-8", "EPS")),
        ((" + EPS", " + self.eps"),),
    ),
    Case(
        "where no eps was",
        "NRM304",
        module(TAKES, "self.eps = eps", H, LITERAL.replace(" + 1e-8", "")),
        (("keepdim=True)", "keepdim=True) + self.eps"),),
    ),
    Case(
        "by F.normalize",
        "NRM304",
        module(TAKES, "self.eps = eps", "return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight"),
        (("dim=-1)", "dim=-1, eps=self.eps)"),),
    ),
    Case(
        "by a static method, which gets it from its caller",
        "NRM304",
        module(TAKES, "self.eps = eps", "return self._norm(x) * self.weight")
        + f"\n    @staticmethod\n    def _norm(x):\n        {H}\n        return (h * torch.rsqrt({MS} + 1e-8)).to(x)\n",
        (
            ("self._norm(x)", "self._norm(x, eps=self.eps)"),
            ("def _norm(x)", "def _norm(x, eps=1e-8)"),
            (" + 1e-8", " + eps"),
        ),
    ),
    Case(
        "by a function that others may import, with its number as the default",
        "NRM304",
        HELPER.format("rms") + module(TAKES, "self.eps = eps", "return rms(x) * self.weight"),
        (("rms(x):", "rms(x, eps=1e-8):"), (" + 1e-8", " + eps"), ("return rms(x)", "return rms(x, eps=self.eps)")),
    ),
    Case(
        "by a function that takes one already",
        "NRM304",
        HELPER.format("rms").replace("(x):", "(x, eps=1e-8):").replace("+ 1e-8", "+ eps")
        + module(TAKES, "self.eps = eps", "return rms(x=x) * self.weight"),
        (("rms(x=x)", "rms(x=x, eps=self.eps)"),),
    ),
    Case(
        "by every norm of the class",
        "NRM304",
        module(TAKES, "self.eps = eps", H, LITERAL)
        + f"\n    def forward_native(self, x):\n        {H}\n        {LITERAL.replace('1e-8', '1e-7')}\n",
        (("1e-8", "self.eps"), ("1e-7", "self.eps")),
    ),
    Case(
        "with a number that does what eps should, where it has none",
        "NRM304",
        module("dim, eps=0.1", "self.eps = eps", H, LITERAL),
        (("eps=0.1", "eps=1e-6"), ("1e-8", "self.eps")),
    ),
    Case(
        "by a function of its own",
        "NRM304",
        function(EPS, H, LITERAL.replace("self.weight", "weight")),
        (("1e-8", "eps"),),
    ),
    Case(
        "the eps that a base class keeps",
        "NRM304",
        "class TokenNorm(nn.LayerNorm):\n    def __init__(self, dim, eps=1e-6):\n"
        "        super().__init__(dim, eps=eps)\n\n    def forward(self, x):\n"
        "        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, 1e-5)\n",
        (("1e-5", "self.eps"),),
    ),
]


@pytest.mark.parametrize("line", ["h[0] = 0", "h.add_(1)"])
def test_what_is_changed_in_place_before_eps_is_added_stays(line: str) -> None:
    lines = (H, f"rms = {MS}.sqrt()", line, "return (h / (rms + eps)).type_as(x) * weight")
    text = f"import torch\n\n\n{function(EPS, *lines)}"
    assert fix_text(text, only("NRM302")).text == text


@pytest.mark.parametrize("case", STAYS, ids=lambda c: c.says)
def test_no_edit_is_certain(case: Case) -> None:
    stays(case)


@pytest.mark.parametrize("case", MOVED, ids=lambda c: c.says)
def test_eps_moves_under_the_root(case: Case) -> None:
    is_fixed(case)


@pytest.mark.parametrize("case", USED, ids=lambda c: c.says)
def test_the_eps_that_is_taken_is_used(case: Case) -> None:
    is_fixed(case)


SAME = Case(
    "", "NRM304", module(TAKES, "self.eps = eps", H, LITERAL.replace("1e-8", "1e-6")), (("+ 1e-6", "+ self.eps"),)
)
SQUASHED = Case("", "NRM304", function(EPS, H, f"return h / (1 + {MS}).sqrt() * weight"), (("(1 +", "(eps +"),))


@pytest.mark.parametrize(
    ("case", "trusted"),
    [
        (MOVED[0], Applicability.UNSAFE),
        (SAME, Applicability.SAFE),
        (USED[0], Applicability.UNSAFE),
        (SQUASHED, Applicability.UNSAFE),
    ],
    ids=[
        "an eps that is moved",
        "an eps that is used, whose default is the number that acted",
        "an eps that is used, whose default is another number",
        "one in the place of a number that may be no eps",
    ],
)
def test_a_safe_fix_leaves_what_a_model_may_have_been_trained_with(case: Case, trusted: Applicability) -> None:
    (finding,) = (f for f in analyse(case.before).findings if f.code == case.code)
    assert finding.fix is not None
    assert finding.fix.applicability is trusted
