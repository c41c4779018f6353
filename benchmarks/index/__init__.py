"""The index: speed, recall, memory, edits, snapshots and databases.

`speed` is the command for races with other engines and for the page docs/research/performance.md;
`bags`, `growth`, `questions` and `truth` are its data, `race`, `living` and `fidelity` its
measurements. The other scripts run alone.
"""
