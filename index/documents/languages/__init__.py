"""Languages of words: letters, stems and function words of each.

`word_language` says what a language is. `english` is the default, with its `stems` and `spellings`;
`snowball` has the others, with their `function_words`.
"""
