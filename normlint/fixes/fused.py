"""A norm that is written out, as one call of F.rms_norm or F.layer_norm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import libcst as cst

from normlint.evaluate.monomial import TRAILING, Input, Mono, Param
from normlint.fixes.calls import parameters
from normlint.fixes.document import Document
from normlint.fixes.flow import targets_of
from normlint.fixes.spelling import called
from normlint.fixes.tree import Tree, spelled
from normlint.fixes.trial import reported
from normlint.norm.norm import Computation, Norm
from normlint.text.finding import Applicability, Fix
from normlint.text.frozen import dataclass

_FUNCTIONAL: Final = {"rms": "rms_norm", "layer": "layer_norm"}


@dataclass(frozen=True, slots=True)
class _Parts:
    """What torch's function is given, as the text writes it."""

    x: str
    weight: str | None
    gain: str | None  # as it is multiplied: cast, where 1 is added to it in fp32
    offset: bool  # the gain is 1 + weight
    trailing: bool  # over as many axes as the gain has
    bias: str | None
    eps: str

    def call(self, function: str, *, layer: bool) -> str:
        """The call of torch's function, with positional arguments where possible."""
        # not the gain's shape: one gain for each head would change what is averaged, where this raises
        given = [self.x, f"{self.weight}.shape" if self.trailing else f"{self.x}.shape[-1:]"]
        gain = f"1 + {self.gain}" if self.offset else self.weight
        tail: list[str | None] = [gain, self.bias, self.eps] if layer else [gain, self.eps]
        names = ["weight", "bias", "eps"] if layer else ["weight", "eps"]
        skipped = False
        for name, value in zip(names, tail, strict=True):
            if value is None:
                skipped = True
            else:
                given.append(f"{name}={value}" if skipped else value)
        return f"{function}({', '.join(given)})"


def fused(norm: Norm, tree: Tree) -> Fix | None:
    """The whole body of the function as one call: nothing else may happen in it."""
    document, functional = tree.document, spelled(tree, "torch.nn.functional")
    name = document.at(norm.owner.span, cst.Name)
    function = document.around(name, cst.FunctionDef)
    if function is None or functional is None or norm.kind not in _FUNCTIONAL or any(reported(norm)):  # first the rest
        return None
    body = _body(function)
    parts = _parts(norm, function, document) if body else None
    places = (span for c in norm.computations for span in (c.statistic.span, *(e.at for e in c.eps)))
    elsewhere = any(document.around(document.at(span), cst.FunctionDef) is not function for span in places)
    if parts is None or elsewhere or not _plain(body, document, parts):
        return None  # or a helper computes it, which others may call
    if not parts.trailing and _of_heads(norm, document):
        return None
    call = parts.call(f"{functional}.{_FUNCTIONAL[norm.kind]}", layer=norm.kind == "layer")
    made = [cst.Return(cst.parse_expression(call))]
    line = body[-1].with_changes(body=made, leading_lines=body[0].leading_lines)
    changes = {body[-1]: line, **dict.fromkeys(body[:-1])}
    return document.fix(f"Let torch do it: `{call}`", changes, Applicability.UNSAFE)


def _of_heads(norm: Norm, document: Document) -> bool:
    """Does the text construct the norm with a gain of several axes, as in `LayerNorm((heads, head_dim))`?"""
    name = norm.owner.name.rpartition(".")[2]
    calls = (n for n in document.everywhere(cst.Call, name) if called(n) == name)
    given = (a.value for n in calls for number, a in enumerate(n.args) if a.keyword or not number)
    return any(isinstance(value, cst.Tuple) and len(value.elements) > 1 for value in given)


def _body(function: cst.FunctionDef) -> Sequence[Any]:
    """The statements behind the docstring, where the last gives back what they make."""
    body = function.body.body[function.get_docstring() is not None :]
    last = body[-1] if body else None
    return body if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return) else ()


def _plain(body: Sequence[Any], document: Document, parts: _Parts) -> bool:
    """Nothing but names given values, casts that hang on the dtype, and a gain that may be None."""
    if not body or any(document.below(one, cst.NamedExpr | cst.Await | cst.Yield) for one in body):
        return False
    *made, last = body
    *before, returned = last.body
    given = returned.value is not None and not isinstance(returned.value, cst.Tuple)
    return given and all(map(_binds, before)) and all(_harmless(stmt, document, parts) for stmt in made)


def _binds(stmt: Any) -> bool:
    return all(isinstance(name, cst.Name | cst.Tuple) for name in targets_of(stmt))


