"""Draw the plots of one norm, with legend, captions and numbers, as SVG with the colours and font of the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from normlint.engine.report import ListedNorm
from normlint.faces.report import Html, element, join
from normlint.text.sweep import NORM, TORCH, Points, Sweep
from normlint.text.verdict import SKIPPED, percent

LEFT, RIGHT, TOP, BOTTOM = 43.0, 247.0, 6.0, 145.0  # the edges of the plot area
_DECADES: Final = 4.3  # powers of ten on either side of scale 1
_LOWEST: Final = 1e-8
_HIGHEST: Final = 10.0
_MORE: Final = 1e8
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FAINTEST: Final = 1e-7  # the smallest change that is told apart
_CROSS: Final = "M {0:.3f} {1:.3f} m -3 -3 l 6 6 m 0 -6 l -6 6"


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, with its name (the CSS class) and its label."""

    name: str
    label: str
    points: Points


@dataclass(frozen=True, slots=True)
class Axes:
    """Logarithmic axes: the input's scale, and the error up to `top`."""

    top: float

    def place(self, scale: float, error: float) -> tuple[float, float]:
        """Return the position of a point; an error beyond an edge is put on it."""
        across = (math.log10(scale) + _DECADES) / (2 * _DECADES)
        up = math.log10(min(max(error, _LOWEST), self.top) / _LOWEST) / math.log10(self.top / _LOWEST)
        return LEFT + (RIGHT - LEFT) * across, BOTTOM - (BOTTOM - TOP) * up

    def drawn(self) -> Iterator[Html]:
        """Yield the grid line and label of every second power of ten."""
        for exponent in range(-4, 5, 2):
            x, _ = self.place(10.0**exponent, 1.0)
            yield element("path", d=_path([(x, TOP), (x, BOTTOM)]), class_="grid")
            yield _label(_power(exponent), x, BOTTOM + 14, "middle")
        for exponent in range(-8, round(math.log10(self.top)) + 1, 2):
            _, y = self.place(1.0, 10.0**exponent)
            yield element("path", d=_path([(LEFT, y), (RIGHT, y)]), class_="grid")
            yield _label(_power(exponent), LEFT - 5, y + 3, "end")


def of_error(lines: Sequence[Line], limit: float, description: str, key: str) -> Html:
    """Plot errors against the scale of the input, both logarithmic; an error that isn't finite is at the top edge."""
    axes = Axes(_highest_error(lines))
    _, edge = axes.place(1.0, limit)
    beyond = element("rect", x=LEFT, y=TOP, width=RIGHT - LEFT, height=edge - TOP, class_="beyond")
    allowed = _class_path("limit", key, _path([(LEFT, edge), (RIGHT, edge)]))
    curves = [curve for line in lines for curve in _curve(axes, line, key)]
    names = _axis_titles("scale of the input", "largest error, as a share", 252, 180)
    return _picture((252, 180), description, *axes.drawn(), beyond, allowed, *curves, names)


def _curve(axes: Axes, line: Line, key: str) -> Iterator[Html]:
    yield _class_path(line.name, key, _path([axes.place(*point) for point in line.points]))
    lost = [axes.place(x, y) for x, y in line.points if not math.isfinite(y)]
    if lost:
        yield _class_path(line.name, f"{key}-lost", " ".join(_CROSS.format(*one) for one in lost))


def of_change(change: Sequence[Sequence[float]], description: str) -> Html:
    """Plot a square for each changed input row and each output row, more opaque the more that output row changes."""
    count = len(change)
    side = 130 / count
    squares = [_square(i, j, side, value) for i, row in enumerate(change) for j, value in enumerate(row)]
    ends = [
        number
        for at in sorted({1, count})
        for number in (
            _label(str(at), 30 + (at - 0.5) * side, 147, "middle"),
            _label(str(at), 26, 5 + (at - 0.5) * side + 3, "end"),
        )
    ]
    names = _axis_titles("output row", "changed input row", 166, 166)
    return _picture((166, 166), description, *squares, *ends, names)


def _square(i: int, j: int, side: float, value: float) -> Html:
    look = "empty" if not value else "itself" if i == j else "other"
    x, y = 30 + (j + 0.04) * side, 5 + (i + 0.04) * side
    opacity = _opacity(value) if value else None
    return element("rect", x=x, y=y, width=0.92 * side, height=0.92 * side, class_=look, opacity=opacity)


