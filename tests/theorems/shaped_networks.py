"""Networks of simple shapes, whose bounds are known."""

import itertools

from bayesdp import Network


def complete(size: int, odds: float) -> Network:
    return Network(edges=[(i, j, odds) for i, j in itertools.combinations(range(size), 2)], records=size)


def grid(side: int, odds: float) -> Network:
    along = [(i * side + j, i * side + j + 1, odds) for i in range(side) for j in range(side - 1)]
    across = [(i * side + j, (i + 1) * side + j, odds) for i in range(side - 1) for j in range(side)]
    return Network(edges=along + across, records=side * side)
