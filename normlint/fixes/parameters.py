"""Build fixes for parameters: register them, give them the features' shape, and fill them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.evaluate.attributes import SIZES
from normlint.evaluate.monomial import Param
from normlint.fixes.calls import parameters, without_keyword
from normlint.fixes.document import Changes, Document
from normlint.fixes.flow import given, targets_of
from normlint.fixes.spelling import call_of, called, is_none, last_name, number, stripped
from normlint.fixes.tree import Tree, spelled
from normlint.text.finding import Applicability, Fix, Span

_EMPTY: Final = {"empty": "{}", "Tensor": "{}", "FloatTensor": "{}", "empty_like": "{}_like"}
_MAKERS: Final = ("ones", "zeros", "Tensor", "FloatTensor", "tensor", "full")


def as_parameter(param: Param, tree: Tree) -> Fix | None:
    """Wrap the tensor, no view of a parameter, in nn.Parameter: `self.weight = nn.Parameter(torch.ones(dim))`."""
    document = tree.document
    made = document.at(param.span)
    owner = document.around(made, cst.ClassDef)
    value = _assigned(document, made, param.name) if owner is not None and called(made) != "Parameter" else None
    parameter = spelled(tree, "torch.nn.Parameter")
    if owner is None or value is None or not parameter or _set_again(document, owner, param.name, value):
        return None
    changes = _wrapped(document, value, parameter)
    return document.fix(f"Make it a parameter: `{parameter}(…)`", changes, Applicability.UNSAFE)


def _assigned(document: Document, made: Any, name: str) -> cst.BaseExpression | None:
    """Return the whole expression that `self.name` is set to."""
    value = made
    while isinstance(document.parent(value), cst.Call | cst.Attribute | cst.BinaryOperation | cst.UnaryOperation):
        value = document.parent(value)
    stmt = document.parent(value)
    while isinstance(stmt, cst.IfExp):  # the branch alone: the other may be None
        stmt = document.parent(stmt)
    targets = [isinstance(target, cst.Attribute) and target.attr.value == name for target in targets_of(stmt)]
    return value if targets == [True] else None


def _set_again(document: Document, owner: cst.ClassDef, name: str, value: cst.BaseExpression) -> bool:
    """Return whether another tensor is assigned elsewhere, which torch refuses for a parameter."""
    here = document.around(value, cst.Assign | cst.AnnAssign).value
    named = (n for n in document.below(owner, cst.Attribute) if n.attr.value == name)
    return any(v is not here and not is_none(v) for n in named for v in given(document, n))


def _wrapped(document: Document, value: cst.BaseExpression, parameter: str) -> Changes:
    """Wrap the tensor in `nn.Parameter(…)`; nothing if it is marked as not trained."""
    said = {a.keyword.value: document.source(a.value) for a in document.below(value, cst.Arg) if a.keyword}
    if said.get("requires_grad") == "False" or (called(value) == "requires_grad_" and value.args):  # type: ignore[attr-defined]
        return {}
    plain = partial(without_keyword, "requires_grad") if isinstance(value, cst.Call) else stripped
    return {value: lambda now: call_of(parameter, plain(now))}


def filled(param: Param, init: str, tree: Tree) -> Fix:
    """Turn `torch.empty(dim)` into `torch.ones(dim)` or `torch.zeros(dim)`, as `init` says."""
    maker = _made_by(tree.document, param.span, tuple(_EMPTY))
    name = _EMPTY[called(maker)].format(init) if maker is not None else ""
    func = _torch_function(tree, name) if maker is not None else None
    changes: Changes = {maker.func: func} if maker is not None and func is not None else {}
    return tree.document.fix(f"Fill it: `torch.{name}(…)`", changes, Applicability.SAFE)


def of_features(param: Param, init: str, tree: Tree) -> Fix:
    """Turn `torch.Tensor([dim])` or `torch.ones(1)` into `torch.ones(dim)`."""
    maker = _made_by(tree.document, param.span, _MAKERS)
    changes = _shaped(tree, maker, init) if maker is not None and maker.args else {}
    return tree.document.fix(f"Make one value for each feature: `torch.{init}(…)`", changes, Applicability.UNSAFE)


def _shaped(tree: Tree, maker: cst.Call, init: str) -> Changes:
    """Change the call's name and size as little as possible."""
    size, beside = maker.args[0].value, _other_sizes(tree.document, maker)
    sole = _sole(size)
    written, unclear = number(sole) is None, len(beside) > 1
    if sole is None or (called(maker) not in ("Tensor", "FloatTensor") if written else unclear):
        return {}  # the other length may differ
    length = tree.document.source(sole) if written else next(iter(beside), "") or _length(tree, maker)
    if not length:
        return {}
    new = cst.parse_expression(length)
    if called(maker) in ("full", init):
        several = called(maker) == init and len([a for a in maker.args if not a.keyword]) > 1
        return {} if several else {size if beside or length.endswith("shape") else sole: new}
    func = _torch_function(tree, init)
    return {maker.func: func, size: new} if func and sum(not a.keyword for a in maker.args) == 1 else {}


