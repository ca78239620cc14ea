"""Evaluate methods of lists, tuples and dicts, and assignments to their items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from normlint.evaluate import syntax as s
from normlint.evaluate.objects import Env
from normlint.evaluate.value import Constant, Dict, Member, Opaque, Product, Tup, Value, number, tup

if TYPE_CHECKING:
    from normlint.evaluate.machine import Machine
    from normlint.evaluate.ops.table import Arguments

Changed: TypeAlias = "tuple[Value, Value]"  # the result of a call, and the container after it


def call(m: Machine, env: Env, target: s.Expr, member: Member, args: Arguments) -> Value:
    """Evaluate a method of a list or dict, and rebind the name it is called on if the container changes."""
    from normlint.evaluate.statements import rebind

    for given in args.values:
        m.flow(given.value, given.span)
    held = member.receiver
    values = tuple(given.value for given in args.positional)
    if args.rest or args.more:
        result, after = _unknown(member)
    elif isinstance(held, Dict):
        result, after = _of_dict(held, member, values, {k: g.value for k, g in args.keywords.items()})
    else:
        result, after = _of_list(held, member, values)
    if after is not held:
        rebind(m, env, target, after)
    return result


def _unknown(member: Member) -> Changed:
    words = f"{type(member.receiver).__name__}.{member.name}"
    return Opaque(words), Opaque(words)


def _of_list(held: Tup, member: Member, values: tuple[Value, ...]) -> Changed:
    none = Constant(None)
    match member.name, values:
        case "append", (value,):
            return none, tup((*held.items, value), "list")
        case "extend", (Tup(items=more),):
            return none, tup(held.items + more, "list")
        case "pop", () if held.items:
            return held.items[-1], Tup(held.items[:-1])
        case "pop", (Product(mono=mono),) if held.items and not mono.factors and mono.coef == 0:
            return held.items[0], Tup(held.items[1:])
        case "copy", ():
            return held, held
        case "numel", ():
            from normlint.evaluate.functional import product

            return product(held.items), held
        case (("index" | "count"), _):
            return Opaque(f"list.{member.name}"), held
    return _unknown(member)


def _of_dict(held: Dict, member: Member, values: tuple[Value, ...], named: dict[str, Value]) -> Changed:
    """Return the result of a method of a dict, and the dict after the call."""
    if member.name == "update" and all(isinstance(v, Dict) for v in values):
        for value in values:
            assert isinstance(value, Dict)
            held = stored(held, dict(value.items), more=value.more)
        return Constant(None), stored(held, named)
    if member.name in _VIEWS and not values and not held.more:
        return tup(_VIEWS[member.name](held), "dict"), held
    key = key_of(values[0]) if values else None
    if key is None or member.name not in ("get", "pop", "setdefault"):
        return _unknown(member)
    return _looked_up(held, member.name, key, values[1] if len(values) > 1 else Constant(None))


def _looked_up(held: Dict, name: str, key: object, default: Value) -> Changed:
    found = held.get(key)
    if found is None and held.more:
        found = Opaque(f"dict.{name}({key!r})")
    elif found is None:
        found = default
        held = stored(held, {key: default}) if name == "setdefault" else held
    if name == "pop":
        held = Dict(tuple((k, v) for k, v in held.items if k != key), held.more)
    return found, held


_VIEWS: dict[str, Callable[[Dict], tuple[Value, ...]]] = {
    "keys": lambda held: tuple(of_key(k) for k, _ in held.items),
    "values": lambda held: tuple(v for _, v in held.items),
    "items": lambda held: tuple(Tup((of_key(k), v)) for k, v in held.items),
}


def key_of(value: Value | None) -> object | None:
    """Return the key that a value is in a dict, where 1, 1.0 and True are equal; None if it isn't known."""
    if isinstance(value, Constant):
        return value.value
    return value.number if value is not None else None


def of_key(key: object) -> Value:
    """Return the key of a dict as a value."""
    return number(float(key)) if isinstance(key, float) else Constant(key)


def made(pairs: Sequence[Sequence[Value]]) -> Dict:
    """Return a dict of pairs of keys and values."""
    known = {key: value for one, value in pairs if (key := key_of(one)) is not None}
    return Dict(tuple(known.items()), more=any(key_of(one) is None for one, _ in pairs))


def stored(held: Dict, new: Mapping[Any, Value], *, more: bool = False) -> Dict:
    """Return the dict updated with other items."""
    return Dict(tuple({**dict(held.items), **new}.items()), held.more or more)


def store(held: Tup | Dict, key: Value | None, value: Value) -> Value:
    """Return the container after `held[key] = value`."""
    if isinstance(held, Dict):
        known = key_of(key)
        return stored(held, {known: value}) if known is not None else Dict((), more=True)
    at = key.whole if key is not None else None
    if at is None or not -len(held.items) <= at < len(held.items):
        return Opaque("list")
    items = list(held.items)
    items[at] = value
    return tup(tuple(items), "list")