def _opacity(value: float) -> float:
    """Return the opacity of a square: 0.15 for the smallest change, 1 for a change as large as the row."""
    share = 1 - math.log10(min(max(value, _FAINTEST), 1.0)) / math.log10(_FAINTEST)
    return round(0.15 + 0.85 * share, 1)


def _picture(size: tuple[int, int], description: str, *content: Html) -> Html:
    box = f"0 0 {size[0]} {size[1]}"
    return element("svg", *content, role="img", aria_label=description, viewBox=box)


def _class_path(name: str, key: str, path: str) -> Html:
    """Return a path that the style sheet draws in the colour of its name."""
    return element("g", element("path", d=path, class_=f"line {name}"), id=f"{key}-{name}")


def _axis_titles(across: str, up: str, width: int, height: int) -> Html:
    """Return the axis titles, below and, rotated, on the left."""
    middle = (LEFT + width) / 2
    below = _label(across, middle, height - 5, "middle")
    return join(below, _label(up, -(height - 30) / 2, 9, "middle", "rotate(-90)"))


def _label(words: str, x: float, y: float, anchor: str, transform: str | None = None) -> Html:
    return element("text", words, x=x, y=y, text_anchor=anchor, transform=transform)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if at else 'M'} {x:.3f} {y:.3f}" for at, (x, y) in enumerate(points))


def _power(exponent: int) -> str:
    return f"10{str(exponent).translate(_SUPERSCRIPT)}" if exponent else "1"


def _highest_error(lines: Sequence[Line]) -> float:
    highest = max((value for line in lines for _, value in line.points if math.isfinite(value)), default=0.0)
    return _HIGHEST if highest < _HIGHEST / 2 else min(10.0 ** math.ceil(math.log10(highest) + 0.5), _MORE)


DTYPES: Final = ("fp32", "fp16", "bf16")
_LABELS: Final = {"norm": "as it is", "fixed": "repaired", "torch": "torch's own"}


def worst(norm: ListedNorm, key: str) -> Html | None:
    """Return the error plot of the dtype that exceeds its limit most; None if nothing was measured."""
    sweep, fixed = _sweeps(norm)
    dtype = _worst_dtype(sweep)
    if not sweep or not dtype:
        return None
    heading = element("p", "Error against the scale of the input", class_="dim")
    return element("div", heading, _error(sweep, fixed, dtype, f"{key}-{dtype}"), _legend(sweep, fixed), class_="curve")


def figures(norm: ListedNorm, key: str) -> Html | None:
    """Return the other plots and the table of numbers; None if nothing was measured."""
    sweep, fixed = _sweeps(norm)
    if not sweep:
        return None
    others = [dtype for dtype in DTYPES if dtype != _worst_dtype(sweep)]
    errors = [one for dtype in others if (one := _error(sweep, fixed, dtype, f"{key}-{dtype}"))]
    changes = _changes(sweep, fixed)
    if not sweep.curves and not changes:
        return None
    return element(
        "div",
        element("h4", "Error against the scale of the input"),
        element("div", errors, class_="plots"),
        _numbers(sweep, fixed),
        element("h4", "What a change of one row changes") if changes else None,
        _MAPS if changes else None,
        element("div", changes, class_="plots maps") if changes else None,
        element("p", "Measured on rows of their own, so the figures aren't those of the verdict.", class_="dim"),
        class_="figures",
    )


def _sweeps(norm: ListedNorm) -> tuple[Sweep | None, Sweep | None]:
    """Return the measurements of the norm as it is and after its fixes, each None if there are none."""
    fixed = norm.fixed_verdict
    return norm.verdict.sweep if norm.verdict else None, fixed.sweep if fixed and fixed.status != SKIPPED else None


def _worst_dtype(sweep: Sweep | None) -> str | None:
    """Return the dtype with the largest error relative to its limit; None if nothing was measured."""
    curves = [curve for dtype in DTYPES if sweep and (curve := sweep.curve(NORM, dtype)) and curve.points]
    return max(curves, key=lambda one: max(y for _, y in one.points) / one.limit).dtype if curves else None


