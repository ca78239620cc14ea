"""Run the command `normlint`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from normlint.engine.cache import Cache, directory_for
from normlint.engine.config import load_given
from normlint.engine.discovery import Configs
from normlint.engine.linter import check_bytes
from normlint.engine.report import Diagnostic, Failure, Report, any_at, merged
from normlint.engine.run import check_all, check_cached
from normlint.engine.selection import demand_of
from normlint.engine.settings import ConfigError, Settings
from normlint.faces.options import IMPORT, INTERPRET, STDIN, Targets, adjuster, discovered, parse, targets, translated
from normlint.faces.render import Display, Style, harmless, in_one_line, render, verdicts
from normlint.faces.render.concise import closing, looked_at, made, unsafe
from normlint.faces.render.verdicts import LEGEND
from normlint.faces.rules import all_rules, explanation, listing
from normlint.faces.terminal import (
    CLEAN,
    FOUND,
    TROUBLE,
    Started,
    counted,
    ended,
    nothing_seen,
    prepare_streams,
    wants_colour,
    watched,
)
from normlint.text.raw import reason

if TYPE_CHECKING:
    from argparse import Namespace

    from normlint.engine.baseline import Acceptance


def main(arguments: Sequence[str] | None = None, started: Started | None = None) -> int:
    """Run the command and return the exit status; `started`: what `normlint.faces.entry` has computed already."""
    prepare_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    return ended(lambda: _run(translated(words), started))


def _run(words: list[str], started: Started | None) -> int:
    options = parse(words)
    if options.explain is not None:
        return _write(explanation(options.explain), options)
    if options.list_rules:
        return _write(listing(), options)
    configs = started.configs if started else _configs(options)
    if options.show_settings:
        first = (options.paths or [os.curdir])[0]
        here = os.path.abspath(options.stdin_filename or os.curdir if first == STDIN else first)
        return _write(settings_text(configs.of_directory(here) if os.path.isdir(here) else configs.of(here)), options)
    if options.show_files:
        found = discovered(options.paths, configs)
        status = _write(_safe_for_terminal("".join(f"{path}\n" for path in found.paths)), options)
        return _print_errors(found.errors) or status
    return _lint(options, configs, started)


def _configs(options: Namespace) -> Configs:
    """Return the source of settings; errors of the command line are raised before those of the file it names."""
    adjust = adjuster(options)
    if options.config is not None and options.isolated:
        raise ConfigError("--config and --isolated cannot be combined")
    if options.isolated:
        return Configs(adjust, Settings(os.getcwd()))
    return Configs(adjust, load_given(options.config) if options.config is not None else None)


def _lint(options: Namespace, configs: Configs, started: Started | None) -> int:
    options.strict = not options.verify  # without `--verify`, a fix that can't be run isn't made
    if options.verify is None and not options.report and configs.of_directory(os.getcwd()).verify:
        options.verify = _configured_verify()
    accepted = _read_baseline(options.baseline)
    if options.fix or options.diff:
        return _fix(options, configs, accepted)
    chosen = targets(options, configs, started.found if started else None)
    report = _checked(options, chosen, _cache(options, chosen, configs, started), norms=_shows_norms(options, configs))
    report = accepted.without(report) if accepted else report
    trouble = _print_errors(report.errors)
    if options.report:
        from normlint.faces.report.page import html
        from normlint.faces.verifying import with_repairs

        _save(html(report if options.verify else with_repairs(report, chosen), chosen), options.report, "--report")
    _save_sarif(options, report, chosen.paths)
    if options.write_baseline:
        return _write_baseline(options, report) or trouble
    if options.add_noqa:
        return _add_noqa(report) or trouble
    _warn_of_nothing(options, report, chosen)
    _write(_report_text(options, report, chosen.paths, configs), options)
    return trouble or _status(options, not options.show_norms and _fails(report, configs))


def _warn_of_nothing(options: Namespace, report: Report, chosen: Targets) -> None:
    """Print a warning if no norm was found in the searched directories."""
    if chosen.found is not None and not (options.quiet or report.errors):
        sys.stderr.write(nothing_seen(report.norm_count or len(report.findings), chosen.found, options.paths))


def _fix(options: Namespace, configs: Configs, accepted: Acceptance | None) -> int:
    """Run `--fix` or `--diff`. A diff or the fixed standard input goes to stdout, and the report to stderr."""
    from normlint.faces.fixing import fix_files

    chosen = targets(options, configs)
    report, text = fix_files(options, chosen, accepted)
    _warn_of_nothing(options, report, chosen)
    if options.fix_only:
        report = replace(report, findings=())
    _save_sarif(options, report, chosen.paths)
    trouble = _print_errors(report.errors)
    _print_errors(report.notes)
    if text is not None:
        _write(_safe_for_terminal(text) if options.diff and isinstance(text, str) else text, options)
        display = _display(options, chosen.paths)
        would = (f"{line}\n" for line in closing(report, replace(display, colour=False), would=True))
        output = "".join(would) if options.diff else _report_text(options, report, chosen.paths, configs)
        sys.stdout.flush()  # on a terminal, the report comes after the text that it is about
        sys.stderr.write(output)
    else:
        _write(_report_text(options, report, chosen.paths, configs), options)
    changed = options.diff or options.exit_non_zero_on_fix
    left = not options.diff and _fails(report, configs)
    return trouble or _status(options, bool(changed and report.fixed) or left)


def _fails(report: Report, configs: Configs) -> bool:
    return any_at(report.findings, configs.of_directory(os.getcwd()).fail_on)


def _status(options: Namespace, found: bool) -> int:
    return FOUND if found and not options.exit_zero else CLEAN


def _configured_verify() -> str | None:
    """Return how `verify = true` verifies: None without PyTorch, so that a project can be linted without it."""
    from importlib.util import find_spec

    if find_spec("torch"):
        return INTERPRET
    sys.stderr.write("normlint: verify = true needs PyTorch, which is not installed: norms are only read\n")
    return None


def _read_baseline(file: str | None) -> Acceptance | None:
    """Read the baseline; ConfigError if it is invalid."""
    if file is None:
        return None
    from normlint.engine import baseline

    return baseline.load(file)


def _cache(options: Namespace, chosen: Targets, configs: Configs, started: Started | None) -> Cache | None:
    """Return the cache; None if it is disabled, for verdicts and for standard input."""
    if options.no_cache or options.verify or chosen.data is not None:
        return None
    if started and started.cache:
        return started.cache
    return Cache(directory_for(configs, options.cache_dir))


def _checked(options: Namespace, chosen: Targets, cache: Cache | None, *, norms: bool) -> Report:
    if not options.verify:
        return _linted(options, chosen, cache, norms=norms)
    from normlint.faces.verifying import preparing, verifying, with_repairs

    execute = options.verify == IMPORT
    prepared = replace(chosen, tasks=tuple((path, preparing(demand, execute=execute)) for path, demand in chosen.tasks))
    drawn = bool(options.report)
    with verifying(options.device, options.verify_timeout, execute=execute, sweep=drawn) as verifier:
        report = verifier.verified(_linted(options, prepared, None, norms=True))
        return with_repairs(report, chosen, verifier) if drawn else report


def _linted(options: Namespace, chosen: Targets, cache: Cache | None, *, norms: bool) -> Report:
    if chosen.data is not None:
        return merged(check_bytes(path, chosen.data, demand) for path, demand in chosen.tasks)
    jobs = options.jobs
    reports = check_cached(chosen.tasks, cache, jobs, norms=norms) if cache else check_all(chosen.tasks, jobs)
    return merged((Report(errors=chosen.errors), *watched(reports, len(chosen.tasks))))


def _print_errors(errors: Sequence[Failure]) -> int:
    """Print the errors to stderr; return the exit status."""
    for error in errors:
        path = in_one_line(error.path)
        where = path if error.line is None else f"{path}:{error.line}"
        sys.stderr.write(harmless(f"normlint: {where}: {error.message}") + "\n")
    return TROUBLE if errors else CLEAN


def _report_text(options: Namespace, report: Report, paths: tuple[str, ...], configs: Configs) -> str:
    output_format = configs.of_directory(os.getcwd()).output_format
    display = _display(options, paths)
    if options.silent:
        return ""
    if options.show_norms and output_format in ("full", "concise"):
        return norms_text(report, display)
    if options.statistics and output_format in ("full", "concise"):
        return statistics_text(report, display)
    return render(report, output_format, display)


def _display(options: Namespace, paths: tuple[str, ...]) -> Display:
    colour = not options.output_file and wants_colour(sys.stdout)
    return Display(colour, paths, options.quiet, not options.fix_only)


def _shows_norms(options: Namespace, configs: Configs) -> bool:
    return bool(options.report) or options.show_norms or configs.of_directory(os.getcwd()).output_format == "json"


def _safe_for_terminal(text: str) -> str:
    """Return the text unchanged, but on a terminal with control characters made visible."""
    return harmless(text) if sys.stdout.isatty() else text


def _write(text: str | bytes, options: Namespace) -> int:
    """Write to `--output-file` or else to stdout; return the exit status."""
    if options.output_file:
        _save(text, options.output_file, "--output-file")
    elif isinstance(text, bytes):
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
    else:
        sys.stdout.write(text)
    return CLEAN


def _save_sarif(options: Namespace, report: Report, paths: tuple[str, ...]) -> None:
    if options.sarif_file:
        _save(render(report, "sarif", _display(options, paths)), options.sarif_file, "--sarif-file")


def _save(text: str | bytes, path: str, option: str) -> None:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    try:
        with open(path, "wb") as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{option} {path}: {reason(error)}") from None


def _write_baseline(options: Namespace, report: Report) -> int:
    from normlint.engine import baseline
    from normlint.engine.write import write_atomically

    try:
        text = baseline.dump(report.findings, options.write_baseline)
        write_atomically(options.write_baseline, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--write-baseline {options.write_baseline}: {reason(error)}") from None
    sys.stdout.write(f"Wrote {counted(len(report.findings), 'finding')} to {options.write_baseline}.\n")
    return CLEAN


def _add_noqa(report: Report) -> int:
    from normlint.engine.write import add_noqa

    added, errors = add_noqa(report.findings)
    sys.stdout.write(f"Added {counted(added, 'noqa comment')}.\n")
    return _print_errors(errors)


def norms_text(report: Report, display: Display) -> str:
    """Return the output of `--show-norms`: each norm's place, kind and name, its sentence, spine and verdict."""
    style = Style(display.colour)
    lines = []
    for norm in report.norms:
        lines.append(f"{style.located(norm.path, norm.place)} {norm.kind} {norm.qualname}")
        lines += [f"    {harmless(each)}" for each in (norm.sentence, f"spine: {norm.spine}") if each]
        if norm.verdict is not None:
            results = (verdicts.verdict_text(norm.verdict), verdicts.eps_text(norm.verdict))
            lines += [f"    {harmless(each)}" for each in results if each]
    lines += [f"{style.located(one.path, one.place)} too large to be read: {one.qualname}" for one in report.unread]
    if not display.quiet:
        lines += [LEGEND] if lines else []
        lines += [f"Found {looked_at(report, display)}.", *verdicts.closing(report)]
    return "".join(f"{line}\n" for line in lines)


