"""`python -m cts` is `cts`."""

from cts.cli import main

main()
