"""Make the card of one norm in the HTML report: what it computes, its findings, their fixes and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import Final

from normlint.engine.report import Diagnostic, Hunk, ListedNorm, PlacedFix
from normlint.faces.render import verdicts
from normlint.faces.report import Html, element, join
from normlint.faces.report.code import Lines, listing
from normlint.faces.report.pictures import figures, worst
from normlint.faces.rules import url_of
from normlint.text.finding import ERROR, SEVERITIES, WARNING, Applicability
from normlint.text.verdict import MATCH, PRECISION, SKIPPED, WRONG, Verdict

KINDS: Final = {"rms": "RMS norm", "layer": "layer norm", "l2": "L2 norm"}
SIGNS: Final = {MATCH: "✓", PRECISION: "≈", WRONG: "✗", SKIPPED: "–"}
_VERDICT_SEVERITY: Final = {WRONG: ERROR, PRECISION: WARNING}
_TRUST: Final = {
    Applicability.SAFE: "safe: --fix makes it",
    Applicability.UNSAFE: "unsafe: --fix --unsafe-fixes makes it",
    Applicability.DISPLAY: "shown only",
}


def card(norm: ListedNorm, found: Sequence[Diagnostic], shown: Lines, key: str) -> Html:
    """Return the norm's article, open if something is wrong: findings and the worst plot first, details below."""
    findings = element("ul", [element("li", finding(one)) for one in found], class_="findings") if found else None
    overview = element("div", element("div", _summary_rows(norm), findings), worst(norm, key), class_="glance")
    whole = element(
        "details",
        element("summary", _card_head(norm, found), class_="head"),
        element("div", overview, _details(norm, found, shown, key), class_="body"),
        open=bad(norm, found) < len(SEVERITIES),
    )
    return element("article", whole, class_="norm", id=key)


def bad(norm: ListedNorm, found: Iterable[Diagnostic]) -> int:
    """Return the index in SEVERITIES of the norm's worst finding or verdict, or their number if there is none."""
    ran = _VERDICT_SEVERITY.get(norm.verdict.status) if norm.verdict else None
    grades = (*(one.severity for one in found), *([ran] if ran else ()))
    return min(map(SEVERITIES.index, grades), default=len(SEVERITIES))


def _summary_rows(norm: ListedNorm) -> Html:
    rows = [("Computes", spoken(norm.sentence))]
    rows += [("When run", _verdict_text(norm.verdict))] if norm.verdict else []
    repaired = [element("p", spoken(norm.fixed_sentence))] if norm.fixed_sentence not in ("", norm.sentence) else []
    repaired += [element("p", _verdict_text(norm.fixed_verdict))] if norm.fixed_verdict else []
    rows += [("Repaired", join(repaired))] if repaired else []
    return element("dl", [join(element("dt", name), element("dd", text)) for name, text in rows], class_="verdict")


def _details(norm: ListedNorm, found: Sequence[Diagnostic], shown: Lines, key: str) -> Html:
    """Return the source, spine and plots, opened if a finding has no fix that shows the code."""
    hits = [
        line for one in found if one.start.cell == norm.place.cell for line in range(one.start.line, one.end.line + 1)
    ]
    pictures = figures(norm, key)
    return element(
        "details",
        element("summary", "Source and all measurements" if pictures else "Source"),
        element("p", "Spine ", element("code", norm.spine), " ", verdicts.LEGEND, class_="spine dim"),
        listing(shown, hits, f"source of {norm.qualname}")
        if shown[1]
        else element("p", "Its source is gone.", class_="dim"),
        pictures,
        class_="more",
        open=any(one.fix is None or not one.fix.hunks for one in found),
    )


def badge(status: str) -> Html:
    """Return a verdict's status as a word and a sign, readable without its colour."""
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


def _verdict_text(verdict: Verdict) -> Html:
    eps = verdicts.eps_text(verdict)
    where = f" on {verdict.device}" if verdict.device else ""
    reason = f": {verdict.reason}" if verdict.reason else ""
    return join(badge(verdict.status), f"{where}{reason}", element("span", f" · {eps}", class_="dim") if eps else None)


def finding(one: Diagnostic) -> Html:
    """Return a finding with a link to its rule's page and its fix."""
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
        element("p", f"{one.severity.capitalize()}. ", spoken(one.consequence), class_="dim"),
        element("p", one.evidence, class_="dim") if one.evidence else None,
        _fix(one.fix) if one.fix else None,
    )


def spoken(message: str) -> Html:
    """Return a message with the text between backticks as code elements."""
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
    """Return the lines before and after, without their common indent."""
    lines = dedent("\n".join((*hunk.old, *hunk.new))).split("\n")
    old, new = lines[: len(hunk.old)], lines[len(hunk.old) : len(hunk.old) + len(hunk.new)]
    gone = [_diff_line(f"{number}", "−", line, "del") for number, line in enumerate(old, hunk.line)]
    shown = [_diff_line(f"{hunk.line - 1}", " ", hunk.above.strip(), "span")] if hunk.above else []
    return shown + gone + [_diff_line("", "+", line, "ins") for line in new]


def _diff_line(number: str, sign: str, line: str, name: str) -> Html:
    gutter = element("span", number, class_="no", aria_hidden="true")
    return element("span", gutter, element(name, f"{sign} {line}"), "\n", class_="row")