def settings_text(settings: Settings) -> str:
    """Return the output of `--show-settings`: the settings as in a file, and the rules they select."""
    demand = demand_of(settings, "")
    lines = [f"# from {settings.source or 'no configuration file'}"]
    lines += [f"{name.replace('_', '-')} = {_toml(value)}" for name, value in settings.shown().items()]
    chosen = ", ".join(rule.code for rule in all_rules() if demand.selection.chooses(rule.code))
    return "".join(f"{line}\n" for line in (*lines, f"# rules: {chosen}"))


def statistics_text(report: Report, display: Display) -> str:
    """Return the output of `--statistics`: the findings per rule, most frequent first, and how many are fixable."""
    by_code: dict[str, list[Diagnostic]] = {}
    for finding in report.findings:
        by_code.setdefault(finding.code, []).append(finding)
    ranked = sorted(by_code.items(), key=lambda one: (-len(one[1]), one[0]))
    width = max((len(str(len(found))) for _, found in ranked), default=1)
    lines = [f"{len(found):{width}}  {code}  {found[0].name}{_fixables(found)}" for code, found in ranked]
    return "".join(f"{line}\n" for line in (*lines, *closing(report, display)))


def _fixables(found: list[Diagnostic]) -> str:
    fixes = [f"{number} {what}" for number, what in ((made(found), "fixable"), (unsafe(found), "unsafe")) if number]
    return f"  ({', '.join(fixes)})" if fixes else ""


def _toml(value: object) -> str:
    """Return a settings value as TOML, which is JSON except for tables."""
    import json

    if value is None:
        return '["the rules that are on by default"]'
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(" = ".join(map(_toml, pair)) for pair in value) + " }"
    return json.dumps(value, ensure_ascii=False)
