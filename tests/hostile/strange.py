"""Characters that other tools trip over: in names, in blanks, at the ends of lines, and in other encodings."""

from __future__ import annotations

from typing import Final

from tests.hostile.builder import HEAD, NORM, Texts

WRONG: Final = f"{HEAD}class RMSNorm(nn.Module):\n    def forward(self, x):\n        return x * torch.rsqrt(x.pow(2).mean() + 1e-6)\n"
SPOTS: Final = {
    "after def": ("def forward", "def@ forward"),
    "before a name": ("def forward", "def @forward"),
    "in a name": ("forward", "for@ward"),
    "at the end of a name": ("forward", "forward@"),
    "after class": ("class RMS", "class@ RMS"),
    "in a class's name": ("RMSNorm(nn", "RMS@Norm(nn"),
    "in an indent": ("        return", "    @    return"),
    "before an indent": ("        return", "@        return"),
    "after an indent": ("        return", "        @return"),
    "in an expression": ("x * torch", "x *@ torch"),
    "in a string": ("x * torch", "'a@b' and x * torch"),
    "in a comment": ("1e-6)", "1e-6)  # a@b"),
    "at a line's end": ("1e-6)", "1e-6)@"),
    "at the start": ("import torch\n", "@import torch\n"),
    "in a blank line": ("\n\n\nclass", "\n@\n\nclass"),
    "in a parameter": ("self, x)", "self, x@)"),
    "in a module's name": ("import torch\n", "import to@rch\n"),
    "between statements": ("x * torch", "x;@\n        return x * torch"),
}
CHARACTERS: Final = {
    "form feed": "\f",
    "vertical tab": "\v",
    "tab": "\t",
    "carriage return": "\r",
    "NEL": "\x85",
    "no-break space": "\xa0",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "zero-width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "combining accent": "\u0301",
    "middle dot": "\xb7",
    "ideographic space": "\u3000",
    "full-width letter": "\uff41",
    "ligature": "\ufb01",
    "mathematical letter": "\U0001d44e",
    "NUL": "\0",
    "escape": "\x1b",
    "file separator": "\x1c",
    "half a surrogate pair": "\ud800",
    "backslash": "\\",
    "right-to-left mark": "\u202e",
}


def placed(spot: str, character: str) -> str:
    """The wrong norm, with the character in that spot."""
    before, after = SPOTS[spot]
    return WRONG.replace(before, after.replace("@", CHARACTERS[character]), 1)


def _all(character: str) -> object:
    """One spot after another, by number."""
    return lambda size: placed(list(SPOTS)[size], character)


def _coded(codec: str, *, said: str = "") -> object:
    text = f"# -*- coding: {said or codec} -*-\n# \u00e9\n" + WRONG
    return lambda size: text.encode(codec, "replace") * size


TEXTS: Final[Texts] = {
    **{name: (_all(name), *range(len(SPOTS))) for name in CHARACTERS},
    **{f"in {codec}": (_coded(codec), 1) for codec in ("latin-1", "cp1252", "utf-16", "utf-8-sig", "koi8-r", "gb18030", "shift_jis", "utf-7", "cp037", "punycode")},
    **{f"in latin-1, declared {codec}": (_coded("latin-1", said=codec), 1) for codec in ("utf-8", "ascii", "idna", "rot13", "hex", "undefined", "unicode_escape", "mbcs", "none", "utf-16", "euc-jp", "utf-32", "base64", "zlib")},
    "lines that end in CR": (lambda size: (WRONG * size).replace("\n", "\r"), 1, 100),
    "lines that end in CRLF": (lambda size: (WRONG * size).replace("\n", "\r\n"), 1, 100),
    "lines that end in every way": (lambda size: "".join(line + "\n\r\r\n"[i % 3 : i % 3 + 1 + (i % 3 == 1)] for i, line in enumerate((WRONG * size).split("\n"))), 1, 100),
    "names that normalise to others": (lambda size: (f"{HEAD}def rms_norm(\uff58, \U0001d465):\n    return {NORM}\n" * size).replace("mean", "\U0001d45aean"), 1, 100),
}  # fmt: skip
