"""`--report`: one HTML page for people to look at: a summary, then each file with its norms and findings."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Final

from normlint import __version__
from normlint.engine.report import Diagnostic, Failure, Hunk, ListedNorm, PlacedFix, Report
from normlint.engine.settings import ConfigError
from normlint.faces.options import Targets
from normlint.faces.render import verdicts
from normlint.faces.render.concise import by_severity
from normlint.faces.report import Html, element, join
from normlint.faces.report.code import Mark, Runs, definitions, listing, runs
from normlint.faces.report.pictures import figures
from normlint.faces.rules import summary_of, url_of
from normlint.faces.terminal import counted
from normlint.text.finding import Applicability
from normlint.text.raw import BadSourceError, read_bytes, reason
from normlint.text.read import decode, units_of
from normlint.text.source import Source
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Verdict

KINDS: Final = {"rms": "RMS norm", "layer": "layer norm", "l2": "L2 norm"}
SIGNS: Final = {MATCH: "✓", PRECISION: "≈", WRONG: "✗", SKIPPED: "–"}
_TRUST: Final = {
    Applicability.SAFE: "safe: --fix makes it",
    Applicability.UNSAFE: "unsafe: --fix --unsafe-fixes makes it",
    Applicability.DISPLAY: "shown only",
}


def card(norm: ListedNorm, found: Sequence[Diagnostic], shown: Runs, key: str) -> Html:
    """The article; open where there is something to look at."""
    status = norm.verdict.status if norm.verdict else ""
    marks = tuple(Mark(one.start, one.end, one.code) for one in found)
    body = (
        element("p", spoken(norm.sentence)),
        element("p", "Spine ", element("code", norm.spine), " ", verdicts.LEGEND, class_="spine dim"),
        _verdict(norm),
        listing(shown, marks, f"source of {norm.qualname}")
        if shown
        else element("p", "Its source is gone.", class_="dim"),
        element("ul", [element("li", finding(one)) for one in found], class_="findings") if found else None,
        figures(norm, key),
    )
    whole = element(
        "details",
        element("summary", _card_head(norm, found), class_="head"),
        element("div", *body, class_="body"),
        open=bool(found) or status in (WRONG, PRECISION),
    )
    codes = " ".join(sorted({one.code for one in found}))
    return element("article", whole, class_="norm", id=key, data_rules=codes, data_verdict=status or "not run")


def badge(status: str) -> Html:
    """A verdict, told by its word and its sign and not by its colour alone."""
    return element("span", f"{SIGNS[status]} {status}", class_=f"badge {status}")


def _card_head(norm: ListedNorm, found: Sequence[Diagnostic]) -> Html:
    badges = [badge(norm.verdict.status)] if norm.verdict else []
    if norm.fixed_verdict:
        badges += [element("span", "repaired →", class_="dim"), badge(norm.fixed_verdict.status)]
    graded = {one.code: one.severity for one in found}
    codes = [element("span", code, class_=f"badge code-of {grade}", title=grade) for code, grade in graded.items()]
    where = f"cell {norm.place.cell}, line {norm.place.line}" if norm.place.cell else f"line {norm.place.line}"
    return join(
        element("h3", norm.qualname),
        element("span", f"{KINDS.get(norm.kind, norm.kind)} · {where}", class_="dim"),
        element("span", *badges, *codes, class_="badges"),
    )


def _verdict(norm: ListedNorm) -> Html | None:
    if norm.verdict is None:
        return None
    rows = [("As it is", norm.verdict)] + ([("Repaired", norm.fixed_verdict)] if norm.fixed_verdict else [])
    return element("dl", [join(element("dt", name), element("dd", _told(one))) for name, one in rows], class_="verdict")


def _told(verdict: Verdict) -> Html:
    eps = verdicts.eps_text(verdict)
    where = f" on {verdict.device}" if verdict.device else ""
    reason = f": {verdict.reason}" if verdict.reason else ""
    return join(badge(verdict.status), f"{where}{reason}", element("span", f" · {eps}", class_="dim") if eps else None)


def finding(one: Diagnostic) -> Html:
    """A finding with its rule's page and its fix."""
    url = url_of(one.code)
    code = element("a", one.code, href=url, rel="noopener noreferrer") if url else one.code
    where = f"cell {one.start.cell}, line" if one.start.cell is not None else "line"
    return join(
        element(
            "p",
            element("strong", code),
            " ",
            element("span", spoken(one.message), class_="message"),
            element("span", f" · {one.name}, {where} {one.start.line}", class_="dim"),
        ),
        element("p", f"{one.severity.capitalize()}. ", spoken(one.summary or summary_of(one.code)), class_="dim"),
        _fix(one.fix) if one.fix else None,
    )


