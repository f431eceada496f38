"""The raw answers of a device to every query: numbers as Vulkan returned them, none of them judged.

Lists are asked for with arrays of several lengths, structures and lists twice. All memory that a query may fill is set
to a pattern first, so that a reader of the answers sees which bytes were written, and whether bytes behind the end were
written. The format is described in docs/device-queries.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import vulkan as vk

from .extensions import PATTERN, Chain
from .instance import Instance
from .lists import LISTS, Entry, List, Selector, entry
from .tables import FEATURES, OLDER, PARTS, PROPERTIES, Table

#: Changes with the format.
FORMAT = 1

#: Array elements behind those that a query may write.
BEHIND = 2

#: Told of each call before it is made, in words.
Announce = Callable[[str], None]


def answers(instance: Instance, index: int, announce: Announce) -> dict[str, Any]:
    """Everything, as plain data. The device is of Vulkan 1.3 or newer."""
    announce("vkEnumerateDeviceExtensionProperties")
    listed = vk.vkEnumerateDeviceExtensionProperties(instance.physical[index], None)
    extensions = {e.extensionName: int(e.specVersion) for e in listed}
    description = instance.describe(index)
    families = vk.vkGetPhysicalDeviceQueueFamilyProperties(instance.physical[index])
    return {
        "format": FORMAT,
        "pattern": PATTERN,
        "behind": BEHIND,
        "device": {k: getattr(description.device, k) for k in ("name", "uuid", "type", "api", "driver")},
        "extensions": dict(sorted(extensions.items())),
        "queues": [int(f.queueFlags) for f in families],
        "structures": [_structures(instance, index, set(extensions), announce) for _ in range(2)],
        "lists": [*_lists(instance, index, set(extensions), announce)],
    }


def _structures(instance: Instance, index: int, extensions: set[str], announce: Announce) -> dict[str, Any]:
    """Each structure of features and properties by name: its members, and whether it was kept as it was besides."""
    device = instance.physical[index]
    structures: dict[str, Any] = {}

    def there(tables: Sequence[Table], kind: str) -> list[Table]:
        return [t for t in tables if kind in t.name and (not t.extension or t.extension in extensions)]

    for tables in (there((*FEATURES[1:], *OLDER), "Features"), there(PARTS, "Features")):
        announce("vkGetPhysicalDeviceFeatures2")
        chain = Chain(tables, filled=True)
        head = vk.ffi.new("VkPhysicalDeviceFeatures2 *", {"sType": FEATURES[0].s_type, "pNext": chain.head})
        vk.lib.vkGetPhysicalDeviceFeatures2(device, head)
        core = head.features
        structures[FEATURES[0].name] = {
            "members": {n: int(getattr(core, n)) for n in FEATURES[0].members},
            "kept": True,
        }
        structures |= _members(chain)
    for tables in (there((*PROPERTIES, *OLDER), "Properties"), there(PARTS, "Properties")):
        announce("vkGetPhysicalDeviceProperties2")
        chain = Chain(tables, filled=True)
        head = vk.ffi.new("VkPhysicalDeviceProperties2 *", {"sType": 1000059001, "pNext": chain.head or vk.ffi.NULL})
        vk.lib.vkGetPhysicalDeviceProperties2(device, head)
        structures |= _members(chain)
    announce("vkGetPhysicalDeviceProperties2")
    for name, members in instance.core_properties(index).items():
        structures[name] = {"members": members, "kept": True}
    return structures


def _members(chain: Chain) -> Iterator[tuple[str, dict[str, Any]]]:
    for (table, members), kept in zip(chain.values(), chain.kept(), strict=True):
        yield table.name, {"members": members, "kept": kept}


def _lists(instance: Instance, index: int, extensions: set[str], announce: Announce) -> Iterator[dict[str, Any]]:
    description = instance.describe(index)
    for wanted in LISTS:
        if wanted.extension not in extensions or not description.features.get(wanted.feature, not wanted.feature):
            continue
        query = entry(instance.handle, instance.physical[index], wanted)
        infos = [*instance.selectors(index)] if wanted.info else [None]
        for info in infos:
            yield {
                "command": wanted.command,
                "info": info.members() if info is not None else {},
                "calls": [] if query is None else [*_calls(wanted, query, info, announce)],
            }


def _calls(wanted: List, call: Entry, info: Selector | None, announce: Announce) -> Iterator[dict[str, Any]]:
    """Calls without an array, and with arrays of no, one, all but one, all and more elements than there are."""
    yield (first := _call(wanted, call, info, None, announce))
    yield _call(wanted, call, info, None, announce)
    total = first["count"] if first["result"] == 0 else 0
    for length in (*sorted({0, min(1, total), max(0, total - 1), total, total + BEHIND}), total):
        yield _call(wanted, call, info, length, announce)


def _call(wanted: List, call: Entry, info: Selector | None, length: int | None, announce: Announce) -> dict[str, Any]:
    about = f" of {info}" if info is not None else ""
    announce(f"{wanted.command}{about} with {'no array' if length is None else f'an array of {length}'}")
    elements = None if length is None else wanted.elements(length + BEHIND, PATTERN)
    result, count = call(info, length or 0, elements)
    return {
        "length": length,
        "result": result,
        "count": count,
        "elements": [] if elements is None else [wanted.read(element) for element in elements],
    }
