"""Norms that are right, and code that only looks like one; a text without imports gets the usual ones."""

from __future__ import annotations

import importlib
import pkgutil

IMPORTS = (
    "import math\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn, Tensor\n\n"
)


def with_imports(text: str) -> str:
    """The text as a file of its own."""
    text = text.lstrip("\n")
    return text if text.startswith(("import ", "from ")) else IMPORTS + text


def collected(package: str) -> dict:
    """The tables of a package's pages, together."""
    cases: dict = {}
    for page in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        table = importlib.import_module(page.name).CASES
        assert not cases.keys() & table.keys(), f"{page.name} repeats {cases.keys() & table.keys()}"
        cases |= table
    return cases
