"""Specify the language server for jupyter-lsp's entry point `jupyter_lsp_spec_v1`."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Final

from normlint.faces.server import command

# JupyterLab runs one server per language, the alphabetically first. This name comes after pylsp's.
NAME: Final = "python-normlint"


def specs(_: Any) -> dict[str, dict[str, Any]]:
    """Return the server's specification by its name; empty if pygls isn't installed."""
    if importlib.util.find_spec("pygls") is None:
        return {}
    return {
        NAME: {
            "version": 2,
            "display_name": "normlint",
            "argv": [sys.executable, "-m", command.__name__],
            "languages": ["python"],
            "mime_types": ["text/x-python", "text/x-ipython"],
            "requires_documents_on_disk": False,
            "install": {"pip": "pip install 'normlint[lsp]'"},
            "urls": {
                "home": "https://normlint.readthedocs.io/editors/",
                "issues": "https://github.com/normlint/normlint/issues",
            },
        }
    }
