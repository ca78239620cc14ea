"""Where each node of libcst stands, in characters: counted while libcst writes the code out again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import libcst as cst
from libcst._nodes.internal import CodegenState

from normlint.text.finding import Span


@dataclass
class Offsets(CodegenState):
    """Counts the characters that libcst writes, and remembers where each node begins and ends."""

    at: int = 0
    spans: dict[int, Span] = field(default_factory=dict)
    open: list[int] = field(default_factory=list)

    def add_token(self, value: str) -> None:
        self.at += len(value)

    def add_indent_tokens(self) -> None:
        self.at += sum(map(len, self.indent_tokens))

    def before_codegen(self, node: cst.CSTNode) -> None:  # noqa: ARG002  (libcst's signature)
        self.open.append(self.at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self.open.pop()
        self.spans.setdefault(id(node), Span(start, self.at))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self.at
        yield
        first = self.spans[id(start_node)].start if start_node is not None else start
        last = self.spans[id(end_node)].end if end_node is not None else self.at
        self.spans[id(node)] = Span(first, last)
