"""NRM7xx: where norms are made and called: what their owner, its configuration and its other norms say of them."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

from normlint.norm.makes import Configured, Eps, Made, Makes, defaults, stored
from normlint.norm.nodes import Function, annotated, arguments, dotted
from normlint.norm.numbers import may_be_eps, number
from normlint.rules.registry import RULES, Fixes, Problem, Repair, calls_rule
from normlint.text.finding import REVIEW, Applicability, Edit, Finding, Span
from normlint.text.frozen import dataclass
from normlint.text.pieces import COMMENT, with_line_feeds

makings = Fixes("makings")
_CLOSE: Final = 1e-3  # two eps with a relative difference below this are the same
# An eps by this name may be a norm's; `eps_start`, `loss_eps` or `adam_eps` is another's.
_OF_NORM: Final = re.compile(
    r"(?!batch|instance|group)(?:\w*(?:norm|ln|rms|var|variance|std)s?_?)?_?eps(?:ilon)?(?:_\w*norm\w*)?", re.IGNORECASE
)
_READ_ALL: Final = ("locals", "vars", "save_hyperparameters")  # these read every parameter of the function


@dataclass(frozen=True, slots=True)
class Called:
    """The findings on a text's constructions and calls, each with its repair.

    `asked`: path → digest of each other file that the findings depend on.
    """

    found: tuple[tuple[Finding, Repair | None], ...] = ()
    asked: tuple[tuple[str, str], ...] = ()


def called(text: str, path: str = "", wanted: Callable[[str], bool] = bool) -> Called:
    """Apply the rules whose codes are wanted to the constructions and calls in a unit; `path`: that of its file."""
    makes = Makes(with_line_feeds(text), os.path.abspath(path) if path else "")
    found: dict[tuple[object, str], tuple[Finding, Repair | None]] = {}
    for code, one in RULES.items():
        for p in one.check_calls(makes) if one.check_calls and wanted(code) else ():
            severity = p.severity or one.severity
            finding = Finding(code, one.name, p.message, p.span, p.owner, severity=severity, evidence=p.evidence)
            found.setdefault((p.span, code), (replace(finding, rests_on=p.rests_on), p.repair))
    return Called(tuple(found.values()), tuple(sorted(makes.elsewhere.asked.items())))


@calls_rule("NRM701", name="eps-left-to-default", fix=Applicability.UNSAFE)
def eps_left_to_default(makes: Makes) -> Iterator[Problem]:
    """Is made without the eps that its owner has for it.

    Small activations come out at another size: up to three times as large with 1e-6 where the configuration says
    1e-5. bf16 outputs drift from those of every engine that reads the configuration. `nn.RMSNorm(dim)` without eps
    takes `finfo(x.dtype).eps`: 1.2e-7 in fp32, 0.0078 in bf16.

    It is reported where another norm of the same class that its owner makes, or that is made beside its owner, is given
    that eps, and the default is another number:

    ```py
    from dataclasses import dataclass

    import torch
    from torch import nn

    @dataclass
    class Config:
        dim: int = 4096
        rank: int = 512
        norm_eps: float = 1e-5

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(dim))
            self.eps = eps

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight

    class Attention(nn.Module):
        def __init__(self, config: Config):
            super().__init__()
            self.kv_norm = RMSNorm(config.rank)  # error: [eps-left-to-default]

    class Block(nn.Module):
        def __init__(self, config: Config):
            super().__init__()
            self.norm = RMSNorm(config.dim, eps=config.norm_eps)
            self.attention = Attention(config)
            self.mlp_norm = RMSNorm(config.dim, eps=config.norm_eps)
    ```
    ```diff
    -        self.kv_norm = RMSNorm(config.rank)
    +        self.kv_norm = RMSNorm(config.rank, eps=config.norm_eps)
    ```

    It is reported, too, where a function takes an eps that nothing reads; where it gives that to another norm, it may
    be meant for that one alone, and this is a review.

    Configurations, norms and their bases are looked up in the files that the package imports them from. A norm
    whose owner has another configuration, without an eps, is none of this.

    Fix safety: unsafe: the outputs change, and a checkpoint may have been trained with the default.
    """
    ignored: dict[ast.AST, tuple[str, ...]] = {}
    for made, eps in makes.without_eps(hinted=True):
        if made.function not in ignored:
            ignored[made.function] = _ignored(made.function, makes.file.text)
        own = ignored[made.function]
        one, other = (_given_beside(makes, made) if not own else None) or (None, made)
        if own:
            yield replace(_problem(made, eps, own[0], f"`{own[0]}` is never read"), rests_on=own[1:])
        elif one is not None and not _same(one.value, eps):
            known = "" if math.isnan(one.value) else f" ({one.value:g})"
            beside = other.function is made.function
            by = "as it is beside" if beside else f"though `{other.qualname}` passes it to its norms"
            problem = _problem(made, eps, one.source, f"`{one.source}`{known} is not passed, {by}", other.span)
            yield problem if one.attribute else replace(problem, severity=REVIEW)  # it may be meant for that one


@calls_rule("NRM702", name="eps-unlike-config", fix=Applicability.UNSAFE, severity=REVIEW)
def eps_unlike_config(makes: Makes) -> Iterator[Problem]:
    """Is made without its configuration's eps, and has another one.

    If the configuration's eps is meant, small activations come out at another size. It may not be: a model that was
    ported faithfully has the default where its author left it, and its configuration speaks of other norms. So this
    is a review, which `--min-severity review` shows. Where the norms around it are given the eps, it is NRM701.

    ```py
    from dataclasses import dataclass

    from torch import nn

    @dataclass
    class Config:
        dim: int = 768
        layer_norm_eps: float = 1e-12

    class Head(nn.Module):
        def __init__(self, config: Config):
            super().__init__()
            self.norm = nn.LayerNorm(config.dim)  # error: [eps-unlike-config]
    ```
    ```diff
    -        self.norm = nn.LayerNorm(config.dim)
    +        self.norm = nn.LayerNorm(config.dim, eps=config.layer_norm_eps)
    ```

    A number is reported, too, where other functions pass what the same configuration has.

    A configuration that says which norms it means, as `rms_norm_eps`, says nothing of others.

    Fix safety: unsafe: the outputs change, and a checkpoint may have been trained with the default.
    """
    reported = {problem.span for problem in eps_left_to_default(makes)}
    for made, eps in makes.without_eps():
        fitting = [c for c in makes.configured(made) if c.speaks_of(made.name)] if made.span not in reported else []
        fitting = [c for c in fitting if _belongs(made, c.parameter)]
        if len(fitting) == 1 and not _same(fitting[0].value, eps):
            yield _problem(made, eps, fitting[0].source, f"`{fitting[0].source}` is not passed")
    for made in makes.written():
        values = {c.source: c.value for c in makes.configured(made)}
        for source, others in islice(makes.passing(made).items(), 1):
            if not any(math.isclose(value, number(made.given), rel_tol=_CLOSE) for value in values.values()):
                message = f"eps is {number(made.given):g}, where `{others[0]}` passes `{source}`"
                edits = (Edit(made.owner.span(made.given), source),)
                repair = partial(makings.edited, f"Pass `{source}`", edits)
                yield Problem(made.span, message, repair, owner=made.qualname)


def _problem(made: Made, eps: Eps, source: str, why: str, evidence: Span | None = None) -> Problem:
    value = f"{eps.default:g}" if eps.default is not None else "finfo(x.dtype).eps"
    took = "its default" if value == "nan" else value
    message = f"{why}: eps stays {took}"
    repair = partial(makings.with_argument, made.span, eps.name, source)
    return Problem(made.span, message, repair, owner=made.qualname, evidence=evidence)


def _ignored(function: Function, text: str) -> tuple[str, ...]:
    """Return the eps parameter of a function that makes norms, and its attributes, if nothing reads it; else ().

    Methods other than `__init__` are left out, since they share their parameters with others of their name.
    """
    given, every = defaults(function), arguments(function)
    shared = function.name != "__init__" and any(a.arg in ("self", "cls") for a in every[:1])
    names = [a.arg for a in every if _OF_NORM.fullmatch(a.arg) and may_be_eps(a.arg, number(given[a.arg]))]
    if names and any(getattr(n, "id", getattr(n, "attr", "")) in _READ_ALL for n in ast.walk(function)):
        return ()
    text = COMMENT.sub("", text) if names else text
    for name in () if shared else names:
        reads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
        kept = [attribute for attribute, value in stored(function) if value in reads]
        if len(reads) == len(kept) and all(len(re.findall(rf"[.'\"]{own}\b", text)) == 1 for own in kept):
            return name, *kept
    return ()


def _same(value: float, eps: Eps) -> bool:
    """Return whether the class's default is the configuration's value, or can't be read."""
    return eps.default is not None and (math.isnan(eps.default) or math.isclose(value, eps.default, rel_tol=_CLOSE))


