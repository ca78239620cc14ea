"""Find the gains of norms that an optimizer exempts from weight decay, by the names and classes that select them.

A test that isn't understood may come out either way, so that what it selects is unknown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple

from normlint.norm.conventions import intent
from normlint.norm.makes import Makes, Owner, constructors, defaults, stored
from normlint.norm.nodes import Function, arguments, dotted, plain
from normlint.norm.wiring import called_last
from normlint.text.finding import Span

_OVER: Final = ("named_parameters", "modules", "named_modules", "parameters")  # methods that iterate over a model
_MOST: Final = 5_000  # nodes; longer functions aren't read
_FEATURES: Final = ("rms", "layer", "norm")
_SHIFTS: Final = ("bias", "beta", "shift", "b_2")

Known = Mapping[str, frozenset[str]]  # the strings that variables may hold


class Gain(NamedTuple):
    """A norm's gain: its possible full names, the class of its norm, its short name, and where the norm is made."""

    names: frozenset[str]
    kind: str
    label: str
    span: Span


def gains(makes: Makes) -> tuple[Gain, ...]:
    """Return the gains of the norms that modules of the text own, by the names that torch gives the parameters."""
    owners = [Owner(makes.file.text, piece) for piece in makes.file.pieces if piece.kind == "class"]
    inits = [(owner, init) for owner in owners for init in constructors(owner.functions)]
    several = [(owner, attribute, value) for owner, init in inits for attribute, value in stored(init)]
    holders = (attribute for _, attribute, _ in several if attribute not in _SHIFTS)
    above = ("", "module.", "model.", *(f"{holder}.{at}" for holder in holders for at in ("", "0.")))
    found = []
    for owner, attribute, call in several:
        if isinstance(call, ast.Call):
            for label in (f"{attribute}.{gain}" for gain in _gains_of(makes, call)):
                names = frozenset(f".{one}{label}" for one in above)
                found.append(Gain(names, called_last(call), label, owner.span(call)))
    return tuple(found)


def _gains_of(makes: Makes, call: ast.Call) -> list[str]:
    """Return the names of the gains of a norm over features; empty if its class isn't known."""
    name = dotted(call.func)
    affine = plain(call) and not any("affine" in (k.arg or "") for k in call.keywords)
    if not affine or intent(called_last(call)) not in _FEATURES:
        return []
    found = makes.elsewhere.definition(name, makes.file)
    sets = [pair for init in constructors(found.node.body) for pair in stored(init)] if found else []
    kept = [a for a, v in sets if isinstance(v, ast.Call) and called_last(v) == "Parameter"]
    alone = found is not None and [dotted(base).rpartition(".")[2] for base in found.node.bases] == ["Module"]
    return ["weight"] if makes.is_of_torch(name) else [a for a in kept if alone and a not in _SHIFTS]


