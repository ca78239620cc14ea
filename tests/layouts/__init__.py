"""Norms in odd layouts, each with a place for a defect, and what else the text computes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_WORD: Final = re.compile(r"\{(up|down|norm|inv|ms):([^{}]*)\}")
MS: Final = "{0}.pow(2).mean(-1, keepdim=True)"
RIGHT: Final = {
    "up": "{0}.float()",
    "down": "({0}).type_as({1})",
    "ms": MS,
    "inv": "torch.rsqrt({{ms:{0}}} + {1})",
    "norm": "{0} * {{inv:{0}|{1}}}",
}
DEFECTS: Final[dict[str, dict[str, str]]] = {
    "no upcast": {"up": "{0}", "down": "{0}"},
    "no downcast": {"down": "{0}"},
    "a late upcast": {"up": "{0}", "ms": f"{MS}.float()"},
    "eps after the root": {"inv": "(1 / ({{ms:{0}}}.sqrt() + {1}))", "norm": "{0} / ({{ms:{0}}}.sqrt() + {1})"},
    "no eps": {"inv": "torch.rsqrt({{ms:{0}}})"},
    "an inverted scale": {"inv": "torch.sqrt({{ms:{0}}} + {1})"},
    "no root": {"inv": "({{ms:{0}}} + {1}).reciprocal()", "norm": "{0} / ({{ms:{0}}} + {1})"},
    "two roots": {"inv": "torch.rsqrt(torch.sqrt({{ms:{0}}} + {1}))"},
    "a sum that is never divided": {"ms": "({0} * {0}).sum(-1, keepdim=True)"},
    "one scale for everything": {"ms": "{0}.pow(2).mean()"},
    "no keepdim": {"ms": "{0}.pow(2).mean(-1)"},
    "no square": {"ms": "{0}.mean(-1, keepdim=True)"},
    "a detached statistic": {"inv": "torch.rsqrt({{ms:{0}}} + {1}).detach()"},
    "a statistic in half": {"ms": f"{MS}.half()"},
    "the mean subtracted under the square": {"ms": "({0} - {0}.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True)"},
}
HEAD: Final = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
INIT: Final = """    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
"""


@dataclass(frozen=True)
class Layout:
    """A text with places for words. `norm`: an expression that gives the norm of x; `others`: more that it computes.

    `meant`: what the norm is to be, an expression of x, the module `m` and `eps`.
    """

    text: str
    norm: str = "RMSNorm(D)(x)"
    others: tuple[str, ...] = ()
    meant: str = "rms"
    crlf: bool = False

    def with_(self, defect: str) -> str:
        """The text with a defect, or right where there is no such."""
        words = RIGHT | DEFECTS.get(defect, {})
        text = self.text.replace("$INIT", INIT)
        text = text if "import torch" in text else HEAD + text.lstrip("\n")
        while _WORD.search(text):
            text = _WORD.sub(lambda found: words[found[1]].format(*found[2].split("|")), text)
        return text.replace("\n", "\r\n") if self.crlf else text
