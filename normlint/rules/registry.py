"""Define rules: each is one decorated function, whose docstring is its page, its `--explain` text and its test."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from normlint.text.finding import ERROR, REVIEW, WARNING, Applicability, Fix, Span
from normlint.text.frozen import dataclass

if TYPE_CHECKING:
    from normlint.norm.makes import Makes
    from normlint.norm.norm import Norm
    from normlint.rules.runtime import Outcome

DOCS_URL: Final = "https://normlint.readthedocs.io/rules/"
HALVES: Final = ("fp16", "bf16")
FP16: Final = ("fp16",)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule yields: a place, a message on what happens to the user's tensor, and a repair."""

    span: Span
    message: str
    repair: Repair | None = None
    dtypes: tuple[str, ...] = ()  # if it shows in fewer dtypes than the rule says
    severity: str = ""  # if it is another than the rule's
    apart: bool = False  # reported even if a rule in `unless` has a finding
    owner: str = ""  # the name of the class or function that it is in, if that is no norm
    evidence: Span | None = None  # another place that the message refers to, whose line is shown, too
    rests_on: tuple[str, ...] = ()  # attributes that another file may read or fill, which makes it unfounded


@dataclass(frozen=True, slots=True)
class Part:
    """A repair for one norm only; a finding's norms need different edits, so that no part alone is enough."""

    repair: Repair

    def __call__(self, tree: Any) -> Fix | None:
        """Return the fix of this part alone."""
        return self.repair(tree)


class Fixes:
    """The functions of a module of fixes, which is imported only when one of them is called: most runs fix nothing."""

    def __init__(self, module: str) -> None:
        self._module = f"normlint.fixes.{module}"

    def __getattr__(self, name: str) -> Callable[..., Fix | None]:
        return partial(self._call, name)

    def _call(self, name: str, *args: object) -> Fix | None:
        function: Callable[..., Fix | None] = getattr(import_module(self._module), name)
        return function(*args)


Repair = Callable[[Any], "Fix | None"]  # takes the text as fixes see it; None if no fix is certain
Check = Callable[["Norm"], Iterable[Problem]]
CallsCheck = Callable[["Makes"], Iterable[Problem]]
RuntimeCheck = Callable[["Outcome"], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule.

    `unless`: rules whose finding on the same norm explains this one, which is then left out.
    `about`: the quantities that the rule judges; it sees only paths on which all that can change them was read.
    `dtypes`: the input's dtypes in which its findings show; empty for all.
    `severity`: that of its findings, unless a problem has its own.
    `check_run`: set instead of `check` if the rule judges the run of a norm; returns a message, empty for none.
    `check_calls`: set instead if it judges where norms are made and called.
    """

    code: str
    name: str
    default: bool
    fix: Applicability | None
    unless: tuple[str, ...]
    check: Check | None
    check_run: RuntimeCheck | None = None
    about: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    severity: str = ERROR
    check_calls: CallsCheck | None = None

    @property
    def asked_by(self) -> str:
        """Return the option without which the rule isn't reported; empty if it needs none."""
        if not self.default:
            return f"--extend-select {self.code}"
        return "--min-severity review" if self.severity == REVIEW else ""

    @property
    def doc(self) -> str:
        """Return the rule's page, in Markdown."""
        return inspect.cleandoc((self.check or self.check_calls or self.check_run).__doc__ or "")

    @property
    def summary(self) -> str:
        """Return the page's first line."""
        return self.doc.partition("\n")[0]

    @property
    def consequence(self) -> str:
        """Return the first sentence below the page's first line; the first line if there is none."""
        below = " ".join(self.doc.partition("\n\n")[2].partition("\n\n")[0].split())
        return self.summary if not below or below.startswith("```") else re.split(r"(?<=\.) ", below)[0]

    @property
    def instead(self) -> str:
        """Return what to write instead where no fix can be made: the paragraph after "Instead:", or ""."""
        found = re.search(r"^Instead: (.*?)$\n\n", self.doc, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    @property
    def url(self) -> str:
        """Return the address at which the page is published."""
        return f"{DOCS_URL}{self.name}"


RULES: Final[dict[str, Rule]] = {}


def rule(  # noqa: PLR0913 - the fields of a rule
    code: str,
    *,
    name: str,
    default: bool = True,
    fix: Applicability | None = None,
    unless: tuple[str, ...] = (),
    about: tuple[str, ...] = (),
    dtypes: tuple[str, ...] = (),
    severity: str = "",
) -> Callable[[Check], Check]:
    """Register the decorated function as the rule `code`; its findings are warnings if it shows only in some dtypes."""

    def register(check: Check) -> Check:
        RULES[code] = Rule(
            code, name, default, fix, unless, check, None, about, dtypes, severity or (WARNING if dtypes else ERROR)
        )
        return check

    return register


def calls_rule(
    code: str, *, name: str, default: bool = True, fix: Applicability | None = None, severity: str = ERROR
) -> Callable[[CallsCheck], CallsCheck]:
    """Register the decorated function as the rule `code`, which judges where a text makes and calls norms."""

    def register(check: CallsCheck) -> CallsCheck:
        RULES[code] = Rule(code, name, default, fix, (), None, check_calls=check, severity=severity)
        return check

    return register


def runtime_rule(
    code: str, *, name: str, default: bool = True, severity: str = ERROR
) -> Callable[[RuntimeCheck], RuntimeCheck]:
    """Register the decorated function as the rule `code`, which judges what running a norm showed."""

    def register(check: RuntimeCheck) -> RuntimeCheck:
        RULES[code] = Rule(code, name, default, None, (), None, check, severity=severity)
        return check

    return register
