"""Python's tree to our own: each node is the text at its span, and says the right thing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from normlint.evaluate import syntax as s
from normlint.evaluate.lower import lower
from normlint.evaluate.walk import blocks_of, definitions, walk
from normlint.text.finding import Span
from tests.evaluate.spines import table


def expression(text: str) -> s.Expr:
    (stmt,) = lower(text)
    assert isinstance(stmt, s.Evaluate)
    return stmt.value


def nodes(text: str, kind: type[s.Node]) -> Iterator[s.Node]:
    return (n for n in walk(lower(text)) if type(n) is kind)


def at(text: str, node: s.Node) -> str:
    return text[node.span.start : node.span.end]


@pytest.mark.parametrize(
    "text",
    table(
        ("an open bracket", "x = ("),
        ("a wrong indent", "if x:\ny"),
        ("NUL", "x = 1\0"),
        ("strings and bytes together", "'a' b'b'"),
        ("two values without a comma", "x y"),
    ),
)
def test_what_does_not_parse_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        lower(text)


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    table(
        ("a name", "a = bc", s.Name, ["a", "bc"]),
        ("a number", "a = 1 + 2.5", s.Literal, ["1", "2.5"]),
        ("a string", "f('a', \"b\" 'c')", s.Literal, ["'a'", "\"b\" 'c'"]),
        ("a constant", "[None, True, False, ...]", s.Literal, ["None", "True", "False", "..."]),
        ("an attribute", "a . b.c", s.Attribute, ["a . b.c", "a . b"]),
        ("a call", "f(a, *b)(c)", s.Call, ["f(a, *b)(c)", "f(a, *b)"]),
        ("an argument", "f(a, *b, k = c, **d)", s.Argument, ["a", "*b", "k = c", "**d"]),
        ("a binary operation", "a + b * c", s.Binary, ["a + b * c", "b * c"]),
        ("a unary operation", "not - a", s.Unary, ["not - a", "- a"]),
        ("a comparison", "a < b <= c", s.Compare, ["a < b <= c"]),
        ("a logical operation", "a and b or c", s.Logic, ["a and b or c", "a and b"]),
        ("a conditional", "a if b else c", s.IfExpr, ["a if b else c"]),
        ("a subscript", "a[b, 1:2]", s.Subscript, ["a[b, 1:2]"]),
        ("a slice", "a[1:b, ::2, :]", s.Slice, ["1:b", "::2", ":"]),
        ("a star in a subscript", "a[*b]", s.Starred, ["b"]),
        ("a sequence, without its parentheses", "(a, [b], {c})", s.Sequence, ["a, [b], {c}", "[b]", "{c}"]),
        ("a star in a sequence", "[*a, b]", s.Starred, ["*a"]),
        ("a dictionary", "{a: b, **c}", s.Mapping, ["{a: b, **c}"]),
        ("a walrus", "(a := b)", s.Walrus, ["a := b"]),
        ("a comprehension", "[a for b in c]", s.Comprehension, ["[a for b in c]"]),
        ("a generator", "f(a for b in c)", s.Comprehension, ["a for b in c"]),
        ("a lambda", "lambda a, b=1: a", s.Lambda, ["lambda a, b=1: a"]),
        ("a parameter, without its default", "lambda a, b=1, *c, d, **e: a", s.Parameter, ["a", "b", "*c", "d", "**e"]),
        ("a format string", "f'{a}'", s.Joined, ["f'{a}'"]),
        ("a dictionary by a comprehension", "{a: b for c in d}", s.Comprehension, ["{a: b for c in d}"]),
        ("two comprehensions in one", "[a for b in c for d in b]", s.Comprehension, ["[a for b in c for d in b]"]),
        ("an await", "async def f():\n    await a", s.Other, ["await a"]),
        ("an assignment", "a = b = c; d: int = 1", s.Assign, ["a = b = c", "d: int = 1"]),
        ("an augmented assignment", "a //= b", s.Augment, ["a //= b"]),
        ("a declaration", "a: int", s.Evaluate, ["a: int"]),
        ("a deletion", "del a, b", s.Evaluate, ["del a, b"]),
        ("a return", "def f():\n    return a", s.Return, ["return a"]),
        ("an empty return", "def f():\n    return", s.Return, ["return"]),
        ("a raise", "raise A from b", s.Raise, ["raise A from b"]),
        ("a jump", "while a:\n    break\nfor b in c:\n    continue", s.Jump, ["break", "continue"]),
        ("an import", "import a.b as c, d", s.Import, ["import a.b as c, d"]),
        ("a test", "if a:\n    b\nelif c:\n    d", s.If, ["if a:\n    b\nelif c:\n    d", "elif c:\n    d"]),
        ("a loop", "for a in b:\n    c\nelse:\n    d", s.Loop, ["for a in b:\n    c\nelse:\n    d"]),
        ("a context", "with a as b, c:\n    d", s.With, ["with a as b, c:\n    d"]),
        ("a match", "match a:\n    case 1:\n        b", s.Match, ["match a:\n    case 1:\n        b"]),
        ("a try", "try:\n    a\nfinally:\n    b", s.Try, ["try:\n    a\nfinally:\n    b"]),
        ("a try of groups", "try:\n    a\nexcept* B:\n    c", s.Try, ["try:\n    a\nexcept* B:\n    c"]),
        ("a function", "def f(a):\n    b", s.Function, ["def f(a):\n    b"]),
        ("a class", "class A(B):\n    c", s.Class, ["class A(B):\n    c"]),
    ),
)
def test_a_node_is_the_text_at_its_span(text: str, kind: type[s.Node], found: list[str]) -> None:
    assert [at(text, n).rstrip("\n") for n in nodes(text, kind)] == found


@pytest.mark.parametrize(
    "text",
    table(
        ("behind a comment", "# comment\n\nx = target\n"),
        ("behind characters of several bytes", "s = 'äöü 𝛾'\nx = target\n"),
        ("behind tabs", "if a:\n\tx = target\n"),
        ("behind a line that goes on", "x = (a +\n     target)\n"),
        ("behind a backslash", "x = a + \\\n    target\n"),
        ("behind carriage returns", "a = 1\r\nx = target\r\n"),
        ("in brackets", "x = ((target))\n"),
        ("behind a decorator", "@d(1)\ndef f():\n    return target\n"),
        ("behind an expression in a format string", "x = f'{a!r:>{b}}', target\n"),
    ),
)
def test_a_span_counts_characters(text: str) -> None:
    (node,) = [n for n in nodes(text, s.Name) if isinstance(n, s.Name) and n.id == "target"]
    assert node.span.start == text.index("target")
    assert at(text, node) == "target"


def test_a_span_can_count_from_elsewhere() -> None:
    (stmt,) = lower("x = 1\n", 100)
    assert (stmt.span.start, stmt.span.end) == (100, 105)


def test_the_head_of_a_definition_is_its_name() -> None:
    text = "@d\ndef f(): pass\nclass A: pass\n"
    heads = [n.head for n in lower(text) if isinstance(n, s.Function | s.Class)]
    assert [text[h.start : h.end] for h in heads] == ["f", "A"]


@pytest.mark.parametrize("op", "+ - * / // % ** @ & | ^ << >>".split(), ids=lambda op: f"{op} is kept")
def test_an_operator_is_kept_as_it_is_written(op: str) -> None:
    node = expression(f"a {op} b")
    assert isinstance(node, s.Binary)
    assert node.op == op
    (augmented,) = lower(f"a {op}= b")
    assert isinstance(augmented, s.Augment)
    assert augmented.op == op


@pytest.mark.parametrize(
    "op", ["==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"], ids=lambda op: f"{op} is kept"
)
def test_a_comparison_is_kept_as_it_is_written(op: str) -> None:
    node = expression(f"a {op} b")
    assert isinstance(node, s.Compare)
    assert [found for found, _ in node.rights] == [op]


@pytest.mark.parametrize("op", ["-", "+", "~", "not"], ids=lambda op: f"{op} is kept")
def test_a_sign_is_kept_as_it_is_written(op: str) -> None:
    node = expression(f"{op} a")
    assert isinstance(node, s.Unary)
    assert node.op == op


@pytest.mark.parametrize(
    ("text", "bindings"),
    table(
        ("a module", "import torch", [("torch", "torch")]),
        ("a part binds the whole", "import torch.nn", [("torch", "torch")]),
        ("a part by a name", "import torch.nn as nn", [("nn", "torch.nn")]),
        ("two at once", "import a, b.c as d", [("a", "a"), ("d", "b.c")]),
        ("a name", "from torch import nn", [("nn", "torch.nn")]),
        ("a name by another", "from torch.nn import functional as F", [("F", "torch.nn.functional")]),
        ("a name beside the file", "from . import layers", [("layers", ".layers")]),
        ("a name above the file", "from ..layers import RMSNorm", [("RMSNorm", "..layers.RMSNorm")]),
        ("torch itself, handed on", "from .compat import torch, nn", [("torch", "torch"), ("nn", ".compat.nn")]),
        ("everything binds nothing", "from torch import *", []),
    ),
)
def test_an_import_binds_names_to_paths(text: str, bindings: list[tuple[str, str]]) -> None:
    (stmt,) = lower(text)
    assert isinstance(stmt, s.Import)
    assert list(stmt.bindings) == bindings


@pytest.mark.parametrize(
    ("parameters", "expected"),
    table(
        ("none", "", []),
        ("plain", "a, b", [("a", "", False), ("b", "", False)]),
        ("by position only", "a, /, b", [("a", "", False), ("b", "", False)]),
        ("by keyword only", "*, a", [("a", "", True)]),
        ("stars", "a, *b, c, **d", [("a", "", False), ("b", "*", False), ("c", "", True), ("d", "**", False)]),
    ),
)
def test_parameters_stand_in_the_order_of_the_text(parameters: str, expected: list[tuple[str, str, bool]]) -> None:
    (stmt,) = lower(f"def f({parameters}): pass")
    assert isinstance(stmt, s.Function)
    assert [(p.name, p.star, p.keyword) for p in stmt.params] == expected


def test_a_parameter_has_its_annotation_and_default() -> None:
    text = "def f(a: int = 1, b=2, c: str): pass".replace(", c: str", "")
    (stmt,) = lower(text)
    assert isinstance(stmt, s.Function)
    assert [(p.annotation and at(text, p.annotation), p.default and at(text, p.default)) for p in stmt.params] == [
        ("int", "1"),
        (None, "2"),
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    table(
        ("a value binds nothing", "1", []),
        ("a wildcard binds nothing", "_", []),
        ("a name is bound", "a", ["a"]),
        ("a star is bound", "[a, *b]", ["a", "b"]),
        ("a pattern is bound by as", "[a, 1] as b", ["b", "a"]),
        ("attributes are bound", "A(x=a, y=b)", ["a", "b"]),
    ),
)
def test_a_case_binds_the_names_of_its_pattern(pattern: str, names: list[str]) -> None:
    (stmt,) = lower(f"match x:\n    case {pattern}:\n        pass")
    assert isinstance(stmt, s.Match)
    assert [list(pattern.names) for pattern, _, _ in stmt.cases] == [names]


@pytest.mark.parametrize(
    ("text", "defined"),
    table(
        ("none in an expression", "f(lambda: 1)", []),
        ("on top", "def f(): pass\nclass A: pass", ["f", "A"]),
        ("not in a function", "def f():\n    def g(): pass", ["f"]),
        ("behind a test", "if a:\n    def f(): pass\nelse:\n    def g(): pass", ["f", "g"]),
        ("in a loop", "for a in b:\n    def f(): pass\nelse:\n    def g(): pass", ["f", "g"]),
        ("in a context", "with a:\n    def f(): pass", ["f"]),
        (
            "in a try",
            "try:\n    def f(): pass\nexcept A:\n    def g(): pass\n"
            "else:\n    def h(): pass\nfinally:\n    def i(): pass",
            ["f", "g", "h", "i"],
        ),
        ("in a match", "match a:\n    case 1:\n        def f(): pass\n    case 2:\n        def g(): pass", ["f", "g"]),
    ),
)
def test_the_definitions_of_a_scope_are_found(text: str, defined: list[str]) -> None:
    assert [d.name for d in definitions(lower(text))] == defined


def test_a_simple_statement_has_no_blocks() -> None:
    assert [blocks_of(stmt) for stmt in lower("a = 1\nimport b\ndel c")] == [(), (), ()]


DEEP = {
    "a chain of attributes": "x = a" + ".b" * 400,
    "a chain without end": "x = a" + ".b" * 20_000,
    "terms": "x = " + "a + " * 400 + "a",
    "calls in calls": "x = " + "f(" * 180 + "a" + ")" * 180,
    "branches": "if a: b\n" + "elif a: b\n" * 400,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_nests_too_deeply_is_opaque_and_noted(text: str) -> None:
    deep: list[Span] = []
    found = lower(f"y = 1\n{text}\n", deep=deep)
    assert deep
    assert all(isinstance(node, s.Node) for node in walk(found))


ODD = {
    "a form feed after def": ("def \x0c f(x): pass\n", "f"),
    "a form feed after class": ("class\x0cC: pass\n", "C"),
    "a form feed in front": ("\x0cdef f(x): pass\n", "f"),
    "a continuation line after def": ("def \\\n f(x): pass\n", "f"),
    "a middle dot in the name": ("def a\xb7b(x): pass\n", "a\xb7b"),
    "a ligature in the name": ("def \ufb01t(x): pass\n", "\ufb01t"),
    "wide characters before": ("s = '\u00fc\U0001d11e'; y = 1\ndef \xf1(x): return x\n", "\xf1"),
    "type parameters' bracket": ("class C(A[B]): pass\n", "C"),
}


@pytest.mark.parametrize(("text", "name"), ODD.values(), ids=ODD)
def test_the_head_is_the_name_as_it_is_written(text: str, name: str) -> None:
    (node,) = (n for n in walk(lower(text)) if isinstance(n, s.Function | s.Class))
    assert text[node.head.start : node.head.end] == name


def test_a_form_feed_moves_nothing() -> None:
    text = "x = 1\n\x0cy = 2\n"
    assert [text[slice(*stmt.span)] for stmt in lower(text)] == ["x = 1", "y = 2"]
