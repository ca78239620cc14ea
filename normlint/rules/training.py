"""NRM7xx: what the code that sets up an optimizer does to the gains of the norms in the same text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from normlint.norm.conventions import intent
from normlint.norm.makes import Function, Makes, Owner, defaults, dotted, stored
from normlint.norm.wiring import Module, called_last
from normlint.rules.registry import Problem, calls_rule
from normlint.text.finding import WARNING

_TORCHS = ("nn.LayerNorm", "torch.nn.LayerNorm")
_FUSED = (*_TORCHS, "nn.RMSNorm", "torch.nn.RMSNorm")
_TRAINING = "weight_decay"


@calls_rule("NRM707", name="decayed-gain", default=False, severity=WARNING)
def decayed_gain(makes: Makes) -> Iterator[Problem]:
    """Has a gain that weight decay pulls to zero, since what shall keep it from that doesn't know it.

    Parameters are spared by their names, or by the class of their module. A list that was written for another model has
    none of this one's names, and a class of the text's own is no `nn.LayerNorm`.

    ```py
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.ln_1 = nn.LayerNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            return x + self.mlp(self.ln_1(x))

    def optimizer_of(model, lr):
        no_decay = ["bias", "LayerNorm.weight"]  # error: [decayed-gain]
        decayed = [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)]
        spared = [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr)
    ```

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = RMSNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            return x + self.mlp(self.norm(x))

    def optimizer_of(model, lr):
        spared = [m.weight for m in model.modules() if isinstance(m, nn.LayerNorm)]  # error: [decayed-gain]
        ids = set(map(id, spared))
        decayed = [p for p in model.parameters() if id(p) not in ids]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr)
    ```

    Nothing is said where one of the patterns is in the name of a norm of the text, or where the model stands elsewhere:

    ```py
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.ln_1 = nn.LayerNorm(dim)
            self.mlp = nn.Linear(dim, dim)

        def forward(self, x):
            return x + self.mlp(self.ln_1(x))

    def optimizer_of(model, lr):
        no_decay = ("bias", "ln_", "LayerNorm.weight")
        decayed = [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)]
        spared = [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr)
    ```
    """
    text = makes.file.text
    owners = [Owner(text, p) for p in makes.file.pieces if p.kind in ("class", "def")] if _TRAINING in text else []
    made = {attribute: dotted(call.func) for owner in owners for attribute, call in _norms(owner)}
    gains = [f"{attribute}.{gain}" for attribute, name in made.items() for gain in _gains_of(makes, name)]
    for owner in owners if gains else ():
        for function in owner.functions if _TRAINING in text[slice(*owner.piece.span)] else ():
            for patterns, words in _patterns(function):
                if any(map(intent, words)) and not any(word in gain for word in words for gain in gains):
                    said = f"no pattern is in `{gains[0]}`: weight decay pulls the gain to zero"
                    yield Problem(owner.span(patterns), said, owner=function.name)
            own = not any(_torchs(makes, name) for name in made.values())
            for test in _tests(function) if own else ():
                said = f"`{gains[0]}` is of no torch norm: weight decay pulls the gain to zero"
                yield Problem(owner.span(test), said, owner=function.name)


def _norms(owner: Owner) -> Iterator[tuple[str, ast.Call]]:
    """The norms with a gain that a class makes, by its attributes."""
    for attribute, call in Module(owner, ()).owned.items():
        plain = not any("affine" in (keyword.arg or "affine") for keyword in call.keywords)
        if plain and _is_norm(called_last(call)):
            yield attribute, call


def _gains_of(makes: Makes, name: str) -> list[str]:
    """The parameters of a norm of this class, but for its bias; none where the class isn't known."""
    if name in _FUSED:
        return ["weight"]
    found = makes.elsewhere.definition(name, makes.file)
    inits = [f for f in found.node.body if isinstance(f, Function) and f.name == "__init__"] if found else []
    values = [(attribute, value) for init in inits for attribute, value in stored(init)]
    made = [
        attribute for attribute, value in values if isinstance(value, ast.Call) and called_last(value) == "Parameter"
    ]
    return [attribute for attribute in made if attribute not in ("bias", "beta")]


def _torchs(makes: Makes, name: str) -> bool:
    """Is it torch's layer norm, or a class that inherits from something else than Module?"""
    found = makes.elsewhere.definition(name, makes.file)
    return found is None or any(dotted(base).rpartition(".")[2] != "Module" for base in found.node.bases)


def _patterns(function: Function) -> Iterator[tuple[ast.expr, list[str]]]:
    """The lists of words of which any may be part of a parameter's name: `any(nd in n for nd in no_decay)`."""
    named = defaults(function) | {
        t.id: s.value
        for s in ast.walk(function)
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Name("any"),
                args=[
                    ast.GeneratorExp(
                        ast.Compare(ast.Name(word), [ast.In()], [ast.Name()]),
                        [ast.comprehension(ast.Name(each), given)],
                    )
                ],
            ) if word == each:
                source = named.get(given.id) if isinstance(given, ast.Name) else given
                if isinstance(source, ast.List | ast.Tuple | ast.Set):
                    words = [e.value for e in source.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
                    yield from [(source, words)] if len(words) == len(source.elts) else ()


def _tests(function: Function) -> Iterator[ast.expr]:
    """`isinstance(m, nn.LayerNorm)`, where nothing else tells norms, or vectors, apart."""
    nodes = list(ast.walk(function))
    attributes = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    words = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    made = [n.func for n in nodes if isinstance(n, ast.Call)]
    classes = [n for n in nodes if isinstance(n, ast.Attribute | ast.Name) and n not in made and _is_norm(dotted(n))]
    if attributes.isdisjoint(("dim", "ndim", "shape")) and not any(map(intent, words)):
        yield from classes if {dotted(n) for n in classes} <= {*_TORCHS} else ()


def _is_norm(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last[:1].isupper() and intent(last) in ("rms", "layer", "norm")
