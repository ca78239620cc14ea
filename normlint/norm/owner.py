"""Describe the class or function around a norm: its name, its parameters, and what it takes and never uses."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.entry import Entry
from normlint.evaluate.module import Module, Refilled
from normlint.evaluate.monomial import Apply, Centred, Mono, Param, Scalar, Stat, stats_of
from normlint.evaluate.objects import ClassRef, Instance
from normlint.evaluate.ops.table import has_method
from normlint.evaluate.torch_norms import FUNCTIONS, base_of
from normlint.evaluate.value import Dict, Opaque, Product, Tup, Value
from normlint.evaluate.walk import walk
from normlint.norm.conventions import intent, is_grouping, summary_intent
from normlint.norm.norm import HALF, Owner
from normlint.text.finding import Span

_FIRST = ("ones", "zeros", "full", "empty")  # the functions that gains and biases are created with


def owner_of(
    entry: Entry, qualname: str, maker: str, attrs: dict[str, Value], *,
    reinitialised: Refilled | None, subclassed: bool,
) -> Owner:  # fmt: skip
    """Return what rules may ask about the class or function around a norm that was found in `entry`."""
    cls, params = entry.cls, tuple(filter(None, (value.param for value in attrs.values())))
    name = cls.qualname if cls else qualname
    module = bool(cls and cls.is_module())
    read = _attributes_read(cls) if cls and (params or not _has_unknown_base(cls)) else set()
    used = {(p.span, p.init) for p in params if p.name in read}  # also under another name
    known = cls is not None and not (
        subclassed or _has_unknown_base(cls) or _uses_torch_forward(cls, read) or read & _ALL_AT_ONCE
    )
    owned = tuple(p for p in params if known and p.role == "parameter")
    alone = _takes_one(entry) and not any(map(_is_module, attrs.values()))
    handed = read - _attributes_read(cls, handed=True) if cls and known else set()
    return Owner(
        name,
        _intent_of(entry, qualname, name, maker, block=any(map(_is_module, attrs.values()))),
        module,
        method=cls is not None,
        span=entry.span,
        unused_eps=_unused_eps(entry, read),
        unused_groups=_unused_groups(cls, read) if cls and known else None,
        takes_eps=_takes_eps(entry, attrs),
        plain_gains=tuple(p for p in params if module and p.role == "tensor"),
        unused_params=_vectors((p for p in owned if (p.span, p.init) not in used), also_of_several=alone),
        handed_params=_vectors((p for p in owned if alone and p.name in handed), also_of_several=True),
        settings=frozenset(_settings(entry)),
        flags=frozenset(_flags(entry)),
        params=params,
        filled=_filled(cls, params) if cls else frozenset(),
        running=_has_running_statistics(entry, attrs),
        reinitialised=reinitialised is not None,
        refilled=frozenset(_refilled(name, reinitialised or frozenset())),
        graph=_is_of_graphs(entry),
        alone=alone,
        in_place=_is_in_place(entry),
        detaches=_says_it_detaches(entry),
    )


def _refilled(name: str, reinitialised: Refilled) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a class of this name that the text fills later, with what they are filled with."""
    for of, how in reinitialised:
        if of == name or of.startswith(f"{name}."):
            yield of[len(name) + 1 :] or "weight", how


def _says_it_detaches(entry: Entry) -> bool:
    """Return whether a docstring says that no gradient is to flow."""
    own = (entry.function.node,) if entry.function is not None else ()
    classes = entry.cls.lineage() if entry.cls else ()
    return any(re.search(r"\bdetach|stop[- _]?grad", _docstring(one), re.IGNORECASE) for one in (*own, *classes))


