"""Telemetry: logs, metrics, and the facts and stages of requests."""
