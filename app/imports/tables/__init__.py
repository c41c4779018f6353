"""Tables of products: `table` reads their rows as sources of an import.

`formats` and `parquet` read files row by row, and `shopify` folds the rows of one product.
`columns` has the roles of columns, with numbers by `number_cells` and HTML by `markup`.
"""
