"""Pretrained dual encoders: adoption of their weights, their licences, and tuning.

Nothing in here trains by gradient.
"""