class Choice:
    """A function that sorts parameters into groups, which are the dictionaries with the key "params"."""

    def __init__(self, makes: Makes, owner: Owner, function: Function) -> None:
        self.makes, self.owner, self.function = makes, owner, function
        self._nodes = tuple(ast.walk(function))
        self._parents = {child: node for node in self._nodes for child in ast.iter_child_nodes(node)}
        self.spared: list[list[ast.expr] | None] = []
        self.decayed: list[list[ast.expr] | None] = []
        for keys in map(_entries, self._nodes) if len(self._nodes) <= _MOST else ():
            decay = keys.get("weight_decay")
            none = isinstance(decay, ast.Constant) and decay.value == 0
            (self.spared if none else self.decayed).extend([self._tests(keys["params"])] if "params" in keys else [])

    def _tests(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the tests of a comprehension over the model's parameters; None for any other expression."""
        value = self._assigned(node.id) if isinstance(node, ast.Name) else node
        if not isinstance(value, ast.ListComp | ast.GeneratorExp) or not self._goes_over(
            value.generators[0].iter, _OVER
        ):
            return None
        return [test for one in value.generators for test in one.ifs]

    def may_spare(self, gain: Gain) -> bool:
        """Return whether a gain may be without weight decay; False only if it surely decays like the other weights."""
        known = dict.fromkeys(self._names, gain.names)

        def may_hold(tests: list[ast.expr] | None) -> bool:
            return tests is None or all(self._outcome(test, gain, known) is not False for test in tests)

        chosen = any(self._outcome(t, gain, known) and not _refuses(t) for tests in self.decayed for t in tests or ())
        return chosen or any(map(may_hold, self.spared)) or not any(map(may_hold, self.decayed))

    def speaks_of_norms(self) -> Iterator[ast.expr]:
        """Yield the conditions on parameters without weight decay that name norms, by part of a name or by a class."""
        for test in (test for tests in self.spared for test in tests or ()):
            listed = [one for node in ast.walk(test) if isinstance(node, ast.expr) for one in self._listed(node)]
            if any(intent(word) in _FEATURES for word in re.findall(r"\w+", " ".join(map(ast.unparse, listed)))):
                yield test

    def _outcome(self, test: ast.expr, gain: Gain, known: Known) -> bool | None:
        match test:
            case ast.BoolOp(op, values):
                several = [self._outcome(value, gain, known) for value in values]
                return _every(several) if isinstance(op, ast.And) else _any(several)
            case ast.UnaryOp(ast.Not(), inner):
                return _not(self._outcome(inner, gain, known))
            case ast.Call(ast.Name("any"), [ast.GeneratorExp(elt, [one]) | ast.ListComp(elt, [one])]) if not one.ifs:
                words = [_strings(word, {}) for word in self._listed(one.iter)]
                each = one.target.id if isinstance(one.target, ast.Name) else ""
                return _any(self._outcome(elt, gain, {**known, each: word}) for word in words)
            case ast.Call(ast.Attribute(whole, "endswith"), [ast.Constant(str(end))]):
                return _same({one.endswith(end) for one in _strings(whole, known)})
            case ast.Call(ast.Name("isinstance"), [_, kinds]):
                return _any(self._is_kind(kind, gain) for kind in self._listed(kinds))
            case ast.Compare(left, [ast.In() | ast.NotIn() as op], [right]):
                said = _same({one in two for one, two in product(_strings(left, known), _strings(right, known))})
                return said if isinstance(op, ast.In) else _not(said)
        return None

    def _is_kind(self, kind: ast.expr, gain: Gain) -> bool | None:
        name = dotted(kind)
        last = name.rpartition(".")[2]
        if last == gain.kind:
            return True
        leaf = intent(last) or last.startswith(("Linear", "Conv", "Embedding"))
        known = self.makes.is_of_torch(name) or self.makes.file.class_named(last) is not None
        return False if leaf and known else None

    @cached_property
    def _names(self) -> frozenset[str]:
        """Return the variables that hold names of parameters: the first of each pair from `named_parameters`."""
        pairs = [(n.target, n.iter) for n in self._nodes if isinstance(n, ast.comprehension)]
        firsts = [
            pair.elts[0] for pair, over in pairs if isinstance(pair, ast.Tuple) and self._goes_over(over, _OVER[:1])
        ]
        return frozenset(one.id for one in firsts if isinstance(one, ast.Name))

    def _goes_over(self, node: ast.expr, ways: tuple[str, ...]) -> bool:
        """Return whether an expression iterates over all parameters or modules of a model of this text."""
        value = self._assigned(node.id) if isinstance(node, ast.Name) else node
        nodes = tuple(ast.walk(value)) if value is not None else ()
        calls = [n.func for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
        models = [func.value for func in calls if func.attr in ways]
        chosen = any(isinstance(n, ast.comprehension | ast.Lambda) for n in nodes)
        return bool(models) and not chosen and all(map(self._may_be_own, models))

    def _may_be_own(self, model: ast.expr) -> bool:
        """Return whether the model may be of this text: one made of another file's class is not."""
        name = dotted(model)
        kept = [v for f in self.owner.functions for attribute, v in stored(f) if f"self.{attribute}" == name]
        given = [n.value for n in self._nodes if isinstance(n, ast.Assign) and name in map(dotted, n.targets)]
        made = [called_last(value) for value in (*kept, *given) if isinstance(value, ast.Call)]
        return bool(name) and all(self.makes.file.class_named(one) is not None for one in made)

    def _listed(self, node: ast.expr) -> list[ast.expr]:
        """Return the items of a list, tuple or set that is written out; for any other expression, itself."""
        value = self._assigned(node.id) if isinstance(node, ast.Name) else node
        return value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else [node]

    def _assigned(self, name: str) -> ast.expr | None:
        """Return the one value that a name is assigned, as a default, too; None if it may have others or be changed."""
        uses = [n for n in self._nodes if isinstance(n, ast.Name) and n.id == name]
        above = [self._parents[n] for n in uses if isinstance(n.ctx, ast.Store)]
        if any(isinstance(self._parents[n], ast.Attribute | ast.AugAssign) for n in uses) or len(above) > 1:
            return None  # it may be changed in place
        if above:
            return above[0].value if isinstance(above[0], ast.Assign) else None
        if len(re.findall(rf"\b{name}(?:\.\w+\(| ?\+?=(?!=))", self.makes.file.text)) != 1:
            return None  # others may pass another
        if name in [argument.arg for argument in arguments(self.function)]:
            return defaults(self.function)[name]
        return self.makes.file.value_of(name)


def _entries(node: ast.AST) -> dict[str, ast.expr]:
    """Return the values of a dictionary display or a `dict()` call by their keys."""
    match node:
        case ast.Dict(keys, values):
            return {str(k.value): v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
        case ast.Call(ast.Name("dict"), [], keywords):
            return {k.arg: k.value for k in keywords if k.arg}
    return {}


def _refuses(test: ast.expr) -> bool:
    """Return whether a test names what is left out, as `not in` does."""
    return isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn))


def _strings(node: ast.expr, known: Known) -> frozenset[str]:
    """Return the strings that an expression may be; empty if that isn't known."""
    match node:
        case ast.Constant(str(value)):
            return frozenset((value,))
        case ast.Call(ast.Attribute(inner, "lower"), []):
            return frozenset(one.lower() for one in _strings(inner, known))
    return known.get(node.id, frozenset()) if isinstance(node, ast.Name) else frozenset()


def _not(said: bool | None) -> bool | None:
    return said if said is None else not said


def _same(several: set[bool]) -> bool | None:
    return several.pop() if len(several) == 1 else None


def _any(several: Iterable[bool | None]) -> bool | None:
    found = list(several)
    return True if True in found else None if None in found else False


def _every(several: Iterable[bool | None]) -> bool | None:
    found = list(several)
    return False if False in found else None if None in found else True
