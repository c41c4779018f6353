"""Webhooks: news of collections for other services.

`announcing` stores a delivery for each webhook of an event, `posting` signs and sends one, and
`deliverer` does so in the background of a service, again after failures.
"""
