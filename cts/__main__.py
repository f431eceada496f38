"""`python -m cts` is `cts`."""

from cts.faces.cli import main

if __name__ == "__main__":  # processes that draw import it, too
    main()
