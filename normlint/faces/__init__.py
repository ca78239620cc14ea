"""Where people meet normlint: the command, flake8, and the formats of a report."""
