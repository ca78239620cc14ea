"""Move features from the last axis to the axes that a norm reduces, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from normlint.verify.assembly.construct import Size
from normlint.verify.job import Meaning


def divisors(d: int, parts: int) -> tuple[int, ...]:
    """Return `d` as a product of `parts` factors, as equal as possible."""
    if parts == 1:
        return (d,)
    wanted = round(d ** (1 / parts))
    first = max(n for n in range(1, max(wanted, 1) + 1) if d % n == 0)
    return (first, *divisors(d // first, parts - 1))


@dataclass(frozen=True, slots=True)
class Layout:
    """The reduced axes, and how the features are split over several of them: even, first or last."""

    axes: tuple[int, ...]
    split: str = "even"
    size_axis: int = 0  # the index in `axes` of the one whose length a constructor is given
    groups: int = 1  # groups of features that are normalised separately
    headed: bool = False  # an axis of one head stands before the features

    @property
    def added(self) -> int:
        """Return how many more axes the norm's input has than the features-last one."""
        return len(self.axes) - 1 + self.headed

    @property
    def plain(self) -> bool:
        """Return whether the features are on the last axis anyway."""
        return self.axes == (-1,) and self.groups == 1 and not self.headed

    @property
    def trailing(self) -> bool:
        """Return whether the reduced axes are the last ones."""
        return sorted(self.axes) == list(range(-len(self.axes), 0))

    def lying_on(self) -> tuple[Layout, Layout]:
        """Return the layouts with all features on the first or on the last of several axes."""
        return replace(self, split="first", size_axis=0), replace(self, split="last", size_axis=-1)

    def shape(self, d: int) -> tuple[int, ...]:
        """Return the lengths of the reduced axes for `d` features."""
        d, ones = d * self.groups, (1,) * (len(self.axes) - 1)
        if self.split == "even":
            return divisors(d, len(self.axes))
        return (d, *ones) if self.split == "first" else (*ones, d)

    def size(self, d: int, eps: float | None = None, neutral: float = 1.0) -> Size:
        """Return the sizes that a constructor is given for `d` features."""
        shape = self.shape(d)
        return Size(shape, shape[self.size_axis], eps, neutral)

    def into(self, x: Tensor) -> Tensor:
        """Return a features-last input in the norm's layout, contiguous if `x` is; further groups hold other values."""
        if self.plain:
            return x
        whole = x.is_contiguous()
        if self.groups > 1:
            x = torch.cat([x, *[x.detach().flip(-1) * 2] * (self.groups - 1)], -1)
        if self.headed:
            return x.unsqueeze(-2)
        if self.added:
            x = x.reshape(*x.shape[:-1], *self.shape(x.shape[-1] // self.groups))
        moved = x.movedim(tuple(range(-len(self.axes), 0)), self.axes)
        return moved.contiguous() if whole else moved

    def back(self, y: Tensor) -> Tensor:
        """Return a tensor in the norm's layout with its features last, those of the first group only."""
        if self.plain or self.headed:
            return y.squeeze(-2) if self.headed else y
        moved = y.movedim(self.axes, tuple(range(-len(self.axes), 0)))
        moved = moved.flatten(-len(self.axes)) if self.added else moved
        return moved[..., : moved.shape[-1] // self.groups]

    def restored(self, y: Tensor, inner: Tensor) -> Tensor:
        """Return the output for `inner` with features last, unchanged if it has another number of axes."""
        return self.back(y) if y.dim() == inner.dim() else y

    def wide(self, gain: Tensor, rank: int) -> Tensor:
        """Return a vector of features reshaped to broadcast against the norm's input of `rank` axes."""
        places = [1] * rank
        for axis, length in zip(self.axes, self.shape(gain.numel()), strict=True):
            places[axis] = length
        return gain.view(places)


def layouts(meaning: Meaning) -> tuple[Layout, ...]:
    """Return the layouts to try: axes share the features evenly, and a constructor gets the first or last length.

    An axis before the last may be counted from the end for the rank that a docstring gives, so it is also tried as 1.
    """
    axes = meaning.axes or (-1,)
    if len(axes) > 1:
        return (Layout(axes), Layout(axes, size_axis=-1))
    return (Layout(axes), Layout((1,))) if axes[0] < -1 else (Layout(axes),)
