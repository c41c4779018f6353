"""Webhooks: what collections tell other services, in the form of Standard Webhooks.

`announcing` stores a delivery for each webhook of an event, `posting` signs and sends one, and
`deliverer` does so in the background of a service, again after failures.
"""
