"""Tests of what surrounds the code."""
