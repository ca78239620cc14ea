"""Find what a fix would break in code that uses the norm, in its own file and in the files that import it.

Only what changes for those who use a norm rightly counts: the change in place that they rely on, the gain that they
apply themselves, the fp32 that they multiply with, the attribute that a subclass has, the shape that a helper returns.
The same files may show that there is nothing to fix: they apply, read or fill what seems forgotten.
"""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Final

from normlint.norm.refilled import fills_norms
from normlint.text.elsewhere import Elsewhere, File
from normlint.text.finding import Edit, Finding
from normlint.text.pieces import COMMENT, pieces
from normlint.text.raw import BadSourceError, read_bytes
from normlint.text.syntax import parsed

_MOST_BYTES: Final = 64 * 2**20  # read of a package
_FRESH: Final = 10  # seconds for which what was read holds
_FP32: Final = re.compile(r"(?:\bfloat32\b|\.float\(\))")
_ROOT: Final = re.compile(r"\*\* *\(?(?:0?\.5|1 */ *2)\b|\bsqrt\((?![\d.]|[^()\n]{0,80}-)")  # of a length, such as √D
_ASSIGNED: Final = re.compile(r"\b(\w+)(?:[ \t]*:[^=\n]{1,80})?[ \t]*=[ \t]*(?:[\w.]+\(\[)?(?:\w+\.)*$")
_IMPORT: Final = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_ATTRIBUTE: Final = re.compile(r"\bself\.(\w+) = ")
_DEF: Final = re.compile(r"^([ \t]*)def \w+.*\n(?:(?:\1[ \t].*|[ \t]*#.*)?\n)*", re.MULTILINE)
_ASKED: Final = "(?:data|dtype|device|shape|numel|size)"  # of a gain, without a use of its values
_CONFIG: Final = re.compile(r"(?i)conf|cfg|args|opt|hparams|settings")  # what holds a setting, and no norm
_MATRICES: Final = re.compile(r"\.(?:dim\(\)|ndim) *>=? *[12]\b")  # which leave out gains
_TEST: Final = re.compile(r"/tests?/|/test_\w+\.py$|_test\.py$")
_HALF: Final = re.compile(r"\.half\b|float16")
_DOCSTRING: Final = re.compile(r'(?s)""".*?"""')
_MOST_FILES: Final = 100  # that are looked at for one finding
_OF_HELPERS: Final = ("NRM201", "NRM202")
_OF_FILLING: Final = ("NRM406", "NRM504")


def broken_by(path: str, text: str, code: str, owner: str, edits: Sequence[Edit], gains: Sequence[str]) -> str:
    """Return the name of a file whose code relies on what the edits of a fix change; "" if none is found.

    `owner`: the class or function with the norm. `gains`: its parameters that nothing applies.
    """
    path = path if os.path.isfile(path) else ""
    if path and (helper := _helper(text, edits, owner)):
        return next((os.path.basename(at) for at, _ in _importing(path, helper, itself=True)), "")
    added = [name for edit in edits for name in _ATTRIBUTE.findall(edit.text)]
    if code != "NRM203" and breaks(text, code, owner, added, gains if code == "NRM501" else ()):
        return os.path.basename(path) or "the same file"
    if code not in ("NRM104", "NRM203", "NRM501", "NRM502", "NRM505") and not added:
        return ""
    others = _importing(path, owner) if path else ()
    for at, other in others:
        if any(breaks(other, code, name, added, gains) for name in _names(other, owner)):
            return os.path.basename(at)
    return ""


def cleared_by(path: str, text: str, finding: Finding) -> str:
    """Return the name of a file of the package that makes a finding unfounded; "" if none does.

    It applies the gain that a class makes, reads the eps that the class stores, or fills its parameters. A helper's
    square is no fault where every call of it is given fp32.
    """
    if not os.path.isfile(path):
        return ""
    owner, _, name = finding.norm.rpartition(".")
    owner = owner.rpartition(".")[2] or name
    if finding.code in _OF_HELPERS:
        users = [(at, other) for at, other in _users(path, name) if not _TEST.search(at.replace(os.sep, "/"))]
        given = [found for _, other in users for found in _given(other, name)]
        fp32 = bool(given) and all(_FP32.search(one) and not _HALF.search(one) for one in given)
        return os.path.basename(users[0][0]) if fp32 else ""
    if finding.code == "NRM711":
        return _applied_by(path, owner, finding.rests_on[0])
    names = finding.rests_on or tuple(re.findall(r"\w+", text[slice(*finding.span)])[-1:])
    clears = partial(_clears, code=finding.code, owner=owner, names=names)
    return next((os.path.basename(at) for at, _ in _users(path, owner, clears)), "")