def spoken(message: str) -> Html:
    """A sentence with what stands between backticks as code."""
    pieces = message.split("`")
    if len(pieces) % 2 == 0:
        return join(message)
    return join([element("code", piece) if at % 2 else piece for at, piece in enumerate(pieces)])


def _fix(fix: PlacedFix) -> Html:
    trust = element("span", f" · {_TRUST[fix.applicability]}", class_="dim")
    lines = [line for hunk in fix.hunks for line in _hunk(hunk)]
    shown = element("pre", element("code", lines), class_="diff", tabindex="0", role="region", aria_label="the fix")
    return join(element("p", spoken(fix.message), trust), shown if lines else None)


def _hunk(hunk: Hunk) -> list[Html]:
    """The lines before and after, without the indent that all of them have."""
    lines = dedent("\n".join((*hunk.old, *hunk.new))).split("\n")
    old, new = lines[: len(hunk.old)], lines[len(hunk.old) : len(hunk.old) + len(hunk.new)]
    gone = [_row(f"{number}", "−", line, "del") for number, line in enumerate(old, hunk.line)]
    shown = [_row(f"{hunk.line - 1}", " ", hunk.above.strip(), "span")] if hunk.above else []
    return shown + gone + [_row("", "+", line, "ins") for line in new]


def _row(number: str, sign: str, line: str, name: str) -> Html:
    gutter = element("span", number, class_="no", aria_hidden="true")
    return element("span", gutter, element(name, f"{sign} {line}"), "\n", class_="row")


ORDER: Final = (WRONG, PRECISION, SKIPPED, MATCH)
_HERE: Final = Path(__file__).parent
Shown = Mapping[tuple[str, int], Runs]  # the lines of each norm, by its path and number


@dataclass(frozen=True, slots=True)
class Part:
    """A file on the page: its norms with what was found in each, and what was found in none."""

    path: str
    norms: tuple[tuple[ListedNorm, tuple[Diagnostic, ...]], ...]
    loose: tuple[Diagnostic, ...]


def parts(report: Report) -> list[Part]:
    """The files with norms or findings, in the report's order."""
    paths = dict.fromkeys([*(norm.path for norm in report.norms), *(one.path for one in report.findings)])
    return [_part(report, path) for path in paths]


def _part(report: Report, path: str) -> Part:
    found = [one for one in report.findings if one.path == path]
    norms = [norm for norm in report.norms if norm.path == path]
    about = [(norm, tuple(one for one in found if norm.number in one.norms)) for norm in norms]
    placed = {id(one) for _, several in about for one in several}
    return Part(path, tuple(about), tuple(one for one in found if id(one) not in placed))


def page(report: Report, shown: Shown, files: int) -> str:
    """The document. `files`: how many were looked at."""
    script, style = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.js", "page.css"))
    every = parts(report)
    body = element(
        "body",
        element("header", element("h1", "normlint report"), element("p", *_said(report, files), class_="lead")),
        element(
            "main", _summary(report, files), _filter(report), list(_sections(every, shown)), _errors(report.errors)
        ),
        element("footer", element("p", f"normlint {__version__}", _where(report))),
        element("script", Html(script)),
    )
    return f"<!doctype html>\n{element('html', _head(style, script), body, lang='en')}\n"


