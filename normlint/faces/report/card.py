"""One norm on the page: what it is, its code, what was found in it, and what running it showed."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent
from typing import Final

from normlint.engine.report import Diagnostic, Hunk, ListedNorm, PlacedFix
from normlint.faces.render import verdicts
from normlint.faces.report.code import Mark, listing
from normlint.faces.report.extent import Runs
from normlint.faces.report.figures import figures
from normlint.faces.report.html import Html, element, join
from normlint.faces.rules import summary_of, url_of
from normlint.text.finding import Applicability
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
        element("p", "Spine ", element("code", norm.spine), class_="spine"),
        _verdict(norm),
        listing(shown, marks, f"source of {norm.qualname}")
        if shown
        else element("p", "Its source is gone.", class_="dim"),
        element("ul", [element("li", finding(one)) for one in found], class_="findings") if found else None,
        figures(norm, key),
    )
    whole = element(
        "details",
        element("summary", _head(norm, found), class_="head"),
        element("div", *body, class_="body"),
        open=bool(found) or status in (WRONG, PRECISION),
    )
    codes = " ".join(sorted({one.code for one in found}))
    return element("article", whole, class_="norm", id=key, data_rules=codes, data_verdict=status or "not run")


def badge(status: str) -> Html:
    """A verdict, told by its word and its sign and not by its colour alone."""
    return element("span", f"{SIGNS[status]} {status}", class_=f"badge {status}")


def _head(norm: ListedNorm, found: Sequence[Diagnostic]) -> Html:
    badges = [badge(norm.verdict.status)] if norm.verdict else []
    if norm.mended:
        badges += [element("span", "repaired →", class_="dim"), badge(norm.mended.status)]
    codes = [element("span", code, class_="badge code-of") for code in dict.fromkeys(one.code for one in found)]
    where = f"cell {norm.place.cell}, line {norm.place.line}" if norm.place.cell else f"line {norm.place.line}"
    return join(
        element("h3", norm.qualname),
        element("span", f"{KINDS.get(norm.kind, norm.kind)} · {where}", class_="dim"),
        element("span", *badges, *codes, class_="badges"),
    )


def _verdict(norm: ListedNorm) -> Html | None:
    if norm.verdict is None:
        return None
    rows = [("As it is", norm.verdict)] + ([("Repaired", norm.mended)] if norm.mended else [])
    return element("dl", [join(element("dt", name), element("dd", _told(one))) for name, one in rows], class_="verdict")


def _told(verdict: Verdict) -> Html:
    eps = verdicts.eps_told(verdict)
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
        element("p", spoken(one.summary or summary_of(one.code)), class_="dim"),
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
    return gone + [_row("", "+", line, "ins") for line in new]


def _row(number: str, sign: str, line: str, name: str) -> Html:
    gutter = element("span", number, class_="no", aria_hidden="true")
    return element("span", gutter, element(name, f"{sign} {line}"), "\n", class_="row")