def _intent_of(entry: Entry, qualname: str, name: str, maker: str, *, block: bool) -> str:
    """Return which norm the names of function and class mean, or else the helper's, torch's class or a docstring.

    The docstring of a class counts if that is a module, and no `block` of layers, whose parts it describes.
    """
    classes = tuple(entry.cls.lineage()) if entry.cls else ()
    method = qualname.rpartition(".")[2]
    function = entry.function.node if entry.function is not None and qualname == entry.qualname else None
    bases = tuple(path for cls in classes for path in cls.outside)
    if any(path.startswith("torch.optim.") for path in bases):
        return "other"  # an optimizer's update, whatever its name says
    named = method == "forward" or intent(method)
    if function is not None and not named and summary_intent(_docstring(function)) == "l2":
        return "l2"  # one of several norms of a class
    own = intent(qualname) or intent(name)
    above = next((base for base in map(intent, bases) if base in _NOT_OF_FEATURES), "")
    if own in ("", "norm") and above:
        return above  # such as a subclass of nn.BatchNorm2d
    if own:
        return own
    intents = [intent(n) for n in (maker, *bases)]
    if function is not None:
        module = not block and entry.cls is not None and entry.cls.is_module()
        intents += [summary_intent(_docstring(d)) for d in (function, *(classes if module else ()))]
    return next((t for t in intents if t and t not in _NOT_OF_FEATURES), "")


_NOT_OF_FEATURES = ("other", "groups")


def _docstring(of: s.Function | s.Lambda | ClassRef) -> str:
    block = of.node.body if isinstance(of, ClassRef) else of.body if isinstance(of, s.Function) else ()
    first = block[0].value if block and isinstance(block[0], s.Evaluate) else None
    return first.value if isinstance(first, s.Literal) and isinstance(first.value, str) else ""


def _has_running_statistics(entry: Entry, attrs: dict[str, Value]) -> bool:
    """Return whether an attribute, or a parameter as `F.batch_norm` has them, holds statistics of earlier batches."""
    passed = {p.name for p in entry.params}
    return any(name.startswith("running") for name in attrs) or bool({"running_mean", "running_var"} & passed)


def _takes_one(entry: Entry) -> bool:
    """Return whether the function requires exactly one argument besides the first parameter."""
    return sum(p.default is None for p in entry.params[1:]) == 1


def _is_module(value: Value) -> bool:
    layer = isinstance(value, Opaque) and value.text.startswith("module ")
    return layer or value.defined(Instance) is not None


def _is_in_place(entry: Entry) -> bool:
    """Return whether its name, or a parameter `inplace`, says that it works in place."""
    plain = entry.qualname.endswith("_") and not entry.qualname.endswith("__")
    return plain or any("inplace" in p.name.replace("_", "") for p in entry.params)


def loses_its_result(entry: Entry, module: Module) -> bool:
    """Return whether it is a forward that only gives local names to values, and returns none of them."""
    node = entry.function.node if entry.function and entry.qualname.endswith(".forward") else None
    if not isinstance(node, s.Function) or node.decorators:
        return False
    given = [(stmt.value, part) for stmt in node.body if isinstance(stmt, s.Assign) for part in walk(stmt.targets)]
    computed = (part for value, part in given if not isinstance(value, s.Attribute | s.Name))
    local = {*(part.id for part in computed if isinstance(part, s.Name)), *(p.name for p in node.params[1:2])}
    above = list(entry.cls.lineage())[1:] if entry.cls else []
    super_named = any(isinstance(n, s.Name) and n.id == "super" for n in walk(node))
    if super_named and any("forward" in c.members for c in above):
        return False  # a forward of the text, which may keep what it computes
    named = all(isinstance(part, s.Name | s.Sequence) for _, part in given)
    plain = named and all(map(_gives_nothing_back, node.body))
    return plain and all(_only_gives_a_value(part, local, module.imports) for part in walk(node.body))


def _gives_nothing_back(stmt: s.Stmt) -> bool:
    """Return whether a statement is an assignment, a docstring or a `return` without a value."""
    text = isinstance(stmt, s.Evaluate) and isinstance(stmt.value, s.Literal)
    return text or isinstance(stmt, s.Assign) or (isinstance(stmt, s.Return) and stmt.value is None)


