"""Arrays derived from frozen models must not be written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["readonly"]


def readonly(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same array, locked against writing."""
    array.setflags(write=False)
    return array
