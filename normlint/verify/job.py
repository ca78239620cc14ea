"""Define a verification job: a program to run, and what the norm in it is meant to compute. No torch is imported."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

ADDED: Final = "added"  # (ms + eps)^-1/2
OUTSIDE: Final = "added to the root"  # 1 / (root + eps)
FLOOR_OF_SQUARE: Final = "floor of the mean square"  # max(ms, eps)^-1/2
FLOOR_OF_ROOT: Final = "floor of the root"  # 1 / max(root, eps)
_COMMENT: Final = re.compile(  # matches docstrings, blank lines and comments; captures other strings, to keep them
    r'''^\ *(?:r?"""(?:[^"\\]|\\.|"(?!""))*"""|\#[^\n]*)?\n | \ *\#[^\n]*
    | ("""(?:[^"\\]|\\.|"(?!""))*""" | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')''',
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the user's norm is meant to compute, as read from its text and never from running it.

    `axes`: the reduced axes of the tensor that is passed in, None for the trailing ones that a normalized_shape names.
    `form`: how eps may correctly enter besides ADDED, which is always correct. `eps`: its value where the text fixes
    it; None if the constructor or the caller sets it, or there is none. `gain`, `shift`: the attribute (of a class) or
    parameter (of a function) that holds it, "" for none. `offset`: the 1 of 1 + w. `lenient`: the statistic is a torch
    norm, std or normalize, whose range in half precision is a matter of precision and not an error. `zero_gain`: the
    gain starts at zero on purpose. `rank`: the number of axes the input must have, None for any. `of_sum`: eps joins
    the sum of squares or its root, not the mean: a floor of 1e-12 in F.normalize(x) * d ** 0.5 is a floor of
    1e-12 / d ** 0.5 for the root mean square. `filled_later`: code outside the constructor gives the gain its first
    values. `halves`: the input may be fp16 or bf16; otherwise callers that aren't in the text may have cast it.
    `axes_read`: the text says which axes are reduced; otherwise `axes` are the likeliest. `elsewhere`: the axes on
    paths that an argument chooses. `gain_elsewhere`: the features lie on the reduced axis, but the gain along another.
    `eps_computed`: what acts as eps is computed from the given one. `reported`: a rule reports a mistake
    that every output shows, so that an output that is off needs no further evidence. `applied`: the norm reads its
    gain; otherwise an instance without one shows nothing. `held`: the parameters that a holder of the norm reads.
    `partial`: only the factor for the input is returned.
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
    eps_computed: bool = False
    reported: bool = False
    applied: bool = True
    held: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A norm to verify.

    `program`: its text, complete but for files of its package. `path`: the file that its imports are resolved from, ""
    if it needs none. `entry`: the dotted name of the class or function in it. `method`: the method to call on an
    instance ("forward"), "" for a function. `input`: the parameter that takes the tensor to normalise, "" for the
    first. `axis`: the parameter to which the axis must be passed, since its default is all axes. `module`: the file to
    import and execute in place of the program, which then defines `entry`; "" to interpret the program. `more`: on
    some paths the definition does more than the norm. `folded`: which features are reduced together isn't known, since
    they were reshaped or the axes are computed. `settings`: flags and modes that every path to the norm has, by the
    name of the attribute or argument. `claims`: a name or a gain says that a norm is meant; otherwise it is
    never called wrong. `needs`: why the norm can't be built, in words that follow "needs"; there is no program then.
    `sweep`: also measure the curves that a report draws.
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
    settings: tuple[tuple[str, str | bool], ...] = ()
    claims: bool = True
    needs: str = ""
    sweep: bool = False

    @classmethod
    def of_dict(cls, data: dict[str, Any]) -> Job:
        """Return the job that `asdict` made a dict of, also after a round trip through JSON."""
        meaning = dict(data["meaning"])
        meaning["axes"] = _axes(meaning["axes"])
        meaning["elsewhere"] = tuple(map(_axes, meaning["elsewhere"]))
        settings = tuple((name, value) for name, value in data["settings"])
        return cls(**{**data, "meaning": Meaning(**meaning), "settings": settings})

    @property
    def key(self) -> Job:
        """Return a key that is equal for jobs that differ only in qualname, comments and docstrings."""
        program = self.program if "'''" in self.program else _COMMENT.sub(r"\1", self.program)
        return replace(self, qualname="", program=program)


def _axes(found: list[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)
