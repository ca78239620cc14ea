"""Tables of the Python and torch names that interpreted code may use; everything else is refused.

Torch's tensor operations are those of `torch._C._VariableFunctions` and, for methods, those with an `aten` schema,
without the operations that access files, memory or global state.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import dataclasses
import functools
import operator
import os
import re
import sys
from collections import abc
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from normlint.evaluate.concrete.values import Function, Native, Silent, Space, Typing, Unknown, Unsupported
from normlint.evaluate.syntax import OPERATORS

# --- names of modules ------------------------------------------------------------------------------------------------

_SPACES: Final = frozenset(
    "torch torch.nn torch.nn.functional torch.nn.init torch.nn.parameter torch.nn.modules torch.nn.modules.module "
    "torch.nn.modules.normalization torch.nn.modules.utils torch.linalg torch.special torch.fft torch.autograd "
    "torch.autograd.function torch.cuda torch.cuda.amp torch.amp torch.utils torch.utils.checkpoint torch.jit "
    "torch.compiler torch._dynamo torch.onnx torch.distributed torch.version torch.backends torch.fx torch._C "
    "math numbers functools typing typing_extensions collections collections.abc abc operator copy warnings "
    "logging contextlib dataclasses einops einops.layers einops.layers.torch numpy __future__ types packaging "
    "packaging.version platform sys torch.cuda.nvtx torch.profiler".split()
)
PACKAGES: Final = frozenset(path.partition(".")[0] for path in _SPACES)
_DENIED: Final = "from_file frombuffer set_ resize_ resize_as_ resize_as_sparse_ record_stream backward".split()
_FUNCTIONS: Final = frozenset(
    "is_tensor get_default_dtype is_grad_enabled is_inference_mode_enabled is_autocast_enabled get_autocast_dtype "
    "get_autocast_gpu_dtype get_autocast_cpu_dtype is_autocast_cpu_enabled broadcast_shapes typename asarray "
    "from_numpy finfo iinfo device Size no_grad enable_grad inference_mode set_grad_enabled autocast dtype "
    "sym_max sym_min".split()
)
# Decorators that don't change what is computed.
_UNCHANGING: Final = frozenset(
    "torch.compile torch.jit.script torch.jit.script_method torch.jit.ignore torch.jit.export torch.jit.unused "
    "torch.jit.script_if_tracing torch.compiler.disable torch.compiler.allow_in_graph torch._dynamo.disable "
    "torch._dynamo.allow_in_graph torch.fx.wrap typing.overload typing.final typing.runtime_checkable "
    "typing.no_type_check typing_extensions.override typing.override torch.jit.interface".split()
)
_TRACED: Final = re.compile(
    r"is_\w*(?:scripting|tracing|compiling|export(?:ing)?)\Z"
)  # asks what torch does with the code
_NO_OPS: Final = (
    *(f"warnings.{name}" for name in "warn simplefilter filterwarnings".split()),
    *(f"torch.cuda.nvtx.{name}" for name in "range_push range_pop".split()),
    *(f"logging.{level}" for level in "debug info warning error critical exception log".split()),
)
_LOGGERS: Final = ("get_logger", "getLogger", "init_logger")
# Decorators of other packages that don't change what is computed.
_UNCHANGING_ELSEWHERE: Final = frozenset(
    "use_kernel_forward_from_hub use_kernel_func_from_hub use_kernelized_func auto_docstring deprecate_kwarg "
    "add_start_docstrings add_start_docstrings_to_model_forward jaxtyped beartype typechecked".split()
)
_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "torch.autograd": frozenset(["Function"]),
    "torch.autograd.function": frozenset(["Function", "FunctionCtx", "once_differentiable"]),
    "torch.cuda": frozenset(["is_available", "is_bf16_supported", "device_count"]),
    "torch.cuda.amp": frozenset(["autocast", "custom_fwd", "custom_bwd"]),
    "torch.amp": frozenset(["autocast", "custom_fwd", "custom_bwd", "is_autocast_available"]),
    "torch.utils.checkpoint": frozenset(["checkpoint"]),
    "torch.distributed": frozenset(["is_available", "is_initialized"]),
    "torch.version": frozenset(["cuda", "hip"]),
    "torch.nn.parameter": frozenset(["Parameter"]),
    "torch.nn.modules.module": frozenset(["Module"]),
    "torch.nn.modules.utils": frozenset(["_pair", "_single", "_triple"]),
    "functools": frozenset(["partial", "reduce", "cached_property", "lru_cache", "cache"]),
    "collections": frozenset(["OrderedDict"]),
    "collections.abc": frozenset(["Callable", "Iterable", "Sequence", "Mapping", "Iterator", "Sized", "Collection"]),
    "abc": frozenset(["ABC", "abstractmethod"]),
    "numbers": frozenset(["Number", "Integral", "Real"]),
    "copy": frozenset(["copy", "deepcopy"]),
    "contextlib": frozenset(["nullcontext", "suppress"]),
    "dataclasses": frozenset(["field"]),
    "operator": frozenset(["add", "sub", "mul", "truediv", "neg", "eq", "lt", "gt", "is_", "not_"]),
    "einops": frozenset(["rearrange", "reduce", "repeat", "einsum", "pack", "unpack"]),
    "einops.layers.torch": frozenset(["Rearrange", "Reduce"]),
    "packaging.version": frozenset(["parse", "Version"]),
    "platform": frozenset(["system", "machine"]),
    "sys": frozenset(["platform", "version_info"]),
    "numpy": frozenset(["prod", "sqrt", "log", "log2", "exp", "pi", "inf", "e", "abs", "float32", "float64", "ceil"]),
}
_IMPORT: Final = "import of "
_TYPING: Final = ("typing", "typing_extensions", "types", "__future__")
_TYPES_MADE: Final = ("NamedTuple", "TypedDict", "Enum", "SimpleNamespace")
_STANDS_FOR: Final = {"Dict": dict, "List": list, "Tuple": tuple, "Set": set, "FrozenSet": frozenset}
_TYPES_TOO: Final = frozenset(["Callable", "Iterable", "Sequence", "Mapping", "Iterator"])


def imported(path: str) -> Any:
    """Return what an import of a dotted path binds; an `Unknown` if the path isn't in the tables."""
    if is_module(path):
        return Space(path)
    owner, _, name = path.rpartition(".")
    if is_module(owner):
        return member(Space(owner), name, importing=True)
    return _stand_in(path, name) or Unknown(f"{_IMPORT}{path}")


