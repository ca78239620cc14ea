"""Lines that a fix writes are no longer than the project has them, where a break is natural."""

from __future__ import annotations

from pathlib import Path

import pytest

from normlint.engine.placing import broken, width

CONFIGS = {
    "nobody": ({}, None),
    "ruff in pyproject.toml": ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, 100),
    "ruff without a length": ({"pyproject.toml": "[tool.ruff]\n"}, 88),
    "ruff.toml": ({"ruff.toml": "line-length = 79\n"}, 79),
    "black": ({"pyproject.toml": "[tool.black]\nline-length = 90\n"}, 90),
    "flake8": ({".flake8": "[flake8]\nmax-line-length = 99\n"}, 99),
    "flake8 in setup.cfg": ({"setup.cfg": "[metadata]\nname = x\n[flake8]\nmax-line-length = 95\n"}, 95),
    "an editor": ({".editorconfig": "root = true\n[*]\nindent_size = 4\n[*.py]\nmax_line_length = 110\n"}, 110),
    "an editor who doesn't mind": ({".editorconfig": "[*]\nmax_line_length = off\n"}, None),
    "a file that can't be read": ({"pyproject.toml": "[tool.ruff\n", ".editorconfig": "]["}, None),
    "a file whose tool is no table": ({"pyproject.toml": "tool = 3\n"}, None),
    "a file above": ({"../ruff.toml": "line-length = 60\n"}, 60),
}


@pytest.mark.parametrize(("files", "most"), CONFIGS.values(), ids=CONFIGS)
def test_the_length_is_configured_by(files: dict[str, str], most: int | None, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "a" / name).write_text(text)
    assert width(str(tmp_path / "a" / "b" / "c.py")) == most


STAYS = {
    "what is short": "    return one + two\n",
    "what is inside of brackets": "    h.float().pow(2).mean(-1, keepdim=True) + self.eps\n)\n",
    "what has a comment behind it": "    return (one * two).type_as(three)  # four five six\n",
    "what has no operator and no brackets": "    return one_name_that_is_as_long_as_nobody_has\n",
    "what stays too long": "    return (one_name * two_names_that_are_longer_than_allowed_here).type_as(x)\n",
    "several statements": "    h = x.float(); return (h * two).type_as(x) * weight\n",
}
BREAKS = {
    "into parentheses": (
        "    return one_name * two_names * three_names\n",
        "    return (\n        one_name * two_names * three_names\n    )\n",
    ),
    "before operators": (
        "    scale = torch.rsqrt(one_name) * torch.sqrt(two_names)\n",
        "    scale = (\n        torch.rsqrt(one_name)\n        * torch.sqrt(two_names)\n    )\n",
    ),
    "in the brackets of the call that it is": (
        "    y = normalize(one_name, dim=-1, eps=1e-6)\n",
        "    y = normalize(\n        one_name, dim=-1, eps=1e-6\n    )\n",
    ),
    "with an argument a line": (
        "    y = normalize((one_name + two_names), dim=(-1,), eps=1e-6)\n",
        "    y = normalize(\n        (one_name + two_names),\n        dim=(-1,),\n        eps=1e-6,\n    )\n",
    ),
    "in the brackets that a cast is made on": (
        "    return (one_name * two_names + bias).type_as(x)\n",
        "    return (\n        one_name * two_names + bias\n    ).type_as(x)\n",
    ),
    "around a chain of calls": (
        "    ms = x.float().pow(2).mean(-1).add(eps_)\n",
        "    ms = (\n        x.float().pow(2).mean(-1).add(eps_)\n    )\n",
    ),
    "at the end of a text without a line end": (
        "    return one_name * two_names * three_names",
        "    return (\n        one_name * two_names * three_names\n    )",
    ),
    "with tabs and CR LF": (
        "\treturn one_name * two_names * three_names__\r\n",
        "\treturn (\r\n\t\tone_name * two_names * three_names__\r\n\t)\r\n",
    ),
}
MOST = 43


@pytest.mark.parametrize("after", STAYS.values(), ids=STAYS)
def test_no_line_is_broken_in(after: str) -> None:
    assert broken("    return 1\n", after, MOST) == after


@pytest.mark.parametrize(("after", "expected"), BREAKS.values(), ids=BREAKS)
def test_a_line_is_broken(after: str, expected: str) -> None:
    assert broken("    return 1\n", after, MOST) == expected
    assert broken("    return 1234567890 + 1234567890 + 1234567890\n", after, MOST) == after


def test_a_fix_is_written_within_the_length(command, tmp_path: Path) -> None:
    Path("ruff.toml").write_text("line-length = 88\n")
    Path("a.py").write_text(
        "import torch\n\n\ndef rms_norm(x, weight, eps=1e-6):\n"
        "    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight\n"
    )
    assert command("--fix").status == 0
    text = Path("a.py").read_text()
    assert ".float()" in text
    assert max(map(len, text.splitlines())) <= 88