def _sole(size: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the only item of a list or tuple, or the number itself."""
    if isinstance(size, cst.List | cst.Tuple):
        return size.elements[0].value if len(size.elements) == 1 else None
    return size


def _torch_function(tree: Tree, name: str) -> cst.BaseExpression | None:
    written = spelled(tree, f"torch.{name}")
    return cst.parse_expression(written) if written else None


def _made_by(document: Document, span: Span, makers: tuple[str, ...]) -> cst.Call | None:
    return next((call for call in document.below(document.at(span), cst.Call) if called(call) in makers), None)


def _length(tree: Tree, maker: cst.Call) -> str:
    """Return the class's name for its number of features: a usual one, or the only parameter without default."""
    document = tree.document
    init = document.around(maker, cst.FunctionDef)
    if init is None:
        return ""
    stored = {document.source(n.value): last_name(n.targets[0].target) for n in document.below(init, cst.Assign)}
    sized = [value for value in stored if value.rpartition(".")[2] in SIZES]
    lengths = [value for value in sized if _is_length(stored[value], init, document)]
    if named := [name for name in parameters(init) if name.lower() in SIZES]:
        axis = named[0] == "dim" and "dim" in stored and "dim" not in lengths  # torch's functions call an axis so
        return named[0] if len(named) == 1 and not axis else ""
    if len(lengths) == 1:
        return lengths[0]
    needed = [p for p in init.params.params[1:] if p.default is None]
    whole = [p.name.value for p in needed if p.annotation and document.source(p.annotation.annotation) == "int"]
    return whole[0] if len(whole) == len(needed) == 1 else ""


def _is_length(name: str, init: cst.FunctionDef, document: Document) -> bool:
    """Return whether the class computes with the attribute, or gives it to torch's own norm, and nothing else."""
    inside = document.below(document.around(init, cst.ClassDef), cst.Attribute)
    holders = [document.around(n, cst.Call | cst.BinaryOperation) for n in inside if n.attr.value == name]
    lengths = [isinstance(h, cst.BinaryOperation) or called(h).endswith("_norm") for h in holders if h is not None]
    return bool(lengths) and all(lengths)


def _other_sizes(document: Document, maker: cst.Call) -> list[str]:
    """Return the sizes of other tensors of ones, zeros or nothing that aren't literal numbers."""
    calls = [n for n in document.below(document.scope(maker), cst.Call) if n is not maker]
    sized = [n.args for n in calls if called(n) in ("ones", "zeros", "empty")]
    sizes = [args[0].value for args in sized if sum(not a.keyword for a in args) == 1 and not args[0].star]
    named = [size for size in sizes if (sole := _sole(size)) is not None and number(sole) is None]
    return list(dict.fromkeys(map(document.source, named)))
