"""Look up syntax for making edits: nodes by their character spans, and the text's names for torch.

Rules pass on spans, and a fix looks up here what stands there. The standard library's parser is enough for that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from normlint.norm.kept import took
from normlint.text.finding import Span
from normlint.text.source import line_starts
from normlint.text.syntax import parsed

if TYPE_CHECKING:
    from normlint.evaluate.module import Uses
    from normlint.fixes.document import Document

K = TypeVar("K")
USUAL = frozenset(("torch", "F", "nn", "np", "math", "einops"))  # usual names of modules, for a text without imports
# Attributes that read no values of a tensor.
LOOKS = frozenset("dtype device shape size dim ndim numel is_cuda requires_grad".split())


class Tree:
    """The parsed text of a unit, with its nodes by span, parent and kind."""

    def __init__(self, text: str, *, snippet: bool = False, uses: Uses = ()) -> None:
        self.text = text
        self.snippet = snippet
        self.uses = uses
        self.owners: frozenset[str] = frozenset()  # names of the norms with the finding that is being fixed
        self.root = parsed(text)
        self._lines = line_starts(text)
        self._known: dict[object, Any] = {}

    def once(self, key: object, make: Callable[[], K]) -> K:
        """Return what `make` returns for this key, computed once."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]  # type: ignore[no-any-return]

    @cached_property
    def document(self) -> Document:
        """Return the text for fixes that change nodes of libcst, which is imported only then."""
        from normlint.fixes.document import Document

        tops = [
            (min(d.lineno for d in (n, *getattr(n, "decorator_list", ()))), n.end_lineno or n.lineno)
            for n in self.root.body
        ]
        return Document(self.text, tops, self.imported)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return all nodes of the text, parents first."""
        return list(ast.walk(self.root))

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def paths(self) -> dict[str, str]:
        """Return local names by the dotted path they stand for: {"torch.nn": "nn"}."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for one in node.names:
                    first = one.name.partition(".")[0]
                    found[one.name if one.asname else first] = one.asname or first
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    found[f"{'.' * node.level}{node.module or ''}.{one.name}"] = one.asname or one.name
        return found

    @cached_property
    def imported(self) -> frozenset[str]:
        """Return the names that imports anywhere in the text bind."""
        return frozenset(name.partition(".")[0] for name in self.paths.values())

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the names, attributes and imported names in the text."""
        fields = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name"}
        return frozenset(getattr(node, fields[type(node)]) for node in self.nodes if type(node) in fields)

    def _offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        if self.text.isascii():
            return start + column
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        piece = self.text[start:end]
        return start + (column if piece.isascii() else len(piece.encode()[:column].decode()))

    def span(self, node: Any) -> Span:
        """Return the span of an expression or statement, without parentheses around it."""
        start = self._offset(node.lineno, node.col_offset)
        return Span(start, self._offset(node.end_lineno, node.end_col_offset))

    def source(self, node: ast.AST) -> str:
        """Return the node's source text."""
        span = self.span(node)
        return self.text[span.start : span.end]

    def around(self, span: Span, kind: Any) -> Any:
        """Return the innermost node of that kind that contains the span."""
        placed = self.once(kind, lambda: [(self.span(node), node) for node in self.nodes if isinstance(node, kind)])
        took(len(placed) // 10)
        found = [(here.end - here.start, node) for here, node in placed if here.holds(span)]
        return min(found, key=lambda one: one[0], default=(0, None))[1]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node that holds this one."""
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that hold this one, from the inside out."""
        found = self.parent(node)
        while found is not None:
            yield found
            found = self.parent(found)

    def holder(self, node: ast.AST, kind: Any) -> Any:
        """Return the innermost node of that kind that is this one or holds it."""
        return next((n for n in (node, *self.above(node)) if isinstance(n, kind)), None)


def spelled(tree: Tree, dotted: str) -> str | None:
    """Return the shortest name that the text has for a dotted path such as torch.nn.Parameter; None if it has none."""
    names, rest = tree.paths, ""
    while dotted:
        if dotted in names:
            return names[dotted] + rest
        dotted, _, last = dotted.rpartition(".")
        rest = f".{last}{rest}"
    return None
