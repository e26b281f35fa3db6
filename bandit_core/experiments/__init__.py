"""The experiment: one document for one picture, its links and presets, and the bounds that apply to it."""
