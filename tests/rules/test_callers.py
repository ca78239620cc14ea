"""Where norms are made: what is read of other files of the package, and what is never said."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.api import check_source
from normlint.engine import cache as caches
from normlint.faces import entry
from normlint.fixes.makings import fixed
from normlint.rules.callers import called
from normlint.text.edit import apply
from normlint.text.finding import REVIEW
from normlint.text.making import may_make
from tests.helpers import Ran

NORM = """\
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
CONFIG = """\
from dataclasses import dataclass

@dataclass
class Config:
    dim: int = 64
    norm_eps: float = 1e-5
"""
MODEL = """
class Attention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.q_norm = RMSNorm(config.dim)

class Block(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.norm = RMSNorm(config.dim, eps=config.norm_eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.dim, eps=config.norm_eps)
"""
FOUND = ["NRM701"]


def laid(folder: Path, files: dict[str, str]) -> Path:
    """The files below the folder; the first one."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def codes(file: Path) -> list[str]:
    return [finding.code for finding, _ in called(file.read_text(), str(file), "NRM701".startswith).found]


def codes_of(text: str) -> list[str]:
    return [finding.code for finding, _ in called(text, wanted="NRM701".startswith).found]


WHOLE = NORM + CONFIG + MODEL
PLAIN = """\
from torch import nn

class A(nn.Module):
    def __init__(self, dim, eps=1e-6):
        self.norm = nn.LayerNorm(dim)
"""
Q_NORM = "self.q_norm = RMSNorm(config.dim"
SMALL = "\n@dataclass\nclass Small:\n    dim: int = 8\n"
SILENT = {
    "the configuration's eps is the class's default": WHOLE.replace("1e-5", "1e-6"),
    "the owner's configuration has no eps": WHOLE.replace(MODEL, SMALL + MODEL.replace(": Config", ": Small", 1)),
    "the owner's configuration may be one of two": (
        "class OtherConfig:\n    norm_eps: float = 1e-3\n\n" + WHOLE.replace("config: Config", "config", 1)
    ),
    "what is no configuration by its name has no class": (
        WHOLE.replace("config: Config", "parent", 1).replace("config.dim", "parent.dim", 1)
    ),
    "it is passed by its place": WHOLE.replace(Q_NORM, f"{Q_NORM}, 1e-5"),
    "what is passed is not to be seen": WHOLE.replace(Q_NORM, f"{Q_NORM}, **more"),
    "the class takes no eps": WHOLE.replace("dim, eps=1e-6", "dim").replace("= eps", "= 1e-6"),
    "the class isn't known": WHOLE.replace("class RMSNorm", "class Other"),
    "the norms beside it are of another class": WHOLE.replace(Q_NORM, "self.q_norm = nn.LayerNorm(config.dim"),
    "one norm beside the owner is no custom": WHOLE.replace("self.mlp_norm = RMSNorm", "self.mlp = Other"),
    "nothing that makes the owner has norms": WHOLE.replace("= Attention(config)", "= None"),
    "the others get another eps": WHOLE.replace("eps=config.norm_eps", "eps=config.other_eps"),
    "the parameter is for another eps": PLAIN.replace("1e-6", "1e-20"),
    "the parameter counts steps": PLAIN.replace("eps=1e-6", "warmup_steps=1e-6"),
    "the parameter for eps is handed on": PLAIN + "        self.other = make(eps)\n",
    "the stored eps is read": PLAIN + "        self.eps = eps\n    def forward(self, x):\n        x += self.eps\n",
    "a norm over the batch takes another eps": PLAIN.replace("LayerNorm", "BatchNorm1d"),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_said_where(text: str) -> None:
    assert codes_of(text) == []


def test_it_is_said_where_all_stands_in_one_file() -> None:
    assert codes_of(WHOLE) == FOUND


NUMBER = "from torch import nn\n" + "".join(
    f"""
