"""The web service of Tessera and its commands.

`cli` has the commands, `main` the web application and `settings` the environment. A request passes
`http` (limits, errors, lanes) and `access` (keys), enters one of the `routes`, and is answered by
`answers` from the models of `schemas`. `engine` knows no HTTP: it owns the catalog, the indexes and
the models. `imports` brings items in, `drawing` makes pictures, `telemetry` logs and counts, and
`page`, `swagger_ui` and `demos` hold the files of the page, of its reference of the API and of the
demonstrations; `distribution` builds the package.

`settings_page` writes the page of settings and `settings_names` knows former names. `torch_import`
loads torch without GPUs' libraries, `memory` and `priority` are the process's, `nearest` suggests
names, and `defaults`, `roles` and `validation` are what several layers share.
"""

__version__ = "0.1.0"
