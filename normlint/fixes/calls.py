"""Read and change the arguments of calls, of reductions above all, in the spelling that the file uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import libcst as cst

from normlint.fixes.document import Changes, Document
from normlint.fixes.spelling import argument, called, last_name, number
from normlint.text.frozen import dataclass

PARAMETERS: Final = {
    **dict.fromkeys(("mean", "nanmean", "sum", "nansum"), ("input", "dim", "keepdim")),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), ("input", "dim", "unbiased", "keepdim")),
    **dict.fromkeys(("norm", "vector_norm"), ("input", "ord", "dim", "keepdim")),
    "normalize": ("input", "ord", "dim", "eps"),
}
_ALIASES: Final = {"axis": "dim", "keepdims": "keepdim", "p": "ord", "self": "input", "A": "input", "x": "input"}
_TRUE: Final = cst.Name("True")
Scope = cst.FunctionDef | cst.Lambda


@dataclass(frozen=True)
class Reduction:
    """A call of mean, sum, var, norm and the like, as a method or a function."""

    document: Document
    node: cst.Call
    name: str
    method: bool
    given: Mapping[str, cst.Arg]

    @staticmethod
    def of(document: Document, node: cst.CSTNode | None) -> Reduction | None:
        """Return the call as a reduction, or None if its name or arguments aren't plain."""
        name = called(node)
        if not isinstance(node, cst.Call) or name not in PARAMETERS or any(a.star for a in node.args):
            return None
        method = isinstance(node.func, cst.Attribute) and not document.is_module(node.func.value)
        names = PARAMETERS[name][method:]
        by_place = [a for a in node.args if a.keyword is None]
        given = dict(zip(names, by_place, strict=False))
        given |= {_ALIASES.get(a.keyword.value, a.keyword.value): a for a in node.args if a.keyword is not None}
        by_flag = "unbiased" in names and "dim" in given and _flag(given["dim"].value) is not None
        return None if by_flag else Reduction(document, node, name, method, given)  # in x.var(False) it is no axis

    @property
    def input(self) -> cst.BaseExpression | None:
        """Return the tensor that is reduced."""
        if self.method and isinstance(self.node.func, cst.Attribute):
            return self.node.func.value
        return self.value("input")

    def value(self, parameter: str) -> cst.BaseExpression | None:
        """Return the argument for a parameter."""
        return self.given[parameter].value if parameter in self.given else None

    def over(self, axis: cst.BaseExpression | None, *, keep: bool) -> Changes:
        """Reduce over `axis` (None for the axis it has) and, if `keep`, keep that axis."""
        wanted = {"dim": axis, "keepdim": _TRUE if keep and "keepdim" in PARAMETERS[self.name] else None}
        given = {name: value for name, value in wanted.items() if value is not None}
        if _flag(self.value("keepdim")) is True:
            given.pop("keepdim", None)
        changes: Changes = {self.given[name].value: given.pop(name) for name in (*given,) if name in self.given}
        new = [argument(value, "" if name == "dim" and self._by_place else name) for name, value in given.items()]
        named = [a for name, a in self.given.items() if name in ("input", "ord")]
        first = max((n + 1 for n, a in enumerate(self.node.args) if a.keyword is None or a in named), default=0)
        at = first if "dim" in given else len(self.node.args)
        return {**changes, **({self.node: partial(with_arguments, new=tuple(new), at=at)} if new else {})}

    @property
    def _by_place(self) -> bool:
        """Return whether a method's arguments before the axis are given by place, so that the axis needs no name."""
        before = PARAMETERS[self.name][self.method : PARAMETERS[self.name].index("dim")]
        return self.method and not any(n not in self.given or self.given[n].keyword for n in before)


def with_arguments(call: cst.Call, new: tuple[cst.Arg, ...], at: int) -> cst.Call:
    """Insert arguments into the call at index `at`, spaced and broken into lines like the others."""
    spaced = [a.equal for a in call.args if a.keyword and "\n" not in cst.Module([]).code_for_node(a)]
    new = tuple(a.with_changes(equal=spaced[-1]) if a.keyword and spaced else a for a in new)
    return call.with_changes(args=_inserted(call.args, new, at, call.whitespace_before_args))


