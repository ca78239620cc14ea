"""Write what torch's public functions and methods take to normlint/evaluate/ops/signatures.txt.

    python scripts/torch_signatures.py           write it
    python scripts/torch_signatures.py --check   say where it differs from the installed torch

A line is a name and its overloads in the order in which torch tries them:

    Tensor.mean(*,dtype:dn=None)(dim:iIn,keepdim:b=False,*,dtype:dn=None)

The constructors of torch.nn's norms are listed by their whole path. A letter is a type that the parameter takes:
T tensor, t tensors, i int, I ints, f float, b bool, d dtype, s str, n None, o another; without a type it takes all.
`name=other` says that both take the same, and a line that begins with `*` lists public names that are no functions,
but `*shared` those of aten whose result may be the memory of an argument, `*nn` all of torch.nn, and `*Module` those of
an nn.Module.
"""

# ruff: noqa: SLF001  (torch tells its schemas under private names only)

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "normlint" / "evaluate" / "ops" / "signatures.txt"
# Private, but what compiled and exported graphs call.
INNER = ("_fused_rms_norm", "_log_softmax", "_reshape_alias", "_softmax", "_to_copy", "_unsafe_view")
DIMNAMES = re.compile(r"\bstr \| (EllipsisType|ellipsis)|\bEllipsisType\b|Dimname")
OUTDATED = [["self", word] for word in ("alpha", "beta", "value")]  # a number before the tensors
TYPES = {
    "Tensor": "T", "_int": "i", "SymInt": "i", "_float": "f", "_bool": "b", "Number": "ifb", "_size": "I", "None": "n",
    "_dtype": "d", "str": "s", "_complex": "",
}  # fmt: skip
SCHEMA_TYPES = {
    "Tensor": "T", "int": "i", "SymInt": "i", "float": "f", "bool": "b", "number": "ifb", "str": "s",
    "List[int]": "I", "List[SymInt]": "I", "List[Tensor]": "t", "List[Optional[Tensor]]": "t",
}  # fmt: skip


def spaces() -> dict[str, Any]:
    """What is public, by the name that the table gives it."""
    import torch

    functional, linalg, special = torch.nn.functional, torch.linalg, torch.special
    return {"Tensor": torch.Tensor, "torch": torch, "F": functional, "linalg": linalg, "special": special}


def functions(owner: Any) -> dict[str, Callable[..., Any]]:
    """Its public functions."""
    found = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {n: f for n, f in found.items() if callable(f) and not isinstance(f, type | types.ModuleType)}


# --- stubs -----------------------------------------------------------------------------------------------------------


