"""Tests of texts, pages and notebooks."""
