"""Put the language server into `editors/vscode/bundled`, from where the extension runs it if it finds no other.

    python scripts/vscode_bundle.py [PYTHON …]

What libcst has compiled is of one version of Python: with several interpreters, what they need lies side by side, if it
is of one version each.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
BUNDLED: Final = ROOT / "editors" / "vscode" / "bundled"
LAUNCHER: Final = """\
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

here = os.path.dirname(os.path.abspath(__file__))
if not any(os.path.exists(os.path.join(here, "libcst", f"native{suffix}")) for suffix in EXTENSION_SUFFIXES):
    sys.exit("the bundled libcst is for other versions of Python")

from normlint.faces.server.command import main

if __name__ == "__main__":
    sys.exit(main())
"""


def main(pythons: list[str]) -> None:
    """Install for each of the interpreters, anew."""
    shutil.rmtree(BUNDLED, ignore_errors=True)
    for python in pythons:
        with tempfile.TemporaryDirectory() as place:
            pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", str(ROOT / "constraints.txt")]
            subprocess.run([*pip, "--target", place, f"{ROOT}[lsp]"], check=True)
            skipped = shutil.ignore_patterns("bin", "tests", "*.pyc")
            shutil.copytree(place, BUNDLED, dirs_exist_ok=True, ignore=skipped)
    found = Counter(one.metadata["Name"] for one in distributions(path=[str(BUNDLED)]))
    mixed = ", ".join(name for name, count in found.items() if count > 1)
    if mixed:
        shutil.rmtree(BUNDLED)
        sys.exit(f"these Pythons need different versions of {mixed}: bundle for fewer of them")
    (BUNDLED / "server.py").write_text(LAUNCHER, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
