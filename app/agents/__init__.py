"""Agents: the tools of the Model Context Protocol, over HTTP and stdio.

`questions` are the arguments of tools and `findings` their small answers, with the proof of each
hit; `pictures` draws what they show. `searches` and `explanations` have the tools that read,
`orders` those that write, which call what the routes call, and `tools` the table of all. `server`
speaks the protocol. It alone imports its SDK, which takes a second, with the first request and on
a thread. `endpoint` is the route /mcp.
"""
