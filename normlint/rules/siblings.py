"""NRM7xx: the norms that a module makes: those that it never applies, or applies in another one's place."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import takewhile
from typing import Final, NamedTuple

from normlint.norm.makes import Makes, Owner, constructors, statements
from normlint.norm.nodes import Function, arguments, dotted
from normlint.norm.wiring import called_last, is_norm
from normlint.rules.registry import Fixes, Problem, calls_rule
from normlint.rules.wiring import norm_applied_twice
from normlint.text.finding import ERROR, WARNING, Applicability, Edit, Span
from normlint.text.making import crossed, idle, other_tag, tag, uneven
from normlint.text.pieces import COMMENT

makings = Fixes("makings")
_MODULES: Final = ("nn.Module", "torch.nn.Module", "Module")
_GIVEN: Final = re.compile(r"(?:\w+_)?norm(?:_(?:layer|cls|class|fn))?")  # the parameters that a norm is made with
_NORMS: Final = re.compile(r"(?:[a-z]*norm|ln)\d?")  # the word of a name that says norm
_NO_NORMS: Final = ("transform", "unnorm", "denorm")
_MAKING: Final = re.compile(r"_*(?:init|reset|reset_parameters|(?:init|initialize)_(?:weights|parameters))_*")
_KEPT: Final = re.compile(
    r"(?i)#.*(?:unused(?!-)|n.t (?:be )?used|legacy|deprecated|compat|ckpt|checkpoint|state_dict|weights|\bload|keep)"
)
_PARTS: Final = ("children", "named_children", "_modules", "__dict__", "get_submodule", "__getattr__")
_OF_ALL: Final = ("modules", "named_modules", "state_dict", "parameters", "named_parameters")
_VARIANTS: Final = re.compile(r"norm|(?:^|[_.])(?:pre|post)(?:_|\b)")  # in the test between pre-norm and post-norm
_FETCHED: Final = re.compile(r"\bgetattr\(([^,\n]+),[ \t]*(?:f?[\"'](\w*)[{%]|(?![f\"'])[^,)\n]+)")
_NO_MODULE: Final = re.compile(r"(?:torch|nn|F|np|math)\b.*|.*(?:config|cfg|args|opt|module)")
_VALUES: Final = re.compile(r"(?:^|_)(?:v|values?)(?:_|$)")  # which are neither queries nor keys
_LINE: Final = 200  # characters
_FEW: Final = 12  # norms of a branch
_MOST: Final = 100  # norms of a class
_OF_NORM: Final = ("weight", "bias", "eps")


@calls_rule("NRM711", name="unused-norm", severity=WARNING)
def unused_norm(makes: Makes) -> Iterator[Problem]:
    """Is made and never applied.

    The layer that it was made for isn't normalised. Its gain gets no gradient, so distributed training may stop with
    an error. It is reported as an error where another norm that is made like it is applied twice, perhaps in its place.

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
        made = _made(owner, makes) if _is_complete(owner) else {}
        calls = Counter(dotted(n.func) for n in _nodes(owner) if made and isinstance(n, ast.Call))
        twice = {ast.dump(call): name for name, call in made.items() if calls[f"self.{name}"] > 1}
        read, text = _read(owner) if made else set(), _in_text(owner.text)
        own = (p.message for p in others if p.owner.partition(".")[0] == owner.name)
        explained = {ast.dump(made[n]) for message in own for n in re.findall(r"`(\w+)`", message) if n in made}
        left = {name: call for name, call in made.items() if name not in read and not _is_kept(owner, call)}
        for name, call in left.items():
            same = ast.dump(call)
            times = calls[f"self.{twice[same]}"] if same in twice else 0
            more = f", and `{twice[same]}` is applied {times} times" if times else ""
            message = f"`{name}` is never applied{more}"
            if same not in explained and (more or not text.may_fetch(name)):
                yield Problem(
                    owner.span(call), message, severity=ERROR if more else "", owner=owner.name, rests_on=(name,)
                )


def _nodes(owner: Owner) -> Iterator[ast.AST]:
    return ast.walk(owner.node) if owner.node is not None else iter(())


