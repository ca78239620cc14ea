"""The pictures of one norm with legend, captions and numbers: SVG that takes its colours and font from the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Final

from normlint.engine.report import ListedNorm
from normlint.faces.report import Html, element, join, text
from normlint.text.sweep import NORM, TORCH, Points, Sweep
from normlint.text.verdict import SKIPPED, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

# Stand-ins, each for one of the page's colours: matplotlib knows no variables.
INK, LINE, LIMIT, OWN, FIXED, REFERENCE = (f"#0{n}0b0c" for n in range(1, 7))
_VARIABLES: Final = {INK: "muted", LINE: "line", LIMIT: "wrong", OWN: "norm", FIXED: "fixed", REFERENCE: "ink"}
_RC: Final = {"svg.fonttype": "none", "svg.hashsalt": "normlint", "font.size": 9, "text.color": INK}
_LOWEST: Final = 1e-8
_HIGHEST: Final = 10.0
_MORE: Final = 1e8
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FAINTEST: Final = 1e-7  # of a change


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: whose it is, in words and as the name of its group in the SVG."""

    name: str
    label: str
    points: Points


_LOOKS: Final[dict[str, dict[str, Any]]] = {
    "norm": {"color": OWN, "linewidth": 2.4, "marker": "o", "markersize": 3.4},
    "fixed": {"color": FIXED, "linewidth": 2.0, "marker": "s", "markersize": 3.0},
    "torch": {"color": REFERENCE, "linewidth": 1.1, "linestyle": (0, (3, 2))},
}


def _drawn(draw: Callable[..., Html]) -> Callable[..., Html]:
    """Wrap a drawing function so that it uses the report's matplotlib settings, and none of the user's."""

    @wraps(draw)
    def styled(*given: Any) -> Html:
        import matplotlib as mpl

        with mpl.rc_context({**mpl.rcParamsDefault, **_RC}):
            return draw(*given)

    return styled


@_drawn
def of_error(lines: Sequence[Line], limit: float, description: str, key: str) -> Html:
    """Errors against the scale of the input, both in powers of ten; what isn't finite stands at the upper edge."""
    top = _top(lines)
    figure, axes = _graph(top)
    axes.axhspan(limit, top, facecolor=LIMIT, alpha=0.07, linewidth=0)
    (drawn,) = axes.plot((5e-5, 2e4), (limit, limit), color=LIMIT, linewidth=1)
    drawn.set_gid("limit")
    for line in lines:
        _draw(axes, line, top)
    svg = _svg(figure, description, key)
    for artist in (*axes.lines, *axes.patches):
        artist.remove()
    return svg


@lru_cache(maxsize=8)
def _graph(top: float) -> tuple[Figure, Axes]:
    """What all pictures of errors share, up to this value: to make it takes as long as to draw the rest."""
    figure, axes = _empty((3.5, 2.5), (0.17, 0.165, 0.81, 0.815))
    _frame(axes, (5e-5, 2e4), (_LOWEST, top))
    axes.set_xlabel("scale of the input")
    axes.set_ylabel("largest error, as a share")
    return figure, axes


@_drawn
def of_change(change: Sequence[Sequence[float]], description: str, key: str) -> Html:
    """A square for each row of the input that is changed and each row of the output: the fuller, the more it moves."""
    figure, axes = _grid(len(change))
    looks: dict[tuple[str, float], list[tuple[int, int]]] = {}
    for i, row in enumerate(change):
        for j, value in enumerate(row):
            if value:
                looks.setdefault((FIXED if i == j else LIMIT, _weight(value)), []).append((i, j))
    filled = [
        _squares(axes, alike, facecolor=colour, alpha=weight, linewidth=0) for (colour, weight), alike in looks.items()
    ]
    svg = _svg(figure, description, key)
    for one in filled:
        one.remove()
    return svg


@lru_cache(maxsize=8)
def _grid(count: int) -> tuple[Figure, Axes]:
    """The figure with empty squares that all pictures of changes share."""
    figure, axes = _empty((2.3, 2.3), (0.17, 0.17, 0.81, 0.81))
    _squares(axes, [(i, j) for i in range(count) for j in range(count)], fill=False, edgecolor=LINE, linewidth=0.6)
    axes.set(xlim=(0.4, count + 0.6), ylim=(count + 0.6, 0.4), aspect="equal")
    _plain(axes)
    ticks = sorted({1, count})
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.set_xlabel("output row")
    axes.set_ylabel("changed input row")
    return figure, axes


