"""One kind of statement each: assignments, branches, lambdas, comments and line ends where nobody expects them."""

from __future__ import annotations

from tests.layouts import HEAD, Layout

FUNCTION = "rms_norm(x, w)"

LAYOUTS: dict[str, Layout] = {
    "a chained assignment whose other name is given back": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        y = keep = x * 2
        h = {up:y}
        self.last = keep
        return {down:{norm:h|self.eps}|x} * self.weight
""",
        others=("(lambda m: (m(x), m.last.dtype, m.last)[1:])(RMSNorm(D))",),
        meant="rms2",
    ),
    "a chained assignment of the input itself": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = residual = x
        out = {down:{norm:h|self.eps}|x} * self.weight
        return out, residual
""",
        "RMSNorm(D)(x)[0]",
        ("RMSNorm(D)(x)[1]",),
    ),
    "a chained assignment of the squares": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}
        a = b = {ms:h}
        self.energy = b
        return {down:h * torch.rsqrt(a + self.eps)|x} * self.weight
""",
        others=("(lambda m: (m(x), m.energy.dtype)[1])(RMSNorm(D))",),
    ),
    "a chained assignment of norm and copy": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    out = copy = {down:{norm:h|eps}|x}
    return out * w, copy
""",
        "rms_norm(x, w)[0]",
    ),
    "annotated assignments": Layout(
        """
from torch import Tensor


def rms_norm(x: Tensor, w: Tensor, eps: float = 1e-6) -> Tensor:
    h: Tensor = {up:x}
    out: Tensor
    scale: Tensor = {inv:h|eps}
    out = {down:h * scale|x}
    return out * w
""".replace("from torch import Tensor", HEAD + "from torch import Tensor"),
        FUNCTION,
    ),
    "a walrus in the product": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    return {down:(h := {up:x}) * {inv:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "a walrus in a test": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}
    if (ms := {ms:h}) is not None:
        h = h * torch.rsqrt(ms + eps)
    return {down:h|x} * w
""",
        FUNCTION,
    ),
    "semicolons": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}; s = {inv:h|eps}; y = {down:h * s|x}; return y * w
""",
        FUNCTION,
    ),
    "a body on the line of its def": Layout(
        """
def rms_norm(x, w, eps=1e-6): h = {up:x}; return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "a return on the line of its def": Layout(
        """
def rms_norm(x, w, eps=1e-6): return {down:{up:x} * {inv:{up:x}|eps}|x} * w
""",
        FUNCTION,
    ),
    "one-line ifs": Layout(
        """
def rms_norm(x, w=None, eps=1e-6):
    h = {up:x}
    h = {norm:h|eps}
    if w is not None: h = h * w
    if h.dtype != x.dtype: h = {down:h|x}
    return h
""",
        FUNCTION,
    ),
    "a conditional expression": Layout(
        """
def rms_norm(x, w=None, eps=1e-6):
    h = {up:x}
    y = {down:{norm:h|eps}|x}
    return y if w is None else y * w
""",
        FUNCTION,
    ),
    "a lambda": Layout(
        """
rms_norm = lambda x, w, eps=1e-6: {down:{up:x} * {inv:{up:x}|eps}|x} * w
""",
        FUNCTION,
    ),
    "a lambda in a function": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    scale = lambda t: {inv:t|eps}
    h = {up:x}
    return {down:h * scale(h)|x} * w
""",
        FUNCTION,
    ),
    "a lambda that others call": Layout(
        """
scale = lambda t, eps=1e-6: {inv:t|eps}


def rms_norm(x, w):
    h = {up:x}
    return {down:h * scale(h)|x} * w


def loudness(x):
    return scale(x) + 1
""",
        FUNCTION,
        ("loudness(x)",),
    ),
    "comments inside the expressions": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = {up:x}  # up
    return (
        {down:  # the rows
            h  # as they are
            * {inv:h|eps}|x}
        # times the gain
        * w  # of D
    )
