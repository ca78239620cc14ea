"""What is built holds what it should, installs into an empty environment, and runs there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("hatchling", reason="hatchling builds the packages")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


check_wheels = script("check_wheels")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist, built once."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(place)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return check_wheels.built(place)


@pytest.fixture(scope="module")
def wheel(packages: tuple[Path, Path]) -> Path:
    return packages[0]


@pytest.fixture(scope="module")
def unpacked(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sdist")
    with tarfile.open(packages[1]) as archive:
        archive.extractall(place, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(place)
    (root,) = place.iterdir()
    return root


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory):
    """A new environment with the wheel, and what it needs from this one."""
    room = tmp_path_factory.mktemp("installed")
    venv.create(room / "venv", with_pip=False)
    scripts = room / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(scripts / ("python.exe" if sys.platform == "win32" else "python"))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    ran = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    # a plain path: .pth files behind it, such as the one of this checkout, are not followed
    Path(packages, "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (scripts / "flake8").write_text(f"#!{python}\nimport runpy\nrunpy.run_module('flake8', run_name='__main__')\n")
    (scripts / "flake8").chmod(0o755)
    shutil.copytree(check_wheels.DEMO, room / "empty")
    return check_wheels.Place(python, scripts, room / "empty")


def sources() -> set[str]:
    files = (path for path in (ROOT / "normlint").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in files}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == sources()
    assert "normlint/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_is_kept_in_git(unpacked: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: git doesn't say what belongs to it")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    left_out = (".ci/", "editors/")
    kept = {name for name in listed.split("\0") if name and not name.startswith(left_out) and (ROOT / name).exists()}
    there = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert kept <= there


def test_the_tests_run_from_the_sdist(unpacked: Path) -> None:
    where = "import normlint; print(normlint.__file__)"
    told = subprocess.run([sys.executable, "-c", where], cwd=unpacked, capture_output=True, text=True, check=True)
    assert Path(told.stdout.strip()) == unpacked / "normlint" / "__init__.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/rules/test_seeds.py"]
    ran = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", check_wheels.CHECKS)
def test_in_an_environment_of_its_own_it_passes_the_check_of(name: str, place) -> None:
    if name == "flake8" and sys.platform == "win32":
        pytest.skip("the script that stands in for flake8's is a POSIX one")
    if name in ("flake8", "server"):
        pytest.importorskip({"flake8": "flake8", "server": "pygls"}[name], reason="it needs this extra")
    check_wheels.CHECKS[name](place)


def test_a_check_tells_what_is_not_so(place) -> None:
    (place.cwd / "rmsnorm.py").rename(place.cwd / "rmsnorm.txt")
    with pytest.raises(check_wheels.FailedError, match="exit status 0"):
        check_wheels.demo(place)
    (place.cwd / "rmsnorm.txt").rename(place.cwd / "rmsnorm.py")


READS = """
import importlib, pkgutil, normlint.evaluate, normlint.norm, normlint.rules, normlint.text
for floor in (normlint.text, normlint.evaluate, normlint.norm, normlint.rules):
    for module in pkgutil.walk_packages(floor.__path__, floor.__name__ + "."):
        importlib.import_module(module.name)
text = "import torch\\ndef rms_norm(x, w):\\n    return x * torch.rsqrt(x.pow(2).mean() + 1e-6) * w\\n"
print([finding.code for finding in normlint.rules.analyse(text).findings])
"""


@pytest.mark.parametrize("minor", range(10, 15))
def test_each_supported_python_reads_a_norm(minor: int) -> None:
    python, env = shutil.which(f"python3.{minor}"), {**os.environ, "PYENV_VERSION": f"3.{minor}"}  # where pyenv has it
    if python is None or subprocess.run([python, "--version"], env=env, capture_output=True, check=False).returncode:
        pytest.skip(f"no Python 3.{minor} here")
    ran = subprocess.run([python, "-c", READS], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "NRM101" in ran.stdout, ran.stderr
