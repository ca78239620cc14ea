"""A reduction as it is called: its arguments by parameter, and new ones in the spelling that the file uses."""

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
        """The call as a reduction, where its name and arguments are plain."""
        name = called(node)
        if not isinstance(node, cst.Call) or name not in PARAMETERS or any(a.star for a in node.args):
            return None
        method = isinstance(node.func, cst.Attribute) and not document.is_module(node.func.value)
        names = PARAMETERS[name][method:]
        by_place = [a for a in node.args if a.keyword is None]
        given = dict(zip(names, by_place, strict=False))
        given |= {_ALIASES.get(a.keyword.value, a.keyword.value): a for a in node.args if a.keyword is not None}
        by_flag = "unbiased" in names and "dim" in given and _flag(given["dim"].value) is not None
        return None if by_flag else Reduction(document, node, name, method, given)  # x.var(False) has no place for axes

    @property
    def input(self) -> cst.BaseExpression | None:
        """The tensor that is reduced."""
        if self.method and isinstance(self.node.func, cst.Attribute):
            return self.node.func.value
        return self.value("input")

    def value(self, parameter: str) -> cst.BaseExpression | None:
        """What is given for a parameter."""
        return self.given[parameter].value if parameter in self.given else None

    def over(self, axis: cst.BaseExpression | None, *, keep: bool) -> Changes:
        """The reduction is over `axis`, or the one it has, which is kept."""
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
        """A new axis may come without its name: all in front of it do, and the call is a method's."""
        before = PARAMETERS[self.name][self.method : PARAMETERS[self.name].index("dim")]
        return self.method and not any(n not in self.given or self.given[n].keyword for n in before)


def with_arguments(call: cst.Call, new: tuple[cst.Arg, ...], at: int) -> cst.Call:
    """The call with new arguments in front of number `at`, spaced and broken into lines like the others."""
    spaced = [a.equal for a in call.args if a.keyword]
    new = tuple(a.with_changes(equal=spaced[-1]) if a.keyword and spaced else a for a in new)
    return call.with_changes(args=_inserted(call.args, new, at, call.whitespace_before_args))


def _inserted(items: Sequence[Any], new: Sequence[Any], at: int, before: Any) -> list[Any]:
    """Arguments or parameters with new ones inserted at index `at`; `before`: the white space before the first one."""
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
        own = line.with_changes(first_line=behind.first_line)  # with the comment behind the last one
        several[0] = several[0].with_changes(comma=cst.Comma(whitespace_after=own))
        behind = behind.with_changes(first_line=line.first_line)
    comma = last.comma.with_changes(whitespace_after=behind) if ended else last.comma
    several[-1] = several[-1].with_changes(comma=comma, **{closing: getattr(last, closing) if ended else behind})
    return [*items[: at - 1], *several, *items[at:]]


def with_argument(call: cst.Call, name: str, text: str) -> Changes:
    """One more argument, the last; nothing where it may be given already, out of sight."""
    if name and any(a.star for a in call.args):
        return {}
    new = argument(cst.parse_expression(text), name)
    return {call: partial(with_arguments, new=(new,), at=len(call.args))}


def with_parameter(function: cst.FunctionDef, name: str, value: str) -> Changes:
    """One more parameter, the last, written as its neighbours are; `value`: its default."""
    params = function.params
    group = "kwonly_params" if params.kwonly_params or isinstance(params.star_arg, cst.ParamStar) else "params"
    several = getattr(params, group)
    typed = any(p.annotation for p in (*params.posonly_params, *params.params, *params.kwonly_params))
    parameter = f"{name}: float = {value}" if typed else f"{name}={value}"
    made = cst.ensure_type(cst.parse_statement(f"def f({parameter}): pass"), cst.FunctionDef).params.params[0]
    added = _inserted(several, (made,), len(several), function.whitespace_before_params)
    return {params: lambda now: now.with_changes(**{group: added})}


def operand_of(document: Document, call: cst.Call) -> Any:
    """The tensor that an operation is about: `x` in `x.pow(2)` and in `torch.pow(x, 2)`."""
    if isinstance(call.func, cst.Attribute) and not document.is_module(call.func.value):
        return call.func.value
    first = next((a for a in call.args if not a.keyword or a.keyword.value == "input"), None)
    return first.value if first is not None and not first.star else None


def without_keyword(name: str, call: cst.Call) -> cst.Call:
    """The call without an argument that is given by this name."""
    args = [a for a in call.args if not (a.keyword and a.keyword.value == name)]
    last = call.args[-1:]
    if args and args[-1:] != last:  # it was the last: what stood behind it closes the list now
        args[-1] = args[-1].with_changes(comma=last[0].comma, whitespace_after_arg=last[0].whitespace_after_arg)
    return call.with_changes(args=args)


def argument_of(function: cst.FunctionDef, call: cst.Call, name: str) -> cst.BaseExpression | None:
    """The argument that a call passes for a parameter; None where it isn't written out."""
    keyword = next((a.value for a in call.args if a.keyword and a.keyword.value == name), None)
    if keyword is not None or any(a.star for a in call.args):
        return keyword
    names = places(function)
    by_place = [a.value for a in call.args if not a.keyword]
    at = names.index(name) - bound_first(function, call) if name in names else len(by_place)
    return by_place[at] if 0 <= at < len(by_place) else None


def places(function: Scope) -> list[str]:
    """The names of what a function takes by place, in order."""
    return [p.name.value for p in (*function.params.posonly_params, *function.params.params)]


def parameters(function: Scope) -> list[str]:
    """The names of what a function takes by name, in order."""
    return [*places(function), *(p.name.value for p in function.params.kwonly_params)]


def bound_first(function: cst.FunctionDef, call: cst.Call) -> int:
    """1 where the call binds the first parameter by the dot."""
    static = any(last_name(d.decorator) == "staticmethod" for d in function.decorators)
    names = places(function)
    return int(isinstance(call.func, cst.Attribute) and not static and names[:1] in (["self"], ["cls"]))


def _flag(value: cst.BaseExpression | None) -> bool | None:
    return {"True": True, "False": False}.get(value.value) if isinstance(value, cst.Name) else None


def axis_of(value: cst.BaseExpression | None) -> bool:
    """An axis, or several, written out."""
    if isinstance(value, cst.Tuple | cst.List):
        return all(number(e.value) is not None for e in value.elements)
    return number(value) is not None