def _squares(axes: Axes, cells: Sequence[tuple[int, int]], **look: Any) -> Patch:
    """Draw squares in these cells as one path: a path for each would cost time and space."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = ((0.54, 0.54), (1.46, 0.54), (1.46, 1.46), (0.54, 1.46), (0.54, 0.54))
    squares = [Path([(j + x, i + y) for x, y in corners], closed=True) for i, j in cells]
    return axes.add_patch(PathPatch(Path.make_compound_path(*squares), **look))


def _weight(value: float) -> float:
    """The opacity of a square: 0.15 for the least change, 1 for a change as large as the row."""
    share = 1 - math.log10(min(max(value, _FAINTEST), 1.0)) / math.log10(_FAINTEST)
    return round(0.15 + 0.85 * share, 1)


def _empty(size: tuple[float, float], place: tuple[float, float, float, float]) -> tuple[Figure, Axes]:
    """A figure of this size with axes at this place: matplotlib's own layout takes longer than drawing."""
    from matplotlib.figure import Figure

    figure = Figure(size)
    figure.patch.set_visible(False)
    axes = figure.add_axes(place)
    axes.patch.set_visible(False)
    return figure, axes


def _top(lines: Sequence[Line]) -> float:
    highest = max((value for line in lines for _, value in line.points if math.isfinite(value)), default=0.0)
    return _HIGHEST if highest < _HIGHEST / 2 else min(10.0 ** math.ceil(math.log10(highest) + 0.5), _MORE)


def _frame(axes: Axes, across: tuple[float, float], up: tuple[float, float]) -> None:
    axes.set(xscale="log", yscale="log", xlim=across, ylim=up)
    for axis, ticks in ((axes.xaxis, range(-4, 5, 2)), (axes.yaxis, range(-8, round(math.log10(up[1])) + 1, 2))):
        axis.set_ticks([10.0**e for e in ticks], [_power(e) for e in ticks])
        axis.set_tick_params(which="minor", size=0)
        axis.set_minor_locator(_none())
    axes.grid(visible=True, color=LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    _plain(axes)


def _none() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _power(exponent: int) -> str:
    return f"10{str(exponent).translate(_SUPERSCRIPT)}" if exponent else "1"


def _plain(axes: Axes) -> None:
    """Remove the box around the axes, and make the ticks grey."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=INK, length=0)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)


def _draw(axes: Axes, line: Line, top: float) -> None:
    shown = [(x, min(max(y, _LOWEST), top)) for x, y in line.points]
    (drawn,) = axes.plot(*zip(*shown, strict=True), **_LOOKS[line.name])
    drawn.set_gid(line.name)
    lost = [(x, top) for x, y in line.points if not math.isfinite(y)]
    if lost:
        look = {**_LOOKS[line.name], "linestyle": "none", "marker": "X", "markersize": 7, "clip_on": False}
        (crosses,) = axes.plot(*zip(*lost, strict=True), **look)
        crosses.set_gid(f"{line.name}-lost")


_HEAD: Final = re.compile(r".*?<svg ", re.DOTALL)
_METADATA: Final = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_ID: Final = re.compile(r'(?<= id=")|(?<=url\(#)|(?<=href="#)')
_OWN: Final = re.compile(r' id="(?:figure|axes|patch|matplotlib|[xy]tick|line2d|text)[^"]*"')
_EMPTY: Final = re.compile(r"<g(?: id=\"[^\"]*\")?/>|(?<=\n)\s+")
_SIZE: Final = re.compile(r' (?:width|height)="[\d.]+pt"')
_FONT: Final = re.compile(r"font(?:-size)?: ([\d.]+)px(?: |; font-family: )[^;\"]*")


def _svg(figure: Figure, description: str, key: str) -> Html:
    """The figure as SVG for the page: in the page's colours and width, with ids that begin with `key`."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = _HEAD.sub("<svg ", out.getvalue(), count=1)
    for gone in (_METADATA, _OWN, _EMPTY):
        svg = gone.sub("", svg)
    svg = _SIZE.sub("", svg, count=2)
    svg = _FONT.sub(r"font: \1px var(--font)", _ID.sub(f"{key}-", svg))
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, f"var(--{variable})")
    return Html(svg.replace("<svg ", f'<svg role="img" aria-label="{text(description)}" ', 1))


