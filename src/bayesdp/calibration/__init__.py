"""From ε to τ: how much noise a promise needs, and how the theorems compare."""
