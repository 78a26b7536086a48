"""The experiments of "In-Context Algorithm Emulation in Fixed-Weight Transformers", constructed and trained.

`headsmith papers run algorithm-emulation/table-4 --preset smoke`; presets smoke and full (as printed).
"""
