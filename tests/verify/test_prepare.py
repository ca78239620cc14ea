"""What is run of a user's file to verify a norm: the program stands alone and computes what the file computes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

from normlint import rules
from normlint.evaluate.concrete import Unsupported
from normlint.text.frozen import replace
from normlint.text.source import Source, Unit
from normlint.verify.assembly.instance import resolved
from normlint.verify.interpret import interpreted
from normlint.verify.job import Job
from normlint.verify.program.prepare import _settings, prepare

torch.set_num_threads(1)

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
RMS = """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
"""


def jobs(text: str, path: str = "file.py", *, snippet: bool = False) -> list[Job]:
    """The jobs of all norms in a text."""
    text = textwrap.dedent(text)
    unit = Unit(text, snippet)
    return [prepare(Source(path, text), unit, norm) for norm in rules.analyse(text, snippet=snippet).norms]


def job(text: str, path: str = "file.py", *, snippet: bool = False) -> Job:
    """The job of the first norm."""
    return jobs(text, path, snippet=snippet)[0]


def run(one: Job) -> dict[str, Any]:
    """What the entry means in the interpreted program."""
    assert one.program, one.needs
    return interpreted(one)


def output(one: Job, x: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """What the norm gives for `x`; a class is made for x's features."""
    entry = resolved(run(one), one.entry)
    if one.method:
        return getattr(entry(x.shape[-1]), one.method)(x, *arguments)
    return entry(x, *arguments)


