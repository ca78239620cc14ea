"""The linters that normlint is compared with, each in an environment of its own.

flake8 loads every plugin it finds, and TorchFix pins a version of libcst: neither may share normlint's environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PINS: Final = ("-c", str(ROOT / "constraints.txt"))
WANTED: Final = {
    "flake8": (*PINS, "flake8"),
    "plugin": (*PINS, "flake8", str(ROOT)),
    "torchfix": ("torchfix==0.7.0",),
}


def program(environment: str, name: str) -> str:
    """Where the program is in that environment, which is made if it isn't there; normlint is installed anew."""
    folder = Path(
        tempfile.gettempdir(), "normlint-benchmarks", f"{sys.version_info[0]}{sys.version_info[1]}", environment
    )
    binaries = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(binaries / "python")
    made = (binaries / name).exists()
    if not made:
        print(f"installing {environment} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        _install(python, *WANTED[environment])
    elif environment == "plugin":
        _install(python, "--force-reinstall", "--no-deps", str(ROOT))
        _install(python, *WANTED[environment])  # what it needs since
    return str(binaries / name)


def _install(python: str, *what: str) -> None:
    call = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    if subprocess.run(call, check=False).returncode != 0:
        sys.exit(f"can't install {what[-1]}")
