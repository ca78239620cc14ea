"""Write the HTML report (`--report`): a summary, then each file with its norms, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from normlint import __version__
from normlint.engine.report import Diagnostic, Failure, ListedNorm, Report
from normlint.faces.options import Targets
from normlint.faces.render.concise import by_severity
from normlint.faces.report import Html, element, join
from normlint.faces.report.card import KINDS, bad, badge, card, finding, spoken
from normlint.faces.report.code import Lines, definitions, shown
from normlint.faces.rules import summary_of, url_of
from normlint.faces.terminal import counted
from normlint.text.finding import SEVERITIES
from normlint.text.raw import BadSourceError, read_bytes
from normlint.text.read import decode, units_of
from normlint.text.source import Source
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG

ORDER: Final = (WRONG, PRECISION, SKIPPED, MATCH)
Sources = Mapping[tuple[str, int], Lines]  # by a norm's path and number


@dataclass(frozen=True, slots=True)
class Part:
    """A file in the report: its norms with the findings in each, and the findings in no norm (`loose`)."""

    path: str
    norms: tuple[tuple[ListedNorm, tuple[Diagnostic, ...]], ...]
    loose: tuple[Diagnostic, ...]


def parts(report: Report) -> list[Part]:
    """Return the files with norms or findings, and the norms in each, the worst first."""
    paths = dict.fromkeys([*(norm.path for norm in report.norms), *(one.path for one in report.findings)])
    return sorted((_part(report, path) for path in paths), key=_badness)


def _badness(part: Part) -> tuple[int, ...]:
    """Return the sort key of a file: the negative number of norms and findings of each severity, the worst first."""
    grades = [bad(norm, found) for norm, found in part.norms] + [SEVERITIES.index(one.severity) for one in part.loose]
    return tuple(-grades.count(at) for at in range(len(SEVERITIES)))


def _part(report: Report, path: str) -> Part:
    found = [one for one in report.findings if one.path == path]
    norms = [norm for norm in report.norms if norm.path == path]
    about = [(norm, tuple(one for one in found if norm.number in one.norms)) for norm in norms]
    placed = {id(one) for _, several in about for one in several}
    about.sort(key=lambda one: (bad(*one), -len(one[1])))
    return Part(path, tuple(about), tuple(one for one in found if id(one) not in placed))


def page(report: Report, lines: Sources, files: int) -> str:
    """Return the HTML document, with the source of norms in `lines`; `files`: how many were linted."""
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    every = parts(report)
    body = element(
        "body",
        element("header", element("h1", "normlint report"), element("p", *_totals(report, files), class_="lead")),
        element(
            "main",
            _summary(report, files),
            list(_sections(every, lines)),
            _errors(report.errors),
        ),
        element("footer", element("p", f"normlint {__version__}", _torch_text(report))),
    )
    return f"<!doctype html>\n{element('html', _head(style), body, lang='en')}\n"


def _head(style: str) -> Html:
    """Return the head, with a policy that makes the browser load nothing and run no script."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", "normlint report"),
        element("style", Html(style)),
    )


def _totals(report: Report, files: int) -> Iterator[str]:
    """Yield the parts of a sentence that sums up the report."""
    norms = counted(len(report.norms), "norm") if report.norms or not report.findings else "Uses of norms"
    yield f"{norms} in {counted(files, 'file')}, "
    yield counted(len(report.findings), "finding") if report.findings else "nothing found"
    wrong = sum(1 for norm in report.norms if norm.verdict and norm.verdict.status == WRONG)
    if report.torch is not None:
        yield f", {wrong or 'none'} wrong when run"
    yield "."


def _torch_text(report: Report) -> str:
    if not report.torch:
        return ""
    devices = sorted({norm.verdict.device for norm in report.norms if norm.verdict and norm.verdict.device})
    return f" · run with torch {report.torch}" + (f" on {', '.join(devices)}" if devices else "")


