"""`python -m jigsaw` is `jigsaw`."""

import sys

from jigsaw.cli import main

sys.exit(main())
