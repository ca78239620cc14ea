"""`dtypes` says what a project runs in: what only other dtypes break is not reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.evaluate.spines import table

SQUARE = """\
import torch

def rms_norm(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
"""
VARIANCE = """\
import torch

def layer_norm(x, weight, eps=1e-6):
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True, correction=0) + eps) * weight
"""
SMALL_EPS = """\
import torch

def rms_norm(x, weight, eps=1e-12):
    ms = x.float().pow(2).mean(-1, keepdim=True).to(x.dtype)
    return x * torch.rsqrt(ms + eps) * weight
"""
NO_ROOT = SQUARE.replace(
    "torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)", "x.float().pow(2).mean(-1, keepdim=True)"
)


def codes(tmp_path: Path, text: str, dtypes: str) -> set[str]:
    (tmp_path / "pyproject.toml").write_text(f"[tool.normlint]\n{dtypes}\n")
    (tmp_path / "norm.py").write_text(text)
    command = (sys.executable, "-m", "normlint", "--no-cache", "--output-format", "concise", "norm.py")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {word for word in done.stdout.split() if word.startswith("NRM")}


@pytest.mark.parametrize(
    ("text", "dtypes", "expected"),
    table(
        ("fp32 alone squares as it likes", SQUARE, "dtypes = ['fp32']", set()),
        ("bf16 still loses bits", SQUARE, "dtypes = ['bf16', 'fp32']", {"NRM201"}),
        ("every dtype by default", SQUARE, "", {"NRM201"}),
        ("an eps that only fp16 rounds to zero", SMALL_EPS, "dtypes = ['bf16', 'fp32']", {"NRM205"}),
        ("an eps that fp16 rounds to zero", SMALL_EPS, "", {"NRM205", "NRM303"}),
        ("what is wrong in every dtype is reported in each", NO_ROOT, "dtypes = ['fp32']", {"NRM304", "NRM402"}),
    ),
)
def test_what_only_other_dtypes_break_is_not_reported(
    tmp_path: Path, text: str, dtypes: str, expected: set[str]
) -> None:
    assert codes(tmp_path, text, dtypes) == expected


def test_a_variance_overflows_from_its_spread(tmp_path: Path) -> None:
    (tmp_path / "norm.py").write_text(VARIANCE)
    command = (sys.executable, "-m", "normlint", "--isolated", "--no-cache", "norm.py")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "takes the variance in the input's dtype: in fp16 inf from a spread of 256" in done.stdout


def test_a_dtype_that_isnt_known_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.normlint]\ndtypes = ['float8']\n")
    done = subprocess.run((sys.executable, "-m", "normlint"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "dtypes must be a list of fp16, bf16, fp32" in done.stderr
