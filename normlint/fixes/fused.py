"""A norm that is written out, as one call of F.rms_norm or F.layer_norm; helpers that nobody calls any more go."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from normlint.evaluate.monomial import TRAILING, Input, Mono, Param
from normlint.fixes.tree import Function, Tree, spelled
from normlint.fixes.work import walk
from normlint.norm.norm import Computation, Norm
from normlint.rules.registry import RULES
from normlint.text.finding import Applicability, Edit, Fix, Span
from normlint.text.frozen import dataclass

_FUNCTIONAL = {"rms": "rms_norm", "layer": "layer_norm"}


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
        """The call, by position as far as that goes."""
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
    function = tree.around(norm.owner.span, ast.FunctionDef)
    functional = spelled(tree, "torch.nn.functional")
    if function is None or functional is None or norm.kind not in _FUNCTIONAL or _faulty(norm):
        return None
    body = _body(function)
    parts = _parts(norm, function, tree) if body else None
    if parts is None or not all(_plain(block, tree, parts) for block in (body, *_helpers(norm, function, tree))):
        return None
    call = parts.call(f"{functional}.{_FUNCTIONAL[norm.kind]}", layer=norm.kind == "layer")
    whole = Span(tree.span(body[0]).start, tree.span(body[-1]).end)
    if _elsewhere(norm, function, tree) or (not parts.trailing and _of_heads(norm, tree)):
        return None
    edits = (Edit(whole, f"return {call}"), *unused_helpers(tree, function, whole))
    return Fix(f"Let torch do it: `{call}`", edits, Applicability.UNSAFE)


def _elsewhere(norm: Norm, function: Function, tree: Tree) -> bool:
    """A method of another class computes it, which others may call."""
    statistic = tree.around(norm.main.statistic.span, ast.FunctionDef)
    owner = tree.enclosing_class(statistic) if statistic is not None else None
    return owner is not None and owner is not tree.enclosing_class(function)


def _of_heads(norm: Norm, tree: Tree) -> bool:
    """The text makes one with a gain of several axes: LayerNorm((heads, head_dim))."""
    name = norm.owner.name.rpartition(".")[2]
    calls = (n for n in walk(tree.root) if isinstance(n, ast.Call) and _calls(n, name))
    given = (value for n in calls for value in (*n.args[:1], *(k.value for k in n.keywords)))
    return any(isinstance(value, ast.Tuple) and len(value.elts) > 1 for value in given)


def _faulty(norm: Norm) -> bool:
    """Another rule has something to say: that comes first."""
    return any(rule.check and rule.default and list(rule.check(norm)) for rule in RULES.values())


def _body(function: Function) -> list[ast.stmt]:
    """The statements behind the docstring, where the last gives back what they make."""
    first = function.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body = function.body[1:] if docstring else function.body
    return body if body and isinstance(body[-1], ast.Return) else []


def _helpers(norm: Norm, function: Function, tree: Tree) -> Iterator[list[ast.stmt]]:
    """The bodies of other functions that the norm is computed in."""
    for c in norm.computations:
        for span in (c.statistic.span, *(e.at for e in c.eps)):
            home = tree.around(span, ast.FunctionDef)
            if home is not None and home is not function:
                yield _body(home)


def _plain(body: Sequence[ast.stmt], tree: Tree, parts: _Parts) -> bool:
    """Nothing but names given values, casts that hang on the dtype, and a gain that may be None."""
    if not body:
        return False
    *made, last = body
    if any(isinstance(n, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for one in body for n in walk(one)):
        return False
    given = last.value if isinstance(last, ast.Return) else None
    return given is not None and not isinstance(given, ast.Tuple) and all(_harmless(stmt, tree, parts) for stmt in made)


def _harmless(stmt: ast.stmt, tree: Tree, parts: _Parts) -> bool:
    if isinstance(stmt, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        return all(isinstance(name, ast.Name | ast.Tuple) for name in targets)
    if isinstance(stmt, ast.If):
        test = tree.source(stmt.test)
        plain = "dtype" in test or test in {f"{name} is not None" for name in (parts.weight, parts.bias)}
        return plain and not stmt.orelse and all(_harmless(one, tree, parts) for one in stmt.body)
    if isinstance(stmt, ast.With):
        contexts = [tree.source(item.context_expr) for item in stmt.items]
        off = all("autocast(" in one and "enabled=False" in one for one in contexts)
        return off and all(_harmless(one, tree, parts) for one in stmt.body)
    return isinstance(stmt, ast.FunctionDef) and not stmt.decorator_list


# --- what the function is given --------------------------------------------------------------------------------------


def _parts(norm: Norm, function: Function, tree: Tree) -> _Parts | None:
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
    own = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    bias = _sole(c.shift, Param) if c.shift is not None else None
    if c.shift is not None and (not isinstance(bias, Param) or norm.kind == "rms"):
        return None
    x = _sole(c.input, Input)
    weight = _called(gains[0], own, tree) if gains else None
    gain = _widened(weight, function, tree) if weight and offset else weight
    shift = _called(bias, own, tree) if isinstance(bias, Param) else None
    eps = _eps(norm, function, own, tree)
    if not isinstance(x, Input) or x.name not in own or not eps or "" in (weight, shift):
        return None
    return None if offset and optional else _Parts(x.name, weight, gain, offset, trailing, shift, eps)


def _same(one: Computation, main: Computation) -> bool:
    """The paths differ in their casts at most, or in a parameter that may be None."""
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


def _called(param: Param, own: set[str], tree: Tree) -> str:
    """A parameter of the function, or an attribute that the text names itself, not one of a module inside."""
    if param.name in own:
        return param.name
    text = f"self.{param.name}"
    named = any(isinstance(n, ast.Attribute) and tree.source(n) == text for n in walk(tree.root))
    return text if named and "self" in own and param.role in ("parameter", "buffer") else ""


def _widened(weight: str, function: Function, tree: Tree) -> str:
    """With its cast to fp32, where it has one: in halves 1 + w loses what makes w differ from 0."""
    calls = (n for n in walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    casts = (tree.source(n) for n in calls if n.func.attr in ("float", "to") and tree.source(n.func.value) == weight)  # type: ignore[attr-defined]
    return next((cast for cast in casts if "float" in cast), weight)


def _eps(norm: Norm, function: Function, own: set[str], tree: Tree) -> str:
    """Eps as the function itself can write it."""
    eps = norm.main.eps[0]
    node = tree.at(eps.at)
    if node is None or eps.name in {p.name for p in norm.owner.params}:
        return ""
    home = tree.function(node)
    return _in_words(tree, node, own) if home is function else _handed_on(tree, function, node, home, own)


def _in_words(tree: Tree, node: ast.expr, own: set[str]) -> str:
    text = tree.source(node)
    if isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)):
        return text
    if isinstance(node, ast.Attribute) and text == f"self.{node.attr}":
        return text if "self" in own else ""
    if isinstance(node, ast.Name):
        return text if node.id in own or _is_global(tree, node.id) else ""
    return ""


def _is_global(tree: Tree, name: str) -> bool:
    set_at = (t for stmt in tree.root.body if isinstance(stmt, ast.Assign) for t in stmt.targets)
    return any(isinstance(target, ast.Name) and target.id == name for target in set_at)


def _handed_on(tree: Tree, function: Function, node: ast.expr, home: Function | None, own: set[str]) -> str:
    """A helper's eps: what its one caller passes for it, or what means the same everywhere."""
    if home is None:
        return ""
    arguments = [*home.args.posonlyargs, *home.args.args]
    position = next((n for n, a in enumerate(arguments) if isinstance(node, ast.Name) and a.arg == node.id), None)
    if position is None:
        return _in_words(tree, node, own)
    calls = [n for n in walk(tree.root) if isinstance(n, ast.Call) and _calls(n, home.name)]
    if len(calls) != 1 or tree.function(calls[0]) is not function:
        return ""
    bound = arguments[0].arg in ("self", "cls")
    given = calls[0].args[position - bound : position - bound + 1] or [
        k.value for k in calls[0].keywords if k.arg == arguments[position].arg
    ]
    return _in_words(tree, given[0], own) if given else ""