def _head(style: str, script: str) -> Html:
    """Nothing is loaded from anywhere, and no other script than the page's own runs: the browser sees to it."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", "normlint report"),
        element("style", Html(style)),
    )


def _said(report: Report, files: int) -> Iterator[str]:
    """The report in a sentence."""
    yield f"{counted(len(report.norms), 'norm')} in {counted(files, 'file')}, "
    yield counted(len(report.findings), "finding") if report.findings else "nothing found"
    wrong = sum(1 for norm in report.norms if norm.verdict and norm.verdict.status == WRONG)
    if report.torch is not None:
        yield f", {wrong or 'none'} wrong when run"
    yield "."


def _where(report: Report) -> str:
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
    there = [status for status in ORDER if counts[status]]
    bar = [element("span", class_=status, style=f"flex-grow: {counts[status]}") for status in there]
    told = [element("li", badge(status), f" {counts[status]}") for status in there]
    return join(
        element("h3", "Verdicts"),
        element("div", bar, class_="bar", aria_hidden="true"),
        element("ul", told, class_="legend"),
    )


def _rules(report: Report) -> Html | None:
    counts = Counter(one.code for one in report.findings)
    if not counts:
        return None
    names = {one.code: one.name for one in report.findings}
    most = max(counts.values())
    rows = [
        element(
            "tr",
            element("th", element("a", code, href=url_of(code) or None, rel="noopener noreferrer"), scope="row"),
            element(
                "td",
                element("span", names[code], class_="name"),
                element("span", spoken(summary_of(code)), class_="dim"),
            ),
            element(
                "td",
                element("span", class_="meter", style=f"width: {count / most * 100:.0f}%"),
                class_="wide",
                aria_hidden="true",
            ),
            element("td", str(count), class_="count"),
        )
        for code, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]
    return join(element("h3", "Findings by rule"), element("table", element("tbody", rows), class_="rules"))


def _filter(report: Report) -> Html | None:
    """Shown by the script that makes it work."""
    if len(report.norms) < 2:
        return None
    codes = sorted({one.code for one in report.findings})
    statuses = [one for one in ORDER if any(norm.verdict and norm.verdict.status == one for norm in report.norms)]
    return element(
        "form",
        _choice("rule", "Rule", [("", "all"), ("-", "none"), *((code, code) for code in codes)]),
        _choice("verdict", "Verdict", [("", "all"), *((one, f"{SIGNS[one]} {one}") for one in statuses)])
        if statuses
        else None,
        element("output", class_="dim", aria_live="polite"),
        id="filter",
        hidden=True,
    )


def _choice(name: str, told: str, options: Sequence[tuple[str, str]]) -> Html:
    shown = [element("option", text, value=value) for value, text in options]
    return element("label", told, " ", element("select", shown, name=name))


def _sections(every: Sequence[Part], shown: Shown) -> Iterator[Html]:
    for number, part in enumerate(every, 1):
        cards = [
            card(norm, found, shown.get((part.path, norm.number), ()), f"n{number}-{at}")
            for at, (norm, found) in enumerate(part.norms, 1)
        ]
        loose = element("ul", [element("li", finding(one)) for one in part.loose], class_="findings loose")
        yield element("section", element("h2", part.path), cards, loose if part.loose else None, class_="file")


def _errors(errors: Sequence[Failure]) -> Html | None:
    if not errors:
        return None
    told = [f"{one.path}{'' if one.line is None else f':{one.line}'}: {one.message}" for one in errors]
    items = [element("li", one) for one in told]
    return element("section", element("h2", "Could not be read"), element("ul", items, class_="errors"))


def write_report(file: str, report: Report, chosen: Targets) -> None:
    """The page on the findings and norms of the files that were chosen."""
    text = html(report, chosen)
    try:
        with open(file, "wb") as out:
            out.write(text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--report {file}: {reason(error)}") from None


def html(report: Report, chosen: Targets) -> str:
    """The page as text."""
    shown: dict[tuple[str, int], Runs] = {}
    for part in parts(report):
        source = _source(part.path, chosen.data)
        if source is None:
            continue
        known = [definitions(source, unit) for unit in units_of(source)]
        for norm, found in part.norms:
            if norm.unit < len(known) and _is_there(source, norm):
                shown[part.path, norm.number] = runs(source, norm, found, known[norm.unit])
    return page(report, shown, len(chosen.paths))


def _source(path: str, data: bytes | None) -> Source | None:
    """What was linted, as far as it can be read once more."""
    try:
        return decode(path, read_bytes(path) if data is None else data)
    except BadSourceError:
        return None


def _is_there(source: Source, norm: ListedNorm) -> bool:
    """The file may have been changed in the meantime."""
    return norm.place.cell is None or norm.place.cell in dict(source.cells)