def _given_beside(makes: Makes, made: Made) -> tuple[Configured, Made] | None:
    """Return the configured eps that the owner's other norms are given, and the first of these; None if none are."""
    several = list(makes.beside(made))
    if any(_are_alternatives(made, other) for norms in several for other in norms):
        return None
    configured = [c for c in makes.configured(made) if _belongs(made, c.parameter)] if several else []
    found = ((c, norms[0]) for c in configured for norms in several if all(_gets(m, c) for m in norms))
    return next(found, None) or next(_taken_beside(made, several), None)


def _taken_beside(made: Made, several: Iterable[Sequence[Made]]) -> Iterator[tuple[Configured, Made]]:
    """Yield the eps that the function takes and gives to all other norms that it makes."""
    given = defaults(made.function)
    for norms in several:
        names = {m.given.id if isinstance(m.given, ast.Name) and m.function is made.function else "" for m in norms}
        for name in names if len(names) == 1 else ():
            value = number(given.get(name))
            if _OF_NORM.fullmatch(name) and not math.isnan(value):
                yield Configured(name, "", "", value), norms[0]


def _are_alternatives(made: Made, other: Made) -> bool:
    """Return whether a function may make one norm without the other: in another branch, or for the same name."""
    if made.function is not other.function:
        return False
    for node in ast.walk(made.function):
        branches = [[{*ast.walk(one)} for one in branch] for branch in _branches(node)]
        held = [(set().union(*branch), _leaves(node, number)) for number, branch in enumerate(branches)]
        for one, two in ((made.call, other.call), (other.call, made.call)):
            within = next(((nodes, left) for nodes, left in held if one in nodes), (set(), False))
            if one in within[0] and two not in within[0] and (within[1] or any(two in nodes for nodes, _ in held)):
                return True
        if isinstance(node, ast.Lambda) and made.call in ast.walk(node):
            return True
    stored_in = [s for s in ast.walk(made.function) if isinstance(s, ast.Assign | ast.AnnAssign | ast.Return)]
    first, second = (next((s for s in stored_in if each.call in ast.walk(s)), None) for each in (made, other))
    return None not in (first, second) and first is not second and _target(first) == _target(second)


