"""The flake8 plugin, which reports the same findings at the same places as the command."""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from normlint import __version__
from normlint.engine.cache import VARIABLE, Cache
from normlint.engine.linter import check_checked_text
from normlint.engine.selection import Demand, Selection, checked_codes
from normlint.engine.settings import ConfigError
from normlint.engine.stored import restored, stored
from normlint.text import marks
from normlint.text.raw import digest_of

if TYPE_CHECKING:
    from multiprocessing.synchronize import Semaphore

    from flake8.options.manager import OptionManager

    from normlint.engine.report import Report
    from normlint.verify.guard.run import Verifier

OPTIONS = ("select", "ignore", "extend_select")


class Plugin:
    """The check of one file, which flake8 has read and parsed."""

    name = "normlint"
    version = __version__
    demand: ClassVar[Demand] = Demand(noqa=True, fixes=False)
    remembers: ClassVar[bool] = True
    verifies: ClassVar[bool] = False
    untold: ClassVar[Semaphore | None] = None  # shared by flake8's processes: one of them warns

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        del tree  # asked for so that flake8 calls the plugin once, for files that parse
        self.filename = filename
        self.text = "".join(lines)

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Add normlint's options; flake8's own `select` and `ignore` apply as well."""
        add = partial(manager.add_option, parse_from_config=True)
        helps = ("only these rules of normlint (prefixes)", "not these", "these as well, such as those off by default")
        for name, words in zip(OPTIONS, helps, strict=True):
            option = f"--normlint-{name.replace('_', '-')}"
            add(option, default="", metavar="CODES", help=words, comma_separated_list=True)
        add("--normlint-no-cache", action="store_true", help="remember nothing of what was found")
        words = "also interpret norms with tensors, where PyTorch is installed, and report what only that shows"
        add("--normlint-verify", action="store_true", help=words)

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Read normlint's options; a wrong code ends flake8 like a wrong option of its own."""
        given = {name: getattr(options, f"normlint_{name}", None) or () for name in OPTIONS}
        try:
            codes = {
                name: checked_codes(_flat(value), f"--normlint-{name.replace('_', '-')}")
                for name, value in given.items()
            }
        except ConfigError as error:
            from flake8.exceptions import ExecutionError

            raise ExecutionError(f"normlint: {error}") from None
        selection = Selection(codes["select"] or None, codes["ignore"], codes["extend_select"])
        # flake8 applies noqa comments too, but parses case and commas in them differently.
        cls.demand = Demand(selection, noqa=not getattr(options, "disable_noqa", False), fixes=False)
        cls.verifies = bool(getattr(options, "normlint_verify", False))
        if cls.verifies:
            with suppress(ImportError, OSError):  # without semaphores flake8 runs in one process
                cls.untold = multiprocessing.Semaphore(1)
            if find_spec("torch") is None:
                cls._only_reads("--normlint-verify needs PyTorch, which is not installed")
        # verdicts aren't cached: they also depend on the files of the same package
        cls.remembers = not getattr(options, "normlint_no_cache", False) and not cls.verifies

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """Yield line, column from 0, message and type of each finding; none for a file that can't be analysed."""
        if marks.may_concern(self.text):
            for one in self._report().findings:
                yield one.start.line, one.start.column - 1, f"{one.code} {one.message}", type(self)

    def _report(self) -> Report:
        """Return the cached report on the text, or else lint it and store the report unless the analysis failed."""
        if self.verifies:
            return self._verified()
        cache = _cache() if self.remembers else None
        if cache is None:
            return check_checked_text(self.filename, self.text, self.demand)
        digest = digest_of(self.text.encode("utf-8", "surrogatepass"))
        known = cache.found(digest, self.demand.key)
        report = None if known is None else restored(self.filename, known)
        if report is None:
            report = check_checked_text(self.filename, self.text, self.demand)
            if not (report.errors or report.asked):  # a report that depends on other files isn't stored
                cache.learn(digest, self.demand.key, stored(replace(report, norms=(), unread=())))
                cache.save()
        return report

    def _verified(self) -> Report:
        """Lint the text and interpret its norms; if the verifier fails, return the report without verdicts."""
        from normlint.faces.verifying import preparing, verified
        from normlint.verify.guard.process import VerifierError

        report = check_checked_text(self.filename, self.text, preparing(self.demand))
        jobs = [norm.pending.job for norm in report.norms if norm.pending is not None]
        try:
            return verified(report, _verifier().verdicts(jobs), "") if jobs else report
        except VerifierError as error:
            self._only_reads(str(error))
            return report

    @classmethod
    def _only_reads(cls, why: str) -> None:
        """Stop interpreting norms in this process; the first process to do so prints why."""
        cls.verifies = False
        if cls.untold is None or cls.untold.acquire(block=False):
            sys.stderr.write(f"normlint: {why}: norms are only read\n")


@cache
def _verifier() -> Verifier:
    """Return the verifier of this process, which ends with it."""
    from normlint.verify.guard.run import Verifier

    return Verifier(workers=1)


@cache
def _cache() -> Cache | None:
    """Return the cache in `NORMLINT_CACHE_DIR` or in the user's cache directory; None without a home directory."""
    from platformdirs import user_cache_dir

    given = os.environ.get(VARIABLE)
    try:
        if not given and not os.path.isdir(os.path.expanduser("~")):
            return None
        return Cache(os.path.abspath(given or user_cache_dir("normlint", appauthor=False)))
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None


def _flat(value: str | Sequence[str]) -> list[str]:
    values = [value] if isinstance(value, str) else value
    return [code for one in values for code in one.split(",")]
