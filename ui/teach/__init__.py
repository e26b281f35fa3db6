"""The page Teach: lessons to project, classes that guess together, and what a teacher takes along."""
