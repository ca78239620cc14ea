"""The symbolic interpreter, which evaluates a module along one path."""

from __future__ import annotations

from dataclasses import field

from normlint.evaluate import calls, expressions, statements, truth
from normlint.evaluate import syntax as s
from normlint.evaluate.algebra import is_complete
from normlint.evaluate.attributes import imported
from normlint.evaluate.context import MAX_STEPS, Context, Exhausted, Flow
from normlint.evaluate.module import Module
from normlint.evaluate.objects import ClassRef, Env, FunctionRef
from normlint.evaluate.value import Defined, Path, Product, Tup, Value
from normlint.evaluate.walk import definitions, extent
from normlint.text.finding import Span
from normlint.text.frozen import dataclass
from normlint.text.marks import any_reduction

MAX_FRAMES = 7


@dataclass(frozen=True, slots=True)
class Frame:
    node: s.Function | s.Lambda | None
    qualname: str
    span: Span
    owner: ClassRef | None = None
    receiver: Value | None = None


@dataclass
class Machine:
    """The interpreter's state on one path: the module's globals, the frames, and the context that records events."""

    module: Module
    ctx: Context
    frames: list[Frame] = field(default_factory=list)
    globals: Env = field(default_factory=Env)
    loading: set[str] = field(default_factory=set)
    waiting: list[FunctionRef] = field(default_factory=list)  # nested functions that haven't been called

    def copy(self, ctx: Context) -> Machine:
        """Return a copy with another context and the same scopes."""
        return Machine(self.module, ctx, self.frames.copy(), self.globals, self.loading.copy(), self.waiting.copy())

    def eval(self, env: Env, node: s.Expr) -> Value:
        ctx = self.ctx
        ctx.steps += 1  # as `tick` does, without a call, since this is the hottest code
        if ctx.steps > MAX_STEPS:
            raise Exhausted
        value = expressions.EVALUATE[type(node)](self, env, node)
        if not isinstance(value, Product):
            return value
        if value.shape is None and value.tensor:
            value = value.of_shape(ctx.dims(value))
        return value.at(node.span) if value.span != node.span else value

    run, call, truth = statements.execute, calls.call, truth.truth  # here, since those modules import one another

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def flow(self, value: Value, span: Span, *, returned: bool = False, parts: tuple[s.Expr, ...] = ()) -> None:
        """Record a product that may be a norm; `parts`: where the items of a tuple are written."""
        if isinstance(value, Tup):
            spans = [one.span for one in parts] if len(parts) == len(value.items) else [span] * len(value.items)
            for item, place in zip(value.items, spans, strict=True):
                self.flow(item, place, returned=returned)
        elif isinstance(value, Product) and value.mono.factors and self._may_be_norm(value, returned):
            self.ctx.flows.append(Flow(value, span, self.frame.qualname, returned, self.ctx.grad))

    def _may_be_norm(self, value: Product, returned: bool) -> bool:
        return (value.mono.has_stat and returned) or is_complete(value)

    def carry(self, name: str, value: Value) -> None:
        """Record a name whose value holds a statistic."""
        held = value.items if isinstance(value, Tup) else (value,)
        for item in held:
            if isinstance(item, Product) and (item.mono.has_stat or is_complete(item)):
                self.ctx.carriers.add(name)

    def marked(self, block: s.Block) -> bool:
        """Return whether a block holds a reduction."""
        return bool(block) and any_reduction(self.module.text, extent(block))

    # --- globals

    def lookup(self, env: Env, name: str) -> Value | None:
        """Return the value of a local, global or imported name; None if the text doesn't bind it."""
        found = env.find(name)
        if found is not None:
            return found
        if name not in self.globals.names and name in self.module.index and name not in self.loading:
            self.loading.add(name)
            self._load(name)
            self.loading.discard(name)
        found = self.globals.names.get(name)
        if found is None and name in self.module.imports:
            return imported(self.module.imports[name])
        return found

    def _load(self, name: str) -> None:
        """Bind the last definition of `name` (or the first one in a compound statement)."""
        for piece in reversed(self.module.index[name]):
            try:
                block = self.module.block(piece)
            except SyntaxError:
                continue
            for node in definitions(block):
                if node.name == name:
                    self.globals.names[name] = self.define(node, self.globals, "")
                    return
            if piece.kind == "plain" and not self.frames[1:]:
                statements.execute(self, self.globals, block)
            elif piece.kind == "plain":
                self._run_at_module_level(block)
            if name in self.globals.names:
                return

    def _run_at_module_level(self, block: s.Block) -> None:
        """Run a module-level assignment outside the running frames, without recording products."""
        frames, self.frames = self.frames, [Frame(None, "<module>", Span(0, 0))]
        flows = len(self.ctx.flows)
        try:
            statements.execute(self, self.globals, block)
        finally:
            del self.ctx.flows[flows:]
            self.frames = frames

    def define(self, node: s.Function | s.Class, env: Env, prefix: str) -> Value:
        """Return the value of a function or class definition."""
        qualname = f"{prefix}{node.name}"
        if isinstance(node, s.Function):
            return Defined(FunctionRef(node, env, qualname), node.name)
        values = [self.eval(env, base) for base in node.bases]
        inside = tuple(cls for v in values if (cls := v.defined(ClassRef)) is not None)
        outside = tuple(v.dotted for v in values if isinstance(v, Path))
        return Defined(ClassRef(node, env, qualname, inside, outside), node.name)