def _inserted(items: Sequence[Any], new: Sequence[Any], at: int, before: Any) -> list[Any]:
    """Insert arguments or parameters at index `at`; `before` is the white space before the first one."""
    plain, none = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")), cst.SimpleWhitespace("")
    if at == 0:
        more = [one.with_changes(comma=plain) for one in new]
        more[-1:] = more[-1:] if items else [new[-1]]
        return [*more, *items]
    last = items[at - 1]
    closing = "whitespace_after_arg" if isinstance(last, cst.Arg) else "whitespace_after_param"
    front: Any = before if at == 1 else getattr(items[at - 2].comma, "whitespace_after", none)
    ended = isinstance(last.comma, cst.Comma)
    behind: Any = last.comma.whitespace_after if ended else getattr(last, closing)
    several = [one.with_changes(comma=plain, **{closing: none}) for one in (last, *new)]
    spread = isinstance(front, cst.ParenthesizedWhitespace) and isinstance(behind, cst.ParenthesizedWhitespace)
    if spread and not (isinstance(last, cst.Arg) and behind.first_line.comment):
        line = front.with_changes(first_line=cst.TrailingWhitespace(newline=front.first_line.newline), empty_lines=())
        several = [one.with_changes(comma=cst.Comma(whitespace_after=line)) for one in several]
        own = line.with_changes(first_line=behind.first_line)  # keeps the comment behind the last one
        several[0] = several[0].with_changes(comma=cst.Comma(whitespace_after=own))
        behind = behind.with_changes(first_line=line.first_line)
    comma = last.comma.with_changes(whitespace_after=behind) if ended else last.comma
    several[-1] = several[-1].with_changes(comma=comma, **{closing: getattr(last, closing) if ended else behind})
    return [*items[: at - 1], *several, *items[at:]]


def with_argument(call: cst.Call, name: str, text: str) -> Changes:
    """Append an argument to the call; nothing if it may be given already by `*` or `**`."""
    if name and any(a.star for a in call.args):
        return {}
    new = argument(cst.parse_expression(text), name)
    return {call: partial(with_arguments, new=(new,), at=len(call.args))}


def with_parameter(function: cst.FunctionDef, name: str, value: str) -> Changes:
    """Append a parameter with the default `value`, annotated if others are."""
    params = function.params
    group = "kwonly_params" if params.kwonly_params or isinstance(params.star_arg, cst.ParamStar) else "params"
    several = getattr(params, group)
    typed = any(p.annotation for p in (*params.posonly_params, *params.params, *params.kwonly_params))
    parameter = f"{name}: float = {value}" if typed else f"{name}={value}"
    made = cst.ensure_type(cst.parse_statement(f"def f({parameter}): pass"), cst.FunctionDef).params.params[0]
    added = _inserted(several, (made,), len(several), function.whitespace_before_params)
    return {params: lambda now: now.with_changes(**{group: added})}


def operand_of(document: Document, call: cst.Call) -> Any:
    """Return the tensor of an operation: `x` in `x.pow(2)` and in `torch.pow(x, 2)`."""
    if isinstance(call.func, cst.Attribute) and not document.is_module(call.func.value):
        return call.func.value
    first = next((a for a in call.args if not a.keyword or a.keyword.value == "input"), None)
    return first.value if first is not None and not first.star else None


def without_keyword(name: str, call: cst.Call) -> cst.Call:
    """Remove the keyword argument of this name from the call."""
    args = [a for a in call.args if not (a.keyword and a.keyword.value == name)]
    last = call.args[-1:]
    if args and args[-1:] != last:  # the last one is removed: keep what closes the list
        args[-1] = args[-1].with_changes(comma=last[0].comma, whitespace_after_arg=last[0].whitespace_after_arg)
    return call.with_changes(args=args)


def argument_of(function: cst.FunctionDef, call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return the argument that a call passes for a parameter; None where it isn't written out."""
    keyword = next((a.value for a in call.args if a.keyword and a.keyword.value == name), None)
    if keyword is not None or any(a.star for a in call.args):
        return keyword
    names = places(function)
    by_place = [a.value for a in call.args if not a.keyword]
    at = names.index(name) - bound_first(function, call) if name in names else len(by_place)
    return by_place[at] if 0 <= at < len(by_place) else None


def places(function: Scope) -> list[str]:
    """Return the names of a function's positional parameters, in order."""
    return [p.name.value for p in (*function.params.posonly_params, *function.params.params)]


def parameters(function: Scope) -> list[str]:
    """Return the names of all parameters of a function, in order, without `*args` and `**kwargs`."""
    return [*places(function), *(p.name.value for p in function.params.kwonly_params)]


def bound_first(function: cst.FunctionDef, call: cst.Call) -> int:
    """Return 1 if the call passes the first parameter by the dot of a method, else 0."""
    static = any(last_name(d.decorator) == "staticmethod" for d in function.decorators)
    names = places(function)
    return int(isinstance(call.func, cst.Attribute) and not static and names[:1] in (["self"], ["cls"]))


def _flag(value: cst.BaseExpression | None) -> bool | None:
    return {"True": True, "False": False}.get(value.value) if isinstance(value, cst.Name) else None


def axis_of(value: cst.BaseExpression | None) -> bool:
    """Return whether the value is an axis, or several, written as numbers."""
    if isinstance(value, cst.Tuple | cst.List):
        return all(number(e.value) is not None for e in value.elements)
    return number(value) is not None
