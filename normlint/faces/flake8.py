"""The flake8 plugin: the command's findings, at the command's places, chosen by flake8's own configuration."""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
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
    """One file, which flake8 has read and parsed."""

    name = "normlint"
    version = __version__
    demand: ClassVar[Demand] = Demand(noqa=True, fixes=False)
    remembers: ClassVar[bool] = True
    verifies: ClassVar[bool] = False
    untold: ClassVar[Semaphore | None] = None  # shared by the processes that flake8 forks: one of them tells

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        del tree  # asked for so that flake8 calls the plugin once, for files that parse
        self.filename = filename
        self.text = "".join(lines)

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Normlint's own selection: flake8's `select` and `ignore` hold besides."""
        helps = ("only these rules of normlint (prefixes)", "not these", "these as well, such as those off by default")
        for name, help_ in zip(OPTIONS, helps, strict=True):
            manager.add_option(
                f"--normlint-{name.replace('_', '-')}",
                default="",
                metavar="CODES",
                help=help_,
                comma_separated_list=True,
                parse_from_config=True,
            )
        manager.add_option(
            "--normlint-no-cache",
            action="store_true",
            parse_from_config=True,
            help="remember nothing of what was found",
        )

        manager.add_option(
            "--normlint-verify",
            action="store_true",
            parse_from_config=True,
            help="also interpret norms with tensors, where PyTorch is installed, and report what only that shows",
        )

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Read them; a wrong code ends flake8 as one of its own wrong options does."""
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
        # flake8 applies these comments too; here they are so that case and commas mean what they mean to us.
        cls.demand = Demand(selection, noqa=not getattr(options, "disable_noqa", False), fixes=False)
        cls.verifies = bool(getattr(options, "normlint_verify", False))
        if cls.verifies:
            with suppress(ImportError, OSError):  # a system without any: flake8 has one process there
                cls.untold = multiprocessing.Semaphore(1)
            if find_spec("torch") is None:
                cls._only_reads("--normlint-verify needs PyTorch, which is not installed")
        # a verdict depends on the files of the same package, too
        cls.remembers = not getattr(options, "normlint_no_cache", False) and not cls.verifies

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """Line, column counted from 0, code and message. A file that can't be analysed has no findings here."""
        if marks.may_concern(self.text):
            for one in self._report().findings:
                yield one.start.line, one.start.column - 1, f"{one.code} {one.message}", type(self)

    def _report(self) -> Report:
        """What is known of the text, else what is found in it, which is remembered unless the analysis failed."""
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
            if not (report.errors or report.asked):  # what it hangs on isn't in the text
                cache.learn(digest, self.demand.key, stored(replace(report, norms=(), unread=())))
                cache.save()
        return report

    def _verified(self) -> Report:
        """With what interpreting shows; only with what reading does where no norm could be interpreted."""
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
        """Let this process only read norms from here on; the first to do so tells why."""
        cls.verifies = False
        if cls.untold is None or cls.untold.acquire(block=False):
            sys.stderr.write(f"normlint: {why}: norms are only read\n")


@cache
def _verifier() -> Verifier:
    """The verifier of this process of flake8; it ends with the process."""
    from normlint.verify.guard.run import Verifier

    return Verifier(workers=1)


@cache
def _cache() -> Cache | None:
    """Where `NORMLINT_CACHE_DIR` says, else among the user's caches, as the platform has them; None if nowhere."""
    from platformdirs import user_cache_dir

    given = os.environ.get(VARIABLE)
    try:
        if not given and not os.path.isdir(os.path.expanduser("~")):
            return None
        return Cache(os.path.abspath(given or user_cache_dir("normlint", appauthor=False)))
    except (OSError, RuntimeError):  # the latter: somebody without a home
        return None


def _flat(value: str | Sequence[str]) -> list[str]:
    values = [value] if isinstance(value, str) else value
    return [code for one in values for code in one.split(",")]
