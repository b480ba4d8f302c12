"""What the data say: sums, counts, transitions and moments, computed inside the engine the table lives in."""