def _applied_by(path: str, owner: str, name: str) -> str:
    """Return the name of a file of the package that may apply a layer of the owner; "" if there is none.

    Some class in it has the attribute from elsewhere, or it speaks of the owner, or imports its file, and has such an
    attribute of anything.
    """
    importing = {at for at, _ in _importing(path, owner)}
    inherited = re.compile(rf"\bself\.{name}\b(?! *[:=](?!=))")
    held = re.compile(rf"(?:(?<!\bself)\.|[\"']){name}\b|\bgetattr\([^,\n]+, *(?![\"']\w+[\"'])|children\(")
    taken = re.compile(rf"(?<!\bself)\.{name}\(")
    top = _top(os.path.dirname(os.path.abspath(path)))
    for other in (*_package(top, _now()), *_scripts(os.path.dirname(top), _now())):
        if other.path == os.path.abspath(path) or (name.encode() not in other.data and other.path not in importing):
            continue
        text = COMMENT.sub("", other.text)
        known = other.path in importing or re.search(rf"\b{owner}\b", text) is not None
        own = re.compile(rf"\bself\.{name} *[:=](?!=)|[\"']{name}[\"']")  # set by a class there
        elsewhere = name != "norm" and taken.search(text) and not own.search(text)  # tensors have a method `norm`
        if elsewhere or (known and held.search(text)) or (inherited.search(text) and _inherits(text, inherited, own)):
            return os.path.basename(other.path)
    return ""


def _inherits(text: str, read: re.Pattern[str], own: re.Pattern[str]) -> bool:
    """Return whether a class, or a function outside of classes, reads an attribute of `self` that it doesn't set."""
    outside = text
    for body in (classes := _classes(text)):
        outside = outside.replace(body, "", 1)
    return any(read.search(one) and not own.search(one) for one in (*classes, outside))


def _users(path: str, name: str, chosen: Callable[[str], bool] = bool) -> Iterator[tuple[str, str]]:
    """Yield the chosen ones of the files that import this name from the file at `path`; only the first are asked."""
    several = ((at, other) for at, other in islice(_importing(path, name), _MOST_FILES) if chosen(other))
    return ((at, other) for at, other in several if _is_from(path, name, at, other))


def _given(text: str, name: str) -> list[str]:
    """Return the first argument of each call of a function that a text imports."""
    text = _DOCSTRING.sub("", COMMENT.sub("", text))
    names = "|".join(_names(text, name))
    return re.findall(rf"(?<!\bF\.)(?<!torch\.)(?<!functional\.)\b(?:{names})\(([^,()]*(?:\([^()]*\))?[^,()]*)", text)


def _clears(text: str, *, code: str, owner: str, names: Sequence[str]) -> bool:
    """Return whether a text fills, applies, reads or sets, as a rule asks for, one of an owner's attributes."""
    text = COMMENT.sub("", text)
    if code == "NRM509":
        from normlint.evaluate.attributes import is_only_read

        return not all(is_only_read(text, one) for one in names)
    if code in _OF_FILLING:
        known = (_names(text, owner), holders(text, owner))
        return any(_fills(found[0], *known, "|".join(names)) for found in _DEF.finditer(text))
    reads = _applied if code == "NRM505" else partial(_reads, held=code == "NRM304")
    return any(reads(text, owner, one) for one in names)


