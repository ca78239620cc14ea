"""`python -m normlint`."""

import sys

from normlint.faces.cli import main

if __name__ == "__main__":
    sys.exit(main())
