"""Names that torch doesn't have: what is meant by them is what is read, and it is noted.

torch changes: a function is taken for a misspelling only where one of torch's has nearly the same name, and where
nothing but torch can be what it is asked of.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Apply
from normlint.evaluate.ops import OPS, signatures
from normlint.evaluate.value import Method, Path, Product, Value
from normlint.text.finding import Span
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine
    from normlint.evaluate.ops.table import Arguments, Bound

NOTE: Final = "unknown name"
_NEAR: Final = 0.8  # of difflib: var and vart, mean and meen, but not sum and std
# What else has tensors or arrays with methods of the same names.
_OTHERS: Final = frozenset(
    "cupy dask flax jax keras mindspore mlx numpy oneflow paddle tensorflow tinygrad xarray pandas polars".split()
)


def meant(m: Machine, func: Value, span: Span) -> Value:
    """The function that is meant, where torch has none of this name."""
    if isinstance(func, Path):
        return _function(m, func, span)
    if isinstance(func, Method) and func.receiver.tensor and not _is_anything(func):
        name = _nearest(func.name, "Tensor")
        if name and _is_torch(m):
            m.ctx.note(NOTE, Span(span.end - len(func.name), span.end), f"a tensor has no `{func.name}`{_hint(name)}")
            return Method(func.receiver, name)
    return func


_BUILTINS: Final = (dict, list, str, set, bytes, float)


def _is_anything(func: Method) -> bool:
    """Whether it need not be a tensor's: Python's own types have it, or a call that isn't followed made the object."""
    made = any(isinstance(f.atom, Apply) for f in func.receiver.mono.factors)
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
    """A function of torch's that is followed and has nearly this name; empty if torch has the name itself."""
    public = signatures.public(space)
    bare = name.rstrip("_")
    if name in public or bare in public or name.startswith("_") or not name.islower() or len(name) < 3:
        return ""
    if name.partition("_")[2] in public:  # a vendor's own, such as npu_rms_norm
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(public & OPS.keys()), 1, _NEAR)), "")


def corrected(m: Machine, key: str, bound: Bound, args: Arguments, span: Span) -> Arguments:
    """The arguments with the keywords that are meant, where the function doesn't take what is written.

    Where nothing is near, or the function may be another library's, any parameter may be meant.
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
    """Note the first argument that a tensor's method has no parameter for; what it is asked of was cast: a tensor."""
    receiver = args.positional[0].value
    cast = isinstance(receiver, Product) and receiver.tensor and receiver.dtype not in (DType.UNKNOWN, DType.INPUT)
    if cast and key.startswith("Tensor.") and _is_torch(m):
        at = args.positional[-surplus].span
        m.ctx.note(NOTE, at, f"`{key.rpartition('.')[2]}` takes {surplus} fewer argument{'s' * (surplus > 1)}")


def _of_tensor(args: Arguments) -> bool:
    """Whether a method is a tensor's: `ops.mean(x)` gives the tensor to some object that has one of the same name."""
    return not any(isinstance(g.value, Product) and g.value.tensor for g in args.positional[1:])


def _hint(name: str) -> str:
    return f": is `{name}` meant?" if name else ""


def _is_torch(m: Machine) -> bool:
    """Whether a tensor of this text is torch's: it imports torch, and no other library whose arrays look like it."""
    roots = {path.partition(".")[0] for path in m.module.imports.values()}
    owner = m.frame.owner
    others = _OTHERS - {"numpy"} if owner is not None and owner.is_module() else _OTHERS
    return "torch" in roots and roots.isdisjoint(others)
