"""The web service of Tessera and its commands.

`cli` has the commands, `main` the web application and `settings` the environment. A request passes
`http` (limits, errors, lanes) and `access` (keys), enters one of the `routes`, and is answered by
`answers` from the models of `schemas`. `engine` knows no HTTP: it owns the catalog, the indexes and
the models. `imports` brings items in, `drawing` makes pictures, `telemetry` logs and counts, and
`page` and `demos` hold the files of the page and of the demonstrations.
"""

__version__ = "0.1.0"
