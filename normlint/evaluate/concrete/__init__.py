"""A norm with real tensors: the text is interpreted, never executed, and never approximated.

`Program(text).value("RMSNorm")(64)` is a module of torch's own whose forward is interpreted here. What can't be done
exactly raises `Unsupported`; everything else that is raised is what Python or torch raises.
"""

from __future__ import annotations

from normlint.evaluate.concrete.program import Found, Program
from normlint.evaluate.concrete.values import Budget, Exhausted, Unsupported
from normlint.evaluate.concrete.world import trust

__all__ = ["Budget", "Exhausted", "Found", "Program", "Unsupported", "trust"]