def _branches(node: ast.AST) -> Iterable[Sequence[ast.AST]]:
    """Return the branches of a condition, of which one is taken."""
    match node:
        case ast.If(body=body, orelse=orelse):
            return body, orelse
        case ast.IfExp(body=one, orelse=other):
            return [one], [other]
        case ast.Match(cases=cases):
            return [case.body for case in cases]
    return ()


def _leaves(node: ast.AST, number: int) -> bool:
    """Return whether the function ends with this branch of a condition."""
    branch = [*_branches(node)][number]
    return bool(branch) and isinstance(branch[-1], ast.Return | ast.Raise)


def _target(stmt: ast.stmt | None) -> str:
    """Return what a statement assigns to, "return" where it gives something back."""
    if isinstance(stmt, ast.AnnAssign):
        return ast.unparse(stmt.target)
    return ast.unparse(stmt.targets[0]) if isinstance(stmt, ast.Assign) else "return"


def _belongs(made: Made, parameter: str) -> bool:
    """Return whether a norm may be that of a configuration: none of another's size, or where there is none."""
    size = dotted(made.call.args[0]) if made.call.args else ""
    holder = size.rpartition(".")[0]
    others = {a.arg for a in arguments(made.function)} - {"self", "cls"}
    apart = holder.partition(".")[0] in others and holder != parameter
    return not apart and not _is_tested(made, parameter)


def _is_tested(made: Made, parameter: str) -> bool:
    """Return whether a norm is made in a branch that a test of the configuration itself selects."""
    branches = (n for n in ast.walk(made.function) if isinstance(n, ast.If | ast.IfExp) and made.call in ast.walk(n))
    texts = (ast.unparse(branch.test) for branch in branches)
    return any(re.search(rf"(?<!\.)\b{parameter}\b(?!\.)", text) for text in texts)


def _gets(other: Made, one: Configured) -> bool:
    """Return whether another norm is given this eps of this configuration, by its annotations."""
    given = dotted(other.given) if other.given is not None else ""
    if given.rpartition(".")[2] != one.attribute:
        return False
    kinds = {annotated(a.annotation) for a in arguments(other.function) if a.arg == one.parameter}
    return kinds in ({one.kind}, {""})
