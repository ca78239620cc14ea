"""What each statement of a function binds, names and computes, coarsely: enough to see where a statistic can get to.

Python's parser gives the statements, regular expressions the words in them: a small part of the cost of a tree.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from normlint.norm.radicands import SIZES, Words, roots_in, under
from normlint.text.depth import too_deep
from normlint.text.marks import REDUCING, reduces

_WORD: Final = re.compile(r"\.?\b[^\W\d]\w*")
_TAIL: Final = re.compile(r"\n[ \t]+@\w[^@]*\Z")
_WALRUS: Final = re.compile(r"(\w+)\s*:=")
_COMPREHENSION: Final = re.compile(r"\S\s+for\b")
_GIVEN: Final = re.compile(r"[\"'](\w+)[\"']|\bout\s*=\s*(\w+)")  # register_buffer("eps", ...), torch.div(..., out=y)
_SIZE: Final = re.compile(rf"\.(?:{'|'.join(SIZES)})\b")
_SIZED: Final = re.compile(rf"[\w.]+{_SIZE.pattern}")  # of a statistic it tells nothing
_MODULES: Final = frozenset(("self", "cls", "torch", "nn", ".nn", ".functional", "F", "np", "math", ".linalg"))
_ROOT_MARK: Final = re.compile(r"sqrt|[\w)\]][\s\\]*\*\*|pow|reciprocal|norm\b|normalize\b|std(?:_mean)?\b")
_REDUCING: Final = frozenset(form for word in REDUCING for form in (word, f".{word}"))
SQUARES: Final = re.compile(r"pow|square|\*\*|norm|var|std|einsum|vecdot|(\b[\w.]+)\s*\*\s*\1\b|mul")
_NUMPY: Final = re.compile(r"\b(?:np|numpy)\.[\w.]+\s*\(")  # not torch's: nothing comes of it
_SCALES: Final = re.compile(r"[\w)\]]\s*[*/](?!\*)|mul|div|recip|normalize|einsum|mm\b")

_BREAK: Final = re.compile("\n")
_SAID: Final = re.compile(  # comments and strings
    r"#[^\n]*|'''[\s\S]*?'''|'(?:[^'\\\n]|\\[\s\S])*'"
    r'|"""[\s\S]*?"""|"(?:[^"\\\n]|\\[\s\S])*"'
)
_BRACED: Final = re.compile(r"\{[^{}]*\}|\n")
_NEWER: Final = tuple(getattr(ast, name) for name in ("TryStar",) if hasattr(ast, name))


class Fact(NamedTuple):
    """One statement: the names it binds, and all words in it; attributes with their dot, for they are not local.

    `reduces`, `squares`, `scales`: it may take a mean or the like, a square, a product. `roots`: for each root in
    it the words under the root; `rooted`: it holds a call that is a statistic and its root.
    """

    binds: Words
    words: Words
    reduces: bool
    squares: bool
    scales: bool
    roots: tuple[Words, ...]
    rooted: bool


class Facts:
    """A function's statements, and those of the functions in it: each is looked at when somebody asks for it.

    Raises SyntaxError where the text, indented or not, isn't one function by itself.
    """

    def __init__(self, text: str) -> None:
        text = f"if 1:\n{text}" if text[:1] in " \t" else text
        self._heads: list[tuple[int, int, ast.stmt, str]] = []
        self.params: dict[str, Words] = {}
        self._index(_parsed(text))
        self._text = _SAID.sub(_unsaid, text)
        self._lines = [0, *(match.end() for match in _BREAK.finditer(self._text))]
        self._facts: dict[int, Fact | None] = {}

    def _index(self, body: Sequence[ast.stmt]) -> None:
        """The heads of statements: from which line to which, and in which function."""
        waiting: list[tuple[ast.AST, str]] = [(node, "") for node in body]
        while waiting:
            node, owner = waiting.pop()
            kind = type(node)
            if kind in _SCOPES:
                owner = node.name  # type: ignore[attr-defined]
                self.params[owner] = self.params.get(owner, frozenset()).union(_params(node.args))  # type: ignore[attr-defined]
            elif kind is ast.Assign and type(node.value) is ast.Lambda:  # type: ignore[attr-defined]
                for name in (name for target in node.targets for name in _names(target)):  # type: ignore[attr-defined]
                    self.params[name] = self.params.get(name, frozenset()).union(_params(node.value.args))  # type: ignore[attr-defined]
            if kind in _PARTS and not (kind is ast.Expr and type(node.value) is ast.Constant):  # type: ignore[attr-defined]
                end = node.body[0].lineno - 1 if kind in _HEADED else node.end_lineno  # type: ignore[attr-defined]
                self._heads.append((node.lineno, max(end, node.lineno), node, owner))  # type: ignore[attr-defined,arg-type]
            if kind in _NESTING:
                for name in _BLOCKS:
                    waiting += [(inner, owner) for inner in getattr(node, name, ())]
        self._heads.sort(key=lambda head: head[:2])

    def naming(self, word: str) -> Iterator[Fact]:
        """The statements that name a local, or an attribute if the word begins with its dot."""
        for number in self._naming.get(word, ()):
            fact = self._fact(number)
            if fact is not None:
                yield fact

    @cached_property
    def _naming(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                found.setdefault(word, []).append(number)
        return found

    def marked(self) -> Iterator[Fact]:
        """The statements that may hold a reduction."""
        for number in sorted({number for word in _REDUCING for number in self._naming.get(word, ())}):
            fact = self._fact(number)
            if fact is not None:
                yield fact

    def _source(self, number: int) -> str:
        first, last, _, _ = self._heads[number]
        return self._text[self._lines[first - 1] : self._lines[last] if last < len(self._lines) else None]

    @cached_property
    def _words(self) -> list[Words]:
        return [_words_in(self._source(number)) for number in range(len(self._heads))]

    def _fact(self, number: int) -> Fact | None:
        if number not in self._facts:
            self._facts[number] = self._read(number)
        return self._facts[number]

    def _read(self, number: int) -> Fact | None:
        _, _, node, owner = self._heads[number]
        parts = [part for part in _parts(node) if part is not None]
        if not parts:
            return None
        text = self._source(number)
        roots, rooted = roots_in(parts, text) if _ROOT_MARK.search(text) else ((), False)
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Pow):
            roots = (*roots, under(node.target))
        scales = isinstance(node, ast.AugAssign) or _SCALES.search(text) is not None
        words = self._words[number]
        reducing = not words.isdisjoint(_REDUCING) and reduces(_NUMPY.sub("", text) if "np." in text else text)
        squares = SQUARES.search(text) is not None
        binds = _binds(node, owner, text).union(_inner(parts, text))
        return Fact(binds, words, reducing, squares, scales, roots, rooted)


def _unsaid(match: re.Match[str]) -> str:
    """A comment, or a string that is no name, without its words: with its lines, and what stands in its braces."""
    said = match.group()
    if said[0] == "#":
        return ""
    return said if said[1:-1].isidentifier() else f'"{"".join(_BRACED.findall(said))}"'


def _words_in(text: str) -> Words:
    return frozenset(_WORD.findall(_SIZED.sub("", text) if _SIZE.search(text) else text))


@lru_cache(maxsize=64)
def facts(text: str) -> Facts | None:
    """The facts of one function's text; None where it can't be read by itself."""
    try:
        return None if too_deep(text) else Facts(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parsed(text: str) -> list[ast.stmt]:
    """The statements; decorators of what came next may hang on to the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text).body
        except SyntaxError:
            return ast.parse(_TAIL.sub("\n", text)).body