""",
        FUNCTION,
    ),
    "comments between the arguments": Layout(
        """
def rms_norm(
    x,  # (B, L, D)
    w,  # (D,)
    eps=1e-6,  # small
):
    h = {up:x}
    scale = torch.rsqrt(
        # the mean square
        {ms:h}
        + eps  # never zero
    )
    return {down:h * scale|x} * w
""",
        FUNCTION,
    ),
    "fmt: off and aligned columns": Layout(
        """
# fmt: off
def rms_norm(x, w, eps = 1e-6):
    h     = {up:x}
    scale = {inv:h|eps}
    y     = {down:h * scale|x}
    return  y*w
# fmt: on
""",
        FUNCTION,
    ),
    "no blanks at all": Layout(
        """
def rms_norm(x,w,eps=1e-6):
    h={up:x}
    return({down:{norm:h|eps}|x})*w
""",
        FUNCTION,
    ),
    "line continuations": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    h = \\
        {up:x}
    y = h \\
        * {inv:h|eps}
    return {down:y|x} \\
        * w
""",
        FUNCTION,
    ),
    "trailing commas and a call over many lines": Layout(
        """
def rms_norm(
    x,
    w,
    eps=1e-6,
):
    h = {up:x}
    y = torch.mul(
        h,
        {inv:h|eps},
    )
    return torch.mul(
        {down:y|x},
        w,
    )
""",
        FUNCTION,
    ),
    "form feeds": Layout(
        "\f\ndef rms_norm(x, w, eps=1e-6):\n    h = {up:x}\n\f\n    return {down:{norm:h|eps}|x} * w\n", FUNCTION
    ),
    "tabs": Layout(
        "\ndef rms_norm(x, w, eps=1e-6):\n\th = {up:x}\n\ts = {inv:h|eps}\n\treturn {down:h * s|x} * w\n", FUNCTION
    ),
    "tabs and CRLF": Layout(
        "\nclass RMSNorm(nn.Module):\n\tdef __init__(self, dim, eps=1e-6):\n\t\tsuper().__init__()\n"
        "\t\tself.eps = eps\n\t\tself.weight = nn.Parameter(torch.ones(dim))\n\n"
        "\tdef forward(self, x):\n\t\th = {up:x}\n\t\treturn {down:{norm:h|self.eps}|x} * self.weight\n",
        crlf=True,
    ),
    "CRLF and comments": Layout(
        """
class RMSNorm(nn.Module):
$INIT
    def forward(self, x):
        h = {up:x}  # wide

        scale = {inv:h|self.eps}  # one a row

        return {down:h * scale|x} * self.weight
""",
        crlf=True,
    ),
    "an indent of one": Layout(
        "\ndef rms_norm(x, w, eps=1e-6):\n h = {up:x}\n y = {norm:h|eps}\n return {down:y|x} * w\n", FUNCTION
    ),
    "names of many letters": Layout(
        """
def rms_norm(größe, w, ε=1e-6):
    𝑥 = {up:größe}
    return {down:{norm:𝑥|ε}|größe} * w
""",
        FUNCTION,
    ),
    "f-strings that speak of the norm": Layout(
        """
def rms_norm(x, w, eps=1e-6):
    name = f"{x.dtype}: x.pow(2).mean(-1, keepdim=True) + {eps!r}"
    h = {up:x}
    assert h.shape == x.shape, f"{name} {h.pow(2).mean(-1, keepdim=True)}"
    return {down:{norm:h|eps}|x} * w
""",
        FUNCTION,
    ),
    "a docstring that holds the same code": Layout(
        '''
def rms_norm(x, w, eps=1e-6):
    """As x.float().

    >>> h = x
    >>> h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    """
    h = {up:x}
    return {down:{norm:h|eps}|x} * w
''',
        FUNCTION,
    ),
}