def is_elsewhere(what: str) -> bool:
    """Return whether an `Unknown` came from a package of which the tables hold nothing, so that it can't set torch."""
    return what.startswith(_IMPORT) and what.removeprefix(_IMPORT).partition(".")[0] not in PACKAGES


def is_same(path: str) -> bool:
    """Return whether a path names another package's decorator that doesn't change what is computed."""
    return path.rpartition(".")[2] in _UNCHANGING_ELSEWHERE


def changes_nothing(value: Any) -> bool:
    """Return whether a value is a decorator, perhaps with options, that doesn't change what is computed."""
    return isinstance(value, Native) and (value.path in _UNCHANGING or is_same(value.path))


def is_backend(value: Any) -> bool:
    """Return whether a value is one of torch's backends."""
    return isinstance(value, Space) and value.path.startswith("torch.backends.")


def is_module(path: str) -> bool:
    """Return whether a path names a module of the table, or one of torch's backends, whose settings may be read."""
    return path in _SPACES or (path.startswith("torch.backends.") and _is_backend(path.rpartition(".")[2]))


@cache
def _is_backend(name: str) -> bool:
    found = find_spec("torch")
    return found is not None and os.path.isdir(os.path.join(os.path.dirname(found.origin or ""), "backends", name))


def is_installed(path: str) -> bool:
    """Return whether the package of an absolute path is installed, without importing it."""
    try:
        return find_spec(path.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


@cache
def _module(path: str) -> Any:
    try:
        return import_module(path)
    except ImportError as error:
        raise Unsupported(f"{path}, which is not installed") from error


def has(space: Space, name: str) -> bool:
    """Return whether the real module has the name."""
    if name.startswith("_"):
        raise Unsupported(f"{space.path}.{name}")
    return is_module(f"{space.path}.{name}") or hasattr(_module(space.path), name)


@cache
def member(space: Space, name: str, *, importing: bool = False) -> Any:
    """Return a member of a module of the table, such as `torch.nn` or `math.sqrt`; refuse what isn't in the table."""
    path = f"{space.path}.{name}"
    if is_module(path):
        return Space(path)
    made = _stand_in(path, name)
    if made is not None:
        return made
    if space.path in _TYPING and name not in _TYPES_MADE:
        return _of_typing(name)
    named = _MEMBERS.get(space.path)
    if name not in named if named is not None else name.startswith("_"):  # without reading the attribute
        return Unknown(path) if importing else _refuse(path)
    module = _module(space.path)
    if not hasattr(module, name):
        raise (ImportError if importing else AttributeError)(f"module {space.path!r} has no attribute {name!r}")
    found = getattr(module, name)
    if not _is_allowed(space.path, name, found):
        return Unknown(path) if importing else _refuse(path)
    return found if isinstance(found, type) or not callable(found) else Native(path, found)


def _refuse(path: str) -> Any:
    raise Unsupported(path)


def _stand_in(path: str, name: str) -> Any:
    """Return a stand-in for a function that has side effects or inspects its arguments; None for any other path."""
    if path in _UNCHANGING or name in _UNCHANGING_ELSEWHERE:
        return _identity_decorator(path)
    if path.startswith("torch.") and _TRACED.match(name):
        return _constant(path, False)
    if path in _ANSWERS:
        return _constant(path, _ANSWERS[path])
    if name in _LOGGERS:
        return _constant(path, Silent())
    if path == "dataclasses.dataclass":
        return Native(path, _dataclass)
    if path == "torch.__version__":
        return str(_module("torch").__version__)
    if path.startswith("operator.") and name in ("add", "mul"):
        return Native(path, functools.partial(_operator, OPERATORS[name]))
    return None


def _constant(path: str, value: Any) -> Native:
    return Native(path, lambda *_, **__: value)


UNCHANGED: Final = Native("a decorator", lambda value: value)
# Functions that always return the same value.
_ANSWERS: Final = {**dict.fromkeys(_NO_OPS), "functools.wraps": UNCHANGED}
_ANSWERS.update(dict.fromkeys(("torch.cuda.nvtx.range", "torch.profiler.record_function"), contextlib.nullcontext()))


def _identity_decorator(path: str) -> Native:
    """Return a decorator, with or without options, that returns the decorated function."""

    def same(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Function | type | Native):
            return args[0]
        return UNCHANGED

    return Native(path, same)


def _dataclass(kind: type | None = None, /, **options: Any) -> Any:
    """Apply `dataclasses.dataclass`; raise `Unsupported` for InitVar and KW_ONLY."""
    if kind is None:
        return Native("dataclasses.dataclass", functools.partial(_dataclass, **options))
    kept = {n: str(text) for n, text in vars(kind).get("__annotations__", {}).items() if "ClassVar" not in str(text)}
    options.pop("slots", None)  # without them an instance holds the same
    if any("InitVar" in text or "KW_ONLY" in text for text in kept.values()):
        raise Unsupported("this dataclass")
    kind.__annotations__ = dict.fromkeys(kept, object)  # of strings it would ask the module, which isn't imported
    return dataclasses.dataclass(**options)(kind)


def _operator(op: str, left: Any, right: Any) -> Any:
    from normlint.evaluate.concrete.expressions import binary

    return binary(op, left, right)


def _of_typing(name: str) -> Any:
    if name == "TYPE_CHECKING":
        return False
    if name == "cast":
        return Native("typing.cast", lambda _, value: value)
    if name in ("TypeVar", "ParamSpec", "NewType", "TypeVarTuple"):
        return _constant(f"typing.{name}", Typing())
    return getattr(abc, name) if name in _TYPES_TOO else Typing(_STANDS_FOR.get(name))


def _is_allowed(space: str, name: str, found: Any) -> bool:
    """Return whether a member of a module may be used."""
    if space in _MEMBERS:
        return True
    if space.startswith("torch.backends.") or space == "logging":
        return isinstance(found, int)
    if space == "torch":
        return name not in _DENIED and _is_torch(name, found)
    is_class, where = isinstance(found, type), getattr(found, "__module__", "")
    if space in ("torch.nn", "torch.nn.modules", "torch.nn.modules.normalization"):
        return is_class and (issubclass(found, _module("torch.nn").Module) or name in ("Parameter", "Buffer"))
    if space == "torch.nn.functional":
        return callable(found) and not is_class and where in ("torch", "torch.nn.functional", "torch._C._nn")
    if space == "torch.nn.init":
        return callable(found) and where == space
    if space in ("torch.linalg", "torch.special", "torch.fft"):
        return type(found).__name__ == "builtin_function_or_method"
    return space == "math" and name not in ("factorial", "comb", "perm")


def _is_torch(name: str, found: Any) -> bool:
    torch = _module("torch")
    if isinstance(found, torch.dtype | torch.layout | torch.memory_format | float) or name == "newaxis":
        return True
    if name in ("Tensor", "FloatTensor", "HalfTensor", "BFloat16Tensor", "DoubleTensor", "LongTensor", "IntTensor"):
        return True
    derived = hasattr(torch._C._VariableFunctions, name) or name in torch.functional.__all__  # noqa: SLF001
    return derived or name in _FUNCTIONS


# --- Python's own names ----------------------------------------------------------------------------------------------

_BUILTINS: Final = frozenset(
    "abs all any bool callable classmethod dict divmod enumerate filter float frozenset int issubclass iter len "
    "list map max min next object property range reversed round set slice sorted staticmethod sum super tuple zip "
    "str chr ord NotImplemented Ellipsis".split()
)


@cache
def builtin(name: str) -> Any:
    """Return a built-in; raise `Unsupported` if it isn't in the table and NameError if there is none of that name."""
    from normlint.evaluate.concrete.calls import OWN

    if name in OWN:
        return Native(name, OWN[name])
    found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, Exception):
        return found
    if name in _BUILTINS:
        return found if isinstance(found, type) or not callable(found) else Native(name, found)
    if hasattr(builtins, name):
        raise Unsupported(f"{name}()")
    raise NameError(f"name {name!r} is not defined", name=name)


