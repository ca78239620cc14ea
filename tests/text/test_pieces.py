"""A unit cut into named pieces by its lines: never wrongly, and by the parser where lines mislead."""

from __future__ import annotations

import pytest

from normlint.evaluate.module import Module
from normlint.text.pieces import Piece, pieces
from tests.evaluate.spines import RMS, ROOT_OF_MEAN, function, spines, table


def shown(found: tuple[Piece, ...], text: str) -> list[tuple[str, str]]:
    """(kind, first line) for each piece."""
    return [(p.kind, text[p.span.start : p.span.end].partition("\n")[0]) for p in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("nothing", "", []),
        ("only comments and blank lines", "# a\n\n   # b\n", []),
        ("assignments", "a = 1\nb = 2\n", [("plain", "a = 1"), ("plain", "b = 2")]),
        ("imports", "import a\nfrom b import c\n", [("import", "import a"), ("import", "from b import c")]),
        (
            "a name that begins like a keyword",
            "importer = 1\niffy()\n",
            [("plain", "importer = 1"), ("plain", "iffy()")],
        ),
        ("definitions", "def f():\n    pass\n\nclass A:\n    b = 1\n", [("def", "def f():"), ("class", "class A:")]),
        ("an async function", "async def f():\n    pass\n", [("def", "async def f():")]),
        ("an async loop", "async with a:\n    pass\n", [("compound", "async with a:")]),
        ("a decorated function", "@a\n@b(1)\ndef f():\n    pass\n", [("def", "@a")]),
        ("a decorated class", "@a\nclass A:\n    pass\nb = 1\n", [("class", "@a"), ("plain", "b = 1")]),
        ("a test with all its branches", "if a:\n    b\nelif c:\n    d\nelse:\n    e\n", [("compound", "if a:")]),
        (
            "a try with all its handlers",
            "try:\n    a\nexcept B:\n    c\nelse:\n    d\nfinally:\n    e\nf = 1\n",
            [("compound", "try:"), ("plain", "f = 1")],
        ),
        ("a list over several lines", "a = [\n    1,\n]\nb = 2\n", [("plain", "a = ["), ("plain", "b = 2")]),
        ("a call over several lines", "f(\n    1\n)\n", [("plain", "f(")]),
        ("a docstring", '"""Text.\n\nclass A:\n"""\nb = 1\n', [("plain", '"""Text.'), ("plain", "b = 1")]),
        (
            "a string with code at column 0",
            'a = """\ndef f():\n    pass\n"""\nb = 1\n',
            [("plain", 'a = """'), ("plain", "b = 1")],
        ),
        (
            "a string with other quotes",
            "a = '''\n\"\"\"\nclass A:\n'''\nb = 1\n",
            [("plain", "a = '''"), ("plain", "b = 1")],
        ),
        ("quotes in a comment", 'a = 1  # """\nb = 2\n', [("plain", 'a = 1  # """'), ("plain", "b = 2")]),
        (
            "a docstring in a function",
            'def f():\n    """\nclass A:\n    """\nb = 1\n',
            [("def", "def f():"), ("plain", "b = 1")],
        ),
        ("a comment between", "a = 1\n# class B:\nc = 2\n", [("plain", "a = 1"), ("plain", "c = 2")]),
        ("a function on one line", "def f(): return 1\nb = 1\n", [("def", "def f(): return 1"), ("plain", "b = 1")]),
    ),
)
def test_a_unit_is_cut_at_its_statements(text: str, expected: list[tuple[str, str]]) -> None:
    assert shown(pieces(text), text) == expected
    assert shown(Module(text).pieces, text) == expected


def test_the_pieces_are_the_whole_text() -> None:
    text = '"""Doc."""\nimport a\n\n\n@b\ndef f():\n    """\nx\n    """\n\n\nc = [\n]\n'
    assert "".join(text[p.span.start : p.span.end] for p in pieces(text)) == text


@pytest.mark.parametrize(
    ("text", "names"),
    table(
        ("an import defines none here", "import a\n", []),
        ("an expression defines none", "f(a=1)\n", []),
        ("a comparison defines none", "a == 1\n", []),
        ("an assignment", "a = 1\n", ["a"]),
        ("an annotated assignment", "a: int = 1\n", ["a"]),
        ("a function", "def f(a=1):\n    b = 2\n", ["f"]),
        ("a class", "class A:\n    b = 2\n", ["A"]),
        ("a decorated function", "@a\ndef f():\n    pass\n", ["f"]),
        (
            "functions behind a test",
            "if a:\n    def f():\n        pass\nelse:\n    class A:\n        pass\n",
            ["f", "A"],
        ),
    ),
)
def test_a_piece_knows_what_it_defines(text: str, names: list[str]) -> None:
    assert list(Module(text).index) == names


def test_the_index_keeps_every_definition_in_order() -> None:
    text = "a = 1\nb = 2\na = 3\n"
    assert [text[p.span.start : p.span.end] for p in Module(text).index["a"]] == ["a = 1\n", "a = 3\n"]


@pytest.mark.parametrize(
    ("text", "imports"),
    table(
        ("none", "a = 1\n", {}),
        ("none in a function", "def f():\n    import a\n", {}),
        ("a module", "import torch\n", {"torch": "torch"}),
        ("a name by another", "from torch import nn as n\n", {"n": "torch.nn"}),
        ("several lines", "from a import (\n    b,\n    c as d,\n)\n", {"b": "a.b", "d": "a.c"}),
        ("behind a test", "if a:\n    import b\nelse:\n    import c\n", {"b": "b", "c": "c"}),
        ("the last of a try", "try:\n    from a import x\nexcept ImportError:\n    from b import x\n", {"x": "b.x"}),
        ("in a context", "with a:\n    import b\n", {"b": "b"}),
    ),
)
def test_the_imports_of_a_unit_are_found(text: str, imports: dict[str, str]) -> None:
    assert Module(text).imports == imports


def test_a_piece_is_lowered_once_and_with_the_spans_of_the_unit() -> None:
    module = Module("a = 1\nb = 22\n")
    (block,) = module.block(module.pieces[1])
    assert module.source(block.span) == "b = 22"
    assert module.block(module.pieces[1])[0] is block


@pytest.mark.parametrize(
    "before",
    table(
        ("a string that ends at column 0", 's = """\nclass RMSNorm:\n"""\n'),
        ("a string in brackets", 's = ("""\ndef rms_norm(x, weight, eps):\n    return x\n""")\n'),
        ("quotes in another string", 's = \'"""\'\nimport os\n'),
        ("a backslash before column 0", "if True and \\\nTrue:\n    import os\n"),
        ("brackets that begin at column 0", "if (\nTrue\n):\n    import os\n"),
        ("an operator at column 0", "import os\nif (1\n+ 2):\n    pass\n"),
        ("an import that goes on at column 0", "from os import (\npath\n)\n"),
        ("a decorator with a string", '@d("""\nclass A:\n""")\ndef f():\n    pass\n'),
        ("a comment with an apostrophe", 'a = 1  # don\'t """\n'),
        ("a form feed", "\f\nimport os\n"),
    ),
)
def test_a_norm_is_found_behind_lines_that_mislead(before: str) -> None:
    assert spines(function(f"return {ROOT_OF_MEAN} * weight", before="\n" + before)) == [RMS]


def test_where_lines_mislead_the_parser_says_what_the_statements_are() -> None:
    text = "if True and \\\nTrue:\n    import os\nclass A:\n    pass\na = 1\n"
    assert [(p.kind, p.names) for p in Module(text).pieces] == [("compound", ()), ("class", ("A",)), ("plain", ("a",))]
