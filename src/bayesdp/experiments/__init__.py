"""The paper, rerun."""
