"""The local page: a query, an assumption, what an attacker may learn, and code that computes the same.

`explored_file` (the file), `choices` (the form), `assumed` (models without data), `priced_assumptions` (a table's
models) and `view` (the numbers) do not depend on the browser. `code` writes Python and commands, `pictures` draws SVG,
`page` lays everything out in Shiny, and `serve` serves it to this machine only. The page releases nothing and shows no
value of a record.
"""
