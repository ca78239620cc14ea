"""Find the files to lint below the given paths, and the settings that apply to each."""

from __future__ import annotations

import os

from normlint.engine.settings import CONFIG_FILES, OWN_FILES, ConfigError, Settings, special_patterns
from normlint.text.raw import SUFFIXES, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Final, TypeVar

    from pathspec import GitIgnoreSpec

    from normlint.engine.report import Failure

    Made = TypeVar("Made")
    _Specs = tuple[tuple[str, GitIgnoreSpec], ...]

_SUFFIXES: Final = tuple(SUFFIXES)
_EDITOR_LOCK: Final = ".#"
_GITIGNORE: Final = ".gitignore"
_REPOSITORY: Final = ".git"


class Configs:
    """The settings of each directory, read once; `adjust` applies the command line's options to them.

    A broken configuration is kept in `errors`: the command stops, an editor continues as if the file didn't exist.
    """

    __slots__ = ("_known", "adjust", "errors", "fixed")

    def __init__(
        self, adjust: Callable[[Settings], Settings] = lambda settings: settings, fixed: Settings | None = None
    ) -> None:
        self.adjust = adjust
        self.fixed = fixed
        self.errors: dict[str, ConfigError] = {}
        self._known: dict[str, Settings] = {}

    def of(self, path: str) -> Settings:
        """Return the settings for the file at `path`."""
        return self.of_directory(os.path.dirname(os.path.abspath(path)))

    def of_directory(self, directory: str) -> Settings:
        """Return the settings for the files in a directory, given as an absolute path."""
        known = self._known.get(directory)
        if known is None:
            known = self._known[directory] = self._settings_of(directory)
        return known

    def require(self) -> None:
        """Raise ConfigError if one of the configuration files read so far is broken."""
        for file, error in self.errors.items():
            raise ConfigError(f"{os.path.relpath(file)}: {str(error).removeprefix(f'{file}: ')}")

    def of_each(self, paths: tuple[str, ...]) -> list[Settings]:
        """Return the settings for each of the files; files in one directory share an object."""
        here, settings = None, None
        each = []
        for path in paths:
            directory = path.rpartition(os.sep)[0]
            if settings is None or directory != here:
                here, settings = directory, self.of(path)
            each.append(settings)
        return each

    def made_for(self, paths: tuple[str, ...], make: Callable[[Settings, str], Made]) -> Iterator[tuple[str, Made]]:
        """Yield each path with what is made of its settings; equal ones are shared: thousands are slow to make."""
        shared: dict[tuple[int, tuple[str, ...]], Made] = {}
        for path, settings in zip(paths, self.of_each(paths), strict=True):
            same = id(settings), settings.ignored(path)
            if same not in shared:
                shared[same] = make(settings, path)
            yield path, shared[same]

    def _settings_of(self, directory: str) -> Settings:
        if self.fixed is not None:
            return self.adjust(self.fixed)
        for name in CONFIG_FILES:
            file = os.path.join(directory, name)
            if os.path.isfile(file) and (name in OWN_FILES or _may_configure_normlint(file)):
                from normlint.engine.config import load

                try:
                    settings = load(file)
                except ConfigError as error:
                    self.errors[file] = error
                else:
                    if settings is not None:
                        return self.adjust(settings)
        above = os.path.dirname(directory)
        return self.of_directory(above) if above != directory else self.adjust(Settings(os.getcwd()))


def _may_configure_normlint(file: str) -> bool:
    """Return whether a pyproject.toml contains `normlint`; otherwise it isn't parsed and its errors aren't reported."""
    try:
        with open(file, "rb") as opened:
            return b"normlint" in opened.read()
    except OSError:
        return True


class Found:
    """The files to lint, in order, and the errors of paths that can't be read; `searched`: a directory was named."""

    __slots__ = ("errors", "paths", "searched")

    def __init__(self, paths: tuple[str, ...], walk: _Walk) -> None:
        self.paths = paths
        self.errors: tuple[Failure, ...] = tuple(walk.errors)
        self.searched = walk.searched


def discover(paths: Sequence[str], configs: Configs) -> Found:
    """Return the files at and below `paths`, sorted and without duplicates."""
    walk = _Walk(configs)
    files: list[str] = []
    for path in paths:
        if not path:
            raise ConfigError('a path is empty: "." is the directory you are in')
        files += walk.of(os.path.normpath(path))
    if len(paths) > 1:  # the files of one path are sorted
        files = sorted(dict.fromkeys(files), key=path_order)
    return Found(tuple(files), walk)


def path_order(path: str) -> tuple[str, ...]:
    """Return the key that sorts paths in the order of `discover`."""
    return tuple(path.split(os.sep))


