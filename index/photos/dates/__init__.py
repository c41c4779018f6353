"""Dates in queries of photos: "June 2021", "last summer", "since 2019".

`days` says which days are meant, `expressions` reads single dates, and `query_dates` finds these in
a text, with the words before and between them.
"""
