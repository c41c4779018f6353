"""Segments: rows on disk, mapped by searches, built by one process.

`rows` are the arrays, `segment` their files and `manifest` the list of these; `heads` and
`candidates` make searches fast. `follower` and `follower_process` write segments, `reader` reads
them, and `verification` compares files with their checksums.
"""