def _is_from(path: str, name: str, at: str, text: str) -> bool:
    """Return whether a name in another file's text, or the module of this name, is that of the file at `path`."""
    path, file, elsewhere = os.path.realpath(path), _file(text, at), _elsewhere(_now())
    stem = os.path.splitext(os.path.basename(path))[0]
    places = [place for one in _names(text, name) if (place := elsewhere.place(one, file)) is not None]
    there = places[0].file if places else elsewhere.module(stem, file)
    if there is not None:
        return os.path.realpath(there.path) == path
    return re.search(rf"^[ \t]*(?:from|import)[ \t]+(?:\w+\.)*{re.escape(stem)}\b", text, re.MULTILINE) is not None


def may_be_cleared(finding: Finding) -> bool:
    """Return whether the files that use the norm may show that a finding is not true."""
    helper = finding.code in _OF_HELPERS and "." not in finding.norm
    return helper or finding.code == "NRM304" or bool(finding.rests_on)


def _reads(text: str, owner: str, name: str, *, held: bool) -> bool:
    """Return whether a subclass of the owner reads its own attribute, or a text that of an instance.

    `held`: the text has to make the instance; else it may be any name, but for those of configurations.
    """
    own = re.compile(rf"\bself\.{name}\b(?! *[:=](?!=))")
    if any(map(own.search, _subclasses(text, *_names(text, owner)))):
        return True
    bases = re.findall(rf"(\w+)(?:\[\w+\])?\.{name}\b(?! *[:=](?!=))", text)
    known = holders(text, owner) if held else ()
    return any(base in known if held else base != "self" and not _CONFIG.search(base) for base in bases)


def _applied(text: str, owner: str, gain: str) -> bool:
    """Return whether a text multiplies with the gain of an owner's instance, or a subclass has a use for its own."""
    own = re.compile(rf"(?<!_\()\bself\.{gain}\b(?!\.{_ASKED}| *[:=](?!=)| is\b)")
    below = _subclasses(text, *_names(text, owner))
    return _applies(text, "|".join(holders(text, owner)), owner, gain) or any(map(own.search, below))


def _subclasses(text: str, *bases: str) -> list[str]:
    """Return the texts of the classes with one of these bases."""
    return [body for body in _classes(text) if re.match(rf"class \w+\([^)]*\b(?:{'|'.join(bases)})\b", body)]


def _fills(function: str, names: Sequence[str], held: Sequence[str], gains: str) -> bool:
    """Return whether a function, as text, may fill these gains of a class with one of these names."""
    told = re.search(rf"\b(?:{'|'.join(names)})\b|['\"][^'\"\n]*(?i:norm)|\bhasattr\(", function)
    taken = re.findall(r"\w+", function[function.find("(") : function.find(")")])
    these = "|".join({*taken, *held, *re.findall(r"\bfor (\w+)", function)} - {"self"})
    filled = re.search(rf"parameters\(|modules\(|\b(?:{these})\.(?:{gains})\b", function) is not None
    matrices = _MATRICES.search(function) is not None
    return filled and fills_norms(function, gains) and (told is not None or not ("isinstance(" in function or matrices))


def _names(text: str, name: str) -> list[str]:
    """Return the names under which a text calls a function that it imports."""
    return [name, *re.findall(rf"\b{name} as (\w+)", text)]


def _helper(text: str, edits: Sequence[Edit], owner: str) -> str:
    """Return the top-level function that an edit changes and that isn't the owner itself; "" if there is none."""
    changed = (p for p in pieces(text) if p.kind == "def" and any(p.span.holds(edit.span) for edit in edits))
    return next((name for p in changed for name in p.names if name != owner), "")


def breaks(text: str, code: str, owner: str, added: Sequence[str], gains: Sequence[str]) -> bool:
    """Return whether a text that uses the owner's norm relies on what a fix of this rule changes."""
    if code == "NRM502" and dropped(text, owner):
        return True
    text = COMMENT.sub("", text)
    names = "|".join(holders(text, owner))
    wide = rf"\b(?:{names})\([^()\n]*\)\s*[-@*+/]\s*[^,\n]*{_FP32.pattern}"
    if code == "NRM203" and re.search(wide, text):
        return True
    if code == "NRM104" and _scales(text, names):
        return True
    if code == "NRM501":
        return any(
            re.search(rf"\b(?:{names})(?:\[\w+\])?\.{gain} *=(?!=| *(?:\w+\.)*Parameter\()", text) for gain in gains
        )
    return any(_applies(text, names, owner, gain) for gain in gains) or any(_has_own(text, owner, one) for one in added)


