"""A spirv-opt of seven passes for tests: each does what its name says, five of them what no optimiser may do."""

from __future__ import annotations

import sys
from pathlib import Path

#: What `--add-one` looks for: OpConstant with this word.
PLANTED = 0x00C0FFEE

_PROGRAM = """#!{python}
import os, signal, sys

HELP = '''Options (in lexicographical order):
  --add-one
               Adds one to a constant, which is wrong.
  --crash
               Ends by a signal.
  --hang
               Never ends.
  --invalidate
               Makes the memory model unknown.
  --keep
               Does nothing.
  --refuse
               Refuses the module.
  --strip-debug
               Does nothing, either.
  -O
               Is equivalent to:

\\t\\tkeep
\\t\\tadd-one
\\t\\tstrip-debug
  --print-all
               Prints.
  --set-spec-const-default-value "<spec id>:<default value> ..."
               Needs a value.
'''
flags = [f for f in sys.argv[1:] if f.startswith("-") and f not in ("-", "-o")]
if "--help" in flags:
    sys.exit(print(HELP))
if "--version" in flags:
    sys.exit(print("SPIRV-Tools v2099.1 fake"))
data = bytearray(sys.stdin.buffer.read())
words = memoryview(data).cast("I")
at, constants, model = 5, [], 0
while at < len(words):
    count, opcode = words[at] >> 16, words[at] & 0xffff
    if opcode == 43 and count == 4:
        constants.append(at + 3)
    if opcode == 14:
        model = at + 2
    at += count
for flag in flags:
    if flag in ("--add-one", "-O"):
        for place in constants:
            words[place] += words[place] == {planted}
    elif flag == "--crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif flag == "--invalidate":
        words[model] = 99
    elif flag == "--hang":
        while True:
            pass
    elif flag == "--refuse" and constants:
        sys.exit("error: not this one")
    elif flag == "--unknown":
        sys.exit("error: unknown flag")
sys.stdout.buffer.write(data)
"""


def write(folder: Path) -> Path:
    """Write the program into a folder under the name spirv-opt; returns its path."""
    path = folder / "spirv-opt"
    path.write_text(_PROGRAM.replace("{python}", sys.executable).replace("{planted}", str(PLANTED)))
    path.chmod(0o755)
    return path


#: A case whose vector holds the planted constant, beside instructions that do not matter.
CASE = f"""\
schema: 1
name: planted
dispatch: {{invocations: 32}}
buffers:
  src: {{type: int32, shape: [32, 4], data: {{iota: {{}}}}}}
  dst: {{type: int32, shape: [32, 4], data: {{fill: -5}}}}
program:
  - {{op: VectorLoad, id: x, type: {{component: int32, length: 4}}, buffer: src, offset: {{literal: 0, inv: 16}}}}
  - {{op: VectorConstant, id: c, type: {{component: int32, length: 4}}, value: {PLANTED}}}
  - {{op: VectorArithmetic, id: y, operation: IAdd, a: x, b: c}}
  - {{op: VectorArithmetic, id: z, operation: ISub, a: y, b: x}}
  - {{op: VectorStore, vector: z, buffer: dst, offset: {{literal: 0, inv: 16}}}}
"""
