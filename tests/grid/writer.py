"""Filling templates, and the body of a function under way."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from typing import Final

INDENT: Final = "    "


@dataclass(frozen=True, slots=True)
class Names:
    """What the locals are called."""

    x: str
    h: str
    squares: str
    ms: str
    root: str
    y: str
    mu: str
    c: str


NAMES: Final[dict[str, Names]] = {
    "short names": Names("x", "h", "sq", "ms", "r", "y", "mu", "c"),
    "long names": Names("hidden_states", "upcast", "squares", "variance", "scale", "normed", "mean", "centred"),
    "other names": Names("inputs", "x32", "s", "var", "denom", "out", "m", "xc"),
}


@cache
def _shape(text: str) -> type[ast.AST] | str:
    node = ast.parse(text, mode="eval").body
    if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return "atom"
    if isinstance(node, ast.Constant):
        return "number"
    return "power" if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else "other"


def fill(template: str, **parts: str) -> str:
    """Put the parts in: `{x}` as an operand of anything, `{x__}` as a factor, `{x_}` as it stands."""
    values: dict[str, str] = {}
    for name, text in parts.items():
        shape = _shape(text) if text and f"{{{name}_}}" != template and name != "keep" else "atom"
        values[f"{name}_"] = text
        values[name] = text if shape in ("atom", "number") else f"({text})"
        values[f"{name}__"] = text if shape in ("atom", "number", "power") else f"({text})"
    return template.format(**values)


@dataclass(slots=True)
class Body:
    """Statements under way; `marks` remembers the text of each step, to say later where a finding belongs."""

    flow: str
    names: Names
    marks: dict[str, str]
    lines: list[str] = field(default_factory=list)

    def step(self, mark: str, name: str, text: str, *, bound: bool = False) -> str:
        """Take a step: in one expression it stays what it is, else it gets a name."""
        self.marks[mark] = text
        if self.flow == "one expression" and not bound:
            return text
        self.lines.append(f"{name} = {text}")
        return name

    def small(self, mark: str, name: str, text: str) -> str:
        """Take a step that only the flow "step by step" gives a name."""
        self.marks[mark] = text
        if self.flow != "step by step":
            return text
        self.lines.append(f"{name} = {text}")
        return name

    def change(self, mark: str, name: str, text: str) -> str:
        """Take a step in place: an augmented assignment is a statement, a method call may stay an expression."""
        if " _= " not in text and not any(f" {op}= " in text for op in "-*/"):
            return self.step(mark, name, text)
        self.marks[mark] = text
        self.lines.append(text)
        return text.split(" ", 1)[0]


def indent(lines: list[str], by: int = 1) -> list[str]:
    """The lines, further in."""
    return [INDENT * by + line if line else line for line in lines]


def function(name: str, parameters: str, lines: list[str], returns: str = "") -> list[str]:
    """A function's lines."""
    return [f"def {name}({parameters}){returns}:", *indent(lines)]
