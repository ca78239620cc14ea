"""Select the top-level statements, and the functions in them, that may compute a norm and so have to be evaluated.

The light domain decides it: it walks the functions that call a reduction, and those that receive their results.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from normlint.evaluate import light, origins
from normlint.evaluate.ops import OPS
from normlint.evaluate.origins import Called, Seen, Value, join
from normlint.norm.conventions import intent
from normlint.norm.units import Read, Unit, bases_of, mentions, reached, read_of
from normlint.text.finding import Span
from normlint.text.frozen import kept_each
from normlint.text.marks import Marks
from normlint.text.pieces import WORD, Piece, methods

Functions = frozenset[str] | None  # names of functions; None: all of them
Found = dict[Piece, Functions]  # pieces that may hold a norm, in text order, with their functions
Candidates = tuple[tuple[int, Functions], ...] | None  # (start of a piece, its functions); None: not computed yet
_MOST_CALLS: Final = 200  # followed in one text
_MOST_READ: Final = 500_000  # characters read in one text, counting repeated readings
_MOST_CALLED: Final = 40  # functions reachable from one function
_LOOSE: Final = ("plain", "compound")
_FUNCTION: Final = re.compile(r"\n[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\((?!self|cls)")  # no method
_CLASS: Final = re.compile(r"^[ \t]*class\b", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_AS: Final = re.compile(r"\b(\w+) as (\w+)")
_HANDS_ON: Final = re.compile(r"=[^=\n]*(?:\blambda\b|\bpartial\(|\b[\w.]+\s*$)")
_ROOT: Final = re.compile(r"sqrt|pow|norm|std|recip|exp|log|\*\*|/|\b(?:self|cls)\.\w+\(")
_SUPER: Final = re.compile(r"\bsuper\([^()]*\)\.$")


def candidates(text: str, pieces: Sequence[Piece], marks: Marks) -> Found:
    """Return the pieces of the text that may compute a norm, in text order, with the functions concerned."""
    return _Reading(text, pieces, marks).candidates() if marks.seeds or marks.wrapped else {}


class _Reading:
    """The light walk over a text: it follows each statistic from function to function."""

    def __init__(self, text: str, pieces: Sequence[Piece], marks: Marks) -> None:
        self.text = text
        self.pieces = pieces
        self._starts = [piece.span.start for piece in pieces]
        self._marks = marks
        self._waiting: dict[Unit, None] = {}  # a stack: the last one is read first
        self._others: dict[str, set[str]] = {}  # function → names that loose statements bind to it
        self._made: set[str] = set()  # names bound by loose statements that call a reduction
        self._special: set[Span] = set()  # spans of the units that were read
        self._givers: dict[Span, Value] = {}  # results of the units that return a statistic
        self.attrs: dict[str, Value] = {}
        self._arrived: set[Unit] = set()
        self._whole: set[Piece] = set()
        self._known: dict[object, Value] = {}
        self._calls = 0
        self._roots: dict[Span, bool] = {}  # whether a called unit may take a root
        self._just: dict[tuple[str, frozenset[str]], Unit] = {}  # keys whose users are in `_waiting` already
        self._users: dict[tuple[str, frozenset[str]], tuple[Unit, ...]] = {}
        self.index: dict[str, list[Piece]] = {}
        for piece in pieces:
            for name in self._names(piece):
                self.index.setdefault(name, []).append(piece)

    # --- pieces, units and classes

    def piece_at(self, at: int) -> Piece:
        return self.pieces[max(bisect_right(self._starts, at) - 1, 0)]

    @kept_each
    def units(self, piece: Piece) -> tuple[Unit, ...]:
        if piece.kind == "import":
            return ()
        if piece.kind == "class":
            return tuple(Unit(m.span, m.name, piece) for m in methods(self.text, piece.span))
        return (Unit(piece.span, piece.names[0], piece) if piece.kind == "def" else self._loose,)

    def unit_at(self, at: int) -> Unit | None:
        """Return the unit at an offset, or None for an offset in a class but outside its methods."""
        units = self.units(self.piece_at(at))
        if self.piece_at(at).kind in _LOOSE:
            return self._loose
        return next((unit for unit in units if unit.span.start <= at < unit.span.end), None)

    @cached_property
    def _loose(self) -> Unit:
        """Return the statements that define neither a class nor a function, as one unit."""
        return Unit(Span(-1, -1), "", next((p for p in self.pieces if p.kind in _LOOSE), self.pieces[0]))

    def source(self, unit: Unit) -> str:
        if unit.span.start >= 0:
            return self.text[slice(*unit.span)]
        return "".join(self.text[slice(*p.span)] for p in self.pieces if p.kind in _LOOSE)

    @cached_property
    def _lines(self) -> dict[str, set[str]]:
        """Return each class name with the names of its bases in the text, and its own."""
        classes = {p.names[0]: p for p in self.pieces if p.kind == "class"}
        direct = {name: bases_of(self.text, p.span) & classes.keys() for name, p in classes.items()}
        return {name: reached({name}, direct) for name in classes}

    @kept_each
    def related(self, name: str) -> list[Piece]:
        """Return the base classes and subclasses of a class, and the class itself."""
        line = self._lines.get(name, set())
        below = {other for other, above in self._lines.items() if name in above}
        return [p for other in line | below for p in self.index[other] if p.kind == "class"]

    def targets(self, called: Called, piece: Piece) -> list[Unit]:
        """Return the functions of the text that a call in `piece` may refer to."""
        if not called.own:
            found = [p for p in self.index.get(called.name, ()) if p.kind == "def"]
            return [unit for p in found for unit in self.units(p)]
        owner = piece.names[0] if called.own == "self" and piece.kind == "class" else called.own
        if owner not in self.index:
            return []
        return [u for p in self.related(owner) for u in self.units(p) if u.name == called.name]

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """Return the local names of ops that are imported under another name."""
        imports = (p.span for p in self.pieces if p.kind in ("import", "compound"))
        pairs = (pair for span in imports for pair in _AS.findall(self.text, *span))
        return {other: name for name, other in pairs if name in OPS}

    @cached_property
    def _handing(self) -> set[str]:
        """Return the names that loose statements bind to something that may be a function."""
        plain = [p for p in self.pieces if p.kind == "plain" and p.names]
        return {name for p in plain if _HANDS_ON.search(self.text, *p.span) for name in p.names} | self._made

    # --- the walk

    def candidates(self) -> Found:
        seeds = self._marks.seeds if self.pieces else []
        loose = [piece for piece in {self.piece_at(at) for at in seeds} if piece.kind in _LOOSE]
        self._made.update(name for piece in loose for name in self._names(piece))
        holding = {p for p in loose if p.kind == "compound" and _CLASS.search(self.text, *p.span)}
        for at in seeds:
            unit, piece = self.unit_at(at), self.piece_at(at)
            if unit is None or piece in holding:
                self._whole.add(piece)
            elif unit.span not in self._special:
                self._special.add(unit.span)
                self._waiting[unit] = None
        self._arrived.update(self._units_at(self._marks.wrapped))
        for name in self._made:
            self._waiting.update(dict.fromkeys(self._using(name)))
        for unit in list(self._waiting):
            read = read_of(self.source(unit))
            if read is not None:
                self._gives(unit, read.seen)
        left = max(_MOST_READ, 4 * len(self.text))
        for _ in range(_MOST_CALLS):
            if self._waiting and left > 0:
                unit = self._waiting.popitem()[0]
                self._just.clear()
                left -= len(self.source(unit))
                self._process(unit)
        self._arrived.update(self._waiting)
        return self._found()

    def _gives(self, unit: Unit, seen: Seen) -> None:
        """Queue the units that name this one, if it returns a statistic of its arguments."""
        result = seen.result
        own = any("@" not in label and label[0] != "#" for label in result.stats)
        nested = any(isinstance(made, origins.Nested) for made in result.made)
        known = own or nested or not result.stats.isdisjoint(result.bare)
        if known and unit.span not in self._givers:
            self._givers[unit.span] = result
            left_out = self._just.setdefault(self._key(unit), unit)
            again = (left_out,) if left_out != unit else self._naming(unit)  # those of equal units are queued already
            self._waiting.update(dict.fromkeys(again))

    def _process(self, unit: Unit) -> None:
        self._special.add(unit.span)
        read = read_of(self.source(unit))
        if read is None:
            self._whole.add(unit.piece)
            return
        seen = read.seen
        if self._asks(seen, unit):
            seen = self._with_text(read, unit) or seen
        self._note(unit, seen)

    def _asks(self, seen: Seen, unit: Unit) -> bool:
        """Return whether attributes or functions of the text can change what the unit shows."""
        if not self.attrs.keys().isdisjoint(seen.read):
            return True
        for called in seen.called:
            found = self.targets(called, unit.piece)
            if found and (called.given or any(u.span in self._givers for u in found)):
                return True
            if not called.own and (called.name in self._renamed or called.name in self._handing):
                return True
        return False

    def _with_text(self, read: Read, unit: Unit) -> Seen | None:
        try:
            return light.seen(read.body, _Here(self, unit.piece), binds=read.seen.binds)
        except RecursionError:
            self._arrived.add(unit)
            return None

    def _note(self, unit: Unit, seen: Seen) -> None:
        """Record what a walk has shown, and queue the units that it concerns."""
        named = intent(unit.qualname)
        if seen.met or (seen.weakly and named in ("rms", "norm", "layer", "l2")):
            self._arrived.add(unit)
        for name, value in seen.attrs.items():
            before = self.attrs.get(name, origins.NOTHING)
            if value.made or not value.stats <= before.stats:
                self.attrs[name] = join((before, value))
                if self.attrs[name] != before:
                    self._known.clear()
                    self._waiting.update(dict.fromkeys(self._units_at(self._places(name)[True])))
        self._gives(unit, seen)

    def _units_at(self, places: Iterable[int]) -> Iterator[Unit]:
        return (unit for unit in map(self.unit_at, places) if unit is not None)

    def _names(self, piece: Piece) -> Sequence[str]:
        return _FUNCTION.findall(self.text, *piece.span) if piece.kind == "compound" else piece.names

    def _using(self, name: str) -> Iterator[Unit]:
        """Yield the units that name what a loose statement binds."""
        return self._units_at(self._places(name)[False])

    @kept_each
    def _places(self, name: str) -> tuple[list[int], list[int]]:
        """Return the offsets at which a name stands without a dot before it, and those with one."""
        found: tuple[list[int], list[int]] = [], []
        for at in mentions(self.text, name, Span(0, len(self.text))):
            found[self.text[at - 1 : at] == "."].append(at)
        return found

    def _naming(self, unit: Unit) -> Iterator[Unit]:
        """Yield the other units that name this one, as a function or as a method of a related class."""
        key = self._key(unit)
        if key not in self._users:
            self._users[key] = tuple(dict.fromkeys(self._users_of(*key))) if unit.name else ()
        return (other for other in self._users[key] if other != unit)

    def _key(self, unit: Unit) -> tuple[str, frozenset[str]]:
        """Return the name of a unit and its related classes; units with the same key have the same users."""
        related = self.related(unit.piece.names[0]) if unit.piece.kind == "class" else ()
        return unit.name, frozenset(p.names[0] for p in related)

    def _users_of(self, name: str, classes: frozenset[str]) -> Iterator[Unit]:
        """Yield the units that name a function, or a method of these classes."""
        for at in self._places(name)[bool(classes)]:
            owner = _WORD.findall(self.text, max(at - 60, 0), at - 1)[-1:] if classes else []
            own = owner in (["self"], ["cls"]) or _SUPER.search(self.text, max(at - 60, 0), at) is not None
            if classes and self.text[at - 2] != ")" and not own and not classes.issuperset(owner):
                continue
            other = self.unit_at(at)
            if other is not None and (not own or classes.issuperset(other.piece.names[:1])):
                yield other

    # --- calls

    def call(
        self, called: Called, args: Sequence[Value], named: Mapping[str, Value], depth: int, piece: Piece
    ) -> Value | None:
        """Return the result of a call of a function of the text; it is followed only if it is given a statistic."""
        found = self.targets(called, piece)
        if not found:
            return None
        given = origins.mix((*args, *named.values()))
        how = given.how | (origins.ROOTED if given.stats and any(map(self._may_root, found)) else 0)
        results = [Value(given.bare | {f"{called.name}()"}, given.stats, how)]
        for unit in found:
            function = self._function(unit) if called.given or unit.span in self._givers else None
            if function is not None:
                env = origins.bound(function.args, args, named)
                results.append(self._followed(unit, function, env, depth) if called.given else self._given(unit, env))
        return join(results)

    def _may_root(self, unit: Unit) -> bool:
        """Return whether the unit, or a function that it reaches, may take a root or divide."""
        if unit.span not in self._roots:
            self._roots[unit.span] = self._roots_below(unit)
        return self._roots[unit.span]

    def _roots_below(self, unit: Unit) -> bool:
        seen, waiting = {unit.span}, [unit]
        while waiting and len(seen) <= _MOST_CALLED:
            source = self.source(waiting.pop())
            if _ROOT.search(source):
                return True
            named = (p for name in set(WORD.findall(source)) & self.index.keys() for p in self.index[name])
            new = [u for p in named for u in self.units(p) if u.span not in seen]
            seen.update(u.span for u in new)
            waiting += new
        return bool(waiting)

    def _function(self, unit: Unit) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        read = read_of(self.source(unit))
        if read is None:
            self._whole.add(unit.piece)
        return read and light.function_of(read.body)

    def _given(self, unit: Unit, env: origins.Env) -> Value:
        """Return the statistic that a unit returns, in terms of the caller's arguments."""
        result = self._givers[unit.span]
        stats = origins.mix([env.get(label, Value(frozenset((label,)))) for label in result.stats])
        bare = origins.mix([env.get(label, Value(frozenset((label,)))) for label in result.bare])
        strong = origins.STRONG if stats.how & origins.SQUARED else 0
        how = result.how | stats.how | bare.how | strong
        return Value(bare.bare, stats.bare | stats.stats | bare.stats, how, result.made)

    def _followed(self, unit: Unit, function: ast.AST, env: origins.Env, depth: int) -> Value:
        key = unit.span, tuple(env.items())
        if key in self._known:
            return self._known[key]
        self._calls += 1
        if self._calls > _MOST_CALLS:
            self._arrived.add(unit)
            return origins.mix(env.values())
        self._known[key] = origins.NOTHING
        into = Seen()
        value = self._known[key] = light.result_of(function, env, _Here(self, unit.piece), into, depth)
        if into.met:
            self._arrived.add(unit)
        if into.attrs:
            self._note(unit, into)
        return value

    def global_(self, name: str) -> Value | None:
        """Return the value of a global name if it is a function or a renamed op, else None."""
        if name in self._renamed:
            return Value(made=(self._renamed[name],))
        found = [p for p in self.index.get(name, ()) if p.kind in _LOOSE]
        if not found:
            return None
        key = "global", name
        if key not in self._known:
            self._known[key] = origins.NOTHING
            for piece in found:
                read = read_of(self.text[slice(*piece.span)])
                if read is not None:
                    self._known[key] = light.global_of(read.body, name, _Here(self, piece))
        return self._known[key] if self._known[key].made else None

    # --- the result

    def _found(self) -> Found:
        reached_, waiting, done = set(self._arrived), list(self._arrived), set()
        while waiting:
            unit = waiting.pop()
            key = *self._key(unit), unit.piece.kind
            if key in done:
                continue
            done.add(key)
            names = self._made if not unit.name else self._aliases(unit.name) if unit.piece.kind == "def" else set()
            naming = {*self._naming(unit), *(u for name in names for u in self._using(name))}
            waiting += naming - reached_
            reached_ |= naming
        found: Found = dict.fromkeys(self._whole)
        loose = any(p.kind in _LOOSE for p in found)
        for unit in reached_:
            loose |= unit.piece.kind in _LOOSE
            if unit.piece.kind == "class" and unit.piece not in self._whole:
                found[unit.piece] = (found.get(unit.piece) or frozenset()) | {unit.name}
            else:
                found[unit.piece] = None
        if loose:
            found.update((p, None) for p in self.pieces if p.kind in _LOOSE)
        if any(p.kind == "class" for p in found):
            self._inherit(found)
        return {p: found[p] for p in self.pieces if p in found and p.kind != "import"}

    def _aliases(self, function: str) -> set[str]:
        """Return the names that loose statements bind to a function, directly or through other names."""
        if function in self._others:
            return self._others[function]
        names = self._others[function] = set()
        waiting = [function]
        while waiting:
            name = waiting.pop()
            for at in mentions(self.text, name, Span(0, len(self.text))):
                piece = self.piece_at(at)
                if piece.kind == "plain" and name not in piece.names:
                    waiting += set(piece.names) - names
                    names.update(piece.names)
        return names

    def _inherit(self, found: Found) -> None:
        """Add to each class the functions that its base classes hold."""
        own = dict(found)
        for piece in self.pieces:
            if piece.kind == "class":
                above = [p for name in self._lines[piece.names[0]] for p in self.index[name] if p in own]
                if above:
                    sets = [own[p] for p in above]
                    found[piece] = None if None in sets else frozenset().union(*[s for s in sets if s])


class _Here(origins.Text):
    """The text as seen from a function in one of its pieces."""

    def __init__(self, reading: _Reading, piece: Piece) -> None:
        self._reading = reading
        self._piece = piece

    def attribute(self, name: str) -> Value:
        return self._reading.attrs.get(name, origins.NOTHING)

    def name(self, name: str) -> Value | None:
        return self._reading.global_(name)

    def call(self, called: Called, args: Sequence[Value], named: Mapping[str, Value], depth: int) -> Value | None:
        return self._reading.call(called, args, named, depth, self._piece)
