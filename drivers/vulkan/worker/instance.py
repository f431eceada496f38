"""The Vulkan instance: which devices there are, and everything that a device reports."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import cffi
import msgspec
import vulkan as vk

from .extensions import Chain
from .lists import FLEXIBLE_DIMENSIONS, MATRICES, MATRICES2, VECTORS, Selector
from .protocol import Description, DeviceSummary, DeviceType, Hello, MatrixRow, Property, VectorRow
from .queries import query_flexible_dimensions, query_matrices, query_matrices2, query_vectors, selectors
from .queue_families import COMPUTE
from .tables import FEATURES, PROPERTIES

API_VERSION = 1 << 22 | 3 << 12
_VALIDATION = "VK_LAYER_KHRONOS_validation"

#: Settings of the layer: it would be silent about what it has said ten times before.
_UNLIMITED = {"VK_LAYER_ENABLE_MESSAGE_LIMIT": "false", "VK_LAYER_DUPLICATE_MESSAGE_LIMIT": "0"}
#: Checks on the device, without those of the host: together they are slow, and the layer asks for one of the two.
_GPU_ASSISTED = {"VK_LAYER_GPUAV_ENABLE": "1", "VK_LAYER_VALIDATE_CORE": "0"}
_DEBUG_UTILS = "VK_EXT_debug_utils"

#: Lines of a driver that are kept for a thread: not every thread asks for them.
_REMARKS = 20

_TYPES: dict[int, DeviceType] = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}

#: Core property structures to report: name, sType.
_CORE_PROPERTIES = (
    ("VkPhysicalDeviceVulkan11Properties", 50),
    ("VkPhysicalDeviceVulkan12Properties", 52),
    ("VkPhysicalDeviceVulkan13Properties", 54),
)


class NoDevice(Exception):
    """The machine has no Vulkan loader, no driver, or not what was asked of them."""


class Instance:
    """One VkInstance with its devices, as `hello` asks for it. `messages` collects what the validation layer says.

    `announce` gets the name of each call that a driver may not survive, before the call is made.
    """

    def __init__(self, hello: Hello, *, announce: Callable[[str], None] = lambda call: None) -> None:
        self._announce = announce
        self._gpu_assisted = hello.gpu_assisted
        self.messages: list[str] = []
        #: Whether calls that the layer objects to end there, instead of going on to the driver.
        self.stops_rejected = False
        self._remarks = threading.local()
        if hello.icd:
            if not Path(hello.icd).exists():
                raise NoDevice(f"no file {hello.icd} of a Vulkan driver is there")
            os.environ["VK_DRIVER_FILES"] = hello.icd
        layers = [_VALIDATION] if hello.validation else []
        self._layer = ""
        if hello.validation:
            installed = {p.layerName: p.specVersion for p in vk.vkEnumerateInstanceLayerProperties()}
            if _VALIDATION not in installed:
                raise NoDevice(f"validation was asked for, but the layer {_VALIDATION} is not installed")
            os.environ.update(_UNLIMITED | _GPU_ASSISTED if hello.gpu_assisted else _UNLIMITED)
            self._layer = f"{_VALIDATION} {_version(installed[_VALIDATION])}"
        application = vk.VkApplicationInfo(pApplicationName="cts", apiVersion=API_VERSION)
        # Without the layer this is for messages of the driver itself about a module that it refuses.
        available = {p.extensionName for p in vk.vkEnumerateInstanceExtensionProperties(None)}
        extensions = [_DEBUG_UTILS] if hello.validation or _DEBUG_UTILS in available else []
        messenger = self._messenger() if extensions else None
        announce("vkCreateInstance")
        try:
            self.handle = vk.vkCreateInstance(
                vk.VkInstanceCreateInfo(
                    pNext=messenger,
                    pApplicationInfo=application,
                    ppEnabledLayerNames=layers,
                    ppEnabledExtensionNames=extensions,
                ),
                None,
            )
        except vk.VkError as e:
            raise NoDevice(f"vkCreateInstance: {type(e).__name__}: no usable Vulkan driver") from e
        if messenger is not None:
            vk.vkGetInstanceProcAddr(self.handle, "vkCreateDebugUtilsMessengerEXT")(self.handle, messenger, None)
        announce("vkEnumeratePhysicalDevices")
        try:
            self.physical = list(vk.vkEnumeratePhysicalDevices(self.handle))
        except vk.VkError as e:
            raise NoDevice(f"vkEnumeratePhysicalDevices: {type(e).__name__}") from e
        self.take_remarks()

    def _messenger(self) -> Any:
        severities = (
            vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT
        )
        types = vk.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | vk.VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT
        return vk.VkDebugUtilsMessengerCreateInfoEXT(
            messageSeverity=severities, messageType=types, pfnUserCallback=self._message
        )

    def _message(self, severity: int, types: int, data: Any, _user: Any) -> int:
        """Called in the thread that called Vulkan. Only the layer's messages are of type validation."""
        text = vk.ffi.string(data.pMessage).decode(errors="replace")
        if not types & vk.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT:
            self._remarks.__dict__.setdefault("lines", deque(maxlen=_REMARKS)).append(text)
            return 0
        kind = "error" if severity & vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT else "warning"
        if self._gpu_assisted and kind == "warning":
            # It warns of the features that it enables for itself.
            return 0
        self.messages.append(f"{kind}: {text}")
        return int(self.stops_rejected and kind == "error")

    def take_messages(self) -> tuple[str, ...]:
        """What the validation layer has said since the last call."""
        taken, self.messages[:] = tuple(self.messages), []
        return taken

    def take_remarks(self) -> tuple[str, ...]:
        """What the driver has said to this thread since the last call."""
        return tuple(self._remarks.__dict__.pop("lines", ()))

    def summaries(self) -> tuple[DeviceSummary, ...]:
        return tuple(self._summary(i) for i in range(len(self.physical)))

    def _summary(self, index: int) -> DeviceSummary:
        properties, structures = self._core_properties(index)
        unusable = ""
        if properties.apiVersion < API_VERSION:
            unusable = "supports Vulkan 1.2 at most; SPIR-V 1.6 needs 1.3"
        elif not any(flags & COMPUTE for flags, _ in self.queue_families(index)):
            unusable = "has no compute queue"
        driver = structures.get("VkPhysicalDeviceVulkan12Properties", {})
        uuid = structures.get("VkPhysicalDeviceVulkan11Properties", {}).get("deviceUUID", ())
        assert isinstance(uuid, tuple)
        return DeviceSummary(
            index=index,
            name=properties.deviceName,
            uuid=bytes(int(b) for b in uuid).hex(),
            type=_TYPES.get(properties.deviceType, "other"),
            api=_version(properties.apiVersion),
            driver=f"{driver.get('driverName', '')} {driver.get('driverInfo', '')}".strip(),
            unusable=unusable,
        )

    def queue_families(self, index: int) -> tuple[tuple[int, int], ...]:
        """The flags of each family of queues, and how many it has."""
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(self.physical[index])
        return tuple((int(f.queueFlags), int(f.queueCount)) for f in families)

    def extensions(self, index: int) -> frozenset[str]:
        self._announce("vkEnumerateDeviceExtensionProperties")
        listed = vk.vkEnumerateDeviceExtensionProperties(self.physical[index], None)
        return frozenset(e.extensionName for e in listed)

    def describe(self, index: int) -> Description:
        """Everything asked of a device (VK-001..VK-008, VK-020..VK-028, VK-051, VK-052)."""
        device, extensions = self.physical[index], self.extensions(index)
        chain = Chain(t for t in FEATURES[1:] if not t.extension or t.extension in extensions)
        features = vk.ffi.new("VkPhysicalDeviceFeatures2 *", {"sType": FEATURES[0].s_type, "pNext": chain.head})
        self._announce("vkGetPhysicalDeviceFeatures2")
        vk.lib.vkGetPhysicalDeviceFeatures2(device, features)
        supported = {name: bool(getattr(features.features, name)) for name in FEATURES[0].members}
        for _, members in chain.values():
            supported.update({name: bool(value) for name, value in members.items()})
        structures = self.core_properties(index)
        further = Chain(t for t in PROPERTIES if t.extension in extensions)
        self._announce("vkGetPhysicalDeviceProperties2")
        vk.lib.vkGetPhysicalDeviceProperties2(
            device,
            vk.ffi.new("VkPhysicalDeviceProperties2 *", {"sType": 1000059001, "pNext": further.head or vk.ffi.NULL}),
        )
        structures.update({table.name: dict(members) for table, members in further.values()})
        return Description(
            device=self._summary(index),
            extensions=tuple(sorted(extensions)),
            features=supported,
            properties=structures,
            matrices=tuple(self._matrices(device, extensions, supported, structures)),
            vectors=tuple(self._vectors(device, extensions)),
            processors=_processors(),
            layer=self._layer,
            queues=self.queue_families(index),
        )

    def core_properties(self, index: int) -> dict[str, dict[str, Property]]:
        """The structures of core properties of a device of Vulkan 1.3, by name, then by member."""
        properties, structures = self._core_properties(index)
        structures["VkPhysicalDeviceProperties"] = dict(_members(properties))
        structures["VkPhysicalDeviceLimits"] = dict(_members(properties.limits))
        return structures

    def selectors(self, index: int) -> list[Selector]:
        """All that may be asked of the query of VK_EXT_cooperative_matrix_maintenance1 (VK-028)."""
        description = self.describe(index)
        return [*_selectors(description.features, description.properties)]

    def _matrices(
        self,
        device: Any,
        extensions: frozenset[str],
        features: dict[str, bool],
        properties: dict[str, dict[str, Property]],
    ) -> Iterator[MatrixRow]:
        """Only what the device has is asked: the loader's entry points call through null pointers otherwise."""
        if "VK_KHR_cooperative_matrix" in extensions:
            self._announce(MATRICES.command)
            yield from query_matrices(self.handle, device)
        if "VK_NV_cooperative_matrix2" in extensions:
            self._announce(FLEXIBLE_DIMENSIONS.command)
            yield from query_flexible_dimensions(self.handle, device)
        if features.get("cooperativeMatrixProperties2"):
            self._announce(MATRICES2.command)
            for selector in _selectors(features, properties):
                yield from query_matrices2(self.handle, device, selector)

    def _vectors(self, device: Any, extensions: frozenset[str]) -> Iterator[VectorRow]:
        if "VK_NV_cooperative_vector" in extensions:
            self._announce(VECTORS.command)
            yield from query_vectors(self.handle, device)

    def _core_properties(self, index: int) -> tuple[Any, dict[str, dict[str, Property]]]:
        """VkPhysicalDeviceProperties, and the structures of Vulkan 1.1 to 1.3 where the device has them."""
        device = self.physical[index]
        self._announce("vkGetPhysicalDeviceProperties2")
        properties = vk.vkGetPhysicalDeviceProperties(device)
        if properties.apiVersion < API_VERSION:
            return properties, {}
        structures = [(name, vk.ffi.new(f"{name} *", {"sType": s_type})) for name, s_type in _CORE_PROPERTIES]
        for (_, structure), (_, following) in pairwise(structures):
            structure.pNext = following
        head = vk.ffi.new("VkPhysicalDeviceProperties2 *", {"sType": 1000059001, "pNext": structures[0][1]})
        vk.lib.vkGetPhysicalDeviceProperties2(device, head)
        return properties, {name: dict(_members(structure[0])) for name, structure in structures}


