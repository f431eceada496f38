"""Smaller versions of a failing case: fewer instructions, then less of every number, type and byte of data.

Hypothesis shrinks the draws behind a generated case; what one draw ties together (a store and the
tile it made room for, say) it cannot take apart. Reducing the case itself can, and needs no draws.
Whether a smaller case is interesting, valid and fails alike, is for the caller to say.

`interface` says what a pass is, `passes` lists them, `reducer` runs them, `cost` says what is smaller,
`candidates` holds what passes share, and `record` is what is told of a reduction.
"""