def _only_gives_a_value(node: s.Node, local: AbstractSet[str], imports: Mapping[str, str]) -> bool:
    """Return whether it leaves nothing behind: a call of torch or einops, or a tensor's method on a local name."""
    if not isinstance(node, s.Call):
        return not isinstance(node, s.Other)  # a `yield`, say
    func = root = node.func
    while isinstance(root, s.Attribute | s.Call):
        root = root.base if isinstance(root, s.Attribute) else root.func
    if not isinstance(root, s.Name) or any(a.name in ("out", "inplace") or a.star == "**" for a in node.args):
        return False
    if not isinstance(func, s.Attribute) or func.name.endswith("_"):
        return root is func and root.id == "super"
    package = imports.get(root.id, "").partition(".")[0]
    return root.id == "super" or package in ("torch", "einops") or (root.id in local and has_method(func.name))


def _vectors(params: Iterable[Param], *, also_of_several: bool) -> tuple[Param, ...]:
    return tuple(p for p in params if _is_feature_vector(p, also_of_several=also_of_several))


def _is_feature_vector(param: Param, *, also_of_several: bool) -> bool:
    """Return whether a parameter has one value for each feature, or (`also_of_several`) for each feature of each head.

    Axes of length 1 only broadcast, and don't count.
    """
    if param.shape is None:
        return param.init in _FIRST[:2]
    long = [size for size in param.shape if size is None or size != Mono(1.0)]
    return (param.init in _FIRST or param.first is not None) and (len(long) == 1 or (also_of_several and bool(long)))


def _takes_eps(entry: Entry, attrs: dict[str, Value]) -> bool:
    """Return whether eps is an argument of the function, or of the module's constructor."""
    if entry.cls is None:
        asked = {p.name for p in entry.params if is_eps(p.name) and not p.optional}
        return bool(asked) and not asked <= _always_read(entry)
    held = (v.sole for name, v in attrs.items() if is_eps(name) and isinstance(v, Product))
    symbols = (f.atom for f in held if f is not None and f.power == 1)
    return any(isinstance(atom, Scalar) and not atom.name.startswith("self.") for atom in symbols)


def _always_read(entry: Entry) -> set[str]:
    """Return the names in top-level statements of the function that every path runs."""
    block = entry.function.block if entry.function else ()
    plain = (stmt for stmt in block if not isinstance(stmt, s.If | s.Loop | s.With | s.Try))
    return {node.id for stmt in plain for node in walk(stmt) if isinstance(node, s.Name)}


def _is_of_graphs(entry: Entry) -> bool:
    """Return whether the function has a parameter `batch=None`, as in PyTorch Geometric."""
    return any(p.name == "batch" and p.optional for p in entry.params)


def keeps_data(attrs: dict[str, Value], result: Value | None) -> bool:
    """Return whether an attribute, or a dict or tuple in one, has something of the input other than the result."""
    output = result.mono if isinstance(result, Product) else None
    held = [inner for value in attrs.values() if isinstance(value, Dict) for _, inner in value.items]
    held += [inner for value in attrs.values() if isinstance(value, Tup) for inner in value.items]
    kept = (value.mono for value in (*attrs.values(), *held) if isinstance(value, Product))
    return any(mono.has_data and mono != output for mono in kept)


def can_be_undone(values: Iterable[Value]) -> bool:
    """Return whether these values hold a mean and the root of its variance, with which the norm is undone later."""
    sole = [v.sole for v in values if isinstance(v, Product) and v.sole is not None]
    means = {f.atom.inner for f in sole if isinstance(f.atom, Stat) and f.power == 1}
    roots = (stat.inner.factors for f in sole if f.power > 0 for stat in stats_of(Mono(1.0, (f,))))
    return any(isinstance(g.atom, Centred) and g.atom.base in means for factors in roots for g in factors)


