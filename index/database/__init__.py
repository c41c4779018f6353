"""The database below the catalog: tables, migrations, and how SQLite and PostgreSQL are opened.

Also checksums of what is stored, the count of acknowledged commits, the errors of both drivers in
our own words, and where a service stores its data.
"""
