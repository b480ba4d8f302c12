"""diffprivlib: NumPy arrays; its tools take the sensitivity of replacing a record."""

from diffprivlib import tools
from worker import Worker, column

WORKER = Worker(
    "diffprivlib",
    "replace",
    column,
    {
        "count": lambda data, epsilon: tools.count_nonzero(data, epsilon=epsilon),
        "sum": lambda data, epsilon: tools.sum(data, epsilon=epsilon, bounds=(0, 1)),
        "mean": lambda data, epsilon: tools.mean(data, epsilon=epsilon, bounds=(0, 1)),
    },
    lambda row, epsilon: tools.count_nonzero(row, epsilon=epsilon),
)

if __name__ == "__main__":
    WORKER.main()