def _made(owner: Owner, makes: Makes) -> dict[str, ast.Call]:
    """Return the attributes that the constructor sets to a norm, with the calls that make them."""
    found: dict[str, ast.Call] = {}
    for init in constructors(owner.functions):
        given = {argument.arg for argument in arguments(init)}
        alone = (s for s in statements(init) if isinstance(s, ast.AnnAssign) or len(getattr(s, "targets", ())) == 1)
        for stmt in (s for s in alone if isinstance(s, ast.Assign | ast.AnnAssign)):
            [target] = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            call = stmt.value.body if isinstance(stmt.value, ast.IfExp) else stmt.value
            if isinstance(call, ast.Call) and dotted(target).startswith("self.") and len(found) < _MOST:
                passed = isinstance(call.func, ast.Name) and call.func.id in given and _GIVEN.fullmatch(call.func.id)
                if passed or (is_norm(call, makes) and not called_last(call).endswith("Loss")):
                    found.setdefault(dotted(target).removeprefix("self."), call)
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
    forward = next((f for f in owner.functions if f.name == "forward"), None)
    return bool(node.bases) and not itself and not parts and forward is not None and not _is_abstract(forward)


def _is_abstract(function: Function) -> bool:
    """Return whether a function has nothing but a docstring, `pass`, or an exception that it raises."""
    body = (s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)))
    decorated = any("abstract" in ast.unparse(one) for one in function.decorator_list)
    return decorated or all(isinstance(stmt, ast.Raise | ast.Pass) for stmt in body)


def _read(owner: Owner) -> set[str]:
    """Return the attributes that the class reads, or the rest of the text: as a subclass's, or another name's."""
    text = _in_text(owner.text)
    found, own = {*text.others}, Counter[str]()
    for function in owner.functions:
        making = _MAKING.fullmatch(function.name) is not None
        nodes = [n for n in ast.walk(function) if isinstance(n, ast.Attribute)]
        own.update(n.attr for n in nodes if _is_own(n))
        parts = {n.value for n in nodes if making and n.attr in _OF_NORM}
        found |= {n.attr for n in nodes if isinstance(n.ctx, ast.Load) and n not in parts}
        found.add(function.name)  # of a property
        if not making and any(n.attr in _OF_ALL for n in nodes):
            found |= {n.attr for n in _nodes(owner) if isinstance(n, ast.Attribute) and _is_own(n)}
    derived = owner.name in text.bases
    return found.union(name for name, times in text.own.items() if derived and times > own[name])


def _is_own(node: ast.AST) -> bool:
    """Return whether a node is an attribute of `self`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


class _InText(NamedTuple):
    """What a text says of attributes, by their names alone."""

    others: frozenset[str]  # attributes of something else than `self`
    quoted: frozenset[str]  # words that are a string
    bases: frozenset[str]  # the names in the brackets of classes, and those that have another name or are patched
    own: Counter[str]  # how often the text has an attribute of `self`
    fetched: tuple[str, ...]  # what names begin with that are put together, as in `getattr(block, f"norm{i}")`

    def may_fetch(self, name: str) -> bool:
        """Return whether an attribute of this name may be read by a string."""
        return name in self.quoted or name.startswith(self.fetched)


@lru_cache(maxsize=1)
def _in_text(text: str) -> _InText:
    plain = COMMENT.sub("", text)
    headers = re.findall(r"^[ \t]*class[ \t]+\w+\(([^()]*(?:\([^()]*\)[^()]*)*)\)", plain, re.MULTILINE)
    bases = [name for header in headers for name in re.findall(r"\w+", header)]
    bases += re.findall(r"^[ \t]*\w+[ \t]*=[ \t]*(\w+)[ \t]*$", plain, re.MULTILINE)
    if re.search(r"\.forward[ \t]*=(?!=)", plain) is not None:
        bases += re.findall(r"^class[ \t]+(\w+)", plain, re.MULTILINE)
    fetched = [begin for of, begin in _FETCHED.findall(plain) if not _NO_MODULE.fullmatch(of.strip())]
    fetched += [""] * len(re.findall(r"\)\.(?:named_)?children\(", plain))
    return _InText(
        frozenset(re.findall(r"(?<!\bself)\.(\w+)", plain)),
        frozenset(re.findall(r"[\"'](\w+)[\"']", text)),
        frozenset(bases),
        Counter(re.findall(r"\bself\.(\w+)", plain)),
        tuple(dict.fromkeys(fetched)),
    )


def _is_kept(owner: Owner, node: ast.AST) -> bool:
    """Return whether a comment on a statement's lines, or above them, says that it is kept unused."""
    start, end = owner.span(node)
    stop = owner.text.find("\n", end, end + _LINE)
    if _KEPT.search(owner.text, start, stop if stop >= 0 else min(end + _LINE, len(owner.text))):
        return True
    above = owner.text[max(start - 4 * _LINE, 0) : max(owner.text.rfind("\n", 0, start), 0)].split("\n")
    comments = takewhile(lambda line: line.lstrip()[:1] == "#", reversed(above))
    return any(map(_KEPT.search, comments))


