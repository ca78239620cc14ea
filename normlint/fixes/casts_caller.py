"""The input cast where a private helper is called: `self._norm(x.float()).type_as(x)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from normlint.fixes.casts_back import names_of
from normlint.fixes.casts_edits import Scope, asks, behind, own_nodes, scope, stores
from normlint.fixes.casts_entry import Entry
from normlint.fixes.casts_words import arguments, back, raising
from normlint.fixes.tree import Function, Tree
from normlint.fixes.work import walk
from normlint.norm.norm import Computation
from normlint.text.finding import Edit, Span


def at_the_call(
    tree: Tree, entry: Entry, several: Sequence[Computation], lacking: Sequence[Computation], up: str
) -> tuple[Edit, ...] | None:
    """The casts around the only call of the private helper that all happens in; None where it isn't so."""
    names = {n.id if isinstance(n, ast.Name) else "" for n in entry.nodes}
    helpers = {scope(tree, n) for n in entry.nodes}
    if len(names) != 1 or len(helpers) != 1:
        return None
    name, helper = names.pop(), helpers.pop()
    if not name or not isinstance(helper, Function) or not _private(tree, helper):
        return None
    call = _only_call(tree, helper)
    given = _argument(tree, helper, call, name) if call is not None else None
    if call is None or given is None or not _hands_on(tree, helper, name, entry):
        return None
    if any(_scope_at(tree, c.span) is not scope(tree, call) for c in several):
        return None
    edits = behind(tree, given, raising(tree, given, up))
    if not lacking:
        return edits
    own = (given.id,) if isinstance(given, ast.Name) else ()
    found = back(tree, call, (*own, *names_of(lacking[0])))
    if found is None or found.line or any(_scope_at(tree, c.joined) is not helper for c in lacking):
        return None
    return edits + behind(tree, call, found.suffix)


def _scope_at(tree: Tree, span: Span) -> Scope | None:
    node = tree.at(span)
    return scope(tree, node) if node is not None else None


def _private(tree: Tree, helper: Function) -> bool:
    """Nobody else calls it: its name begins with an underscore, or it stands in a function."""
    plain = all(isinstance(d, ast.Name) and d.id == "staticmethod" for d in helper.decorator_list)
    return plain and (helper.name.startswith("_") or scope(tree, helper) is not None)


def _only_call(tree: Tree, helper: Function) -> ast.Call | None:
    """The one place in the text that speaks of the helper, where that is a call."""
    found = [
        node
        for node in walk(tree.root)
        if (isinstance(node, ast.Name) and node.id == helper.name)
        or (isinstance(node, ast.Attribute) and node.attr == helper.name)
    ]
    holder = tree.parent(found[0]) if len(found) == 1 else None
    return holder if isinstance(holder, ast.Call) and holder.func is found[0] else None


def _argument(tree: Tree, helper: Function, call: ast.Call, name: str) -> ast.expr | None:
    """What the call gives for the parameter."""
    keyword = next((k.value for k in call.keywords if k.arg == name), None)
    if keyword is not None or any(isinstance(a, ast.Starred) for a in call.args):
        return keyword
    named = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args)]
    bound = isinstance(tree.parent(helper), ast.ClassDef) and not helper.decorator_list
    named = named[1:] if bound and isinstance(call.func, ast.Attribute) else named
    at = named.index(name) if name in named else len(call.args)
    return call.args[at] if at < len(call.args) else None


def _hands_on(tree: Tree, helper: Function, name: str, entry: Entry) -> bool:
    """What is cast is the parameter as it came in, and the helper doesn't ask for its dtype."""
    first = max(tree.span(n).start for n in entry.nodes)
    if name not in arguments(helper) or any(at < first for at in stores(tree, helper).get(name, ())):
        return False
    for node in own_nodes(helper):
        holder = tree.parent(node)
        if isinstance(node, ast.Name) and node.id == name:
            if isinstance(holder, ast.Attribute) and holder.attr == "dtype":
                return False
            if isinstance(holder, ast.Call) and node in holder.args and asks(holder):
                return False
    return True
