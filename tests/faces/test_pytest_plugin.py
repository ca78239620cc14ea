"""`pytest --normlint` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WRONG = """\
import torch

def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight
"""
SOUND = WRONG.replace("mean()", "mean(-1, keepdim=True)")
WARNED = SOUND.replace("x.float()", "x")
TEST = "def test_it():\n    assert True\n"

EACH = """\
from normlint.testing import assert_norm
from torch import nn

def test_norm(norm_dtype, norm_device):
    assert norm_device == "cpu"
    assert_norm(nn.RMSNorm(64, eps=1e-6), kind="rms", device=norm_device, dtypes=[norm_dtype])
"""
OWN = """\
import pytest

@pytest.mark.parametrize("norm_dtype", ["cuda", "fp8"])
def test_it(norm_dtype):
    assert norm_dtype
"""
NOTHING = "def test_it(norm_dtype, norm_device):\n    pass\n"
NO_TORCH = 'import sys\n\nsys.modules["torch"] = None\n'
CASES: dict[str, tuple[dict[str, str], list[str], str]] = {
    "nothing is linted unless that is asked for": ({"test_a.py": TEST, "bad.py": WRONG}, [], "1 passed"),
    "each file is a test": ({"test_a.py": TEST, "good.py": SOUND}, ["--normlint"], "3 passed"),
    "a finding fails, and is shown": ({"bad.py": WRONG}, ["--normlint"], "NRM101 [*] `mean` without a dim"),
    "Markdown is read": ({"README.md": f"```py\n{WRONG}```\n"}, ["--normlint"], "README.md:6:29: NRM101"),
    "a warning fails": ({"a.py": WARNED}, ["--normlint"], "NRM201"),
    "a warning passes where only errors fail": (
        {"a.py": WARNED, "normlint.toml": 'fail-on = "error"\n'}, ["--normlint"], "1 passed",
    ),
    "what is excluded is no test": (
        {"x/bad.py": WRONG, "a.py": SOUND, "normlint.toml": 'extend-exclude = ["x"]\n'}, ["--normlint"], "1 passed",
    ),
    "only these are chosen": ({"test_a.py": TEST}, ["--normlint", "-m", "normlint"], "1 passed, 1 deselected"),
    "a broken configuration fails": ({"a.py": SOUND, "normlint.toml": "selct = []\n"}, ["--normlint"], "did you mean"),
    "a test has each dtype": ({"test_a.py": EACH}, ["-k", "cpu"], "3 passed"),
    "a dtype in which the project doesn't run is left out": (
        {"test_a.py": EACH, "normlint.toml": 'dtypes = ["bf16", "fp32"]\n'}, ["-k", "cpu"], "2 passed",
    ),
    "a test that chooses its own dtypes has these": ({"test_a.py": OWN}, [], "2 passed in"),
    "without PyTorch it is skipped": ({"test_a.py": NOTHING, "conftest.py": NO_TORCH}, ["-k", "cpu"], "3 skipped"),
    "a broken configuration leaves no dtypes": ({"test_a.py": EACH, "normlint.toml": "dtypes = 1\n"}, [], "dtypes"),
    "a file that doesn't parse fails": ({"a.py": WRONG + "def f(:\n"}, ["--normlint"], "syntax error"),
}  # fmt: skip


def pytest_in(folder: Path, *arguments: str, autoload: bool = False) -> subprocess.CompletedProcess[str]:
    """Without `autoload` no other plugin is imported, which takes five times as long as all the rest."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    plugins = [] if autoload else ["-p", "normlint.faces.pytest_plugin"]
    env = os.environ | ({} if autoload else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugins, *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("files", "arguments", "said"), CASES.values(), ids=CASES)
def test_pytest(files: dict[str, str], arguments: list[str], said: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    ran = pytest_in(tmp_path, *arguments)
    assert said in ran.stdout + ran.stderr
    assert ran.returncode == (
        0 if said.endswith(("passed", "passed in", "skipped", "deselected")) else 4 if said == "dtypes" else 1
    )
    assert "Traceback" not in ran.stdout


def test_pytest_finds_the_plugin_among_all_that_are_installed(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(WRONG)
    ran = pytest_in(tmp_path, "--normlint", autoload=True)
    assert "NRM101 [*] `mean` without a dim" in ran.stdout
    assert ran.returncode == 1
