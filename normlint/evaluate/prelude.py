"""Definitions in Python that are evaluated in the place of some library functions.

A function is named by its dotted path, with `__` for each dot.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.lower import Lowering
from normlint.evaluate.objects import Env, FunctionRef
from normlint.evaluate.value import Defined, Path
from normlint.text.finding import Span

_TEXT: Final = """
def operator__getitem(a, b): return a[b]
def operator__neg(a): return -a
def operator__abs(a): return abs(a)
def operator__itemgetter(k): return lambda a: a[k]
def operator__attrgetter(name): return lambda a: getattr(a, name)
def operator__methodcaller(name, *args, **named): return lambda a: getattr(a, name)(*args, **named)
def torch__jit__annotate(kind, value): return value
def torch__special__expm1(input): return torch.exp(input) - 1
def torch__expm1(input): return torch.exp(input) - 1
def torch__hypot(input, other): return (input * input + other * other) ** 0.5
def math__exp(x): return torch.exp(x)
def math__log(x): return torch.log(x)
def math__log2(x): return torch.log2(x)
def math__hypot(x, y): return (x * x + y * y) ** 0.5
def math__fabs(x): return abs(x)
"""
_HOME: Final = Env({name: Path(name) for name in ("torch", "math", "operator")})


class _Placed(Lowering):
    """A conversion in which all nodes have the span of the call."""

    place = Span(0, 0)

    def at(self, node: ast.AST) -> Span:  # noqa: ARG002
        """Return the span of the call."""
        return self.place

    def head(self, node: ast.FunctionDef | ast.ClassDef) -> Span:  # noqa: ARG002
        """Return the span of the call."""
        return self.place


@lru_cache(maxsize=1)
def _functions() -> dict[str, ast.FunctionDef]:
    return {f.name.replace("__", "."): f for f in ast.parse(_TEXT).body if isinstance(f, ast.FunctionDef)}


def named(dotted: str, span: Span, within: str) -> Defined | None:
    """Return the function of a dotted path, with all nodes at the span of its call; None if it isn't defined here."""
    node = _functions().get(dotted)
    return None if node is None else Defined(FunctionRef(_lowered(node, span), _HOME, within), dotted)


@lru_cache(maxsize=256)
def _lowered(node: ast.FunctionDef, span: Span) -> s.Function:
    lowering = _Placed("", 0, [])
    lowering.place = span
    found = lowering.statement(node)
    assert isinstance(found, s.Function)
    return found
