"""The sieve for imports: find the names of norms that a text imports, which decides whether that file is read."""

from __future__ import annotations

import re
from operator import itemgetter

TYPE_CHECKING = False  # imported at each start
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

_FROM: Final = re.compile(r"from[ \t]+(?!torch\b)[\w.]+[ \t]+import[ \t]+(\([^)]{0,4000}\)|[^\n#;]*)")
_NORM: Final = re.compile(r"norm(?!al_|aliz|als?\b|ed\b)|rms(?!prop|[ed]\b)|l2_?norm|(?:\b|_)ln(?:\b|_)", re.IGNORECASE)
_OTHER: Final = re.compile(r"(?:batch|instance|group|weight|spectral|grad|act)_?norm|clip|grad", re.IGNORECASE)
_DERIVED: Final = re.compile(r"class[ \t]+(\w+)\(([^)]{0,400})\):")
_NAMED: Final = re.compile(r"Norm\w{0,6}$")
_NAMED_CLASS: Final = re.compile(r"class[ \t]+\w*Norm\w{0,6}\(")
_MODULE: Final = re.compile(r"^[ \t]*import[ \t]+(?!torch\b|numpy\b)([\w.]+)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_OF_MODULE: Final = re.compile(r"(?<![\w.])(?!self\b|torch\b)[A-Za-z_][\w.]*\.\w*\Z")
_CALLED_NORM: Final = re.compile(r"norm\w*\(")
_CALLED: Final = re.compile(r"(?<![\w.])(?<!def )(\w+)\(")
_WORD: Final = re.compile(r"\w+")


def may_take(text: str) -> bool:
    """Return whether a class derives from an imported norm, or an imported function named like one is called."""
    return any(True for _ in taken(text))


def taken(text: str) -> Iterator[str]:
    """Yield the imported names that a norm of the text may depend on, `ops.rms_norm` for what a module has."""
    yield from _dotted(text)
    imports = [match[1] for match in _FROM.finditer(text)]
    every = " ".join(imports)
    spoken = "*" in every or _NORM.search(every) is not None
    if not (spoken or (imports and _NAMED_CLASS.search(text))):
        return
    names = dict(_imported(imports))
    names = {**{name: name for name in (_used(text) if names.pop("*", "") else ())}, **names}
    norms = set(map(itemgetter(0), filter(_speaks, names.items()))) if spoken else set()
    for match in _DERIVED.finditer(text) if names else ():
        bases = names.keys() & _WORD.findall(match[2])
        named = _NAMED.search(match[1]) is not None and not _OTHER.search(match[1])
        yield from (base for base in sorted(bases) if named or base in norms)
    functions = (name for name in sorted(norms) if not name.strip("_")[:1].isupper())
    yield from (name for name in functions if re.search(rf"(?<![\w.])(?<!def ){name}\(", text))


def _dotted(text: str) -> Iterator[str]:
    """Yield the functions and bases that are attributes of imported modules, as `ops.rms_norm`."""
    found = dict.fromkeys((*_dotted_calls(text), *_dotted_bases(text)))
    if found:
        modules = set(dict(_imported(match[1] for match in _FROM.finditer(text))))
        modules |= {match[2] or match[1].partition(".")[0] for match in _MODULE.finditer(text)}
        yield from (name for name in found if name.partition(".")[0] in modules)


def _dotted_calls(text: str) -> Iterator[str]:
    for match in _CALLED_NORM.finditer(text):
        before = _OF_MODULE.search(text, max(0, match.start() - 80), match.start())
        name = f"{before[0]}{match[0][:-1]}" if before else ""
        last = name.rpartition(".")[2]
        if name and is_norm(last) and not last.strip("_")[:1].isupper():
            yield name


def _dotted_bases(text: str) -> Iterator[str]:
    for match in _DERIVED.finditer(text):
        named = _NAMED.search(match[1]) is not None and not _OTHER.search(match[1])
        bases = (base.strip() for base in match[2].split(",") if "." in base and "=" not in base)
        yield from (base for base in bases if named or is_norm(base.rpartition(".")[2]))


def _used(text: str) -> Iterator[str]:
    """Yield the names that are called, and those that classes derive from."""
    yield from _CALLED.findall(text)
    yield from (word for match in _DERIVED.finditer(text) for word in _WORD.findall(match[2]))


def _speaks(names: tuple[str, str]) -> bool:
    """Return whether an import's local or original name is that of a norm."""
    return any(map(is_norm, names))


def is_norm(name: str) -> bool:
    """Return whether a name is that of a norm over features."""
    return _NORM.search(name) is not None and not _OTHER.search(name)


def _imported(imports: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (local name, original name) of the imports from modules other than torch's."""
    found = (part.split() for names in imports for part in names.strip("()").split(","))
    return ((words[-1], words[0]) for words in found if words and (words[-1].isidentifier() or words == ["*"]))
