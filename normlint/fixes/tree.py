"""The syntax around a finding, for making edits: nodes by their character spans, and how the text calls torch.

Rules never see it: a rule hands on spans of the norm, and a repair looks up here what stands there. The standard
library's parser is enough for that, and fast.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from normlint.fixes.work import NOW, Work
from normlint.text.finding import Edit, Span
from normlint.text.source import line_starts

if TYPE_CHECKING:
    from normlint.evaluate.module import Uses
    from normlint.fixes.document import Document
from typing import Final

from normlint.fixes.work import walk

N = TypeVar("N", bound=ast.AST)
K = TypeVar("K")
USUAL = frozenset(("torch", "F", "nn", "np", "math", "einops"))  # names of modules in a text without imports
Function = ast.FunctionDef | ast.AsyncFunctionDef

# How tightly an expression binds: what is looser than its new surroundings needs parentheses.
_TIGHT = {
    ast.Pow: 14,
    ast.Mult: 12,
    ast.MatMult: 12,
    ast.Div: 12,
    ast.FloorDiv: 12,
    ast.Mod: 12,
    ast.Add: 11,
    ast.Sub: 11,
}
ATOM, POWER, UNARY, PRODUCT, SUM, LOOSE = 16, 14, 13, 12, 11, 0


class Tree:
    """A unit's text, parsed, with the way from spans to nodes and back."""

    def __init__(self, text: str, *, snippet: bool = False, uses: Uses = ()) -> None:
        self.text = text
        self.snippet = snippet
        self.uses = uses
        self.owners: frozenset[str] = frozenset()  # names of the norms with the finding that is being mended
        self.root = ast.parse(text)
        self._known: dict[object, Any] = {}

    def once(self, key: object, make: Callable[[], K]) -> K:
        """What `make` gives for this key, made once."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]  # type: ignore[no-any-return]

    @cached_property
    def document(self) -> Document:
        """The text for fixes that change nodes of libcst, which is imported only then."""
        from normlint.fixes.document import Document

        return Document(self.text, [(_first_line(n), n.end_lineno or n.lineno) for n in self.root.body])

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        return line_starts(self.text)

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        """By node; of a statement at the top all or none are there."""
        return dict.fromkeys(self.root.body, self.root)

    @cached_property
    def paths(self) -> dict[str, str]:
        """Local names by the dotted path they stand for: {"torch.nn": "nn"}."""
        found: dict[str, str] = {}
        for node in ast.walk(self.root):
            if isinstance(node, ast.Import):
                for one in node.names:
                    first = one.name.partition(".")[0]
                    found[one.name if one.asname else first] = one.asname or first
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for one in node.names:
                    found[f"{node.module}.{one.name}"] = one.asname or one.name
        return found

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names that imports bind, anywhere in the text."""
        imports = (node for node in ast.walk(self.root) if isinstance(node, ast.Import | ast.ImportFrom))
        return frozenset((one.asname or one.name).partition(".")[0] for node in imports for one in node.names)

    def _offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        if self._ascii:
            return start + column
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        piece = self.text[start:end]
        return start + (column if piece.isascii() else len(piece.encode()[:column].decode()))

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def span(self, node: ast.AST) -> Span:
        """Where the node stands, without parentheses around it."""
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is None or last is None:
            raise ValueError(f"{type(node).__name__} has no place")
        column, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return Span(self._offset(first, column), self._offset(last, end))

    def source(self, node: ast.AST) -> str:
        """The node as it is written."""
        span = self.span(node)
        return self.text[span.start : span.end]

    def at(self, span: Span, kind: type[N] = ast.expr) -> N | None:  # type: ignore[assignment]
        """The widest node of that kind that lies within the span (which may take in parentheses around it)."""
        found = [(here, node) for here, node in self._touching(span, kind) if _inside(here, span)]
        return max(found, key=lambda one: one[0].end - one[0].start, default=(span, None))[1]

    def around(self, span: Span, kind: type[N]) -> N | None:
        """The innermost node of that kind that takes the span in."""
        found = [(here, node) for here, node in self._touching(span, kind) if _inside(span, here)]
        return min(found, key=lambda one: one[0].end - one[0].start, default=(span, None))[1]

    def _touching(self, span: Span, kind: type[N]) -> Iterator[tuple[Span, N]]:
        """Nodes of that kind that share a character with the span, or a place where it is empty."""
        first = bisect_right(self._lines, span.start)
        last = bisect_right(self._lines, span.end)
        work = NOW.get(None) or Work()
        waiting: list[Iterable[ast.AST]] = [self._top(first, last)]
        while waiting:
            for node in waiting.pop():
                work.took(1)
                if hasattr(node, "lineno"):
                    start = _first_line(node)
                    if start > last or (node.end_lineno or start) < first:  # type: ignore[attr-defined]
                        continue
                    if isinstance(node, kind):
                        here = self.span(node)
                        if here.start <= span.end and span.start <= here.end:
                            yield here, node
                waiting.append(ast.iter_child_nodes(node))

    def _top(self, first: int, last: int) -> Iterable[ast.AST]:
        """The statements at the top that share a line with these."""
        from_ = islice(self.root.body, bisect_left(self._ends, first), None)
        return takewhile(lambda one: _first_line(one) <= last, from_)

    @cached_property
    def _ends(self) -> list[int]:
        return [one.end_lineno or one.lineno for one in self.root.body]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds this one."""
        if node not in self._parents and node is not self.root:
            line = getattr(node, "lineno", None)
            for statement in self.root.body if line is None else self._top(line, line):
                below = ((child, one) for one in ast.walk(statement) for child in ast.iter_child_nodes(one))
                self._parents.update(below)
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that hold this one, from the inside out."""
        found = self.parent(node)
        while found is not None:
            yield found
            found = self.parent(found)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that the node is or belongs to."""
        if isinstance(node, ast.stmt):
            return node
        return next((n for n in self.above(node) if isinstance(n, ast.stmt)), None)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function whose body holds the node."""
        return next((n for n in self.above(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)), None)

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class that holds the node."""
        return next((n for n in self.above(node) if isinstance(n, ast.ClassDef)), None)

    def body_of(self, stmt: ast.stmt) -> list[ast.stmt]:
        """The block that the statement stands in."""
        holder = self.parent(stmt)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(holder, name, None)
            if isinstance(block, list) and stmt in block:
                return block
        return [stmt]

    def indent(self, stmt: ast.stmt) -> str:
        """What stands in front of the statement on its line, where that is white space."""
        start = self.span(stmt).start
        line = self._lines[bisect_right(self._lines, start) - 1]
        before = self.text[line:start]
        return before if not before.strip() else before[: len(before) - len(before.lstrip())]

    @property
    def newline(self) -> str:
        """The line end that the text uses."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"

    # --- edits -------------------------------------------------------------------------------------------------------

    def with_parentheses(self, node: ast.AST) -> Span:
        """The node with the parentheses that stand directly around it."""
        start, end = self.span(node)
        while True:
            left, right = start, end
            while left > 0 and self.text[left - 1] in " \t\r\n\\":
                left -= 1
            while right < len(self.text) and self.text[right] in " \t\r\n\\":
                right += 1
            if not (left and right < len(self.text) and self.text[left - 1] == "(" and self.text[right] == ")"):
                return Span(start, end)
            if self._calls(node, left - 1):
                return Span(start, end)
            start, end = left - 1, right + 1

    def _calls(self, node: ast.AST, paren: int) -> bool:
        """The parenthesis is that of a call, of a class's bases or of a def, not one around an expression."""
        holder = self.parent(node)
        if isinstance(holder, ast.keyword):
            holder = self.parent(holder)
        if not isinstance(holder, ast.Call):
            return False
        return (
            self.span(holder.func).end <= paren
            and not self.text[self.with_parentheses(holder.func).end : paren].strip()
        )

    def replace(self, node: ast.AST, text: str) -> Edit:
        """The node gives way to `text`; parentheses around it stay."""
        return Edit(self.span(node), text)

    def wrap(self, node: ast.AST, before: str, after: str) -> tuple[Edit, Edit]:
        """`before` and `after` the node and its parentheses."""
        start, end = self.with_parentheses(node)
        return Edit(Span(start, start), before), Edit(Span(end, end), after)

    def received(self, node: ast.expr) -> str:
        """The node as it must be written in front of a dot."""
        return self.source(node) if binding(node) >= ATOM else f"({self.source(node)})"

    def line_before(self, stmt: ast.stmt, *lines: str) -> Edit:
        """New lines in front of the statement, at its indent; the statement starts its line."""
        start = self.span(stmt).start
        indent = self.indent(stmt)
        return Edit(Span(start, start), "".join(f"{line}{self.newline}{indent}" for line in lines))

    def line_after(self, stmt: ast.stmt, *lines: str) -> Edit:
        """New lines behind the statement (and the comment on its line), at its indent."""
        end = self.text.find("\n", self.span(stmt).end)
        end = len(self.text) if end < 0 else end
        end -= self.text[end - 1 : end] == "\r"
        indent = self.indent(stmt)
        return Edit(Span(end, end), "".join(f"{self.newline}{indent}{line}" for line in lines))


