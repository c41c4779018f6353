"""Probabilities of matchers: calibrations, estimates without captions, and presence."""