# --- types -----------------------------------------------------------------------------------------------------------


def _torch() -> Any:
    return sys.modules.get("torch")


@cache
def _types(torch: Any) -> frozenset[type]:
    plain: set[type] = {t for t in vars(builtins).values() if isinstance(t, type) and issubclass(t, Exception)}
    plain |= {getattr(builtins, name) for name in _BUILTINS if isinstance(getattr(builtins, name), type)}
    plain |= {type(None), functools.partial, functools.cached_property, collections.OrderedDict}
    plain |= {contextlib.nullcontext, contextlib.suppress}
    if torch is None:
        return frozenset(plain)
    own = {torch.Tensor, torch.Size, torch.device, torch.finfo, torch.iinfo, torch.dtype, torch.nn.Parameter}
    own |= {torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled, torch.autocast}
    own |= {torch.amp.autocast, torch.cuda.amp.autocast, torch.nn.Buffer}
    own |= {t for t in vars(torch.nn).values() if isinstance(t, type) and issubclass(t, torch.nn.Module)}
    return frozenset(plain | own)


def types() -> frozenset[type]:
    """Return the classes that may be called and returned by `type()`."""
    return _types(_torch())


def is_base(kind: type) -> bool:
    """Return whether an interpreted class may derive from a class."""
    if kind in (object, Exception) or kind.__module__ == "abc" or (kind in types() and issubclass(kind, Exception)):
        return True
    torch = _torch()
    return torch is not None and (
        (issubclass(kind, torch.nn.Module) and kind in types()) or kind is torch.autograd.Function
    )


