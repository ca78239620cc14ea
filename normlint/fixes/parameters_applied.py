"""A gain or bias that nobody applies: multiplied and added where the norm is given back."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from normlint.evaluate.monomial import Param
from normlint.fixes.parameters import is_own
from normlint.fixes.tree import PRODUCT, SUM, Function, Tree, binding
from normlint.fixes.trial import Candidate, Trial
from normlint.fixes.work import walk
from normlint.norm.norm import Norm
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass

_BIASES: Final = ("bias", "beta", "b_2", "shift")


@dataclass(frozen=True, slots=True)
class _Unused:
    """The parameters that shall be applied: at most one of each kind."""

    gain: Param | None
    bias: Param | None
    tree: Tree

    @property
    def optional(self) -> tuple[str, ...]:
        """The names of those that may be None."""
        return tuple(p.name for p in (self.gain, self.bias) if p and _optional(self.tree, p.name))

    @property
    def applicability(self) -> Applicability:
        """SAFE where applying what was never trained changes nothing."""
        gain = self.gain is None or self.gain.init == "ones"
        bias = self.bias is None or self.bias.init == "zeros"
        return Applicability.SAFE if gain and bias else Applicability.UNSAFE

    def around(self, node: ast.expr) -> tuple[Edit, ...]:
        """The edits that put gain and bias on an expression."""
        start, end = self.tree.with_parentheses(node)
        bare = (start, end) == tuple(self.tree.span(node))
        level = binding(node) if bare else PRODUCT + 1
        before = after = ""
        if self.gain is not None:
            factor = self.operand
            loose = level < PRODUCT
            if _gain_first(self.tree):
                before, after = f"{factor} * {'(' * loose}", ")" * loose
            else:
                before, after = "(" * loose, f"{')' * loose} * {factor}"
        elif level < SUM:
            before, after = "(", ")"
        if self.bias is not None:
            after += f" + self.{self.bias.name}"
        edits = (Edit(Span(start, start), before), Edit(Span(end, end), after))
        return tuple(edit for edit in edits if edit.text)

    @property
    def factor(self) -> str:
        """What the norm is multiplied by: zeros were meant to be added to one."""
        if self.gain is None:
            return ""
        return f"1 + self.{self.gain.name}" if self.gain.init == "zeros" else f"self.{self.gain.name}"

    @property
    def operand(self) -> str:
        """The same beside a `*`."""
        return f"({self.factor})" if " " in self.factor else self.factor


def applied(norm: Norm, unused: tuple[Param, ...], tree: Tree) -> Fix | None:
    """All of the norm's unused parameters at once: they are findings of one cause."""
    gains = [p for p in unused if p.name not in _BIASES]
    biases = [p for p in unused if p.name in _BIASES]
    forward = _forward(tree, norm)
    if len(gains) > 1 or len(biases) > 1 or forward is None or any(_made_under_a_test(tree, p) for p in unused):
        return None
    if not all(c.over_last for c in norm.computations if c.returned):
        return None  # it must be laid along the features, wherever they are
    new = _Unused(gains[0] if gains else None, biases[0] if biases else None, tree)
    trial = Trial(tree, norm, "NRM505", frozenset(p.name for p in gains))
    return trial.first(_candidates(new, norm, forward), new.applicability)


def _forward(tree: Tree, norm: Norm) -> Function | None:
    """The method that gives the norm back."""
    name = norm.owner.span
    found = tree.around(name, ast.FunctionDef)
    return found if found is not None and tree.enclosing_class(found) is not None else None


def _candidates(new: _Unused, norm: Norm, forward: Function) -> Iterator[Candidate]:
    tree = new.tree
    named = " and ".join(f"`self.{p.name}`" for p in (new.gain, new.bias) if p)
    message = f"Apply {named}"
    returns = [(node, node.value) for node in _own_returns(tree, forward) if node.value is not None]
    biased = new.gain is not None and new.bias is None and norm.main.shift is not None
    if new.optional:
        yield from _guarded(new, message, returns if not biased else [])
        return
    if biased:
        yield from ((message, edits) for edits in _in_front_of_bias(new, norm, forward))
        return
    spans = {c.span for c in norm.computations if c.returned}
    whole = [value for _, value in returns]
    yield message, tuple(edit for value in whole for edit in new.around(value))
    parts = [node for value in whole if isinstance(value, ast.Tuple) for node in value.elts]
    chosen = [node for node in parts if _gives(tree, node, spans)]
    yield message, tuple(edit for node in chosen[:1] for edit in new.around(node))


def _own_returns(tree: Tree, forward: Function) -> Iterator[ast.Return]:
    for node in walk(forward):
        if isinstance(node, ast.Return) and tree.function(node) is forward:
            yield node