def _summary(report: Report, files: int) -> Html:
    kinds = Counter(norm.kind for norm in report.norms)
    named = " · ".join(f"{kinds[kind]} {KINDS[kind]}{'s' * (kinds[kind] != 1)}" for kind in KINDS if kinds[kind])
    held = len({norm.path for norm in report.norms})
    tiles = [
        _tile("Files", files, f"{held} with norms"),
        _tile("Norms", len(report.norms), named or "none recognised"),
        _tile("Findings", len(report.findings), by_severity(report.findings) or "none"),
    ]
    heading = element("h2", "Summary", id="summary")
    return element(
        "section",
        heading,
        element("div", tiles, class_="tiles"),
        _verdicts(report),
        _rules(report),
        aria_labelledby="summary",
    )


def _tile(name: str, number: int, more: str) -> Html:
    return element(
        "div",
        element("span", str(number), class_="big"),
        element("strong", name),
        element("span", more, class_="dim"),
        class_="tile",
    )


def _verdicts(report: Report) -> Html | None:
    counts = Counter(norm.verdict.status for norm in report.norms if norm.verdict)
    if not counts:
        return None
    items = [element("li", badge(status), f" {counts[status]}") for status in ORDER if counts[status]]
    return join(element("h3", "Verdicts"), element("ul", items, class_="legend"))


def _rules(report: Report) -> Html | None:
    by_code: dict[str, list[Diagnostic]] = {}
    for one in report.findings:
        by_code.setdefault(one.code, []).append(one)
    if not by_code:
        return None
    most = max(map(len, by_code.values()))
    worst = {code: min(SEVERITIES.index(one.severity) for one in found) for code, found in by_code.items()}
    ordered = sorted(by_code.items(), key=lambda one: (worst[one[0]], -len(one[1]), one[0]))
    rows = [_rule(code, found, len(found) / most) for code, found in ordered]
    return join(element("h3", "Findings by rule"), element("table", element("tbody", rows), class_="rules"))


def _rule(code: str, found: Sequence[Diagnostic], share: float) -> Html:
    summary = element("span", spoken(summary_of(code)), class_="dim")
    meter = element("span", class_="meter", style=f"width: {share * 100:.0f}%")
    return element(
        "tr",
        element("th", element("a", code, href=url_of(code) or None, rel="noopener noreferrer"), scope="row"),
        element("td", element("span", found[0].name, class_="name"), summary),
        element("td", meter, class_="wide", aria_hidden="true"),
        element("td", by_severity(found), class_="count"),
    )


def _sections(every: Sequence[Part], lines: Sources) -> Iterator[Html]:
    for number, part in enumerate(every, 1):
        cards = [
            card(norm, found, lines.get(norm.key, (1, ())), f"n{number}-{at}")
            for at, (norm, found) in enumerate(part.norms, 1)
        ]
        items = [element("li", finding(one)) for one in part.loose]
        loose = element("ul", items, class_="findings loose") if items else None
        yield element("section", element("h2", part.path), cards, loose, class_="file")


def _errors(errors: Sequence[Failure]) -> Html | None:
    if not errors:
        return None
    lines = [f"{one.path}{'' if one.line is None else f':{one.line}'}: {one.message}" for one in errors]
    items = [element("li", one) for one in lines]
    return element("section", element("h2", "Could not be read"), element("ul", items, class_="errors"))


def html(report: Report, chosen: Targets) -> str:
    """Return the HTML report on the chosen files, whose source is read again."""
    lines: dict[tuple[str, int], Lines] = {}
    for part in parts(report):
        source = _source(part.path, chosen.data)
        if source is None:
            continue
        known = [definitions(source, unit) for unit in units_of(source)]
        for norm, _ in part.norms:
            if norm.unit < len(known) and _cell_exists(source, norm):
                lines[norm.key] = shown(source, norm, known[norm.unit])
    return page(report, lines, len(chosen.paths))


def _source(path: str, data: bytes | None) -> Source | None:
    """Read the linted source again; None if that fails."""
    try:
        return decode(path, read_bytes(path) if data is None else data)
    except BadSourceError:
        return None


def _cell_exists(source: Source, norm: ListedNorm) -> bool:
    """Return whether the norm's cell still exists, since the file may have been changed."""
    return norm.place.cell is None or norm.place.cell in dict(source.cells)
