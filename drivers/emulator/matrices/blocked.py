"""Blocked, interleaved layouts: every invocation finds the block of its element, then the word, then the byte (AL-002).

A block is 16 words of 4 bytes. Word w of each block of a group comes before word w + 1 of any (AL-005, AM-58).
"""

from __future__ import annotations

from cts.drivers.emulator.matrices.registers import Matrix
from cts.drivers.emulator.matrices.state import Ints, Work
from cts.drivers.emulator.mutants import layouts as m

_WORD, _ROWS, _WORDS_OF_ROW = 4, 4, 4
_WORDS = _ROWS * _WORDS_OF_ROW


def blocked_bytes(
    work: Work, matrix: Matrix, stride: int, pointee: int, *, columns: bool, is_load: bool, bug: int
) -> Ints:
    """The bytes from the pointer to each work item's element, (n,): of `stride` interleaved blocks in rows or columns.

    `pointee` is the size of an element of the buffer, which only bugs ask for.
    """
    size = matrix.component.size
    if bug == m.BLOCKED_OF_HALVES:
        size = 2
    if bug == (m.BLOCKED_LOAD_BY_ROWS if is_load else m.BLOCKED_STORE_BY_ROWS):
        columns = False
    elif bug == m.BLOCKED_B_BY_COLUMNS and matrix.use.value == "B":
        columns = True
    if bug == m.BLOCKS_NOT_INTERLEAVED:
        stride = 1
    elif bug == m.BLOCKS_INTERLEAVED_BY_FOUR:
        stride = 4
    elif bug == m.BLOCKED_STRIDE_IN_ELEMENTS:
        stride = max(1, stride * pointee // matrix.component.size)
    of_row = max(1, _WORD * _WORDS_OF_ROW // size)
    block_row, row = divmod(work[:, 2], _ROWS)
    block_col, col = divmod(work[:, 3], of_row)
    if columns:
        block = block_col * (matrix.rows // _ROWS) + block_row
        if bug == m.BLOCKED_COLUMNS_OF_COLUMNS:
            block = block_col * (matrix.cols // of_row) + block_row
    else:
        block = block_row * -(-matrix.cols // of_row) + block_col
        if bug == m.BLOCKED_ROWS_OF_ROWS:
            block = block_row * (matrix.rows // _ROWS) + block_col
    in_row = col * size
    if bug == m.BLOCK_BY_COLUMNS and columns:
        # As if a block of 4 by 4 words lay in columns, too.
        row, in_row = in_row // _WORD, row * _WORD + in_row % _WORD
    word, byte = row * _WORDS_OF_ROW + in_row // _WORD, in_row % _WORD
    group, member = divmod(block, stride)
    if bug == m.INTERLEAVED_BACKWARDS:
        member = stride - 1 - member
    if bug == m.INTERLEAVED_BY_ROWS:
        # 16 bytes of each block in turn.
        by_rows: Ints = group * (stride * _WORDS * _WORD) + (row * stride + member) * 16 + in_row
        return by_rows
    if bug == m.INTERLEAVED_BY_BYTES:
        by_bytes: Ints = (group * _WORDS * stride + word * stride) * _WORD + byte * stride + member
        return by_bytes
    by_words: Ints = ((group * _WORDS + word) * stride + member) * _WORD + byte
    return by_words
