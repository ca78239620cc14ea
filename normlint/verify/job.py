"""What the verifier is asked: a program to run, and what the norm in it is meant to compute. Plain data, no torch."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

ADDED: Final = "added"  # (ms + eps)^-1/2
OUTSIDE: Final = "added to the root"  # 1 / (root + eps)
FLOOR_OF_SQUARE: Final = "floor of the mean square"  # max(ms, eps)^-1/2
FLOOR_OF_ROOT: Final = "floor of the root"  # 1 / max(root, eps)
_REMARK: Final = re.compile(  # strings are gone over, but for those in ''': nothing in them is taken for one
    r'''^\ *(?:r?"""(?:[^"\\]|\\.|"(?!""))*"""|\#[^\n]*)?\n | \ *\#[^\n]*
    | ("""(?:[^"\\]|\\.|"(?!""))*""" | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')''',
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """All that the reference knows of the user's norm; none of it comes from running the user's code.

    `axes`: the reduced axes of the tensor that is passed in, None for the trailing ones that a normalized_shape names.
    `form`: how eps may soundly enter besides ADDED, which is always sound. `eps`: where the text fixes it; None: the
    constructor's or the caller's, or none at all. `gain`, `shift`: the attribute (of a class) or parameter (of a
    function) that holds it, "" for none. `offset`: the 1 of 1 + w. `lenient`: the statistic is a torch norm, std or
    normalize, whose limits in half precision are a matter of precision and not an error. `zero_gain`: the gain starts
    at zero on purpose. `rank`: the number of axes the input must have, None for any. `of_sum`: eps joins the sum of
    squares or its root, not the mean: a floor of 1e-12 in F.normalize(x) * d ** 0.5 is one of 1e-12 / d ** 0.5 for the
    root mean square. `filled_later`: other code than the constructor gives the gain its first values. `halves`: a half
    may come in; otherwise callers that aren't in the text may have cast the input. `axes_read`: the text says which
    axes are reduced; otherwise `axes` are the likeliest. `elsewhere`: the axes on paths that an argument chooses.
    `gain_elsewhere`: the text says that the features lie on the reduced axis, and has its gain lie along another.
    """

    kind: str  # rms, layer, l2
    axes: tuple[int, ...] | None = (-1,)
    form: str = ADDED
    eps: float | None = None
    gain: str = ""
    offset: float = 0.0
    shift: str = ""
    lenient: bool = False
    zero_gain: bool = False
    rank: int | None = None
    of_sum: bool = False
    filled_later: bool = False
    halves: bool = True
    axes_read: bool = True
    elsewhere: tuple[tuple[int, ...] | None, ...] = ()
    gain_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A norm to verify.

    `program` stands on its own but for files of its package: `path` is where its imports count from, "" where it needs
    none. `entry` is the dotted name of the class or function in it, `method` the method to call on an instance
    ("forward"), "" for a function. `input`: the parameter that takes the tensor to normalise, "" for the first;
    `axis`: the parameter that must be given the axis, since its default is all axes. `module`: the file to import
    and execute in place of the program, in whose names `entry` then is; "" for none: the program is interpreted.
    `more`: on some paths the definition does more than the norm.
    `folded`: which features are reduced together isn't known: they were reshaped, or the axes are computed.
    `claims`: a name or a gain says that a norm is meant; else it isn't called wrong. `needs`: why it can't be
    built, in words that follow "needs"; then there is no program.
    `sweep`: besides the verdict, measure what a report draws.
    """

    qualname: str
    meaning: Meaning
    program: str = ""
    entry: str = ""
    method: str = ""
    input: str = ""
    axis: str = ""
    path: str = ""
    module: str = ""
    more: bool = False
    folded: bool = False
    claims: bool = True
    needs: str = ""
    sweep: bool = False

    @property
    def swept(self) -> Job:
        """The same job with all that a report draws."""
        return replace(self, sweep=True)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of_dict(cls, data: dict[str, Any]) -> Job:
        """The inverse of `as_dict`."""
        meaning = dict(data["meaning"])
        meaning["axes"] = _axes(meaning["axes"])
        meaning["elsewhere"] = tuple(map(_axes, meaning["elsewhere"]))
        return cls(**{**data, "meaning": Meaning(**meaning)})

    @property
    def key(self) -> Job:
        """Equal for jobs that must get the same verdict, whatever the norm is called and remarked."""
        program = self.program if "'''" in self.program else _REMARK.sub(r"\1", self.program)
        return replace(self, qualname="", program=program)


def _axes(found: list[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)
