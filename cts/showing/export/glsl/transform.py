"""The transform `glslang`: a case's module is what glslang compiles from its GLSL."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from cts.base.child_process import crash
from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.plugins.transform import Origin, TransformFailed
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.glsl.compiler import Compiled, compiled, version
from cts.showing.export.glsl.source import glsl
from cts.spirv.subprocess_tools import find_program, system_program, validate_apart


@dataclass(frozen=True)
class Glslang:
    """glslang by a command: on the PATH, or `chroot ROOT glslang`."""

    text: str
    command: str
    takes_cases = "compiles the GLSL of the case"

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """The same dispatch of the compiled module, whose interface is that of the case. Raises TransformFailed.

        Raises HarnessTrouble where the command cannot be run.
        """
        if origin is None:
            what = f"{self.text} {self.takes_cases}, and this module comes from no case"
            raise TransformFailed(Status.UNSUPPORTED, what)
        if job.staged is not None:
            what = f"{self.text} compiles compute shaders, and this module is for the stage {job.staged.stage.value}"
            raise TransformFailed(Status.UNSUPPORTED, what)
        try:
            shader = glsl(origin.case, origin.subgroup_size)
        except CannotExpress as e:
            raise TransformFailed(Status.UNSUPPORTED, e.what) from e
        made = _compiled(self.command, shader)
        if made.words is None:
            how = crash(made.status)
            if not how and (missing := re.search(r"extension not supported: \w+", made.message)):
                raise TransformFailed(Status.UNSUPPORTED, f"{self.text}: {missing[0]}")
            what = f"crashed ({how})" if how else "refuses the GLSL"
            code = "compiler-crashes" if how else "compiler-refuses"
            raise TransformFailed(Status.CRASH, f"{self.text} {what}: {made.message}", code)
        wrong = validate_apart(made.words) if find_program("spirv-val") is not None else ""
        if wrong and not validate_apart(job.words):
            raise TransformFailed(Status.CRASH, f"{self.text} made an invalid module: {wrong}", "compiler-invalidates")
        return replace(job, words=made.words)

    def version(self) -> str:
        return version(self.command)


def parse(text: str, rest: str) -> Glslang:
    """The compiler of `glslang`, or of `glslang:command=COMMAND`. Raises BadInput, and HarnessTrouble without one."""
    key, equals, command = rest.partition("=")
    if rest and (key != "command" or not command.strip()):
        right = "glslang, or glslang:command=COMMAND, such as glslang:command=chroot ROOT glslang"
        raise BadInput("transform", f"{text!r} names no command", f"--transform {text}", right)
    if not equals:
        command = system_program("glslang") or ""
        if not command:
            remedy = "glslang 16 or newer on the PATH, a Vulkan SDK, or glslang:command=COMMAND"
            raise HarnessTrouble("missing-program", "cannot find glslang", f"--transform {text}", remedy)
    return Glslang(text, command)


@lru_cache(maxsize=256)
def _compiled(command: str, shader: str) -> Compiled:
    (made,) = compiled(command, [shader])
    return made
