"""The sieve for the rules at constructors and calls: find where a text makes or wires norms, by regular expressions."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

TYPE_CHECKING = False  # imported at each start
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Final

_NAMED: Final = re.compile(r"Norm(?!alized)\w{0,40}\(")
_SPLIT: Final = re.compile(r"chunk\(")
_TWICE: Final = re.compile(r"(orm\w{0,40})\((?:self\.\w{0,40}\1\(|\w+\)\n[ \t]+(\w+) = self\.\w{0,40}\1\(\2\))")
_NORMED: Final = re.compile(r"orm\w{0,40}\((\w{1,40})\)[ \t]*(?:#[^\n]*)?\n")
_SUM: Final = re.compile(r"\n[ \t]+\w{1,40} (?:\+=|= (?:\w{1,40} ?\+|[^\n+]{1,80}\+ ?\w{1,40}\n))")
_MODULATED: Final = re.compile(r"orm\w{0,40}\(\w+\) \* \(1(?:\.0?)? \+")
_APPLIED: Final = re.compile(r"orm\w{0,40}\((\w+)\)")
_VIEWED: Final = re.compile(r"(\w+) = [^\n]{0,200}\.(?:view|reshape|unflatten)\([^\n]{0,200}?(\w+)\){1,2}(?=[.\n])")
_VIEW_IN: Final = re.compile(r"orm\w{0,40}\([^\n]{1,90}\.(?:view|reshape|unflatten)\([^\n]{0,99}?(\w+)\){2,3}(?=[.\n])")
_SIZED: Final = re.compile(r"Norm\w{0,40}\((?:\w+\.)*(\w+)[,)]")
_SPARED: Final = re.compile(r"weight_decay[\"']:[ ]?0")
_LINEAR: Final = re.compile(r"Linear\(([^,()\n]+), ([^,()\n]+)")
_MADE_FOR: Final = re.compile(r"Norm\(([^,()\n]+)[,)]")
_OWN: Final = re.compile(r"self\.(\w+) = [^\n]*$")
_FED: Final = re.compile(r"orm\w{0,40}\((?:self\.(\w+)\(|(\w+)\))")
_GROUPS: Final = ("ngroups", "n_groups")
_HANDED: Final = re.compile(r"orm\w{0,40}\.weight(?:,| if )")
_NEAR: Final = 300
_MOST_NORMS: Final = 100  # of a class that are looked at
_BEFORE: Final = re.compile(r"(?:\b(class[ \t]+|self\.|cls\.|def[ \t]+))?\b([A-Za-z_]\w*)$")
_SIZE_OF: Final = re.compile(r"\s*(?!self\b)\w+\.\w+\s*,")
_WRITTEN: Final = re.compile(r"eps\w{0,10}[ ]?=[ ]?[\d.]|,[ \n]*\d?\.?\d*e-\d")
_CONFIGURED: Final = re.compile(r"eps\w{0,10}[ ]?=[ ]?[A-Za-z_]\w{0,60}\.|\.\w{0,60}eps(?:ilon)?[ \n]?[,)]")
_BRACKET: Final = re.compile(r"[()]")
_FARTHEST: Final = 600  # characters between a call's brackets
_CALLED: Final = re.compile(r"orm(\w{0,40})\((?:(\w{1,60})[,)])?")
_WORD: Final = re.compile(r"\w*$")
_SET: Final = re.compile(r"\bself\.(\w+)(?:[ \t]*:[^=\n]{1,80})?[ \t]*=[^=\n][^\n]{0,80}$")
_OWN_CALL: Final = re.compile(r"self\.(\w{1,40})\((?=\w)")
_OWN_NORM: Final = re.compile(r"self\.(\w{0,40}(?:norm|ln|bn)\w{0,40})\((?=\w)")
_OUTSIDE: Final = re.compile(r"\n {1,8}(?=[^\s)])")  # of a loop in a method
_VARIANT: Final = re.compile(r"\n[ \t]+if [^\n]{0,60}(?:norm|pre|post)[^\n]{0,40}:\n|\n[ \t]+def forward_pre\b")
_TAKES: Final = re.compile(r"def __init__\(\s*self\b")
_FLAG: Final = re.compile(r"[(,]\s*(\w*norm\w*)(?: ?: ?bool)? ?= ?(?:True|False)\b", re.IGNORECASE)
_NEXT: Final = re.compile(r"\n(?:[ \t]+(?:@|(?:async )?def )|class )")
_LONGEST: Final = 20_000  # characters of a constructor
_SETTING: Final = re.compile(r"[(,]\s*(\w*norm(?!al(?!iz\w*_before|ization))\w*)(?=[ \t]*[:=,)])", re.IGNORECASE)
_STORED: Final = re.compile(r"self\.(\w+)(?: ?: ?\w+)? = \w+\.\1\n")
_TAGS: Final = {"q": "k", "query": "key", "queries": "keys", "k": "q", "key": "query", "keys": "queries"}
_OTHERS: Final = ("Batch", "Instance", "Local", "Weight", "Spectral", "Group")


_BATCH: Final = "eps= momentum= affine= track_running_stats="
_LAST: Final = "device= dtype= * bias="
_TAKEN: Final = {
    "LayerNorm": "normalized_shape eps= elementwise_affine= bias= device= dtype=",
    "RMSNorm": "normalized_shape eps= elementwise_affine= device= dtype=",
    "GroupNorm": f"num_groups num_channels eps= affine= {_LAST}",
    "LocalResponseNorm": "size alpha= beta= k=",
    "BatchNorm1d BatchNorm2d BatchNorm3d": f"num_features {_BATCH} {_LAST}",
    "InstanceNorm1d InstanceNorm2d InstanceNorm3d": f"num_features {_BATCH} {_LAST}",
    "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d": f"{_BATCH} {_LAST}",
    "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d": f"{_BATCH} {_LAST}",
    "SyncBatchNorm": f"num_features {_BATCH} process_group= {_LAST}",
}
# What torch.nn calls its norms, and the parameters of their constructors: `name=` has a default.
TORCHS: Final = {name: tuple(taken.split()) for names, taken in _TAKEN.items() for name in names.split()}
# They begin with what is searched for fast, so that what stands before it is looked at afterwards.
_OF_NN: Final = re.compile(r"nn\.(\w+)\(")
_FROM_NN: Final = re.compile(r"from torch\.nn(?:\.modules(?:\.\w+)?)? import ([^\n(]+|\([^)]*\))")
_CLASS: Final = re.compile(r"\nclass (\w+)")
_OWN_CLASS: Final = re.compile(r"([A-Za-z_]\w*)\(")
_MARK: Final = re.compile(r"[][(){},]")
_FEW: Final = 8  # names that are searched for one by one
_KEY: Final = re.compile(r"\s*(\w+)\s*=(?!=)")
_PARAMETER: Final = re.compile(r"\s*(\w+)")


class Making:
    """A call of a name that ends like a norm's.

    `passes`: the arguments mention an eps, or may hold one; `written`: it is a number, and the size is an attribute.
    """

    __slots__ = ("name", "passes", "start", "written")

    def __init__(self, name: str, start: int, inside: str) -> None:
        self.name, self.start = name, start
        self.passes = "eps" in inside or "*" in inside.lstrip()[:2] or "**" in inside
        self.written = _SIZE_OF.match(inside) is not None and _WRITTEN.search(inside) is not None


def may_make(text: str) -> bool:
    """Return whether the text may construct a norm with a doubtful eps, or use one in a way that a rule checks."""
    written = False
    for making in makings(text) if "eps" in text else ():
        if not making.passes:
            return True
        written = written or making.written
    marked = "Norm" in text and (bool(wired(text)) or _SPARED.search(text) is not None)
    return marked or (written and configured(text)) or any(of(text) for of in (idle, crossed, uneven, lost, unfit))


_SETS_EPS: Final = re.compile(
    r"\b(?:(\w+)(?:\[[^\]\n]*\])?\.(?:\w{0,40}norm\w{0,40}_|variance_)?eps(?:ilon)?(?:[ \t]*:[^=\n]{1,80})?\s*[-+*/]?="
    r"(?!=)|setattr\((?:\w+\.)*(\w+),[ \t]*[\"']\w*eps)")  # fmt: skip
_NO_NORMS: Final = re.compile(r"self|cls|args|o|opt\w*|cfg|conf\w*|\w*config|h?params|settings|\w*group", re.IGNORECASE)


def sets_eps(text: str) -> bool:
    """Return whether a text sets the eps of something that may be a norm, once it is made."""
    from normlint.text.pieces import COMMENT  # slow at each start

    bases = (found[1] or found[2] for found in _SETS_EPS.finditer(COMMENT.sub("", text)))
    return any(_NO_NORMS.fullmatch(base) is None for base in bases)


def configured(text: str) -> bool:
    """Return whether an attribute is passed as an eps."""
    return _CONFIGURED.search(text) is not None


@lru_cache(maxsize=2)
def wired(text: str) -> tuple[int, ...]:
    """Return the offsets at which a conditioning tensor is split, or a norm is used in a way that a rule checks."""
    return tuple(_wired(text))


def _wired(text: str) -> Iterator[int]:
    for match in _SPLIT.finditer(text):
        inside = text[match.end() : _closing(text, match.end())]
        if inside and "dim" not in inside and "axis" not in inside:
            yield match.start()
    yield from _summed(text)
    for pattern in (_TWICE, _HANDED, *([_MODULATED] if " * (1" in text else ())):
        yield from (match.start() for match in pattern.finditer(text))
    yield from _viewed(text)
    yield from _shared(text)
    yield from _fed(text)
    yield from (making.start for making in (makings(text) if any(word in text for word in _GROUPS) else ()))


@lru_cache(maxsize=2)
def idle(text: str) -> tuple[int, ...]:
    """Return the offsets at which a class sets an attribute to a norm, and doesn't read it."""
    return tuple(_idle(text))


