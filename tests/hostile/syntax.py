"""What is hard on patterns over the text: blanks, dots, quotes, brackets, words that begin something."""

from __future__ import annotations

from typing import Final

from tests.hostile.builder import HEAD, MOST, NORM, Texts

END: Final = f"\n\ndef rms_norm(x):\n    return {NORM}\n"


def _filled(unit: str) -> object:
    """The unit, as often as is asked for and fits, in a comment, in a string, and as code that does not parse."""
    return lambda size: (HEAD + unit * size)[: MOST - len(END) - 1] + END


def _comment(unit: str) -> object:
    return lambda size: (HEAD + "# " + unit * size)[: MOST - len(END) - 1] + END


def _string(unit: str) -> object:
    return lambda size: (HEAD + '"""' + unit * size)[: MOST - len(END) - 5] + '"""' + END


_UNITS: Final = {
    "dots": ".",
    "blanks": " ",
    "tabs": "\t",
    "lines": "\n",
    "form feeds": "\f",
    "backslashes and lines": "\\\n",
    "brackets": "(",
    "closing brackets": ")",
    "square brackets": "[",
    "quotes": "'",
    "double quotes": '"',
    "triple quotes": "'''",
    "hashes": "#",
    "commas": ", ",
    "equals signs": "=",
    "colons": ":",
    "at signs": "@",
    "stars": "*",
    "power signs": "** ",
    "words": "a ",
    "letters": "a",
    "underscores": "_",
    "digits": "1",
    "defs": "def ",
    "classes": "class ",
    "for": "for x in ",
    "sqrt(": "sqrt(",
    "mean(": ".mean(",
    "x = ": "x = ",
    "self.": "self.",
    "x / x.std() +": "x / x.std() + ",
    "-> ": "-> ",
    "noqa": "noqa: NRM101 ",
    "lambda": "lambda x: ",
    "letters with accents": "\u00e9",
    "surrogate-sized letters": "\U0001d44e",
}
_LINES: Final = {
    "lines of a decorator": "@a\n",
    "lines of imports": "from a import b\n",
    "lines of if": "if a:\n  b\n",
    "lines of x.std()": "x.std()\n",
    "lines of x / x.std()": "x / x.std()\n",
    "lines of sqrt": "y = sqrt(x.mean())\n",
    "lines of self.a = b": "self.a = b\n",
    "lines of a: b = c": "a: b = c\n",
    "lines of blanks": "    \n",
    "lines of strings": "'''a'''\n",
    "lines of backslashes": "x = \\\n  1\n",
    "lines of global": "global x\n",
    "lines of print": "print(x.mean() / x)\n",
    "lines of parameters": "w = nn.Parameter(torch.ones(3))\n",
    "lines of one-line classes": "class RMSNorm(nn.Module): x = 1\n",
    "lines of one-line functions": "def rms_norm(x): return x.rsqrt()\n",
    "lines of brackets": "f(\n)\n",
    "lines of a walrus": "(y := x.mean())\n",
    "lines of async": "async def f(x): await x.std() / x\n",
    "lines of annotations": "x: torch.Tensor\n",
    "lines of return": "def f(x):\n  return x / x.norm()\n",
    "lines of vmap": "torch.vmap(rms_norm)\n",
    "lines of setattr": "setattr(x, 'a', x.mean())\n",
    "lines of nn.init": "nn.init.ones_(x.weight)\n",
}

TEXTS: Final[Texts] = {
    **{f"{name} as code": (_filled(unit), 20_000, 100_000) for name, unit in _UNITS.items()},
    **{f"{name} in a comment": (_comment(unit), 20_000) for name, unit in _UNITS.items() if "\n" not in unit},
    **{f"{name} in a string": (_string(unit), 20_000) for name, unit in _UNITS.items() if '"' not in unit and "\\" not in unit},
    **{name: (_filled(line), 100, 3000, 20_000) for name, line in _LINES.items()},
}  # fmt: skip
