"""Smaller versions of a failing case: fewer instructions, then less of every number, type and byte of data.

Hypothesis shrinks the draws behind a generated case; it cannot separate parts that depend on one draw
(a store and the tile it made room for, say). Reducing the case itself can, and needs no draws.
The caller decides whether a smaller case is interesting and valid, and whether it fails alike.

`interface` defines passes, `passes` lists them, `reducer` runs them, `cost` defines the size of a case,
`candidates` holds code that passes share, and `cts.judging.reduction_record` is the record of a reduction.
"""
