"""What the command works on: files, or standard input, and what is demanded of each."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from normlint.engine.discovery import Found, discover
from normlint.engine.linter import Demand
from normlint.engine.report import Failure
from normlint.engine.settings import ConfigError, Configs

STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Targets:
    """Files, or `data` that came from standard input under the name of the one path.

    `tasks`: what is to be linted, which isn't everything: standard input may go by an excluded name.
    """

    paths: tuple[str, ...]
    tasks: tuple[tuple[str, Demand], ...]
    errors: tuple[Failure, ...] = ()
    data: bytes | None = None


def targets(options: Namespace, configs: Configs, found: Found | None = None) -> Targets:
    """What the paths of the command line are; `found` if they have been looked up already."""
    if STDIN not in options.paths:
        found = found or discovered(options.paths, configs)
        return Targets(found.paths, _tasks(found.paths, options, configs), found.errors)
    if len(options.paths) > 1:
        raise ConfigError('"-" cannot be combined with paths')
    if options.add_noqa:
        raise ConfigError("--add-noqa writes files: it can't take standard input")
    name = options.stdin_filename or "<stdin>"
    chosen = () if _is_excluded(name, configs) else (name,)
    return Targets((name,), _tasks(chosen, options, configs), data=sys.stdin.buffer.read())


def discovered(paths: Sequence[str], configs: Configs) -> Found:
    """The files that the paths are or hold."""
    return discover(paths or [os.curdir], configs)


def _tasks(paths: tuple[str, ...], options: Namespace, configs: Configs) -> tuple[tuple[str, Demand], ...]:
    """Files of which the same is wanted share one demand: thousands are costly to make, and to send."""
    shared: dict[tuple[int, tuple[str, ...]], Demand] = {}
    tasks = []
    for path, settings in zip(paths, configs.of_each(paths), strict=True):
        same = id(settings), settings.ignored(path)
        if same not in shared:
            shared[same] = settings.demand(path, noqa=not options.ignore_noqa)
        tasks.append((path, shared[same]))
    return tuple(tasks)


def _is_excluded(name: str, configs: Configs) -> bool:
    settings = configs.of(name)
    return settings.force_exclude and settings.excludes(os.path.abspath(name))
