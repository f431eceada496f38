"""The order in which diverged invocations run the blocks of a function.

Blocks are numbered by a weak topological order (Bourdoncle 1993): every loop, reducible or not, is a
contiguous range that starts at its head, and apart from jumps back to heads control only moves
forward. Running the lowest block that has invocations waiting makes diverged invocations meet again
at the first block that all of them reach; an invocation that is back at the head of a loop waits
until those still inside the loop have come back or left.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

Node = TypeVar("Node", bound=Hashable)


class Order(Struct, Generic[Node], frozen=True):
    """`blocks` in running order; `last[i]` is the last index of the loop whose head is i, or i.

    `cyclic` are the indices of blocks that lie in some loop.
    """

    blocks: tuple[Node, ...]
    last: tuple[int, ...]
    cyclic: frozenset[int]

    def next(self, waiting: Collection[int]) -> int:
        """Which of the blocks with waiting invocations runs next."""
        best = min(waiting)
        while True:
            inside = [i for i in waiting if best < i <= self.last[best]]
            if not inside:
                return best
            best = min(inside)


def order(entry: Node, successors: Mapping[Node, Sequence[Node]]) -> Order[Node]:
    """The running order of the blocks reachable from `entry`."""
    preorder = {node: number for number, node in enumerate(_preorder(entry, successors))}
    blocks: list[Node] = []
    last: dict[int, int] = {}
    cyclic: set[int] = set()

    def place(nodes: Iterable[Node]) -> None:
        inside = set(nodes)
        for component in _components(sorted(inside, key=preorder.__getitem__), inside, successors):
            head = min(component, key=preorder.__getitem__)
            start = len(blocks)
            blocks.append(head)
            is_loop = len(component) > 1 or head in successors[head]
            if len(component) > 1:
                place(node for node in component if node != head)
            last[start] = len(blocks) - 1
            if is_loop:
                cyclic.update(range(start, len(blocks)))

    place(preorder)
    return Order(tuple(blocks), tuple(last[i] for i in range(len(blocks))), frozenset(cyclic))


def _preorder(entry: Node, successors: Mapping[Node, Sequence[Node]]) -> list[Node]:
    visited: dict[Node, None] = {}
    stack = [entry]
    while stack:
        node = stack.pop()
        if node not in visited:
            visited[node] = None
            stack.extend(reversed(successors[node]))
    return list(visited)


def _components(
    roots: Iterable[Node], inside: set[Node], successors: Mapping[Node, Sequence[Node]]
) -> list[list[Node]]:
    """Strongly connected components of the subgraph `inside`, in topological order (Tarjan, iterative)."""
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    on_stack: set[Node] = set()
    stack: list[Node] = []
    components: list[list[Node]] = []
    for root in roots:
        if root in number:
            continue
        work = [(root, iter(successors[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for successor in rest:
                if successor not in inside:
                    continue
                if successor not in number:
                    number[successor] = low[successor] = len(number)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(successors[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], number[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == number[node]:
                    start = stack.index(node)
                    component = stack[start:]
                    del stack[start:]
                    on_stack.difference_update(component)
                    components.append(component)
    components.reverse()
    return components