def _calls(call: ast.Call, name: str) -> bool:
    func = call.func
    return name == (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", ""))


def unused_helpers(tree: Tree, function: Function, removed: Span) -> tuple[Edit, ...]:
    """The edits that take out what only the removed lines of the function called."""
    edits = []
    home = tree.enclosing_class(function)
    for name in sorted(_private_names(tree, removed)):
        found = [n for n in walk(home or tree.root) if isinstance(n, ast.FunctionDef) and n.name == name]
        mentions = [m.start() for m in re.finditer(rf"\b{re.escape(name)}\b", tree.text)]
        if home is not None:
            mentions = [at for at in mentions if not _of_another(tree, at, home)]
        inside = [at for at in mentions if removed.start <= at < removed.end]
        if len(found) == 1 and len(mentions) == len(inside) + 1 and _beside(tree, found[0], function):
            edits.append(_without(tree, found[0]))
    return tuple(edits)


def _of_another(tree: Tree, at: int, home: ast.ClassDef) -> bool:
    """What stands there belongs to a class that has nothing to do with this one."""
    owner = tree.around(Span(at, at), ast.ClassDef)
    names = {n.id for n in walk(owner) if isinstance(n, ast.Name)} if owner is not None else {home.name}
    return owner is not home and home.name not in names


def _private_names(tree: Tree, removed: Span) -> set[str]:
    return {n for n in re.findall(r"\b_[a-z]\w*", tree.text[removed.start : removed.end]) if not n.endswith("__")}


def _beside(tree: Tree, helper: Function, function: Function) -> bool:
    """In the same class, or in the module, and not the only thing there."""
    home = tree.parent(helper)
    same = home is tree.parent(function) or home is tree.root
    return same and len(tree.body_of(helper)) > 1


def _without(tree: Tree, helper: Function) -> Edit:
    """The function with its decorators and the blank lines that keep it from the next."""
    first = min([helper.lineno, *(d.lineno for d in helper.decorator_list)])
    start = _line(tree, first)
    end = tree.text.find("\n", tree.span(helper).end) + 1 or len(tree.text)
    if tree.body_of(helper)[-1] is helper:
        while start > 0 and (before := _line_before(tree.text, start)) is not None:
            start = before
    else:
        end += sum(map(len, _blank(tree.text[end:])))
    return Edit(Span(start, end), "")


def _line(tree: Tree, number: int) -> int:
    return sum(len(line) for line in tree.text.splitlines(keepends=True)[: number - 1])


def _line_before(text: str, start: int) -> int | None:
    """Where the line in front of `start` begins, if it is blank."""
    before = text.rfind("\n", 0, start - 1) + 1
    return before if not text[before:start].strip() else None


def _blank(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if line.strip():
            return
        yield line
