"""Run one norm on request and add its verdict to the document's results."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from normlint.engine.linter import attempt
from normlint.engine.report import Failure, ListedNorm, Report
from normlint.faces.render.verdicts import RUNTIME, verdict_text
from normlint.faces.server.documents import Checked, look
from normlint.faces.server.options import Options
from normlint.text.verdict import MATCH, WRONG

if TYPE_CHECKING:
    from normlint.verify.guard.run import Verifier

Answer = TypeVar("Answer")
NO_TORCH: Final = (
    "Verification needs PyTorch in the environment that normlint-server runs in: pip install 'normlint[lsp,verify]'"
)
_under_way: Final[set[Verifier]] = set()
HELPER: Final = "{} is a helper: verify the norms that call it"


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of running one norm: `report` on that norm is None if it wasn't run; `message` then says why."""

    message: str
    report: Report | None = None

    @property
    def wrong(self) -> bool:
        """Return whether the verdict is wrong, or there is none."""
        verdicts = [norm.verdict for norm in self.report.norms if norm.verdict] if self.report else []
        return not verdicts or any(verdict.status == WRONG for verdict in verdicts)


def norm_at(checked: Checked, uri: str, where: Any) -> ListedNorm | None:
    """Return the norm with the number `where`, or the one nearest to a line such as `{"line": 12}`, from 0."""
    norms = checked.report.norms
    if isinstance(where, int):
        return next((norm for norm in norms if norm.number == where), None)
    line = where.get("line") if isinstance(where, dict) else None
    if not isinstance(line, int):
        return norms[0] if len(norms) == 1 else None
    here = [norm for norm in norms if norm.place.cell == checked.document.cell(uri)]
    return min(here, key=lambda norm: abs(norm.place.line - 1 - line), default=None)


def prepared(checked: Checked, norm: ListedNorm) -> Report | str:
    """Return a report with the norm, its verifier job and its findings, or a message why it can't be run."""
    from normlint.faces.verifying import preparing

    report = look(checked.document, preparing(checked.demand))
    same = [one for one in report.norms if one.number == norm.number and one.qualname == norm.qualname]
    if not same:
        return "; ".join(error.message for error in report.errors) or f"{norm.qualname} can't be prepared for running"
    if same[0].pending is None:
        return HELPER.format(norm.qualname)
    about = (one for one in checked.report.findings if norm.number in one.norms)
    return Report(tuple(one for one in about if not one.code.startswith(RUNTIME)), (same[0],))


def run(report: Report, options: Options) -> Ran:
    """Interpret the norm in its own process."""
    done = attempt(report.norms[0].path, lambda: _run(report, options))
    return Ran(done.message) if isinstance(done, Failure) else done


def end_all() -> None:
    """End the processes in which norms are run, and remove their temporary files."""
    for verifier in tuple(_under_way):
        verifier.close()


def with_verdict(checked: Checked, ran: Ran) -> Checked:
    """Return the document's results with those of the run."""
    if ran.report is None:
        return checked
    new = ran.report.norms[0]
    others = tuple(one for one in checked.report.findings if new.number not in one.norms)
    norms = (replace(one, verdict=new.verdict) if one.number == new.number else one for one in checked.report.norms)
    findings = sorted(others + ran.report.findings, key=lambda one: (one.start.cell or 0, one.start, one.code))
    return replace(checked, report=replace(checked.report, findings=tuple(findings), norms=tuple(norms)))


async def in_thread(work: Callable[[], Answer], waiting: set[asyncio.Future[Any]]) -> Answer | None:
    """Run `work`, which may take many seconds, in a daemon thread, so that it can't keep the server from ending.

    Meanwhile its future is in `waiting`; setting that to None ends the wait.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer | None] = loop.create_future()

    def give(answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)

    def do() -> None:
        answer = work()
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(give, answer)

    threading.Thread(target=do, daemon=True).start()
    waiting.add(future)
    try:
        return await future
    finally:
        waiting.discard(future)


def _run(report: Report, options: Options) -> Ran:
    from normlint.faces.verifying import CachedVerifier
    from normlint.verify.guard.run import TorchMissingError, Verifier, VerifierError

    try:
        verifier = Verifier(options.device, options.verify_timeout, 1)
        with _registered(verifier), verifier:  # known until it is closed, so that shutdown waits for that
            verified = CachedVerifier(verifier).verified(report)
    except TorchMissingError:
        return Ran(NO_TORCH)
    except VerifierError as error:
        return Ran(str(error).replace("--device", "device"))
    norm = verified.norms[0]
    assert norm.verdict is not None
    sure = " (on these inputs; that is evidence, no proof)" if norm.verdict.status == MATCH else ""
    return Ran(f"{norm.qualname}: {verdict_text(norm.verdict)}{sure}", verified)


@contextlib.contextmanager
def _registered(verifier: Verifier) -> Iterator[None]:
    _under_way.add(verifier)
    try:
        yield
    finally:
        _under_way.discard(verifier)
