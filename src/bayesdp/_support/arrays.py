"""Names for types of NumPy arrays, and arrays that cannot be written to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Floats", "Integers", "readonly"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def readonly(array: Floats) -> Floats:
    """Lock an array against writing and return it: what is derived from a frozen object stays as it is.

    >>> readonly(np.zeros(2)).flags.writeable
    False
    """
    array.setflags(write=False)
    return array
