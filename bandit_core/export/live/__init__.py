"""Lessons that compute on the reader's machine: kernels compiled for browsers, and the arguments that they take."""
