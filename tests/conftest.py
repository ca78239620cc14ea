"""Fixtures for every test."""

from tests.helpers import command, faked

__all__ = ["command", "faked"]
