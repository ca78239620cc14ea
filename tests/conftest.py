"""Fixtures for every test."""

import gc
import signal

from tests.browser import site
from tests.helpers import command, faked

__all__ = ["command", "faked", "site"]

gc.set_threshold(600_000, 50, 100)  # as the command does: the tests that read and fix take a fifth less time

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; what the tests start inherits it
    signal.signal(signal.SIGINT, signal.default_int_handler)
