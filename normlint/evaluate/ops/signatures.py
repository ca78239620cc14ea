"""Read the signatures of torch's functions and methods from signatures.txt, and bind calls to them.

`scripts/torch_signatures.py` writes that file from torch and describes its format. torch itself is not imported.
"""

from __future__ import annotations

import os
import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeVar

from normlint.evaluate.binding import Args, Fit, fit
from normlint.text.frozen import dataclass, replace

V = TypeVar("V")
_FILE: Final = os.path.join(os.path.dirname(__file__), "signatures.txt")
SPACES: Final = {
    "torch.nn.functional": "F", "torch.linalg": "linalg", "torch.special": "special", "torch.Tensor": "Tensor",
    "torch": "torch", "torch._C._nn": "F", "torch._C._linalg": "linalg", "torch._C._special": "special",
    "torch._C._VariableFunctions": "torch", "torch.functional": "torch", "torch._VF": "torch",
}  # fmt: skip
_ATEN: Final = "torch.ops.aten."
# numpy's parameter names, which torch's own parser accepts for torch's.
NUMPY: Final = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "x1": "input", "x2": "other"}
_FIRST: Final = frozenset(("A", "a", "x", "self", "tensor", "base"))  # other names of the first tensor
# Signatures of other functions, in the same format.
_OTHERS: Final = """
numpy.sum(a,axis=None,dtype=None,out=None,keepdims=...,initial=...,where=...)
numpy.mean(a,axis=None,dtype=None,out=None,keepdims=...,*,where=...)
numpy.std(a,axis=None,dtype=None,out=None,ddof=0,keepdims=...,*,where=...,mean=...,correction=...)
numpy.average(a,axis=None,weights=None,returned=False,*,keepdims=...)
numpy.linalg.norm(x,ord=None,axis=None,keepdims=False)
einops.reduce(tensor,pattern,reduction,**axes_lengths)
einops.rearrange(tensor,pattern,**axes_lengths)
einops.repeat(tensor,pattern,**axes_lengths)
einops.einsum(*args)
math.pow(x,y)
builtins.pow(base,exp,mod=None)
builtins.abs(x)
builtins.sum(x,start=0)
unlisted(input,*rest,**others)
torch.nn.Parameter(data=None,requires_grad=True)
torch.nn.parameter.Parameter(data=None,requires_grad=True)
torch.nn.Buffer(data=None,*,persistent=True)
torch.nn.UninitializedParameter(requires_grad=True,device=None,dtype=None)
torch.Tensor(*data,device=None)
torch.FloatTensor(*data,device=None)
"""
_SAME: Final = {"numpy.nanmean": "numpy.mean", "numpy.nansum": "numpy.sum", "numpy.var": "numpy.std"}


# These may return their tensor or a view of it, although no schema says so: casts that `to` does, what torch composes
# of views, and einops' rearrange.
_SHARED_TOO: Final = frozenset(
    "float double half bfloat16 type type_as identity rearrange atleast_1d atleast_2d atleast_3d".split()
)


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a torch function. `types` holds the letters of the types it accepts; empty accepts any."""

    name: str
    star: str = ""
    keyword: bool = False
    default: str | None = None  # as torch writes it
    types: str = ""
    places: bool = False

    @property
    def value(self) -> object:
        """The default value; Ellipsis if there is none or it isn't a literal."""
        return ... if self.default is None else literal_eval(self.default)


@lru_cache(maxsize=1)
def _text() -> str:
    with open(_FILE, encoding="utf-8") as file:
        return file.read() + _OTHERS


def version() -> str:
    """Return the version of torch from which the table was made."""
    return _text().partition("\n")[0].rpartition(" ")[2]


def _line(key: str) -> str:
    """Return the rest of the line that begins with the key; empty if there is no such line."""
    text = _text()
    for end in "(=":
        at = text.find(f"\n{key}{end}")
        if at >= 0:
            start = at + 1 + len(key)
            return text[start : text.index("\n", start)]
    return ""


@lru_cache(maxsize=1024)
def overloads(key: str) -> tuple[tuple[Param, ...], ...]:
    """Return the parameters of each overload of a function; the receiver of a method is its first parameter."""
    line = _line(_SAME.get(key, key))
    line = _line(line[1:]) if line.startswith("=") else line
    receiver = (Param("input", types="T", places=True),) if key.startswith("Tensor.") else ()
    return tuple((*receiver, *_params(one)) for one in re.findall(r"\((.*?)\)(?=\(|$)", line))


def _params(text: str) -> Iterator[Param]:
    keyword = False
    for part in re.split(r",(?![^\[(]*[\])])", text) if text else ():
        head, _, default = part.partition("=")
        name, _, types = head.partition(":")
        star = name[: len(name) - len(name.lstrip("*"))]
        keyword = keyword or star == "*"
        if name != "*":
            yield Param(name.lstrip("*"), star, keyword and not star, default or None, types)


@lru_cache(maxsize=1024)
def key_of(dotted: str) -> str | None:
    """Return the table's key for a dotted path; None if the table doesn't hold it."""
    if dotted.startswith(_ATEN):
        return _aten(dotted.removeprefix(_ATEN).partition(".")[0])
    owner, _, name = dotted.rpartition(".")
    key = f"{SPACES[owner]}.{name}" if owner in SPACES else dotted
    return key if overloads(key) else dotted if overloads(dotted) else None