def stubs() -> dict[str, dict[str, list[ast.FunctionDef]]]:
    """The overloads that torch's stubs list: of methods, of functions, and of those of torch.nn."""
    import torch

    folder = Path(torch.__file__).parent / "_C"
    trees = {
        name: ast.parse((folder / f"{name}.pyi").read_text()) for name in ("__init__", "_VariableFunctions", "_nn")
    }
    tensor = next(n for n in trees["__init__"].body if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
    bodies = {"Tensor": tensor.body, "torch": trees["_VariableFunctions"].body, "F": trees["_nn"].body}
    found: dict[str, dict[str, list[ast.FunctionDef]]] = {}
    for space, body in bodies.items():
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(space, {}).setdefault(node.name, []).append(node)
    return found


def of_stub(node: ast.FunctionDef, *, method: bool) -> str | None:
    """One overload; None for one that names axes by words."""
    given = node.args
    places = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(given.defaults)) + list(given.defaults)
    parts = [_typed(a, d) for a, d in zip(places, defaults, strict=True)][method:]
    if given.vararg:
        parts.append(f"*{_typed(given.vararg, None)}")
    if given.kwonlyargs:
        parts += ["*"] * (given.vararg is None)
        parts += [_typed(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return None if any("?" in part for part in parts) else f"({','.join(parts)})"


def _typed(arg: ast.arg, default: ast.expr | None) -> str:
    note = ast.unparse(arg.annotation) if arg.annotation else ""
    if DIMNAMES.search(note):
        return "?"
    shown = "" if default is None else f"={_default(ast.unparse(default))}"
    letters = _letters(note)
    return f"{arg.arg}{':' if letters else ''}{letters}{shown}"


def _letters(note: str) -> str:
    found = ""
    for part in _alternatives(note):
        inner = re.fullmatch(r"(?:Sequence|list|tuple|List|Tuple|Union|Optional)\[(.*)\]", part)
        if part in TYPES:
            found += TYPES[part]
        elif inner and part.startswith(("Union", "Optional")):
            found += "".join(map(_letters, inner[1].split(", "))) + ("n" if part.startswith("Optional") else "")
        elif inner:
            found += "t" if "Tensor" in inner[1] else "I" if "int" in inner[1].lower() else "o"
        elif part:
            found += "o"
    return "".join(dict.fromkeys(found))


def _alternatives(note: str) -> list[str]:
    """The parts of `A | B[C | D]`."""
    parts, depth = [""], 0
    for char in note:
        depth += (char == "[") - (char == "]")
        if char == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _default(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "..."
    return repr(value).replace(" ", "")


# --- schemas and Python's own functions ------------------------------------------------------------------------------


def of_schemas(name: str, *, first: str) -> list[str]:
    """The overloads of an aten operation; `first` is what Python calls its tensor."""
    import torch

    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    kept = (o for o in schemas if "Dimname" not in str(o) and not re.search(r"\bout\b|_out\b", o.overload_name))
    return list(dict.fromkeys(of_schema(o, first) for o in kept))


def _with_out(text: str) -> str:
    return f"{text[:-1]},{'' if '*,' in text else '*,'}out=None)"


def of_schema(schema: Any, first: str) -> str:
    """One overload of an aten operation."""
    parts: list[str] = []
    for arg in schema.arguments:
        if arg.kwarg_only and "*" not in parts:
            parts.append("*")
        shown = f"={_default(repr(arg.default_value))}" if arg.has_default_value() else ""
        name = first if arg.name == "self" else arg.name
        parts.append(f"{name}:{_schema_letters(arg)}{shown}")
    return f"({','.join(parts)})"


def _schema_letters(arg: Any) -> str:
    text = arg.type.annotation_str
    inner = re.fullmatch(r"Optional\[(.*)\]", text)
    if arg.name == "dtype":
        return "dn" if inner else "d"
    letters = SCHEMA_TYPES.get(inner[1] if inner else text, "o") + ("n" if inner else "")
    return letters + ("i" if "I" in letters and arg.N == 1 else "")


def of_python(function: Callable[..., Any], *, method: bool) -> str | None:
    """Of a function written in Python: names and defaults."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parts: list[str] = []
    for p in list(signature.parameters.values())[method:]:
        if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown = "" if p.default is p.empty else f"={_default(repr(p.default))}"
        parts.append(f"{star}{p.name}{shown}")
    return f"({','.join(parts)})"


# --- the table -------------------------------------------------------------------------------------------------------


def overloads(space: str, name: str, function: Callable[..., Any], listed: dict[str, Any]) -> str | None:
    """All that a public function may be given."""
    method = space == "Tensor"
    dispatched = functions(spaces()["F"]).get(f"{name}_with_indices") if space == "F" else None
    written = of_python(dispatched or function, method=method)
    if written is not None and (isinstance(function, types.FunctionType) or dispatched):
        return written
    nodes = listed.get(space, {}).get(name) or (listed["torch"].get(name, []) if space == "F" else [])
    if method:  # what is out of date is listed with the functions alone
        nodes = nodes + [n for n in listed["torch"].get(name, []) if [a.arg for a in n.args.args[:2]] in OUTDATED]
    if nodes:
        return "".join(filter(None, (of_stub(node, method=method) for node in nodes))) or None
    prefix = "" if space in ("F", "torch", "Tensor") else f"{space}_"
    found = [_with_out(text) for text in of_schemas(f"{prefix}{name}", first="input")]
    return "".join(found) or written


def rows() -> Iterator[tuple[str, str]]:
    """Name and overloads, or what else is public there."""
    listed = stubs()
    for space, owner in spaces().items():
        found = functions(owner)
        others = []
        for name, function in found.items():
            text = overloads(space, name, function, listed)
            if text is None:
                others.append(name)
            else:
                yield f"{space}.{name}", text
        others += [name for name in dir(owner) if not name.startswith("_") and name not in found]
        yield f"*{space}", " " + " ".join(sorted(others))


def module_rows() -> Iterator[tuple[str, str]]:
    """What the constructors of torch.nn's norms take, and what is public there and in their base."""
    import torch

    names = [name for name in dir(torch.nn) if not name.startswith("_")]
    for name in (name for name in names if "Norm" in name):
        yield f"torch.nn.{name}", str(of_python(getattr(torch.nn, name).__init__, method=True))
    yield "*nn", " " + " ".join(names)
    own = {*vars(torch.nn.Module()), *dir(torch.nn.Module)}
    yield "*Module", " " + " ".join(sorted(name for name in own if not name.startswith("_")))


def aten_rows(known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Operations of aten that Python knows only as torch.ops.aten."""
    import torch

    names = {s.name[6:] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    public = {key.rpartition(".")[2] for key in known}
    public |= {f"{space}_{name}" for space, _, name in (key.partition(".") for key in known)}
    for name in sorted(names):
        private = name.startswith("_") and name not in INNER
        if not private and "backward" not in name and not name.startswith("sym_") and name not in public:
            text = "".join(of_schemas(name, first="self"))
            if text and re.fullmatch(r"(\((self|input):T.*?\))+", text):
                yield f"aten.{name}", text


def shared() -> str:
    """Operations of aten whose schema says that the result may be the memory of an argument."""
    import torch

    schemas = (s for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::"))
    alike = {s.name[6:] for s in schemas if any(r.alias_info and not r.alias_info.is_write for r in s.returns)}
    return " " + " ".join(sorted(name for name in alike if not name.startswith("_")))


def shortened(found: dict[str, str]) -> Iterator[str]:
    """Each row; what takes the same as an earlier one only names it."""
    first: dict[str, str] = {}
    for key, text in sorted(found.items()):
        if key.startswith("*"):
            yield f"{key}{text}"
            continue
        same = first.setdefault(text, key)
        yield f"{key}={same}" if same != key and len(same) < len(text) else f"{key}{text}"


def table() -> str:
    """The whole file."""
    import torch

    found = dict(rows())
    found |= {**dict(aten_rows(found)), **dict(module_rows()), "*shared": shared()}
    version = torch.__version__.partition("+")[0]
    return "\n".join((f"# torch {version}", *shortened(found), ""))


def differences(old: str, new: str) -> Iterable[str]:
    """Lines that one of two tables lacks."""
    was, now = old.splitlines(), new.splitlines()
    return sorted({f"- {line}" for line in set(was) - set(now)} | {f"+ {line}" for line in set(now) - set(was)})


def main(arguments: list[str]) -> int:
    """Write or check."""
    new = table()
    if arguments == ["--check"]:
        found = list(differences(FILE.read_text(encoding="utf-8"), new))
        print("\n".join(found[:40]) or "the table agrees with torch")
        return bool(found)
    FILE.write_text(new, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
