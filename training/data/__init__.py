"""The corpora that training reads, and the scenes it can make."""
