"""The service that holds data and ledger, and answers analysts who hold neither: `bayesdp serve config.toml`.

Its only way to a number is a `Session`, so a release over HTTP takes the same path, is charged to the same account and
is refused in the same words as any other.

- `configuration` reads the holder's one TOML file, and names the line of whatever is wrong (`toml_lines`).
- `tokens` and `identity` tell who asks; `guard` lets nobody else in, and limits how much anybody may send.
- `datasets` has the worker threads of each data set, with a session each; `jobs` has what is being answered.
- `service` is what can be asked, `application` says so in HTTP, `refusals` says which exception is which status.
- `observation` writes logs and metrics, and `running` serves it all with uvicorn.
"""
