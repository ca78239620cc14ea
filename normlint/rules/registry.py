"""What a rule is: one decorated function, whose docstring is its page, its `--explain` text and its test."""

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
    """What a rule yields: where, what happens to the user's tensor, and how the text may be fixed."""

    span: Span
    message: str
    repair: Repair | None = None
    dtypes: tuple[str, ...] = ()  # where it shows in fewer than the rule says
    severity: str = ""  # where it is another than the rule's
    apart: bool = False  # another mistake than that of the rules which this one leaves it to
    owner: str = ""  # where it is, by name, if not in a norm
    evidence: Span | None = None  # another place that the message rests on: its line is shown as well


@dataclass(frozen=True, slots=True)
class Part:
    """What one norm needs; the norms of a finding need different edits, and none of them is enough."""

    repair: Repair

    def __call__(self, tree: Any) -> Fix | None:
        """The part alone."""
        return self.repair(tree)


class Fixes:
    """The functions of a module of fixes, which is imported when one of them is called: most runs fix nothing."""

    def __init__(self, module: str) -> None:
        self._module = f"normlint.fixes.{module}"

    def __getattr__(self, name: str) -> Callable[..., Fix | None]:
        return partial(self._call, name)

    def _call(self, name: str, *args: object) -> Fix | None:
        function: Callable[..., Fix | None] = getattr(import_module(self._module), name)
        return function(*args)


Repair = Callable[[Any], "Fix | None"]  # of a text as fixes see it; None: it cannot be fixed with certainty
Check = Callable[["Norm"], Iterable[Problem]]
CallsCheck = Callable[["Makes"], Iterable[Problem]]
RuntimeCheck = Callable[["Outcome"], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as the other floors see it.

    `unless` names the rules whose finding on the same norm makes this one an echo: one cause, one finding.
    `about` names the quantities it judges: it sees only paths on which all that can change them was read.
    `dtypes`: those of the input in which what it finds shows; empty for all.
    `severity`: of what it finds, unless a problem says otherwise.
    A rule about what running a norm showed has `check_run` instead of `check`: its message, empty for none. One about
    where norms are made and called has `check_calls`.
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
        """The option without which it isn't reported; empty for none."""
        if not self.default:
            return f"--extend-select {self.code}"
        return "--min-severity review" if self.severity == REVIEW else ""

    @property
    def doc(self) -> str:
        """The rule's page, in Markdown."""
        return inspect.cleandoc((self.check or self.check_calls or self.check_run).__doc__ or "")

    @property
    def summary(self) -> str:
        """The page's first line."""
        return self.doc.partition("\n")[0]

    @property
    def consequence(self) -> str:
        """What comes of it: the first sentence below the page's first line; the first line if there is none."""
        below = " ".join(self.doc.partition("\n\n")[2].partition("\n\n")[0].split())
        return self.summary if not below or below.startswith("```") else re.split(r"(?<=\.) ", below)[0]

    @property
    def instead(self) -> str:
        """What to write instead, where no fix can be made: the paragraph that begins with "Instead:", or ""."""
        found = re.search(r"^Instead: (.*?)$\n\n", self.doc, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    @property
    def url(self) -> str:
        """Where the page is published."""
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
    """Register the decorated function as the rule `code`: of warnings where it shows only in some dtypes."""

    def register(check: Check) -> Check:
        RULES[code] = Rule(
            code, name, default, fix, unless, check, None, about, dtypes, severity or (WARNING if dtypes else ERROR)
        )
        return check

    return register


def calls_rule(
    code: str, *, name: str, default: bool = True, fix: Applicability | None = None, severity: str = ERROR
) -> Callable[[CallsCheck], CallsCheck]:
    """Register the decorated function as the rule `code`, which looks at where a text makes and calls norms."""

    def register(check: CallsCheck) -> CallsCheck:
        RULES[code] = Rule(code, name, default, fix, (), None, check_calls=check, severity=severity)
        return check

    return register


def runtime_rule(
    code: str, *, name: str, default: bool = True, severity: str = ERROR
) -> Callable[[RuntimeCheck], RuntimeCheck]:
    """Register the decorated function as the rule `code`, which reports only where norms are run."""

    def register(check: RuntimeCheck) -> RuntimeCheck:
        RULES[code] = Rule(code, name, default, None, (), None, check, severity=severity)
        return check

    return register
