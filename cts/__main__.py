"""`python -m cts` is `cts`."""

from cts.faces.cli import main

main()
