"""What a program may reach of the modules it imports: names looked up in the real modules, so that no detour counts."""

from __future__ import annotations

import importlib
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import torch

# all public names of these, apart from the ones listed: they look names up in strings, or write code
_PUBLIC: Final[dict[str, frozenset[str]]] = {
    "__future__": frozenset(),
    "abc": frozenset(),
    "collections": frozenset(),
    "collections.abc": frozenset(),
    "contextlib": frozenset({"chdir"}),
    "copy": frozenset(),
    "dataclasses": frozenset({"make_dataclass"}),
    "einops": frozenset(),
    "einops.layers.torch": frozenset(),
    "enum": frozenset(),
    "functools": frozenset(),
    "itertools": frozenset(),
    "math": frozenset(),
    "numbers": frozenset(),
    "re": frozenset(),
    "operator": frozenset({"attrgetter", "methodcaller"}),
    "torch.amp": frozenset(),
    "torch.fft": frozenset(),
    "torch.linalg": frozenset(),
    "torch.nn": frozenset(),
    "torch.nn.functional": frozenset(),
    "torch.nn.init": frozenset(),
    "torch.nn.parameter": frozenset(),
    "torch.nn.utils": frozenset(),
    "torch.nn.utils.parametrizations": frozenset(),
    "torch.nn.utils.parametrize": frozenset(),
    "torch.distributions": frozenset(),
    "torch.nn.modules": frozenset(),
    "torch.nn.utils.rnn": frozenset(),
    "torch.masked": frozenset(),
    "torch.overrides": frozenset(),
    "torch.special": frozenset(),
    "typing": frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref"}),
    "typing_extensions": frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref"}),
}
_PUBLIC_BELOW: Final = ("torch.nn.modules.",)  # where the layers are defined
# _BatchNorm, _calculate_fan_in_and_fan_out
_PRIVATE_TOO: Final = ("torch.nn.modules.", "torch.nn.init")
_SOME: Final[dict[str, frozenset[str]]] = {
    name: frozenset(names.split())
    for name, names in {
        "numpy": "all allclose any arange argmin argsort array array_equal asarray ascontiguousarray bool_ "
        "broadcast_to clip concatenate cumsum dtype e expand_dims eye finfo float16 float32 float64 floating "
        "full generic iinfo inf int32 int64 integer isin isnan issubdtype linspace max mean median min nan "
        "ndarray newaxis number ones ones_like pad pi prod reshape round split squeeze stack std sum swapaxes "
        "tile transpose uint8 var where zeros zeros_like",
        "torch": "__version__ are_deterministic_algorithms_enabled autocast BFloat16Tensor BoolTensor device "
        "DoubleTensor dtype enable_grad finfo FloatTensor Generator get_autocast_cpu_dtype get_autocast_dtype "
        "get_autocast_gpu_dtype get_default_device get_default_dtype HalfTensor iinfo inference_mode "
        "IntTensor is_autocast_cpu_enabled is_autocast_enabled is_complex is_floating_point is_grad_enabled "
        "is_inference_mode_enabled is_storage is_tensor layout LongTensor memory_format no_grad "
        "set_grad_enabled Size sym_float sym_int sym_max sym_min sym_not sym_sqrt SymBool SymFloat SymInt "
        "Tensor typename vmap",
        "torch.autograd": "Function Variable grad enable_grad no_grad",
        "torch.autograd.function": "Function FunctionCtx once_differentiable",
        "torch.backends": "",
        "torch.backends.cuda": "is_built",
        "torch.backends.mps": "is_available is_built",
        "torch.compiler": "is_compiling is_dynamo_compiling is_exporting disable",
        "torch.cuda": "is_available device_count current_device get_device_capability is_bf16_supported",
        "torch.cuda.amp": "autocast custom_fwd custom_bwd",
        "torch.distributed": "is_available is_initialized get_world_size get_rank ReduceOp",
        "torch.jit": "is_scripting is_tracing Final ignore unused export",
        "torch.mps": "is_available",
        "torch.onnx": "is_in_onnx_export",
        "torch.types": "Number Device",
        "torch.utils": "",
        "torch.utils.checkpoint": "checkpoint",
        "torch.version": "cuda hip",
        "torch.xpu": "is_available",
        "types": "EllipsisType FunctionType GenericAlias MappingProxyType MethodType NoneType SimpleNamespace "
        "UnionType",
        "warnings": "warn catch_warnings simplefilter filterwarnings",
    }.items()
}
_NEVER: Final = frozenset({"from_file"})
_PLAIN: Final = (int, float, complex, str, bool, torch.dtype, torch.layout, torch.memory_format)


def _place(module: ModuleType) -> str:
    """The name it is imported by, "" for none: not what it calls itself."""
    return next((name for name in (module.__name__, *_PUBLIC, *_SOME) if sys.modules.get(name) is module), "")


def known(name: str) -> bool:
    """Whether a program may import the module of this name."""
    return name in _PUBLIC or name in _SOME or name.startswith(_PUBLIC_BELOW)


def imported(name: str) -> ModuleType | None:
    """The module; None if it isn't installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def member_allowed(module: ModuleType, name: str, value: Any) -> bool:
    """Whether a program may use what an allowed module calls `name`."""
    if isinstance(value, ModuleType):
        return known(_place(value))
    home = _place(module)
    if name in _SOME.get(home, ()):
        return True
    if name.startswith("_"):
        return isinstance(value, (type, FunctionType)) and home.startswith(_PRIVATE_TOO)
    if name in _NEVER or name.startswith("register_module_"):
        return False
    if home == "numpy":
        return type(value).__name__ == "ufunc"
    if home in _PUBLIC or home.startswith(_PUBLIC_BELOW):
        return name not in _PUBLIC.get(home, ())
    return home == "torch" and _is_operation(name, value)


def _is_operation(name: str, value: Any) -> bool:
    """Whether it is one of torch's operations on tensors, or a constant."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, BuiltinFunctionType):
        operations = torch._C._VariableFunctions  # noqa: SLF001
        return getattr(operations, name, None) is value or value.__module__ in {"torch._C._special", "torch._C._nn"}
    return isinstance(value, FunctionType) and value.__module__ == "torch.functional"