def _idle(text: str) -> Iterator[int]:
    begin, end, known = 0, 0, set[str]()
    for match in _CALLED.finditer(text):
        start = match.start()
        own = _SET.search(text, max(text.rfind("\n", 0, start) + 1, start - _NEAR), start)
        if own is None:
            continue
        if start >= end:  # of the class
            begin, end, known = text.rfind("\nclass ", 0, start), text.find("\nclass ", start), set()
            end = len(text) if end < 0 else end
        if own[1] not in known and len(known) < _MOST_NORMS:
            known.add(own[1])
            if not _read_of(own[1]).search(text, max(begin, 0), end):
                yield start


@lru_cache(maxsize=512)
def _read_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"\.{name}\b(?!\.(?:weight|bias)\b|[ \t]*(?::[^=\n]{{1,80}})?=(?!=))")


@lru_cache(maxsize=2)
def lost(text: str) -> tuple[int, ...]:
    """Return the offsets of the constructors that may take a setting of norms, and not hand it on everywhere."""
    return tuple(_lost(text)) if "norm" in text else ()


def _lost(text: str) -> Iterator[int]:
    for match in (match for match in _STORED.finditer(text) if "norm" in match[1].lower()):
        begin, end = max(text.rfind("\nclass ", 0, match.start()), 0), text.find("\nclass ", match.end())
        own = re.compile(rf"\bself\.{match[1]}\b").findall(text, begin, end if end >= 0 else len(text))
        if len(own) == 1:
            yield match.start()
    flags: dict[str, int] = {}
    for match in _TAKES.finditer(text):
        end = _closing(text, match.end(), 4 * _FARTHEST)
        names = set(_SETTING.findall(text, match.end(), end))
        behind = _NEXT.search(text, end, end + _LONGEST) if names else None
        stop = behind.start() if behind is not None else end + _LONGEST
        if any(_reading(name).search(text, end, stop) is None for name in names):
            yield match.start()
        elif names and _FLAG.search(text, match.end(), end) is not None:
            flags = flags or Counter(_FLAG.findall(text))
            if any(flags.get(name, 0) > 1 for name in names):
                yield match.start()


