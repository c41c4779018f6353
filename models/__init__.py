"""Models: photos and sentences as vectors, captions, boxes and links between them.

`registry` finds a model by its kind and name: every module of image_towers, text_towers,
captioners, proposers and grounders is a model and exports `Config` and `Model`. `matcher` joins two
towers and a score. `checkpoint` stores and loads models, by `whole_files`. `types` has the values
of all rooms. text, vision, scores, captions and encoders are the parts of models. `extras` says
what installs an extra, and `rooms` what the modules are called in the wheel.
"""
