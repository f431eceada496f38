"""Compiling the shaders of ggml's Vulkan backend as its generator does, into a folder with a manifest."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cts.base.errors import BadInput
from cts.showing.export.glsl.compiler import Workplace, workplace
from public_kernels.formats import FORMATS

#: Where the shaders lie in a checkout of ggml, and in one of llama.cpp.
FOLDERS = ("src/ggml-vulkan/vulkan-shaders", "ggml/src/ggml-vulkan/vulkan-shaders")

MANIFEST = "modules.json"

#: The macro by which shaders ask whether the compiler has SPV_NV_cooperative_matrix_decode_vector.
_DECODE_VECTOR = "GL_NV_cooperative_matrix_decode_vector"


@dataclass(frozen=True)
class Module:
    """A module of ggml's Vulkan backend. Without a `file`, `why` says what is missing.

    `b` is the format of the second matrix, and `accumulator` that of sums. `decoder` is "vector" where
    numbers are decoded four at a time, "scalar" where one at a time, or nothing where neither is asked for; of
    mul_mat_vec it is the way of sums.
    """

    name: str
    kernel: str
    format: str
    b: str
    accumulator: str
    decoder: str
    target: str
    optimised: bool
    definitions: dict[str, str]
    file: str = ""
    why: str = ""


@dataclass(frozen=True)
class Manifest:
    """A folder of modules: `source` names what was compiled, `digest` is the SHA-256 of the shaders."""

    source: str
    digest: str
    compiler: str
    modules: list[Module] = field(default_factory=list)


def shaders_in(path: Path) -> Path:
    """The folder of shaders of a checkout, or the folder itself. Raises BadInput if it has no shaders."""
    wanted = "a checkout of ggml or of llama.cpp"
    if not path.is_dir():
        raise BadInput("sources", "no such folder", str(path), wanted)
    for folder in (path, *(path / f for f in FOLDERS)):
        if (folder / "mul_mm.comp").is_file() or (folder / "vulkan-shaders-gen.cpp").is_file():
            return folder
    raise BadInput("sources", f"it has neither {FOLDERS[0]} nor {FOLDERS[1]}", str(path), wanted)


def version_of(path: Path) -> str:
    """The commit of a checkout, or nothing."""
    try:
        done = subprocess.run(
            ["git", "-C", str(path), "rev-parse", "HEAD"], capture_output=True, check=False, encoding="utf-8"
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _vectors(name: str, scalar: str) -> dict[str, str]:
    """The definitions of a type and of its vectors."""
    vector = {"float": "vec{}", "float16_t": "f16vec{}", "bfloat16_t": "bf16vec{}"}[scalar]
    matrix = {"float": "mat2x4", "float16_t": "f16mat2x4"}.get(scalar)
    both = {name: scalar, f"{name}V2": vector.format(2), f"{name}V4": vector.format(4)}
    return both | ({f"{name}V8": matrix} if matrix else {})


def _accumulator(half: bool) -> dict[str, str]:
    return {"ACC_TYPE_MAX": "float16_t(65504.0)"} if half else {}


#: How many numbers of a row an invocation of mul_mm.comp decodes at a time.
_AT_A_TIME = dict.fromkeys(("q1_0", "q4_0", "q4_1", "q5_1"), "8") | dict.fromkeys(
    ("q2_0", "q5_0", "q8_0", "q2_k", "q4_k", "q5_k", "iq4_xs", "iq4_nl", "mxfp4", "nvfp4"), "4"
)


#: Formats whose numbers and scales the shaders can read by conversions of the device, not by tables.
_NATIVE = ("mxfp4", "nvfp4")


def _product(name: str, b: str, half: bool, tensors: bool, decoder: str, native: bool = False) -> Module:
    """A matrix product: of tensor loads (mul_mm_cm2), or of tiles in workgroup memory (mul_mm).

    `native`: for devices with VK_EXT_shader_ocp_microscaling_types and 8-bit floats.
    """
    brain = name == "bf16"
    scalar = "bfloat16_t" if brain else "float16_t"
    accumulator = _vectors("ACC_TYPE", "float16_t" if half else "float")
    definitions = {"FLOAT16": "1", "ACC_TYPE": accumulator["ACC_TYPE"], "ACC_TYPEV2": accumulator["ACC_TYPEV2"]}
    definitions |= _accumulator(half) | _vectors("FLOAT_TYPE", scalar)
    definitions |= {f"DATA_A_{name.upper()}": "1", "D_TYPE": "float"} | ({"USE_OCP_FP4": "1"} if native else {})
    if tensors:
        b_type, plain_b = scalar, scalar
        definitions |= {"LOAD_VEC_A": "1", "LOAD_VEC_B": "4" if brain else "1"}
        definitions |= {"GGML_VULKAN_COOPMAT2_DECODE_VECTOR": "1"} if decoder != "scalar" else {}
    else:
        plain_b = {"f32": "float", "f16": "float16_t", "bf16": "uint16_t"}[b]
        b_type = {"f32": "mat2x4", "f16": "f16mat2x4", "bf16": "u16vec4"}[b]
        wide = "4" if brain else "8" if FORMATS[name].plain else _AT_A_TIME.get(name, "2")
        definitions |= {"LOAD_VEC_A": wide, "LOAD_VEC_B": "4" if brain else "8", "COOPMAT": "1"}
    definitions |= {"B_TYPE": b_type, "B_TYPE_SCALAR": plain_b}
    definitions["B_TYPEV4"] = {"f32": "vec4", "f16": "f16vec4", "bf16": "bf16vec4"}[b]
    if brain:
        definitions |= {"TO_FLOAT_TYPE": "uintBitsToBFloat16EXT", "B_IS_FLOAT": "1", "DATA_B_BF16": "1"}
    kernel = "mul_mm_cm2" if tensors else "mul_mm"
    return Module(
        "_".join(filter(None, (kernel, name, b, "ocp" if native else "", "f16acc" if half else "", decoder))),
        kernel, name, b,
        "f16" if half else "f32", decoder, "vulkan1.3" if tensors else "vulkan1.2", tensors and not brain, definitions,
    )  # fmt: skip


def _matrix_vector(name: str, b: str, native: bool, sums: str) -> Module:
    """A product with few columns; `sums` says how invocations add theirs up, nothing: in workgroup memory."""
    wide = {"f32": "float", "f16": "float16_t"}[b]
    definitions = {"FLOAT_TYPE": "float", "FLOAT_TYPEV2": "vec2", "FLOAT_TYPEV4": "vec4"}
    definitions |= {k: v for k, v in _vectors("B_TYPE", wide).items() if k != "B_TYPEV8"}
    definitions |= {f"DATA_A_{name.upper()}": "1", "D_TYPE": "float"} | ({"USE_OCP_FP4": "1"} if native else {})
    definitions |= {"USE_" + sums.replace("subgroup", "subgroup_add").upper(): "1"} if sums else {}
    return Module(
        "_".join(filter(None, ("mul_mat_vec", name, b, "ocp" if native else "", sums))), "mul_mat_vec", name, b,
        "f32", sums, "vulkan1.2", True, definitions,
    )  # fmt: skip


def _attention(kernel: str, brain: bool, half: bool, decoder: str) -> Module:
    """Flash attention; the formats of keys and values are specialization constants, save for bfloat16."""
    definitions = {"Q_TYPE": "float", "D_TYPE": "float", "D_TYPEV4": "vec4"}
    floats = _vectors("FLOAT_TYPE", "bfloat16_t" if brain else "float16_t")
    floats.pop("FLOAT_TYPEV8", None)
    accumulator = _vectors("ACC_TYPE", "float16_t" if half else "float")
    accumulator.pop("ACC_TYPEV8")
    definitions |= floats | accumulator
    if brain:
        definitions["BFLOAT16"] = "1"
    else:
        definitions |= {"FLOAT16": "1", "FLOAT_TYPE_MAX": "float16_t(65504.0)", "DATA_A_IQ4_NL": "1"}
        definitions |= _accumulator(half)
    tensors = kernel.endswith("cm2")
    if not tensors:
        definitions["COOPMAT"] = "1"
    return Module(
        "_".join(filter(None, (kernel, "bf16" if brain else "", "f16acc" if half else "", decoder))), kernel,
        "bf16" if brain else "any", "", "f16" if half else "f32", decoder, "vulkan1.3" if tensors else "vulkan1.2",
        tensors and not brain, definitions,
    )  # fmt: skip


def wanted() -> Iterator[Module]:
    """Every module, as the backend's generator compiles it for the pipelines that the backend creates."""
    for name, form in FORMATS.items():
        for half in (False, True)[: 1 if name == "bf16" else 2]:
            if form.plain and name != "f32":
                yield _product(name, name, half, True, "")
            elif not form.plain:
                yield _product(name, "f16", half, True, "vector")
                yield _product(name, "f16", half, True, "scalar")
            for b in {"f32": ("f32", "f16"), "f16": ("f32", "f16"), "bf16": ("bf16",)}.get(name, ("f32",)):
                yield _product(name, b, half, False, "")
            if name in _NATIVE:
                yield _product(name, "f16", half, True, "vector", native=True)
                yield _product(name, "f16", half, True, "scalar", native=True)
                yield _product(name, "f32", half, False, "", native=True)
        for b in ("f32", "f16") if name in _NATIVE else ():
            for native in (False, True):
                for sums in ("", "subgroup", "subgroup_no_shmem"):
                    yield _matrix_vector(name, b, native, sums)
    for half in (False, True):
        yield _attention("flash_attn_cm2", False, half, "vector")
        yield _attention("flash_attn_cm2", False, half, "scalar")
        yield _attention("flash_attn_cm1", False, half, "")
    yield _attention("flash_attn_cm2", True, False, "")
    yield _attention("flash_attn_cm1", True, False, "")


