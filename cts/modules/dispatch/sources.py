"""The elements of a buffer: read from a file, or generated."""

from __future__ import annotations

import importlib.util
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from cts.base.input_files import is_file, text_of
from cts.base.memory import splitmix64
from cts.modules.dispatch.elements import Array, ElementType, encode, type_of, whole
from cts.modules.dispatch.model import MAX_BUFFER_BYTES, FilePart, Iota, Random, Source

#: A file with members, and the name of one.
_MEMBER = re.compile(r"(.+\.(?:npz|safetensors|gguf)):([^:]+)")


class BadSource(ValueError):
    """A source that yields no elements. `field` is the part of it that is wrong."""

    def __init__(self, what: str, field: str, remedy: str) -> None:
        super().__init__(what)
        self.field, self.remedy = field, remedy


@dataclass(frozen=True)
class Defaults:
    """What a source has that says no type or shape of its own; None where there is no default either.

    `why_none` says why there is no type.
    """

    type: ElementType | None = None
    shape: tuple[int, ...] | None = None
    why_none: str = ""


#: The type of elements, and the elements in their shape.
Made: TypeAlias = tuple[ElementType, Array]


def elements(source: Source, folder: Path, defaults: Defaults = Defaults()) -> Made:
    """The type and the elements in the source's shape, C-contiguous and little-endian. Raises BadSource."""
    if source.file is None:
        element, array = _made(source, defaults)
    else:
        element, array = _from_file(source, source.file, folder, defaults)
    if array.nbytes == 0:
        raise BadSource("the buffer is empty", "file", "at least one element: Vulkan has no empty buffers")
    if array.nbytes > MAX_BUFFER_BYTES:
        raise BadSource(f"the buffer has {array.nbytes} bytes", "file", f"at most {MAX_BUFFER_BYTES}")
    return element, array


def _made(source: Source, defaults: Defaults) -> tuple[ElementType, Array]:
    element = source.type or defaults.type
    if element is None:
        why = f": {defaults.why_none}" if defaults.why_none else ""
        raise BadSource(f"the buffer needs a type{why}", "", "for example `type: float32`")
    shape = source.shape or (defaults.shape if source.values is None else (len(source.values),))
    if shape is None:
        raise BadSource("the buffer needs a shape", "", "for example `shape: [64, 64]`")
    count = math.prod(shape)
    if count * element.size > MAX_BUFFER_BYTES:
        what = f"{count} elements of {element.value} take {count * element.size} bytes"
        raise BadSource(what, "shape", f"at most {MAX_BUFFER_BYTES} bytes")
    if source.values is not None:
        if len(source.values) != count:
            what = f"{len(source.values)} values for {count} elements"
            raise BadSource(what, "values", f"{count} values, or another shape")
        return element, _checked("values", lambda: encode(element, source.values or ())).reshape(shape)
    if source.fill is not None:
        filler = _checked("fill", lambda: encode(element, [source.fill or 0]))
        return element, np.repeat(filler, count).reshape(shape)
    if source.iota is not None:
        iota = source.iota
        return element, _checked("iota", lambda: _iota(element, iota, count)).reshape(shape)
    assert source.random is not None
    random = source.random
    return element, _checked("random", lambda: _random(element, random, count)).reshape(shape)


def _checked(field: str, make: Callable[[], Array]) -> Array:
    try:
        return make()
    except ValueError as e:
        raise BadSource(str(e), field, "numbers that the type holds") from e


def _iota(element: ElementType, iota: Iota, count: int) -> Array:
    index = np.arange(count, dtype=np.int64)
    return whole(element, iota.start + iota.step * (index if iota.modulo is None else index % iota.modulo))


def _random(element: ElementType, random: Random, count: int) -> Array:
    bits = splitmix64(random.seed, np.arange(count, dtype=np.uint64))
    if element.is_float:
        unit = (bits >> np.uint64(11)).astype(np.float64) / 2.0**53
        with np.errstate(over="ignore"):
            return (random.low + unit * (random.high - random.low)).astype(element.dtype)
    low, high = (encode(element, [bound])[0] for bound in (random.low, random.high))
    span = int(high) - int(low) + 1
    if span == 1 << 64:
        return bits.view(element.dtype)
    steps = bits % np.uint64(span)
    return (np.array([int(low) & 2**64 - 1], np.uint64) + steps).astype(element.dtype)