def _aten(name: str) -> str | None:
    """Return the key of an aten operation, or of the Python function of the same name; None if there is none."""
    keys = [f"aten.{name}", f"torch.{name}", f"Tensor.{name}", f"F.{name}"]
    for space in ("linalg", "special"):
        keys += [f"{space}.{name.removeprefix(space)[1:]}"] * name.startswith(f"{space}_")
    return next((key for key in keys if overloads(key)), None)


@lru_cache(maxsize=8)
def public(space: str) -> frozenset[str]:
    """Return all public names of a space: Tensor, torch, F, linalg, special, nn, or Module (those of an nn.Module)."""
    text = _text()
    functions = re.findall(rf"^{space}\.(\w+)", text, re.MULTILINE)
    at = text.index(f"\n*{space} ") + len(space) + 2
    return frozenset((*functions, *text[at : text.index("\n", at)].split()))


def may_share(name: str) -> bool:
    """Return whether the result of a function or method of torch may have the memory of its tensor."""
    unchanged = "dropout" in name  # outside of training
    return name in public("shared") or name in _SHARED_TOO or name.endswith("_") or unchanged


def bind(key: str, args: Args[V], letter: Callable[[V], str]) -> Fit[V]:
    """Bind a call to the first overload that accepts it, as torch does; the first tensor is `input`, `axis` is `dim`.

    `letter` returns the letters of the types that a value may have, or "" where they are unknown. If a value isn't
    known well enough to choose between two overloads, the parameters that it may fill are all `unknown`.
    """
    values = (*args.positional, *args.loose, *args.keywords.values())
    form = (len(args.positional), tuple(args.keywords), args.rest, args.more)
    found = _chosen(key, form, tuple(map(letter, values)))
    return Fit(
        {name: values[at] for name, at in found.values.items()}, tuple(values[at] for at in found.star),
        {name: values[at] for name, at in found.extra.items()}, found.unknown, found.unexpected, found.twice,
        found.missing, found.surplus,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _chosen(key: str, form: tuple[int, tuple[str, ...], bool, bool], letters: tuple[str, ...]) -> Fit[int]:
    """Bind a call whose values have these letters; the result holds the values' indices."""
    places, names, rest, more = form
    named = len(letters) - len(names)
    keywords = {name: named + at for at, name in enumerate(names)}
    args = Args(tuple(range(places)), keywords, rest, more, tuple(range(places, named)))
    found = [_scored(params, args, letters) for params in overloads(key)]
    best = min(score for score, _ in found)
    tied = [bound for score, bound in found if score == best]
    first = tied[0]
    unsure = {name for other in tied[1:] for name in _differing(first, other, letters)}
    if rest or more:
        unsure |= {name for bound in tied for name in bound.unknown if name not in first.values}
    return replace(first, unknown=first.unknown | unsure) if unsure else first


def _scored(params: tuple[Param, ...], args: Args[int], letters: tuple[str, ...]) -> tuple[int, Fit[int]]:
    """Return how badly a call fits an overload (0: it fits), and the call bound to it."""
    if args.keywords:
        args = _renamed(params, args)
    found = fit(params, args)
    score = 100 * (len(found.unexpected) + len(found.twice) + found.surplus) + 50 * len(found.missing)
    types = {p.name: p.types for p in params}
    score += sum(_mismatch(types[name], letters[value]) for name, value in found.values.items())
    star = next((p.types for p in params if p.star == "*"), "")
    score += sum(_mismatch(star, letters[value]) for value in found.star if value not in args.loose)
    score += 0 if found.star else len(args.loose)
    return score, _normalized(params, found)


def _mismatch(types: str, given: str) -> int:
    """Return 0 if a value fits the types, 1 if it may, 10 if it doesn't; N in `given` stands for any number."""
    if not types or not given or not set(types).isdisjoint(given) or ("f" in types and "i" in given):
        return 0
    return 1 if ("T" in given or "N" in given) and not set(types).isdisjoint("ifbI") else 10


def _differing(one: Fit[int], other: Fit[int], letters: tuple[str, ...]) -> Iterator[str]:
    """Yield the parameters to which two overloads bind the same value of unknown type."""
    mine = {value: name for name, value in one.values.items()}
    for name, value in other.values.items():
        if not letters[value] and mine.get(value, name) != name:
            yield from (mine[value], name)


def _renamed(params: tuple[Param, ...], args: Args[V]) -> Args[V]:
    """Return the arguments with numpy's keywords and aten's `self` renamed to the overload's parameters."""
    names = {p.name for p in params}
    aliases = NUMPY if any(p.types for p in params) else {}
    keywords = {key if key in names else aliases.get(key, key): value for key, value in args.keywords.items()}
    first = (keywords.pop("self"),) if "self" in keywords and "self" not in names else ()
    return Args((*first, *args.positional), keywords, args.rest, args.more, args.loose)


def _normalized(params: tuple[Param, ...], found: Fit[V]) -> Fit[V]:
    names = {p.name for p in params if p.name in NUMPY or p.name in _FIRST}
    if not names:
        return found
    called = {name: NUMPY.get(name, name) for name in names}
    called |= {name: "input" for name in names if name == params[0].name and name in _FIRST}
    values = {called.get(name, name): value for name, value in found.values.items()}
    return replace(found, values=values, unknown=frozenset(called.get(name, name) for name in found.unknown))
