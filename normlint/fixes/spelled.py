"""How the text calls what torch has: by the names it imports, or those it can be seen to use."""

from __future__ import annotations

import ast
from typing import Final

from normlint.fixes.tree import Tree
from normlint.fixes.work import walk

_FUNCTIONAL: Final = "torch.nn.functional"


def spelled(tree: Tree, dotted: str) -> str | None:
    """`dotted` (torch.nn.Parameter) by the shortest name that the text has for it; None where it has none."""
    names = tree.paths
    if tree.snippet or not names:
        names = _assumed(tree) | names
    rest = ""
    while dotted:
        if dotted in names:
            return names[dotted] + rest
        dotted, _, last = dotted.rpartition(".")
        rest = f".{last}{rest}"
    return None


def _assumed(tree: Tree) -> dict[str, str]:
    """Usual names that a text without imports uses as everybody does."""
    used = {n.id for n in walk(tree.root) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return {path: name for path, name in _USUAL.items() if name in used}


_USUAL: Final = {"torch": "torch", "torch.nn": "nn", _FUNCTIONAL: "F", "torch.nn.Parameter": "Parameter"}
