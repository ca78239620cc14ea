"""Evaluate tests: an unknown outcome is a decision, which is the same for equal tests on a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from normlint.evaluate import syntax as s
from normlint.evaluate.dtypes import FLOATS, DType
from normlint.evaluate.monomial import NOWHERE, Abs, Apply, Input, Mono, Param, Scalar, Size
from normlint.evaluate.value import Constant, Defined, Dtype, Opaque, Path, Product, Shape, Tup, Value
from normlint.text.frozen import replace

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine
    from normlint.evaluate.objects import Env


MOST_WORDS: Final = 1000  # characters of a description


def describe(value: Value | Mono) -> str:
    """Return a description of a value, which is equal for equal values."""
    match value:
        case Product(mono=mono):
            return describe(mono)
        case Mono():
            return value.described(_product)
        case Constant(value=inner):
            return repr(inner)
        case Dtype(dtype=dtype, of=of):
            return f"dtype {dtype.value} {of}"
        case Path(dotted=dotted):
            return dotted
        case Opaque(text=text) | Defined(text=text):
            return text
        case Shape(of=of):
            return f"shape of {describe(of)}"
        case Tup(items=items):
            return f"({', '.join(map(describe, items))})"
    return type(value).__name__


def _product(mono: Mono) -> str:
    """Return a description of bounded length; a long one ends with a hash."""
    parts = [_atom(f.atom) + (f"^{f.power}" if f.power != 1 else "") for f in mono.factors]
    words = "·".join(([f"{mono.coef:g}"] if mono.coef != 1 or not parts else []) + parts)
    if len(words) <= MOST_WORDS:
        return words
    from hashlib import blake2b

    return f"{words[:MOST_WORDS]}… {blake2b(words.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _argument(value: object) -> str:
    if isinstance(value, Mono | Product):
        return describe(value)
    return f"({', '.join(map(_argument, value))})" if isinstance(value, tuple) else str(value)


def _atom(atom: object) -> str:
    match atom:
        case Size(less=True) | Scalar(less=True):
            return f"{_atom(replace(atom, less=False))} − 1"
        case Input(name=name) | Param(name=name) | Scalar(name=name):
            return name
        case Size(of=of, axis=axis):
            return f"size {axis} of {describe(of)}"
        case Abs(inner=inner):
            return f"|{describe(inner)}|"
        case Apply(name=name, args=args, place=place):
            return f"{name}({', '.join(map(_argument, args))})@{place.start}"
    return type(atom).__name__.lower()


def truth(m: Machine, env: Env, node: s.Expr, prefer: bool | None = None) -> bool:
    """Return the outcome of a test on this path; `prefer` is the one that leads to a reduction."""
    match node:
        case s.Unary(op="not", operand=operand):
            return not truth(m, env, operand, None if prefer is None else not prefer)
        case s.Logic(op=op, values=values):
            return (all if op == "and" else any)(truth(m, env, value, prefer) for value in values)
        case s.Compare(left=left, rights=((op, right),)):
            negated = op in _NEGATED
            sides = m.eval(env, left), m.eval(env, right)
            m.ctx.prefer = prefer if prefer is None else prefer is not negated
            positive = _NEGATED.get(op, op)
            sizes = _element_sizes(m, env, sides[0], positive, sides[1])
            if sizes is None:
                outcome = _compare(m, sides[0], positive, sides[1]) is not negated
            else:
                outcome = m.ctx.narrow(DType.INPUT, sizes, f"{describe(sides[0])} {positive}") is not negated
        case s.Compare(left=left, rights=rights):
            words = [describe(m.eval(env, left)), *(f"{op} {describe(m.eval(env, e))}" for op, e in rights)]
            m.ctx.prefer = prefer
            outcome = m.ctx.decide(" ".join(words))
        case _:
            m.ctx.prefer_result = prefer, len(m.frames) + 1
            value = m.eval(env, node)
            m.ctx.prefer_result = None, 0
            m.ctx.prefer = prefer
            outcome = _truthy(m, value, m.module.source(node.span))
    m.ctx.prefer = None
    return outcome


def _truthy(m: Machine, value: Value, text: str) -> bool:
    match value:
        case Constant(value=inner):
            return bool(inner)
        case Tup(items=items):
            return bool(items)
        case Defined() | Shape() | Dtype():
            return True
        case Product() if value.number is not None:
            return bool(value.number)
        case Product() if value.tensor and value.sole and isinstance(value.sole.atom, Param):
            return value.sole.atom.role != "unknown" or m.ctx.decide(describe(value), True)
        case Product():
            sole = value.sole
            default = bool(sole.atom.default) if sole and isinstance(sole.atom, Scalar) else False
            return m.ctx.decide(describe(value), default)
        case Opaque() | Path():
            return m.ctx.decide(f"{text} {describe(value)}")
    return m.ctx.decide(text)


_NEGATED = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", ">": "<="}


def _compare(m: Machine, left: Value, op: str, right: Value) -> bool:
    if isinstance(left, Dtype) and isinstance(right, Dtype) and right.dtype in (DType.INPUT, DType.PARAM):
        return _compare_dtype(m, right, left)
    if isinstance(left, Dtype):
        return _compare_dtype(m, left, right)
    if isinstance(right, Dtype) and op in ("==", "is"):
        return _compare_dtype(m, right, left)
    if op == "is" and isinstance(right, Constant) and right.value is None:
        return _is_none(m, left)
    known = _known(left, op, right)
    if known is not None:
        return known
    if _may_share(left, op, right):
        m.ctx.note("identity", NOWHERE)
    outcome = m.ctx.decide(f"{describe(left)} {op} {describe(right)}")
    asked = m.ctx.asked.get(describe(left))
    if outcome and op == "==" and isinstance(left, Product) and isinstance(right, Product) and not left.tensor:
        m.ctx.shapes.unite(left.mono, right.mono)
    if outcome and op == "==" and asked is not None and right.whole is not None:
        m.ctx.learn_rank(asked, right.whole)
    if outcome and asked is not None and (op, right.number) in (("<", 2), ("<=", 1)):
        m.ctx.learn_rank(asked, 1)
    return outcome


def _known(left: Value, op: str, right: Value) -> bool | None:
    a, b = left.number, right.number
    if a is not None and b is not None:
        return {"==": a == b, "<": a < b, "<=": a <= b}.get(op)
    if isinstance(left, Product) and b is not None and b <= 0 and op in ("<", "<=") and _is_length(left):
        return False
    if isinstance(left, Constant) and isinstance(right, Constant) and op in ("==", "is"):
        return left.value == right.value
    if isinstance(left, Constant) and isinstance(right, Tup) and op == "in":
        items = [i.value for i in right.items if isinstance(i, Constant)]
        return left.value in items if len(items) == len(right.items) else None
    return None


def _may_share(left: Value, op: str, right: Value) -> bool:
    """Return whether a test asks if a tensor and a view or cast of it share their memory."""
    if op == "==":
        return "data_ptr(" in describe(left) and "data_ptr(" in describe(right)
    both = isinstance(left, Product) and isinstance(right, Product) and left.tensor and right.tensor
    return op == "is" and both and left.alias == right.alias != ""  # type: ignore[union-attr]


_BYTES: Final = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8}


def _element_sizes(m: Machine, env: Env, left: Value, op: str, right: Value) -> frozenset[str] | None:
    """Return the dtypes for which a test of the input's `element_size()` holds; None for any other test."""
    sole = left.sole.atom if isinstance(left, Product) and left.sole else None
    if not isinstance(sole, Apply) or sole.name != "element_size" or right.number is None:
        return None
    of = env.find(m.module.source(sole.place).partition(".")[0])
    if not isinstance(of, Product) or not isinstance(of.atom, Input):
        return None
    holds = {"==": int.__eq__, "<": int.__lt__, "<=": int.__le__}.get(op)
    return None if holds is None else frozenset(name for name, size in _BYTES.items() if holds(size, int(right.number)))


