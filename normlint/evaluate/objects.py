"""The symbolic interpreter's scopes, functions, classes and instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from normlint.evaluate import syntax as s
from normlint.evaluate.ops.table import Arguments
from normlint.evaluate.value import Value
from normlint.text.frozen import kept

MOST_ABOVE: Final = 64  # bases of a class that are searched


@dataclass
class Env:
    """A scope; a name that isn't in it is looked up in its parent."""

    names: dict[str, Value] = field(default_factory=dict)
    parent: Env | None = None

    def find(self, name: str) -> Value | None:
        env: Env | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None


@dataclass(eq=False)
class FunctionRef:
    node: s.Function | s.Lambda
    env: Env | None
    qualname: str
    owner: ClassRef | None = None
    receiver: Value | None = None

    @property
    def block(self) -> s.Block:
        """The statements of the body; a lambda has none."""
        return self.node.body if isinstance(self.node, s.Function) else ()

    def received_by(self, receiver: Value) -> FunctionRef:
        """Return the method bound to its receiver."""
        return FunctionRef(self.node, self.env, self.qualname, self.owner, receiver)

    @property
    def kind(self) -> str:
        """The kind by its decorators: method, static, class or property."""
        names = {d.id for d in getattr(self.node, "decorators", ()) if isinstance(d, s.Name)}
        if "staticmethod" in names:
            return "static"
        if "classmethod" in names:
            return "class"
        return "property" if names & {"property", "cached_property"} else "method"


@dataclass(eq=False)
class ClassRef:
    """A class; `bases` are those in the text, `outside` the dotted paths of the others."""

    node: s.Class
    env: Env | None
    qualname: str
    bases: tuple[ClassRef, ...] = ()
    outside: tuple[str, ...] = ()

    @kept
    def members(self) -> dict[str, s.Function | s.Assign]:
        """Map each name to the last definition or assignment of it in the body."""
        found: dict[str, s.Function | s.Assign] = {}
        for stmt in self.node.body:
            if isinstance(stmt, s.Function):
                found[stmt.name] = stmt
            elif isinstance(stmt, s.Assign):
                found.update((target.id, stmt) for target in stmt.targets if isinstance(target, s.Name))
        return found

    def lineage(self) -> Iterator[ClassRef]:
        """Yield the class and its bases in the text, the nearest first, up to `MOST_ABOVE`."""
        todo, known = [self], {self}
        for number, cls in enumerate(todo):
            yield cls
            if number == MOST_ABOVE:
                return
            new = [base for base in dict.fromkeys(cls.bases) if base not in known]
            known.update(new)
            todo += new

    def is_module(self) -> bool:
        """Return whether the class seems to derive from nn.Module, by the names of its bases."""
        outside = [path for cls in self.lineage() for path in cls.outside]
        return any(path.rsplit(".", 1)[-1].endswith(("Module", "Layer", "Norm", "Model", "Block")) for path in outside)


@dataclass(eq=False)
class Instance:
    """An instance: its class (None for a function with `self`) and its attributes."""

    cls: ClassRef | None
    attrs: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Partial:
    """A function with some arguments bound, as by functools.partial."""

    func: Value
    args: Arguments


@dataclass(eq=False)
class Super:
    """The value of `super()`: an instance, whose attributes are looked up in the classes after `below`."""

    instance: Instance
    below: ClassRef
