"""The norm itself, from the upcast to the product with the root: the lines of whichever function holds it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.grid.endings import APPLIES, CASTS, GAINS, JOINS, ROOTS
from tests.grid.recipe import Recipe, in_place
from tests.grid.spellings import AXES, CENTRES, COUNTS, KEEPS, REDUCTIONS, SQUARES, SUBTRACTS
from tests.grid.writer import Body, fill

HALVES = "(torch.float16, torch.bfloat16)"


@dataclass(frozen=True, slots=True)
class Place:
    """What the code that takes the statistic calls its input, eps and gain."""

    x: str
    eps: str
    weight: str


def upcast(body: Body, r: Recipe, x: str) -> tuple[str, str]:
    """Cast the input; the value that is scaled, and the value the statistic is taken of."""
    cast = fill(CASTS[r.cast], x=x)
    if r.cast_at == "x cast in place":
        body.lines.append(f"{x} = {cast}")
    elif r.cast_at == "x cast if half":
        body.lines += [f"if {x}.dtype in {HALVES}:", f"    {x} = {cast}"]
    elif r.cast_at == "a fresh name":
        body.lines.append(f"{body.names.h} = {cast}")
        return body.names.h, body.names.h
    elif r.cast_at == "in the statistic only":
        if r.square == "x * x" and r.squares:
            return x, body.step("upcast", body.names.h, cast, bound=True)
        return x, body.small("upcast", body.names.h, cast)
    return x, x


def centre(body: Body, r: Recipe, h: str) -> tuple[str, str]:
    """Take the mean away: the mean, and what is left."""
    names = body.names
    if r.family == "var_mean":
        body.lines.append(f"{names.ms}, {names.mu} = {reduced(r, h, h, '')}")
        body.marks["statistic"] = reduced(r, h, h, "")
        mu = names.mu
    else:
        mu = body.step("mean", names.mu, fill(CENTRES[r.centre], x=h, axis=AXES[r.axis]))
    template = SUBTRACTS[r.subtract]
    left = fill(template, x=h, mu=mu)
    if in_place(template):
        return mu, body.change("centre", names.c, left)
    rebound = r.flow == "rebinding" and r.sides == "centred on both sides" and r.variance == "two passes"
    return mu, body.step("centre", h if rebound else names.c, left, bound=r.squares)


def reduced(r: Recipe, v: str, x: str, eps: str) -> str:
    """The reduction alone."""
    reduction = REDUCTIONS[r.reduction]
    keep = reduction.keep
    if r.keep == "keepdim=False":
        keep = keep.replace("True", "False")
    elif r.keep != "kept":
        keep = ""
    if r.cast_at == "cast by the mean's dtype":
        keep += ", dtype=torch.float32"
    return fill(reduction.text, v=v, x=x, axis=AXES[r.axis], keep=keep, eps=eps)


def statistic(body: Body, r: Recipe, s: str, place: Place) -> str:
    """The mean square, the variance, or a root of it: reduced, kept and counted."""
    v = s
    if r.squares:
        v = body.small("square", body.names.squares, fill(SQUARES[r.square], x=s))
    if r.cast_at == "cast after the square":
        v = body.small("upcast", body.names.squares, fill(CASTS[r.cast], x=v))
    text = reduced(r, v, s, place.eps)
    body.marks["reduction"] = text
    text = fill(KEEPS[r.keep], m=text, x=place.x)
    text = fill(COUNTS[r.count].text, s=text, x=place.x)
    if r.cast_at == "cast after the mean":
        text = fill(CASTS[r.cast], x=text)
    return text


def settled(body: Body, r: Recipe, text: str) -> str:
    """Give the statistic a name, with or without its gradient, in its own dtype or a narrower one."""
    name = body.names.ms
    narrower = {
        "statistic.half()": "{m}.half()",
        "statistic.to(torch.float16)": "{m}.to(torch.float16)",
        "statistic.to(torch.bfloat16)": "{m}.to(torch.bfloat16)",
    }
    text = fill(narrower.get(r.narrow, "{m_}"), m=text)
    text = fill({"detach()": "{m}.detach()", ".data": "{m}.data"}.get(r.grad, "{m_}"), m=text)
    if r.grad == "no_grad":
        body.marks["statistic"] = text
        body.lines += ["with torch.no_grad():", f"    {name} = {text}"]
        return name
    return body.step("statistic", name, text)


def scale(body: Body, r: Recipe, s: str, place: Place, found: str = "") -> str:
    """From the values to what the input is multiplied or divided by."""
    join, root = JOINS[r.join], ROOTS[r.root]
    if r.grad == "input detached":
        s = f"{s}.detach()"
    m = found or settled(body, r, statistic(body, r, s, place))
    if join.outside:
        m = body.small("rooted", body.names.ms, fill(root.text, m=m, eps=place.eps))
        text = fill(join.text, m=m, eps=place.eps)
    else:
        m = body.small("eps", body.names.ms, fill(join.text, m=m, eps=place.eps))
        text = fill(root.text, m=m, eps=place.eps)
    body.marks["scale"] = text
    if r.grad == "root detached":
        text = fill("{r}.detach()", r=text)
    if r.narrow == "scale in the input's dtype":
        text = fill("{r}.to({x}.dtype)", r=text, x=place.x)
        body.marks["scale"] = text
    return text


def applied(body: Body, r: Recipe, h: str, root: str, place: Place) -> str:
    """The product."""
    template = APPLIES[r.apply][1]
    if in_place(template):
        return body.change("product", body.names.y, fill(template, x=h, r=root))
    if GAINS[r.gain].form == "first":
        h = fill("{w} * {x__}", w=place.weight, x=h)
    name = place.x if r.flow == "rebinding" else body.names.y
    return body.step("product", name, fill(template, x=h, r=root))


def _normalised(body: Body, r: Recipe, h: str, place: Place) -> str:
    """The product where F.normalize does most of it."""
    text = body.small("reduction", body.names.ms, reduced(r, h, h, place.eps))
    name = place.x if r.flow == "rebinding" else body.names.y
    return body.step("product", name, fill(COUNTS[r.count].text, s=text, x=place.x))


def write_core(body: Body, r: Recipe, place: Place) -> str:
    """All of it; what the result is called."""
    h, s = upcast(body, r, place.x)
    if r.family == "normalize":
        return _normalised(body, r, h, place)
    found, mu = "", ""
    if r.kind == "layer":
        mu, c = centre(body, r, h)
        found = body.names.ms if r.family == "var_mean" else ""
        s = c if r.squares or r.flow == "rebinding" else h
        if r.sides == "the product only" or r.variance != "two passes":
            s = h
        h = h if r.sides == "the statistic only" else c
    if found and (r.grad != "gradients kept" or r.narrow != "never narrowed"):
        found = settled(body, r, found)
    root = _one_pass(body, r, s, mu, place) if r.variance != "two passes" else scale(body, r, s, place, found)
    root = body.step("root", body.names.root, root)
    return applied(body, r, h, root, place)


def _one_pass(body: Body, r: Recipe, s: str, mu: str, place: Place) -> str:
    """The root of E[x²] - E[x]²."""
    text = fill(
        {"one pass": "{m_} - {mu}.pow(2)", "one pass, mean * mean": "{m_} - {mu} * {mu}"}[r.variance],
        m=statistic(body, r, s, place),
        mu=mu,
    )
    return scale(body, r, s, place, body.step("statistic", body.names.ms, text))
