"""`python3 -m` entry: the worker on standard input and output, or what its options ask for."""

import sys

from .command import start

if __name__ == "__main__":
    start(sys.argv[1:])
