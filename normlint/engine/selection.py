"""Select rules and fixes by code prefixes: the longest prefix that fits a code decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from normlint.engine.settings import DTYPES, ConfigError, demand_key, did_you_mean
from normlint.text.finding import WARNING, Applicability, at_least
from normlint.text.frozen import dataclass

if TYPE_CHECKING:
    from normlint.engine.settings import Settings
    from normlint.norm.norm import Norm
    from normlint.rules.registry import Rule
    from normlint.text.finding import Finding
    from normlint.text.source import Source, Unit

ALL: Final = "ALL"


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected rules; `select` None means those that are on by default."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES  # that the project runs in
    least: str = WARNING  # the lowest severity that is reported

    def runs_in(self, dtypes: Sequence[str]) -> bool:
        """Return whether the project runs in one of the dtypes; an empty sequence stands for all."""
        return not dtypes or not set(self.dtypes).isdisjoint(dtypes)

    def chooses(self, code: str) -> bool:
        """Return whether the rule with this code is selected."""
        return self._asked(code) > _longest(self.ignore, code)

    def reaches(self, code: str, severity: str) -> bool:
        """Return whether a finding is severe enough to be reported, or its rule is named by its whole code."""
        named = self.least == WARNING and code in (*(self.select or ()), *self.extend_select)
        return named or at_least(severity, self.least)

    def knows(self, code: str) -> bool:
        """Return whether the rule is in `select` or `extend_select` or is on by default, even if it is ignored."""
        return self._asked(code) >= 0

    def _asked(self, code: str) -> int:
        asked = max(_longest(self.select or (), code), _longest(self.extend_select, code))
        return max(asked, 0) if self.select is None and _on_by_default(code) else asked


@dataclass(frozen=True, slots=True)
class Demand:
    """What to report in a file: the selected rules except `ignored`, and whether noqa comments suppress findings.

    `fixes`: whether findings have fixes. `unsafe`: whether `--fix` makes unsafe fixes as well. `prepare` returns the
    verifier's job for a norm; it is a module-level function, so that it can be pickled. `around`: whether files that
    the file imports from may be read.
    """

    selection: Selection = field(default_factory=Selection)
    ignored: tuple[str, ...] = ()
    noqa: bool = True
    fixes: bool = True
    unsafe: bool = False
    prepare: Callable[[Source, Unit, Norm], Any] | None = None
    around: bool = True

    @property
    def plain(self) -> Demand:
        """Return the demand without fixes and without jobs for the verifier."""
        return replace(self, fixes=False, prepare=None)

    @property
    def key(self) -> str:
        """Return the cache key of the findings and fixes wanted, equal to that of `Settings.wanted`."""
        chosen = self.selection
        selection = (chosen.select, chosen.ignore, chosen.extend_select, chosen.dtypes, chosen.least)
        return demand_key(selection, self.ignored, unsafe=self.unsafe, noqa=self.noqa)

    def chooses(self, code: str) -> bool:
        """Return whether findings with this code are reported in this file."""
        return self.selection.chooses(code) and not matches(self.ignored, code)

    def shows(self, code: str) -> bool:
        """Return whether the rule is selected and severe enough to be reported."""
        from normlint.rules.registry import RULES

        return self.chooses(code) and self.selection.reaches(code, RULES[code].severity)

    def takes(self, finding: Finding) -> bool:
        """Return whether the finding is reported unless a comment suppresses it."""
        chosen = self.selection
        severe = chosen.reaches(finding.code, finding.severity)
        return severe and self.chooses(finding.code) and chosen.runs_in(finding.dtypes)

    def fixable(self, finding: Finding) -> bool:
        """Return whether the finding is reported and its rule offers fixes."""
        from normlint.rules.registry import RULES

        return self.takes(finding) and RULES[finding.code].fix is not None

    def makes(self, applicability: Applicability) -> bool:
        """Return whether `--fix` makes a fix of this applicability."""
        return applicability is Applicability.SAFE or (self.unsafe and applicability is Applicability.UNSAFE)

    def may_make(self, code: str) -> bool:
        """Return whether `--fix` makes the safest fixes of this rule."""
        from normlint.rules.registry import RULES

        best = RULES[code].fix
        return best is not None and self.makes(best)


def demand_of(settings: Settings, path: str, *, noqa: bool = True) -> Demand:
    """Return what these settings select in the file at `path`."""
    selection = Selection(
        settings.select, settings.ignore, settings.extend_select, settings.dtypes, settings.min_severity
    )
    return Demand(selection, settings.ignored(path), noqa, unsafe=settings.unsafe_fixes)


def known_rules() -> dict[str, Rule]:
    """Return all rules by code, after importing the modules that register them."""
    import normlint.rules  # noqa: F401 - its families register their rules
    from normlint.rules.registry import RULES

    return RULES


def checked_codes(codes: Iterable[str], where: str) -> tuple[str, ...]:
    """Return codes, prefixes or names as codes and prefixes; ConfigError for one that fits no rule."""
    return tuple(_checked(code.strip(), where) for code in codes if code.strip())


def find_rule(text: str) -> Rule:
    """Return the rule with this code or name; ConfigError if there is none."""
    rules = known_rules()
    for rule in rules.values():
        if text.upper() == rule.code or text.lower() == rule.name:
            return rule
    raise ConfigError(f"unknown rule {text!r}{_hint(text, rules.values())}")


def matches(codes: Sequence[str], code: str) -> bool:
    """Return whether the code begins with one of the prefixes, or one of them is ALL."""
    return _longest(codes, code) >= 0


def _checked(code: str, where: str) -> str:
    rules = known_rules()
    if code.upper() == ALL:
        return ALL
    if any(rule.startswith(code.upper()) for rule in rules):
        return code.upper()
    named = [rule.code for rule in rules.values() if rule.name == code.lower()]
    if named:
        return named[0]
    raise ConfigError(f"unknown rule {code!r} in {where}{_hint(code, rules.values())}")


def _longest(prefixes: Iterable[str], code: str) -> int:
    """Return the length of the longest prefix that fits the code, 0 for ALL, -1 if none fits."""
    starts = ("" if prefix == ALL else prefix for prefix in prefixes)
    return max((len(start) for start in starts if code.startswith(start)), default=-1)


def _on_by_default(code: str) -> bool:
    rule = known_rules().get(code)
    return rule is None or rule.default


def _hint(text: str, rules: Iterable[Rule]) -> str:
    names = [known for rule in rules for known in (rule.code, rule.name)]
    meant = did_you_mean(text.upper(), names) or did_you_mean(text.lower(), names)
    return f"{meant}; `normlint --list-rules` shows them all"
