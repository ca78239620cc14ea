"""Append to a text the definitions that its norms take from other files of the package.

Only definitions that the prefilter names are looked for, and what these need themselves. The text keeps its offsets:
what follows its end comes from other files. A definition whose name the text already uses is renamed.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from normlint.evaluate.module import Module
from normlint.text.elsewhere import Elsewhere, File, Place
from normlint.text.frozen import kept_each
from normlint.text.marks import any_reduction
from normlint.text.pieces import Piece, with_line_feeds
from normlint.text.syntax import parsed_part
from normlint.text.taking import is_norm, taken

_MOST: Final = 60_000  # most characters that are taken
_LONGEST: Final = 30_000  # most characters of one statement
_CONSTANT: Final = 1_000  # most characters of one that defines no class and no function
_BUILTIN: Final = frozenset(dir(builtins))
_Key = tuple[str, str]  # a file and a name in it; for what is outside the package, "" and its dotted path


class Borrowed(NamedTuple):
    """A text with the definitions taken from other files, and the files that were looked for, with their digests."""

    text: str
    asked: tuple[tuple[str, str], ...] = ()


def borrowed(text: str, path: str) -> Borrowed:
    """Return the text of a file at this absolute path, followed by the definitions that its norms take from others."""
    names = dict.fromkeys(taken(text))
    if not names:
        return Borrowed(text)
    try:
        lender = _Lender(File(with_line_feeds(text), path))
    except (SyntaxError, RecursionError):
        return Borrowed(text)
    try:
        parts = list(lender.lend(tuple(names)))
    except (SyntaxError, RecursionError):
        parts = []
    dotted = [re.escape(name) for name in names if "." in name and _local(name) in lender.given and any(parts)]
    within = re.compile(rf"(?<![\w.])(?:{'|'.join(dotted)})\b")  # `ops.rms_norm` is as long as `ops_rms_norm`
    own = within.sub(lambda match: _local(match[0]), text) if dotted else text
    whole = f"{own}\n{''.join(parts)}" if any(parts) else text
    return Borrowed(whole, tuple(sorted(lender.elsewhere.asked.items())))


class _Scope:
    """The top-level names of a file."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.module = Module(file.text)
        self.imports = self.module.imports

    def compound(self, name: str) -> Piece | None:
        """Return the first `if` or `try` statement that defines the name, and perhaps others; None if there is none."""
        return next((p for p in self.module.index.get(name, ()) if p.kind == "compound"), None)