_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
_HEADED: Final = (ast.For, ast.AsyncFor, ast.If, ast.While, ast.With, ast.AsyncWith)
_NESTING: Final = frozenset(
    (*_SCOPES, *_HEADED, ast.ClassDef, ast.Try, ast.ExceptHandler, ast.Match, ast.match_case, *_NEWER)
)
_PARTS: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    ast.FunctionDef: ("args",),
    ast.AsyncFunctionDef: ("args",),
    ast.Assign: ("targets", "value"),
    ast.AnnAssign: ("target", "value"),
    ast.AugAssign: ("target", "value"),
    ast.For: ("target", "iter"),
    ast.AsyncFor: ("target", "iter"),
    ast.Return: ("value",),
    ast.Expr: ("value",),
    ast.Assert: ("test",),
    ast.Raise: ("exc",),
    ast.If: ("test",),
    ast.While: ("test",),
    ast.Match: ("subject",),
    ast.With: ("items",),
    ast.AsyncWith: ("items",),
}


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement's head, in the order of the text."""
    for name in _PARTS[type(node)]:
        part = getattr(node, name)
        if name == "items":
            yield from (item.context_expr for item in part)
        elif name == "args":  # of a function: what it has unless it is given
            yield from (one for one in (*part.defaults, *part.kw_defaults) if not isinstance(one, ast.Constant))
        elif isinstance(part, list):
            yield from part
        else:
            yield part


def _binds(node: ast.AST, owner: str, text: str) -> Words:
    found = set(_WALRUS.findall(text)) if ":=" in text else set()
    if isinstance(node, ast.Return):
        found.update((owner, f".{owner}"))
    elif isinstance(node, ast.Expr):
        found.update(word for word in _WORD.findall(text.partition("(")[0])[:-1] if word not in _MODULES)
        found.update(form for pair in _GIVEN.findall(text) for word in pair if word for form in (word, f".{word}"))
    elif isinstance(node, ast.With | ast.AsyncWith):
        found.update(name for item in node.items if item.optional_vars for name in _names(item.optional_vars))
    else:
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        found.update(name for target in targets if target is not None for name in _names(target))
    return frozenset(found)


def _inner(parts: Sequence[ast.expr], text: str) -> Iterator[str]:
    """What the expressions of a statement bind for themselves: parameters of a lambda, targets of a comprehension."""
    if "lambda" in text or _COMPREHENSION.search(text):
        for node in (inner for part in parts for inner in ast.walk(part)):
            if isinstance(node, ast.Lambda):
                yield from _params(node.args)
            elif isinstance(node, ast.comprehension):
                yield from _names(node.target)


def _params(args: ast.arguments) -> Iterator[str]:
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    return (arg.arg for arg in every if arg is not None)


def _names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(attr=name):
            yield f".{name}"
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            yield from _names(inner)
        case ast.Tuple(elts=several) | ast.List(elts=several):
            for one in several:
                yield from _names(one)
