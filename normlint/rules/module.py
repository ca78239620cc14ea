"""NRM5xx: the module around the norm: what it owns, what it changes, what it prints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from normlint.evaluate.attributes import UNSET
from normlint.evaluate.dtypes import DType
from normlint.evaluate.monomial import Apply, Input, Mono, Offset, Param, Plus
from normlint.evaluate.spelling import NOTE as UNKNOWN_NAME
from normlint.norm.conventions import is_scale_norm, is_written_by_intent
from normlint.norm.norm import Computation, Gain, Norm
from normlint.rules.registry import Fixes, Problem, rule
from normlint.text.finding import WARNING, Applicability, Span

gains = Fixes("gains")
parameters = Fixes("parameters")
statements = Fixes("statements")


def applied(norm: Norm) -> tuple[Gain, ...]:
    """Return each learned factor once; those on paths of different constructors are different."""
    return tuple({(g.param.name, g.param.span): g for c in norm.computations for g in c.gains}.values())


def shifts(norm: Norm) -> tuple[Param, ...]:
    """Return each added bias once."""
    factors = (f.atom for c in norm.computations if c.shift is not None for f in c.shift.factors)
    return tuple({(p.name, p.span): p for p in factors if isinstance(p, Param)}.values())


@rule("NRM501", name="gain-not-parameter", fix=Applicability.UNSAFE)
def gain_not_parameter(norm: Norm) -> Iterator[Problem]:
    """Keeps the gain or the bias in a plain tensor.

    A checkpoint leaves it out, a model that was moved to a GPU fails at its first call, and training never changes it.
    It is not in `state_dict`, does not move with `.to(device)`, and no optimizer sees it.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = torch.ones(dim)  # error: [gain-not-parameter]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```
    ```diff
    -        self.weight = torch.ones(dim)
    +        self.weight = nn.Parameter(torch.ones(dim))
    ```

    A gain that shall not be trained is a buffer. Ones that stand for a gain where there is none want a buffer as
    well.

    Fix safety: unsafe: a checkpoint of the module has no such key yet, and the gain is trained from now on.
    """
    gains = [gain.param for c in norm.computations for gain in c.gains]
    trained = {p.name for p in gains if p.role == "parameter"}
    plain = [p for p in (*gains, *shifts(norm)) if p.role == "tensor" and p.name]
    for param in {p.span: p for p in plain if not (trained and p.shape == ())}.values():  # such as √D
        if not norm.owner.module:
            return
        if param.name in trained:
            message = (
                f"`{param.name}` is a plain tensor on this path, left behind when the module moves: register a buffer"
            )
            yield Problem(param.span, message, severity=WARNING)
        else:
            message = f"`{param.name}` is a plain tensor: not saved, not moved, not trained"
            yield Problem(param.span, message, partial(parameters.as_parameter, param))


@rule("NRM502", name="mutated-input", fix=Applicability.SAFE)
def mutated_input(norm: Norm) -> Iterator[Problem]:
    """Changes its input in place.

    The caller goes on with the overwritten tensor, often the residual stream. `.float()` is no protection: for an
    fp32 input it returns the same memory.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        ms = h.pow(2).mean(-1, keepdim=True)
        h.mul_(torch.rsqrt(ms + eps))  # error: [mutated-input]
        return h.type_as(x) * weight
    ```
    ```diff
    -    h.mul_(torch.rsqrt(ms + eps))
    +    h = h.mul(torch.rsqrt(ms + eps))
    ```

    What the norm has made itself may be changed.

    Where the name (`rms_norm_`) or a parameter (`inplace`) says that it is meant, the changed input is handed back
    beside the norm, or not all that is done to the statistic could be read, nothing is reported.

    Fix safety: safe: what the norm gives back is the same. Nothing is offered where a caller drops the result.
    """
    places: dict[str, dict[Span, None]] = {}
    for c in norm.computations if norm.meant and not (norm.helper or norm.owner.in_place) else ():
        taken = {note.detail for note in c.notes if note.kind == "handed back"}  # the sum that a residual goes on with
        unread = any(step.op == "unknown" for step in c.trail)  # a clip, say: it may be no norm
        unread = unread or any(note.kind == "identity" for note in c.notes)  # it asks what shares memory
        for note in c.notes if c.returned and not unread else ():
            meant = note.detail in taken or is_written_by_intent(note.detail)
            if note.kind == "mutation" and not meant and note.detail in _summed(c.input):
                places.setdefault(note.detail, {})[note.span] = None
    for name, (first, *_) in places.items():
        repair = partial(statements.out_of_place, norm, first)
        yield Problem(first, f"changes the caller's `{name}` in place", repair)


def _summed(mono: Mono) -> set[str]:
    """Return the names of the inputs that a value is a product or a sum of."""
    names = {f.atom.name for f in mono.factors if isinstance(f.atom, Input)}
    sums = [f.atom.args for f in mono.factors if isinstance(f.atom, Apply) and f.atom.name in ("+", "-")]
    sums += [(f.atom.inner,) for f in mono.factors if isinstance(f.atom, Offset | Plus)]
    return names.union(*(_summed(one) for args in sums for one in args if isinstance(one, Mono)))


@rule("NRM503", name="debug-print", fix=Applicability.SAFE, severity=WARNING)
def debug_print(norm: Norm) -> Iterator[Problem]:
    """Prints in a norm's forward.

    It runs for every layer and every step, makes the GPU wait where a tensor is printed, and breaks the graph of
    `torch.compile`.

    ```py
    import torch

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        print(h.shape)  # error: [debug-print]
        ms = h.pow(2).mean(-1, keepdim=True)
        return (h * torch.rsqrt(ms + eps)).type_as(x) * weight
    ```
    ```diff
    -    print(h.shape)
    ```

    Behind a flag or another test it may stay, unless that is the test for the gain or the upcast.

    Fix safety: safe; unsafe where what is printed comes from a call of the text's own. A block that is left empty gets
    `pass`.
    """
    usual = [c for c in norm.computations if c.returned and not c.after_exception]
    paths = [(c, {n.span: n.detail for n in c.notes if n.kind == "print"}) for c in usual]
    for span in dict.fromkeys(span for _, spans in paths for span in spans) if norm.meant else ():
        printing = [(c, spans[span] == "words") for c, spans in paths if span in spans]
        most, products = max(_done(c) for c, _ in printing), {c.span for c, words in printing if not words}
        alike = (spans for c, spans in paths if _done(c) >= most and (not products or c.span in products))
        if all(span in spans for spans in alike):  # words may say which way was taken, values that way's products
            when = "at every call of the norm" if len(printing) == len(paths) else "at every call that comes this way"
            yield Problem(span, f"prints {when}", partial(statements.without_print, span))


def _done(c: Computation) -> int:
    """Return how many of upcast, gains and bias a path has; a test that decides on one of them does more than print."""
    wide = c.fused or c.statistic.square.wide or not c.sees_half
    return len(c.gains) + (c.shift is not None) + wide


@rule("NRM506", name="unknown-torch-name")
def unknown_torch_name(norm: Norm) -> Iterator[Problem]:
    """Calls a function that torch doesn't have, or gives a function an argument that it doesn't take.

    The call raises as soon as it is reached. What is meant is read instead, so that the other rules see the norm.

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(-1, keepdim=True)
        var = h.var(-1, unbaiased=False, keepdim=True)  # error: [unknown-torch-name]
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```

    So do calls of the functions of the same package:

    ```py
    import torch
    from torch import nn

    def rms_norm(x, weight, eps=1e-6):
        h = x.float()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)).type_as(x) * weight

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return rms_norm(x, self.weight, epsilon=self.eps)  # error: [unknown-torch-name]
    ```

    numpy's names for an axis are torch's too:

    ```py
    import torch

    def layer_norm(x, weight, bias, eps=1e-5):
        h = x.float()
        mean = h.mean(axis=-1, keepdims=True)
        var = h.var(axis=-1, unbiased=False, keepdims=True)
        return ((h - mean) * torch.rsqrt(var + eps)).type_as(x) * weight + bias
    ```
    """
    for c in norm.computations:
        for note in c.notes if c.returned else ():
            if note.kind == UNKNOWN_NAME:
                yield Problem(note.span, note.detail)


@rule("NRM509", name="unset-attribute")
def unset_attribute(norm: Norm) -> Iterator[Problem]:
    """Reads an attribute that nothing sets.

    The call raises an AttributeError as soon as that line is reached.

    Instead: Read the attribute that the constructor sets

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.variance_epsilon = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            h = x.float()
            scale = torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)  # error: [unset-attribute]
            return (h * scale).type_as(x) * self.weight
    ```

    A class with other bases than nn.Module is left alone, and so is a file that sets attributes by their names.
    """
    for c in norm.computations:
        for note in c.notes if c.returned else ():
            if note.kind == UNSET:
                message = f"`self.{note.detail}` is read, and nothing sets it"
                yield Problem(note.span, message, rests_on=(note.detail,))


@rule("NRM504", name="gain-shape", fix=Applicability.SAFE)
def gain_shape(norm: Norm) -> Iterator[Problem]:
    """Has a gain of one element, or one that is never filled.

    Nothing fails: broadcasting hides one gain for all features, and unfilled memory may hold any number, NaN too.
    `torch.Tensor([dim])` is a tensor of one element whose value is dim; `torch.empty` holds whatever was in memory.

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.Tensor([dim]))  # error: [gain-shape]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```
    ```diff
    -        self.weight = nn.Parameter(torch.Tensor([dim]))
    +        self.weight = nn.Parameter(torch.ones(dim))
    ```

    ScaleNorm's gain is one number by design, and so may be that of any length, as `x.norm()` takes it, in a class
    whose name names no norm. A gain that isn't trained, or that a base outside the text, `_init_weights` or
    `load_weights` may fill, is no finding.

    Fix safety: safe where the gain was never filled; unsafe where its shape changes, as a checkpoint has the old one.
    """
    last = all(c.over_last for c in norm.judged)  # else its axes must be passed as well
    by_length = norm.owner.intent == "" and norm.kind != "layer" and not norm.main.explicit_square
    scaled = by_length or is_scale_norm(norm.owner.name)
    for gain in applied(norm) if norm.judged else ():
        param, init = gain.param, "zeros" if gain.offset else "ones"
        filled = partial(parameters.filled, param, init)
        shaped = partial(parameters.of_features, param, init) if last else None
        if param.maker == "Tensor-list":
            yield Problem(param.span, "torch.Tensor([…]) is one number, not a gain for each feature", shaped)
        elif (
            param.shape == (Mono(1.0),)
            and param.role == "parameter"
            and param.init in ("ones", init)
            and not (scaled or _is_for_features(norm, param))
        ):
            yield Problem(param.span, "one gain for all features, where a norm has one for each", shaped)
        elif param.init == "empty" and param.role == "parameter" and not _filled_elsewhere(norm, param):
            sole = {g.offset for c in norm.computations for g in c.gains if g.param.name == param.name} == {gain.offset}
            message = f"`{param.name}` is never filled: it holds whatever was in memory"
            yield Problem(param.span, message, filled if sole else None, rests_on=(param.name,))
    for param in (p for p in shifts(norm) if norm.judged and p.role == "parameter"):
        filled = partial(parameters.filled, param, "zeros")
        shaped = partial(parameters.of_features, param, "zeros") if last else None
        if param.maker == "Tensor-list" or (param.shape == (Mono(1.0),) and _is_for_features(norm)):
            yield Problem(param.span, "one bias for all features, where a norm has one for each", shaped)
        elif param.init == "empty" and not _filled_elsewhere(norm, param):
            message = f"`{param.name}` is never filled: it holds whatever was in memory"
            yield Problem(param.span, message, filled, rests_on=(param.name,))


def _is_for_features(norm: Norm, gain: Param | None = None) -> bool:
    """Return whether a gain has a value for each feature on some path, but for a buffer on other paths than `gain`."""
    paths = [[g.param for g in c.gains] for c in norm.computations]
    others = (p for path in paths for p in path if gain is None or gain in path or p.role != "buffer")
    return any(p.shape not in (None, (), (Mono(1.0),)) for p in others)


def _filled_elsewhere(norm: Norm, param: Param) -> bool:
    """Return whether something else may fill it: a base, the model or, if it is local, what it is handed to."""
    return not param.name or norm.owner.reinitialised or param.name in norm.owner.filled


@rule("NRM508", name="result-not-returned")
def result_not_returned(norm: Norm) -> Iterator[Problem]:
    """Computes its result and doesn't return it.

    The layer gives None, and the first operation on that fails, perhaps not before somebody asks for this norm.

    ```py
    import torch
    from torch import nn

    class ConvLayerNorm(nn.LayerNorm):
        def forward(self, x):
            x = x.transpose(1, 2)
            x = super().forward(x)  # error: [result-not-returned]
            x = x.transpose(1, 2)
    ```

    ```py
    import torch
    from torch import nn

    class ConvLayerNorm(nn.LayerNorm):
        def forward(self, x):
            x = x.transpose(1, 2)
            x = super().forward(x)
            return x.transpose(1, 2)
    ```

    A forward that writes into a tensor or an attribute is not reported, nor one that calls anything but torch, einops
    and the methods of its tensors.
    """
    if norm.owner.loses and norm.meant:
        yield Problem(norm.span, "what it computes is never returned: a call gives None")


@rule("NRM507", name="pinned-gain", default=False, severity=WARNING)
def pinned_gain(norm: Norm) -> Iterator[Problem]:
    """Makes its gain in half precision, or on a device that nobody chose.

    A gain in bf16 may stay at 1 for ever, and one on `cuda:0` fails where the model is elsewhere or there is no
    GPU. Beside 1, bf16 has steps of 0.0078: an update that is smaller than half of one is lost.

    Instead: Pass the constructor's own `device=None` and `dtype=None`, or neither

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim, dtype=torch.bfloat16))  # error: [pinned-gain]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight

    class LayerNorm(nn.Module):
        def __init__(self, dim, eps=1e-5):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim, device=torch.cuda.current_device()))  # error: [pinned-gain]
            self.bias = nn.Parameter(torch.zeros(dim).cuda())  # error: [pinned-gain]

        def forward(self, x):
            h = x.float()
            h = h - h.mean(-1, keepdim=True)
            h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
            return h * self.weight + self.bias
    ```

    Where nothing is trained, and every process has set its own device, both may be meant.

    What a caller may choose is handed on: `torch.ones(dim, device=device, dtype=dtype)`.
    """
    owned = [p for p in (*(g.param for g in applied(norm)), *shifts(norm)) if p.role == "parameter" and p.name]
    tests = (test for c in norm.computations for test in c.tests)
    chosen = any("device" in words and words.endswith(" is None") and taken for words, taken in tests)  # by a caller
    for param in owned if norm.judged else ():
        if param.dtype in (DType.FP16, DType.BF16):
            yield Problem(param.span, f"`{param.name}` is made in {param.dtype.value}: small updates of it are lost")
        if param.device and not chosen:
            yield Problem(param.span, f"`{param.name}` is made on `{param.device}`, wherever the model is")


@rule("NRM505", name="unused-gain", fix=Applicability.SAFE, unless=("NRM509",))
def unused_gain(norm: Norm) -> Iterator[Problem]:
    """Makes a gain or bias that is never applied.

    It sits in the checkpoint, gets no gradient, and distributed training stops with "parameters that were not used".

    ```py
    import torch
    from torch import nn

    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))  # error: [unused-gain]

        def forward(self, x):
            h = x.float()
            return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
    ```
    ```diff
    -        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
    +        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight
    ```

    Fix safety: safe where the gain begins at one and the bias at zero: without a gradient they are still there.
    Otherwise unsafe.
    """
    if any(c.returned for c in norm.computations):
        unused = norm.owner.unused_params
        for span in {param.span: None for param in unused}:
            names = " and ".join(f"`{param.name}`" for param in unused if param.span == span)
            verb = "are parameters that are" if " and " in names else "is a parameter that is"
            about = tuple(param.name for param in unused if param.span == span)
            read = all("scale" not in c.unread for c in norm.computations)  # else a factor may be meant to be this one
            repair = partial(gains.applied, norm, unused) if read else None
            yield Problem(span, f"{names} {verb} never applied", repair, rests_on=about)
        for param in norm.owner.handed_params:
            if (path := _path_without(norm)) is not None:
                message = f"`{param.name}` is applied by a fused call, and not on this path"
                yield Problem(path.span, message, evidence=param.span)


def _path_without(norm: Norm) -> Computation | None:
    """Return a returned path of plain torch code that no setting selects; None if there is none."""
    if norm.outside_forward:
        return None  # nothing calls it: what forward calls is read as forward
    paths = (c for c in norm.computations if c.returned and c.plain and not c.fused and norm.meant)
    return next((c for c in paths if not any(_is_choice(norm, words) for words, _ in c.tests)), None)


def _is_choice(norm: Norm, words: str) -> bool:
    """Return whether a test is of an attribute or argument, other than training and whether a tensor is None."""
    first, plain = words.partition(".")[0], not words.endswith(" is None")
    return plain and set(words.split()) != {"self.training"} and (first == "self" or first in norm.owner.settings)
