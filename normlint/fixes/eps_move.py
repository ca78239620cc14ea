"""NRM302: eps moves under the root."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from normlint.fixes.calls import is_module
from normlint.fixes.casts_edits import without_statement
from normlint.fixes.eps_scope import calls_of, outermost, scopes, self_at
from normlint.fixes.eps_syntax import Place, added, fits, number, place
from normlint.fixes.tree import ATOM, PRODUCT, Tree, binding, called
from normlint.fixes.trial import Trial
from normlint.fixes.work import walk
from normlint.norm.norm import Computation, Eps, Norm
from normlint.text.finding import Applicability, Edit, Fix, Span

_LINKS = 5


def move(norm: Norm, c: Computation, e: Eps, tree: Tree) -> Fix | None:
    """Take eps from where it stands and add it to what the root is taken of."""
    eps = tree.at(e.at)
    taken = _taken(tree, e, eps) if eps is not None else None
    under = _under(tree, c, e)
    if eps is None or taken is None or under is None:
        return None
    kept, away = taken
    if not _only_use(tree, under, kept) or not _seen(tree, eps, under):
        return None
    text = tree.source(eps) if binding(eps) >= PRODUCT else f"({tree.source(eps)})"
    rooted = (
        _rooted_deviation(tree, under, text)
        if isinstance(under, ast.Call)
        else added(tree, under.node, text, _style(tree, e))
    )
    if rooted is None:
        return None
    message, edits = f"Add `{text}` under the root", (*away, *rooted)
    if isinstance(under, ast.Call):  # a variance in half precision may be a finding of its own, and is the next round's
        return Fix(message, edits, Applicability.UNSAFE)
    trial = Trial(tree, norm, "NRM302")
    return trial.first([(message, edits)], Applicability.UNSAFE) if under_the_mean(trial, edits) else None


def _style(tree: Tree, e: Eps) -> str:
    """How eps is added where it stands."""
    node = tree.at(e.span)
    if isinstance(node, ast.BinOp):
        return "left" if tree.span(node.left) == e.at else "right"
    method = isinstance(node, ast.Call) and len(node.args) == 1
    return "chain" if method else "right"


def under_the_mean(trial: Trial, edits: tuple[Edit, ...]) -> bool:
    """What eps is added to is the mean, not yet the sum."""
    mended = trial.mended(edits)
    found = [c for c in mended.computations if c.statistic.reduce == "sum"] if mended else []
    return all(count.inside for c in found for count in c.counts)


def _under(tree: Tree, c: Computation, e: Eps) -> Place | ast.Call | None:
    """What the root before eps is taken of; the call where the deviation is its own root."""
    steps = [s.op == "eps" and s.span == e.span for s in c.trail]
    before = c.trail[: steps.index(True)] if True in steps else ()
    where = place(tree, before)
    if where is not None:
        return where if where.squared else None
    if c.statistic.spelled == "std" and any(s.op == "std" for s in before):
        return tree.at(c.statistic.span, ast.Call)
    return None


def _rooted_deviation(tree: Tree, call: ast.Call, eps: str) -> tuple[Edit, ...] | None:
    """`x.std(…)` becomes `(x.var(…) + eps).sqrt()`, `torch.std(…)` becomes `torch.sqrt(torch.var(…) + eps)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "std":
        return None
    start, end = tree.span(call)
    name = tree.span(func).end
    library = is_module(tree, func.value)
    head, tail = (f"{tree.source(func.value)}.sqrt(", f" + {eps})") if library else ("(", f" + {eps}).sqrt()")
    return Edit(Span(start, start), head), Edit(Span(name - 3, name), "var"), Edit(Span(end, end), tail)


# --- away from where it stands ---------------------------------------------------------------------------------------


def _taken(tree: Tree, e: Eps, eps: ast.expr) -> tuple[ast.AST, tuple[Edit, ...]] | None:
    """What stays of the sum, and the edits that leave only this."""
    statement = tree.at(e.span, ast.AugAssign)
    if statement is not None:
        plain = isinstance(statement.op, ast.Add) and statement.value is eps
        lines = without_statement(tree, statement) if plain else None
        return (statement.target, lines) if lines else None
    node = tree.at(e.span)
    kept = _other(node, eps)
    if node is None or kept is None:
        return None
    stmt = tree.parent(node)
    in_place = isinstance(node, ast.Call) and called(node).endswith("_") and isinstance(stmt, ast.Expr)
    same = isinstance(stmt, ast.Assign) and [ast.unparse(t) for t in stmt.targets] == [ast.unparse(kept)]
    if (in_place or same) and isinstance(stmt, ast.stmt):
        lines = without_statement(tree, stmt)
        return (kept, lines) if lines else None
    return kept, _reduced(tree, node, kept)


def _other(node: ast.expr | None, eps: ast.expr) -> ast.expr | None:
    """The other part of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and called(node) in ("add", "add_") and not node.keywords:
        base = [node.func.value] if isinstance(node.func, ast.Attribute) and len(node.args) == 1 else []
        parts = [*base, *node.args]
    else:
        return None
    rest = [part for part in parts if part is not eps]
    return rest[0] if len(parts) == 2 and len(rest) == 1 else None


def _reduced(tree: Tree, node: ast.expr, kept: ast.expr) -> tuple[Edit, ...]:
    """Only `kept` of the node; parentheses around it that have become idle go, too, and comments stay."""
    inner, own, whole = tree.with_parentheses(kept), tree.span(node), tree.with_parentheses(node)
    tight = ATOM if inner != tree.span(kept) else binding(kept)
    needed = not fits(tight, node, tree.parent(node))
    idle = whole != own and not needed and not _spread(tree, whole, inner)
    wrapped = ("(", ")") if whole == own and needed and isinstance(node, ast.Call) else ("", "")
    own = whole if idle else own
    start = inner.end
    if "#" in tree.text[inner.end : own.end]:  # behind what is kept
        start = max(start, tree.text.rfind("+", inner.end, own.end))
    edits = Edit(Span(own.start, inner.start), wrapped[0]), Edit(Span(start, own.end), wrapped[1])
    return tuple(edit for edit in edits if edit.text or edit.span.start < edit.span.end)


def _spread(tree: Tree, whole: Span, inner: Span) -> bool:
    """What is kept needs the parentheses for its lines, or comments stand within them."""
    return "\n" in tree.text[inner.start : inner.end] or "#" in tree.text[whole.start : whole.end]


# --- who else is concerned -------------------------------------------------------------------------------------------


def _only_use(tree: Tree, under: Place | ast.Call, kept: ast.AST) -> bool:
    """From the root a single way leads to the sum: nothing else sees the root."""
    here: ast.AST | None = under if isinstance(under, ast.Call) else under.node
    for _ in range(_LINKS):
        if here is None or _holds(tree, kept, here):
            return here is not None
        here = _next(tree, here)
    return False


def _holds(tree: Tree, outer: ast.AST, inner: ast.AST) -> bool:
    one, two = tree.span(outer), tree.span(inner)
    return one.start <= two.start and two.end <= one.end


def _next(tree: Tree, here: ast.AST) -> ast.AST | None:
    """The one place where the value of the statement is read again."""
    stmt = tree.statement(here)
    if isinstance(stmt, ast.Return):
        function = tree.function(stmt)
        returns = [n for n in walk(function) if isinstance(n, ast.Return)] if function else []
        calls = calls_of(tree, function) if function and len(returns) == 1 else []
        return calls[0] if len(calls) == 1 else None
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], ast.Name):
        return None
    reads = list(_reads(tree, stmt, stmt.targets[0].id))
    return reads[0] if len(reads) == 1 else None


def _reads(tree: Tree, stmt: ast.stmt, name: str) -> Iterator[ast.AST]:
    """Where the name is read until it is bound anew, in the order of the text; a sum in place reads it, too."""
    function = next(iter(scopes(tree, stmt)), tree.root)
    end = tree.span(stmt).end
    nodes = [n for n in walk(function) if isinstance(n, ast.Name) and n.id == name and tree.span(n).start > end]
    for node in sorted(nodes, key=tree.span):
        holder = tree.parent(node)
        if isinstance(node.ctx, ast.Load):
            yield node
        elif isinstance(holder, ast.AugAssign):
            yield node
            return
        elif isinstance(holder, ast.Assign):
            yield from (n for n in nodes if isinstance(n.ctx, ast.Load) and _holds(tree, holder.value, n))
            return
        else:
            return


def _seen(tree: Tree, eps: ast.expr, under: Place | ast.Call) -> bool:
    """Eps can be written under the root: its names mean the same there."""
    target: ast.AST = under if isinstance(under, ast.Call) else under.node
    if number(eps) is not None:
        return True
    one, two = outermost(tree, eps), outermost(tree, target)
    names = {n.id for n in walk(eps) if isinstance(n, ast.Name)}
    local = {n for scope in scopes(tree, eps) for n in _bound(scope)}
    if one is two:
        return not _bound_later(tree, eps, target, names)
    here, there = self_at(tree, eps), self_at(tree, target)
    same = here is not None and there is not None and here.cls is there.cls and here.name == there.name
    return not (names & local - ({here.name} if here and same else set()))


def _bound(scope: ast.AST) -> set[str]:
    stored = {n.id for n in walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in walk(scope) if isinstance(n, ast.arg)}


def _bound_later(tree: Tree, eps: ast.expr, target: ast.AST, names: set[str]) -> bool:
    """A name of eps is bound between the root and the sum."""
    start, end = sorted((tree.span(target).start, tree.span(eps).start))
    return any(
        isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Store) and start <= tree.span(n).start < end
        for n in walk(tree.root)
    )