def _harmless(stmt: Any, document: Document, parts: _Parts) -> bool:
    if isinstance(stmt, cst.SimpleStatementLine):
        return all(map(_binds, stmt.body))
    inside = all(_harmless(one, document, parts) for one in stmt.body.body) if hasattr(stmt, "body") else False
    if isinstance(stmt, cst.If):
        test = document.source(stmt.test)
        plain = "dtype" in test or test in {f"{name} is not None" for name in (parts.weight, parts.bias)}
        return plain and stmt.orelse is None and inside
    if isinstance(stmt, cst.With):
        contexts = [document.source(item.item) for item in stmt.items]
        return all("autocast(" in one and "enabled=False" in one for one in contexts) and inside
    return isinstance(stmt, cst.FunctionDef) and not stmt.decorators


# --- what the function is given --------------------------------------------------------------------------------------


def _parts(norm: Norm, function: cst.FunctionDef, document: Document) -> _Parts | None:
    """Input, gain, bias and eps where all paths agree on them and the function can name them."""
    c = max(norm.computations, key=lambda one: len(one.gains) + (one.shift is not None))
    if not all(_same(one, c) for one in norm.computations):
        return None
    optional = any(len(one.gains) < len(c.gains) or one.shift != c.shift for one in norm.computations)
    gains = [g.param for g in c.gains if g.offset in (None, 1) and g.power == 1 and g.param.axis == "last"]
    offset = any(g.offset is not None for g in c.gains)
    trailing = c.statistic.axes == TRAILING
    if len(gains) != len(c.gains) or len(gains) > 1 or (trailing and (optional or not gains)):
        return None
    if (c.sees_half and c.output.wide) or (not trailing and any(len(g.shape or (None,)) > 1 for g in gains)):
        return None  # torch's function gives back the dtype that came in, and takes a gain of the features alone
    own = parameters(function)
    bias = _sole(c.shift, Param) if c.shift is not None else None
    if c.shift is not None and (not isinstance(bias, Param) or norm.kind == "rms"):
        return None
    x = _sole(c.input, Input)
    weight = _called(gains[0], own, document) if gains else None
    gain = _widened(weight, function, document) if weight and offset else weight
    shift = _called(bias, own, document) if isinstance(bias, Param) else None
    eps = _eps(norm, own, document)
    if not isinstance(x, Input) or x.name not in own or not eps or "" in (weight, shift):
        return None
    return None if offset and optional else _Parts(x.name, weight, gain, offset, trailing, shift, eps)


def _same(one: Computation, main: Computation) -> bool:
    """Do the paths differ in nothing but casts, or a parameter that may be None?"""
    gains = {g.param.name for g in one.gains} <= {g.param.name for g in main.gains}
    eps = [e.at for e in one.eps] == [e.at for e in main.eps]
    laid = one.layout_matches and not one.statistic.layout and one.statistic.axes == main.statistic.axes
    made = one.returned and not one.partial and one.shift in (None, main.shift) and one.input == main.input
    return gains and eps and laid and made


def _sole(mono: Mono, kind: type[Input] | type[Param]) -> Input | Param | None:
    if len(mono.factors) != 1 or mono.factors[0].power != 1 or mono.coef != 1:
        return None
    atom = mono.factors[0].atom
    return atom if isinstance(atom, kind) else None


def _called(param: Param, own: list[str], document: Document) -> str:
    """A parameter of the function, or an attribute that the text names itself, not one of a module inside."""
    if param.name in own:
        return param.name
    named = re.search(rf"(?<![\w.])self\.{re.escape(param.name)}\b", document.text)
    return f"self.{param.name}" if named and "self" in own and param.role in ("parameter", "buffer") else ""


def _widened(weight: str, function: cst.FunctionDef, document: Document) -> str:
    """With its cast to fp32, where it has one: in halves 1 + w loses what makes w differ from 0."""
    casts = [document.source(n) for n in document.below(function, cst.Call) if called(n) in ("float", "to")]
    return next((cast for cast in casts if cast.startswith(f"{weight}.") and "float" in cast), weight)


def _eps(norm: Norm, own: list[str], document: Document) -> str:
    """The eps as an expression in the function's own names."""
    eps = norm.main.eps[0]
    node = document.at(eps.at)
    known = node is not None and eps.name not in {p.name for p in norm.owner.params}
    return _in_words(document, node, own) if known else ""


def _in_words(document: Document, node: cst.BaseExpression, own: list[str]) -> str:
    text = document.source(node)
    literal = isinstance(node, cst.BaseNumber) or isinstance(getattr(node, "expression", None), cst.BaseNumber)
    attribute = re.fullmatch(r"self\.\w+", text) and "self" in own
    known = text in own or (text.isidentifier() and re.search(rf"^{text}\s*=", document.text, re.MULTILINE))
    return text if literal or attribute or known else ""