def is_torch(value: Any, names: str) -> bool:
    """Return whether a value is an instance of one of these torch classes, without importing torch."""
    torch = _torch()
    return torch is not None and isinstance(value, _named(torch, names))


@cache
def _named(torch: Any, names: str) -> tuple[type, ...]:
    return tuple(operator.attrgetter(name)(torch) for name in names.split())


def is_context(value: Any) -> bool:
    """Return whether a value is a context manager that may be used."""
    own = isinstance(value, contextlib.nullcontext | contextlib.suppress)
    return own or is_torch(value, "no_grad enable_grad inference_mode set_grad_enabled autocast")


def defining(lineage: tuple[type, ...], name: str) -> type | None:
    """Return the first class of a lineage that defines a name; None if none does."""
    return next((kind for kind in lineage if name in vars(kind)), None)


TABLES: Final = ("_parameters", "_buffers", "_modules")  # in which nn.Module keeps what it owns


def module_internals() -> frozenset[str]:
    """Return the names of the attributes in which nn.Module keeps its own state."""
    return _internals(_torch())


@cache
def _internals(torch: Any) -> frozenset[str]:
    return frozenset() if torch is None else frozenset(vars(torch.nn.Module())) - {"training"}


# --- attributes of torch's objects -----------------------------------------------------------------------------------

