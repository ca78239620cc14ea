"""Interpret a module lazily: reading a name runs the statements that bind it, in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, TypeAlias

from normlint.evaluate import syntax as s
from normlint.evaluate.concrete import statements, world
from normlint.evaluate.concrete.functions import bound_by, bound_names
from normlint.evaluate.concrete.values import MODULE, Budget, File, Scope, Space, Unknown, Unsupported
from normlint.evaluate.module import Module
from normlint.evaluate.walk import walk
from normlint.text.finding import Span
from normlint.text.frozen import kept_each
from normlint.text.pieces import WORD, Piece

STAR: Final = re.compile(r"^\s*from\s+([.\w]+)\s+import\s*\(?\s*\*", re.MULTILINE)


class Deferred:
    """An import from another file of the package, which is looked up when the name is read."""

    def __init__(self, path: str) -> None:
        self.path = path


class Found(NamedTuple):
    """Another file of the package: its key, its text, and the function that finds the files it imports."""

    key: str
    text: str
    find: Find


Find: TypeAlias = "Callable[[str], Found | None]"  # the argument is an import's path, relative or not


def _is_exported_by_none(name: str) -> bool:
    """Return whether a star import leaves a name as it is: `torch`, or a built-in that neither torch nor numpy has."""
    try:
        arrays = [Space(package) for package in ("torch", "numpy") if world.is_installed(package)]
        return name == "torch" or (bool(world.builtin(name)) and not any(world.has(space, name) for space in arrays))
    except (Unsupported, NameError):
        return False


class Program:
    """An interpreted module; `find` returns other files of its package, which share `budget` and `family`."""

    def __init__(
        self,
        text: str,
        find: Find | None = None,
        budget: Budget | None = None,
        family: dict[str, Program] | None = None,
    ) -> None:
        self.module = Module(text)
        self.find = find
        self.budget = budget or Budget()
        self.family = {} if family is None else family
        self.scope = Scope(self, MODULE, {"__name__": "interpreted"})
        self.locals: dict[Span, tuple[frozenset[str], dict[str, str]]] = {}
        self.guarded = 0  # number of enclosing `try` statements that handle ImportError
        self._done: set[Piece] = set()
        self._failed: dict[Piece, Exception] = {}
        self._running: list[int] = []  # start offsets of the statements that are running
        self._stars: list[str] = STAR.findall(text)
        self._whole = False
        self._settled: set[str] = set()  # names whose statements have all been run

    def run(self) -> dict[str, Any]:
        """Run all statements in order, as Python does, and return the module's names."""
        self._whole = True
        with self.budget.deeper():
            for piece in self.module.pieces:
                statements.execute(self.scope, self.module.block(piece))
        return self.scope.names

    # --- names

    def value(self, name: str) -> Any:
        """Return the value of a name of the module or of a built-in; raise NameError if there is none."""
        self.settle(name)
        if name in self.scope.names:
            found = self.scope.names[name]
            return self.settled(found)
        return self._from_star_imports(name)

    def _from_star_imports(self, name: str) -> Any:
        """Return a name that the module itself doesn't bind, from a star import or the built-ins."""
        for path in self._stars:
            other = self._other(path) if path.partition(".")[0] not in world.PACKAGES else None
            if other is None and not _is_exported_by_none(name):
                raise Unsupported("a star import")
            if other is None:
                continue
            try:
                return other.value(name)
            except NameError:
                continue
        return world.imported("torch") if name == "torch" and self._stars else world.builtin(name)

    def settle(self, name: str) -> None:
        """Run the statements that bind the name, before it is read or a function rebinds it."""
        if self._whole or name in self._settled:
            return
        self._run_before(name, self._running[-1] if self._running else None)
        if not self._running:
            self._settled.add(name)

    def settled(self, value: Any) -> Any:
        """Return the value with a deferred import looked up; what can't be read of torch's own Python is unknown."""
        if not isinstance(value, Deferred):
            return value
        try:
            return self._look_up(value.path)
        except Unsupported:
            if not _is_of_tables(value.path):
                raise
            return world.imported(value.path)

    def _run_before(self, name: str, until: int | None) -> None:
        """Run the statements before offset `until` that bind or change the name and haven't been run yet."""
        pieces = self._needed(name)
        for piece in pieces:
            if until is not None and piece.span.start >= until:
                if piece in self._done and piece.span.start not in self._running and piece in self._changing(name):
                    raise Unsupported("a name that is bound again later")
                return
            if piece in self._failed:  # a second run would fail, too
                raise self._failed[piece].with_traceback(None)
            if piece in self._done:
                continue
            self._done.add(piece)
            self._run(piece)

    def _run(self, piece: Piece) -> None:
        """Run a statement, after the earlier ones that bind the same names."""
        self._running.append(piece.span.start)
        guarded, self.guarded = self.guarded, 0
        try:
            for name in self.binds(piece):
                self._run_before(name, piece.span.start)
            with self.budget.deeper():
                statements.execute(self.scope, self.module.block(piece))
        except Exception as error:
            self._failed[piece] = error
            raise
        finally:
            self._running.pop()
            self.guarded = guarded

    @cached_property
    def _index(self) -> dict[str, list[Piece]]:
        """Map each word to the top-level statements that contain it, and the functions and classes of that name."""
        found: dict[str, list[Piece]] = {}
        for piece in self.module.pieces:
            words = piece.names if _defines(piece) else self._words(piece)
            for word in words:
                found.setdefault(word, []).append(piece)
        return found

    def _words(self, piece: Piece) -> set[str]:
        return set(WORD.findall(self.module.source(piece.span)))

    @kept_each
    def _needed(self, name: str) -> list[Piece]:
        """Return the statements to run for a name, in order, with those of the variables its value may share."""
        found, seen, waiting = set(), {name}, [name]
        while waiting:
            for piece in self._changing(waiting.pop()):
                if piece not in found and not _defines(piece) and piece.kind != "import":
                    more = (self._words(piece) & self._variables) - seen
                    seen |= more
                    waiting.extend(more)
                found.add(piece)
        return sorted(found, key=lambda piece: piece.span.start)

    def _changing(self, name: str) -> list[Piece]:
        """Return the statements that bind the name or may change its value."""
        direct = [p for p in self._index.get(name, ()) if _defines(p) or name in self._touches(p)]
        return direct + [p for p in self._callers.get(name, ()) if p not in direct]

    @cached_property
    def _variables(self) -> set[str]:
        """The names bound by statements other than imports and definitions."""
        plain = [p for p in self.module.pieces if not _defines(p) and p.kind != "import"]
        return {name for piece in plain for name in self.binds(piece)}

    @cached_property
    def _callers(self) -> dict[str, list[Piece]]:
        """Map each name to the statements that call a function which mentions it, and so may change its value."""
        found: dict[str, list[Piece]] = {}
        for piece in self.module.pieces:
            for name in () if _defines(piece) or piece.kind == "import" else self._called(piece):
                for word in self._reached(name):
                    found.setdefault(word, []).append(piece)
        return found

    def _called(self, piece: Piece) -> set[str]:
        nodes = walk(self.module.block(piece), own=True) if "(" in self.module.source(piece.span) else ()
        called = {node.func.id for node in nodes if isinstance(node, s.Call) and isinstance(node.func, s.Name)}
        return {name for name in called if any(map(_defines, self._index.get(name, ())))}

    def _reached(self, name: str) -> set[str]:
        """Return the names, without imports and constants, whose value may change when the function is called."""
        seen, waiting = set(), {name}
        while waiting:
            here = waiting.pop()
            seen.add(here)
            for piece in filter(_defines, self._index.get(here, ())):
                waiting |= {word for word in self._words(piece) if word in self._index} - seen
        return {word for word in seen if any(self._holds_state(p, word) for p in self._index[word])}

    def _holds_state(self, piece: Piece, name: str) -> bool:
        """Return whether the statement binds the name to a value that may be mutable."""
        if piece.kind == "import":
            return False
        if re.search(rf"\bglobal [^\n]*\b{name}\b", self.module.text):
            return True
        if _defines(piece):
            set_later = rf"\b(?:{name}|cls)\.\w+ *=(?!=)|\bsetattr\( *{name}\b"
            kept = any(map(_holds_values, self.module.block(piece)))
            return kept or re.search(set_later, self.module.text) is not None
        return any(
            isinstance(node, s.Assign) and not isinstance(node.value, s.Literal | s.Lambda) and name in bound_by(node)
            for node in walk(self.module.block(piece), own=True)
        )

    @kept_each
    def binds(self, piece: Piece) -> set[str]:
        """Return the names that a statement binds."""
        return bound_names(self.module.block(piece))

    @kept_each
    def _touches(self, piece: Piece) -> set[str]:
        """Return the names that a statement binds or whose value it may change."""
        nodes = list(walk(self.module.block(piece), own=True))
        functions = (node.func for node in nodes if isinstance(node, s.Call))
        called = {_root(func.base) for func in functions if isinstance(func, s.Attribute)}
        changed = {name for node in nodes for name in _changed_by(node)}
        return self.binds(piece) | changed | (called - self._modules)

    @cached_property
    def sets_backends(self) -> bool:
        """Whether the text sets one of the settings of torch's backends, which is ignored."""
        return re.search(r"\bbackends\.[\w.]+[ \t]*=(?!=)", self.module.text) is not None

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The names of imported modules, whose functions don't change them."""
        return frozenset(name for name, path in self.module.imports.items() if world.is_module(path)) - self._variables

    def bound(self, name: str) -> bool:
        """Return whether a top-level statement binds the name, or may bind it by a star import."""
        return bool(self._stars) or bool(self._changing(name))

    def reached(self, names: Iterable[str]) -> tuple[Piece, ...]:
        """Return the top-level statements that bind or change these names or, in turn, a name in them, in order."""
        starred = (p for p in self.module.pieces if not _defines(p) and STAR.search(self.module.source(p.span)))
        found, seen, waiting = set(starred), set[str](), list(names)
        while waiting:
            name = waiting.pop()
            more = set[Piece]() if name in seen else {*self._changing(name)} - found
            seen.add(name)
            found |= more
            waiting.extend(word for piece in more if piece.kind != "import" for word in self.named(piece))
        return tuple(sorted(found, key=lambda piece: piece.span.start))

    @kept_each
    def named(self, piece: Piece) -> set[str]:
        """Return the names that occur in a statement, without those in strings."""
        below = list(walk(self.module.block(piece)))
        below += [node for one in below if isinstance(one, s.Class) for node in walk(one.decorators)]
        return {node.id for node in below if isinstance(node, s.Name)} | self.binds(piece)

    def imported(self, path: str) -> Any:
        """Return the value of an import; inside a `try` that handles it, raise ImportError if it isn't installed."""
        own = not _is_of_tables(path)
        if own and not world.is_same(path) and self._file(path) is not None:
            return Deferred(path)
        found = world.imported(path)
        if not own and isinstance(found, Unknown) and self._file(path) is not None:
            return Deferred(path)  # torch's own Python, of which the tables hold nothing
        optional = isinstance(found, Unknown) and self.guarded and not path.startswith(".")
        if optional and not world.is_installed(path):
            raise ModuleNotFoundError(f"No module named {path!r}")
        return found

    def _file(self, path: str) -> tuple[Program, str] | None:
        """Return the package's file that a path names and the name in it ("" for the file itself); or None."""
        if self.find is None:
            return None
        owner, dot, name = path.rpartition(".")
        above = owner if owner.strip(".") else owner + dot
        for module, inside in ((above, name), (path, "")):
            found = self._other(module) if module and not world.is_module(module) else None
            if found not in (None, self) and (not inside or found.bound(inside)):
                return found, inside
        return None

    @kept_each
    def _other(self, path: str) -> Program | None:
        found = self.find(path) if self.find is not None else None
        if found is not None and found.key not in self.family:
            self.family[found.key] = type(self)(found.text, found.find, self.budget, self.family)
        return self.family[found.key] if found is not None else None

    def _look_up(self, path: str) -> Any:
        found = self._file(path)
        assert found is not None
        program, name = found
        return program.value(name) if name else File(partial(self._of_module, program, path))

    def _of_module(self, program: Program, path: str, name: str) -> Any:
        """Return a name of another file that is a module as a value; what torch's own can't tell is unknown."""
        below = f"{path}.{name}"
        try:
            return self._held(program, below, name)
        except Unsupported:
            if not _is_of_tables(path):
                raise
            return world.imported(below)

    def _held(self, program: Program, path: str, name: str) -> Any:
        """Return a name of another file, or the file below it; refuse a flag, which any file may set."""
        with suppress(NameError):  # a star import may lack it
            if program.bound(name):
                found = program.value(name)
                if found is None or isinstance(found, bool):
                    raise Unsupported(f"the flag {path}")
                return found
        if self._file(path) is None:
            raise Unsupported(path)  # the module's __getattr__ may provide it, say
        return self._look_up(path)


