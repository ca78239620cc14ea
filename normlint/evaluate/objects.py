"""Functions, classes and instances of the text, as the interpreter holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from normlint.evaluate import syntax as s
from normlint.evaluate.ops.table import Arguments
from normlint.evaluate.value import Value
from normlint.text.frozen import kept


@dataclass
class Env:
    """Names and their values; a name that isn't here is looked up in the parent."""

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
        """Its statements; a lambda has none."""
        return self.node.body if isinstance(self.node, s.Function) else ()

    @property
    def kind(self) -> str:
        """method, static, class or property, by its decorators."""
        names = {d.id for d in getattr(self.node, "decorators", ()) if isinstance(d, s.Name)}
        if "staticmethod" in names:
            return "static"
        if "classmethod" in names:
            return "class"
        return "property" if names & {"property", "cached_property"} else "method"


@dataclass(eq=False)
class ClassRef:
    """A class; `bases` are those of the text, `outside` the dotted paths of the others."""

    node: s.Class
    env: Env | None
    qualname: str
    bases: tuple[ClassRef, ...] = ()
    outside: tuple[str, ...] = ()

    @kept
    def members(self) -> dict[str, s.Function | s.Assign]:
        """By name, the last statement in its body that gives it a method or a value."""
        found: dict[str, s.Function | s.Assign] = {}
        for stmt in self.node.body:
            if isinstance(stmt, s.Function):
                found[stmt.name] = stmt
            elif isinstance(stmt, s.Assign):
                found.update((target.id, stmt) for target in stmt.targets if isinstance(target, s.Name))
        return found

    def lineage(self) -> Iterator[ClassRef]:
        """The class itself and its bases in the text, nearest first, each once."""
        todo, known = [self], {self}
        for cls in todo:
            yield cls
            new = [base for base in dict.fromkeys(cls.bases) if base not in known]
            known.update(new)
            todo += new

    def is_module(self) -> bool:
        """Whether it derives from nn.Module, as far as the text tells."""
        outside = [path for cls in self.lineage() for path in cls.outside]
        return any(path.rsplit(".", 1)[-1].endswith(("Module", "Layer", "Norm", "Model", "Block")) for path in outside)


@dataclass(eq=False)
class Instance:
    """`self`: a class (None for a bare method) and the attributes that have been set."""

    cls: ClassRef | None
    attrs: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Partial:
    """A function with some arguments given."""

    func: Value
    args: Arguments


@dataclass(eq=False)
class Super:
    """What `super()` gives: the instance, seen from above `below`."""

    instance: Instance
    below: ClassRef
