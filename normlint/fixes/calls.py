"""A reduction as it is called: its arguments by parameter, and new ones in the spelling that the file uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from normlint.fixes.tree import Tree, called
from normlint.fixes.work import walk
from normlint.text.finding import Edit, Span
from normlint.text.frozen import dataclass

PARAMETERS: Final = {
    **dict.fromkeys(("mean", "nanmean", "sum", "nansum"), ("input", "dim", "keepdim")),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), ("input", "dim", "unbiased", "keepdim")),
    **dict.fromkeys(("norm", "vector_norm"), ("input", "ord", "dim", "keepdim")),
    "normalize": ("input", "ord", "dim", "eps"),
}
_ALIASES: Final = {"axis": "dim", "keepdims": "keepdim", "p": "ord", "self": "input", "A": "input", "x": "input"}
_MODULES: Final = frozenset(("torch", "F", "nn", "np", "math", "einops"))
RESHAPES: Final = frozenset(
    "unsqueeze squeeze view reshape expand expand_as flatten item rearrange repeat tolist".split()
)
_MEETINGS: Final = frozenset("add sub mul div add_ sub_ mul_ div_ subtract multiply divide".split())


@dataclass(frozen=True, slots=True)
class Given:
    """An argument: the parameter's name as it is written ("" where its place says it), and the value."""

    keyword: str
    value: ast.expr


@dataclass(frozen=True)
class Reduction:
    """A call of mean, sum, var, norm and the like, as a method or a function."""

    tree: Tree
    node: ast.Call
    name: str
    method: bool
    given: Mapping[str, Given]

    @staticmethod
    def at(tree: Tree, span: Span) -> Reduction | None:
        """The call that the span is; None where something else stands there, or some arguments can't be told."""
        node = tree.at(span)
        return Reduction.of(tree, node) if isinstance(node, ast.Call) else None

    @staticmethod
    def of(tree: Tree, node: ast.Call) -> Reduction | None:
        """The call as a reduction, where its name and arguments are plain."""
        name = called(node)
        starred = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        if name not in PARAMETERS or starred:
            return None
        method = isinstance(node.func, ast.Attribute) and not is_module(tree, node.func.value)
        names = PARAMETERS[name][1:] if method else PARAMETERS[name]
        if len(node.args) > len(names):
            return None
        given = {n: Given("", value) for n, value in zip(names, node.args, strict=False)}
        given |= {_ALIASES.get(k.arg or "", k.arg or ""): Given(k.arg or "", k.value) for k in node.keywords}
        dim = given.get("dim")
        if "unbiased" in names and dim and isinstance(dim.value, ast.Constant) and isinstance(dim.value.value, bool):
            given["unbiased"] = given.pop("dim")  # x.var(False): all axes
        return Reduction(tree, node, name, method, given)

    @property
    def input(self) -> ast.expr | None:
        """What is reduced."""
        if self.method and isinstance(self.node.func, ast.Attribute):
            return self.node.func.value
        return self.given["input"].value if "input" in self.given else None

    @property
    def numpy(self) -> bool:
        """It speaks of an axis, not of a dim."""
        return any(g.keyword in ("axis", "keepdims") for g in self.given.values())

    def source(self, parameter: str) -> str | None:
        """An argument as it is written, with the parentheses of a tuple."""
        given = self.given.get(parameter)
        if given is None:
            return None
        start, end = self.tree.with_parentheses(given.value)
        return self.tree.text[start:end]

    # --- other calls, whose spelling is a model ----------------------------------------------------------------------

    @cached_property
    def model(self) -> Reduction | None:
        """The call in the text that is most like this one and says which axis it keeps."""
        others = [o for o in reductions(self.tree) if {"dim", "keepdim"} <= set(o.given) and o.node is not self.node]
        return max(others, key=self._likeness, default=None)

    def _likeness(self, other: Reduction) -> tuple[bool, bool, bool]:
        here, there = self.tree.function(self.node), self.tree.function(other.node)
        return other.method == self.method, here is there, other.name == self.name

    def dim_by_place(self) -> bool:
        """An axis may come without its name here, and that is how the file has it."""
        before = PARAMETERS[self.name][1 if self.method else 0 : PARAMETERS[self.name].index("dim")]
        if any(n not in self.given or self.given[n].keyword for n in before) or self.name == "normalize":
            return False
        model = self.model if self.model and self.model.method == self.method else None
        return not model.given["dim"].keyword if model else self.method

    def _keep(self, *, dim_by_place: bool) -> str:
        model = self.model
        if self.numpy:
            return "keepdims=True"
        if model and not model.given["keepdim"].keyword and dim_by_place and self.name in ("mean", "sum"):
            return "True"
        return "keepdims=True" if model and model.numpy and "dim" not in self.given else "keepdim=True"

    # --- edits -------------------------------------------------------------------------------------------------------

    def kept(self) -> tuple[Edit, ...]:
        """The reduced axis is kept."""
        if "keepdim" not in PARAMETERS[self.name]:
            return ()
        now = self.given.get("keepdim")
        if now and isinstance(now.value, ast.Constant) and now.value.value is True:
            return ()
        if "keepdim" in self.given:
            return (self.tree.replace(self.given["keepdim"].value, "True"),)
        dim = self.given.get("dim")
        bare = len(self.node.keywords) == 0 and dim is not None
        return self.last(self._keep(dim_by_place=bare))

    def over(self, axis: str, *, keep: bool) -> tuple[Edit, ...]:
        """The reduction is over `axis`, which is kept."""
        keep = keep and "keepdim" in PARAMETERS[self.name]
        dim = self.given.get("dim")
        if dim is not None:
            start, end = self.tree.with_parentheses(dim.value)
            return (Edit(Span(start, end), axis), *(self.kept() if keep else ()))
        by_place = self.dim_by_place()
        numpy = self.numpy or (self.model is not None and self.model.given["dim"].keyword == "axis")
        new = [axis if by_place else f"{'axis' if numpy else 'dim'}={axis}"]
        if keep and "keepdim" not in self.given:
            return self._first(*new, self._keep(dim_by_place=by_place))
        return (*self._first(*new), *(self.kept() if keep else ()))

    def _first(self, *arguments: str) -> tuple[Edit, ...]:
        """New arguments behind those that come by their place, or behind `input=` and `p=`."""
        named = [g.value for name, g in self.given.items() if name in ("input", "ord") and g.keyword]
        return self._insert([*self.node.args, *named], arguments)

    def last(self, *arguments: str) -> tuple[Edit, ...]:
        """New arguments behind all others."""
        return self._insert([*self.node.args, *(k.value for k in self.node.keywords)], arguments)

    def _insert(self, behind: list[ast.expr], arguments: tuple[str, ...]) -> tuple[Edit, ...]:
        tree = self.tree
        if not behind:
            at = tree.text.index("(", tree.with_parentheses(self.node.func).end) + 1
            more = bool(self.node.keywords)
            return (Edit(Span(at, at), ", ".join(arguments) + ", " * more),)
        last = max(behind, key=lambda one: tree.span(one).end)
        end = tree.with_parentheses(last).end
        between = self._between(last, end)
        return (Edit(Span(end, end), "".join(between + one for one in arguments)),)

    def _between(self, last: ast.expr, end: int) -> str:
        """A comma, and a line of its own where every argument has one."""
        text, holder = self.tree.text, self.tree.parent(last)
        first = holder if isinstance(holder, ast.keyword) else last
        start = self.tree.span(first).start
        line = text.rfind("\n", 0, start) + 1
        rest = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)].strip()
        if line and line > self.tree.span(self.node).start and not text[line:start].strip() and rest in ("", ","):
            return f",{self.tree.newline}{text[line:start]}"
        return ", "


