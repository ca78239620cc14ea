"""What may run is let through, what reaches out of a norm is refused, and said."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from normlint.verify.guard import gate
from normlint.verify.guard.guarded import RefusedError, builtin_names

HEAD = "from __future__ import annotations\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

ALLOWED = {
    "operations, dtypes and constants of torch": "y = torch.rsqrt(torch.ones(2, dtype=torch.float32)) * torch.pi",
    "functions that torch writes in Python": "y = torch.einsum('i,i->', torch.ones(2), torch.ones(2))",
    "layers and parameters": "class Norm(nn.LayerNorm):\n    w = nn.Parameter(torch.ones(2))",
    "a name of torch as annotation": "def f(x: torch._C.Anything = None) -> torch.os: ...",
    "private layers": "y = isinstance(nn.Identity(), nn.modules.batchnorm._BatchNorm)",
    "modes": "with torch.no_grad(), torch.autocast('cpu', enabled=False):\n    pass",
    "questions to the machine": "y = torch.cuda.is_available() or torch.jit.is_scripting()",
    "an attribute by its name": "y = getattr(torch, 'float16') if hasattr(torch, 'float16') else None",
    "a computed attribute": "for name in ('ones', 'zeros'):\n    y = getattr(torch, name)(2)",
    "initialisers": "nn.init.ones_(torch.empty(2))",
    "the version": "y = torch.__version__ >= '2.0'",
    "names of classes": "class A:\n    def f(self):\n        return self.__class__.__name__ + type(self).__qualname__",
    "dunder methods": "class A(nn.Module):\n    def __getattr__(self, a):\n        return super().__getattr__(a)",
    "constants for the compiler": "class A(nn.Module):\n    __constants__ = ['eps']",
    "a variable called input": "def forward(input):\n    return input * 2",
    "a variable called like a module": "def forward(x):\n    b, F = x.shape\n    return [F for F in [F]] + [b]",
    "a library that is missing, with another way": "try:\n    import apex\nexcept ImportError:\n    apex = None",
    "own functions of autograd": "class G(torch.autograd.Function):\n    def forward(ctx, x):\n        return x",
    "standard helpers": "import math, dataclasses\n@dataclasses.dataclass\nclass C:\n    e: float = 1",
    "numpy's arithmetic": "try:\n    import numpy as np\n    y = np.sqrt(2)\nexcept ImportError:\n    pass",
    "a tensor's methods": "y = torch.ones(2).float().pow(2).mean(-1, keepdim=True).item()",
    "a warning": "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')",
}


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_norms_may_use(body: str) -> None:
    assert gate.refusal(HEAD + body) == ""
    exec(
        compile(HEAD + body, "program", "exec", dont_inherit=True),
        {"__builtins__": builtin_names(), "__name__": __name__},
    )


REFUSED = {
    "os through torch": ("torch.os.system('true')", "torch.os"),
    "os through a layer's module": ("F.torch.os.getcwd()", "F.torch.os"),
    "os through typing": ("import typing\ntyping.sys.modules", "typing.sys"),
    "os through a name of its own": ("from torch import os as o", "torch.os"),
    "a module as a value": ("t = torch", "it passes the module torch on"),
    "a module's module as a value": ("def f():\n    return nn.functional", "it passes the module nn.functional on"),
    "a module in a list, beside a variable of that name": ("def f(F): ...\ny = [F]", "it passes the module F on"),
    "a module where a comprehension has a variable of that name": (
        "def f():\n    return [F for F in ()], F",
        "it passes the module F on",
    ),
    "saved tensors": ("torch.load('a')", "torch.load"),
    "writing tensors": ("torch.save(torch.ones(1), 'a')", "torch.save"),
    "memory from files": ("from torch import from_file", "torch.from_file"),
    "the hub": ("torch.hub.load('a', 'b')", "torch.hub"),
    "registered operations": ("torch.ops.load_library('a.so')", "torch.ops"),
    "torch's inside": ("torch._C._cuda_init()", "torch._C"),
    "extensions": ("from torch.utils import cpp_extension", "torch.utils.cpp_extension"),
    "a default for everyone": ("torch.set_default_dtype(torch.float64)", "torch.set_default_dtype"),
    "hooks for everyone": (
        "from torch.nn.modules.module import register_module_forward_hook",
        "torch.nn.modules.module.register_module_forward_hook",
    ),
    "numpy's files": ("import numpy as np\nnp.load('a')", "np.load"),
    "a library of the system": ("import subprocess", "it imports subprocess"),
    "a library of the system, in a function": ("def f():\n    from os import system", "it imports os"),
    "the foreign function interface": ("import ctypes", "it imports ctypes"),
    "the verifier": ("import normlint.verify.bench.judge", "it imports normlint.verify.bench.judge"),
    "everything of a module": ("from math import *", "it imports everything from math"),
    "files": ("open('a', 'w')", "it uses open"),
    "text as code": ("eval('1')", "it uses eval"),
    "imports by name": ("__import__('os')", "it uses __import__"),
    "Python's own functions": ("__builtins__['open']", "it uses __builtins__"),
    "Python's own functions, replaced": ("__builtins__ = {}", "it uses __builtins__"),
    "globals of a function": ("def f(): ...\nf.__globals__", "it looks at __globals__"),
    "all subclasses": ("object.__subclasses__()", "it looks at __subclasses__"),
    "frames": ("y = (i for i in ())\ny.gi_frame", "it looks at gi_frame"),
    "frames in a pattern": ("match 1:\n    case object(f_globals=g): ...", "it looks at f_globals"),
    "an attribute by a name that is refused": ("getattr(torch, 'os')", ""),
    "code that looks names up": ("from operator import attrgetter", "operator.attrgetter"),
    "code that writes classes": ("type('A', (), {})", "it makes a class by type()"),
    "a replaced function": ("torch.rsqrt = torch.sqrt", "it changes torch.rsqrt"),
    "a replaced method": ("torch.Tensor.mean = None", "it changes torch.Tensor.mean"),
    "a replaced method of an imported class": (
        "from torch import Tensor\nTensor.mean = None",
        "it changes Tensor.mean",
    ),
    "a replaced function, by its name": ("setattr(torch, 'rsqrt', None)", "it changes torch"),
    "a removed function": ("del F.relu", "it changes F.relu"),
    "a module that is made anew": ("def f():\n    global torch\n    torch = 1", "it changes torch"),
    "a tensor in a file": ("torch.ones(1).numpy().tofile('a')", "it looks at tofile"),
    "no Python": ("def", "no valid Python: invalid syntax"),
    "a null byte": ("y = '\0'", "no valid Python: source code string cannot contain null bytes"),
    "nesting beyond measure": ("y = " + "(" * 5000 + ")" * 5000, ""),
}


@pytest.mark.parametrize(("body", "told"), REFUSED.values(), ids=REFUSED)
def test_refuses(body: str, told: str) -> None:
    refused = gate.refusal(HEAD + body)
    if told:
        assert refused == told
    elif not refused:  # what a name stands for is only known when the program runs
        with pytest.raises(RefusedError):
            exec(compile(HEAD + body, "program", "exec", dont_inherit=True), {"__builtins__": builtin_names()})


COMPUTED = {
    "a dunder": "getattr(len, '__self' + '__')",
    "a module in a module": "getattr(torch, 'o' + 's')",
    "a refused function": "getattr(torch, 'lo' + 'ad')",
    "a replaced function": "for m in (1,):\n    setattr(*[getattr(torch, 'Tensor'), '__ma' + 'tch__', 1])",
}


@pytest.mark.parametrize("body", COMPUTED.values(), ids=COMPUTED)
def test_refuses_by_computed_name(body: str) -> None:
    assert gate.refusal(HEAD + body) == ""
    with pytest.raises(RefusedError):
        exec(compile(HEAD + body, "program", "exec", dont_inherit=True), {"__builtins__": builtin_names()})


def test_a_library_that_is_not_let_in_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        exec("import apex", {"__builtins__": builtin_names()})
    assert caught.value.name == "apex"
