"""`python3 -m` entry: the worker on standard input and output."""

from .main import main

if __name__ == "__main__":
    main()