@lru_cache(maxsize=2)
def unfit(text: str) -> tuple[int, ...]:
    """Return the offsets of calls of torch's norms, or of the text's classes, that may not take what they are given."""
    return tuple(_unfit(text)) if "orm" in text else ()


def _unfit(text: str) -> Iterator[int]:
    torchs = _torchs()
    for match in (match for match in _OF_NN.finditer(text) if "norm" in match[1].lower()):
        if match[1] not in torchs or not torchs[match[1]].fits(_parts(text, match.end())):
            yield match.start()
    imported = (name for found in _FROM_NN.findall(text) for name in re.findall(r"\w*Norm\w*", found))
    taken = {name: torchs[name] for name in imported if name in torchs}
    for match in (match for match in _CLASS.finditer(text) if "norm" in match[1].lower()):
        end = text.find("\nclass ", match.end())
        init = _TAKES.search(text, match.end(), end if end >= 0 else len(text))
        params = _parts(text, init.end()) if init is not None else None
        if params is not None:
            taken[match[1]] = _Taken(params)
    for match in _calls_of(text, taken):
        if not taken[match[1]].fits(_parts(text, match.end())):
            yield match.start()


class _Taken:
    """The parameters of a constructor, read from their text."""

    __slots__ = ("many", "named", "places", "required")

    def __init__(self, params: Sequence[str]) -> None:
        names = [word[1] if (word := _PARAMETER.match(part)) else "" for part in params]
        star = next((at for at, part in enumerate(params) if part.lstrip()[:1] == "*"), len(params))
        self.many = star < len(params) and params[star].strip() != "*"  # there is `*args`, or `**kwargs` alone
        self.named = None if any("**" in part for part in params) else frozenset(names)
        self.places = names[:star]
        self.required = [name for name, part in zip(names, params, strict=True) if name and "=" not in part]

    def fits(self, parts: Sequence[str] | None) -> bool:
        """Return whether the constructor takes these arguments, as far as their text tells."""
        if parts is None or any(part.lstrip()[:1] == "*" for part in parts):
            return True
        given = {key[1] for part in parts if (key := _KEY.match(part))}
        count = len(parts) - len(given)
        first = self.places[:count]
        lacking = (name for name in self.required if name not in given and name not in first)
        surplus = count > len(self.places) and not self.many
        unknown = self.named is not None and not given <= self.named
        return not (surplus or unknown or not given.isdisjoint(first) or any(lacking))


