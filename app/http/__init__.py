"""HTTP: the way of every request to its route.

`server` is uvicorn with limits; `middleware`, `timeouts` and `observation` wrap the application.
`errors` has the table from exceptions to problem documents. `lanes` bound work and `spool` lines
of bodies. `headers` reads conditions, `openapi` writes the document, `readiness` shares the check
of /readyz, and `probe` asks for it in a container.
"""
