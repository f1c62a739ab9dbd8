"""Entry point of ``python -m fiberscope``, the command ``fiberscope``."""

from fiberscope.cli import main

main()
