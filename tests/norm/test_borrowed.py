"""Norms whose base class or helper stands in another file of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from normlint.engine.linter import check_path
from normlint.engine.report import Report
from normlint.engine.selection import Demand, Selection
from normlint.norm.borrowed import borrowed
from normlint.text.taking import may_take

HELPER = """\
import torch
import torch.nn.functional as F

EPS = 1e-6

def _inverse(h, eps):
    return torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)

def rms_norm(x, weight, eps=EPS):
    h = x.float()
    return (h * _inverse(h, eps)).type_as(x) * weight
"""
BASE = """\
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
"""
WITHOUT_UPCAST = BASE.replace("x.float()", "x")
DERIVED = "from .base import RMSNorm\n\nclass MyNorm(RMSNorm):\n    pass\n"
CALLER = """
import torch
from torch import nn

class MyNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return rms_norm(x, self.gain)
"""


def checked(folder: Path, files: dict[str, str], demand: Demand | None = None) -> Report:
    """The first of the files, checked where it lies."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return check_path(str(folder / next(iter(files))), demand or Demand())


def told(report: Report) -> tuple[list[str], list[str]]:
    """The codes of the findings, and the names of the norms."""
    assert report.errors == ()
    return [one.code for one in report.findings], [norm.qualname for norm in report.norms]


