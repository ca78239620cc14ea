"""Python's own parser and libcst give one tree: what an older Python can't parse is read just as well."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from normlint.evaluate import lower, lower_cst
from tests.held import EVERY

ODD = {
    "an empty tuple": "x = ()\n",
    "tuples with and without parentheses": "a = 1, 2\nb = (1, 2)\nc = (1,)\nx[(1, 2)]\nx[1, 2]\nx[(1), 2]\n",
    "an only generator": "any(a for a in b)\n",
    "a chain of and with parentheses": "x = (a and (b or c)) and (d and e) or not f\n",
    "parameters of every kind": "def f(a, /, b: int = 1, *c, d, e=(2), **g): pass\n",
    "wide characters": "s = 'ü€𝄞'; y = s + t  # é\ndef ñ(x): return x\n",
    "decorators": "@a.b(c)\n@d\nasync def f(x): return await x\n",
    "CR LF and continuation lines": "x = 1 + \\\r\n  2\r\ny = f(\r\n  a,\r\n  *b, k=1, **c)\r\n",
    "match": "match a:\n  case [x, *y] if x: pass\n  case {'k': z, **w}: pass\n  case C(v) as u: pass\n",
    "del, assert, raise from": "del a, b\nassert x, y\nraise E(z) from q\n",
    "with and try": "with a as b, c(): pass\ntry: x\nexcept (E, F) as e: y\nelse: z\nfinally: w\n",
    "slices and stars": "x[a:b, ::c, ..., None]\nf(*a, **b)\n(*a, b)\n",
    "a walrus and a lambda": "(y := f(lambda a, *b: a))\n",
    "comparisons": "a < b <= c is not d not in e\n",
    "imports": "import a.b, c.d as e\nfrom . import x\nfrom ..y.z import (p as q, r)\nfrom m import *\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_both_parsers_give_one_tree_for(text: str) -> None:
    assert lower.lower(text, 7) == lower_cst.lower(text, 7)


@pytest.mark.parametrize("held", EVERY, ids=lambda held: held.name)
def test_both_parsers_give_one_tree_of_a_norm(held: object) -> None:
    text = held.text  # type: ignore[attr-defined]
    assert lower.lower(text) == lower_cst.lower(text)


def test_what_this_python_cannot_parse_is_left_to_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    def old(text: str) -> None:
        raise SyntaxError(text)

    monkeypatch.setattr(lower, "ast", SimpleNamespace(parse=old))
    assert lower.lower("x = f(1)\n", 3) == lower_cst.lower("x = f(1)\n", 3)


def test_a_form_feed_moves_nothing() -> None:
    text = "x = 1\n\x0cy = 2\n"
    assert [text[slice(*stmt.span)] for stmt in lower.lower(text)] == ["x = 1", "y = 2"]


def test_what_nobody_can_parse_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        lower.lower("x = = 1\n")
