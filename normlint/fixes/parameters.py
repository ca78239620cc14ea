"""Parameters made as they should be: registered, of the features' shape, filled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from normlint.evaluate.attributes import SIZES
from normlint.evaluate.monomial import Param
from normlint.fixes.casts_words import without_keyword
from normlint.fixes.tree import Tree, called, parameters, spelled
from normlint.fixes.work import walk
from normlint.text.finding import Applicability, Edit, Fix, Span

_EMPTY: Final = {"empty": "{}", "Tensor": "{}", "FloatTensor": "{}", "empty_like": "{}_like"}
_MAKERS: Final = ("ones", "zeros", "Tensor", "FloatTensor", "tensor", "full")


# --- a plain tensor becomes a parameter ------------------------------------------------------------------------------


def as_parameter(param: Param, tree: Tree) -> Fix | None:
    """`self.weight = torch.ones(dim)`: in nn.Parameter."""
    made = tree.at(param.span)
    assigned = _assigned(tree, made, param.name) if made is not None else None
    owner = tree.enclosing_class(made) if made is not None else None
    parameter = _parameter_class(tree, owner) if owner is not None else None
    if assigned is None or owner is None or parameter is None or _set_again(tree, owner, param.name, assigned):
        return None
    removed, grad = _without_grad(tree, assigned)
    start, end = tree.span(assigned)
    closing = ")" if grad else ", requires_grad=False)"
    edits = (Edit(Span(start, start), f"{parameter}("), *removed, Edit(Span(end, end), closing))
    return Fix(f"Make it a parameter: `{parameter}(…)`", edits, Applicability.UNSAFE)


def _assigned(tree: Tree, made: ast.expr, name: str) -> ast.expr | None:
    """What `self.name` is given: the expression around the tensor, or the local that carries it there."""
    here: ast.AST = made
    while isinstance(above := tree.parent(here), ast.Call | ast.Attribute | ast.BinOp | ast.UnaryOp):
        here = above
    value = here
    while isinstance(above, ast.IfExp):  # the branch alone: the other may be None
        above = tree.parent(above)
    if not isinstance(value, ast.expr) or not isinstance(above, ast.Assign | ast.AnnAssign):
        return None
    targets = above.targets if isinstance(above, ast.Assign) else [above.target]
    if len(targets) == 1 and is_own(targets[0], name):
        return value
    return _carried(tree, above, name) if isinstance(above, ast.Assign) else None


def _carried(tree: Tree, first: ast.Assign, name: str) -> ast.expr | None:
    """`w = torch.ones(d)`, then `self.name = w`."""
    local = first.targets[0]
    function = tree.function(first)
    if not isinstance(local, ast.Name) or function is None:
        return None
    for node in walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and is_own(node.targets[0], name):
            given = node.value
            return given if isinstance(given, ast.Name) and given.id == local.id else None
    return None


def is_own(target: ast.AST, name: str) -> bool:
    """`self.name`."""
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    return own and isinstance(target, ast.Attribute) and target.attr == name


def _set_again(tree: Tree, owner: ast.ClassDef, name: str, assigned: ast.expr) -> bool:
    """Another tensor is put in its place elsewhere, which torch refuses for a parameter."""
    for node in walk(owner):
        if isinstance(node, ast.AugAssign) and is_own(node.target, name):
            return True
        if isinstance(node, ast.Assign | ast.AnnAssign) and node is not tree.statement(assigned):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            empty = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
            if any(is_own(target, name) for target in targets) and not empty:
                return True
    return False


def _without_grad(tree: Tree, value: ast.expr) -> tuple[tuple[Edit, ...], bool]:
    """A parameter requires its gradient anyway: what said so goes. And whether it shall."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "requires_grad_":
        base = tree.with_parentheses(value.func.value)
        return (Edit(Span(base.end, tree.span(value).end), ""),), not (value.args or value.keywords)
    for node in walk(value):
        if isinstance(node, ast.keyword) and node.arg == "requires_grad":
            grad = not (isinstance(node.value, ast.Constant) and node.value.value is False)
            call = tree.parent(node)
            return (without_keyword(tree, call, "requires_grad") if isinstance(call, ast.Call) else None) or (), grad
    return (), True


def _parameter_class(tree: Tree, owner: ast.ClassDef) -> str | None:
    """How the text calls nn.Parameter: by its imports, or by the base class's name."""
    modules = (
        tree.source(base.value) for base in owner.bases if isinstance(base, ast.Attribute) and base.attr == "Module"
    )
    return spelled(tree, "torch.nn.Parameter") or next((f"{module}.Parameter" for module in modules), None)


