"""Fixtures for every test."""

import signal

from tests.browser import site
from tests.helpers import command, faked

__all__ = ["command", "faked", "site"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; what the tests start inherits it
    signal.signal(signal.SIGINT, signal.default_int_handler)