DTYPES: Final = ("fp32", "fp16", "bf16")
_WHOSE: Final = {"norm": "as it is", "fixed": "repaired", "torch": "torch's own"}


def worst(norm: ListedNorm, key: str) -> Html | None:
    """The picture of errors that passes its limit the most; None where nothing was measured."""
    sweep, fixed = _sweeps(norm)
    dtype = _worst_dtype(sweep)
    if not sweep or not dtype:
        return None
    heading = element("p", "Error against the scale of the input", class_="dim")
    return element("div", heading, _error(sweep, fixed, dtype, f"{key}-{dtype}"), _legend(sweep, fixed), class_="curve")


def figures(norm: ListedNorm, key: str) -> Html | None:
    """The other pictures of a norm that was run, and all the numbers; None where nothing was measured."""
    sweep, fixed = _sweeps(norm)
    if not sweep:
        return None
    others = [dtype for dtype in DTYPES if dtype != _worst_dtype(sweep)]
    errors = [one for dtype in others if (one := _error(sweep, fixed, dtype, f"{key}-{dtype}"))]
    changes = _changes(sweep, fixed, key)
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
    """The measurements of the norm as it is, and after its fixes; None where there are none."""
    fixed = norm.fixed_verdict
    return norm.verdict.sweep if norm.verdict else None, fixed.sweep if fixed and fixed.status != SKIPPED else None


def _worst_dtype(sweep: Sweep | None) -> str | None:
    """The dtype in which the largest error is the largest share of its limit."""
    curves = [curve for dtype in DTYPES if sweep and (curve := sweep.curve(NORM, dtype)) and curve.points]
    return max(curves, key=lambda one: max(y for _, y in one.points) / one.limit).dtype if curves else None


def _lines(sweep: Sweep, fixed: Sweep | None, dtype: str) -> Iterator[Line]:
    for name, source, of in (("norm", sweep, NORM), ("fixed", fixed, NORM), ("torch", sweep, TORCH)):
        curve = source.curve(of, dtype) if source else None
        if curve:
            yield Line(name, _WHOSE[name], curve.points)


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
    shown = [_key(name, _WHOSE[name]) for name in names]
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


def _changes(sweep: Sweep, fixed: Sweep | None, key: str) -> list[Html]:
    shown = (("norm", sweep), ("fixed", fixed))
    return [_change(name, one, f"{key}-{name}-rows") for name, one in shown if one and one.change]


def _change(name: str, sweep: Sweep, key: str) -> Html:
    description = f"{_WHOSE[name]}: {_reach(sweep.change)}"
    caption = element("figcaption", element("strong", _WHOSE[name]), f" {_reach(sweep.change)}")
    return element("figure", caption, of_change(sweep.change, description, key))


def _reach(change: tuple[tuple[float, ...], ...]) -> str:
    """In the verdict's words how many others the first row moves that moves any, and by how much."""
    for i, row in enumerate(change):
        others = [*row[:i], *row[i + 1 :]]
        if moved := [value for value in others if value]:
            return (
                f"changing row {i + 1} changes {len(moved)} of the {len(others)} others, by up to {percent(max(moved))}"
            )
    return "changing a row changes no other"


def _numbers(sweep: Sweep, fixed: Sweep | None) -> Html:
    """The same as a table, for those who don't see it or want the figures."""
    columns = [(dtype, line) for dtype in DTYPES for line in _lines(sweep, fixed, dtype)]
    scales = sorted({scale for _, line in columns for scale, _ in line.points})
    head = element("tr", element("th", "scale", scope="col"), [_column(dtype, line.label) for dtype, line in columns])
    at = [dict(line.points) for _, line in columns]
    rows = [
        element("tr", element("th", f"{scale:.2e}", scope="row"), [_cell(one.get(scale)) for one in at])
        for scale in scales
    ]
    table = element("table", element("thead", head), element("tbody", rows), class_="numbers")
    scroll = element("div", table, class_="scroll", tabindex="0", role="region", aria_label="errors in numbers")
    return element("details", element("summary", "The numbers"), scroll, class_="more")


def _column(dtype: str, label: str) -> Html:
    return element("th", join(dtype, element("br"), label), scope="col")


def _cell(value: float | None) -> Html:
    if value is None:
        return element("td", "")
    shown = f"{value:.2e}" if math.isfinite(value) else "not finite"
    return element("td", element("data", shown, value=repr(value)))
