"""Telemetry: logs, metrics, and the times of the stages of requests."""
