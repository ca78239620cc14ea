"""Run `normlint-server`, which speaks the Language Server Protocol on standard input and output."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Sequence
from typing import BinaryIO, Final

from normlint import __version__

_STACK: Final = 64 * 2**20  # bytes of stack per thread: some systems give far fewer than to the main thread
_MISSING: Final = "normlint-server needs pygls: pip install 'normlint[lsp]'\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one editor until it disconnects; return the exit status."""
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("pygls") is None:
        sys.stderr.write(_MISSING)
        return 2
    if options.version:  # only if the server can run: editors look for it with `--version`
        sys.stdout.write(f"normlint-server {__version__}\n")
        return 0
    logging.basicConfig(level=options.log_level.upper(), stream=sys.stderr)
    threading.stack_size(_STACK)
    from normlint.faces.server.features import server

    server.start_io(stdout=_redirect_stdout())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="normlint-server", description="normlint as a language server, on standard input and output."
    )
    parser.add_argument("--version", action="store_true", help="say which one would serve here, and exit")
    parser.add_argument("--stdio", action="store_true", help="as it is anyway; some editors ask for it")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="warning")
    return parser


def _redirect_stdout() -> BinaryIO:
    """Return stdout for the protocol alone; anything else printed to stdout goes to stderr."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return out


if __name__ == "__main__":
    sys.exit(main())
