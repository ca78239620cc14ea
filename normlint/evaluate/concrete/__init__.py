"""Interpret Python source with real tensors, without executing it.

`Program(text).value("RMSNorm")(64)` is a torch module whose forward is interpreted. What can't be interpreted exactly
raises `Unsupported`; all other exceptions are those that Python or torch would raise.
"""

from __future__ import annotations

from normlint.evaluate.concrete.program import Found, Program
from normlint.evaluate.concrete.values import Budget, Exhausted, Unsupported
from normlint.evaluate.concrete.world import trust

__all__ = ["Budget", "Exhausted", "Found", "Program", "Unsupported", "trust"]
