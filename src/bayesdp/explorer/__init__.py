"""The local page: what is asked, what is assumed, what an attacker may learn, and the code that says the same.

`subject` (what is explored), `choices` (what the reader chose), `assumed` (models without data), `ladder` (a table's
models) and `view` (the numbers) know no browser; `code` writes the screen as Python and as commands, `pictures` draws,
`page` shows it in Shiny, `serve` serves it to this machine only. Nothing is released, and no value of a record shown.
"""
