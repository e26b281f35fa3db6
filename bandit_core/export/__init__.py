"""Lessons to take along: a picture with a slider as one HTML file that needs neither server nor network."""
