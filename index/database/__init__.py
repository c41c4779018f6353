"""The database below the catalog: tables, migrations, SQLite and PostgreSQL.

Also checksums of what is stored, ended sessions and deleted photos, the count of acknowledged
commits, the errors of both drivers in our own words, and where a service stores its data.
"""
