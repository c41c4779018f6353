"""Benchmarks: measurements of the index, the service, the cluster and the models.

Each script is run from the repository's folder as `python -m benchmarks.FOLDER.SCRIPT --help`.
Results are lines of benchmarks/measurements.jsonl; docs/research shows them.
"""
