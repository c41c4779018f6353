"""Scores by kernels of NVIDIA's GPUs."""
