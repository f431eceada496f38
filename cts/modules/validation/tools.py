"""Tools that accept or reject modules: spirv-val of the suite or of any path, and drivers with a validation layer.

A tool runs in processes of its own: what no valid module does may crash it.
"""

from __future__ import annotations

import enum
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

import msgspec

from cts.base.child_process import crash
from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import ModuleJudge, Status
from cts.device.driver_options import parse, says, seconds
from cts.device.job import ModuleJob
from cts.plugins import registry
from cts.plugins.commands import split
from cts.spirv.assembly import Words
from cts.spirv.module import ModuleBuilder
from cts.spirv.subprocess_tools import TARGET, packaged_program, program

#: Seconds that a tool may take for a module, after which it counts as hung: tools take milliseconds.
PATIENCE = 30.0


class Options(msgspec.Struct, frozen=True):
    """What stands after `spirv-val:`."""

    command: (
        Annotated[str, says("the program, or a command that runs it", metavar="COMMAND", absent="the installed one")]
        | None
    ) = None
    target: Annotated[str, says("its --target-env", metavar="NAME")] = TARGET
    timeout: Annotated[float, seconds("for a module")] = PATIENCE


class GlslangOptions(msgspec.Struct, frozen=True):
    """What stands after `glslang:`."""

    command: Annotated[str, says("a command that runs it, such as `chroot ROOT glslang`", metavar="COMMAND")] = (
        "glslang"
    )


class Kind(enum.Enum):
    """How a tool answered."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CRASH = "crash"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    ERROR = "error"


@dataclass(frozen=True)
class Answer:
    """What a tool said of a module; `text` is its message, or what happened."""

    kind: Kind
    text: str = ""


class Tool(Protocol):
    """What rules are tried on. `label` says name and version in one line."""

    label: str
    #: Whether it sees the device and the pipeline, too.
    knows_device: bool

    def unknown(self, capability: str) -> str:
        """Why it can judge no module with a capability: it is older than that. "" where it can."""
        ...

    def ask(self, words: Words, job: ModuleJob) -> Answer:
        """The tool's answer on a module.

        `job` is the job of the valid twin: its buffers and what it needs of a device.
        """
        ...

    def close(self) -> None: ...


class SpirvVal:
    """A spirv-val, one process a module."""

    knows_device = False

    def __init__(self, command: list[str], target: str = TARGET, timeout: float = PATIENCE) -> None:
        """Raises HarnessTrouble where the command does not run, or does not know the target."""
        self._command, self._target, self._timeout = command, target, timeout
        self._unknown: dict[str, str] = {}
        self.label = f"spirv-val {self._version()}"

    def _version(self) -> str:
        done = self._run(["--target-env", self._target, "--version"], b"")
        if isinstance(done, Answer) or done.returncode:
            output = done.text if isinstance(done, Answer) else _output_text(done)
            what = f"`{shlex.join(self._command)} --target-env {self._target} --version` fails: {output}"
            raise HarnessTrouble("validator", what, remedy="spirv-val:command=PATH that runs here, a target it knows")
        match = re.search(r"v(\d+\.\d+\S*)", done.stdout.decode(errors="replace"))
        return match[1] if match else "of unknown version"

    def unknown(self, capability: str) -> str:
        """The tool's message on a module that declares the capability and does nothing; "" if the tool knows the
        capability.

        A tool that accepts no such module at all is not too old, but wrong.
        """
        if capability not in self._unknown:
            plain, answer = self.ask(_declaring("Shader")), self.ask(_declaring(capability))
            knows = plain.kind is not Kind.ACCEPTED or answer.kind is not Kind.REJECTED
            self._unknown[capability] = "" if knows else answer.text
        return self._unknown[capability]

    def ask(self, words: Words, job: ModuleJob | None = None) -> Answer:
        """The tool's answer on a module, whatever the module needs of a device."""
        done = self._run(["--target-env", self._target, "-"], words.tobytes())
        if isinstance(done, Answer):
            return done
        if how := crash(done.returncode) or _shell_crash(done.returncode):
            return Answer(Kind.CRASH, f"{how} {_output_text(done)}".strip())
        if done.returncode == 0:
            return Answer(Kind.ACCEPTED)
        return Answer(Kind.REJECTED, _output_text(done) or f"code {done.returncode}")

    def close(self) -> None:
        """Nothing is held."""

    def _run(self, arguments: list[str], data: bytes) -> subprocess.CompletedProcess[bytes] | Answer:
        command = [*self._command, *arguments]
        try:
            return subprocess.run(command, input=data, capture_output=True, check=False, timeout=self._timeout)  # noqa: S603
        except subprocess.TimeoutExpired:
            return Answer(Kind.TIMEOUT, f"no answer within {self._timeout:g} s")
        except OSError as e:
            raise HarnessTrouble("validator", f"cannot run {command[0]}: {e.strerror}", remedy="another path") from e


