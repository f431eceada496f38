"""The worker's modules, loaded so that they speak to a Vulkan of Python functions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pytest

_MODULES = (
    "convert",
    "extensions",
    "queries",
    "queues",
    "device",
    "memory",
    "stages",
    "launch",
    "shaders.commands",
    "shaders.blocks",
    "shaders.graphics",
    "shaders.scene",
    "shaders.rays",
    "shaders",
    "caches",
    "executables",
    "making",
    "shader_objects",
    "pipeline",
    "descriptor_sets",
    "submission",
    "execute",
    "trials",
    "instance",
    "engine",
)


@contextmanager
def loaded(vulkan: ModuleType) -> Iterator[SimpleNamespace]:
    """Modules by name; what other tests have loaded is left alone."""
    package = "cts.drivers.vulkan.worker"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "vulkan", vulkan)
        for name in _MODULES:
            patch.delitem(sys.modules, f"{package}.{name}", raising=False)
        yield SimpleNamespace(**{name: importlib.import_module(f"{package}.{name}") for name in _MODULES})
        for name in _MODULES:
            sys.modules.pop(f"{package}.{name}", None)