# --- one number, or nothing, where a gain for each feature belongs ---------------------------------------------------


def filled(param: Param, init: str, tree: Tree) -> Fix | None:
    """`torch.empty(dim)` becomes `torch.ones(dim)`, or of zeros: `init` says which."""
    maker = next(_made_by(tree, param.span, tuple(_EMPTY)), None)
    if maker is None:
        return None
    name = _EMPTY[called(maker)].format(init)
    func = _renamed(tree, maker, name)
    return Fix(f"Fill it: `torch.{name}(…)`", (func,), Applicability.SAFE) if func else None


def of_features(param: Param, init: str, tree: Tree) -> Fix | None:
    """`torch.Tensor([dim])` and `torch.ones(1)` become `torch.ones(dim)`."""
    maker = next(_made_by(tree, param.span, _MAKERS), None)
    if maker is None or len(maker.args) < 1:
        return None
    edits = _shaped(tree, maker, init)
    return Fix(f"Make one value for each feature: `torch.{init}(…)`", edits, Applicability.UNSAFE) if edits else None


def _shaped(tree: Tree, maker: ast.Call, init: str) -> tuple[Edit, ...]:
    """The call's name and its size, edited as little as may be."""
    sole, size, beside = _sole(maker.args[0]), maker.args[0], _beside(tree, maker)
    written = sole is not None and called(maker) in ("Tensor", "FloatTensor") and not isinstance(sole, ast.Constant)
    length = tree.source(sole) if written and sole is not None else next(iter(beside), None) or _length(tree, maker)
    if sole is None or length is None or (len(beside) > 1 and not written):
        return ()
    if called(maker) in ("full", init):
        several = called(maker) == init and len(maker.args) > 1
        return () if several else (tree.replace(size if beside else sole, length),)
    func = _renamed(tree, maker, init)
    return (func, tree.replace(size, length)) if func and len(maker.args) == 1 else ()


def _sole(size: ast.expr) -> ast.expr | None:
    """The one item of a list or tuple, or the number itself."""
    if isinstance(size, ast.List | ast.Tuple):
        return size.elts[0] if len(size.elts) == 1 else None
    return size


def _renamed(tree: Tree, call: ast.Call, name: str) -> Edit | None:
    """The call of another of torch's functions."""
    if isinstance(call.func, ast.Attribute):
        end = tree.span(call.func).end
        owner = tree.source(call.func.value)
        if owner == spelled(tree, "torch"):
            return Edit(Span(end - len(call.func.attr), end), name)
    written = spelled(tree, f"torch.{name}")
    return tree.replace(call.func, written) if written else None


def _made_by(tree: Tree, span: Span, makers: tuple[str, ...]) -> Iterator[ast.Call]:
    whole = tree.at(span)
    nodes: list[ast.AST] = list(walk(whole)) if whole is not None else []
    for node in nodes:
        if isinstance(node, ast.Call) and called(node) in makers:
            yield node


def _length(tree: Tree, maker: ast.Call) -> str | None:
    """What the class calls its number of features: by its name, or what it must be told."""
    init, owner = tree.function(maker), tree.enclosing_class(maker)
    if init is None or owner is None:
        return None
    arguments = parameters(init)
    named = [a.arg for a in arguments if a.arg.lower() in SIZES]
    if named:
        return named[0] if len(named) == 1 else None
    own = {a.arg for a in arguments}
    for scope in (owner, tree.root):
        sizes = dict.fromkeys(tree.source(n) for n in walk(scope) if _is_size(n, own))
        if sizes:
            return next(iter(sizes)) if len(sizes) == 1 else None
    needed = init.args.args[1 : len(init.args.args) - len(init.args.defaults)]
    whole = [a.arg for a in needed if isinstance(a.annotation, ast.Name) and a.annotation.id == "int"]
    return whole[0] if len(whole) == len(needed) == 1 else None


def _beside(tree: Tree, maker: ast.Call) -> set[str]:
    """The sizes of other tensors of ones, zeros or nothing that aren't known to be one number."""
    init = tree.function(maker)
    calls = [n for n in walk(init) if isinstance(n, ast.Call) and n is not maker] if init else []
    sizes = [n.args[0] for n in calls if called(n) in ("ones", "zeros", "empty") and len(n.args) == 1]
    return {tree.source(size) for size in sizes if not isinstance(_sole(size), ast.Constant | ast.Starred | None)}


def _is_size(node: ast.AST, owners: set[str]) -> bool:
    """`config.hidden_size`, `self.dim`."""
    named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load)
    return named and isinstance(node, ast.Attribute) and node.attr in SIZES and node.value.id in owners - {"self"}  # type: ignore[attr-defined]
