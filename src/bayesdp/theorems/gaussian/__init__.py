"""Normal groups: what is proven of clipped sums."""