def from_python(source: Source, call: str, folder: Path, buffers: Mapping[str, Array], defaults: Defaults) -> Made:
    """What a function of the user's makes of the buffers as they are before the run. Raises BadSource."""
    remedy = "FILE.py:FUNCTION, the file relative to the dispatch file"
    file, _, name = call.rpartition(":")
    if not file:
        raise BadSource(f"{call!r} names no function", "python", remedy)
    _readable(folder / file)
    copies = {key: array.copy() for key, array in buffers.items()}
    try:
        function = getattr(_module(folder / file), name, None)
        if not callable(function):
            raise BadSource(f"{file} has no function {name!r}", "python", remedy)
        array = np.asarray(function(copies))
    except BadSource:
        raise
    except Exception as e:
        raise BadSource(f"{call}: {type(e).__name__}: {e}", "python", "a function that returns an array") from e
    return _as_wanted(source, array, defaults, True)


def _module(path: Path) -> ModuleType:
    """A file of Python as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"expected_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadSource(f"{path.name} is no Python", "python", "FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _from_file(source: Source, file: str | FilePart, folder: Path, defaults: Defaults) -> Made:
    part = file if isinstance(file, FilePart) else FilePart(file)
    member = _MEMBER.fullmatch(part.path)
    path = folder / (member[1] if member else part.path)
    is_numpy = member is not None or path.suffix in (".npy", ".npz")
    if path.suffix in _TENSORS:
        array = _tensor(path, member[2] if member else None)
    else:
        array = _loaded(path, member[2] if member else None) if is_numpy else _raw(source, path, defaults)
    if part.offset or part.count is not None:
        array = _cut(part, array, source.type or defaults.type or type_of(array.dtype))
    return _as_wanted(source, array, defaults, is_numpy)


def _cut(part: FilePart, array: Array, element: ElementType | None) -> Array:
    """The bytes of a part, flat; `count` is of the elements that they are read as."""
    data = array.reshape(-1).view(np.uint8)
    size = element.size if element is not None else array.dtype.itemsize
    end = data.size if part.count is None else part.offset + part.count * size
    if part.offset >= data.size or end > data.size:
        what = f"bytes {part.offset} to {end - 1} of {data.size}"
        raise BadSource(what, "file", "an offset in bytes and a count of elements that the file has")
    left = data[part.offset : end]
    return left if left.size % array.dtype.itemsize or part.offset % array.dtype.itemsize else left.view(array.dtype)


def _tensor(path: Path, name: str | None) -> Array:
    """A tensor of a .safetensors or .gguf file, read by their packages: of types that NumPy lacks the bytes."""
    _readable(path)
    package, read = _TENSORS[path.suffix]
    try:
        tensor = read(import_module(package), path, name)
    except ImportError as e:
        remedy = "pip install 'coopmat-cts[tensors]'"
        raise BadSource(f"{path.suffix} files need the package {package}: {e}", "file", remedy) from e
    except Exception as e:
        what = f"{path.name} is broken: the package {package} cannot read it ({type(e).__name__}: {e})"
        raise BadSource(what, "file", f"a {path.suffix} file") from e
    if isinstance(tensor, list):
        what = f"the file has no tensor {name!r}" if name else f"which tensor of {path.name} is not said"
        listed = ", ".join(tensor[:20]) + (f" and {len(tensor) - 20} more" if len(tensor) > 20 else "")
        raise BadSource(what, "file", f"{path.name}:NAME, and one of: {listed}")
    return tensor


def _of_safetensors(package: Any, path: Path, name: str | None) -> Array | list[str]:
    """The tensor of a name, or all names."""
    tensors = dict(package.deserialize(path.read_bytes()))
    if name not in tensors:
        return sorted(tensors)
    tensor = tensors[name]
    kind = {"BF16": "u2", "F8_E4M3": "u1", "F8_E5M2": "u1", "BOOL": "u1"}.get(tensor["dtype"])
    letter, bits = re.fullmatch(r"([A-Z]+)(\d+).*", tensor["dtype"] + "8").groups()  # type: ignore[union-attr]
    kind = kind or f"{letter.lower()}{int(bits[:-1]) // 8}"
    return np.frombuffer(bytes(tensor["data"]), f"<{kind}").reshape(tensor["shape"])


def _of_gguf(package: Any, path: Path, name: str | None) -> Array | list[str]:
    """The tensor of a name as the file has it, quantised ones as bytes; or all names."""
    tensors = {tensor.name: tensor for tensor in package.GGUFReader(path).tensors}
    return np.array(tensors[name].data) if name in tensors else sorted(tensors)


#: Files of tensors by their suffix: the package that reads them, and how.
_TENSORS: dict[str, tuple[str, Callable[[Any, Path, str | None], Array | list[str]]]] = {
    ".safetensors": ("safetensors", _of_safetensors),
    ".gguf": ("gguf", _of_gguf),
}


def _as_wanted(source: Source, array: Array, defaults: Defaults, is_numpy: bool) -> Made:
    """An array as the type and in the shape that are asked for."""
    element = source.type or (_of_bits(array, defaults.type) if is_numpy else defaults.type) or type_of(array.dtype)
    if element is None:
        what = f"the elements are {array.dtype}, which no buffer holds"
        raise BadSource(what, "file", f"`type` beside the file reads its bytes as one of {_TYPES}")
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    array = _reinterpreted(array, element) if array.dtype != element.dtype else array
    if source.shape is not None:
        if math.prod(source.shape) != array.size:
            what = f"shape {list(source.shape)} has {math.prod(source.shape)} elements, the file {array.size}"
            raise BadSource(what, "shape", "a shape of as many elements as the file has")
        array = array.reshape(source.shape)
    elif not is_numpy and defaults.shape is not None and math.prod(defaults.shape) == array.size:
        array = array.reshape(defaults.shape)
    return element, array


def _of_bits(array: Array, wanted: ElementType | None) -> ElementType | None:
    """The wanted type where NumPy lacks it and the array has its bits: as integers, or without any type."""
    if wanted is None or array.dtype.itemsize != wanted.size or hasattr(np, wanted.value):
        return None
    return wanted if array.dtype.kind in "uV" else None


_TYPES = ", ".join(t.value for t in ElementType)


def _reinterpreted(array: Array, element: ElementType) -> Array:
    """The bytes as elements of another type: the last extent changes where the size of an element does."""
    if array.nbytes % element.size:
        what = f"{array.nbytes} bytes are no whole number of {element.value}"
        raise BadSource(what, "type", "a type whose size divides that of the file's contents")
    if array.dtype.itemsize == element.size:
        return array.view(element.dtype)
    shape = array.shape if array.ndim else (1,)
    if shape[-1] * array.dtype.itemsize % element.size:
        return array.reshape(-1).view(np.uint8).view(element.dtype)
    return array.reshape(shape).view(element.dtype)


def _raw(source: Source, path: Path, defaults: Defaults) -> Array:
    if source.type is None and defaults.type is None:
        why = f", and {defaults.why_none}" if defaults.why_none else ""
        remedy = "`type` beside it; only .npy and .npz files say it"
        raise BadSource(f"a raw file has no type of its own{why}", "file", remedy)
    _readable(path)
    return np.fromfile(path, np.uint8)


def _loaded(path: Path, member: str | None) -> Array:
    _readable(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that are no longer written so
            loaded = np.load(path, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                if member is None or member not in loaded.files:
                    what = f"the archive has no member {member!r}" if member else "the file is an archive"
                    raise BadSource(what, "file", f"one of its members: {', '.join(loaded.files)}")
                return np.asarray(loaded[member])
    except BadSource:
        raise
    except Exception as e:
        # NumPy evaluates a damaged header as Python, and zipfile has errors of its own.
        raise BadSource(f"not a NumPy file: {e}", "file", "what numpy.save or numpy.savez writes") from e


def _readable(path: Path) -> None:
    """Raises BadSource where the file cannot be read, or is larger than any buffer."""
    try:
        size = path.stat().st_size
        if not is_file(path):
            raise OSError("no plain file")
        with path.open("rb"):
            pass
    except (OSError, ValueError) as e:  # ValueError: a NUL in the path
        remedy = "the path of a file, relative to the dispatch file"
        raise BadSource(f"{path}: {text_of(e)}", "file", remedy) from e
    if size > 4 * MAX_BUFFER_BYTES:
        raise BadSource(f"{path} has {size} bytes", "file", f"a buffer of at most {MAX_BUFFER_BYTES} bytes")
