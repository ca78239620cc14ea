"""Fixtures for every test."""

from tests.browser import site
from tests.helpers import command, faked

__all__ = ["command", "faked", "site"]
