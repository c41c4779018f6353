"""Proposers of the registry: trained detectors of boxes, see models.vision.proposals."""
