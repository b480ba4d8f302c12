"""One way to draw."""
