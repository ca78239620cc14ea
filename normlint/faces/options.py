"""Parse the command's options and find the files, or the standard input, that they name."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn

from normlint import __version__
from normlint.engine.config import FORMATS, SEVERITIES
from normlint.engine.discovery import Configs, Found, discover
from normlint.engine.report import Failure
from normlint.engine.selection import ALL, Demand, checked_codes, demand_of
from normlint.engine.settings import ConfigError, Settings, did_you_mean
from normlint.faces.terminal import COMMANDS

EPILOG: Final = """subcommands: check PATH..., the same; rule CODE, a rule's page.
exit status: 0 nothing found; 1 findings remain; 2 wrong usage, a path that isn't there,
a file that can't be read or parsed (the others are still linted), or an internal error"""

INTERPRET: Final = "interpret"
IMPORT: Final = "import"
TIMEOUT: Final = 10.0  # seconds for one norm


class _Parser(argparse.ArgumentParser):
    """A parser that raises wrong usage as a ConfigError of one line."""

    def error(self, message: str) -> NoReturn:
        wrong = next((one for one in message.split() if one.startswith("-") and message.startswith("unrec")), "")
        meant = did_you_mean(wrong.partition("=")[0], self._option_string_actions) if wrong else ""
        raise ConfigError(f"{message}{meant}; `normlint --help` shows the options")


def translated(words: list[str]) -> list[str]:
    """Return the arguments with a subcommand like ruff's (`check`, `rule`) replaced by options."""
    word, rest = (words or [""])[0], words[1:]
    if word in COMMANDS and os.path.exists(word):
        sys.stderr.write(f"normlint: {word} is the subcommand; .{os.sep}{word} names the path\n")
    if word == "rule" and not rest:
        raise ConfigError("which rule? `normlint rule NRM101` prints its page, `normlint rule --all` lists them all")
    if word == "rule":
        return ["--list-rules"] if rest == ["--all"] else ["--explain", *rest]
    if word.isalpha() and word not in COMMANDS and not os.path.exists(word) and did_you_mean(word, COMMANDS):
        raise ConfigError(f"{word!r} is no path and no subcommand{did_you_mean(word, COMMANDS)}")
    return rest if word == "check" else words


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse and check the options; ConfigError for a wrong one or a wrong combination."""
    options = _parsed(list(arguments))
    options.fix |= options.fix_only and not options.diff
    options.quiet |= options.silent
    _check_input(options)
    for option in ("device", "verify_timeout"):
        if getattr(options, option) is not None and not options.verify:
            raise ConfigError(f"--{option.replace('_', '-')} needs --verify")
    if options.verify == IMPORT:
        _refuse_beside(options, "--verify=import", "fix diff report", ": the file is executed as it is")
    if options.fix:
        _refuse_beside(options, "--fix", "diff", ": one writes what the other shows")
    if options.report:
        _refuse_beside(options, "--report", "fix diff add_noqa write_baseline show_settings show_files")
    if options.fix or options.diff:
        others = "add_noqa write_baseline show_norms show_settings show_files"
        _refuse_beside(options, "--fix" if options.fix else "--diff", others)
    return options


def _refuse_beside(options: argparse.Namespace, given: str, others: str, why: str = "") -> None:
    """Raise ConfigError if one of the other options is given, too."""
    for option in others.split():
        if getattr(options, option):
            raise ConfigError(f"{given} and --{option.replace('_', '-')} cannot be combined{why}")


def _check_input(options: argparse.Namespace) -> None:
    """Raise ConfigError for options that need files beside `-`, and for `--stdin-filename` without `-`."""
    if options.verify == IMPORT and STDIN in options.paths:
        raise ConfigError("--verify=import cannot read standard input: the file is executed as it is")
    if options.stdin_filename is not None and STDIN not in options.paths:
        raise ConfigError('--stdin-filename names what "-" reads: give "-" as the path')


def _parsed(arguments: list[str]) -> argparse.Namespace:
    """Parse the options, which may stand between paths; after `--` everything is a path."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    # what follows a bare `--verify` is a path, not its value
    arguments = [f"--verify={INTERPRET}" if one == "--verify" else one for one in arguments[:end]] + arguments[end:]
    options = _parser().parse_intermixed_args(arguments[:end])
    options.paths += arguments[end + 1 :]
    return options