FOUND: dict[str, dict[str, str]] = {
    "a base class in a file beside it": {"p/model.py": DERIVED, "p/base.py": BASE},
    "a base class under another name, which the file has for something else": {
        "p/model.py": "from .base import RMSNorm as MyBase\n\nclass RMSNorm:\n    pass\n\n"
        "class MyNorm(MyBase):\n    pass\n",
        "p/base.py": BASE,
    },
    "a base class that another package of the tree hands on": {
        "p/a/model.py": "from p.b import RMSNorm\n\nclass MyNorm(RMSNorm):\n    pass\n",
        "p/b/__init__.py": "from .base import *\n",
        "p/b/base.py": BASE,
        "p/__init__.py": "",
    },
    "a base class of a base class, in a third file": {
        "p/model.py": "from .middle import MiddleNorm\n\nclass MyNorm(MiddleNorm):\n    pass\n",
        "p/middle.py": "from .base import RMSNorm\n\nclass MiddleNorm(RMSNorm):\n    pass\n",
        "p/base.py": BASE,
    },
    "a base class that is no norm by its name": {
        "p/model.py": "from .base import Scaled\n\nclass MyNorm(Scaled):\n    pass\n",
        "p/base.py": BASE.replace("RMSNorm", "Scaled"),
    },
    "a helper with a helper and a default of its own": {
        "p/model.py": f"from .helper import rms_norm\n{CALLER}",
        "p/helper.py": HELPER,
    },
    "a helper whose helper is called like something of the file": {
        "p/model.py": f"from .helper import rms_norm\n\ndef _inverse(x):\n    return 1 / x\n\nEPS = 3\n{CALLER}",
        "p/helper.py": HELPER,
    },
    "a helper under another name": {
        "p/model.py": "from .helper import rms_norm as scaled\n" + CALLER.replace("rms_norm", "scaled"),
        "p/helper.py": HELPER,
    },
    "a base class that is an attribute of its module": {
        "p/model.py": "from . import base\n\nclass MyNorm(base.RMSNorm):\n    pass\n",
        "p/base.py": BASE,
    },
    "a base class of a module that is imported by its path": {
        "p/model.py": "import p.base\n\nclass MyNorm(p.base.RMSNorm):\n    pass\n",
        "p/base.py": BASE,
        "p/__init__.py": "",
    },
    "a helper of a module under another name": {
        "p/model.py": "import p.helper as H\n" + CALLER.replace("rms_norm", "H.rms_norm"),
        "p/helper.py": HELPER,
        "p/__init__.py": "",
    },
    "a helper of a module, beside a function of its name": {
        "p/model.py": "from . import helper\n\ndef rms_norm(x):\n    return x\n"
        + CALLER.replace("rms_norm", "helper.rms_norm"),
        "p/helper.py": HELPER,
    },
    "a helper that comes with all of its file": {
        "p/model.py": f"from .helper import *\n{CALLER}",
        "p/helper.py": HELPER,
    },
    "a helper that uses torch by another name than the file": {
        "p/model.py": f"from .helper import rms_norm\nimport numpy as F\n{CALLER}",
        "p/helper.py": HELPER.replace("torch.rsqrt(", "1 / torch.sqrt(").replace("h.pow(2)", "F.relu(h.pow(2))"),
    },
    "a base class that comes with all of its file": {
        "p/model.py": "from .base import *\n\nclass MyNorm(RMSNorm):\n    pass\n",
        "p/base.py": f'__all__ = ["RMSNorm"]\n{BASE}',
    },
    "a helper that two files have, and the last of them is imported": {
        "p/model.py": f"from .other import rms_norm\nfrom .helper import rms_norm\n{CALLER}",
        "p/helper.py": HELPER,
        "p/other.py": "def rms_norm(x, weight):\n    return x * weight\n",
    },
    "a helper that is taken from another library where there is one": {
        "p/model.py": "try:\n    from fast_kernels import rms_norm\nexcept ImportError:\n"
        f"    from .helper import rms_norm\n{CALLER}",
        "p/helper.py": HELPER,
    },
    "a base class whose helper has the name of an argument of another method": {
        "p/model.py": DERIVED,
        "p/base.py": HELPER.replace("def rms_norm", "def unused")
        + BASE.replace("torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)", "_inverse(h, self.eps)")
        + "\n    def swap(self, _inverse):\n        return _inverse\n",
    },
    "imports that only a type checker follows": {
        "p/model.py": f"import typing\nif typing.TYPE_CHECKING:\n    from .helper import rms_norm\n{CALLER}",
        "p/helper.py": HELPER,
    },
}
SILENT: dict[str, dict[str, str]] = {
    "a file that isn't there": {"p/model.py": DERIVED},
    "a file that isn't Python": {"p/model.py": DERIVED, "p/base.py": "class RMSNorm(nn.Module:\n    def"},
    "files that import each other": {"p/model.py": DERIVED, "p/base.py": "from .model import RMSNorm\n"},
    "a file that imports itself": {"p/model.py": "from .model import RMSNorm\n\nclass MyNorm(RMSNorm):\n    pass\n"},
    "a class that is its own base": {
        "p/model.py": DERIVED,
        "p/base.py": "from .base import RMSNorm\nclass RMSNorm(RMSNorm):\n    pass\n",
    },
    "a function that isn't called": {"p/model.py": "from .helper import rms_norm\n", "p/helper.py": HELPER},
    "a class that is only made": {
        "p/model.py": "from .base import RMSNorm\n\ndef make(dim):\n    return RMSNorm(dim)\n",
        "p/base.py": BASE,
    },
    "an import is written in a docstring": {"p/model.py": f'"""As in\n\n{DERIVED}"""\n', "p/base.py": BASE},
    "an import in a docstring names what is called": {
        "p/model.py": f"from .other import act, norms\n{CALLER}".replace(
            "self.gain = ", '"""\n    from .helper import rms_norm\n    """\n        self.gain = '
        ),
        "p/helper.py": HELPER,
    },
    "one of two imports may come about": {
        "p/model.py": f"if FAST:\n    from .fast import rms_norm\nelse:\n    from .helper import rms_norm\n{CALLER}",
        "p/helper.py": HELPER,
        "p/fast.py": HELPER.replace("1e-6", "1e-5"),
    },
    "the last import is of something else": {
        "p/model.py": f"from .helper import rms_norm\nfrom .other import rms_norm\n{CALLER}",
        "p/helper.py": HELPER,
        "p/other.py": "def rms_norm(x, weight):\n    return x * weight\n",
    },
    "what is imported may be defined otherwise": {
        "p/model.py": f"from .middle import rms_norm\n{CALLER}",
        "p/middle.py": "try:\n    from .helper import rms_norm\nexcept ImportError:\n"
        "    def rms_norm(x, w):\n        return x\n",
        "p/helper.py": HELPER,
    },
    "a file doesn't hand on what it has": {
        "p/model.py": f"from .helper import *\n{CALLER}",
        "p/helper.py": f'__all__ = ["EPS"]\n{HELPER}',
    },
    "another package": {"p/model.py": DERIVED.replace(".base", "q.base"), "q/base.py": BASE, "q/__init__.py": ""},
}


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_what_is_not_found_costs_nothing(files: dict[str, str], tmp_path: Path) -> None:
    assert told(checked(tmp_path, files)) == ([], [])