def _selectors(features: dict[str, bool], properties: dict[str, dict[str, Property]]) -> Iterator[Selector]:
    return selectors(*_subgroup_sizes(features, properties), _largest_workgroup(features, properties))


def _subgroup_sizes(features: dict[str, bool], properties: dict[str, dict[str, Property]]) -> tuple[int, int, int]:
    """The device's own, the smallest and the largest."""
    own = properties["VkPhysicalDeviceVulkan11Properties"]["subgroupSize"]
    v13 = properties["VkPhysicalDeviceVulkan13Properties"]
    smallest, largest = v13["minSubgroupSize"], v13["maxSubgroupSize"]
    assert isinstance(own, int) and isinstance(smallest, int) and isinstance(largest, int)
    return (own, smallest, largest) if features.get("subgroupSizeControl") else (own, own, own)


def _largest_workgroup(features: dict[str, bool], properties: dict[str, dict[str, Property]]) -> int:
    """The largest workgroup that can have a matrix of workgroup scope; 0 if no workgroup can."""
    matrix2 = properties.get("VkPhysicalDeviceCooperativeMatrix2PropertiesNV", {})
    largest = matrix2.get("cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", 0)
    assert isinstance(largest, int)
    return largest if features.get("cooperativeMatrixWorkgroupScope") else 0


def _processors() -> int:
    """How many processors this process may use, where the system says so; else how many there are."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _members(structure: Any) -> Iterator[tuple[str, Property]]:
    """Members of a structure that are numbers, arrays of numbers or text."""
    obj = getattr(structure, "obj", structure)
    for name, field in vk.ffi.typeof(obj).fields:
        if name in ("sType", "pNext"):
            continue
        value, kind = getattr(obj, name), field.type.kind
        if kind in ("primitive", "enum"):
            yield name, value
        elif kind == "array" and field.type.item.cname == "char":
            yield name, vk.ffi.string(value).decode(errors="replace")
        elif kind == "array":
            yield name, tuple(value)


def _version(number: int) -> str:
    return f"{number >> 22 & 0x7F}.{number >> 12 & 0x3FF}.{number & 0xFFF}"


def versions() -> str:
    """The versions of what the worker consists of."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"python {python}, cffi {cffi.__version__}, msgspec {msgspec.__version__}"
