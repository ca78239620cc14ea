"""How the text around a norm spells things: what torch is called there, and roots and squares put around values."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import Final

from normlint.rules.repair.tree import ATOM, POWER, Tree, binding
from normlint.rules.repair.work import walk
from normlint.text.finding import Edit, Span

HALF: Final = Fraction(1, 2)
FIXED: Final = {
    "sqrt": HALF,
    "rsqrt": -HALF,
    "reciprocal": Fraction(-1),
    "square": Fraction(2),
}
NAMED: Final = {power: name for name, power in FIXED.items()}


def function(tree: Tree, name: str) -> str:
    """How torch's function is called in this text: `torch.sqrt`, `t.sqrt` or `sqrt`; empty where it can't be."""
    torch = ""
    for node in walk(tree.root):
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            for alias in node.names:
                if alias.name == name:
                    return alias.asname or name
        elif isinstance(node, ast.Import):
            torch = next((a.asname or "torch" for a in node.names if a.name == "torch"), torch)
    torch = torch or ("torch" if re.search(r"(?<![\w.])torch\.", tree.text) else "")
    return f"{torch}.{name}" if torch else ""


def _by_method(tree: Tree) -> bool:
    """Roots are taken by methods here."""
    methods = len(re.findall(r"\.r?sqrt_?\(\)", tree.text))
    return methods > len(re.findall(r"(?<!math\.)(?<!np\.)\br?sqrt\(\s*[^)\s]", tree.text))


def parenthesised(tree: Tree, node: ast.expr) -> bool:
    """Does it stand in parentheses of its own?"""
    return tree.with_parentheses(node) != tree.span(node)


def around(tree: Tree, node: ast.expr, name: str) -> tuple[Edit, ...]:
    """sqrt, rsqrt or square of the expression, as a function or a method as the text has it."""
    by_name = function(tree, name)
    if by_name and not _by_method(tree):
        return _called(tree, node, by_name)
    if parenthesised(tree, node) or binding(node) >= ATOM:
        end = tree.with_parentheses(node).end
        return (Edit(Span(end, end), f".{name}()"),)
    return tree.wrap(node, "(", f").{name}()")


def _called(tree: Tree, node: ast.expr, name: str) -> tuple[Edit, ...]:
    if parenthesised(tree, node):
        start = tree.with_parentheses(node).start
        return (Edit(Span(start, start), name),)
    return tree.wrap(node, f"{name}(", ")")


def tight(tree: Tree, node: ast.expr, needed: int = ATOM) -> str:
    """The expression's text, in parentheses where it is looser than needed."""
    if parenthesised(tree, node):
        start, end = tree.with_parentheses(node)
        return tree.text[start:end]
    return tree.source(node) if binding(node) >= needed else f"({tree.source(node)})"


def instead(tree: Tree, whole: ast.expr, part: ast.expr) -> tuple[Edit, ...]:
    """Only the part is left of the whole; what stands around it is deleted, and parentheses are minded."""
    flat = "\n" not in tree.source(part)  # parentheses also hold lines together
    start, end = tree.with_parentheses(whole) if flat and binding(part) >= ATOM else tree.span(whole)
    inner = tree.with_parentheses(part)
    loose = not parenthesised(tree, part) and not _may_stand(tree, whole, part)
    bare = flat and parenthesised(tree, part) and (_alone(tree, whole) or binding(part) >= ATOM)
    if bare:
        inner = tree.span(part)
    before, after = ("(", ")") if loose else ("", "")
    return (Edit(Span(start, inner.start), before), Edit(Span(inner.end, end), after))


def _may_stand(tree: Tree, whole: ast.expr, part: ast.expr) -> bool:
    """The part may take the place of the whole without parentheses."""
    return binding(part) >= min(binding(whole), POWER) or parenthesised(tree, whole) or _alone(tree, whole)


def _alone(tree: Tree, node: ast.expr) -> bool:
    """It is an argument, an assigned or a returned value: nothing binds it."""
    holder = tree.parent(node)
    if isinstance(holder, ast.Call):
        return node in holder.args
    return isinstance(holder, ast.keyword | ast.stmt)


def number(node: ast.expr) -> Fraction | None:
    """The value of a number written out: 2, -0.5, 1 / 2."""
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}) if _plain(node) else None  # noqa: S307
    except ArithmeticError:
        return None
    return Fraction(value).limit_denominator(64) if isinstance(value, int | float) else None


def _plain(node: ast.expr) -> bool:
    kinds = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
    short = sum(1 for _ in walk(node)) < 9 and not any(isinstance(n, ast.Pow | ast.LShift) for n in walk(node))
    constants = [n.value for n in walk(node) if isinstance(n, ast.Constant)]
    numbers = all(isinstance(v, int | float) for v in constants)
    return short and numbers and all(isinstance(n, kinds) for n in walk(node))


def decimal(value: Fraction) -> str:
    """A power as people write it: 0.5, -2."""
    return str(value.numerator) if value.denominator == 1 else repr(float(value))
