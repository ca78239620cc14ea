"""Provide normlint to other programs: functions that take text or paths and return plain values.

`import normlint` imports this module only when one of its functions is used. Only `check_paths` reads configuration
files. Errors are raised: `SourceError` for a source, `ConfigError` for an unknown rule or if torch or libcst is
missing; the messages say what to do about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from typing import Final, TypeAlias, TypeVar

from normlint.engine.discovery import Configs
from normlint.engine.fix import FixRequest, fix
from normlint.engine.linter import attempt, report_on
from normlint.engine.report import Diagnostic, Failure, Report
from normlint.engine.selection import Demand, Selection, checked_codes, demand_of, known_rules
from normlint.engine.settings import ConfigError, Settings
from normlint.text.raw import PYTHON, SUFFIXES, BadSourceError
from normlint.text.read import decode, kind_of, refuse_huge
from normlint.text.source import Source
from normlint.values import Finding, Fixed, Norm, Rule, SourceError, Verdict, finding_of, norm_of, verdict_of

__all__ = ["check_paths", "check_source", "fix_source", "list_norms", "list_rules", "verify_source"]

Codes: TypeAlias = "str | Iterable[str]"  # "NRM1,NRM302" or ["NRM1", "eps-outside-sqrt"]
Done = TypeVar("Done")
NO_PATH: Final = "<string>"
BOM: Final = "\ufeff"
REPORT: Final = "https://github.com/normlint/normlint/issues"


def check_source(  # the options of the command
    source: str,
    path: str = NO_PATH,
    *,
    select: Codes = (),
    ignore: Codes = (),
    extend_select: Codes = (),
    noqa: bool = True,
) -> tuple[Finding, ...]:
    r'''Return the findings in a text, in text order.

    The suffix of `path` says what the text is: a notebook, Markdown, or else Python. The file itself is not read.
    `select`, `ignore` and `extend_select` choose rules as on the command line, by code, prefix or name; without
    `noqa`, noqa comments are ignored. A text that can't hold a norm is not parsed. Without libcst no finding has a fix.

    >>> source = """\
    ... import torch
    ...
    ... def rms_norm(x, weight, eps=1e-6):
    ...     h = x.float()
    ...     return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight
    ... """
    >>> [finding] = check_source(source)
    >>> print(finding)
    <string>:5:29: NRM101 `mean` without a dim: all tokens of the batch share one scale
    >>> finding.name, finding.norm, finding.fix.message
    ('global-reduction', 'rms_norm', 'Reduce over the last axis, and keep it')
    >>> check_source(source, ignore="NRM101")
    ()
    '''
    demand = Demand(_selection(select, ignore, extend_select), noqa=noqa, fixes=_has_libcst(), around=False)
    return _findings(_report(source, path, demand).findings)


def check_paths(  # the options of the command
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Codes = (),
    ignore: Codes = (),
    extend_select: Codes = (),
    isolated: bool = False,
    jobs: int = 1,
    on_error: Callable[[SourceError], object] | None = None,
) -> tuple[Finding, ...]:
    r"""Return the findings in these files and in those below these directories, in the order of the paths.

    Each file has the settings of the nearest pyproject.toml, unless `isolated`; the rules chosen here replace those
    of the settings, as on the command line. A file that can't be linted raises SourceError; if `on_error` is given, it
    is called with the error instead, and the other files are linted. `paths` may be a single path.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = pathlib.Path(place, "sound.py").write_text("x = 1\n")
    ...     check_paths(place)
    ()
    """
    chosen = _selection(select, ignore, extend_select)
    adjust = partial(
        Settings.over, select=chosen.select, ignore=chosen.ignore or None, extend_select=chosen.extend_select
    )
    configs = Configs(adjust, Settings(os.getcwd()) if isolated else None)
    findings: list[Diagnostic] = []
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    for report in _checked([os.fspath(path) for path in several], configs, jobs):
        for error in map(_error, report.errors):
            if on_error is None:
                raise error
            on_error(error)
        findings += report.findings
    return _findings(findings)


def fix_source(  # the options of the command
    source: str,
    path: str = NO_PATH,
    *,
    select: Codes = (),
    ignore: Codes = (),
    extend_select: Codes = (),
    unsafe: bool = False,
    noqa: bool = True,
) -> Fixed:
    r'''Make the safe fixes in a text, with `unsafe` also the unsafe ones, until nothing is left to fix.

    All other text is unchanged, to the character. The other arguments are those of `check_source`.

    >>> fixed = fix_source("""\
    ... import torch
    ...
    ... def rms_norm(x, weight, eps=1e-6):
    ...     h = x.float()
    ...     return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight
    ... """)
    >>> print(fixed.source.splitlines()[-1].strip())
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
    >>> [finding.code for finding in fixed.applied], fixed.remaining
    (['NRM101'], ())
    '''
    if not _has_libcst():
        raise ConfigError("fixes need libcst: `python -m pip install libcst`")
    demand = Demand(_selection(select, ignore, extend_select), noqa=noqa, unsafe=unsafe, around=False)
    made = _done(path, lambda: fix(_source(source, path), FixRequest(demand)))
    _raise_first(made.report)
    return Fixed(_text(made.after), _findings(made.fixed), _findings(made.report.findings))


def list_norms(source: str, path: str = NO_PATH) -> tuple[Norm, ...]:
    r'''Return the norms that are recognised in a text, right or wrong, with what each computes.

    >>> [norm] = list_norms("""\
    ... import torch
    ...
    ... def rms_norm(x, weight, eps=1e-6):
    ...     h = x.float()
    ...     return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight
    ... """)
    >>> norm.qualname, norm.kind, norm.spine
    ('rms_norm', 'rms', 'mean[-1] keepdim | eps → rsqrt → input(x) → scale(weight)')
    '''
    return tuple(map(norm_of, _report(source, path, Demand(fixes=False)).norms))


def verify_source(
    source: str, path: str = NO_PATH, *, device: str = "cpu", timeout: float = 10.0
) -> tuple[Verdict, ...]:
    r'''Interpret each norm of a text and compare it with a reference in fp64. No code of the text is executed.

    The norms are interpreted in a separate process with limits on time and memory. If `path` ends in .py, .pyi, .ipynb
    or .md, norms can use what they import from files beside it. `timeout`: seconds for one norm. It needs torch:
    `pip install 'normlint[verify]'`. A helper is run with the norm that calls it, and has no verdict of its own.

    >>> [verdict] = verify_source("""\
    ... import torch
    ...
    ... def rms_norm(x, weight, eps=1e-6):
    ...     h = x.float()
    ...     return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight
    ... """, device="cpu")
    >>> verdict.norm.qualname, verdict.status
    ('rms_norm', 'wrong')
    >>> verdict.reason
    'changing one token changes 14 of the 14 others, by up to 2.7 %'
    '''
    from normlint.faces.verifying import preparing, verified
    from normlint.verify.guard.run import Verifier, VerifierError

    _check_timeout(timeout)
    report = _report(source, path, preparing(Demand(fixes=False)))
    jobs = [norm.pending.job for norm in report.norms if norm.pending is not None]
    if not jobs:
        return ()
    try:
        with Verifier(device, timeout) as verifier:
            ran = verified(report, verifier.verdicts(jobs), verifier.torch_version)
    except VerifierError as error:
        raise ConfigError(str(error).replace("--device", "device")) from None
    return tuple(verdict_of(norm, norm.verdict) for norm in ran.norms if norm.verdict is not None)


def list_rules() -> tuple[Rule, ...]:
    """Return all rules, sorted by code.

    >>> rules = {rule.name: rule for rule in list_rules()}
    >>> rules["eps-outside-sqrt"].code, rules["eps-outside-sqrt"].fix
    ('NRM302', <Applicability.UNSAFE: 'unsafe'>)
    """
    rules = (rule for _, rule in sorted(known_rules().items()))
    return tuple(
        Rule(one.code, one.name, one.summary, one.doc, one.default, one.fix, one.url, one.severity) for one in rules
    )


def _has_libcst() -> bool:
    """Return whether fixes can be made; in a browser, libcst may be missing."""
    return find_spec("libcst") is not None


def _selection(select: Codes, ignore: Codes, extend_select: Codes) -> Selection:
    given = {"select": select, "ignore": ignore, "extend_select": extend_select}
    codes = {name: checked_codes(_split(value), name) for name, value in given.items()}
    return Selection(codes["select"] or None, codes["ignore"], codes["extend_select"])


def _split(codes: Codes) -> list[str]:
    each = [codes] if isinstance(codes, str) else codes
    return [code for one in each for code in one.split(",")]


def _checked(paths: list[str], configs: Configs, jobs: int) -> Iterable[Report]:
    from normlint.engine.discovery import discover
    from normlint.engine.run import check_all

    found = discover(paths, configs)
    settings = configs.of_each(found.paths)
    configs.require()
    yield Report(errors=found.errors)
    tasks = [(path, demand_of(one, path)) for path, one in zip(found.paths, settings, strict=True)]
    yield from check_all(tasks, jobs)


def _report(source: str, path: str, demand: Demand) -> Report:
    return _done(path, lambda: report_on(_source(source, path), demand))


def _done(path: str, work: Callable[[], Done]) -> Done:
    done = attempt(path, work)
    if isinstance(done, Failure):
        raise _error(done)
    return done


def _raise_first(report: Report) -> None:
    for failure in report.errors:
        raise _error(failure)


def _source(text: str, path: str) -> Source:
    """Return the text as a source; an encoding declared in its first lines is ignored, since it is already decoded."""
    kind = kind_of(path)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise BadSourceError("half of a surrogate pair; read the file with its own encoding", line) from None
    if kind != PYTHON or "\0" in text:
        return decode(path, data)
    refuse_huge(text)
    return Source(path, text.removeprefix(BOM), bom=text.startswith(BOM))


def _text(source: Source) -> str:
    return f"{BOM}{source.text}" if source.bom else source.text


def _check_timeout(timeout: float) -> None:
    if not 0 < timeout < float("inf"):
        raise ConfigError(f"timeout {timeout!r}: give a number of seconds, more than 0")


def _error(failure: Failure) -> SourceError:
    return SourceError(failure.path, failure.line, f"{failure.message}{_advice(failure)}")


def _advice(failure: Failure) -> str:
    if failure.internal and failure.message.startswith("internal error"):
        return f"; please report this at {REPORT}"
    if failure.message.startswith("syntax error") and not failure.path.lower().endswith(tuple(SUFFIXES)):
        return "; name a path that ends in .ipynb or .md if it isn't Python"
    return ""


def _findings(found: Iterable[Diagnostic]) -> tuple[Finding, ...]:
    rules = known_rules()
    return tuple(finding_of(one, rules[one.code].url) for one in found)
