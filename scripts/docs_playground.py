"""The playground's parts: normlint's wheel, its examples, and Pyodide, which this file fetches when it is run.

Without the fetched files the site is built all the same, and the page loads the same version from the CDN.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import docs_rules

from normlint.engine.selection import known_rules

ROOT = Path(__file__).parent.parent
VERSION = "314.0.7"
INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
CDN = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
HOME = ROOT / "build" / f"pyodide-{VERSION}"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PACKAGES = ("libcst", "pyyaml")  # for the fixes; not in the registry, only on the CDN
BROKEN = ("NRM101", "NRM201", "NRM302")
SOUND = "NRM903"  # whose page ends with a norm that is right
SECONDS = 10  # a text that takes longer is given up


def data() -> dict[str, Any]:
    """What the page has to know; addresses are the site's, from its root."""
    return {
        "pyodide": "assets/pyodide/" if HOME.exists() else CDN,
        "libcst": all((HOME / name).exists() for name, _ in packages()) if HOME.exists() else True,
        "wheel": "assets/playground/normlint.whl",
        "seconds": SECONDS,
        "examples": examples(),
    }


def examples() -> list[dict[str, str]]:
    """Norms to choose from, as the pages of their rules show them: some broken, and one that is right."""
    rules = known_rules()
    broken = [{"name": f"{code} {rules[code].name}", "text": _examples(code)[0]} for code in BROKEN]
    return [*broken, {"name": "a norm that is right", "text": _examples(SOUND)[-1]}]


def _examples(code: str) -> list[str]:
    return [docs_rules.MARKER.sub("", text) for text in docs_rules.EXAMPLE.findall(known_rules()[code].doc)]


def files() -> dict[str, bytes]:
    """By its place in the site, what nobody writes by hand."""
    fetched = {f"assets/pyodide/{path.name}": path.read_bytes() for path in sorted(HOME.glob("*"))}
    return {data()["wheel"]: wheel(), **fetched}


def wheel() -> bytes:
    """What installs normlint."""
    from hatchling.builders.wheel import WheelBuilder

    with tempfile.TemporaryDirectory() as place:
        [path] = WheelBuilder(str(ROOT)).build(directory=place, versions=["standard"])
        return Path(path).read_bytes()


def packages() -> list[tuple[str, str]]:
    """The files of the packages that Pyodide builds itself, with the digests that it names."""
    lock = json.loads((HOME / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    return [(lock[name]["file_name"], lock[name]["sha256"]) for name in PACKAGES]


def fetch() -> None:
    """Get Pyodide from the npm registry, and libcst from the CDN, where that can be reached."""
    if not HOME.exists():
        with tempfile.TemporaryDirectory(dir=_made(HOME.parent)) as place:
            core = _made(Path(place, "core"))
            _unpack(_packed(place), core)
            core.rename(HOME)
    for name, digest in packages():
        if not (HOME / name).exists():
            _download(name, digest)


def _packed(place: str) -> Path:
    npm = shutil.which("npm") or sys.exit("npm is needed to fetch Pyodide")
    command = [npm, "pack", "--silent", "--pack-destination", place, f"pyodide@{VERSION}"]
    subprocess.run(command, cwd=place, stdout=subprocess.DEVNULL, check=True)
    [path] = Path(place).glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != INTEGRITY:
        sys.exit(f"pyodide {VERSION} is not what it was: sha512-{digest}")
    return path


def _unpack(path: Path, home: Path) -> None:
    with tarfile.open(path) as archive:
        for name in CORE:
            (home / name).write_bytes(archive.extractfile(f"package/{name}").read())


def _download(name: str, digest: str) -> None:
    try:
        with urlopen(CDN + name, timeout=60) as answer:
            content = answer.read()
    except OSError as error:
        print(f"{CDN}{name}: {error}; the playground will show no fixes")
        return
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{name} is not what Pyodide's lock file says")
    (HOME / name).write_bytes(content)


def _made(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return place


if __name__ == "__main__":
    fetch()
