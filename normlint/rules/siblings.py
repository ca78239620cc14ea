"""NRM7xx: the norms that a module makes: those that it never applies, or applies in another one's place."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import combinations
from typing import Final, NamedTuple

from normlint.norm.makes import Makes, Owner, constructors, dotted, statements, stored
from normlint.norm.wiring import called_last
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.rules.wiring import norm_applied_twice
from normlint.text.finding import WARNING, Applicability, Edit, Span
from normlint.text.making import crossed, idle, other_tag, tag, uneven
from normlint.text.pieces import COMMENT

makings = Fixes("makings")
_MODULES: Final = ("nn.Module", "torch.nn.Module", "Module")
_NORM: Final = re.compile(r"(?:[A-Z]\w*)?Norm(?:[1-3][dD])?|norm_(?:layer|cls|class|fn|type)|norm")
_OTHER: Final = re.compile(r"Weight|Spectral|Loss")
_MAKING: Final = re.compile(r"_*(?:init|reset)")  # the methods that fill what the constructor makes
_KEPT: Final = re.compile(
    r"(?i)#.*(?:\bunused\b(?!-)|not (?:be )?used|legacy|compat|checkpoint|ckpt|state.?dict|keep|load)"
)
_PARTS: Final = ("children", "named_children", "_modules", "__dict__", "get_submodule")  # all that a module holds
_FEW: Final = 12  # norms of a branch, and branches that are methods
_OF_NORM: Final = ("weight", "bias", "eps")


@calls_rule("NRM711", name="unused-norm", severity=WARNING)
def unused_norm(makes: Makes) -> Iterator[Problem]:
    """Is made and never applied.

    What it was made for is left as it is, and its gain gets no gradient, of which distributed training complains. It
    is an error where another norm that is made like it is applied twice, perhaps in its place.

    Instead: Apply it where it belongs, or drop it

    ```py
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm1 = nn.LayerNorm(dim)
            self.norm2 = nn.LayerNorm(dim)  # error: [unused-norm]
            self.attention = nn.Linear(dim, dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm1(x))
    ```

    Sound is a norm whose comment says that it is kept:

    ```py
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)  # old checkpoints have it
            self.linear = nn.Linear(dim, dim)

        def forward(self, x):
            return self.linear(x)
    ```

    A class whose base may apply it is left alone, and so is one whose norm another file of the package reads.
    """
    owners = makes.classes_at(idle(makes.file.text))
    others = [*norm_applied_twice(makes), *norm_of_sibling(makes)] if owners else []  # whose fix may apply it
    for owner in owners:
        made = _made(owner) if _is_complete(owner) else {}
        own = (p.message for p in others if p.owner.partition(".")[0] == owner.name)
        explained = [made[name] for message in own for name in re.findall(r"`(\w+)`", message) if name in made]
        calls = Counter(dotted(n.func) for n in _nodes(owner) if isinstance(n, ast.Call)) if made else {}
        read = _read(owner) if made else set()
        for name, call in made.items():
            if (
                name in read
                or any(_is_alike(call, one) for one in explained)
                or _KEPT.search(_line_and_above(owner, call))
            ):
                continue
            alike = [n for n, other in made.items() if n != name and calls[f"self.{n}"] > 1 and _is_alike(call, other)]
            more = f", and `{alike[0]}` {calls[f'self.{alike[0]}']} times" if alike else ""
            severity = "error" if alike else ""
            message = f"`{name}` is never applied{more}"
            yield Problem(owner.span(call), message, severity=severity, owner=owner.name, rests_on=(name,))


def _nodes(owner: Owner) -> Iterator[ast.AST]:
    return ast.walk(owner.node) if owner.node is not None else iter(())


def _is_alike(one: ast.Call, other: ast.Call) -> bool:
    return ast.dump(one) == ast.dump(other)


def _made(owner: Owner) -> dict[str, ast.Call]:
    """Return the attributes that the constructor sets to a norm, with the calls that make them."""
    found: dict[str, ast.Call] = {}
    for init in constructors(owner.functions):
        for name, value in stored(init):
            call = value.body if isinstance(value, ast.IfExp) else value
            word = called_last(call) if isinstance(call, ast.Call) else ""
            if isinstance(call, ast.Call) and _NORM.fullmatch(word) and not _OTHER.search(word):
                found.setdefault(name, call)
    return found


def _is_complete(owner: Owner) -> bool:
    """Return whether a class is a module that nothing but its own forward applies, attribute by attribute."""
    node = owner.node
    if not isinstance(node, ast.ClassDef) or any(dotted(base) not in _MODULES for base in node.bases):
        return False
    held = {n.value for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    held |= {arg for n in ast.walk(node) if isinstance(n, ast.Call) and called_last(n) == "super" for arg in n.args}
    itself = any(isinstance(n, ast.Name) and n.id == "self" and n not in held for n in ast.walk(node))
    parts = any(isinstance(n, ast.Attribute) and n.attr in _PARTS for n in ast.walk(node))
    return bool(node.bases) and not itself and not parts and any(f.name == "forward" for f in owner.functions)


def _read(owner: Owner) -> set[str]:
    """Return the attributes that the class reads, or the rest of the text: as a subclass's, or another name's."""
    text, (start, end) = _in_text(owner.text), owner.piece.span
    found = {*text.quoted, *text.others}
    for function in owner.functions:
        making = _MAKING.match(function.name.strip("_")) is not None
        nodes = [n for n in ast.walk(function) if isinstance(n, ast.Attribute)]
        parts = {n.value for n in nodes if making and n.attr in _OF_NORM}
        found |= {n.attr for n in nodes if isinstance(n.ctx, ast.Load) and n not in parts}
    derived = owner.text[:start] + owner.text[end:] if owner.name in text.bases else ""
    return found.union(re.findall(r"\bself\.(\w+)", COMMENT.sub("", derived)))


class _InText(NamedTuple):
    """What a text says of attributes, by their names alone."""

    others: frozenset[str]  # attributes of something else than `self`
    quoted: frozenset[str]  # words that are a string
    bases: frozenset[str]  # the names in the brackets of classes


@lru_cache(maxsize=1)
def _in_text(text: str) -> _InText:
    others = re.findall(r"(?<!\bself)\.(\w+)", COMMENT.sub("", text))
    headers = re.findall(r"^class \w+\(([^\n]*)", text, re.MULTILINE)
    bases = (name for header in headers for name in re.findall(r"\w+", header))
    return _InText(frozenset(others), frozenset(re.findall(r"[\"'](\w+)[\"']", text)), frozenset(bases))


def _line_and_above(owner: Owner, node: ast.AST) -> str:
    """Return the line on which a node begins and the one above it."""
    start = owner.span(node).start
    above = owner.text.rfind("\n", 0, max(owner.text.rfind("\n", 0, start), 0)) + 1
    end = owner.text.find("\n", start)
    return owner.text[above : end if end >= 0 else len(owner.text)]


@calls_rule("NRM712", name="norm-of-sibling", fix=Applicability.UNSAFE)
def norm_of_sibling(makes: Makes) -> Iterator[Problem]:
    """Is applied where its sibling belongs.

    The gain that was trained for the keys scales the queries, or the other way round; a checkpoint of the original
    gives other outputs.

    Instead: Call the norm that is named for it

    ```py
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.to_qk = nn.Linear(dim, 2 * dim)
            self.q_norm = nn.RMSNorm(dim, eps=1e-6)
            self.k_norm = nn.RMSNorm(dim, eps=1e-6)

        def forward(self, x):
            q, k = self.to_qk(x).chunk(2, dim=-1)
            q = self.q_norm(q)
            k = self.q_norm(k)  # error: [norm-of-sibling]
            return q @ k.transpose(-2, -1)
    ```
    ```diff
    -        k = self.q_norm(k)
    +        k = self.k_norm(k)
    ```

    Fix safety: unsafe: a checkpoint may have been trained with the other gain.
    """
    yield from _named_for_another(makes)
    for owner in makes.classes_at(uneven(makes.file.text)):
        names = {f"self.{name}" for name in _made(owner)}
        calls = [n for n in _nodes(owner) if isinstance(n, ast.Call) and dotted(n.func) in names]
        placed = sorted(((owner.span(call).end, call) for call in calls), key=_end) if len(names) > 1 else []
        for ours, theirs in _alternatives(owner) if placed else ():
            here, other = _within(placed, ours), [dotted(call.func) for call in _within(placed, theirs)]
            unlike = [(call, name) for call, name in zip(here, other, strict=False) if dotted(call.func) != name]
            if len(unlike) != 1 or len(here) != len(other) or len(set(other)) < len(other):
                continue
            [(call, source)] = unlike
            name = dotted(call.func)
            if [dotted(one.func) for one in here].count(name) > 1:
                repair = partial(makings.edited, f"Write `{source}`", (Edit(owner.span(call.func), source),))
                message = f"`{name}` is applied twice, and `{source}`, which the other branch applies, is not"
                yield Problem(owner.span(call), message.replace("self.", ""), repair, owner=owner.name)


def _named_for_another(makes: Makes) -> Iterator[Problem]:
    """Yield the norms of queries that are applied to keys, and those of keys that are applied to queries."""
    places = crossed(makes.file.text)
    for owner, function in ((one, f) for one in makes.classes_at(places) for f in one.around(places)):
        for stmt in statements(function):
            call = stmt.value if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
            if not isinstance(stmt, ast.Assign) or not isinstance(call, ast.Call) or not call.args:
                continue
            base, _, name = dotted(call.func).rpartition(".")
            given, kept = _last(call.args[0]), _last(stmt.targets[0])
            sibling = other_tag(name)
            if base and sibling and tag(given) == tag(kept) == tag(sibling) and _has(makes, sibling):
                source = f"{base}.{sibling}"
                repair = partial(makings.edited, f"Write `{source}`", (Edit(owner.span(call.func), source),))
                message = f"`{name}` is applied to `{given}`, which `{sibling}` is named for"
                yield Problem(owner.span(call), message, repair, owner=f"{owner.name}.{function.name}")


def _last(node: ast.expr) -> str:
    return dotted(node).rpartition(".")[2]


def _has(makes: Makes, attribute: str) -> bool:
    """Return whether the text has an attribute of this name."""
    return re.search(rf"\.{attribute}\b", COMMENT.sub("", makes.file.text)) is not None


def _alternatives(owner: Owner) -> Iterator[tuple[Span, Span]]:
    """Yield each two branches of a method, and methods like `forward_pre` and `forward_post`, in either order."""
    pairs = list(combinations([f.body for f in owner.functions if f.name.startswith("forward_p")][:_FEW], 2))
    for function in owner.functions:
        blocks = [getattr(n, name) for n in ast.walk(function) for name in ("body", "orelse") if hasattr(n, name)]
        for block in (b for b in blocks if isinstance(b, list)):
            branches = ((at, stmt) for at, stmt in enumerate(block) if isinstance(stmt, ast.If))
            for at, stmt in branches:
                rest = stmt.orelse or (block[at + 1 :] if isinstance(stmt.body[-1], ast.Return) else [])
                pairs += [(stmt.body, rest)] if rest else []
    for one, two in pairs:
        spans = [Span(owner.span(body[0]).start, owner.span(body[-1]).end) for body in (one, two)]
        yield spans[0], spans[1]
        yield spans[1], spans[0]


def _end(placed: tuple[int, ast.Call]) -> int:
    return placed[0]


def _within(placed: Sequence[tuple[int, ast.Call]], span: Span) -> list[ast.Call]:
    """Return the calls that end within a span; none if there are many."""
    start, end = (bisect_right(placed, place, key=_end) for place in span)
    return [call for _, call in placed[start:end]] if end - start <= _FEW else []