def _lines(sweep: Sweep, fixed: Sweep | None, dtype: str) -> Iterator[Line]:
    for name, source, of in (("norm", sweep, NORM), ("fixed", fixed, NORM), ("torch", sweep, TORCH)):
        curve = source.curve(of, dtype) if source else None
        if curve:
            yield Line(name, _LABELS[name], curve.points)


def _error(sweep: Sweep, fixed: Sweep | None, dtype: str, key: str) -> Html | None:
    curve = sweep.curve(NORM, dtype)
    if curve is None:
        return None
    lines = list(_lines(sweep, fixed, dtype))
    ranges = "; ".join(f"{line.label}: {_range(line)}" for line in lines)
    svg = of_error(lines, curve.limit, f"{dtype}, error against input scale. {ranges}.", key)
    caption = element("figcaption", element("strong", dtype), f" limit {curve.limit:.1e}")
    return element("figure", caption, svg)


def _range(line: Line) -> str:
    values = [value for _, value in line.points]
    finite = [value for value in values if math.isfinite(value)]
    lost = f", no finite output at {len(values) - len(finite)} scales" if len(finite) < len(values) else ""
    return (f"from {min(finite):.2g} to {max(finite):.2g}" if finite else "nothing finite") + lost


def _legend(sweep: Sweep, fixed: Sweep | None) -> Html:
    names = dict.fromkeys(line.name for dtype in DTYPES for line in _lines(sweep, fixed, dtype))
    shown = [_key(name, _LABELS[name]) for name in names]
    values = [value for dtype in DTYPES for line in _lines(sweep, fixed, dtype) for _, value in line.points]
    lost = [_key("lost", "no finite output")] if any(map(math.isinf, values)) else []
    return element("ul", *shown, _key("limit", "limit of the verdict"), *lost, class_="legend")


def _key(name: str, label: str) -> Html:
    return element("li", element("span", "✖" if name == "lost" else None, class_=f"swatch {name}"), label)


_MAPS: Final = element(
    "ul",
    _key("itself", "the row itself"),
    _key("other", "another row: the fuller, the more it moves"),
    class_="legend",
)


def _changes(sweep: Sweep, fixed: Sweep | None) -> list[Html]:
    shown = (("norm", sweep), ("fixed", fixed))
    return [_change(name, one) for name, one in shown if one and one.change]


def _change(name: str, sweep: Sweep) -> Html:
    description = f"{_LABELS[name]}: {_change_text(sweep.change)}"
    caption = element("figcaption", element("strong", _LABELS[name]), f" {_change_text(sweep.change)}")
    return element("figure", caption, of_change(sweep.change, description))


def _change_text(change: tuple[tuple[float, ...], ...]) -> str:
    """Describe how many other rows the first row with an effect on others changes, and by how much."""
    for i, row in enumerate(change):
        others = [*row[:i], *row[i + 1 :]]
        if moved := [value for value in others if value]:
            return (
                f"changing row {i + 1} changes {len(moved)} of the {len(others)} others, by up to {percent(max(moved))}"
            )
    return "changing a row changes no other"


def _numbers(sweep: Sweep, fixed: Sweep | None) -> Html:
    """Return the plotted errors as a table, for screen readers and exact values."""
    columns = [(dtype, line) for dtype in DTYPES for line in _lines(sweep, fixed, dtype)]
    scales = sorted({scale for _, line in columns for scale, _ in line.points})
    head = element("tr", element("th", "scale", scope="col"), [_column(dtype, line.label) for dtype, line in columns])
    at = [dict(line.points) for _, line in columns]
    rows = [
        element("tr", element("th", f"{scale:.2e}", scope="row"), [_table_cell(one.get(scale)) for one in at])
        for scale in scales
    ]
    table = element("table", element("thead", head), element("tbody", rows), class_="numbers")
    scroll = element("div", table, class_="scroll", tabindex="0", role="region", aria_label="errors in numbers")
    return element("details", element("summary", "The numbers"), scroll, class_="more")


def _column(dtype: str, label: str) -> Html:
    return element("th", join(dtype, element("br"), label), scope="col")


def _table_cell(value: float | None) -> Html:
    if value is None:
        return element("td", "")
    shown = f"{value:.2e}" if math.isfinite(value) else "not finite"
    return element("td", element("data", shown, value=repr(value)))
