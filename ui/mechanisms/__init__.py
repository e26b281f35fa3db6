"""The page Mechanisms, a file for each of its parts."""
