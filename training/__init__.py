"""Training and measuring of models, offline.

`runs` is what every training shares; `matchers`, `captioners`, `grounders`, `proposers`, `encoders`
and `language` each train one thing. `data` reads corpora, `evaluation` measures, `report` writes
the results page, `presets` are the shipped options, and `cli` has the commands.
"""
