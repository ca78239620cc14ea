"""Tests of norms as they are recognised."""
