"""Parts of every training.

`loop` has the epochs, `folder` stores a run and resumes it, `optimization` moves the weights,
`workers` share a batch between processes, `cache` stores frozen features, and `presets` inherit.
"""