def test_a_base_with_parameters_alone_takes_nothing_back(tmp_path: Path) -> None:
    """Who loads the weights stands elsewhere; as long as a base is unknown, it may be that base."""
    files = {
        "p/model.py": "from .ops import CustomOp\nimport torch\nfrom torch import nn\n\nclass MyNorm(CustomOp):\n"
        "    def __init__(self, dim):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.empty(dim))\n\n"
        "    def forward(self, x):\n        h = x.float()\n"
        "        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
        "        return h.type_as(x) * self.weight\n",
        "p/ops.py": "from torch import nn\n\nclass CustomOp(nn.Module):\n    pass\n",
    }
    assert told(checked(tmp_path, files)) == ([], ["MyNorm.forward"])


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
@pytest.mark.parametrize("whole", [False, True], ids=["linted", "fixed"])
def test_what_stands_elsewhere_is_read(files: dict[str, str], whole: bool, tmp_path: Path) -> None:
    demand = Demand(fixes=whole, selection=Selection(extend_select=("NRM",)) if whole else Selection())
    codes, norms = told(checked(tmp_path, files, demand))
    assert len(norms) == 1
    assert norms[0] in ("MyNorm.forward", "scaled", "rms_norm")
    assert [code for code in codes if not code.startswith("NRM6")] == []


@pytest.mark.parametrize(
    ("model", "line"),
    [(DERIVED, 3), (f"from .helper import rms_norm\n{CALLER}", 11)],
    ids=["where its class begins", "where the helper is called"],
)
def test_a_borrowed_norm_is_listed(model: str, line: int, tmp_path: Path) -> None:
    norms = checked(tmp_path, {"p/model.py": model, "p/base.py": BASE, "p/helper.py": HELPER}).norms
    assert [norm.place.line for norm in norms] == [line]


TWICE = """from .helper import rms_norm

def attend(q, k, gain):
    q, k = rms_norm(q, gain), rms_norm(k, gain)
    return q @ k.mT

def cross(q, k, gain):
    return attend(rms_norm(q, gain), k, gain) @ k
"""


def test_a_helper_is_listed_wherever_it_is_called(tmp_path: Path) -> None:
    norms = checked(tmp_path, {"p/model.py": f"import torch\n{TWICE}", "p/helper.py": HELPER}).norms
    assert [(norm.qualname, norm.place.line) for norm in norms] == [("rms_norm", 4), ("rms_norm", 8)]


def test_a_finding_is_reported_where_its_code_stands_and_nowhere_else(tmp_path: Path) -> None:
    files = {"p/model.py": DERIVED, "p/base.py": WITHOUT_UPCAST}
    assert told(checked(tmp_path, files)) == ([], ["MyNorm.forward"])
    assert [one.code for one in check_path(str(tmp_path / "p/base.py"), Demand()).findings] == ["NRM201"]


OWN = """\
from .base import RMSNorm

class MyNorm(RMSNorm):
    def __init__(self, dim, eps=1e-6, norm_eps=1e-5):
        super().__init__(dim, eps)
        self.norm_eps = norm_eps

    def forward(self, x):
        print(x)
        return super().forward(x)
"""


def test_what_a_class_adds_to_its_base_is_judged_and_fixed(tmp_path: Path) -> None:
    report = checked(tmp_path, {"p/model.py": OWN, "p/base.py": BASE}, Demand(fixes=True))
    assert [(one.code, one.start.line) for one in report.findings] == [("NRM304", 6), ("NRM503", 9)]


UNFILLED = """\
from torch import empty
from torch.nn import Parameter
from .base import RMSNorm

class MyNorm(RMSNorm):
    def __init__(self, dim, eps=1e-6):
        super().__init__(dim, eps)
        self.weight = Parameter(empty(dim))
"""


