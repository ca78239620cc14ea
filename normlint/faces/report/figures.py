"""The pictures of one norm with their legend, their captions and the numbers they were drawn from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from normlint.engine.report import ListedNorm
from normlint.faces.report import pictures
from normlint.faces.report.html import Html, element, join
from normlint.text.sweep import NORM, TORCH, Sweep
from normlint.text.verdict import SKIPPED

DTYPES: Final = ("fp32", "fp16", "bf16")
_WHOSE: Final = {"norm": "as it is", "mended": "repaired", "torch": "torch's own"}


def figures(norm: ListedNorm, key: str) -> Html | None:
    """All pictures of a norm that was run; None where nothing was measured."""
    sweep = norm.verdict and norm.verdict.sweep
    if not sweep:
        return None
    mended = norm.mended.sweep if norm.mended and norm.mended.status != SKIPPED else None
    errors = [one for dtype in DTYPES if (one := _error(sweep, mended, dtype, f"{key}-{dtype}"))]
    changes = _changes(sweep, mended, key)
    if not errors and not changes:
        return None
    return element(
        "div",
        element("h4", "Error against the scale of the input"),
        _legend(sweep, mended),
        element("div", errors, class_="plots"),
        _numbers(sweep, mended),
        element("h4", "What a change of one row changes") if changes else None,
        _MAPS if changes else None,
        element("div", changes, class_="plots maps") if changes else None,
        class_="figures",
    )


def _lines(sweep: Sweep, mended: Sweep | None, dtype: str) -> Iterator[pictures.Line]:
    for name, source, of in (("norm", sweep, NORM), ("mended", mended, NORM), ("torch", sweep, TORCH)):
        curve = source.curve(of, dtype) if source else None
        if curve:
            yield pictures.Line(name, _WHOSE[name], curve.points)


def _error(sweep: Sweep, mended: Sweep | None, dtype: str, key: str) -> Html | None:
    curve = sweep.curve(NORM, dtype)
    if curve is None:
        return None
    lines = list(_lines(sweep, mended, dtype))
    ranges = "; ".join(f"{line.told}: {_range(line)}" for line in lines)
    svg = pictures.of_error(lines, curve.limit, f"{dtype}, error against input scale. {ranges}.", key)
    caption = element("figcaption", element("strong", dtype), f" limit {curve.limit:.1e}")
    return element("figure", caption, svg)


def _range(line: pictures.Line) -> str:
    values = [value for _, value in line.points]
    finite = [value for value in values if math.isfinite(value)]
    lost = f", no finite output at {len(values) - len(finite)} scales" if len(finite) < len(values) else ""
    return (f"from {min(finite):.2g} to {max(finite):.2g}" if finite else "nothing finite") + lost


def _legend(sweep: Sweep, mended: Sweep | None) -> Html:
    names = dict.fromkeys(line.name for dtype in DTYPES for line in _lines(sweep, mended, dtype))
    shown = [_key(name, _WHOSE[name]) for name in names]
    values = [value for dtype in DTYPES for line in _lines(sweep, mended, dtype) for _, value in line.points]
    lost = [_key("lost", "no finite output")] if any(map(math.isinf, values)) else []
    return element("ul", *shown, _key("limit", "limit of the verdict"), *lost, class_="legend")


def _key(name: str, told: str) -> Html:
    return element("li", element("span", "✖" if name == "lost" else None, class_=f"swatch {name}"), told)


_MAPS: Final = element(
    "ul",
    _key("itself", "the row itself"),
    _key("other", "another row: the fuller, the more it moves"),
    class_="legend",
)


def _changes(sweep: Sweep, mended: Sweep | None, key: str) -> list[Html]:
    shown = (("norm", sweep), ("mended", mended))
    return [_change(name, one, f"{key}-{name}-rows") for name, one in shown if one and one.change]


def _change(name: str, sweep: Sweep, key: str) -> Html:
    told = f"{_WHOSE[name]}: {_reach(sweep.change)}"
    caption = element("figcaption", element("strong", _WHOSE[name]), f" {_reach(sweep.change)}")
    return element("figure", caption, pictures.of_change(sweep.change, told, key))


def _reach(change: tuple[tuple[float, ...], ...]) -> str:
    """What a person sees in it."""
    others = [value for i, row in enumerate(change) for j, value in enumerate(row) if i != j]
    moved = [value for value in others if value]
    if not moved:
        return "moves each row alone"
    worst = max(moved)
    by = f"up to {worst * 100:.2g} %" if math.isfinite(worst) and worst < 10 else "beyond measure"
    return f"moves {len(moved)} of {len(others)} others, {by}"


def _numbers(sweep: Sweep, mended: Sweep | None) -> Html:
    """The same as a table, for those who don't see it or want the figures."""
    columns = [(dtype, line) for dtype in DTYPES for line in _lines(sweep, mended, dtype)]
    scales = sorted({scale for _, line in columns for scale, _ in line.points})
    head = element("tr", element("th", "scale", scope="col"), [_column(dtype, line.told) for dtype, line in columns])
    at = [dict(line.points) for _, line in columns]
    rows = [
        element("tr", element("th", f"{scale:.2e}", scope="row"), [_cell(one.get(scale)) for one in at])
        for scale in scales
    ]
    table = element("table", element("thead", head), element("tbody", rows), class_="numbers")
    scroll = element("div", table, class_="scroll", tabindex="0", role="region", aria_label="errors in numbers")
    return element("details", element("summary", "The numbers"), scroll, class_="more")


def _column(dtype: str, told: str) -> Html:
    return element("th", join(dtype, element("br"), told), scope="col")


def _cell(value: float | None) -> Html:
    if value is None:
        return element("td", "")
    told = f"{value:.2e}" if math.isfinite(value) else "not finite"
    return element("td", element("data", told, value=repr(value)))