def undoes(mono: Mono) -> bool:
    """Return whether a deviation is multiplied with a layer's result, which undoes a norm of the layer's input."""
    deviations = [stat for f in mono.factors if f.power == HALF for stat in stats_of(Mono(1.0, (f,)))]
    itself = {f.atom for stat in deviations for f in stat.inner.factors}
    made = [f.atom for f in mono.factors if isinstance(f.atom, Apply) and f.atom.data and f.power > 0]
    return bool(deviations) and bool(made) and itself.isdisjoint(f.atom for f in mono.factors)


_ALL: Final = "__dict__"
# Attributes that give access to all parameters without their names.
_ALL_AT_ONCE: Final = {"parameters", "named_parameters", "_parameters", "state_dict", _ALL}


def _has_unknown_base(cls: ClassRef) -> bool:
    """Return whether the class has bases outside the text, which may use what it makes."""
    return not all(_is_torch_base(path) for c in cls.lineage() for path in c.outside)


def _uses_torch_forward(cls: ClassRef, read: AbstractSet[str]) -> bool:
    """Return whether the forward of a base in torch may be called, which uses all that its constructor makes."""
    own = any("forward" in c.members for c in cls.lineage())
    return base_of(cls) is not None and (not own or "forward" in read)


def _is_torch_base(path: str) -> bool:
    """Return whether a base is `object`, PyTorch's Module (also by its bare name), or one of its norms."""
    package, _, name = path.rpartition(".")
    module = name == "Module" and package.partition(".")[0] in ("", "torch", "nn")
    return module or path == "object" or path in FUNCTIONS


def _settings(entry: Entry) -> Iterator[str]:
    """Yield the names of the constructors' parameters, and of the function's besides its input."""
    for node in constructors(entry.cls) if entry.cls else ():
        yield from (param.name for param in node.params)
    yield from (param.name for param in entry.params[2:])


def _flags(entry: Entry) -> Iterator[tuple[str, bool]]:
    """Yield the tests of the constructor's options, with the outcomes that their defaults give."""
    for param in (p for node in constructors(entry.cls) for p in node.params) if entry.cls else ():
        default = param.default.value if isinstance(param.default, s.Literal) else None
        if isinstance(default, bool):
            yield param.name, default
        elif isinstance(default, str):
            yield f"{param.name} == {default!r}", True


@lru_cache(maxsize=8)  # asked for each norm of the class
def _attributes_read(cls: ClassRef, *, handed: bool = False) -> frozenset[str]:
    """Return the names of attributes that methods and the functions in constructors read, and all strings, for getattr.

    `handed`: leave out attributes that are only passed to calls.
    """
    found: set[str] = set()
    nearer: set[str] = set()
    for owner in cls.lineage():
        hidden = nearer - found
        for stmt in owner.node.body:
            name = stmt.name if isinstance(stmt, s.Function) else ""
            making = name in ("__init__", "reset_parameters", "extra_repr")
            for part in _made_in(stmt) if making else (stmt,) if name not in hidden else ():
                found.update(_reads(part, handed=handed))
            nearer.add(name)
    return frozenset(found)


def _made_in(constructor: s.Stmt) -> Iterator[s.Stmt | s.Expr]:
    return (n for n in walk(constructor) if n is not constructor and isinstance(n, s.Function | s.Lambda))


def _filled(cls: ClassRef, params: tuple[Param, ...]) -> frozenset[str]:
    """Return the attributes that other code may fill: those passed to calls, and all if a base is outside the text."""
    every = frozenset(p.name for p in params) if _has_unknown_base(cls) else frozenset()
    return every | _passed_or_filled(cls)