def _scales(text: str, names: str) -> bool:
    """Return whether a text multiplies what a norm gives with a root such as √D, or fills the norm's gain with one."""
    roots = [m[1] for m in re.finditer(r"\b(\w+) *=(?!=)([^\n/]*)", text) if _ROOT.search(m[2])]
    root = rf"(?:[^\n,=+/]{{0,80}}(?:{_ROOT.pattern})" + (rf"|(?:\w+\.)*(?:{'|'.join(roots)})\b)" if roots else ")")
    called = rf"\b(?:{names})\([^()\n]*\)"
    filled = rf"\bconstant_\([^\n,]{{0,80}}\b(?:{names})\.\w+,[^\n]{{0,80}}(?:{_ROOT.pattern})"
    return re.search(rf"{called} *\* *{root}|{root}[^\n,=+/]{{0,80}}\* *(?:\w+\.)*{called}|{filled}", text) is not None


def _applies(text: str, names: str, owner: str, gain: str) -> bool:
    """Return whether a text multiplies with the gain of a norm that it holds, or a subclass with its own."""
    own = rf"\b(?:{names})(?:\[\w+\])?\.{gain}\b(?!\.{_ASKED})"
    factor = rf"[*@]\s*(?:\w+\.)*{own}|{own}(?:\.\w+\([^()]*\))?\s*[*@]|(?:mul_?|linear|einsum)\([^\n]*{own}"
    if re.search(factor, text):
        return True
    return any(re.search(rf"super\(\)\.forward\([^\n]*self\.{gain}\b", one) for one in _subclasses(text, owner))


def _classes(text: str) -> list[str]:
    return [text[slice(*p.span)] for p in pieces(text) if p.kind == "class"]


def holders(text: str, owner: str) -> list[str]:
    """Return the names under which a text holds instances of a class, and the class's own."""
    found = [owner]
    for call in re.finditer(rf"\b{owner}\(", text):
        before = text[max(text.rfind("\n", 0, call.start()) + 1, call.start() - 200) : call.start()]
        made = _ASSIGNED.search(before)
        found += [made[1]] if made else []
    return list(dict.fromkeys(found))


def dropped(text: str, owner: str) -> bool:
    """Return whether a norm is called for its effect on a tensor that is read afterwards."""
    if not re.search(rf"\b{owner}\(", text):
        return False
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    held: list[tuple[ast.AST, set[str]]] = [(tree, {*holders(text, owner)})]
    held += [(cls, {f"self.{name}" for name in holders(ast.unparse(cls), owner)}) for cls in classes]
    functions = ((f, names) for home, names in held for f in ast.walk(home) if isinstance(f, ast.FunctionDef))
    return any(_drops(function, names) for function, names in functions)


def _drops(function: ast.FunctionDef, names: set[str]) -> bool:
    """Return whether a function calls one of these in a statement of its own, and reads its argument later on."""
    read = [(n.id, (n.lineno, n.col_offset)) for n in ast.walk(function) if isinstance(n, ast.Name)]
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
    for stmt in (node for node in ast.walk(function) if isinstance(node, ast.Expr)):
        call, end = stmt.value, (stmt.end_lineno or stmt.lineno, stmt.end_col_offset or 0)
        if isinstance(call, ast.Call) and call.args and ast.unparse(call.func).partition("[")[0] in names:
            given = _names_in(call.args[0])
            over = [loop.iter for loop in loops if _names_in(loop.target) & given]
            given |= {n.id for one in over for n in ast.walk(one) if isinstance(n, ast.Name)}
            if any(name in given and place > end for name, place in read):
                return True
    return False


def _names_in(node: ast.AST) -> set[str]:
    """Return the names of the tensors that an expression is, or is a view of."""
    match node:
        case ast.Name(id=name):
            return {name} - {"self", "torch"}
        case ast.Tuple(elts=several) | ast.List(elts=several):
            return {name for one in several for name in _names_in(one)}
        case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
            return _names_in(inner)
    return set()


