"""Which queues of a device are used. Nothing here needs Vulkan: the driver reads it, too."""

from __future__ import annotations

from collections.abc import Sequence

from .protocol import Queues

#: VkQueueFlagBits.
GRAPHICS, COMPUTE = 1, 2


def families(listed: Sequence[tuple[int, int]], queues: Queues) -> tuple[int, ...]:
    """The family of each queue that is wanted, of those of a device by flags and number of queues.

    The first family with compute has the first, of those with graphics as well if there are any. Of two the second is
    of another such family, where there is one. Raises LookupError where there are too few.
    """
    compute = [i for i, (flags, count) in enumerate(listed) if flags & COMPUTE and count]
    compute.sort(key=lambda i: not listed[i][0] & GRAPHICS)
    if queues == "one":
        return (compute[0],)
    if len(compute) > 1:
        return compute[0], compute[1]
    if not compute or listed[compute[0]][1] < 2:
        raise LookupError("the device has one queue with compute")
    return compute[0], compute[0]
