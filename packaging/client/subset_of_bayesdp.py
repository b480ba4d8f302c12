"""The files of the wheel: those modules of the package bayesdp that the client needs (tools/subset.py)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPOSITORY = Path(__file__).resolve().parents[2]


class SubsetOfBayesdp(BuildHookInterface[Any]):
    """Adds the modules to the wheel; another kind of archive would lack them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files, before anything is built."""
        if self.target_name != "wheel":
            raise RuntimeError("bayesdp-client has no source archive of its own; add --wheel")
        sys.path.insert(0, str(REPOSITORY))
        from tools import subset

        source = REPOSITORY / "src"
        files = [*subset.modules().values(), source / "bayesdp" / "py.typed"]
        build_data["force_include"] |= {str(path): path.relative_to(source).as_posix() for path in files}