def _gives(tree: Tree, node: ast.expr, spans: Iterable[Span]) -> bool:
    here = tree.span(node)
    return any(here.start <= s.start and s.end <= here.end for s in spans)


def _in_front_of_bias(new: _Unused, norm: Norm, forward: Function) -> Iterator[tuple[Edit, ...]]:
    """A bias is added already: the gain belongs on what it is added to."""
    tree = new.tree
    names = {getattr(f.atom, "name", "") for f in norm.main.shift.factors} if norm.main.shift else set()
    for node in walk(forward):
        if not (isinstance(node, ast.Attribute) and node.attr in names):
            continue
        here: ast.AST = node
        while isinstance(holder := tree.parent(here), ast.Attribute | ast.Call) and not _adds(holder, here):
            here = holder
        other = _other(holder, here)
        if other is not None:
            yield _on(new, other, holder)


def _adds(holder: ast.AST, part: ast.AST) -> bool:
    """`y.add(bias)`, `torch.add(y, bias)`."""
    named = isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute)
    return named and isinstance(holder, ast.Call) and holder.func.attr in ("add", "add_") and part in holder.args  # type: ignore[attr-defined]


def _other(holder: ast.AST | None, part: ast.AST) -> ast.expr | None:
    """What the part is added to."""
    if isinstance(holder, ast.BinOp) and isinstance(holder.op, ast.Add):
        return holder.left if part is holder.right else holder.right
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
        return holder.args[0] if len(holder.args) == 2 else holder.func.value
    if isinstance(holder, ast.AugAssign) and isinstance(holder.op, ast.Add):
        return holder.target
    return None


def _on(new: _Unused, node: ast.expr, holder: ast.AST | None) -> tuple[Edit, ...]:
    tree = new.tree
    if isinstance(holder, ast.AugAssign):
        name = tree.source(node)
        return (tree.line_before(holder, f"{name} = {name} * {new.operand}"),)
    if isinstance(holder, ast.Call) and len(holder.args) == 1:  # y.add(bias): in the same style
        end = tree.with_parentheses(node).end
        return (Edit(Span(end, end), f".mul({new.factor})"),)
    return new.around(node)


# --- parameters that may be None -------------------------------------------------------------------------------------


def _made_under_a_test(tree: Tree, param: Param) -> bool:
    """There may be no such attribute at all."""
    made = tree.at(param.span)
    branch = next((n for n in tree.above(made) if isinstance(n, ast.If | ast.FunctionDef)), None) if made else None
    return isinstance(branch, ast.If) and not _optional(tree, param.name)


def _optional(tree: Tree, name: str) -> bool:
    """`self.weight = … if affine else None`, or None in another branch; what a base class outside the text makes."""
    stored = (n for n in walk(tree.root) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    if not any(node.attr == name for node in stored):
        return True
    for node in walk(tree.root):
        if isinstance(node, ast.Assign) and any(is_own(target, name) for target in node.targets):
            parts = [node.value, getattr(node.value, "body", None), getattr(node.value, "orelse", None)]
            if any(isinstance(part, ast.Constant) and part.value is None for part in parts):
                return True
        if isinstance(node, ast.Call) and tree.source(node.func) == "self.register_parameter" and len(node.args) == 2:
            first, second = node.args
            none = isinstance(second, ast.Constant) and second.value is None
            if none and isinstance(first, ast.Constant) and first.value == name:
                return True
    return False


def _guarded(new: _Unused, message: str, returns: list[tuple[ast.Return, ast.expr]]) -> Iterator[Candidate]:
    """`if self.weight is not None:` in front of a name that is given back."""
    tree = new.tree
    edits = []
    for node, value in returns:
        if not isinstance(value, ast.Name):
            return
        lines: list[str] = []
        for param, sign in ((new.gain, "*"), (new.bias, "+")):
            if param is not None:
                value_of = new.operand if sign == "*" else f"self.{param.name}"
                act = f"{value.id} = {value.id} {sign} {value_of}"
                kept = param.name in new.optional
                lines += [f"if self.{param.name} is not None:", f"    {act}"] if kept else [act]
        edits.append(tree.line_before(node, *lines))
    if edits:
        yield message, tuple(edits)


def _gain_first(tree: Tree) -> bool:
    """The text writes `self.weight * y` elsewhere, more often than `y * self.weight`."""
    first = second = 0
    for node in walk(tree.root):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            first += _is_gain(node.left)
            second += _is_gain(node.right)
    return first > second


def _is_gain(node: ast.expr) -> bool:
    named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return named and isinstance(node, ast.Attribute) and node.attr in ("weight", "gamma", "scale", "gain", "g", "a_2")
