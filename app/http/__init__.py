"""HTTP: all that every request passes, apart from its route.

`server` is uvicorn with limits, `middleware`, `timeouts`, `observation` and `security_headers` wrap
the application, and `errors` has the table from exceptions to problem documents. `lanes`, `places`,
`pace`, `spool` and `body_sizes` bound work and bodies. `validation` reads JSON, `headers` reads
conditions, `openapi` writes the document, and `readiness` shares the check of /readyz.
"""
