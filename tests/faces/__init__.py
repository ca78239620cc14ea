"""Tests of the command, the plugin, the server and the reports."""
