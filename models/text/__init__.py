"""Texts: words, trees, queries with negation, and modules over words.

`parsing` splits texts into words and trees, `queries` reads a query, `lexicon` and `negation` are
its rules. `readers` are the frozen parts of text towers; `words`, `trees`, `edges`, `fisher` and
`sentence_features` are modules over words.
"""
