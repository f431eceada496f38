"""The options of the driver's spec string."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from cts.case.stages import Stage
from cts.device.driver import IN_PROCESSES
from cts.device.driver_options import among, number, says, seconds
from cts.drivers.vulkan.worker.protocol import Hello, Open

#: Seconds that the dispatches of a run may take by default: cases take milliseconds, and a driver's own watchdog often
#: acts after some seconds.
DEFAULT_TIMEOUT = 10.0


class Options(msgspec.Struct, frozen=True):
    """What stands after `vulkan:`."""

    device: Annotated[
        str, says("index, UUID or part of the name of the device", bare=True, absent="best type of device")
    ] = ""
    worker: Annotated[str, says("the command that starts the worker", metavar="COMMAND", absent="this Python")] = ""
    icd: Annotated[
        str,
        says(
            "the file of a Vulkan driver where the worker is, such as one that .ci/asserting-mesa has built",
            metavar="FILE",
            absent="those that are installed",
        ),
    ] = ""
    timeout: (
        Annotated[
            float,
            seconds(
                "for all dispatches of a run together. Lavapipe compiles at the first dispatch and needs about 120",
                absent=f"{DEFAULT_TIMEOUT:g}",
            ),
        ]
        | None
    ) = None
    pipeline_timeout: Annotated[float, seconds("to create a pipeline")] = 60.0
    start_timeout: Annotated[float, seconds("for the worker's greeting, and again for opening the device")] = 60.0
    threads: (
        Annotated[
            int,
            number(
                "pipelines created at a time, in each worker",
                least=1,
                absent="up to 8; with several processes of a run, as many as there are processors for each, at least 2",
            ),
        ]
        | None
    ) = None
    workers: (
        Annotated[
            int,
            number(
                "processes on the device",
                least=1,
                absent="as many as its compiler needs; 1 in each process of a run or of pytest-xdist",
            ),
        ]
        | None
    ) = None
    memory: Annotated[
        Literal["auto", "host", "staged"],
        among(
            "where buffers lie",
            {
                "auto": "host-visible only where that is device-local and cached as well",
                "host": "host-visible",
                "staged": "device-local, copied in and out",
            },
        ),
    ] = "auto"
    offsets: Annotated[
        str,
        among(
            "where the offsets of buffers are; nothing else may differ",
            {
                "fixed": "in their descriptors",
                "dynamic": "given when these are bound, as far as maxDescriptorSetStorageBuffersDynamic and "
                "maxDescriptorSetUniformBuffersDynamic reach",
            },
        ),
    ] = "fixed"
    features: (
        Annotated[
            str,
            among(
                "what is enabled on the device",
                {
                    "all": "every feature that some module may need and the device lists, but robust accesses, so that "
                    "one logical device serves most modules",
                    "needed": "what a module needs alone",
                },
                absent="all; with validation needed",
            ),
        ]
        | None
    ) = None
    validation: Annotated[
        bool,
        says(
            "load the Khronos validation layer; a case that it rejects is an error and is not run, and its other "
            "messages become part of the verdict. `cts run --validation` and `pytest --cts-validation` add it"
        ),
    ] = False
    gpu_assisted: Annotated[
        bool,
        says(
            "load the layer for its checks on the device instead, such as of accesses outside a buffer: what a module "
            "does wrong when it runs is an error, and the message names invocation and instruction"
        ),
    ] = False
    judge: Annotated[
        Literal["memory", "pipeline"],
        among(
            "what a case passes by",
            {
                "memory": "what it leaves behind",
                "pipeline": "its pipeline, which is made and not run: for compilers without their devices",
            },
        ),
    ] = "memory"
    worker_memory: (
        Annotated[
            int,
            number(
                "GiB of address space of each local worker, on Linux: a compiler that takes more ends its case, not "
                "the machine",
                least=1,
                absent="none; 8 where pipelines are judged",
            ),
        ]
        | None
    ) = None
    subgroup_size: (
        Annotated[int, number("another size that the device supports", least=1, absent="the device's")] | None
    ) = None
    stage: Annotated[
        Stage,
        says(
            "run cases in shaders of this stage; `cts doctor` says which of them a device lists for cooperative "
            "vectors. Bundles and other exports stay compute shaders, and say so"
        ),
    ] = Stage.COMPUTE
    unlisted: Annotated[Literal["try", "refuse"], says("whether to run, marked, what the device does not list")] = (
        "refuse"
    )
    large_buffers: Annotated[
        bool,
        says(
            "also run cases whose buffers reach beyond 256 MiB, up to maxStorageBufferRange, maxBufferSize and "
            "maxMemoryAllocationSize; each takes gigabytes on the device, and with staged memory as much on the host"
        ),
    ] = False
    journal: Annotated[Path, says("folder of the journal and of culprits")] = Path("cts-run/vulkan")

    @property
    def limit(self) -> int:
        """GiB of address space of a worker; 0 for no limit."""
        return self.worker_memory or (8 if self.judge == "pipeline" else 0)

    @property
    def threads_of_worker(self) -> int:
        """Pipelines that a worker creates at a time.

        With 8 in each of 16 processes an H200's processors were idle for half of the time: NVIDIA's compiler waits for
        locks. With 2 it made half as many again, with 1 a fifth.
        """
        most, processes = os.cpu_count() or 1, int(os.environ.get(IN_PROCESSES, "1"))
        return self.threads or min(8, most if processes == 1 else max(2, most // processes))

    @property
    def processes(self) -> int | None:
        """Workers of the device, None for as many as suit it: where a run has several processes, each has one."""
        several = "PYTEST_XDIST_WORKER" in os.environ or IN_PROCESSES in os.environ
        return self.workers or (1 if several else None)

    @property
    def all_features(self) -> bool:
        """Whether all features that modules may need are enabled, as `features.widened` does."""
        return self.features != "needed" if self.features else not self.layered

    @property
    def layered(self) -> bool:
        """Whether the validation layer is loaded."""
        return self.validation or self.gpu_assisted

    @property
    def hello(self) -> Hello:
        """The first message to the worker: what its instance is made with."""
        return Hello(validation=self.layered, gpu_assisted=self.gpu_assisted, icd=self.icd)

    @property
    def open(self) -> Open:
        """The second message to the worker, without the device: what that is opened with."""
        return Open(device=0, threads=self.threads_of_worker, memory=self.memory)

    @property
    def tries(self) -> bool:
        """Whether what the device does not list is run."""
        return self.unlisted == "try"
