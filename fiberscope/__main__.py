"""``python -m fiberscope`` is the command ``fiberscope``."""

from fiberscope.cli import main

main()