def adjuster(options: argparse.Namespace) -> Callable[[Settings], Settings]:
    """Return a function that applies the command line's options to settings; the codes are checked here, once."""
    select = None if options.select is None else _codes(options.select, "--select")
    ignore = None if options.ignore is None else _codes(options.ignore, "--ignore")
    extend = _codes(options.extend_select or [], "--extend-select")
    besides = _codes(options.extend_ignore or [], "--extend-ignore")

    def adjust(settings: Settings) -> Settings:
        # as in ruff, what the command line selects is not ignored by a configuration
        configured = settings.ignore if select is None else ()
        configured = tuple(code for code in configured if ALL not in extend and not code.startswith(extend))
        return settings.over(
            select=select,
            ignore=(*(configured if ignore is None else ignore), *besides),
            min_severity=options.min_severity,
            fail_on=options.fail_on,
            extend_select=extend,
            unsafe_fixes=options.unsafe_fixes,
            extend_exclude=options.extend_exclude,
            exclude=None if options.exclude is None else tuple(options.exclude),
            force_exclude=options.force_exclude or None,
            respect_gitignore=False if options.no_respect_gitignore else None,
            output_format=options.output_format,
        )

    return adjust


def _codes(values: Sequence[str], where: str) -> tuple[str, ...]:
    return checked_codes((code for value in values for code in value.split(",")), where)


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes, which is at least 1")
    return int(text)


def is_device(text: str) -> bool:
    """Return whether the text is `auto` or the name of a torch device."""
    return re.fullmatch(r"auto|cpu|cuda(:\d+)?|mps", text, re.ASCII) is not None


def _device(text: str) -> str:
    if not is_device(text):
        raise argparse.ArgumentTypeError(f"{text!r} is none of auto, cpu, cuda, cuda:N, mps")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, which is more than 0")
    return seconds


