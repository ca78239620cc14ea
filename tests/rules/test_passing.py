"""Settings of norms that a module takes, and doesn't hand on to the modules that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from normlint.engine.fix import Fixed, FixRequest, fix_file
from normlint.engine.selection import Demand
from normlint.rules.callers import called
from normlint.text.making import may_make
from tests.rules.test_callers import laid

LAYER = """\
from torch import nn

class Layer(nn.Module):
    def __init__(self, dim, norm_type="layer", pre_norm=True):
        super().__init__()
        self.norm = nn.LayerNorm(dim) if norm_type == "layer" else nn.RMSNorm(dim)
        self.pre_norm = pre_norm

"""
MODEL = """\
class Model(nn.Module):
    def __init__(self, dim, norm_type="layer"):
        super().__init__()
        self.layer = Layer(dim)
"""
FLAG = """\
class Model(nn.Module):
    def __init__(self, dim, pre_norm=True):
        super().__init__()
        self.layer = Layer(dim)
        self.after = nn.LayerNorm(dim) if pre_norm else None
"""


def found(text: str, path: str = "") -> list[tuple[str, str]]:
    several = called(text, path, ("NRM714",).__contains__).found if may_make(text) else ()
    return [(finding.severity, finding.message) for finding, _ in several]


SILENT = {
    "passed by name": MODEL.replace("Layer(dim)", "Layer(dim, norm_type=norm_type)"),
    "passed in its place": MODEL.replace("Layer(dim)", "Layer(dim, norm_type)"),
    "passed another value": MODEL.replace("Layer(dim)", "Layer(dim, norm_type='rms')"),
    "passed among others": MODEL.replace("Layer(dim)", "Layer(dim, **options)"),
    "read for something else": MODEL + "        self.norm_type = norm_type\n",
    "read with all others": MODEL + "        self.options = locals()\n",
    "said to be unused": MODEL.replace('"layer"):', '"layer"):  # norm_type is deprecated'),
    "said to be unused in the docstring": MODEL.replace(
        "        super()", '        """A model.\n\n        norm_type: ignored\n        """\n        super()'
    ),
    "taken by a decorated constructor": MODEL.replace("    def __init__", "    @register_to_config\n    def __init__"),
    "kept with all others": MODEL.replace(
        "super().__init__()", "super().__init__()\n        self.save_hyperparameters()"
    ),
    "said to be unused on the next line": MODEL.replace(
        "        super()",
        '        """A model.\n\n        norm_type (str):\n            ignored\n        """\n        super()',
    ),
    "said to be there for the signature alone": MODEL.replace(
        "    def", "    # norm_type is accepted so that all models have one signature\n    def"
    ),
    "of vectors that are normal to a surface": (MODEL + LAYER).replace("norm_type", "normal_channel"),
    "of a class that doesn't take it": MODEL.replace("norm_type", "norm_kind"),
    "of an unknown class": MODEL.replace("Layer(dim)", "Encoder(dim)"),
    "no setting of norms": MODEL.replace("norm_type", "activation"),
}


@pytest.mark.parametrize("model", SILENT.values(), ids=SILENT)
def test_ignored_is_a_setting_that_is(model: str) -> None:
    assert not found(LAYER + model)


def test_ignored_is_a_setting_that_the_layer_requires() -> None:
    assert not found(LAYER.replace('norm_type="layer", pre_norm=True', "norm_type, pre_norm") + MODEL)


def test_a_setting_that_is_never_read_is_reported() -> None:
    assert found(LAYER + MODEL) == [("warning", "`norm_type` isn't passed to `Layer`, which takes it")]


def test_a_flag_that_is_read_elsewhere_is_a_review() -> None:
    assert found(LAYER + FLAG) == [("review", "`pre_norm` isn't passed to `Layer`, which takes it")]


def test_the_layer_may_stand_in_another_file(tmp_path: Path) -> None:
    model = "from torch import nn\nfrom pkg.layer import Layer\n\n" + MODEL
    file = laid(tmp_path, {"pkg/model.py": model, "pkg/layer.py": LAYER, "pkg/__init__.py": ""})
    assert found(file.read_text(), str(file)) == [("warning", "`norm_type` isn't passed to `Layer`, which takes it")]


def test_the_fix_passes_it_behind_what_is_passed(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(LAYER + MODEL.replace("Layer(dim)", "Layer(\n            dim,  # of the features\n        )"))
    fixed = fix_file(str(file), FixRequest(Demand(unsafe=True)))
    assert isinstance(fixed, Fixed)
    assert "dim, norm_type=norm_type,  # of the features\n        )" in fixed.after.text


STORED = """\
class Mixer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm_type = config.norm_type
        self.layer = Layer(config.dim)
"""
KEPT = {
    "read by the class": STORED
    + "\n    def forward(self, x):\n        return x if self.norm_type else self.layer(x)\n",
    "passed on": STORED.replace("config.dim)", "config.dim, norm_type=self.norm_type)"),
    "passed from the configuration": STORED.replace("config.dim)", "config.dim, norm_type=config.norm_type)"),
    "read by another": STORED + "\ndef kind(model):\n    return model.mixer.norm_type\n",
    "read by a class that inherits it": STORED
    + "\nclass Other(Mixer):\n    def kind(self):\n        return self.norm_type\n",
    "stored under another name": STORED.replace("self.norm_type", "self.kind_of_norm"),
    "the layer's own": STORED.replace("config.norm_type", "norm_types[0]"),
}


@pytest.mark.parametrize("model", KEPT.values(), ids=KEPT)
def test_ignored_is_a_stored_setting_that_is(model: str) -> None:
    assert not found(LAYER + model)


def test_a_setting_of_the_configuration_that_is_stored_and_never_read_is_reported() -> None:
    assert found(LAYER + STORED) == [("warning", "`norm_type` isn't passed to `Layer`, which takes it")]


def test_the_fix_passes_what_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(LAYER + STORED)
    fixed = fix_file(str(file), FixRequest(Demand(unsafe=True)))
    assert isinstance(fixed, Fixed)
    assert "Layer(config.dim, norm_type=self.norm_type)" in fixed.after.text
