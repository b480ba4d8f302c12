"""Names for types of NumPy arrays, and arrays that cannot be written to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Floats", "Integers", "readonly"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def readonly(array: Floats) -> Floats:
    """Make an array read-only and return it, so that values derived from a frozen object cannot change.

    >>> readonly(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array