_OF_TENSOR: Final = frozenset(
    "shape dtype device ndim T mT H mH data grad requires_grad is_leaf is_cuda is_cpu is_meta is_mps is_xpu "
    "is_sparse is_quantized is_nested is_mkldnn layout itemsize nbytes names nelement ndimension tolist type float "
    "half bfloat16 double int long short bool byte char new_tensor unique cfloat cdouble".split()
)
_OF_MODULE: Final = frozenset(
    "training parameters named_parameters buffers named_buffers state_dict load_state_dict children "
    "named_children modules named_modules register_parameter register_buffer register_module add_module train "
    "eval to float half bfloat16 double cuda cpu type requires_grad_ apply zero_grad forward extra_repr "
    "get_parameter get_buffer get_submodule reset_parameters append extend insert keys values items pop update "
    "__init__ __call__ __len__ __getitem__ __contains__ _get_name".split()
)
_OF_FUNCTION: Final = ("apply", "forward", "backward")
CONTEXT: Final = "autograd.function.FunctionCtx"
_OTHERS: Final = {
    CONTEXT: "save_for_backward saved_tensors saved_variables needs_input_grad mark_non_differentiable mark_dirty "
    "set_materialize_grads",
    "Size": "count index numel",
    "dtype": "is_floating_point is_complex itemsize is_signed",
    "device": "type index",
    "finfo iinfo": "min max eps tiny smallest_normal resolution bits dtype",
}


def _is_method(name: str) -> bool:
    return _has_schema(_torch(), name)


@cache
def _has_schema(torch: Any, name: str) -> bool:
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    if name in _DENIED or name.startswith("_") or torch is None or not hasattr(torch.Tensor, name):
        return False
    schemas = torch._C._jit_get_schemas_for_operator  # noqa: SLF001
    return bool(schemas(f"aten::{name}") or schemas(f"aten::{base}"))


def trust(kind: type) -> None:
    """Let programs call objects of a class, such as the caller's configuration, and read their public attributes."""
    _TRUSTED.add(kind)


_TRUSTED: Final[set[type]] = set()


def is_trusted(value: Any) -> bool:
    """Return whether a value is of a class that the caller trusts."""
    return type(value) in _TRUSTED


def may_read(value: Any, name: str) -> bool:
    """Return whether an attribute of a torch or trusted object may be read."""
    if is_trusted(value):
        return not name.startswith("_")
    if _torch() is None:
        return False
    if is_torch(value, "Tensor"):
        return name in _OF_TENSOR or _is_method(name) or name in vars(value)
    if is_torch(value, "nn.Module"):
        return _module_may(value, name)
    for kinds, words in _OTHERS.items():
        if is_torch(value, kinds):
            return name in words.split() or name in getattr(value, "__dict__", ())
    return isinstance(value, collections.OrderedDict) or (_is_result(value) and not name.startswith("_"))


def _is_result(value: Any) -> bool:
    return isinstance(value, tuple) and type(value).__module__ == "torch.return_types"


def _module_may(value: Any, name: str) -> bool:
    """Return whether an attribute of a module may be read: an allowed method, or state of one of torch's modules."""
    owner = defining(type(value).__mro__, name)
    if name in _OF_MODULE and (owner is None or owner.__module__ != "interpreted"):
        return True
    torch_own = type(value).__module__ != "interpreted" or name in _settings(type(value))
    held = vars(value)
    kept = name in held or any(name in held.get(table, ()) for table in TABLES)
    return torch_own and kept and not name.startswith("_")


def _settings(kind: type) -> frozenset[str]:
    return frozenset(name for base in kind.__mro__ for name in vars(base).get("__constants__", ()))


def class_may(owner: type, name: str) -> bool:
    """Return whether an attribute of a torch or Python class may be read."""
    torch = _torch()
    if name == "__init__" and (owner is object or issubclass(owner, Exception)):
        return True
    if torch is None:
        return False
    if issubclass(owner, torch.nn.Module):
        return name in _OF_MODULE
    if issubclass(owner, torch.Tensor) or owner is torch._C.TensorBase:  # noqa: SLF001
        return name in _OF_TENSOR or _is_method(name)
    return owner.__module__ == "torch.autograd.function" and name in _OF_FUNCTION


def may_write(value: Any, name: str) -> bool:
    """Return whether an attribute of a torch object may be assigned."""
    plain = is_torch(value, "Tensor") and name in ("data", "grad", "requires_grad")
    return plain or (is_torch(value, f"Tensor {CONTEXT}") and not hasattr(type(value), name))