@calls_rule("NRM712", name="norm-of-sibling", fix=Applicability.UNSAFE)
def norm_of_sibling(makes: Makes) -> Iterator[Problem]:
    """Is applied where its sibling belongs.

    One layer's gain scales what another layer's was trained for, so a checkpoint of the original gives other outputs.

    Instead: Call the norm that is meant there

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

    Two things are compared: the words for queries and keys in the names of norms and of what they get, and the
    branches for pre-norm and post-norm, where one applies a norm twice in the place of another that the other branch
    applies. A function that also applies the right norm, or asks whether there is one, is left alone.

    Fix safety: unsafe: a checkpoint may have been trained with the other gain.
    """
    yield from _named_for_another(makes)
    for owner in makes.classes_at(uneven(makes.file.text)):
        names = {f"self.{name}" for name in _made(owner, makes)}
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
    text = makes.file.text
    places = crossed(text) if re.search(r"\btorch\b", text) else ()
    for owner, function in ((one, f) for one in makes.classes_at(places) for f in one.around(places)):
        for stmt in statements(function):
            call = stmt.value if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
            if not isinstance(stmt, ast.Assign) or not isinstance(call, ast.Call) or not call.args:
                continue
            base, _, name = dotted(call.func).rpartition(".")
            given, kept = _last(call.args[0]), _last(stmt.targets[0])
            sibling = other_tag(name)
            if base and sibling and tag(given) == tag(kept) == tag(sibling) and _is_norms(name) and _has(text, sibling):
                if _tells_apart(function, sibling):
                    continue
                source = f"{base}.{sibling}"
                repair = partial(makings.edited, f"Write `{source}`", (Edit(owner.span(call.func), source),))
                message = f"`{name}` is applied to `{given}`, which `{sibling}` is named for"
                yield Problem(owner.span(call), message, repair, owner=f"{owner.name}.{function.name}")


def _is_norms(name: str) -> bool:
    """Return whether one of a name's words says norm, as `layernorm` does and `transform` doesn't."""
    words = [word for word in name.lower().split("_") if _NORMS.fullmatch(word)]
    return any(not word.startswith(_NO_NORMS) for word in words)


def _tells_apart(function: Function, sibling: str) -> bool:
    """Return whether a function applies the sibling to what it is named for, or asks whether there is none."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=called, args=[first, *_]) if _last(called) == sibling:
                if tag(_last(first)) in ("", tag(sibling)) and not _VALUES.search(_last(first)):
                    return True
            case ast.Compare(left=left, ops=[ast.Is()]) if _last(left) == sibling:
                return True
    return False


def _last(node: ast.expr) -> str:
    return dotted(node).rpartition(".")[2]


def _has(text: str, attribute: str) -> bool:
    """Return whether a text has an attribute of this name."""
    return re.search(rf"\.{attribute}\b", COMMENT.sub("", text)) is not None


def _alternatives(owner: Owner) -> Iterator[tuple[Span, Span]]:
    """Yield the branches for pre-norm and post-norm, which may be methods, in either order."""
    methods = {f.name: f.body for f in owner.functions}
    pairs = [(methods["forward_pre"], methods["forward_post"])] if {"forward_pre", "forward_post"} <= {*methods} else []
    for function in owner.functions:
        blocks = [getattr(n, name) for n in ast.walk(function) for name in ("body", "orelse") if hasattr(n, name)]
        for block in (b for b in blocks if isinstance(b, list)):
            branches = ((at, stmt) for at, stmt in enumerate(block) if isinstance(stmt, ast.If))
            for at, stmt in branches:
                rest = stmt.orelse or (block[at + 1 :] if isinstance(stmt.body[-1], ast.Return) else [])
                pairs += [(stmt.body, rest)] if rest and _VARIANTS.search(ast.unparse(stmt.test)) else []
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