@lru_cache(maxsize=4)  # asked for each norm of the class
def _passed_or_filled(cls: ClassRef) -> frozenset[str]:
    """Return the attributes of self that constructors pass or fill, as in `ones(self.w)` or `self.w.data.fill_(1)`."""
    methods = (f for owner in cls.lineage() for f in owner.node.body if isinstance(f, s.Function))
    making = (f for f in methods if f.name.startswith(("__init__", "reset", "init", "_init", "_reset")))
    calls = [n for f in making for n in walk(f.body) if isinstance(n, s.Call)]
    values = [a.value for call in calls if not _registers(call) for a in call.args]
    filled = [call.func.base for call in calls if isinstance(call.func, s.Attribute) and call.func.name.endswith("_")]
    whole = [v.base if isinstance(v, s.Attribute) and v.name == "data" else v for v in (*values, *filled)]
    return frozenset(v.name for v in whole if isinstance(v, s.Attribute) and isinstance(v.base, s.Name))


def _registers(call: s.Call) -> bool:
    return isinstance(call.func, s.Attribute) and call.func.name == "register_parameter"


def _reads(node: s.Stmt | s.Expr, *, handed: bool = False) -> Iterator[str]:
    unread: set[int] = set()
    for part in walk(node):
        if isinstance(part, s.Assign):  # which comes before its targets
            unread.update(id(each) for target in part.targets for each in _targets(target))
        elif isinstance(part, s.Call) and (handed or _reads_no_values(part.func)):
            whole = handed or isinstance(part.func, s.Name)  # `torch.full_like` reads what it fills with
            unread.update(id(arg.value) for arg in (part.args if whole else part.args[:1]))
        elif isinstance(part, s.Call) and _reads_any_attribute(part.func, part.args):
            yield _ALL
        elif isinstance(part, s.Compare) and any(op.startswith("is") for op, _ in part.rights):  # is it None?
            unread.add(id(part.left))
        elif isinstance(part, s.Attribute) and part.name in ("dtype", "device", "shape"):  # reads no values
            unread.add(id(part.base))
        elif isinstance(part, s.Attribute) and id(part) not in unread:
            yield part.name
        elif isinstance(part, s.Literal) and isinstance(part.value, str) and id(part) not in unread:
            yield part.value


_ABOUT: Final = re.compile(r"to|[a-z]+_(?:as|like)")  # torch takes dtype, device or shape of a tensor


def _reads_no_values(function: s.Expr) -> bool:
    """Return whether a call ignores its arguments' values, as `hasattr`, `x.type_as` and `torch.empty_like` do."""
    if isinstance(function, s.Attribute):
        return _ABOUT.fullmatch(function.name) is not None
    return isinstance(function, s.Name) and function.id == "hasattr"


def _reads_any_attribute(function: s.Expr, args: tuple[s.Argument, ...]) -> bool:
    """Return whether a call may read any attribute of `self`, by a computed name or because it is handed `self`."""
    given = any(isinstance(arg.value, s.Name) and arg.value.id == "self" for arg in args)
    if isinstance(function, s.Attribute) and isinstance(function.base, s.Name) and function.base.id == "self":
        return given or (function.name in ("get_parameter", "get_buffer") and not _is_written(args[:1]))
    if not isinstance(function, s.Name) or not hasattr(builtins, function.id):
        return given
    return given and (function.id == "vars" or (function.id == "getattr" and not _is_written(args[1:2])))


def _is_written(args: tuple[s.Argument, ...]) -> bool:
    return any(isinstance(arg.value, s.Literal) for arg in args)


def _targets(target: s.Expr) -> Iterator[s.Expr]:
    """Yield the targets of an assignment, also each of several in a tuple."""
    if isinstance(target, s.Sequence):
        for item in target.items:
            yield from _targets(item)
    yield target


def _unused_eps(entry: Entry, read: AbstractSet[str]) -> Span | None:
    """Return where an eps is accepted or stored and never used; `read` are the attributes that the class reads."""
    if entry.cls is None:
        node = entry.function.node if entry.function else None
        return _unused_parameter(node) if isinstance(node, s.Function) else None
    if _has_unknown_base(entry.cls) or _ALL in read:
        return None
    return next((span for init in constructors(entry.cls) if (span := _unused_in(init, read)) is not None), None)


