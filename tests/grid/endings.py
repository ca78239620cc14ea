"""More choices: from eps and the root to the gain and its first value (see `spellings` for the templates)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.grid.spellings import Join, Root

JOINS: Final[dict[str, Join]] = {
    "_ + eps": Join("{m_} + {eps_}"),
    "eps + _": Join("{eps} + {m}"),
    "_.add(eps)": Join("{m}.add({eps_})"),
    "torch.add(_, eps)": Join("torch.add({m_}, {eps_})"),
    "_.clamp(min=eps)": Join("{m}.clamp(min={eps_})"),
    "_.clamp_min(eps)": Join("{m}.clamp_min({eps_})"),
    "torch.clamp(_, min=eps)": Join("torch.clamp({m_}, min={eps_})"),
    "norm.clamp(min=eps)": Join("{m}.clamp(min={eps_})", 0.5),
    "norm.clamp_min(eps)": Join("{m}.clamp_min({eps_})", 0.5),
    "torch.clamp(norm, min=eps)": Join("torch.clamp({m_}, min={eps_})", 0.5),
    "eps in F.normalize": Join("{m_}", 0),
    "no eps": Join("{m_}"),
    "no eps with the norm": Join("{m_}", 0.5),
    "root + eps": Join("{m_} + {eps_}", outside=True),
    "eps + root": Join("{eps} + {m}", outside=True),
    "root.add(eps)": Join("{m}.add({eps_})", outside=True),
    "deviation + eps": Join("{m_} + {eps_}", 0.5),
}

ROOTS: Final[dict[str, Root]] = {
    "torch.rsqrt": Root("torch.rsqrt({m_})", "times"),
    "_.rsqrt()": Root("{m}.rsqrt()", "times"),
    "_ ** -0.5": Root("{m} ** -0.5", "times"),
    "_.pow(-0.5)": Root("{m}.pow(-0.5)", "times"),
    "torch.pow(_, -0.5)": Root("torch.pow({m_}, -0.5)", "times"),
    "1 / torch.sqrt": Root("1 / torch.sqrt({m_})", "times"),
    "1.0 / _.sqrt()": Root("1.0 / {m}.sqrt()", "times"),
    "1 / _ ** 0.5": Root("1 / {m} ** 0.5", "times"),
    "_.sqrt().reciprocal()": Root("{m}.sqrt().reciprocal()", "times"),
    "torch.reciprocal(torch.sqrt)": Root("torch.reciprocal(torch.sqrt({m_}))", "times"),
    "over torch.sqrt": Root("torch.sqrt({m_})", "over"),
    "over _.sqrt()": Root("{m}.sqrt()", "over"),
    "over _ ** 0.5": Root("{m} ** 0.5", "over"),
    "over _.pow(0.5)": Root("{m}.pow(0.5)", "over"),
    "over torch.pow(_, 0.5)": Root("torch.pow({m_}, 0.5)", "over"),
    "over the norm": Root("{m_}", "over", 0.5),
    "1 / norm": Root("1 / {m}", "times", 0.5),
    "norm.reciprocal()": Root("{m}.reciprocal()", "times", 0.5),
    "torch.reciprocal(norm)": Root("torch.reciprocal({m_})", "times", 0.5),
    "norm ** -1": Root("{m} ** -1", "times", 0.5),
    "no root left": Root("{m_}", "none", 0),
    "over torch.rsqrt": Root("torch.rsqrt({m_})", "over"),
    "over _.rsqrt()": Root("{m}.rsqrt()", "over"),
    "over _ ** -0.5": Root("{m} ** -0.5", "over"),
    "over 1 / torch.sqrt": Root("1 / torch.sqrt({m_})", "over"),
    "times torch.sqrt": Root("torch.sqrt({m_})", "times"),
    "times _.sqrt()": Root("{m}.sqrt()", "times"),
    "times _ ** 0.5": Root("{m} ** 0.5", "times"),
    "times the norm": Root("{m_}", "times", 0.5),
    "over the mean square": Root("{m_}", "over"),
    "1 / mean square": Root("1 / {m}", "times"),
    "_.reciprocal() without a root": Root("{m}.reciprocal()", "times"),
    "_ ** -1": Root("{m} ** -1", "times"),
    "over _ ** 2": Root("{m} ** 2", "over"),
    "rsqrt of sqrt": Root("torch.rsqrt(torch.sqrt({m_}))", "times"),
    "over sqrt of sqrt": Root("{m}.sqrt().sqrt()", "over"),
    "over _ ** 0.25": Root("{m} ** 0.25", "over"),
    "_ ** -0.25": Root("{m} ** -0.25", "times"),
    "rsqrt of the norm": Root("torch.rsqrt({m_})", "times", 0.5),
    "over sqrt of the norm": Root("torch.sqrt({m_})", "over", 0.5),
    "1 / (sqrt + eps)": Root("1 / (torch.sqrt({m_}) + {eps})", "times"),
    "(sqrt + eps) ** -1": Root("({m}.sqrt() + {eps}) ** -1", "times"),
}

APPLIES: Final[dict[str, tuple[str, str]]] = {
    "x * r": ("times", "{x} * {r__}"),
    "r * x": ("times", "{r__} * {x}"),
    "x.mul(r)": ("times", "{x}.mul({r_})"),
    "torch.mul(x, r)": ("times", "torch.mul({x_}, {r_})"),
    "x / r": ("over", "{x} / {r__}"),
    "x.div(r)": ("over", "{x}.div({r_})"),
    "torch.div(x, r)": ("over", "torch.div({x_}, {r_})"),
    "nothing to apply": ("none", "{x_}"),
    "x.mul_(r)": ("times", "{x}.mul_({r_})"),
    "x *= r": ("times", "{x} *= {r_}"),
    "x.div_(r)": ("over", "{x}.div_({r_})"),
    "x /= r": ("over", "{x} /= {r_}"),
}

CASTS: Final[dict[str, str]] = {
    ".float()": "{x}.float()",
    ".to(torch.float32)": "{x}.to(torch.float32)",
    ".to(dtype=torch.float32)": "{x}.to(dtype=torch.float32)",
    ".type(torch.float32)": "{x}.type(torch.float32)",
    ".to(torch.float)": "{x}.to(torch.float)",
    ".double()": "{x}.double()",
    "no cast": "{x_}",
}

BACKS: Final[dict[str, str]] = {
    ".to(input_dtype)": "{y}.to(input_dtype)",
    ".to(dtype=input_dtype)": "{y}.to(dtype=input_dtype)",
    ".type(input_dtype)": "{y}.type(input_dtype)",
    ".type_as(x)": "{y}.type_as({x_})",
    ".to(x.dtype)": "{y}.to({x}.dtype)",
    ".to(dtype=x.dtype)": "{y}.to(dtype={x}.dtype)",
    "never cast back": "{y_}",
    "cast back by .half()": "{y}.half()",
    "cast back by .to(torch.float16)": "{y}.to(torch.float16)",
    "cast back by .to(torch.bfloat16)": "{y}.to(torch.bfloat16)",
}


@dataclass(frozen=True, slots=True)
class Gain:
    """How the gain is applied; `form` is plain, offset (1 + w), none, first (before the root) or unused."""

    form: str
    text: str
    test: str = ""
    after: bool = False


GAINS: Final[dict[str, Gain]] = {
    "w * y": Gain("plain", "{w} * {y}"),
    "y * w": Gain("plain", "{y} * {w}"),
    "y.mul(w)": Gain("plain", "{y}.mul({w_})"),
    "y.mul_(w)": Gain("plain", "{y}.mul_({w_})"),
    "torch.mul(w, y)": Gain("plain", "torch.mul({w_}, {y_})"),
    "y * w.float()": Gain("plain", "{y} * {w}.float()", after=True),
    "w * x over the root": Gain("first", "{y_}", after=True),
    "y * w if it isn't None": Gain("plain", "{y} * {w}", test="self.weight is not None"),
    "w * y behind a flag": Gain("plain", "{w} * {y}", test="self.elementwise_affine"),
    "y * (1 + w)": Gain("offset", "{y} * (1 + {w})"),
    "(1.0 + w.float()) * y": Gain("offset", "(1.0 + {w}.float()) * {y}", after=True),
    "(w + 1) * y": Gain("offset", "({w} + 1) * {y}"),
    "no gain": Gain("none", "{y_}"),
    "a gain made, never applied": Gain("unused", "{y_}"),
}

BIASES: Final[dict[str, str]] = {
    "no bias": "{y_}",
    "+ bias": "{y_} + {b}",
    "bias by .add": "{y}.add({b_})",
    "a bias made, never applied": "{y_}",
}

INITS: Final[dict[str, tuple[str, str]]] = {
    "ones": ("plain", "nn.Parameter(torch.ones({d_}))"),
    "torch.full ones": ("plain", "nn.Parameter(torch.full(({d_},), 1.0))"),
    "ones, requires_grad": ("plain", "nn.Parameter(torch.ones({d_}), requires_grad=True)"),
    "torch.nn.Parameter ones": ("plain", "torch.nn.Parameter(torch.ones(({d_},)))"),
    "ones_like": ("plain", "nn.Parameter(torch.ones_like(torch.zeros({d_})))"),
    "register_parameter": ("plain", "register"),
    "empty, filled by reset_parameters": ("plain", "reset"),
    "empty, filled by nn.init": ("plain", "init"),
    "zeros": ("offset", "nn.Parameter(torch.zeros({d_}))"),
    "zeros of a tuple": ("offset", "nn.Parameter(torch.zeros(({d_},)))"),
    "no parameter": ("none", ""),
    "a plain tensor of ones": ("unsaved", "torch.ones({d_})"),
    "a plain tensor that requires grad": ("unsaved", "torch.ones({d_}, requires_grad=True)"),
    "one number of ones(1)": ("shape", "nn.Parameter(torch.ones(1))"),
    "torch.Tensor([d])": ("shape", "nn.Parameter(torch.Tensor([{d_}]))"),
    "torch.empty, never filled": ("shape", "nn.Parameter(torch.empty({d_}))"),
    "torch.Tensor(d), never filled": ("shape", "nn.Parameter(torch.Tensor({d_}))"),
}
