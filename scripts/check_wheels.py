"""What was built installs into empty environments and runs: `python scripts/check_wheels.py [DIST]`.

For each Python there is from 3.10 on, the wheel and the sdist: installed with pip, then the command, the module, the
demo's findings, the public functions, the flake8 plugin, the language server and a report. Then the wheel through pipx
and uvx, where there are such.
Without DIST, a directory that holds what was built, both are built first. Prints a table; exits with 1 if a cell fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DEMO: Final = ROOT / "fixtures" / "demo"
MINORS: Final = range(10, 15)
WIDTH: Final = 10
API: Final = "import normlint; print([f.code for f in normlint.check_paths(['.'], isolated=True)])"


class FailedError(Exception):
    """A check that didn't give what it should have."""


@dataclass(frozen=True)
class Place:
    """An environment, and an empty directory to run in, so that nothing of the checkout is imported."""

    python: str
    scripts: Path
    cwd: Path

    def run(self, *command: str, status: int = 0) -> str:
        """What the command prints; FailedError if it ends otherwise."""
        ran = subprocess.run(command, cwd=self.cwd, env=environment(), capture_output=True, text=True, check=False)
        if ran.returncode != status:
            raise FailedError(f"{' '.join(command)}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def script(self, name: str) -> str:
        """A script that the environment has."""
        found = shutil.which(name, path=str(self.scripts))
        if found is None:
            raise FailedError(f"no script {name}")
        return found


def environment() -> dict[str, str]:
    """The one of here, less what would bring in other packages."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}


def expect(output: str, *wanted: str) -> None:
    """FailedError unless all of it is there."""
    for one in wanted:
        if one not in output:
            raise FailedError(f"{one!r} is not in\n{output}")


def version(place: Place) -> None:
    """The script and the module know which version they are."""
    output = place.run(place.script("normlint"), "--version")
    expect(output, "normlint ")
    expect(place.run(place.python, "-m", "normlint", "--version"), output)


def demo(place: Place) -> None:
    """The demo's findings, in the module and in the script."""
    for command in ((place.script("normlint"),), (place.python, "-m", "normlint")):
        output = place.run(*command, "--isolated", "--no-cache", "--output-format", "concise", ".", status=1)
        expect(output, "rmsnorm.py:17:26: NRM101", "rmsnorm.py:19:9: NRM503")


def functions(place: Place) -> None:
    """The public functions, and the marker that they are typed."""
    expect(place.run(place.python, "-c", API), "['NRM101', 'NRM503']")
    typed = "import normlint, pathlib; print(pathlib.Path(normlint.__file__).with_name('py.typed').exists())"
    expect(place.run(place.python, "-c", typed), "True")


def flake8(place: Place) -> None:
    """The extra brings flake8, and flake8 finds the plugin."""
    expect(place.run(place.script("flake8"), "--version"), "normlint: ")
    expect(place.run(place.script("flake8"), "--isolated", "--select", "NRM", ".", status=1), "NRM101", "NRM503")


def server(place: Place) -> None:
    """The language server's script, and what it needs beside it, from its extra."""
    expect(place.run(place.script("normlint-server"), "--version"), "normlint-server ")
    place.run(place.python, "-c", "from normlint.faces.server.features import server")


def report(place: Place) -> None:
    """The page, with the styles and scripts that the package ships."""
    page = place.cwd / "page.html"
    place.run(place.script("normlint"), "--isolated", "--no-cache", "--report", str(page), ".", status=1)
    expect(page.read_text(encoding="utf-8"), "<!doctype html>", "NRM101", "</html>")


CHECKS: Final[dict[str, Callable[[Place], None]]] = {
    "version": version,
    "demo": demo,
    "functions": functions,
    "flake8": flake8,
    "server": server,
    "report": report,
}


def pythons() -> Iterator[tuple[str, str]]:
    """Each version with an interpreter: one on the path, of pyenv, or the running one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        known = [shutil.which(f"python3.{minor}"), *map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/python")))]
        if sys.version_info[:2] == (3, minor):
            known.append(sys.executable)
        found = next((one for one in known if one and is_python(one, minor)), None)
        if found:
            yield f"3.{minor}", found


def is_python(program: str, minor: int) -> bool:
    """A shim may be there for a version that isn't."""
    asked = [program, "-c", f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def installed(python: str, package: Path, room: Path) -> Place:
    """A new environment with the package and its extras, less torch, which takes gigabytes."""
    venv, cwd = room / "venv", room / "empty"
    shutil.copytree(DEMO, cwd)
    scripts = venv / ("Scripts" if os.name == "nt" else "bin")
    place = Place(str(scripts / ("python.exe" if os.name == "nt" else "python")), scripts, cwd)
    place.run(python, "-m", "venv", str(venv))
    place.run(place.python, "-m", "pip", "install", "--quiet", f"{package}[flake8,lsp,report]")
    return place


def row(name: str, make: Callable[[Path], Place], checks: dict[str, Callable[[Place], None]]) -> bool:
    """One line of the table; whether all went well."""
    print(f"{name:<22}", end="", flush=True)
    errors: list[str] = []
    with tempfile.TemporaryDirectory() as room:
        try:
            place = make(Path(room))
            print(f"{'ok':<{WIDTH}}", end="", flush=True)
        except FailedError as error:
            print("FAILED", f"\n{error}")
            return False
        for check in checks.values():
            try:
                check(place)
                word = "ok"
            except FailedError as error:
                errors.append(str(error))
                word = "FAILED"
            print(f"{word:<{WIDTH}}", end="", flush=True)
    print("", *errors, sep="\n" if errors else "")
    return not errors


def runners(wheel: Path) -> Iterator[tuple[str, list[str]]]:
    """What runs a wheel without installing it first, as far as it is here."""
    uvx, pipx = shutil.which("uvx"), shutil.which("pipx")
    if uvx:
        yield "uvx --from", [uvx, "--python", sys.executable, "--from", str(wheel), "normlint"]
    if pipx:
        yield "pipx run --spec", [pipx, "run", "--python", sys.executable, "--spec", str(wheel), "normlint"]


def through(command: list[str]) -> dict[str, Callable[[Place], None]]:
    """The checks that a runner can pass."""
    demo_of = (*command, "--isolated", "--no-cache", "--output-format", "concise", ".")
    return {
        "version": lambda place: expect(place.run(*command, "--version"), "normlint "),
        "demo": lambda place: expect(place.run(*demo_of, status=1), "rmsnorm.py:17:26: NRM101"),
    }


def bare(room: Path) -> Place:
    """No environment of its own: the runner makes one."""
    shutil.copytree(DEMO, room / "empty")
    return Place(sys.executable, room, room / "empty")


def built(directory: Path) -> tuple[Path, Path]:
    """The one wheel and the one sdist there."""
    (wheel,), (sdist,) = directory.glob("normlint-*.whl"), directory.glob("normlint-*.tar.gz")
    return wheel.resolve(), sdist.resolve()


def check(directory: Path) -> bool:
    """The whole table."""
    wheel, sdist = built(directory)
    print(f"{wheel.name}, {sdist.name}\n\n{'':<22}", *(f"{one:<{WIDTH}}" for one in ("install", *CHECKS)), sep="")
    well = True
    for version_of, python in pythons():
        for package in (wheel, sdist):
            name = f"{version_of} {'wheel' if package == wheel else 'sdist'}"
            well &= row(name, partial(installed, python, package), CHECKS)
    for name, command in runners(wheel):
        well &= row(name, bare, through(command))
    return well


def main() -> int:
    """Build if need be, then check."""
    if len(sys.argv) > 1:
        return 0 if check(Path(sys.argv[1])) else 1
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [sys.executable, "-m", "build", "--outdir", directory, str(ROOT)], check=True, stdout=subprocess.DEVNULL
        )
        return 0 if check(Path(directory)) else 1


if __name__ == "__main__":
    sys.exit(main())
