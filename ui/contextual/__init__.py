"""The page Contextual."""
