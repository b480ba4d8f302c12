"""Which model? A ladder of assumptions, what a table says about each, what it costs, and what if it is wrong."""
