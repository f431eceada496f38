"""Record what a Vulkan device makes of the shaders of this folder: what the interpreter must make of them.

    python tests/dispatch/agreed/record.py DRIVER

DRIVER is a spec string such as `vulkan:worker=...`. Its results become results.npz, the `expected` of the
dispatch files here; they were recorded on lavapipe of Mesa 26.1.6. ../shaders/compile.py compiles:
`--folder tests/dispatch/agreed`. Nothing here is undefined, nor left to implementations beyond the
tolerances that the dispatch files give.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from cts.device.driver import ModuleDriver, Status
from cts.modules.dispatch.comparing import values
from cts.modules.dispatch.elements import Array
from cts.modules.dispatch.loading import load
from cts.plugins import registry

HERE = Path(__file__).resolve().parent


def main() -> None:
    found: dict[str, Array] = {}
    (results := HERE / "results.npz").unlink(missing_ok=True)
    with closing(registry.driver(sys.argv[1])) as driver:
        assert isinstance(driver, ModuleDriver)
        for path in sorted(HERE.glob("*.yaml")):
            text = path.read_text()
            bare = path.with_name(f"{path.stem}.bare")
            bare.write_text(text.partition("expected:")[0])
            dispatch = load(bare)
            bare.unlink()
            outcome = driver.run_module(dispatch.job)
            if outcome.status is not Status.DONE:
                raise SystemExit(f"{path.stem}: {outcome.detail}")
            found |= {f"{path.stem}.{name}": values(dispatch, outcome.memory, name) for name in dispatch.outputs}
    np.savez_compressed(results, **found)  # type: ignore[arg-type] # no buffer is named allow_pickle


if __name__ == "__main__":
    main()