def _is_length(value: Product) -> bool:
    factors = value.mono.factors
    return bool(factors) and value.mono.coef > 0 and all(isinstance(f.atom, Size) for f in factors)


def _is_none(m: Machine, value: Value) -> bool:
    match value:
        case Constant(value=inner):
            return inner is None
        case Product() if value.number is not None:
            return False
        case Product():
            atom = value.atom
            nullable = isinstance(atom, Scalar | Input) or (isinstance(atom, Param) and atom.role == "unknown")
            nullable |= isinstance(atom, Apply) and atom.place != NOWHERE  # the result of a call outside the text
            return nullable and m.ctx.decide(f"{describe(value)} is None")
        case Opaque(text=text):
            return m.ctx.decide(f"{text} is None")
        case Path(dotted=dotted):
            return dotted in m.module.optional and m.ctx.decide(f"{dotted} is None")
    return False


def _compare_dtype(m: Machine, left: Dtype, right: Value) -> bool:
    """Return the outcome of a test like `x.dtype == torch.float16` or `x.dtype in (torch.float16, torch.bfloat16)`."""
    others = right.items if isinstance(right, Tup) else (right,)
    named = [o.dtype for o in others if isinstance(o, Dtype)]
    key = f"{describe(left)} == {describe(right)}"
    if len(named) != len(others):
        return m.ctx.decide(key)
    if left.dtype in named:
        return True
    names = frozenset(d.value for d in named) & FLOATS
    if left.dtype in (DType.INPUT, DType.PARAM) and not {DType.INPUT, DType.PARAM} & set(named):
        return m.ctx.narrow(left.dtype, names, key)
    if left.dtype.wide or left.dtype in (DType.FP16, DType.BF16):
        return False if not {DType.INPUT, DType.PARAM, DType.UNKNOWN} & set(named) else m.ctx.decide(key)
    return m.ctx.decide(key)
