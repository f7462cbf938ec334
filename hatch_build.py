"""Put compiled kernels into the wheel, where the environment that builds it has what compiling needs.

`make wheel` builds in such an environment. Elsewhere (`pip install .` builds in an empty one) the wheel is made without
machine code: it works everywhere, and compiles at first use.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the list of `dalenius.core.compiling` and says which Python, system and Numba the wheel is for."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files are gathered."""
        if self.target_name != "wheel" or version == "editable":
            return
        try:
            numba = distribution("numba")
            distribution("polars")
        except PackageNotFoundError:
            self.app.display_info("No Numba here: the wheel comes without compiled kernels (see make wheel).")
            return
        place = self._place = Path(mkdtemp(prefix="dalenius-kernels-"))
        source = Path(self.root) / "src"
        subprocess.run(
            [sys.executable, "-m", "dalenius.core.compiling", str(place)],
            env=os.environ | {"PYTHONPATH": str(source)},
            check=True,
        )
        build_data["force_include"] |= {
            str(file): f"dalenius/_compiled/{file.name}" for file in sorted(place.iterdir())
        }
        build_data["pure_python"] = False
        build_data["tag"] = next(
            line.split()[1]
            for line in (numba.read_text("WHEEL") or "").splitlines()
            if line.startswith("Tag:")
        )
        build_data["dependencies"].append(f"numba=={numba.version}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the machine code once it is in the wheel."""
        if hasattr(self, "_place"):
            rmtree(self._place, ignore_errors=True)
