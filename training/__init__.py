"""Offline work: training and evaluating matchers and captioners."""