def _has_own(text: str, owner: str, name: str) -> bool:
    """Return whether a subclass of the owner sets or defines this attribute itself."""
    own = re.compile(rf"\bdef {name}\(|\bself\.{name} *[:=]|^(?:    |\t){name} *[:=]", re.MULTILINE)
    return any(map(own.search, _subclasses(text, owner)))


def _importing(path: str, name: str, *, itself: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the other files of the package, with their texts, that import the name, or its file and speak of it.

    `itself`: the name counts only where it is imported, or called as an attribute of its file.
    """
    folder, file = os.path.split(os.path.abspath(path))
    stem = os.path.basename(folder) if file == "__init__.py" else os.path.splitext(file)[0]
    word, here = re.compile(rf"\b{name}\b".encode()), os.path.join(folder, file)
    top = _top(folder)
    for one in _package(top, _now()):
        if name.encode() in one.data and one.path != here and word.search(one.data):
            found = _imports(one, name, stem, os.path.basename(top))
            if found and (not itself or found == name or re.search(rf"(?<!\bself)\.{name}\(", one.text)):
                yield one.path, one.text


class _Other:
    """Another file of the package; it is decoded, and its imports are found, once they are asked for."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.data = path, data

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @cached_property
    def imports(self) -> list[tuple[str, frozenset[str]]]:
        """Return each module that names are imported from, with the words of the import."""
        found = _IMPORT.findall(self.text)
        return [(module, frozenset(re.findall(r"\w+", COMMENT.sub("", names)))) for module, names in found]


def _imports(other: _Other, name: str, stem: str, package: str) -> str:
    """Return what a file imports of another one of the package: the name, or the file's stem; "" for neither."""
    found = ""
    for module, words in other.imports:
        near = module.startswith(".") or module.split(".")[0] == package or module.split(".")[-1] == stem
        if near and name in words:
            return name
        if near and (stem in words or module.split(".")[-1] == stem):
            found = stem
    return found or (stem if re.search(rf"^[ \t]*import [^\n]*\b{re.escape(stem)}\b", other.text, re.MULTILINE) else "")


def _top(folder: str) -> str:
    """Return the outermost folder of the package, or the folder itself where it is none."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        above = os.path.dirname(folder)
        if above == folder or not os.path.isfile(os.path.join(above, "__init__.py")):
            break
        folder = above
    return folder


def _now() -> int:
    return int(time.monotonic() / _FRESH)


@lru_cache(maxsize=1)
def _elsewhere(when: int) -> Elsewhere:  # noqa: ARG001 - reads again after a while
    return Elsewhere()


@lru_cache(maxsize=4096)
def _file(text: str, path: str) -> File:
    return File(text, path)


@lru_cache(maxsize=1)
def _scripts(folder: str, when: int) -> list[_Other]:  # noqa: ARG001 - reads again after a while
    """Return the Python files in a folder, without those below it, with their contents."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".py")][:_MOST_FILES]
    except OSError:
        return []
    return [one for name in names if (one := _other(os.path.join(folder, name))) is not None]


def _other(path: str) -> _Other | None:
    """Return a file with its contents; None if it can't be read."""
    try:
        return _Other(path, read_bytes(path))
    except (OSError, BadSourceError):
        return None


@lru_cache(maxsize=1)
def _package(folder: str, when: int) -> list[_Other]:  # noqa: ARG001 - reads again after a while
    """Return the Python files below a folder with their contents, up to a limit."""
    left = _MOST_BYTES
    found: list[_Other] = []
    package = os.path.isfile(os.path.join(folder, "__init__.py"))
    for at, folders, files in os.walk(folder):
        below = package or at == folder  # of a folder of scripts, which may be anybody's home, the nearest ones only
        folders[:] = [one for one in folders if below and not one.startswith(".")]
        for file in files:
            other = _other(os.path.join(at, file)) if file.endswith(".py") and left > 0 else None
            if other is not None:
                left -= len(other.data)
                found.append(other)
    return found
