"""The command `normlint`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from normlint.engine.config import ConfigError, Configs, Settings, load_given
from normlint.engine.discovery import Found, discover
from normlint.engine.linter import Demand, check_bytes
from normlint.engine.report import Failure, Report, merged
from normlint.engine.run import check_all
from normlint.faces.options import adjuster, parse
from normlint.faces.progress import watched

if TYPE_CHECKING:
    from argparse import Namespace

STDIN: Final = "-"
CLEAN, FOUND, TROUBLE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    _prepare_streams()
    try:
        status = _run(parse(arguments))
        sys.stdout.flush()
        return status
    except ConfigError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is left to say, and nothing may be said at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _complain(f"output: {error.strerror or error}")


def _complain(message: str) -> int:
    sys.stderr.write(f"normlint: {' '.join(message.split())}\n")
    return TROUBLE


def _prepare_streams() -> None:
    """What a terminal's encoding doesn't hold is shown escaped: it must not end the run."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _run(options: Namespace) -> int:
    if options.explain is not None:
        from normlint.faces.rules import explanation

        return _write(explanation(options.explain), options)
    if options.list_rules:
        from normlint.faces.rules import listing

        return _write(listing(), options)
    configs = _configs(options)
    if options.show_settings:
        from normlint.faces.shows import settings_text

        first = (options.paths or [os.curdir])[0]
        here = os.path.abspath(options.stdin_filename or os.curdir if first == STDIN else first)
        return _write(settings_text(configs.of_directory(here) if os.path.isdir(here) else configs.of(here)), options)
    if options.show_files:
        found = _discover(options.paths, configs)
        status = _write("".join(f"{path}\n" for path in found.paths), options)
        return _tell(found.errors) or status
    return _lint(options, configs)


def _configs(options: Namespace) -> Configs:
    """Where settings come from; the order of wrongness is told: first the command line, then the file it names."""
    adjust = adjuster(options)
    if options.config is not None and options.isolated:
        raise ConfigError("--config and --isolated exclude each other; give one of them")
    if options.isolated:
        return Configs(adjust, Settings(os.getcwd()))
    return Configs(adjust, load_given(options.config) if options.config is not None else None)


def _lint(options: Namespace, configs: Configs) -> int:
    accept = _accepting(options.baseline)
    report, paths = _checked(options, configs)
    report = accept(_with_config_errors(report, configs))
    trouble = _tell(report.errors)
    if options.write_baseline:
        return _write_baseline(options, report) or trouble
    if options.add_noqa:
        return _add_noqa(report) or trouble
    settings = configs.of_directory(os.getcwd())
    _write(_shown(options, report, paths, settings.output_format), options)
    if trouble:
        return trouble
    return FOUND if report.findings and not options.exit_zero and not options.show_norms else CLEAN


def _accepting(file: str | None) -> Callable[[Report], Report]:
    """Leaves out what the baseline accepts; a bad baseline is told before the work begins."""
    if file is None:
        return lambda report: report
    from normlint.engine import baseline

    accepted = baseline.load(file)
    return lambda report: baseline.without(report, accepted, file)


def _checked(options: Namespace, configs: Configs) -> tuple[Report, tuple[str, ...]]:
    if not options.verify:
        return _linted(options, configs, lambda demand: demand)
    from normlint.faces.verifying import preparing, verifying

    with verifying(options.device, options.verify_timeout) as verified:
        report, paths = _linted(options, configs, preparing)
        return verified(report), paths


def _linted(options: Namespace, configs: Configs, adjust: Callable[[Demand], Demand]) -> tuple[Report, tuple[str, ...]]:
    def demand(path: str) -> Demand:
        return adjust(configs.of(path).demand(path, noqa=not options.ignore_noqa))

    if STDIN in options.paths:
        if len(options.paths) > 1:
            raise ConfigError('"-" stands alone: give either paths or standard input')
        name = options.stdin_filename or "<stdin>"
        if options.add_noqa:
            raise ConfigError("--add-noqa writes files: it can't take standard input")
        if _is_excluded(name, configs):
            return Report(), (name,)
        return check_bytes(name, sys.stdin.buffer.read(), demand(name)), (name,)
    found = _discover(options.paths, configs)
    tasks = [(path, demand(path)) for path in found.paths]
    reports = watched(check_all(tasks, options.jobs), len(tasks))
    return merged((Report(errors=found.errors), *reports)), found.paths


def _is_excluded(name: str, configs: Configs) -> bool:
    settings = configs.of(name)
    return settings.force_exclude and settings.excludes(os.path.abspath(name))


def _discover(paths: Sequence[str], configs: Configs) -> Found:
    return discover(paths or [os.curdir], configs)


def _with_config_errors(report: Report, configs: Configs) -> Report:
    broken = tuple(
        Failure(os.path.relpath(file), None, str(error).removeprefix(f"{file}: "))
        for file, error in configs.errors.items()
    )
    return replace(report, errors=broken + report.errors)


def _tell(errors: Sequence[Failure]) -> int:
    """Say on standard error what could not be linted."""
    from normlint.faces.render.style import harmless

    for error in errors:
        where = error.path if error.line is None else f"{error.path}:{error.line}"
        sys.stderr.write(harmless(f"normlint: {where}: {error.message}") + "\n")
    return TROUBLE if errors else CLEAN


def _shown(options: Namespace, report: Report, paths: tuple[str, ...], output_format: str) -> str:
    from normlint.faces.render import View, render
    from normlint.faces.render.style import wants_colour

    view = View(not options.output_file and wants_colour(sys.stdout), paths)
    if options.show_norms and output_format in ("full", "concise"):
        from normlint.faces.shows import norms_text

        return norms_text(report, view)
    if options.statistics and output_format in ("full", "concise"):
        from normlint.faces.shows import statistics_text

        return statistics_text(report)
    return render(report, output_format, view)


def _write(text: str, options: Namespace) -> int:
    """To the file that was asked for, else to standard output."""
    if not options.output_file:
        sys.stdout.write(text)
        return CLEAN
    try:
        with open(options.output_file, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--output-file {options.output_file}: {getattr(error, 'strerror', None) or error}") from None
    return CLEAN


def _write_baseline(options: Namespace, report: Report) -> int:
    from normlint.engine import baseline
    from normlint.engine.write import write_atomically

    try:
        text = baseline.dump(report.findings, options.write_baseline)
        write_atomically(options.write_baseline, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"--write-baseline {options.write_baseline}: {reason}") from None
    sys.stdout.write(f"Wrote {_count(len(report.findings), 'finding')} to {options.write_baseline}.\n")
    return CLEAN


def _add_noqa(report: Report) -> int:
    from normlint.engine.noqa import add_noqa

    added, errors = add_noqa(report.findings)
    sys.stdout.write(f"Added {_count(added, 'noqa comment')}.\n")
    return _tell(errors)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
