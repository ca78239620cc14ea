"""Provide the interfaces of normlint: the command, the flake8 plugin, the language server and the output formats."""