class Glslang:
    """A compiler of shaders; `compiled` returns for each one whether it is accepted, a message, an exit status."""

    def __init__(self, label: str, compiled: Callable[[Sequence[str]], Iterable[tuple[bool, str, int]]]) -> None:
        self.label = label
        self._compiled = compiled

    def ask(self, shaders: Sequence[str]) -> Iterator[Answer]:
        """The compiler's answer on each shader, in order."""
        for accepted, message, status in self._compiled(shaders):
            if accepted:
                yield Answer(Kind.ACCEPTED)
            elif how := crash(status) or _shell_crash(status):
                yield Answer(Kind.CRASH, f"{how} {message}".strip())
            else:
                yield Answer(Kind.REJECTED, message)


def _shell_crash(code: int) -> str:
    """The signal that ended a process, from the exit status of a shell or chroot: 128 more than the signal's number."""
    return f"signal {code - 128}" if 129 <= code <= 159 else ""


def _output_text(done: subprocess.CompletedProcess[bytes]) -> str:
    return (done.stdout + done.stderr).decode(errors="replace").strip()


def _declaring(capability: str) -> Words:
    """A module that declares a capability, and does nothing."""
    b = ModuleBuilder()
    b.capability("Shader", "VulkanMemoryModel", capability)
    b.op("OpMemoryModel", "Logical", "Vulkan")
    void = b.op("OpTypeVoid")
    kind = b.op("OpTypeFunction", void)
    main = b.op("OpFunction", void, "None", kind)
    b.op("OpEntryPoint", "GLCompute", main, "main")
    b.op("OpExecutionMode", main, "LocalSize", 1, 1, 1)
    for name in ("OpLabel", "OpReturn", "OpFunctionEnd"):
        b.op(name)
    return b.words()


class OfDriver:
    """A driver's validation layer."""

    knows_device = True

    def __init__(self, spec: str) -> None:
        driver = registry.driver(spec)
        if not isinstance(driver, ModuleJudge):
            driver.close()
            what = f"{spec} neither accepts nor rejects modules"
            raise BadInput("no-validator", what, f"--driver {spec}", "spirv-val, spirv-val:command=PATH, vulkan")
        self._driver = driver
        self.label = driver.layer()
        if not self.label:
            driver.close()
            what = "without a validation layer there is nothing that accepts or rejects modules"
            raise BadInput("no-validator", what, f"--driver {spec}", "leave out validation=no")

    def unknown(self, capability: str) -> str:
        """Nothing: what the device lacks is found when a module is asked about."""
        return ""

    def ask(self, words: Words, job: ModuleJob) -> Answer:
        status, text = self._driver.judge_module(words, job)
        if status is Status.DONE:
            return Answer(Kind.REJECTED, text) if text else Answer(Kind.ACCEPTED)
        return Answer(_KINDS.get(status, Kind.ERROR), text)

    def close(self) -> None:
        self._driver.close()


_KINDS = {
    Status.CRASH: Kind.CRASH,
    Status.DEVICE_LOST: Kind.CRASH,
    Status.TIMEOUT: Kind.TIMEOUT,
    Status.UNSUPPORTED: Kind.UNSUPPORTED,
}


def open_tool(spec: str) -> Tool:
    """A tool by its spec: `spirv-val`, `spirv-val:command=/opt/sdk/bin/spirv-val`, `vulkan:0`.

    Raises BadInput for a spec that names none, HarnessTrouble where it cannot be run.
    """
    name = spec.partition(":")[0]
    if name != "spirv-val":
        if name not in registry.names("cts.drivers"):
            remedy = "spirv-val, spirv-val:command=PATH, or a driver with a validation layer: vulkan"
            raise BadInput("unknown-driver", f"no tool named {name!r}", f"--driver {spec}", remedy)
        (validated,) = registry.validated([spec])
        return OfDriver(validated)
    options = parse(Options, registry.options_of(spec)[1], "spirv-val")
    own = packaged_program("spirv-val")
    command = split(options.command) if options.command is not None else [str(own or program("spirv-val"))]
    if not command or shutil.which(command[0]) is None:
        what = f"no program {command[0] if command else ''!r}"
        raise BadInput("driver-option", what, spec, "the path of a spirv-val, or a command that runs it")
    return SpirvVal(command, options.target, options.timeout)
