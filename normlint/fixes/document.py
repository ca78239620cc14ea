"""Find a text's statements and expressions as libcst nodes, replace them, and turn the changes into small edits.

A top-level statement is parsed only when a node in it is asked for, and only once.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields
from difflib import SequenceMatcher
from functools import cache, cached_property, partial
from itertools import islice, takewhile
from typing import Any, Final

import libcst as cst
from libcst.metadata import CodeRange, ExpressionContext, ExpressionContextProvider, MetadataWrapper, PositionProvider

from normlint.fixes.tree import USUAL
from normlint.norm.kept import took
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.source import line_starts

Changes = dict[Any, Any]  # node → the new one, a function from the old to the new one, or None to remove a statement
Change = tuple[str, Changes]  # the message of a fix, and its changes
_MOST: Final = 4_000_000  # pairs of tokens to compare; with more, the difference is one edit
_TOKEN: Final = re.compile(r"\w+|\s|.", re.DOTALL)


def _positions(wrapper: MetadataWrapper) -> Mapping[cst.CSTNode, CodeRange]:
    """Return the place of each node; RecursionError where the tree is too deep, of which libcst makes a KeyError."""
    try:
        return wrapper.resolve(PositionProvider)
    except KeyError as error:
        before: BaseException | None = error
        while before is not None:
            if isinstance(before, RecursionError):
                raise before from None
            before = before.__context__
        raise


class Block:
    """A parsed top-level statement (or several on one line)."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start = text, start
        took(2 * len(text))
        self.module = cst.parse_module(text)
        self._wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        self._places = _positions(self._wrapper)
        self._lines = (*line_starts(text), len(text))
        self.nodes: list[cst.CSTNode] = []  # parents first
        self.parents: dict[cst.CSTNode, cst.CSTNode | None] = {}
        self._ranges: dict[cst.CSTNode, tuple[int, int]] = {}  # its own and its descendants' indices
        self._index(self.module, None)

    def _index(self, node: cst.CSTNode, holder: cst.CSTNode | None) -> None:
        """Record the parent and the descendants of each node; libcst's own provider takes ten times as long."""
        first = len(self.nodes)
        self.nodes.append(node)
        self.parents[node] = holder
        for name in _fields(type(node)):
            value = getattr(node, name)
            for one in value if isinstance(value, list | tuple) else (value,):
                if isinstance(one, cst.CSTNode):
                    self._index(one, node)
        self._ranges[node] = (first, len(self.nodes))

    @cached_property
    def _placed(self) -> list[tuple[Span, cst.CSTNode]]:
        kinds = cst.BaseExpression | cst.BaseSmallStatement
        return sorted(((self.span(n), n) for n in self.nodes if isinstance(n, kinds)), key=lambda one: one[0])

    @cached_property
    def contexts(self) -> Mapping[cst.CSTNode, ExpressionContext | None]:
        """Return for each name or attribute whether it is read or bound."""
        return self._wrapper.resolve(ExpressionContextProvider)

    def span(self, node: cst.CSTNode) -> Span:
        """Return where the node stands in the whole text."""
        place = self._places[node]
        first, last = self._lines[place.start.line - 1], self._lines[place.end.line - 1]
        return Span(self.start + first + place.start.column, self.start + last + place.end.column)

    def at(self, span: Span, kind: Any) -> Any:
        """Return the widest expression or statement of that kind that lies within the span."""
        found = islice(self._placed, bisect_left(self._placed, span.start, key=lambda one: one[0].start), None)
        starting = takewhile(lambda one: one[0].start <= span.end, found)
        inside = [(here.start - here.end, n) for here, n in starting if here.end <= span.end and isinstance(n, kind)]
        return min(inside, key=lambda one: one[0], default=(0, None))[1]

    def below(self, node: cst.CSTNode, kind: Any) -> list[Any]:
        """Return the nodes of that kind from this one down, in the order of the text."""
        first, last = self._ranges[node]
        took((last - first) // 10)
        found = [n for n in self.nodes[first:last] if isinstance(n, kind)]
        return sorted(found, key=self.span) if len(found) > 1 else found

    def edits(self, changes: Changes, above: Set[cst.CSTNode]) -> tuple[Edit, ...]:
        """Return the edits that make these changes; nothing where they can't be written or would lose a comment.

        The comment behind a removed statement may be lost.
        """
        took(len(self.text))
        try:
            after = self.module.visit(_Replace(changes, above))
        except (cst.CSTValidationError, ValueError, TypeError):
            return ()
        gone = "".join(self.module.code_for_node(node) for node, new in changes.items() if new is None)
        lost = self.text.count("#") - after.code.count("#") > gone.count("#")
        return () if lost else tuple(_differences(self.text, after.code, self.start))


@cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def in_front(lines: Sequence[Any], now: Any) -> cst.FlattenSentinel[Any]:
    """Insert lines in front of a line and of the comments directly above it."""
    blank = [n for n, line in enumerate(now.leading_lines) if line.comment is None]
    cut = blank[-1] + 1 if blank else 0
    first = lines[0].with_changes(leading_lines=now.leading_lines[:cut])
    return cst.FlattenSentinel([first, *lines[1:], now.with_changes(leading_lines=now.leading_lines[cut:])])


def _with_comments_above(above: Sequence[cst.EmptyLine], change: Any, now: Any) -> Any:
    """Apply the change to the line and put these comments above it."""
    new = change(now) if callable(change) else change or now
    first, *rest = new.nodes if isinstance(new, cst.FlattenSentinel) else (new,)
    first = first.with_changes(leading_lines=[*above, *first.leading_lines])
    return cst.FlattenSentinel([first, *rest]) if rest else first


class Document:
    """A text in which fixes look up and replace nodes."""

    def __init__(self, text: str, tops: Iterable[tuple[int, int]], imported: Set[str]) -> None:
        """`tops`: the first and last line of each top-level statement; `imported`: the names bound by all imports."""
        self.text, self.imported = text, imported
        self._lines = line_starts(text)
        self._tops = sorted({first - 1: last - 1 for first, last in tops}.items())
        self._blocks: dict[int, Block | None] = {}
        self._known: dict[cst.CSTNode, Block] = {}

    def at(self, span: Span, kind: Any = cst.BaseExpression) -> Any:
        """Return the widest node of that kind that lies within the span, which may include parentheses around it."""
        block = self._block(span.start)
        return block.at(span, kind) if block is not None else None

    def span(self, node: cst.CSTNode) -> Span:
        """Return the node's span without parentheses around it."""
        return self._known[node].span(node)

    def outer(self, node: cst.BaseExpression) -> Span:
        """Return the node's span with the parentheses around it."""
        block = self._known[node]
        ends = [block.span(one) for one in (*node.lpar[:1], *node.rpar[-1:])]
        return Span(ends[0].start, ends[-1].end) if ends else block.span(node)

    def source(self, node: cst.CSTNode) -> str:
        """Return the node's source text without parentheses around it."""
        start, end = self.span(node)
        return self.text[start:end]

    def context(self, name: cst.Name) -> ExpressionContext | None:
        """Return whether the name is read or bound; None for keywords of calls and attributes."""
        holder = next(self.above(name), None)
        keyword = isinstance(holder, cst.Arg) and holder.keyword is name
        return None if keyword else self._known[name].contexts.get(name)

    def parent(self, node: cst.CSTNode | None) -> Any:
        """Return the node that holds this one, passing over wrappers such as arguments, elements and targets."""
        passed = cst.Arg | cst.Element | cst.AssignTarget | cst.Index | cst.SubscriptElement
        return next((n for n in self.above(node) if not isinstance(n, passed)), None)

    def above(self, node: cst.CSTNode | None) -> Iterator[Any]:
        """Yield the nodes that hold this one, from the inside out; none if it is None."""
        while node is not None and (node := self._known[node].parents[node]) is not None:
            yield node

    def around(self, node: cst.CSTNode | None, kind: Any) -> Any:
        """Return the innermost node of that kind that holds this one."""
        return next((n for n in self.above(node) if isinstance(n, kind)), None)

    def below(self, node: cst.CSTNode | None, kind: Any) -> list[Any]:
        """Return the nodes of that kind from this one down, in the order of the text."""
        return self._known[node].below(node, kind) if node is not None else []

    def line(self, node: cst.CSTNode | None) -> cst.SimpleStatementLine | None:
        """Return the line of simple statements that the node is or belongs to."""
        return node if isinstance(node, cst.SimpleStatementLine) else self.around(node, cst.SimpleStatementLine)

    def gone(self, stmt: cst.CSTNode) -> Changes:
        """Remove a simple statement, with its line if it is alone there.

        Nothing if it binds a global or nonlocal name, which may be read elsewhere.
        """
        line, foreign = self.line(stmt), {n.name.value for n in self.below(self.scope(stmt), cst.NameItem)}
        if any(n.value in foreign for n in self.below(stmt, cst.Name)):
            return {}
        return {stmt if line is None or len(line.body) > 1 else line: None}

    def scope(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the function that holds the node, else its whole top-level block."""
        return self.around(node, cst.FunctionDef) or self._known[node].module

    def everywhere(self, kind: Any, word: str) -> list[Any]:
        """Return all nodes of that kind in the top-level blocks in which the word occurs."""
        blocks = dict.fromkeys(self._block(found.start()) for found in re.finditer(re.escape(word), self.text))
        return [n for block in blocks if block is not None for n in block.below(block.module, kind)]

    def is_module(self, node: cst.CSTNode | None) -> bool:
        """Return whether the expression is a module such as `torch`, `torch.linalg` or `F`, and no tensor."""
        while isinstance(node, cst.Attribute):
            node = node.value
        return isinstance(node, cst.Name) and (node.value in self.imported or node.value in USUAL)

    def edits(self, changes: Changes) -> tuple[Edit, ...]:
        """Return the smallest edits that make these changes; nothing if one of them can't be written."""
        changes = self._with_comments_kept(changes)
        above = {one for node in changes for one in (node, *self.above(node))}
        parts: dict[Block, Changes] = {}
        for node, new in changes.items():
            parts.setdefault(self._known[node], {})[node] = new
        made = [block.edits(part, above) for block, part in parts.items()]
        return tuple(edit for edits in made for edit in edits) if all(made) else ()

    def _with_comments_kept(self, changes: Changes) -> Changes:
        """Move the comments of removed lines to the next line; a removed call loses the comment on its own line."""
        made = dict(changes)
        gone = [n for n, new in changes.items() if new is None and isinstance(n, cst.SimpleStatementLine)]
        for line in sorted(gone, key=self.span, reverse=True):
            own = None if isinstance(line.body[0], cst.Expr) else line.trailing_whitespace.comment
            above, body = [*line.leading_lines, *([cst.EmptyLine(comment=own)] if own else [])], self.parent(line).body
            behind = next((one for one in body[body.index(line) + 1 :] if changes.get(one, one) is not None), None)
            if behind is not None and any(one.comment for one in above):
                made[behind] = partial(_with_comments_above, above, made.get(behind))
        return made

    def fix(self, message: str, changes: Changes, applicability: Applicability) -> Fix:
        """Return a fix that makes these changes; it has no edits if they can't be written."""
        return Fix(message, self.edits(changes), applicability)

    def _block(self, at: int) -> Block | None:
        """Return the block at a place in the text; None between blocks, and where libcst can't parse it."""
        line = bisect_right(self._lines, at) - 1
        number = bisect_right(self._tops, (line, len(self._lines))) - 1
        if number < 0 or self._tops[number][1] < line:
            return None
        if number not in self._blocks:
            self._blocks[number] = self._parsed(*self._tops[number])
        return self._blocks[number]

    def _parsed(self, first: int, last: int) -> Block | None:
        start = self._lines[first]
        end = self._lines[last + 1] if last + 1 < len(self._lines) else len(self.text)
        try:
            block = Block(self.text[start:end], start)
        except (cst.ParserSyntaxError, RecursionError):
            return None
        self._known.update(dict.fromkeys(block.nodes, block))
        return block


class _Replace(cst.CSTTransformer):
    """Replace nodes, also nested ones where a function makes the outer one.

    `above`: the replaced nodes and all that hold them; nothing else is visited.
    """

    def __init__(self, changes: Changes, above: Set[cst.CSTNode]) -> None:
        super().__init__()
        self._changes, self._above = changes, above

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self._above

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        if isinstance(updated_node, cst.SimpleStatementLine) and 0 < len(updated_node.body) < len(original_node.body):
            last = updated_node.body[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            updated_node = updated_node.with_changes(body=[*updated_node.body[:-1], last])
        new = self._changes.get(original_node, updated_node)
        if new is None:
            return cst.RemoveFromParent()
        if isinstance(new, cst.IndentedBlock) and not new.body:
            raise ValueError("nothing is left of the block")
        return new if isinstance(new, cst.CSTNode) or not callable(new) else new(updated_node)


def _differences(before: str, after: str, start: int) -> Iterator[Edit]:
    """Yield the differences of two texts as edits of tokens; the common start and end are skipped."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    pairs = zip(reversed(old), reversed(new), strict=False)
    tail = min(next((n for n, (a, b) in enumerate(pairs) if a != b), most), most)
    places = [start]
    for token in old:
        places.append(places[-1] + len(token))
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) * len(b) > _MOST:
        yield Edit(Span(places[head], places[len(old) - tail]), "".join(b))
        return
    for word, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if word != "equal":
            yield Edit(Span(places[head + i], places[head + j]), "".join(b[k:m]))