@pytest.mark.parametrize(("head", "fixed"), [("", False), ("import torch\n", True)], ids=["elsewhere", "here"])
def test_a_fix_writes_no_name_that_is_imported_elsewhere_alone(head: str, fixed: bool, tmp_path: Path) -> None:
    report = checked(tmp_path, {"p/model.py": head + UNFILLED, "p/base.py": BASE}, Demand(fixes=True))
    assert [(one.code, one.fix is not None) for one in report.findings] == [("NRM504", fixed)]


@pytest.mark.parametrize(
    ("text", "line"),
    [(f"{DERIVED}x = x / x.norm()\nif x:\n    print x\n", 7), (f'{DERIVED}x = x / x.norm()\n"""\n', 6)],
    ids=["a statement", "an open string at the end"],
)
def test_a_syntax_error_is_reported_at_its_own_line(text: str, line: int, tmp_path: Path) -> None:
    (error,) = checked(tmp_path, {"p/model.py": text, "p/base.py": BASE}).errors
    assert (error.line, error.internal) == (line, False)


def test_an_import_in_a_comment_is_none(tmp_path: Path) -> None:
    model = f"# from .old import rms_norm\nfrom .helper import rms_norm\n{CALLER}"
    files = {"p/model.py": model, "p/helper.py": HELPER, "p/old.py": HELPER.replace("mean(-1, keepdim=True)", "mean()")}
    (norm,) = checked(tmp_path, files).norms
    assert norm.sentence.startswith("RMSNorm over the last axis")


@pytest.mark.parametrize(
    ("head", "takes"),
    [
        ("from . import helper\n", "self, x, helper"),
        ("from . import helper\n\nif torch.cuda.is_available():\n    helper = load()\n", "self, x"),
        ("if FAST:\n    import kernels as helper\nelse:\n    from . import helper\n", "self, x"),
    ],
    ids=["a parameter has its name", "it is bound again", "it is imported under a condition"],
)
def test_a_module_is_not_read_where(head: str, takes: str, tmp_path: Path) -> None:
    model = head + CALLER.replace("rms_norm", "helper.rms_norm").replace("self, x)", f"{takes})")
    assert checked(tmp_path, {"p/model.py": model, "p/helper.py": HELPER}).norms == ()


def test_only_what_the_norms_need_is_read(tmp_path: Path) -> None:
    model = f"from .other import setting\nfrom .helper import rms_norm\n{CALLER}"
    files = {"p/model.py": model, "p/helper.py": HELPER, "p/other.py": "setting = 1\n"}
    assert [Path(path).name for path, _ in checked(tmp_path, files).asked] == ["helper.py"]


def test_the_text_keeps_its_places(tmp_path: Path) -> None:
    checked(tmp_path, {"p/model.py": DERIVED, "p/base.py": BASE})
    whole = borrowed(DERIVED, str(tmp_path / "p/model.py"))
    assert whole.text.startswith(DERIVED)
    assert "class RMSNorm(nn.Module):" in whole.text[len(DERIVED) :]


@pytest.mark.parametrize(
    ("text", "concerns"),
    [
        (DERIVED, True),
        (f"from .helper import rms_norm\n{CALLER}", True),
        ("from .base import RMSNorm\nx = RMSNorm(4)\n", False),
        ("from torch.nn import RMSNorm\nclass A(RMSNorm):\n    pass\n", False),
        ("from .image import normalize\ny = normalize(x)\n", False),
        ("from .init import trunc_normal_\ntrunc_normal_(w)\n", False),
        ("from .layers import BatchNorm\nclass A(BatchNorm):\n    pass\n", False),
        ("from .clip import clip_grad_norm_\nclip_grad_norm_(w)\n", False),
        (f"from . import helper\n{CALLER.replace('rms_norm', 'helper.rms_norm')}", True),
        ("import p.base as b\nclass A(b.RMSNorm):\n    pass\n", True),
        ("import torch.nn.functional as F\ny = F.layer_norm(x, (4,))\n", False),
        ("import numpy as np\ny = np.linalg.norm(x)\n", False),
        ("from . import image\ny = image.normalize(x)\n", False),
        ("from .base import Base\ny = self.helper.rms_norm(x)\n", False),
    ],
)
def test_the_sieve_looks_at_names(text: str, concerns: bool) -> None:
    assert may_take(text) is concerns
