"""What is wanted of a file: which rules, and how far their fixes are trusted. The longest prefix decides."""

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
    """What was asked for; `select` None means the rules that are on by default."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES  # in which the project runs
    least: str = WARNING  # the lowest severity that is reported

    def runs_in(self, dtypes: Sequence[str]) -> bool:
        """Does the project run in one of them? An empty sequence stands for all."""
        return not dtypes or not set(self.dtypes).isdisjoint(dtypes)

    def chooses(self, code: str) -> bool:
        """Is the rule with this code asked for?"""
        return self._asked(code) > _longest(self.ignore, code)

    def knows(self, code: str) -> bool:
        """Whether the user has selected or ignored the rule by name, and so knows it."""
        return self._asked(code) >= 0

    def _asked(self, code: str) -> int:
        asked = max(_longest(self.select or (), code), _longest(self.extend_select, code))
        return max(asked, 0) if self.select is None and _on_by_default(code) else asked


@dataclass(frozen=True, slots=True)
class Demand:
    """What is wanted of a file: which codes, which not in this one, and whether comments may silence them.

    `fixes`: with the fixes of the findings. `unsafe`: the unsafe ones are made as well, where fixes are asked for.
    `prepare`: makes of each norm what the verifier needs to run it. A function of a module, so that it can be sent.
    `around`: may files that the file imports from be read?
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
        """The same without fixes and without preparing runs."""
        return replace(self, fixes=False, prepare=None)

    @property
    def key(self) -> str:
        """What decides about the findings and their fixes, for the cache; equal to `Settings.wanted`."""
        chosen = self.selection
        selection = (chosen.select, chosen.ignore, chosen.extend_select, chosen.dtypes, chosen.least)
        return demand_key(selection, self.ignored, unsafe=self.unsafe, noqa=self.noqa)

    def chooses(self, code: str) -> bool:
        """Is a finding with this code to be reported?"""
        return self.selection.chooses(code) and not matches(self.ignored, code)

    def shows(self, code: str) -> bool:
        """Is what this rule finds grave enough to be reported?"""
        from normlint.rules.registry import RULES

        return self.chooses(code) and at_least(RULES[code].severity, self.selection.least)

    def takes(self, finding: Finding) -> bool:
        """Is the finding to be reported, unless a comment silences it?"""
        chosen = self.selection
        return (
            self.chooses(finding.code) and chosen.runs_in(finding.dtypes) and at_least(finding.severity, chosen.least)
        )

    def fixable(self, finding: Finding) -> bool:
        """Is it to be reported, and does its rule offer fixes?"""
        from normlint.rules.registry import RULES

        return self.takes(finding) and RULES[finding.code].fix is not None

    def makes(self, applicability: Applicability) -> bool:
        """Is such a fix made, where fixes are asked for?"""
        return applicability is Applicability.SAFE or (self.unsafe and applicability is Applicability.UNSAFE)

    def may_make(self, code: str) -> bool:
        """Would the most trusted fixes of this rule be made when fixes are asked for?"""
        from normlint.rules.registry import RULES

        best = RULES[code].fix
        return best is not None and self.makes(best)


def demand_of(settings: Settings, path: str, *, noqa: bool = True) -> Demand:
    """What these settings want of the file at `path`."""
    selection = Selection(
        settings.select, settings.ignore, settings.extend_select, settings.dtypes, settings.min_severity
    )
    return Demand(selection, settings.ignored(path), noqa, unsafe=settings.unsafe_fixes)


def known_rules() -> dict[str, Rule]:
    """All rules by their code, with the families that register them imported."""
    import normlint.rules  # noqa: F401 - its families register their rules
    from normlint.rules.registry import RULES

    return RULES


def checked_codes(codes: Iterable[str], where: str) -> tuple[str, ...]:
    """The codes, prefixes or names as codes and prefixes; ConfigError on one that fits no rule."""
    return tuple(_checked(code.strip(), where) for code in codes if code.strip())


def find_rule(text: str) -> Rule:
    """The rule with this code or name."""
    rules = known_rules()
    for rule in rules.values():
        if text.upper() == rule.code or text.lower() == rule.name:
            return rule
    raise ConfigError(f"unknown rule {text!r}{_hint(text, rules.values())}")


def matches(codes: Sequence[str], code: str) -> bool:
    """Does the code begin with one of the prefixes, or is one of them ALL?"""
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
    """The length of the longest prefix that fits the code, -1 if none does; ALL fits, and says least."""
    return max((0 if prefix == ALL else len(prefix) for prefix in prefixes if _fits(prefix, code)), default=-1)


def _fits(prefix: str, code: str) -> bool:
    return prefix == ALL or code.startswith(prefix)


def _on_by_default(code: str) -> bool:
    rule = known_rules().get(code)
    return rule is None or rule.default


def _hint(text: str, rules: Iterable[Rule]) -> str:
    names = [known for rule in rules for known in (rule.code, rule.name)]
    meant = did_you_mean(text.upper(), names) or did_you_mean(text.lower(), names)
    return f"{meant}; `normlint --list-rules` shows them all"
