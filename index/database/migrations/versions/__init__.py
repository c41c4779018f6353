"""The versions of the tables, one file each; its name begins with the version's number."""