class _Walk:
    __slots__ = ("_floor", "_ignores", "configs", "errors", "searched")

    def __init__(self, configs: Configs) -> None:
        self.configs = configs
        self.errors: list[Failure] = []
        self.searched = False
        self._ignores: dict[str, _Specs] = {}
        self._floor = ""

    def of(self, path: str) -> list[str]:
        """Return the files at one path of the command line: a file is taken whatever its name."""
        try:
            directory = os.path.isdir(path)
            if not directory:
                os.stat(path)
        except (OSError, ValueError) as error:
            self._fail(path, error)
            return []
        if self._is_force_excluded(path, directory):
            return []
        self.searched |= directory
        return self._below(path) if directory else [path]

    def _below(self, top: str) -> list[str]:
        """Return the files below a directory. Links to directories in it are not followed, so there are no loops."""
        self._enter(top)
        files: list[str] = []
        waiting = [(top, True)]
        while waiting:
            path, is_directory = waiting.pop()
            if is_directory:
                waiting += reversed(self._inside(path))
            else:
                files.append(path)
        return files

    def _inside(self, directory: str) -> list[tuple[str, bool]]:
        """Return the files and directories in a directory that aren't excluded, sorted, each with whether it is one."""
        absolute = os.path.abspath(directory)
        settings = self.configs.of_directory(absolute)
        entries = self._entries(directory)
        ignoring = bool(settings.respect_gitignore and self._specs_among(absolute, entries))
        names = {*settings.exclude, *settings.extend_exclude}
        special = bool(special_patterns((*settings.exclude, *settings.extend_exclude)))
        before = "" if directory == os.curdir else os.path.join(directory, "")
        inside = []
        for entry in entries:
            name = entry.name
            is_directory = self._is_directory(entry)
            if not (is_directory or _is_source(name)):
                continue
            path = before + name
            if name in names or (special and settings.excludes(os.path.join(absolute, name))):
                continue
            if ignoring and self._git_ignores(path, is_directory, settings):
                continue
            if is_directory or self._is_there(entry, path):
                inside.append((path, is_directory))
        return inside

    def _enter(self, top: str) -> None:
        """Start at a named directory: if git ignores it, the .gitignore files above it are not applied."""
        absolute = os.path.abspath(top)
        self._ignores, self._floor = {}, ""
        if self._git_ignores(absolute, True, self.configs.of_directory(absolute)):
            self._ignores, self._floor = {}, absolute

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._fail(directory, error)
            return []

    @staticmethod
    def _is_directory(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir(follow_symlinks=False)
        except OSError:
            return False

    def _is_there(self, entry: os.DirEntry[str], path: str) -> bool:
        try:
            if entry.is_dir():
                return False
            return entry.is_file() or bool(entry.stat())
        except OSError as error:
            self._fail(path, error)
            return False

    def _is_force_excluded(self, path: str, directory: bool) -> bool:
        """Return whether force-exclude leaves out a named path, for its own name or that of a directory above it."""
        absolute = os.path.abspath(path)
        settings = self.configs.of_directory(absolute if directory else os.path.dirname(absolute))
        if not settings.force_exclude:
            return False
        chain = [absolute]
        while os.path.dirname(chain[-1]) not in (settings.root, chain[-1]):
            chain.append(os.path.dirname(chain[-1]))
        return any(settings.excludes(step) for step in chain) or self._git_ignores(path, directory, settings)

    def _git_ignores(self, path: str, directory: bool, settings: Settings) -> bool:
        """Return whether git ignores the path: the innermost .gitignore with a matching pattern decides."""
        if not settings.respect_gitignore:
            return False
        absolute = os.path.abspath(path)
        for above, spec in self._specs(os.path.dirname(absolute)):
            relative = os.path.relpath(absolute, above).replace(os.sep, "/") + ("/" if directory else "")
            included = spec.check_file(relative).include
            if included is not None:
                return included
        return False

    def _specs_among(self, directory: str, entries: list[os.DirEntry[str]]) -> _Specs:
        """Return `_specs(directory)`; a directory without a .gitignore among its entries shares those of its parent."""
        above = self._ignores.get(os.path.dirname(directory))
        names = (_GITIGNORE, _REPOSITORY)
        if above is None or directory == self._floor or any(entry.name in names for entry in entries):
            return self._specs(directory)
        self._ignores[directory] = above
        return above

    def _specs(self, directory: str) -> _Specs:
        """Return the .gitignore files that apply in a directory, innermost first, up to the top of the repository."""
        if directory not in self._ignores:
            own = self._read_spec(directory)
            here: _Specs = ((directory, own),) if own is not None else ()
            above = os.path.dirname(directory)
            top = directory in (self._floor, above) or os.path.exists(os.path.join(directory, _REPOSITORY))
            self._ignores[directory] = here if top else here + self._specs(above)
        return self._ignores[directory]

    def _read_spec(self, directory: str) -> GitIgnoreSpec | None:
        file = os.path.join(directory, _GITIGNORE)
        if not os.path.isfile(file):
            return None
        import pathspec

        try:
            with open(file, encoding="utf-8", errors="surrogateescape") as lines:
                return pathspec.GitIgnoreSpec.from_lines(lines.read().splitlines())
        except (OSError, ValueError) as error:
            self._fail(file, error)
            return None

    def _fail(self, path: str, error: OSError | ValueError) -> None:
        from normlint.engine.report import Failure

        self.errors.append(Failure(path, None, reason(error)))


def _is_source(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not name.startswith(_EDITOR_LOCK)
