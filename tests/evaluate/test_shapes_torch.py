"""The shapes that are read, against those that torch shows: random operations on tensors of random ranks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from normlint.evaluate.calls import call
from normlint.evaluate.context import Context
from normlint.evaluate.entry import symbolic
from normlint.evaluate.machine import Frame, Machine
from normlint.evaluate.module import Module
from normlint.evaluate.monomial import Mono
from normlint.evaluate.objects import FunctionRef
from normlint.evaluate.value import Defined, Product, Tup
from normlint.text.finding import Span

torch = pytest.importorskip("torch")
einops = pytest.importorskip("einops")

HEAD = "import einops\nimport torch\nimport torch.nn.functional as F\n\n\n"
PRIMES = (2, 3, 5, 7, 11, 13)
Shape = tuple[int, ...]
Maker = Callable[[random.Random, Shape], "str | None"]


def axis(rng: random.Random, rank: int) -> int:
    at = rng.randrange(rank)
    return at - rank if rng.random() < 0.5 else at


def reduction(rng: random.Random, shape: Shape) -> str | None:
    if not shape:
        return None
    name = rng.choice(["mean", "sum", "amax", "prod", "norm"])
    dims = sorted({axis(rng, len(shape)) % len(shape) for _ in range(1 if name == "prod" else rng.choice([1, 1, 2]))})
    shown = dims[0] if len(dims) == 1 else tuple(dims)
    if rng.random() < 0.5:
        shown = shown - len(shape) if isinstance(shown, int) else tuple(d - len(shape) for d in shown)
    keep = rng.choice(["", ", keepdim=True", ", keepdim=False"])
    return f"h.{name}(dim={shown}{keep})"


def view(rng: random.Random, shape: Shape) -> str | None:
    sizes = list(shape)
    if len(sizes) > 1 and rng.random() < 0.5:
        at = rng.randrange(len(sizes) - 1)
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    if rng.random() < 0.5:
        sizes.insert(rng.randrange(len(sizes) + 1), 1)
    words = [str(n) for n in sizes]
    if words and rng.random() < 0.5:
        words[rng.randrange(len(words))] = "-1"
    return f"h.reshape({', '.join(words)})" if words else None


def permutation(rng: random.Random, shape: Shape) -> str:
    order = rng.sample(range(len(shape)), len(shape))
    return f"h.permute({', '.join(str(i) for i in order)})" if order else "h.clone()"


def patterned(rng: random.Random, shape: Shape) -> str | None:
    letters = "abcdef"[: len(shape)]
    if len(shape) < 2:
        return None
    left = " ".join(letters)
    if rng.random() < 0.5:
        return f'einops.rearrange(h, "{left} -> {" ".join(rng.sample(letters, len(letters)))}")'
    if rng.random() < 0.5:
        return f'einops.rearrange(h, "{left} -> ({letters[0]} {letters[1]}) {" ".join(letters[2:])}")'
    if rng.random() < 0.5:
        return f'einops.rearrange(h, "... {letters[-1]} -> ... 1 {letters[-1]}")'
    return f'einops.reduce(h, "{left} -> {" ".join(letters[:-1])}{rng.choice([" 1", ""])}", "mean")'


def index(rng: random.Random, shape: Shape) -> str:
    items = [rng.choice([":", ":", "0", ":1", "None", "..."]) for _ in range(rng.randint(1, 4))]
    while sum(i not in ("None", "...") for i in items) > len(shape) or items.count("...") > 1:
        items.pop()
    return f"h[{', '.join(items)}]" if items else "h[...]"


def flattened(rng: random.Random, shape: Shape) -> str | None:
    if not shape:
        return None
    start, end = sorted((rng.randrange(len(shape)), rng.randrange(len(shape))))
    if rng.random() < 0.4:
        return f"h.flatten({start})"
    return (
        f"h.flatten({start}, {end})" if rng.random() < 0.5 else f"h.flatten({start - len(shape)}, {end - len(shape)})"
    )


def product(rng: random.Random, shape: Shape) -> str | None:
    if len(shape) < 2:
        return None
    inner = shape[-1]
    return rng.choice(
        [
            f"h @ torch.ones({inner}, 4)",
            f"torch.matmul(h, torch.ones({inner}, 6))",
            f"F.linear(h, torch.ones(9, {inner}))",
            "h @ h.transpose(-1, -2)",
            "h @ h.mT",
            'torch.einsum("...d,...d->...", h, h)',
            f'torch.einsum("...d,dk->...k", h, torch.ones({inner}, 4))',
        ]
    )


def plain(rng: random.Random, shape: Shape) -> str | None:
    rank = len(shape)
    if not rank:
        return rng.choice(["h * 2", "h.unsqueeze(0)", "x + h", "h.float()"])
    at, other = axis(rng, rank), axis(rng, rank)
    return rng.choice(
        [
            "h.float().square()", "torch.rsqrt(h.abs() + 1)", f"F.normalize(h, dim={at})", f"h.softmax({at})",
            f"h.transpose({at}, {other})", f"h.unsqueeze({axis(rng, rank + 1)})", f"h.movedim({at}, {other})",
            f"h - h.mean({at}, keepdim=True)", f"h * torch.ones({shape[-1]})", f"torch.cat([h, h], dim={at})",
            f"torch.stack([h, h], dim={at})", f"h.unbind({at})[0]", f"h.select({at}, 0)", "torch.where(h > 0, h, 0.0)",
            "h.expand_as(h)", f"h.expand(17, {', '.join(['-1'] * rank)})", f"h.sum({at}).unsqueeze({at})",
            f"h.narrow({at}, 0, 1)", f"h.unflatten(-1, (1, {shape[-1]}))", f"h.split(1, {at})[0]", "h.view_as(h)",
            "x.float()", "torch.lerp(h, h, 0.5)", "F.glu(torch.cat([h, h], -1))", "h.diff(dim=-1)", "h.erf()",
            "torch.atan2(h, x)",
            f"h.squeeze({at})", "torch.ones_like(h) * h", f"h.chunk(2, {at})[0]",
            f"h * h.norm(dim={at}, keepdim=True)", f"h.view(*h.shape[:-1], 1, {shape[-1]})", "h.view(h.shape)",
            f"h * torch.ones({', '.join(map(str, shape))})", "h.clamp(min=0.0)",
        ]
    )  # fmt: skip


MAKERS: tuple[Maker, ...] = (
    reduction, reduction, view, permutation, patterned, index, flattened, product, plain, plain, plain, plain,
)  # fmt: skip
FOLLOWED: tuple[Maker, ...] = (reduction, view, permutation, index, flattened)


def program(rng: random.Random, makers: tuple[Maker, ...] = MAKERS) -> tuple[str, list[Shape]]:
    """A function with one tensor for each step, and the shapes that torch gives them."""
    rank = rng.randint(1, 4)
    sizes = tuple(rng.sample(PRIMES, rank))
    x = torch.rand(sizes)
    names = ", ".join(f"n{i}" for i in range(rank))
    told = rng.choice(["", f"    {names}{',' * (rank == 1)} = x.shape\n", "    *_, last = x.shape\n"])
    steps, values = ["x"], [x]
    for _ in range(rng.randint(1, 6)):
        h = values[-1]
        text = rng.choice(makers)(rng, tuple(h.shape))
        if text is None or h.numel() > 20_000:
            continue
        try:
            value = eval(text, {"torch": torch, "einops": einops, "F": torch.nn.functional, "h": h, "x": x})
        except (RuntimeError, IndexError, ValueError):
            continue
        steps.append(text)
        values.append(value)
    late = told and rng.random() < 0.3
    lines = [f"    h = h{i} = {step}\n" for i, step in enumerate(steps)]
    body = "".join((*lines, told) if late else (told, *lines))
    returned = ", ".join(f"h{i}" for i in range(len(steps)))
    return f"{HEAD}def f(x):\n{body}    return ({returned},)\n", [tuple(v.shape) for v in values]


def evaluated(text: str) -> tuple[Context, Tup]:
    """What the function gives back, as it is read."""
    machine = Machine(Module(text), Context({}), [Frame(None, "f", Span(0, 0))])
    found = machine.lookup(machine.globals, "f")
    assert isinstance(found, Defined)
    assert isinstance(found.ref, FunctionRef)
    value = call(machine, found, symbolic(machine, found.ref, bound=False), Span(0, 0))
    assert isinstance(value, Tup)
    return machine.ctx, value


def claims(ctx: Context, value: Product, shape: Shape) -> Iterator[tuple[Mono, int]]:
    """Every length that is claimed, beside what torch shows; wrong ranks fail at once."""
    dims = ctx.dims(value)
    rank = ctx.shapes.rank(dims)
    assert rank in (None, len(shape))
    assert ctx.shapes.least(dims) <= len(shape)
    for i in range(-len(shape), len(shape)):
        if rank is not None or (i if i < 0 else i + 1) in range(-ctx.shapes.least(dims), ctx.shapes.least(dims) + 1):
            length = ctx.shapes.axis(dims, i)
            if length is not None:
                yield ctx.shapes.find(length), shape[i]


@pytest.mark.parametrize("seed", range(16))
def test_what_is_claimed_of_a_shape_is_what_torch_shows(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(15):
        text, shapes = program(rng)
        ctx, value = evaluated(text)
        seen: dict[Mono, int] = {}
        for item, shape in zip(value.items, shapes, strict=True):
            assert isinstance(item, Product)
            for length, size in claims(ctx, item, shape):
                assert length.factors or length.coef == size, (text, shapes)
                assert seen.setdefault(length, size) == size, (text, shapes, length)


def test_the_rank_is_mostly_known_where_that_of_the_input_is() -> None:
    rng, known, total = random.Random(1), 0, 0
    while total < 600:
        text, _ = program(rng, FOLLOWED)
        if "n0" not in text:
            continue
        ctx, value = evaluated(text)
        for item in value.items:
            assert isinstance(item, Product)
            total += 1
            known += ctx.rank(item) is not None
    assert known / total > 0.8