def _is_of_tables(path: str) -> bool:
    """Return whether a path begins with a package of the tables, such as torch."""
    return path.partition(".")[0] in world.PACKAGES


def _holds_values(stmt: s.Stmt) -> bool:
    """Return whether a function's defaults or a class's attributes may be mutable; other statements may hold any."""
    match stmt:
        case s.Function(params=params):
            return any(p.default is not None and not isinstance(p.default, s.Literal | s.Unary) for p in params)
        case s.Class(body=body):
            return any(map(_holds_values, body))
        case s.Assign(value=value):
            return not isinstance(value, s.Literal | s.Unary | s.Lambda)
    return not isinstance(stmt, s.Evaluate)


def _changed_by(node: s.Node) -> set[str]:
    """Return the names whose value a node changes in place: `a.b = 1`, `a[0] = 1`, `del a[0]`, `setattr(a, …)`."""
    match node:
        case s.Assign(targets=targets) | s.Evaluate(word="del", value=s.Sequence(items=targets)):
            return set(map(_root, targets))
        case s.Augment(target=target) | s.Evaluate(word="del", value=target):
            return {_root(target)}
        case s.Call(func=s.Name(id="setattr" | "delattr"), args=(first, *_)):
            return {_root(first.value)}
    return set()


def _root(node: s.Expr) -> str:
    while isinstance(node, s.Attribute | s.Subscript):
        node = node.base
    return node.id if isinstance(node, s.Name) else ""


def _defines(piece: Piece) -> bool:
    return piece.kind in ("class", "def")
