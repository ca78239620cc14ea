"""Programs made at random: what Python computes is computed, what it raises is raised."""

from __future__ import annotations

import random

import pytest

from normlint.evaluate.concrete import Unsupported
from tests.evaluate.test_concrete import executed, interpreted

NAMES = ("a", "b", "c", "d")
OPERATORS = ("+", "-", "*", "//", "%", "/", "&", "|", "<", "<=", "==", "!=", "is", "in", "and", "or")


class Maker:
    """Random statements and expressions; most of them run, some raise."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expression(self, depth: int = 0) -> str:
        pick, sub = self.random.choice, self.expression
        if depth > 2:
            return pick((*NAMES, "0", "1", "2", "-3", "0.5", "'x'", "''", "None", "True", "()", "[1, 2]"))
        makers = (
            lambda: f"({sub(depth + 1)} {pick(OPERATORS)} {sub(depth + 1)})",
            lambda: f"({sub(depth + 1)} if {sub(depth + 1)} else {sub(depth + 1)})",
            lambda: f"[{sub(depth + 1)}, *{pick(('()', '[a]', '(b, c)', 'range(2)'))}]",
            lambda: f"({sub(depth + 1)}, {sub(depth + 1)})",
            lambda: f"{{{sub(3)}: {sub(depth + 1)}}}",
            lambda: f"[{sub(depth + 1)} for {pick(NAMES)} in range(3) if {sub(depth + 1)}]",
            lambda: f"{{e: {sub(depth + 1)} for e in ({sub(3)}, {sub(3)})}}",
            lambda: f"(lambda {pick(NAMES)}, e={sub(3)}: {sub(depth + 1)})({sub(depth + 1)})",
            lambda: f"{pick(('len', 'str', 'list', 'bool', 'sorted', 'sum', 'tuple', 'abs', 'int'))}({sub(depth + 1)})",
            lambda: f"f({sub(depth + 1)}{pick(('', ', k=1', ', *[2]', ', **{}', ', 3'))})",
            lambda: f"[0, 1, 2, 3][{pick(('', '1', 'a', '-2'))}:{pick(('', '3', 'b'))}]",
            lambda: f'f"{{{sub(3)}}}-{{{sub(3)}!r}}"',
            lambda: f"({pick(NAMES)} := {sub(depth + 1)})",
            lambda: f"(not {sub(depth + 1)})",
            lambda: f"({sub(depth + 1)})[{sub(3)}]",
            lambda: f"P({sub(3)}).{pick(('x', 'y', 'm', 'q'))}",
            lambda: f"any({sub(depth + 1)} for e in [0, 1])",
        )
        return pick(makers)()

    def block(self, depth: int, indent: str) -> str:
        return "".join(self.statement(depth, indent) for _ in range(self.random.randint(1, 3)))

    def statement(self, depth: int, indent: str) -> str:
        pick, sub, block = self.random.choice, self.expression, self.block
        simple = (
            lambda: f"{indent}{pick(NAMES)} = {sub()}\n",
            lambda: f"{indent}{pick(NAMES)} {pick('+-*')}= {sub(2)}\n",
            lambda: f"{indent}{pick(NAMES)}, *{pick(NAMES)} = {sub(1)}\n",
            lambda: f"{indent}seen.append({sub(1)})\n",
            lambda: f"{indent}P.y = {sub(2)}\n",
            lambda: f"{indent}assert {sub(2)}, {sub(3)}\n",
        )
        inner = indent + "    "

        def body() -> str:
            return block(depth + 1, inner)

        nested = (
            lambda: f"{indent}if {sub(1)}:\n{body()}{indent}else:\n{body()}",
            lambda: (
                f"{indent}for {pick(NAMES)} in {pick(('range(3)', '[1, None]', sub(2)))}:\n{body()}"
                f"{inner}if {sub(2)}: {pick(('break', 'continue'))}\n{indent}else:\n{body()}"
            ),
            lambda: (
                f"{indent}try:\n{body()}{indent}except {pick(('TypeError', 'Exception', 'ValueError'))}:\n"
                f"{body()}{indent}finally:\n{body()}"
            ),
            lambda: (
                f"{indent}def g({pick(NAMES)}, *r, z={sub(2)}):\n{body()}{inner}return {sub(1)}\n"
                f"{indent}{pick(NAMES)} = g({sub(2)})\n"
            ),
            lambda: (
                f"{indent}match {sub(2)}:\n{inner}case [e, *_]: {pick(NAMES)} = e\n{inner}case 1 | None: pass\n"
                f"{inner}case _: {pick(NAMES)} = {sub(2)}\n"
            ),
        )
        return pick(simple if depth > 1 or self.random.random() < 0.6 else nested)()

    def program(self) -> str:
        head = (
            "seen = []\na, b, c, d = 1, 'x', [2], None\n"
            "class P:\n    y = 1\n    def __init__(self, x): self.x = x\n"
            "    @property\n    def q(self): return self.x\n    def m(self): return self\n"
            "def f(v, k=2): return (v, k)\n"
        )
        parts = "".join(f"try:\n{self.block(0, '    ')}except Exception: seen.append('raised')\n" for _ in range(6))
        return f"{head}{parts}{self.block(0, '')}result = (a, b, c, d, seen)\n"


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_random_programs_do_what_python_does(start: int) -> None:
    done = 0
    for seed in range(start, start + 100):
        text = Maker(seed).program()
        expected = executed(text)
        if expected == ("raises", SyntaxError):
            continue
        try:
            found = interpreted(text)
        except Unsupported:
            continue
        done += 1
        if " object at 0x" not in repr(expected):
            assert repr(found) == repr(expected), text
    assert done > 60
