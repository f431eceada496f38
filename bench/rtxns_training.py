"""A step of training of the RTX Neural Shading SDK against NumPy: `python bench/rtxns_training.py MODULE [-d SPEC]...`.

MODULE is SimpleTraining_Training.spv of `bench/families.py rtxns`. All five layers' matrices, in the layout for
training, and all biases are in one buffer, and so are their gradients. Exit status 1 where a driver differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml  # noqa: TID251

from cts.modules.dispatch import run
from cts.modules.dispatch.report import lines

#: Neurons from layer to layer, as NetworkConfig.h has them.
LAYERS = (12, 64, 64, 64, 64, 3)
LEAK, SCALE = np.float16(0.01), 1024.0

#: What is tolerated of a sum's magnitudes, and how near to zero of these a sum's sign is unclear.
TOLERANCE, NEAR = 0.02, 0.004

#: Workgroups of 8x8 invocations, and pixels, in either direction.
WORKGROUPS, PIXELS = 2, 32

#: Bytes from one matrix to the next, and from one bias: more than a device's layout takes.
APART, BIASES = 32 << 10, 256

Array = np.ndarray[Any, Any]
half = np.float16


def numbers() -> dict[str, Any]:
    """Weights, biases, the picture to be learned, and the states of random numbers."""
    random = np.random.default_rng(2)
    shapes = [(m, k) for k, m in pairwise(LAYERS)]
    return {
        "weights": [random.uniform(-0.4, 0.4, shape).astype(half) for shape in shapes],
        "biases": [random.uniform(-0.2, 0.2, shape[0]).astype(half) for shape in shapes],
        "picture": random.uniform(0, 1, (PIXELS * PIXELS, 4)).astype(np.float32),
        "states": random.integers(0, 1 << 32, (8 * WORKGROUPS) ** 2, np.uint32),
    }


def reference(given: dict[str, Any]) -> dict[str, tuple[Array, Array]]:
    """What is left behind, each with what is tolerated: gradients, losses and states.

    Where a sum is so near zero that rounding decides its sign, the slope behind it may be either one: what that changes
    in all earlier layers is tolerated.
    """
    states, drawn = given["states"].astype(np.uint64), []
    for _ in range(2):
        drawn.append((states >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24))
        states = (states * np.uint64(2739110765) + np.uint64(2739110765)) & np.uint64(0xFFFFFFFF)
    place = np.clip(np.stack(drawn, 1), 0, 1)
    values, inputs = encoded(place), []
    before: list[Array] = []
    unclear: list[Array] = []
    for weight, bias in zip(given["weights"], given["biases"], strict=True):
        inputs.append(values)
        sums = (values.astype(np.float32) @ weight.T.astype(np.float32) + bias.astype(np.float32)).astype(half)
        before.append(sums)
        magnitudes = np.abs(values).astype(np.float32) @ np.abs(weight.T).astype(np.float32) + np.abs(bias)
        unclear.append(np.abs(sums) < NEAR * magnitudes)
        values = np.where(sums < 0, LEAK * sums, sums)
    out = sigmoid(before[-1])
    pixel = (place * PIXELS).astype(np.uint32)
    wanted = given["picture"][pixel[:, 1] * PIXELS + pixel[:, 0], :3]
    difference = out.astype(np.float32) - wanted
    gradient = (2 * difference / np.float32(len(place)) * np.float32(SCALE)).astype(half)
    gradient = gradient * out * (half(1) - out)
    losses = (difference**2).sum(1)
    found: dict[str, tuple[Array, Array]] = {"gLossBuffer": (losses, 1e-5 + TOLERANCE * losses)}
    found["gRandState"] = (states.astype(np.uint32), np.zeros(len(states)))
    open_ = np.zeros(gradient.shape, np.float32)
    for layer in range(len(LAYERS) - 2, -1, -1):
        g, x = gradient.astype(np.float32), inputs[layer].astype(np.float32)
        bound = TOLERANCE * np.abs(g) + open_
        found[f"weight_{layer}"] = g.T @ x, 1e-5 + bound.T @ np.abs(x)
        found[f"bias_{layer}"] = g.sum(0), 1e-5 + bound.sum(0)
        weight = given["weights"][layer].astype(np.float32)
        gradient, open_ = (g @ weight).astype(half), open_ @ np.abs(weight)
        if layer:
            slope = np.where(before[layer - 1] > 0, 1, float(LEAK)).astype(np.float32)
            either = unclear[layer - 1] * (1 - float(LEAK)) * (np.abs(gradient).astype(np.float32) + open_)
            gradient, open_ = np.where(slope == 1, gradient, LEAK * gradient), open_ * slope + either
    return found


def encoded(place: Array) -> Array:
    """Sines and cosines of each coordinate, twice doubled."""
    columns = []
    for coordinate in place.T:
        angle = coordinate * np.float32(np.pi)
        sine, cosine = np.sin(angle).astype(half), np.cos(angle).astype(half)
        for _ in range(3):
            columns += [sine, cosine]
            sine, cosine = half(2) * sine * cosine, half(2) * cosine * cosine - half(1)
    return np.stack(columns, 1)


def sigmoid(values: Array) -> Array:
    """Each step rounded to float16."""
    return half(1) / (half(1) + np.exp(-values.astype(np.float32)).astype(half))


def file(folder: Path, module: Path, given: dict[str, Any]) -> Path:
    """The dispatch file, and its arrays beside it."""
    count = len(LAYERS) - 1
    offsets = [layer * APART for layer in range(count)]
    bias_offsets = [count * APART + layer * BIASES for layer in range(count)]
    parameters = np.zeros((count * APART + count * BIASES) // 2, half)
    buffers: dict[str, Any] = {"lossTexture": {"type": "float32", "shape": [PIXELS * PIXELS, 4], "fill": 0}}
    conversions, expected = [], {}
    found = reference(given)

    def save(name: str, array: Array) -> str:
        np.save(folder / f"{name}.npy", array)
        return f"{name}.npy"

    for layer, (weight, bias) in enumerate(zip(given["weights"], given["biases"], strict=True)):
        parameters[bias_offsets[layer] // 2 :][: len(bias)] = bias
        rows, cols = weight.shape
        matrix = {"layout": "TrainingOptimal", "component": "float16", "offset": offsets[layer]}
        buffers[f"given_{layer}"] = {"file": save(f"given_{layer}", weight)}
        shape = {"rows": rows, "cols": cols}
        conversions.append({"source": f"given_{layer}", "destination": {"of": "gMLPParams", **matrix}, **shape})
        gradients = {"of": "gMLPParamsGradients", **matrix}
        conversions.append({"source": gradients, "destination": f"weight_{layer}", **shape, "after": True})
        bias_at = {"of": "gMLPParamsGradients", "component": "float16", "offset": bias_offsets[layer]}
        shape = {"rows": 1, "cols": rows}
        conversions.append({"source": bias_at, "destination": f"bias_{layer}", **shape, "after": True})
        buffers[f"weight_{layer}"] = {"type": "float16", "shape": list(weight.shape), "fill": 0}
        buffers[f"bias_{layer}"] = {"type": "float16", "shape": [rows], "fill": 0}
    buffers["gMLPParams"] = {"type": "uint32", "file": save("parameters", parameters)}
    buffers["gMLPParamsGradients"] = {"type": "uint32", "shape": [parameters.nbytes // 4], "fill": 0}
    buffers["inputTexture"] = {"file": save("picture", given["picture"])}
    buffers["gRandState"] = {"file": save("states", given["states"])}
    buffers["gLossBuffer"] = {"type": "float32", "shape": [len(given["states"])], "fill": 0}
    padded = [[*values, 0, 0, 0][:8] for values in (offsets, bias_offsets)]
    buffers["gConst"] = {
        "members": {
            "weightOffsets": [padded[0][:4], padded[0][4:]], "biasOffsets": [padded[1][:4], padded[1][4:]],
            "imageWidth": PIXELS, "imageHeight": PIXELS, "batchSizeX": 8 * WORKGROUPS, "batchSizeY": 8 * WORKGROUPS,
        }
    }  # fmt: skip
    for name, (array, tolerated) in found.items():
        if name == "gRandState":
            expected[name] = {"file": save(f"{name}_after", array)}
            continue
        kind = np.float32 if name == "gLossBuffer" else half
        expected[name] = {
            "file": save(f"{name}_after", array.astype(kind)),
            "atol": {"file": save(f"{name}_tolerated", tolerated.astype(np.float64))},
        }  # fmt: skip
    places = {0: "gMLPParams", 1: "inputTexture", 256: "gConst", 384: "gMLPParamsGradients", 385: "gRandState",
              387: "lossTexture", 388: "gLossBuffer"}  # fmt: skip
    path = folder / "training.yaml"
    content = {
        "module": str(module.absolute()), "dispatch": [WORKGROUPS, WORKGROUPS, 1], "buffers": buffers,
        "bindings": {f"0.{binding}": name for binding, name in places.items()},
        "conversions": conversions, "expected": expected, "ignore": ["lossTexture", "gMLPParamsGradients"],
    }  # fmt: skip
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def main() -> int:
    """Run on every driver; print the verdicts and the greatest deviation of what is tolerated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("module", type=Path)
    parser.add_argument("-d", "--driver", action="append", metavar="SPEC", help="default: interpreter")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the dispatch file and its arrays go")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        result = run(file(folder, given.module, numbers()), given.driver or ["interpreter"])
    for line in lines(result):
        print(line)
    for ran in result.runs:
        deviations = {
            name: float((np.abs(ran.outputs[name].astype(np.float64) - array) / tolerated).max())
            for name, (array, tolerated) in reference(numbers()).items()
            if name in ran.outputs and name != "gRandState"
        }
        if deviations:
            worst = max(deviations, key=lambda name: deviations[name])
            print(f"{ran.driver}: at most {deviations[worst]:.0%} of what is tolerated, in {worst}")
    return int(result.status != 0)


if __name__ == "__main__":
    sys.exit(main())