def x_of(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def rms(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.double().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype)


# --- whole definitions -----------------------------------------------------------------------------------------------

WHOLE = {
    "a class as it stands": RMS,
    "a decorator that changes nothing that is computed": (
        "from hub import use_kernel_forward_from_hub\n\n@use_kernel_forward_from_hub('RMSNorm')" + RMS
    ),
    "an error is logged by the module's own functions": """
        import logging

        def rms_norm(x, eps=1e-6):
            if eps < 0:
                logging.error("eps is %s", eps)
            logging.debug("eps is %s", eps)
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        """,
    "a decorator that registers what it decorates": (
        "from mmcv.cnn import NORM_LAYERS\n\n@NORM_LAYERS.register_module('RMS')" + RMS
    ),
    "a registry of another package that is made here": (
        "from registries import Registry\n\nNORMS = Registry('norms')\n\n@NORMS.register" + RMS
    ),
    "a docstring, annotations and logging are no needs": '''
        from transformers.utils import logging
        logger = logging.get_logger(__name__)

        class RMSNorm(nn.Module):
            """Text."""

            def __init__(self, dim: "DimLike", eps: Epsilon = 1e-6) -> Nothing:
                """More text."""
                super().__init__()
                self.eps = eps
                logger.warning_once("made")

            def forward(self, x: Tensor3) -> Tensor3:
                return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        ''',
    "a helper function and a constant come along": """
        EPS = 1e-6

        def _scale(x, eps=EPS):
            return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

        class RMSNorm(nn.Module):
            def __init__(self, dim):
                super().__init__()

            def forward(self, x):
                return x * _scale(x)
        """,
    "a base class in the file comes along, with the methods that are reached": """
        class Base(nn.Module):
            def __init__(self, dim, eps=1e-6):
                super().__init__()
                self.eps = eps
                self.weight = nn.Parameter(torch.ones(dim))

            def other(self) -> None:
                return missing_name()

            def _norm(self, x):
                return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

        class RMSNorm(Base):
            def forward(self, x):
                return self._norm(x) * self.weight
        """,
    "a mixin and a checkpointing base from elsewhere are stood in for": """
        from ..layers import GradientCheckpointingLayer
        from ..mixins import PushMixin

        class RMSNorm(GradientCheckpointingLayer, PushMixin):
            def __init__(self, dim):
                super().__init__(dim)
                self.weight = nn.Parameter(torch.ones(dim))

            def forward(self, x):
                return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        """,
    "a fused kernel that isn't there is not asked for": """
        try:
            from apex.normalization import fused_rms
            HAS_APEX = True
        except ImportError:
            HAS_APEX = False

        class RMSNorm(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(dim))

            def forward(self, x):
                if HAS_APEX:
                    return fused_rms(x, self.weight)
                return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        """,
    "checks for other software answer no": """
        from .imports import is_npu_available, has_triton

        class RMSNorm(nn.Module):
            def __init__(self, dim):
                super().__init__()

            def forward(self, x):
                if is_npu_available() or has_triton():
                    return npu(x)
                return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        """,
    "a class in a class is found": """
        class Block(nn.Module):
            class RMSNorm(nn.Module):
                def __init__(self, dim):
                    super().__init__()

                def forward(self, x):
                    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        """,
    "a class in a function is lifted out of it": """
        def make():
            class RMSNorm(nn.Module):
                def __init__(self, dim):
                    super().__init__()
                    self.dim = dim

                def forward(self, x):
                    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

            return RMSNorm
        """,
    "its own name in super() follows": RMS.replace("super()", "super(RMSNorm, self)"),
    "a local import of what is allowed stays": RMS.replace("h = x.float()", "import math\n        h = x.float()"),
    "a function with the weight's default": """
        def rms_norm(x, weight=None, eps=1e-6):
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
            return y if weight is None else y * weight
        """,
    "a local of the entry's new name is left alone": """
        def rms_norm(x, eps=1e-6):
            norm = x.pow(2).mean(-1, keepdim=True)
            return x * torch.rsqrt(norm + eps)
        """,
    "settings of torch stand above it": """
        torch.backends.cudnn.benchmark = True
        torch._dynamo.config.cache_size_limit = 64

        def rms_norm(x, eps=1e-6):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        """,
    "the file says \\u00e9\\u4e2d before it": '''NOTE = """é中𝄞"""; TEXT = "é中𝄞"\n''' + RMS,
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_definition_computes_what_the_file_does(text: str) -> None:
    one = job(HEAD + textwrap.dedent(text))
    x = x_of(3, 5, 16)
    torch.testing.assert_close(output(one, x).detach(), rms(x))
    assert one.entry.partition(".")[0] in ("Norm", "rms_norm", "norm")


def test_windows_line_ends_and_wide_characters_keep_the_places() -> None:
    text = (HEAD + 'S = "é中𝄞"; T = 1\n' + RMS).replace("\n", "\r\n")
    unit = Unit(text)
    norm = rules.analyse(text).norms[0]
    one = prepare(Source("file.py", text), unit, norm)
    x = x_of(2, 8)
    torch.testing.assert_close(output(one, x).detach(), rms(x))


def test_the_same_code_under_other_names_is_one_job() -> None:
    one = job(HEAD + RMS)
    two = job('"""A file."""\n' + HEAD + "OTHER = 1\n\n\n" + RMS.replace("RMSNorm", "QwenRMSNorm"))
    assert one.qualname != two.qualname
    assert one.key == two.key


def test_an_empty_subclass_is_its_base() -> None:
    text = HEAD + RMS + "\n\nclass QwenRMSNorm(RMSNorm):\n    pass\n"
    assert len({one.program for one in jobs(text)}) == 1


def test_printing_is_kept_for_the_verifier_to_see() -> None:
    assert "print" in job(HEAD + RMS.replace("h = x.float()", "print(x); h = x.float()")).program


def test_the_top_of_the_file_does_not_run() -> None:
    assert "launch" not in job(HEAD + "launch()\nif torch.rand(1) > 2:\n    launch()\n" + RMS).program


def test_a_snippet_has_the_usual_names() -> None:
    text = "def rms_norm(x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
    x = x_of(4, 8)
    torch.testing.assert_close(output(job(text, "page.md", snippet=True), x), rms(x))


# --- other files -----------------------------------------------------------------------------------------------------

USER = """
import torch
from torch import nn
{line}

class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.tiny = {name}()

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
"""
TINY = "VALUE = 1e-6\n\ndef tiny():\n    return VALUE\n"

FILES: dict[str, tuple[str, str, dict[str, str]]] = {
    "a neighbour": ("from .layers import tiny", "tiny", {"layers.py": TINY}),
    "a neighbour that is read as a module": ("from . import layers", "layers.tiny", {"layers.py": TINY}),
    "a neighbour that is read as a module, which the package imports, too": (
        "from . import layers",
        "layers.tiny",
        {"layers.py": TINY, "__init__.py": "from . import layers\n"},
    ),
    "a neighbour that is read as a module, by its name": ("import pack.layers as own", "own.tiny", {"layers.py": TINY}),
    "a neighbour, renamed": ("from .layers import tiny as small", "small", {"layers.py": TINY}),
    "a package that passes it on": (
        "from .ops import tiny",
        "tiny",
        {"ops/__init__.py": "from .inner import *\n", "ops/inner.py": "from .deep import tiny\n", "ops/deep.py": TINY},
    ),
    "a name that only type checkers import": (
        "from .ops import tiny",
        "tiny",
        {
            "ops/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .deep import tiny\n",
            "ops/deep.py": TINY,
        },
    ),
    "the package by its name": ("from pack.layers import tiny", "tiny", {"layers.py": TINY}),
}


def package(root: Path, files: dict[str, str]) -> Path:
    (root / "pack" / "ops").mkdir(parents=True, exist_ok=True)
    for name, text in {"__init__.py": "", "ops/__init__.py": "", **files}.items():
        (root / "pack" / name).write_text(text, encoding="utf-8")
    return root / "pack" / "model.py"


@pytest.mark.parametrize(("line", "name", "files"), FILES.values(), ids=FILES.keys())
def test_helpers_come_from(line: str, name: str, files: dict[str, str], tmp_path: Path) -> None:
    path = package(tmp_path, files)
    assert run(job(USER.format(line=line, name=name), str(path)))["Norm"](8).tiny == 1e-6


@pytest.mark.parametrize(
    "initial",
    [
        pytest.param((), id="a folder without __init__.py"),
        pytest.param(("__init__.py", "parts/__init__.py"), id="a project whose own folder has an __init__.py, too"),
    ],
)
def test_helpers_come_from_the_nearest_folder_of_the_name(initial: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name in initial:
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "parts" / "layers.py").write_text(TINY, encoding="utf-8")
    text = USER.format(line="from parts.layers import tiny", name="tiny")
    assert run(job(text, str(tmp_path / "parts" / "model.py")))["Norm"](8).tiny == 1e-6


def test_a_flag_of_another_module_may_be_set_by_any_file(tmp_path: Path) -> None:
    path = package(tmp_path, {"config.py": "fast = True\n"})
    text = USER.format(line="from . import config", name="(lambda: 1e-3 if config.fast else 1e-6)")
    with pytest.raises(Unsupported, match=r"the flag \.config\.fast"):
        run(job(text, str(path)))["Norm"](8)


@pytest.mark.parametrize(
    "name", ["layers.large", "layers"], ids=["a name that its __getattr__ may provide", "the module itself, called"]
)
def test_what_a_module_may_provide_in_another_way_is_not_called_missing(name: str, tmp_path: Path) -> None:
    path = package(tmp_path, {"layers.py": f"{TINY}\ndef __getattr__(name):\n    return tiny\n"})
    with pytest.raises(Unsupported, match=r"layers|File"):
        run(job(USER.format(line="from . import layers", name=name), str(path)))["Norm"](8)


FOLDERS = {
    "what stands beside each of them": ("from .layers import tiny", False),
    "what stands beside each of them, where that is imported in the function": (
        "from ..layers import tiny as _\n\ndef tiny():\n    from .layers import tiny as own\n    return _() and own()",
        False,
    ),
    "the package by its name, which is looked for from each folder": ("from pack.layers import tiny", False),
    "what stands above both": ("from ..layers import tiny", True),
}


@pytest.mark.parametrize(("line", "shared"), FOLDERS.values(), ids=FOLDERS.keys())
def test_the_same_text_in_two_folders_is_one_job_if_it_takes(line: str, shared: bool, tmp_path: Path) -> None:
    folders = ("ops", "more")
    files = {f"{folder}/{name}": "" for folder in folders for name in ("__init__.py", "model.py")}
    (tmp_path / "pack" / "more").mkdir(parents=True)
    package(tmp_path, {**files, "layers.py": TINY, "ops/layers.py": TINY, "more/layers.py": TINY})
    text = USER.format(line=line, name="tiny")
    one, two = (job(text, str(tmp_path / "pack" / folder / "model.py")) for folder in folders)
    assert (one.key == two.key) is shared
    assert all(run(each)["Norm"](8).tiny == 1e-6 for each in (one, two))


REMARKED = {
    "a docstring, and another one": ('    """A norm."""\n', '    r"""Like\n    another."""\n', True),
    "a comment, which holds a quote": ("", "    # don't\n\n", True),
    "a comment behind a line": ('    TEXT = "one"\n', '    TEXT = "one"  # one\n', True),
    "what stands in a string behind a hash": ('    TEXT = "one  # 1"\n', '    TEXT = "one  # 2"\n', False),
    "a line in a long string": ('    TEXT = """\n    # 1\n    """\n', '    TEXT = """\n    # 2\n    """\n', False),
    "a line in a long string of single quotes": (
        "    TEXT = '''\n    # 1\n    '''\n",
        "    TEXT = '''\n    # 2\n    '''\n",
        False,
    ),
    "code between long strings": (
        '    A = """\n    """\n    TEXT = 1\n    B = """\n    """\n',
        '    A = """\n    """\n    TEXT = 2\n    B = """\n    """\n',
        False,
    ),
}


@pytest.mark.parametrize(("one", "two", "shared"), REMARKED.values(), ids=REMARKED.keys())
def test_norms_are_one_job_if_they_differ_in(one: str, two: str, shared: bool) -> None:
    head = "class RMSNorm(nn.Module):\n"
    assert head in RMS
    keys = [job(HEAD + RMS.replace(head, f"{head}{body}")).key for body in (one, two)]
    assert (keys[0] == keys[1]) is shared


def test_two_files_may_use_one_name_for_two_things(tmp_path: Path) -> None:
    other = "def helper():\n    return 1e-6\n\ndef tiny():\n    return helper()\n"
    path = package(tmp_path, {"layers.py": other})
    text = USER.format(line="from .layers import tiny\n\ndef helper():\n    return tiny()", name="helper")
    assert run(job(text, str(path)))["Norm"](8).tiny == 1e-6


def test_a_base_class_comes_from_another_file(tmp_path: Path) -> None:
    base = "import torch\nfrom torch import nn\n" + textwrap.dedent("""
        class Base(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.eps = 1e-6
        """)
    path = package(tmp_path, {"layers.py": base})
    text = "import torch\nfrom .layers import Base\n" + textwrap.dedent("""
        class RMSNorm(Base):
            def forward(self, x):
                return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        """)
    x = x_of(3, 8)
    torch.testing.assert_close(output(job(text, str(path)), x), rms(x))


def test_files_outside_the_package_are_not_read(tmp_path: Path) -> None:
    path = package(tmp_path, {})
    (tmp_path / "layers.py").write_text(TINY, encoding="utf-8")
    assert "VALUE" not in job(USER.format(line="from layers import tiny", name="tiny"), str(path)).program


def test_a_circle_of_imports_ends(tmp_path: Path) -> None:
    path = package(tmp_path, {"layers.py": "from .ops import tiny\n", "ops/__init__.py": "from ..layers import tiny\n"})
    one = job(USER.format(line="from .layers import tiny", name="tiny"), str(path))
    with pytest.raises(Unsupported, match="too deeply"):
        output(one, x_of(3, 8))


# --- among other code ------------------------------------------------------------------------------------------------

MODEL = """
class Model(nn.Module):
    def __init__(self, config, eps=1e-6):
        super().__init__()
        self.proj = BigThing(config)
        self.eps = eps
        self.q_eps = 1e-6
        self.weight = nn.Parameter(torch.ones(config.dim))
        self.scale = config.dim ** 0.5

    def forward(self, ids, mask=None):
        {}
"""


def test_a_norm_that_gives_back_another_dtype_keeps_doing_so() -> None:
    body = "    x = x.float()\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
    assert output(job(HEAD + "def rms_norm(x):\n" + body), x_of(3, 8).half()).dtype == torch.float32


def test_a_method_that_is_compiled_is_run_as_it_is() -> None:
    text = RMS.replace("self.eps = eps", "self.eps = eps\n        self.run = torch.compile(self._run)")
    text = text.replace(
        "def forward(self, x):", "def forward(self, x):\n        return self.run(x)\n\n    def _run(self, x):"
    )
    one = job(HEAD + text)
    torch.testing.assert_close(output(one, x_of(3, 8)).detach(), rms(x_of(3, 8)))


METHOD = "def forward(self, x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight\n"


def test_a_bare_method_of_a_page_gets_a_class_that_holds_what_it_reads() -> None:
    one = job(METHOD, "page.md", snippet=True)
    torch.testing.assert_close(output(one, x_of(3, 8)).detach(), rms(x_of(3, 8)))
    assert job(METHOD.replace("self.weight", "self.lake(x)"), "page.md", snippet=True).needs


CLAIMS = {
    "a unit vector that is given back": (True, "def l2norm(a):\n    return a / a.norm(dim=-1, keepdim=True)\n"),
    "factors of a similarity": (
        False,
        "def cosine(a, b):\n    a, b = (F.normalize(v, dim=-1) for v in (a, b))\n    return a @ b.transpose(-1, -2)\n",
    ),
    "factors of a similarity, seen from who asks for it": (
        False,
        """
        def cosine(a, b, scale):
            a = a / a.norm(dim=-1, keepdim=True)
            b = b / b.norm(dim=-1, keepdim=True)
            return scale * torch.bmm(a, b)

        class Head(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.one, self.two = nn.Linear(dim, dim), nn.Linear(dim, dim)

            def forward(self, x, scale):
                return cosine(self.one(x), self.two(x), scale)
        """,
    ),
}


@pytest.mark.parametrize(("claims", "text"), CLAIMS.values(), ids=CLAIMS.keys())
def test_a_norm_claims_to_be_one_unless_it_is_one_of(claims: bool, text: str) -> None:
    found = jobs(HEAD + textwrap.dedent(text))
    assert found
    assert {one.claims for one in found} == {claims}


def test_a_name_may_be_a_flag_and_a_mode_at_once() -> None:
    (norm,) = rules.analyse(HEAD + RMS).norms
    tests = frozenset([("mode", True), ("mode == 'each'", True), ("mode != 'all'", True), ("x is None", False)])
    both = replace(norm, computations=tuple(replace(c, needed=tests) for c in norm.computations))
    assert set(_settings(both)) == {("mode", True), ("mode", "each")}