def compile_all(sources: Path, command: str, target: Path, source: str, only: Sequence[str], jobs: int) -> Manifest:
    """Compile what is wanted into `target`, with the manifest. Raises BadInput and HarnessTrouble."""
    files = sorted([*sources.glob("*.comp"), *sources.glob("*.glsl")])
    digest = hashlib.sha256()
    with workplace(command) as place, ThreadPoolExecutor(jobs) as pool:
        as_they_are, scalar = place.folder / "shaders", place.folder / "scalar"
        as_they_are.mkdir()
        scalar.mkdir()
        for file in files:
            text = file.read_bytes()
            digest.update(file.name.encode() + b"\0" + text + b"\0")
            (as_they_are / file.name).write_bytes(text)
            # As on a compiler that has not heard of the extension.
            (scalar / file.name).write_bytes(text.replace(_DECODE_VECTOR.encode(), b"NO_DECODE_VECTOR"))
        modules = [m for m in wanted() if not only or any(text in m.name for text in only)]
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise BadInput("modules", e.strerror or str(e), str(target), "a folder that can be written") from e
        done = list(pool.map(lambda m: _compiled(m, place, target), modules))
    manifest = Manifest(source, digest.hexdigest()[:16], command, done)
    (target / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n", encoding="utf-8")
    return manifest


def _compiled(module: Module, place: Workplace, target: Path) -> Module:
    folder = place.folder / ("scalar" if module.decoder == "scalar" else "shaders")
    source = folder / f"{module.kernel}.comp"
    if not source.is_file():
        return _with(module, why=f"the sources have no {source.name}")
    spv = place.folder / f"{module.name}.spv"
    options = ["--quiet", "-V", "-S", "comp", "--target-env", module.target]
    options += ["-O"] if module.optimised else []
    options += ["-P#extension GL_GOOGLE_include_directive : require"]
    options += [f"-D{name}={value}" for name, value in module.definitions.items()]
    result = place.compile(source, spv, options)
    if result.words is None:
        return _with(module, why=f"not compiled: {_first_error(result.message)}")
    shutil.copyfile(spv, target / spv.name)
    return _with(module, file=spv.name)


def _with(module: Module, **changes: str) -> Module:
    return Module(**(asdict(module) | changes))


def _first_error(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in lines if "ERROR" in line), lines[0] if lines else "")


def read(folder: Path) -> Manifest:
    """The manifest of a folder of modules. Raises BadInput."""
    path = folder / MANIFEST
    remedy = "a folder that --modules has made from sources"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Manifest(**(content | {"modules": [Module(**m) for m in content["modules"]]}))
    except OSError as e:
        raise BadInput("modules", e.strerror or str(e), str(path), remedy) from e
    except (ValueError, TypeError, KeyError) as e:
        raise BadInput("modules", f"not a manifest of modules: {e}", str(path), remedy) from e
