"""`python -m normlint`."""

import sys

from normlint.faces.entry import command

if __name__ == "__main__":
    sys.exit(command())