@lru_cache(maxsize=1)
def _torchs() -> dict[str, _Taken]:
    return {name: _Taken(params) for name, params in TORCHS.items()}


def _calls_of(text: str, names: Collection[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of calls of these names, each name by itself if they are few."""
    few = [re.compile(rf"({name})\(") for name in names]
    for pattern in few if len(few) < _FEW else [_OWN_CLASS]:
        for match in pattern.finditer(text):
            before = text[match.start() - 1 : match.start()]
            if match[1] in names and not before.isalnum() and before not in ("_", "."):
                yield match


def _parts(text: str, start: int) -> list[str] | None:
    """Return the arguments of a call, or the parameters of a function, from its bracket on; None if they are long."""
    depth, begin, found = 1, start, list[str]()
    for match in _MARK.finditer(text, start, start + _FARTHEST):
        mark = match[0]
        depth += (mark in "([{") - (mark in ")]}")
        if depth == (mark == ","):
            found.append(text[begin : match.start()])
            begin = match.end()
        if not depth:
            return [part for part in found if part.strip()]
    return None


def is_setting(name: str) -> bool:
    """Return whether a parameter's name says that it is a setting of norms."""
    return _SETTING.match(f"({name}=") is not None


@lru_cache(maxsize=512)
def _reading(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b(?! ?=[^=])")


@lru_cache(maxsize=2)
def crossed(text: str) -> tuple[int, ...]:
    """Return the offsets at which the names say that a norm of queries gets keys, or one of keys queries."""
    found = []
    for match in _CALLED.finditer(text):
        given = tag(match[2]) if match[2] else ""
        word = _WORD.search(text, max(match.start() - 40, 0), match.start())
        own = tag(f"{word[0] if word else ''}orm{match[1]}") if given else ""
        if own and own != given:
            found.append(match.start())
    return tuple(found)


@lru_cache(maxsize=2)
def uneven(text: str) -> tuple[int, ...]:
    """Return the offsets of the classes that call one of their norms more often than another, and have branches."""
    found: dict[int, dict[str, int]] = {}
    for match in _OWN_CALL.finditer(text) if _VARIANT.search(text) is not None else ():
        name = match[1]
        if "norm" in name or name[:2] == "ln":
            names = found.setdefault(text.rfind("\nclass ", 0, match.start()) + 1, {})
            names[name] = names.get(name, 0) + 1
    return tuple(at for at, names in found.items() if max(names.values()) > 1 + min(names.values()))


def tag(name: str) -> str:
    """Return "q" if a name belongs to queries, "k" if it belongs to keys; empty for any other name, or for both."""
    found = [word[0] for word in name.lower().split("_") if word in _TAGS]
    return found[0] if len(found) == 1 else ""


def other_tag(name: str) -> str:
    """Return the name that belongs to keys as this one does to queries, or the other way round; empty for others."""
    words = [_TAGS.get(word, word) for word in name.split("_")]
    return "_".join(words) if tag(name) and words != name.split("_") else ""


def _fed(text: str) -> Iterator[int]:
    """Yield the offsets at which a norm gets the output of a linear layer whose input size a norm was made for."""
    sizes = set(_MADE_FOR.findall(text))
    linears = [one for one in _LINEAR.finditer(text) if one[1] in sizes and one[1] != one[2]]
    owned = (_OWN.search(text, max(one.start() - 90, 0), one.start()) for one in linears)
    names = {own[1] for own in owned if own is not None}
    for match in _FED.finditer(text) if names else ():
        near = text[max(match.start() - _NEAR, 0) : match.start()]
        if match[1] in names or not names.isdisjoint(re.findall(rf"\b{match[2]} = self\.(\w+)\(", near)):
            yield match.start()


def _summed(text: str) -> Iterator[int]:
    """Yield the offsets at which something is added to a norm's output soon, and the input isn't held by a name."""
    for match in _NORMED.finditer(text):
        before = text[max(match.start() - _NEAR, 0) : match.start()].rpartition("def ")[2]
        if f"= {match[1]}\n" not in before and _SUM.search(text, match.end() - 1, match.end() + 3 * _NEAR):
            yield match.start()


def _shared(text: str) -> Iterator[int]:
    """Yield the offsets at which a function calls a norm of `self` again, or in a loop."""
    last: dict[str, int] = {}
    for match in _OWN_NORM.finditer(text):
        before, start = last.get(match[1], -1), max(text.rfind("\n    def ", 0, match.start()), 0)
        loop = text.rfind("\n        for ", start, match.start())
        if before >= start or (loop >= 0 and _OUTSIDE.search(text, loop + 1, match.start()) is None):
            yield match.start()
        last[match[1]] = match.start()


def _viewed(text: str) -> Iterator[int]:
    """Yield the offsets at which a norm gets a view whose last size no norm was made for."""
    sizes: set[str] | None = None
    for match in _APPLIED.finditer(text):
        views = _VIEWED.findall(text, max(match.start() - _NEAR, 0), match.start())
        if any(name == match[1] for name, _ in views):
            sizes = set(_SIZED.findall(text)) if sizes is None else sizes
            if any(name == match[1] and last not in sizes for name, last in views):
                yield match.start()
    for match in _VIEW_IN.finditer(text):
        sizes = set(_SIZED.findall(text)) if sizes is None else sizes
        if match[1] not in sizes:
            yield match.start()


def makings(text: str) -> Iterator[Making]:
    """Yield the calls of names that end like a feature norm's, in text order."""
    for match in _NAMED.finditer(text):
        before = _BEFORE.search(text, max(match.start() - 60, 0), match.end() - 1)
        if before is None or before[1] or before[2][:1] == "_" or any(other in before[2] for other in _OTHERS):
            continue
        inside = text[match.end() : _closing(text, match.end())]
        if inside.strip():
            yield Making(before[2], match.start(), inside)


def _closing(text: str, start: int, farthest: int = _FARTHEST) -> int:
    depth = 1
    for match in _BRACKET.finditer(text, start, start + farthest):
        depth += 1 if match.group() == "(" else -1
        if not depth:
            return match.start()
    return start