def _parser() -> _Parser:
    parser = _Parser(
        prog="normlint",
        description="Find hand-written RMSNorm and LayerNorm code that computes something else.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help='.py, .pyi, .ipynb, .md, or directories; default "."')
    parser.add_argument("-V", "--version", action="version", version=f"normlint {__version__}")
    _add_fixing(parser)
    _add_verification(parser)
    _add_selection(parser)
    _add_files(parser)
    _add_output(parser)
    _add_modes(parser)
    return parser


def _add_fixing(parser: _Parser) -> None:
    group = parser.add_argument_group("fixing")
    group.add_argument("--fix", action="store_true", help="fix what can be fixed safely, and write the files")
    group.add_argument(
        "--unsafe-fixes",
        action=argparse.BooleanOptionalAction,
        help="also fixes that move a trained model's numbers or lose a comment",
    )
    group.add_argument("--fix-only", action="store_true", help="the same, and nothing is said of what remains")
    group.add_argument("--diff", action="store_true", help="show what --fix would change, and write nothing")
    group.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit with 1 if --fix changed something")


def _add_verification(parser: _Parser) -> None:
    group = parser.add_argument_group("verification (needs PyTorch)")
    group.add_argument(
        "--verify",
        nargs="?",
        choices=(INTERPRET, IMPORT),
        metavar="import",
        help="interpret each norm with tensors and compare it with a reference; no code of the files is executed. "
        "--verify=import imports the modules in its place and runs the norms, which executes their code",
    )
    group.add_argument(
        "--no-verify",
        dest="verify",
        action="store_const",
        const="",
        help="don't interpret norms: neither for `verify = true` of the configuration, nor to check what --fix does",
    )
    group.add_argument("--device", type=_device, metavar="D", help="auto, cpu, cuda, cuda:N or mps; default: cpu")
    group.add_argument("--verify-timeout", type=_seconds, metavar="S", help="seconds for one norm; default: 10")


def _add_selection(parser: _Parser) -> None:
    group = parser.add_argument_group("rules")
    group.add_argument("--select", action="append", metavar="CODES", help="only these rules (prefixes, by commas)")
    group.add_argument("--ignore", action="append", metavar="CODES", help="not these rules")
    group.add_argument("--extend-select", action="append", metavar="CODES", help="these rules as well")
    group.add_argument("--extend-ignore", action="append", metavar="CODES", help="not these rules either")
    group.add_argument("--min-severity", choices=SEVERITIES, help="the lowest that is reported; default: warning")
    group.add_argument(
        "--fail-on", choices=SEVERITIES, help="the lowest that gives an exit status of 1; default: warning"
    )
    group.add_argument("--ignore-noqa", action="store_true", help="as if there were no `# noqa` comments")
    group.add_argument("--add-noqa", action="store_true", help="write a `# noqa` comment for each finding")
    group.add_argument("--baseline", metavar="F", help="leave out the findings in this baseline")
    group.add_argument("--write-baseline", metavar="F", help="accept all findings: write them to this baseline")


def _add_files(parser: _Parser) -> None:
    group = parser.add_argument_group("files and configuration")
    group.add_argument("--stdin-filename", metavar="F", help='the name of what "-" reads from standard input')
    group.add_argument("--exclude", action="append", metavar="PATTERN", help="instead of the default exclusions")
    group.add_argument("--extend-exclude", action="append", metavar="PATTERN", help="besides the others")
    group.add_argument("--force-exclude", action="store_true", help="exclude files that are named, too")
    group.add_argument("--no-respect-gitignore", action="store_true", help="lint what .gitignore names")
    group.add_argument("--config", metavar="F", help="this file instead of the nearest one")
    group.add_argument("--isolated", action="store_true", help="no configuration file at all")
    group.add_argument("-n", "--no-cache", action="store_true", help="read every file anew")
    group.add_argument("--cache-dir", metavar="DIR", help="where to remember what was read; default: .normlint_cache")
    group.add_argument("--jobs", type=_jobs, metavar="N", help="processes; default: as many as cores in a long run")


def _add_output(parser: _Parser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--output-format", choices=FORMATS, help="default: full")
    group.add_argument("-o", "--output-file", metavar="F", help="write the report there")
    group.add_argument("--sarif-file", metavar="F", help="write the findings there as well, in SARIF")
    group.add_argument("--report", metavar="F.html", help="write a page to look at; with --verify it has pictures")
    group.add_argument("--statistics", action="store_true", help="how many findings of each rule, and can be fixed")
    group.add_argument("-q", "--quiet", action="store_true", help="findings and errors alone")
    group.add_argument("-s", "--silent", action="store_true", help="errors alone: the exit status tells")
    group.add_argument("-e", "--exit-zero", action="store_true", help="exit with 0 although there are findings")


def _add_modes(parser: _Parser) -> None:
    group = parser.add_argument_group("instead of linting")
    modes = group.add_mutually_exclusive_group()
    modes.add_argument("--explain", metavar="CODE", help="a rule's page")
    modes.add_argument("--list-rules", action="store_true", help="all rules")
    modes.add_argument("--show-norms", action="store_true", help="each recognised norm, as normlint reads it")
    modes.add_argument("--show-settings", action="store_true", help="the settings for the first path")
    modes.add_argument("--show-files", action="store_true", help="the files that would be linted")


STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to lint, or the `data` of standard input under the name of the one path.

    `tasks`: the paths to lint with their demands, empty if the name of standard input is excluded. `found`: the result
    of the search for files, None for standard input.
    """

    paths: tuple[str, ...]
    tasks: tuple[tuple[str, Demand], ...]
    errors: tuple[Failure, ...] = ()
    data: bytes | None = None
    found: Found | None = None


def targets(options: Namespace, configs: Configs, found: Found | None = None) -> Targets:
    """Return the targets of the command line; `found`: the files, if they have been searched for already."""
    if STDIN not in options.paths:
        found = found or discovered(options.paths, configs)
        return Targets(found.paths, _tasks(found.paths, options, configs), found.errors, found=found)
    if len(options.paths) > 1:
        raise ConfigError('"-" cannot be combined with paths')
    if options.add_noqa:
        raise ConfigError("--add-noqa writes files: it can't take standard input")
    name = options.stdin_filename or "<stdin>"
    chosen = () if _is_excluded(name, configs) else (name,)
    return Targets((name,), _tasks(chosen, options, configs), data=sys.stdin.buffer.read())


def discovered(paths: Sequence[str], configs: Configs) -> Found:
    """Return the files at and below the paths, by default the working directory."""
    return discover(paths or [os.curdir], configs)


def _tasks(paths: tuple[str, ...], options: Namespace, configs: Configs) -> tuple[tuple[str, Demand], ...]:
    """Return the paths with their demands; ConfigError if a configuration file is broken."""
    tasks = tuple(configs.made_for(paths, partial(demand_of, noqa=not options.ignore_noqa)))
    configs.require()
    return tasks


def _is_excluded(name: str, configs: Configs) -> bool:
    settings = configs.of(name)
    return settings.force_exclude and settings.excludes(os.path.abspath(name))