class _Lender:
    def __init__(self, own: File) -> None:
        self.elsewhere = Elsewhere()
        self._own = own
        self._here: dict[_Key, str] = {}  # the names of definitions in the text
        self._done: set[_Key] = set()
        self._left = _MOST
        self.given: set[str] = set()  # the names of the text that are defined now
        scope = self._scope(own)
        self._used = {*scope.imports, *scope.module.index, *_BUILTIN}
        self._here.update((("", path), name) for name, path in scope.imports.items())

    def lend(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the definitions of what the text imports by these names, with what they need."""
        own = self._scope(self._own).module.index
        several = (name for name in names if name not in own and ("." not in name or self._is_of_module(name)))
        found = {name: self.elsewhere.place(name, self._own) for name in several}
        places = {name: place for name, place in found.items() if place is not None and _may_lend(name, place)}
        for name, place in places.items():
            local = _local(name)
            self.given.add(local)
            self._used.add(local)
            known = self._here.setdefault(_key(place), local)
            yield f"{local} = {known}\n" if known != local else ""
        for place in places.values():
            yield from self._define(place)

    def _is_of_module(self, name: str) -> bool:
        """Return whether a dotted name begins with a module that the text imports once, and with nothing else."""
        first, text = name.partition(".")[0], self._own.text
        bound = rf"\b(?:def|lambda)\b[^:\n]*[(, ]{first}\b|\b{first}[ \t]*=(?!=)|\b(?:for|as|import)[ \t]+{first}\b"
        branch = rf"^[ \t]+(?:from|import)\b.*\b{first}\b"
        once = len(re.findall(bound, text)) <= 1 and not re.search(branch, text, re.MULTILINE)
        return once and _local(name) not in self._used

    @kept_each
    def _scope(self, file: File) -> _Scope:
        return _Scope(file)

    def _define(self, place: Place) -> Iterator[str]:
        """Yield a statement of another file, after all that it needs."""
        piece, scope, key = place.piece, self._scope(place.file), _key(place)
        size = piece.span.end - piece.span.start
        if key in self._done or size > min(self._left, _CONSTANT if piece.kind == "plain" else _LONGEST):
            return
        self._done.add(key)
        self._left -= size
        tree = parsed_part(scope.file.text, piece.span)
        if not tree.body:
            return
        bases = _bases(tree)
        whole = bases | _looked_into(tree) if piece.kind == "class" else None
        renamed: dict[str, str] = {}
        for name in sorted(_named(tree) - _BUILTIN):
            follow = name in bases or is_norm(name)
            yield from self._provide(name, scope, renamed, follow, made=whole is not None and name not in whole)
        own = {piece.names[0]: self._here[key]} if piece.kind != "compound" else {}
        yield _written(scope.file.text[slice(*piece.span)], tree, {**renamed, **own})

    def _provide(self, name: str, scope: _Scope, renamed: dict[str, str], follow: bool, *, made: bool) -> Iterator[str]:
        """Yield what a name of another file needs: its definition, an import, or a stub of a class.

        `follow`: look for it in a third file, too. `made`: it is only called, so that a stub of a class will do.
        """
        path = scope.imports.get(name, "")
        outside = bool(path) and scope.file.piece_named(name) is None and (path.startswith("torch") or not follow)
        place = None if outside else self.elsewhere.place(name, scope.file)
        several = scope.compound(name)
        if place is not None:
            key = _key(place)
            renamed[name] = self._name(key, name)
            if made and place.piece.kind == "class":
                yield f"class {renamed[name]}: ...\n" if key not in self._done else ""
            else:
                yield from self._define(place)
        elif path:
            known = ("", path) in self._here
            renamed[name] = self._name(("", path), name)
            yield "" if known else _import(path, renamed[name])
        elif several is not None and self._used.isdisjoint(several.names):
            self._used.update(several.names)
            yield from self._define(Place(several, scope.file))

    def _name(self, key: _Key, name: str) -> str:
        if key not in self._here:
            new, number = name, 1
            while new in self._used:
                number += 1
                new = f"{name}{number}"
            self._here[key] = new
            self._used.add(new)
        return self._here[key]


def _local(name: str) -> str:
    """Return the name that a definition gets in the text: `ops_rms_norm` for `ops.rms_norm`."""
    return name.replace(".", "_")


def _key(place: Place) -> _Key:
    return place.file.path, place.piece.names[0] if place.piece.kind != "compound" else f"{place.piece.span.start}"


def _may_lend(name: str, place: Place) -> bool:
    """Return whether a definition is worth taking: it has a norm's name, or computes a reduction."""
    named = is_norm(name.rpartition(".")[2]) or is_norm(place.piece.names[0])
    bare = "." not in name or place.piece.kind != "def"  # a function of a module may hand all to a kernel
    return (named and bare) or any_reduction(place.file.text, place.piece.span)


def _import(path: str, name: str) -> str:
    head, dot, last = path.rpartition(".")
    if not dot:
        return f"import {path} as {name}\n"
    return f"from {head if head.strip('.') else f'{head}.'} import {last} as {name}\n"


def _named(tree: ast.AST) -> set[str]:
    """Return the names in a statement that may refer to something outside it."""
    return {node.id for node in _free(tree)}


def _free(node: ast.AST, bound: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Yield the names that are no parameter of a function around them."""
    if isinstance(node, ast.Name) and node.id not in bound:
        yield node
    inner = bound
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        inner = bound.union(n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg))
    for child in ast.iter_child_nodes(node):
        yield from _free(child, bound if isinstance(child, ast.arguments) else inner)


def _bases(tree: ast.Module) -> set[str]:
    """Return the names in the bases of a class statement."""
    bases = (base for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases)
    return {n.id for base in bases for n in ast.walk(base) if isinstance(n, ast.Name)}


def _looked_into(tree: ast.Module) -> set[str]:
    """Return the names in a class whose attributes are read, and those of the functions that it calls."""
    asked = {n.value.id for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    calls = (n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    return asked | {name for name in calls if not name.strip("_")[:1].isupper()}


def _written(source: str, tree: ast.Module, renamed: dict[str, str]) -> str:
    """Return the source of a statement, with names replaced by those used in the text."""
    lines = source.split("\n")
    other = (n for n in _free(tree) if renamed.get(n.id, n.id) != n.id)
    for line, column, name in sorted(((n.lineno - 1, n.col_offset, n.id) for n in other), reverse=True):
        old = lines[line].encode()
        lines[line] = (old[:column] + renamed[name].encode() + old[column + len(name.encode()) :]).decode()
    text = "\n".join(lines).rstrip()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name in renamed:
            text = re.sub(rf"\b(class|def)([ \t]+){node.name}\b", rf"\1\2{renamed[node.name]}", text, count=1)
    return f"{text}\n"
