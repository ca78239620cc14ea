"""`pytest --normlint`: each file that pytest comes across is linted, as a test of its own; and fixtures for norms."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from normlint.engine.discovery import Configs, discover
from normlint.engine.settings import ConfigError, Settings
from normlint.text.raw import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _pytest._code import ExceptionInfo

NAME: Final = "normlint"
_CONFIGS: Final = pytest.StashKey[Configs]()
_DEVICES: Final = ("cpu", "cuda", "mps")
_NEEDED: Final = "it needs PyTorch: pip install 'normlint[verify]'"


class _Way(str):
    """A dtype or device of the fixtures below, and none of somebody else's."""

    __slots__ = ()


@pytest.fixture(params=map(_Way, ("fp32", "fp16", "bf16")))
def norm_dtype(request: pytest.FixtureRequest) -> Any:
    """torch.float32, float16 and bfloat16, as far as the project's `dtypes` name them."""
    pytest.importorskip("torch", reason=_NEEDED)
    from normlint.verify.bench.probes import SHORT

    return next(dtype for dtype, name in SHORT.items() if name == request.param)


@pytest.fixture(params=map(_Way, _DEVICES))
def norm_device(request: pytest.FixtureRequest) -> str:
    """The name of each device that is there, of cpu, cuda and mps."""
    pytest.importorskip("torch", reason=_NEEDED)
    return str(request.param)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests for dtypes that the project doesn't use and for devices that aren't available."""
    ways = {item: [one for one in _params(item) if isinstance(one, _Way)] for item in items}
    if not any(ways.values()):
        return
    there = {*_configured(config), *_devices()}
    left_out = [item for item in items if not there.issuperset(ways[item])]
    items[:] = [item for item in items if there.issuperset(ways[item])]
    config.hook.pytest_deselected(items=left_out)


def _params(item: pytest.Item) -> Iterable[object]:
    callspec = getattr(item, "callspec", None)
    return callspec.params.values() if callspec else ()


def _configured(config: pytest.Config) -> tuple[str, ...]:
    configs = config.stash[_CONFIGS]
    settings = configs.of_directory(str(config.rootpath))
    try:
        configs.require()
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from None
    return settings.dtypes


def _devices() -> tuple[str, ...]:
    try:
        from normlint.verify.bench.probes import devices
    except ModuleNotFoundError:
        return _DEVICES  # without torch each is skipped, and says why
    return devices()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--normlint`."""
    parser.getgroup(NAME).addoption("--normlint", action="store_true", help="lint norms in the collected files")


def pytest_configure(config: pytest.Config) -> None:
    """`-m normlint` chooses these tests, `-m "not normlint"` the others."""
    config.addinivalue_line("markers", f"{NAME}: the norms in a file, read by normlint")
    config.stash[_CONFIGS] = Configs(partial(Settings.over, force_exclude=True))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> LintedFile | None:
    """The file, where it is to be linted and nothing excludes it."""
    if not parent.config.option.normlint or file_path.suffix not in SUFFIXES:
        return None
    wanted = discover([str(file_path)], parent.config.stash[_CONFIGS]).paths
    return LintedFile.from_parent(parent, path=file_path) if wanted else None


class LintedFile(pytest.File):
    """A file that holds one test."""

    def collect(self) -> Iterator[LintedItem]:
        """Yield the one test of the file."""
        yield LintedItem.from_parent(self, name=NAME)


class LintedItem(pytest.Item):
    """The test that normlint finds nothing in a file that fails its run."""

    def __init__(self, name: str, parent: LintedFile) -> None:
        super().__init__(name, parent)
        self.add_marker(NAME)
        self.funcargs: dict[str, object] = {}  # other plugins take it for granted

    def runtest(self) -> None:
        """Fails with the findings, as the command shows them."""
        from normlint.engine.linter import check_path
        from normlint.engine.report import any_at
        from normlint.engine.selection import demand_of
        from normlint.faces.render import Display, from_here, render

        configs = self.config.stash[_CONFIGS]
        path = from_here(str(self.path))
        settings = configs.of(path)
        configs.require()
        report = check_path(path, demand_of(settings, path))
        errors = [f"{error.path}: {error.message}\n" for error in report.errors]
        if errors or any_at(report.findings, settings.fail_on):
            colour = self.config.get_terminal_writer().hasmarkup
            found = render(report, "full", Display(colour, quiet=True))
            raise NormlintError("".join((*errors, found)))

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], style: None = None) -> str:  # type: ignore[override]
        """The findings without a traceback."""
        expected = isinstance(excinfo.value, NormlintError | ConfigError)
        return str(excinfo.value) if expected else str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, None, str]:
        """The file and the name that pytest shows for this test."""
        return self.path, None, f"{self.path.name}::{NAME}"


class NormlintError(Exception):
    """What was found."""