class {name}(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm = nn.LayerNorm(config.dim, {eps})
"""
    for name, eps in {"First": "eps=config.norm_eps", "Second": "eps=config.norm_eps", "Head": "eps=1e-12"}.items()
)
KNOWN = CONFIG + NUMBER.replace("config)", "config: Config)").replace("1e-12", "1e-6")
NO_REVIEW = {
    "the number is the configuration's": KNOWN.replace("1e-6", "1e-5"),
    "the number is that of another of the configuration's eps": KNOWN.replace(
        "norm_eps: float = 1e-5", "norm_eps: float = 1e-5\n    head_norm_eps: float = 1e-6"
    ),
    "one function alone passes the attribute": NUMBER.replace("config.norm_eps", "1e-12", 1),
    "the norms are of another class": NUMBER.replace(
        "LayerNorm(config.dim, eps=1e-12", "RMSNorm(config.dim, eps=1e-12"
    ),
    "the size isn't the configuration's": NUMBER.replace("config.dim, eps=1e-12", "64, eps=1e-12"),
    "the size is another configuration's": NUMBER.replace("config.dim, eps=1e-12", "self.vision.dim, eps=1e-12"),
    "the size is another of the same configuration": NUMBER.replace("dim, eps=1e-12", "head_dim, eps=1e-12"),
    "the configuration is of another class": KNOWN.replace(": Config)", ")", 2),
    "the attribute is for a norm over the batch": NUMBER.replace("norm_eps", "batch_norm_eps"),
    "the owner itself holds the size and the eps": NUMBER.replace("config.norm_eps", "self.eps").replace(
        "config.dim", "self.dim"
    ),
    "the eps is worked out": NUMBER.replace("1e-12", "10 * least"),
}
REVIEWED = {
    "a number that the configuration hasn't": KNOWN,
    "a number, and a configuration that isn't known": NUMBER,
    "a number by its place": NUMBER.replace("eps=1e-12", "1e-12"),
}


def reviews(text: str) -> list[str]:
    return [finding.code for finding, _ in called(text, wanted="NRM702".startswith).found] if may_make(text) else []


@pytest.mark.parametrize("text", NO_REVIEW.values(), ids=NO_REVIEW)
def test_no_review_is_asked_for_where(text: str) -> None:
    assert reviews(text) == []


@pytest.mark.parametrize("text", REVIEWED.values(), ids=REVIEWED)
def test_a_review_is_asked_for_and_fixed(text: str) -> None:
    assert reviews(text) == ["NRM702"]
    (finding,) = fixed(text, called(text, wanted="NRM702".startswith))
    assert finding.severity == REVIEW
    assert finding.fix is not None
    assert apply(text, finding.fix.edits).count("config.norm_eps") == 3


LAYOUTS: dict[str, dict[str, str]] = {
    "by the name of the module": {
        "p/model.py": f"from .norm import RMSNorm\nfrom . import config as C\n{MODEL}".replace(": Config", ": C.Config")
    },
    "by a relative import": {"p/model.py": f"from .norm import RMSNorm\nfrom .config import Config\n{MODEL}"},
    "by an absolute import": {"p/model.py": f"from p.norm import RMSNorm\nfrom p.config import Config\n{MODEL}"},
    "of a script beside it": {"p/model.py": f"from norm import RMSNorm\nfrom config import Config\n{MODEL}"},
    "from a folder above": {"p/a/b/model.py": f"from ...norm import RMSNorm\nfrom ...config import Config\n{MODEL}"},
    "under another name": {
        "p/model.py": f"from .norm import RMSNorm\nfrom .config import Config as C\n{MODEL}".replace(": Config", ": C")
    },
    "that an __init__ hands on": {
        "p/model.py": f"from .all import Config, RMSNorm\n{MODEL}",
        "p/all/__init__.py": "from ..config import Config\nfrom ..norm import (\n    RMSNorm,  # the norm\n)\n",
    },
    "that an __init__ hands on as a whole": {
        "p/model.py": f"from .all import *\n{MODEL}",
        "p/all/__init__.py": "from ..config import *\nfrom ..norm import *\n",
    },
    "for types alone": {
        "p/model.py": "from typing import TYPE_CHECKING\nfrom .norm import RMSNorm\nif TYPE_CHECKING:\n"
        f'    from .config import Config\n{MODEL}'.replace(": Config", ': "Config | None"')
    },
    "of a subclass": {
        "p/model.py": f"from .norm import RMSNorm\nfrom .sub import Config\n{MODEL}",
        "p/sub.py": "from .config import Config as Base\n\nclass Config(Base):\n    deep: int = 2\n",
    },
    "of a configuration that sets its attributes": {
        "p/model.py": f"from .norm import RMSNorm\nfrom .set import Config\n{MODEL}",
        "p/set.py": "class Config:\n    def __init__(self, dim=64, norm_eps=1e-5):\n        self.norm_eps = norm_eps\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_a_configuration_and_a_norm_are_found(files: dict[str, str], tmp_path: Path) -> None:
    assert codes(laid(tmp_path, {**files, "p/norm.py": NORM, "p/config.py": CONFIG})) == FOUND


@pytest.mark.parametrize(
    "text",
    [
        "from .model import Config\n",
        "from .config import *\nfrom .config import Config\n",
        "class Config(Config): ...\n",
    ],
    ids=["files that import each other", "a file that imports itself", "a class that is its own base"],
)
def test_a_circle_has_an_end(text: str, tmp_path: Path) -> None:
    model = f"from .norm import RMSNorm\nfrom .config import Config\n{MODEL}"
    assert codes(laid(tmp_path, {"p/model.py": model, "p/norm.py": NORM, "p/config.py": text})) == []


@pytest.mark.parametrize("data", [b"\xff\xfe\x00class", b"class Config(:\n", b"x" * (2 * 2**20 + 1)])
def test_what_can_not_be_read_says_nothing(data: bytes, tmp_path: Path) -> None:
    model = laid(tmp_path, {"p/model.py": f"from .config import Config\n{NORM}{MODEL}"})
    (model.parent / "config.py").write_bytes(data)
    assert codes(model) == []


def test_a_folder_in_place_of_a_file_says_nothing(tmp_path: Path) -> None:
    model = laid(tmp_path, {"p/model.py": f"from .config import Config\n{NORM}{MODEL}"})
    (model.parent / "config.py").mkdir()
    assert codes(model) == []


def test_only_what_the_norms_need_is_read(tmp_path: Path) -> None:
    files = {
        "p/model.py": f"from .other import helper\nfrom .config import Config\n{NORM}{MODEL}",
        "p/other.py": "",
        "p/config.py": CONFIG,
    }
    model = laid(tmp_path, files)
    asked = called(model.read_text(), str(model), "NRM701".startswith).asked
    assert [Path(path).name for path, _ in asked] == ["config.py"]


# --- the cache ---


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ran]:
    """The command in a folder of its own, with a cache that believes in times."""
    monkeypatch.setattr(caches, "_RACY", 0)
    monkeypatch.setenv("NORMLINT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def run(*arguments: str) -> Ran:
        status = entry.main(("--output-format", "concise", *arguments))
        return Ran(status, *capsys.readouterr())

    return run


HELPER = """\
import torch

def rms_norm(x, weight):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * weight
"""
DERIVED = """\
from .norm import RMSNorm
from .helper import rms_norm

class MyNorm(RMSNorm):
    def forward(self, x):
        print(x)
        return super().forward(x)

def my_norm(x, weight, eps=1e-6):
    return rms_norm(x, weight)
"""
CHANGING = {
    "a configuration": (
        f"from .config import Config\nfrom .norm import RMSNorm\n{MODEL}",
        {
            "p/config.py": [CONFIG, CONFIG.replace("1e-5", "1e-6"), "from .base import Config\n", ""],
            "p/base.py": [CONFIG, CONFIG.replace("1e-5", "1e-6"), ""],
            "p/norm.py": [NORM, NORM.replace("eps=1e-6", "eps=1e-5"), "from torch.nn import RMSNorm\n"],
            "p/config/__init__.py": [CONFIG],
        },
    ),
    "a base class and a helper": (
        DERIVED,
        {
            "p/norm.py": [NORM, NORM.replace("x.float()", "x"), "from .base import *\n", "class RMSNorm(:\n"],
            "p/base.py": [NORM, "from .norm import *\n", ""],
            "p/helper.py": [HELPER, HELPER.replace("rsqrt", "sqrt"), "from .base import rms_norm\n", ""],
            "p/helper/__init__.py": [HELPER],
        },
    ),
}


@pytest.mark.parametrize(("model", "texts"), CHANGING.values(), ids=CHANGING)
def test_a_change_in_an_imported_file_is_never_answered_from_the_cache(
    model: str, texts: dict[str, list[str]], answer: Callable[..., Ran]
) -> None:
    """Files come, go and change at random; what is answered is what would be without a cache."""
    chance = random.Random(17)
    laid(Path(), {"p/model.py": model, "p/norm.py": NORM})
    answers = set()
    for _ in range(30):
        name = chance.choice(list(texts))
        file = Path(name)
        if file.exists() and chance.random() < 0.3:
            file.unlink()
        else:
            laid(Path(), {name: chance.choice(texts[name])})
        for options in ((), ("--show-norms",)):
            expected = answer("--no-cache", *options)
            assert [answer(*options), answer(*options)] == [expected, expected]
            answers.add(expected.out)
    assert len(answers) > 3


def test_a_file_that_hangs_on_another_is_not_read_again_while_both_are_the_same(
    answer: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    laid(Path(), {"p/model.py": f"from .config import Config\n{NORM}{MODEL}", "p/config.py": CONFIG})
    first = answer()
    assert first.status == 1

    def read(path: str) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr("normlint.engine.run.read_bytes", read)
    monkeypatch.setattr("normlint.faces.entry.read_bytes", read)
    assert answer() == first


def test_the_fix_passes_the_eps(answer: Callable[..., Ran]) -> None:
    file = laid(Path(), {"p/model.py": f"from .config import Config\n{NORM}{MODEL}", "p/config.py": CONFIG})
    assert answer("--fix").status == 1
    assert answer("--fix", "--unsafe-fixes").status == 0
    assert "self.q_norm = RMSNorm(config.dim, eps=config.norm_eps)" in file.read_text()


def test_a_notebook_is_read_by_itself(answer: Callable[..., Ran]) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": WHOLE}
    laid(Path(), {"a.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    assert "NRM701" in answer().out


def test_a_source_without_a_file_is_read_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = laid(tmp_path, {"model.py": f"from config import Config\n{NORM}{MODEL}", "config.py": CONFIG})
    assert check_source(model.read_text(), select="NRM7") == ()
    assert check_source(model.read_text(), "model.py", select="NRM7") == ()
    assert [finding.code for finding in check_source(WHOLE, select="NRM7")] == FOUND