def _unused_groups(cls: ClassRef, read: AbstractSet[str]) -> Span | None:
    """Return where a constructor stores a size or number of groups that nothing reads; None if it stores none."""
    for init in constructors(cls):
        taken = {param.name for param in init.params if is_grouping(param.name)}
        for stmt in init.body if taken else ():
            target = stmt.targets[0] if isinstance(stmt, s.Assign) and isinstance(stmt.value, s.Name) else None
            if isinstance(target, s.Attribute) and isinstance(stmt, s.Assign) and target.name not in read:
                uses = [n for n in walk(init.body) if isinstance(n, s.Name) and n.id in taken]
                if uses == [stmt.value] and _times_named(init, target.name) == 1:
                    return target.span
    return None


def constructors(cls: ClassRef) -> Iterator[s.Function]:
    """Yield the `__init__` of the class and of its bases, nearest first."""
    for owner in cls.lineage():
        yield from (f for f in owner.node.body if isinstance(f, s.Function) and f.name == "__init__")


def _unused_in(init: s.Function, read: AbstractSet[str]) -> Span | None:
    """Return where this constructor stores an eps that nothing reads, or takes one and drops it."""
    calls = (n for n in walk(init.body) if isinstance(n, s.Call))
    used = {arg.value.id for call in calls for arg in call.args if isinstance(arg.value, s.Name)}
    stored = [
        (target, stmt.value) for stmt in walk(init.body) if isinstance(stmt, s.Assign)
        for target in stmt.targets if isinstance(target, s.Attribute)
    ]  # fmt: skip
    used.update(value.id for target, value in stored if isinstance(value, s.Name) and target.name in read)
    for stmt in init.body:
        if isinstance(stmt, s.Assign) and isinstance(stmt.targets[0], s.Attribute):
            name = stmt.targets[0].name
            value = stmt.value.id if isinstance(stmt.value, s.Name) else ""
            taken = not isinstance(stmt.value, s.Literal) and value not in used  # no number, that nobody may choose
            if taken and not _is_bound(name) and is_eps(name) and name not in read and _times_named(init, name) == 1:
                return stmt.targets[0].span
    return _unused_parameter(init)


def _is_bound(name: str) -> bool:
    """Return whether the name is a bound of a learned eps, such as `eps_min` or `eps_max`."""
    return name.lower().endswith(("_min", "_max"))


def _times_named(init: s.Function, attribute: str) -> int:
    return sum(isinstance(n, s.Attribute) and n.name == attribute for n in walk(init.body))


def _unused_parameter(node: s.Function) -> Span | None:
    params = [param for param in node.params if is_eps(param.name) and not param.name.startswith("_")]
    if not params or _is_stub(node):
        return None
    below = list(walk(node.body))
    used = {n.id for n in below if isinstance(n, s.Name)}
    if "locals" in used or "vars" in used:
        return None
    spans = (Span(p.span.start, p.span.start + len(p.name)) for p in params if p.name not in used)
    return next(spans, None)


def _is_stub(node: s.Function) -> bool:
    """Return whether the body is nothing but a docstring, `pass` or `...`."""
    return all(isinstance(stmt, s.Evaluate) and isinstance(stmt.value, s.Literal) for stmt in node.body)


_EPS: Final = re.compile(r"(?:(?<![A-Za-z])|(?<=norm)|(?<=rms)|(?<=std)|(?<=var))eps|Eps|(?<![A-Z])EPS")


def is_eps(name: str) -> bool:
    """Return whether a name means an eps, as eps, layer_norm_eps and variance_epsilon do, and steps and reps don't."""
    return bool(_EPS.search(name.rpartition(".")[2]))
