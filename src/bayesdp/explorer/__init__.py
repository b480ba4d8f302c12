"""The local page: a query, an assumption, what an attacker may learn, and code that computes the same.

`explored_file` (the file), `choices` (the form), `assumed` (models without data), `priced_assumptions` (a table's
models) and `view` (the numbers) do not depend on the browser. `code` writes Python and commands, `pictures` draws SVG,
`page` and `release_page` lay everything out in Shiny, `release` makes the release that the holder signs, and `serve`
serves the page to this machine only. The page shows no value of a record.
"""