def is_module(tree: Tree, node: ast.expr) -> bool:
    """`torch`, `torch.linalg`, `F`: something imported, no tensor."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and (node.id in tree.imported or (node.id in _MODULES))


def reductions(tree: Tree) -> Iterator[Reduction]:
    """Every reduction in the text."""
    for node in walk(tree.root):
        if isinstance(node, ast.Call) and called(node) in PARAMETERS:
            found = Reduction.of(tree, node)
            if found is not None:
                yield found


def reshaped(tree: Tree, node: ast.expr) -> bool:
    """What the call gives has its axes rearranged, here or under its name; then another axis would be one too many."""
    found, whole = _rearranged(tree, node)
    if found or not isinstance(whole, ast.Assign):
        return found
    names = {n.id for t in whole.targets for n in walk(t) if isinstance(n, ast.Name)}
    scope = tree.function(node) or tree.root
    uses = (n for n in walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names)
    return any(_rearranged(tree, use)[0] for use in uses if tree.span(use).start > tree.span(node).end)


def _rearranged(tree: Tree, node: ast.AST) -> tuple[bool, ast.stmt | None]:
    """Up to the product with another tensor; the statement, if it is that far."""
    for holder in tree.above(node):
        if isinstance(holder, ast.stmt):
            return isinstance(holder, ast.Return) and isinstance(holder.value, ast.Tuple), holder
        if isinstance(holder, ast.Subscript) and node is holder.value:
            return True, None
        if isinstance(holder, ast.Attribute | ast.Call) and called(holder) in RESHAPES:
            return True, None
        if any(not _number(other) for other in _beside(holder, node)):
            return False, None
        node = holder
    return False, None


def _beside(holder: ast.AST, node: ast.AST) -> list[ast.expr]:
    """What the node meets in an operation."""
    if isinstance(holder, ast.BinOp):
        return [holder.right if node is holder.left else holder.left]
    if isinstance(holder, ast.Call) and called(holder) in _MEETINGS and isinstance(holder.func, ast.Attribute):
        return [one for one in (holder.func.value, *holder.args) if one is not node and _loose(one)]
    return []


def _loose(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Name) and node.id in _MODULES)


def _number(node: ast.expr) -> bool:
    """No tensor, as far as the syntax tells: a literal, an attribute, a length, an eps."""
    return not any(isinstance(n, ast.Name) and "eps" not in n.id.lower() for n in _parts(node))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Call) and called(node) in ("size", "numel", "len")):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _parts(child)
