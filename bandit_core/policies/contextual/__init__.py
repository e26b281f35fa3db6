"""Policies that choose by the features of a user; found by the registry like all others."""
