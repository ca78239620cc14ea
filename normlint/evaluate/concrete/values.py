"""Values and scopes of the concrete interpreter: functions, modules of the tables, unknown values, and its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any

from normlint.evaluate import syntax as s

if TYPE_CHECKING:
    from normlint.evaluate.concrete.program import Program

MAX_STEPS = 200_000  # statements and expressions that one call from outside may evaluate
MAX_DEPTH = 40  # nested calls
MOST_ITEMS = 1_000_000  # of a list or string that an operator creates, and bits of an integer


class Unsupported(Exception):  # noqa: N818  (a result, not an error)
    """Something can't be interpreted exactly; the message names it."""


class Exhausted(Unsupported):
    """The budget is used up, so that another try would fail, too."""


@dataclass
class Budget:
    """The remaining steps and call depth of a family of programs; a call from outside resets the steps."""

    steps: int = MAX_STEPS
    depth: int = MAX_DEPTH

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted("too many steps")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Count one more nested call or top-level statement; raise `Unsupported` if there are too many."""
        if self.depth <= 0:
            raise Unsupported("calls nested too deeply")
        if self.depth == MAX_DEPTH:
            self.steps = MAX_STEPS
        self.depth -= 1
        try:
            yield
        except RecursionError:
            raise Exhausted("calls nested too deeply") from None
        finally:
            self.depth += 1


class Unknown:
    """A value that can be passed on and stored, but not used: an import from elsewhere, a part of it, an exception."""

    def __init__(self, what: str, *, part: bool = False) -> None:
        self.what = what
        self.part = part  # of a module or class that isn't known, so that it may be None

    def refuse(self, *_: Any, **__: Any) -> Any:
        raise Unsupported(self.what)

    __bool__ = __call__ = __eq__ = __hash__ = __iter__ = __len__ = __getitem__ = __contains__ = refuse


def known(value: Any) -> Any:
    """Return the value; raise `Unsupported` if it is `Unknown`."""
    return value.refuse() if isinstance(value, Unknown) else value


class Typing:
    """A typing construct, which can be subscripted and combined but has no effect; `kind` is what `Dict` stands for."""

    def __init__(self, kind: type | None = None) -> None:
        self.kind = kind

    def __getitem__(self, _: object) -> Typing:
        return Typing()

    __or__ = __ror__ = __getitem__

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Space:
    """An allowed Python or torch module, by its dotted path."""

    path: str


@dataclass(frozen=True, slots=True)
class File:
    """Another file of the package: `value` returns what a name of it stands for, or raises Unsupported."""

    value: Callable[[str], Any]


def _refuse_text(value: Any) -> str:
    raise Unsupported(f"the text of a {type(value).__name__.lower()}")


@dataclass(frozen=True, slots=True)
class Native:
    """An allowed Python or torch function, or bound method."""

    path: str
    call: Callable[..., Any]

    __str__ = _refuse_text

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)


class Silent:
    """A logger, whose methods accept anything and do nothing."""


MODULE, CLASS, FUNCTION, COMPREHENSION = "module", "class", "function", "comprehension"


@dataclass(slots=True)
class Scope:
    """A scope with its names. `cell` holds the class in whose body the code is, once it is created."""

    program: Program
    kind: str
    names: dict[str, Any]
    parent: Scope | None = None  # the enclosing scope that functions see
    cell: list[type] | None = None
    local: frozenset[str] = frozenset()
    declared: dict[str, str] = field(default_factory=dict)  # name: global or nonlocal
    first: str = ""  # the function's first parameter
    caught: BaseException | None = None  # the exception that the running handler caught

    @property
    def seen(self) -> Scope:
        """The scope that functions and comprehensions in this one see, which for a class is its parent."""
        return self.parent if self.kind == CLASS and self.parent is not None else self


@dataclass(eq=False)
class Function:
    """An interpreted function. `managers` return the contexts, with which it was decorated, in which it runs."""

    node: s.Function | s.Lambda
    scope: Scope
    cell: list[type] | None
    name: str
    defaults: dict[str, Any]
    managers: tuple[Callable[[], Any], ...] = ()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from normlint.evaluate.concrete.functions import run

        return run(self, args, kwargs)

    __str__ = _refuse_text

    def __deepcopy__(self, _: object) -> Function:
        return self

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> Any:
        from normlint.evaluate.concrete.functions import signature

        return signature(self)
