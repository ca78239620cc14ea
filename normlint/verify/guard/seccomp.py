"""A filter of system calls (Linux): no new process, no socket, no written or removed file, no signal to others.

A list of what is refused, not of what is allowed: torch goes on working, accidents stay inside. The numbers are those
of the kernel's tables (`asm/unistd_64.h`, `asm-generic/unistd.h`).
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from typing import Final

_EVERYWHERE: Final = (  # io_uring_setup, pidfd_send_signal, pidfd_open, clone3, openat2, pidfd_getfd
    (425, 424, 434, 435, 437, 438)
)
_X86: Final = (
    *(56, 57, 58, 59, 322),  # clone, fork, vfork, execve, execveat
    *(41, 53, 29, 64, 68, 240),  # socket, socketpair, shmget, semget, msgget, mq_open
    *(62, 200, 129, 297, 101, 310, 311),  # kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, ptrace, process_vm_*
    *(85, 76, 87, 263, 82, 264, 316, 83, 258, 84),  # creat, truncate, unlink*, rename*, mkdir*, rmdir
    *(86, 265, 88, 266, 133, 259),  # link*, symlink*, mknod*
    *(90, 91, 268, 452, 92, 93, 94, 260),  # chmod*, chown*
    *(132, 235, 280, 261, 188, 189, 190, 197, 198, 199),  # utime*, setxattr*, removexattr*
    *(160, 302, 272, 308, 165, 166, 155, 161, 169),  # setrlimit, prlimit64, namespaces, mounts, reboot
    *(321, 298, 323, 250, 248, 175, 313, 176, 246),  # bpf, perf, userfaultfd, keys, kernel modules
)
_ARM: Final = (
    *(220, 221, 281),  # clone, execve, execveat
    *(198, 199, 194, 190, 186, 180),  # socket, socketpair, shmget, semget, msgget, mq_open
    *(129, 130, 138, 240, 117, 270, 271),  # kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, ptrace, process_vm_*
    *(45, 35, 38, 276, 34),  # truncate, unlinkat, renameat*, mkdirat
    *(37, 36, 33),  # linkat, symlinkat, mknodat
    *(52, 53, 452, 54, 55),  # fchmod*, fchown*
    *(88, 5, 6, 7, 14, 15, 16),  # utimensat, setxattr*, removexattr*
    *(164, 261, 97, 268, 40, 39, 41, 51, 142),  # setrlimit, prlimit64, namespaces, mounts, reboot
    *(280, 241, 282, 219, 217, 105, 273, 106, 104),  # bpf, perf, userfaultfd, keys, kernel modules
)
# architecture: its audit number, what is refused, and of the calls that open a file: which argument holds the flags
_TABLES: Final = {
    "x86_64": (0xC000003E, (*_EVERYWHERE, *_X86), {2: 1, 257: 2}),
    "aarch64": (0xC00000B7, (*_EVERYWHERE, *_ARM), {56: 2}),
}
_X32: Final = 0x40000000  # the second table of x86_64, from there on
_WRITING: Final = 0o3 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000 | errno.EPERM
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def confine() -> bool:
    """Put this process under the filter, for good; whether the system allowed it."""
    table = _TABLES.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None
    if table is None:
        return False
    code = ctypes.create_string_buffer(_code(*table))
    program = _Program(len(code) // 8, ctypes.cast(code, ctypes.c_void_p))
    prctl = ctypes.CDLL(None).prctl
    if prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return not prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)


def _code(architecture: int, refused: tuple[int, ...], opening: dict[int, int]) -> bytes:
    """The filter in classic BPF; a jump counts the instructions it leaves out."""
    to_refuse = len(refused) + 4 * len(opening) + 1
    lines = [_line(_LOAD, _ARCH_AT), _line(_EQUAL, architecture, 0, to_refuse + 2), _line(_LOAD, _NUMBER_AT)]
    lines.append(_line(_AT_LEAST, _X32, to_refuse, 0))
    lines += [_line(_EQUAL, number, to_refuse - 1 - at, 0) for at, number in enumerate(refused)]
    for left, (number, argument) in enumerate(opening.items()):
        after = 4 * (len(opening) - left - 1)
        flags = _line(_LOAD, _ARGUMENTS_AT + 8 * argument)  # the low half: little-endian
        lines += [_line(_EQUAL, number, 0, 3), flags, _line(_ANY_BIT, _WRITING, after + 2, 0), _line(_RETURN, _ALLOW)]
    return b"".join([*lines, _line(_RETURN, _ALLOW), _line(_RETURN, _REFUSE)])


def _line(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
