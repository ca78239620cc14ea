"""Recognize misspelled names of torch, evaluate what is meant, and record a note; also of arguments that don't fit.

Since torch changes, a name is a misspelling only if a torch function has nearly the same name, and only if its owner
can't be anything but torch or a tensor.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Apply
from normlint.evaluate.ops import OPS, signatures
from normlint.evaluate.value import Method, Path, Product, Value
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate import syntax as s
    from normlint.evaluate.binding import Fit
    from normlint.evaluate.machine import Machine
    from normlint.evaluate.objects import FunctionRef
    from normlint.evaluate.ops.table import Arguments, Bound, Given

NOTE: Final = "unknown name"
_NEAR_CALL: Final = 600  # characters from a function's name to its last argument
_NEAR: Final = 0.8  # cutoff of difflib: accepts vart for var, but not sum for std
# Other libraries whose arrays have methods of the same names.
_OTHER_LIBRARIES: Final = frozenset(
    "cupy dask flax jax keras mindspore mlx numpy oneflow paddle tensorflow tinygrad xarray pandas polars".split()
)


def meant(m: Machine, func: Value, node: s.Call) -> Value:
    """Return the function that is called if torch has none of this name; any other function unchanged."""
    span = node.func.span
    if isinstance(func, Path):
        return _function(m, func, span)
    if isinstance(func, Method) and func.receiver.tensor and not _may_be_no_tensor(func, node):
        name = _nearest(func.name, "Tensor")
        if name and _is_torch(m):
            m.ctx.note(NOTE, Span(span.end - len(func.name), span.end), f"a tensor has no `{func.name}`{_hint(name)}")
            return Method(func.receiver, name)
    return func


_BUILTINS: Final = (dict, list, str, set, bytes, float)


def _may_be_no_tensor(func: Method, node: s.Call) -> bool:
    """Return whether a method may not be a tensor's: a built-in type has it, or the receiver's type is unknown.

    A tensor's methods take few keywords, so `model(**inputs)` is a module's.
    """
    made = any(isinstance(f.atom, Apply) for f in func.receiver.mono.factors) or any(a.star == "**" for a in node.args)
    return made or any(hasattr(cls, func.name) for cls in _BUILTINS)


def _function(m: Machine, func: Path, span: Span) -> Path:
    owner, _, name = func.dotted.rpartition(".")
    space = signatures.SPACES.get(owner, "") if owner.count(".") < 3 else ""
    if not space or m.module.source(span).rpartition(".")[2] != name:
        return func
    if _is_quoted(m.module.text, name):  # hasattr(torch, "vecdot")
        elsewhere = next((o for o, other in signatures.SPACES.items() if name in signatures.public(other)), owner)
        return Path(f"{elsewhere}.{name}")
    better = _nearest(name, space)
    if not better:
        return func
    m.ctx.note(NOTE, Span(span.end - len(name), span.end), f"torch has no `{owner}.{name}`{_hint(better)}")
    return Path(f"{owner}.{better}")


@lru_cache(maxsize=256)
def _is_quoted(text: str, name: str) -> bool:
    return f"'{name}'" in text or f'"{name}"' in text


@lru_cache(maxsize=1024)
def _nearest(name: str, space: str) -> str:
    """Return the supported torch function of nearly this name; empty if there is none or torch has the name."""
    public = signatures.public(space)
    bare = name.rstrip("_")
    if name in public or bare in public or name.startswith("_") or not name.islower() or len(name) < 3:
        return ""
    if name.partition("_")[2] in public:  # a vendor's own, such as npu_rms_norm
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(public & OPS.keys()), 1, _NEAR)), "")


def corrected(m: Machine, key: str, bound: Bound, args: Arguments, span: Span) -> Arguments:
    """Return the arguments with unexpected keywords replaced by those that are meant.

    If there is no similar keyword, or the function may be another library's, any parameter may be meant.
    """
    refused = [name for name in args.keywords if {name, signatures.NUMPY.get(name)} & set(bound.unexpected)]
    keywords = {name: given for name, given in args.keywords.items() if name not in refused}
    space = key.partition(".")[0]
    if space not in signatures.SPACES.values() or (space == "Tensor" and not (_of_tensor(args) and _is_torch(m))):
        return replace(args, keywords=keywords, more=True)
    from difflib import get_close_matches

    more = args.more
    names = {p.name for params in signatures.overloads(key) for p in params if not p.places and not p.star}
    names |= {word for word, name in signatures.NUMPY.items() if name in names and name in ("dim", "keepdim")}
    for wrong in refused:
        given = args.keywords[wrong]
        near = next(iter(get_close_matches(wrong, sorted(names - keywords.keys()), 1, 0.7)), "")
        at = m.module.text.rfind(wrong, span.start, given.span.start)
        place = Span(at, at + len(wrong)) if at >= 0 else given.span
        m.ctx.note(NOTE, place, f"`{key.rpartition('.')[2]}` takes no `{wrong}`{_hint(near)}")
        more = more or not near
        if near:
            keywords[near] = given
    return replace(args, keywords=keywords, more=more)


def too_many(m: Machine, key: str, args: Arguments, surplus: int) -> None:
    """Record the first surplus argument of a method, if its receiver was cast and so is a tensor."""
    receiver = args.positional[0].value
    cast = isinstance(receiver, Product) and receiver.tensor and receiver.dtype not in (DType.UNKNOWN, DType.INPUT)
    if cast and key.startswith("Tensor.") and _is_torch(m):
        at = args.positional[-surplus].span
        m.ctx.note(NOTE, at, f"`{key.rpartition('.')[2]}` takes {surplus} fewer argument{'s' * (surplus > 1)}")


def refused(m: Machine, ref: FunctionRef, args: Arguments, found: Fit[Given]) -> None:
    """Record the arguments that an undecorated function of the text doesn't take."""
    if not (found.unexpected or found.surplus) or bool(getattr(ref.node, "decorators", ())):
        return
    text, last = m.module.text, args.values[-1].span.start
    name = ref.qualname.removesuffix(".__init__").rpartition(".")[2]
    named = text.find(f"{name}(", max(last - _NEAR_CALL, 0), last) >= 0
    if not named or name in m.module.imports or not _is_defined_once(text, name):
        return  # it may be one of several functions, of which each is called under its own condition
    wrong = next(iter(found.unexpected), "")
    place = args.keywords[wrong].span if wrong else args.positional[-found.surplus].span
    written = (
        re.compile(rf"\b{wrong}[ \t]*=[ \t]*\Z").search(text, max(place.start - 80, 0), place.start) if wrong else None
    )
    place = Span(written.start(), written.start() + len(wrong)) if written else place
    m.ctx.note(NOTE, place, found.refusal(name))


