"""Which files: those named, and those below a named directory that no pattern and no .gitignore keeps out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from normlint.engine.config import Configs, Settings
from normlint.engine.report import Failure
from normlint.text.read import SUFFIXES, reason

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    _Specs = tuple[tuple[str, GitIgnoreSpec], ...]

_SUFFIXES: Final = tuple(SUFFIXES)
_EDITOR_LOCK: Final = ".#"


@dataclass(frozen=True, slots=True)
class Found:
    """The files to lint, in order, and the paths that could not be followed."""

    paths: tuple[str, ...]
    errors: tuple[Failure, ...]


def discover(paths: Sequence[str], configs: Configs) -> Found:
    """The files at and below `paths`, sorted, each once."""
    walk = _Walk(configs)
    files: dict[str, None] = {}
    for path in paths:
        files.update(dict.fromkeys(walk.of(os.path.normpath(path))))
    return Found(tuple(sorted(files, key=_order)), tuple(walk.errors))


def _order(path: str) -> tuple[str, ...]:
    return tuple(path.split(os.sep))


@dataclass(slots=True)
class _Walk:
    configs: Configs
    errors: list[Failure] = field(default_factory=list)
    _ignores: dict[str, _Specs] = field(default_factory=dict)
    _floor: str = ""

    def of(self, path: str) -> Iterator[str]:
        """The files at one path of the command line: a file is taken whatever its name."""
        try:
            directory = os.path.isdir(path)
            if not directory:
                os.stat(path)
        except (OSError, ValueError) as error:
            self._fail(path, error)
            return
        if self._forced_out(path, directory):
            return
        if directory:
            yield from self._below(path)
        else:
            yield path

    def _below(self, top: str) -> Iterator[str]:
        """Links to directories are not followed, so no loop can be entered; a named link is."""
        self._enter(top)
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            settings = self.configs.of_directory(os.path.abspath(directory))
            for entry in self._entries(directory):
                path = entry.name if directory == os.curdir else os.path.join(directory, entry.name)
                is_directory = self._is_directory(entry)
                if not is_directory and not self._is_source(entry, path):
                    continue
                if settings.excludes(os.path.abspath(path)) or self._git_ignores(path, is_directory, settings):
                    continue
                if is_directory:
                    waiting.append(path)
                elif self._is_there(entry, path):
                    yield path

    def _enter(self, top: str) -> None:
        """A directory that is named is meant: if git ignores it, the .gitignore files above it are not asked."""
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

    @staticmethod
    def _is_source(entry: os.DirEntry[str], path: str) -> bool:
        return path.lower().endswith(_SUFFIXES) and not entry.name.startswith(_EDITOR_LOCK)

    def _is_there(self, entry: os.DirEntry[str], path: str) -> bool:
        try:
            if entry.is_dir():
                return False
            return entry.is_file() or bool(entry.stat())
        except OSError as error:
            self._fail(path, error)
            return False

    def _forced_out(self, path: str, directory: bool) -> bool:
        """With force-exclude a named path is asked like any other, with all directories above it up to the root."""
        absolute = os.path.abspath(path)
        settings = self.configs.of_directory(absolute if directory else os.path.dirname(absolute))
        if not settings.force_exclude:
            return False
        chain = [absolute]
        while os.path.dirname(chain[-1]) not in (settings.root, chain[-1]):
            chain.append(os.path.dirname(chain[-1]))
        return any(settings.excludes(step) for step in chain) or self._git_ignores(path, directory, settings)

    def _git_ignores(self, path: str, directory: bool, settings: Settings) -> bool:
        """The innermost .gitignore that says something decides."""
        if not settings.respect_gitignore:
            return False
        absolute = os.path.abspath(path)
        for above, spec in self._specs(os.path.dirname(absolute)):
            relative = os.path.relpath(absolute, above).replace(os.sep, "/") + ("/" if directory else "")
            told = spec.check_file(relative).include
            if told is not None:
                return told
        return False

    def _specs(self, directory: str) -> _Specs:
        """The .gitignore files that hold in a directory, innermost first, up to the top of the repository."""
        if directory not in self._ignores:
            own = self._read_spec(directory)
            here: _Specs = ((directory, own),) if own is not None else ()
            above = os.path.dirname(directory)
            top = directory in (self._floor, above) or os.path.exists(os.path.join(directory, ".git"))
            self._ignores[directory] = here if top else here + self._specs(above)
        return self._ignores[directory]

    def _read_spec(self, directory: str) -> GitIgnoreSpec | None:
        file = os.path.join(directory, ".gitignore")
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
        self.errors.append(Failure(path, None, reason(error)))
