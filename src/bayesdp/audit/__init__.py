"""Is it true? The exhaustive oracle, against which every theorem is checked."""