def parameters(scope: Function | ast.Lambda) -> list[ast.arg]:
    """All that a function takes by name, in order."""
    return [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]


def called(node: ast.AST) -> str:
    """The last part of a name with dots, or of that of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_module(tree: Tree, node: ast.expr) -> bool:
    """`torch`, `torch.linalg`, `F`: something imported, no tensor."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and (node.id in tree.imported or node.id in USUAL)


def _first_line(node: ast.AST) -> int:
    """Of a decorated one, its first decorator's."""
    lines: list[int] = [one.lineno for one in (node, *getattr(node, "decorator_list", ()))]
    return min(lines)


def binding(node: ast.expr) -> int:
    """How tightly the expression holds together; see `ATOM` and its neighbours."""
    if isinstance(node, ast.BinOp):
        return _TIGHT.get(type(node.op), LOOSE)
    if isinstance(node, ast.UnaryOp):
        return UNARY if not isinstance(node.op, ast.Not) else LOOSE
    if isinstance(node, ast.Constant):
        return ATOM if not isinstance(node.value, int | float) else POWER  # 1.float() doesn't parse
    if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.Tuple | ast.List | ast.Dict):
        return ATOM
    return LOOSE


def _inside(one: Span, two: Span) -> bool:
    return two.start <= one.start and one.end <= two.end


_FUNCTIONAL: Final = "torch.nn.functional"


def spelled(tree: Tree, dotted: str) -> str | None:
    """`dotted` (torch.nn.Parameter) by the shortest name that the text has for it; None where it has none."""
    names = tree.paths
    if tree.snippet or not names:
        names = _assumed(tree) | names
    rest = ""
    while dotted:
        if dotted in names:
            return names[dotted] + rest
        dotted, _, last = dotted.rpartition(".")
        rest = f".{last}{rest}"
    return None


def _assumed(tree: Tree) -> dict[str, str]:
    """Usual names that a text without imports uses as everybody does."""
    used = {n.id for n in walk(tree.root) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return {path: name for path, name in _USUAL.items() if name in used}


_USUAL: Final = {"torch": "torch", "torch.nn": "nn", _FUNCTIONAL: "F", "torch.nn.Parameter": "Parameter"}