_DYNAMIC: Final = re.compile(r"\b(?:globals|setattr|exec)\(|\bexcept\b[^:\n]*TypeError|\binspect\b")


@lru_cache(maxsize=64)
def _is_defined_once(text: str, name: str) -> bool:
    """Return whether a text binds a name once, and neither binds names by strings nor expects a wrong call."""
    bound = re.compile(rf"\b(?:def|class|as|import)[ \t]+{name}\b|\b{name}[ \t]*(?:,[^=\n()]*)?=(?!=)")
    return len(bound.findall(text)) == 1 and _DYNAMIC.search(text) is None


def _of_tensor(args: Arguments) -> bool:
    """Return whether a method is a tensor's, and not another object's that gets the tensor, as in `ops.mean(x)`."""
    return not any(isinstance(g.value, Product) and g.value.tensor for g in args.positional[1:])


def _hint(name: str) -> str:
    return f": is `{name}` meant?" if name else ""


def _is_torch(m: Machine) -> bool:
    """Return whether a tensor must be torch's: the text imports torch and no other array library."""
    roots = {path.partition(".")[0] for path in m.module.imports.values()}
    owner = m.frame.owner
    others = _OTHER_LIBRARIES - {"numpy"} if owner is not None and owner.is_module() else _OTHER_LIBRARIES
    return "torch" in roots and roots.isdisjoint(others)
