"""The course of the page Learn: ten steps, one idea each, told from runs that are played here and now."""
