"""How JupyterLab starts the language server: jupyter-lsp asks for it under `jupyter_lsp_spec_v1`."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Final

from normlint.faces.server import command

# JupyterLab runs one server for a language: of equals the first one of the alphabet. This name leaves pylsp its place.
NAME: Final = "python-normlint"


def specs(_: Any) -> dict[str, dict[str, Any]]:
    """The server's specification by its name; nothing where what it needs isn't installed."""
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
