"""Watch one run: users arrive one after the other, and the server learns from what it gets."""

from ui.watch.view import draw, fold, learner, panel

__all__ = ["draw", "fold", "learner", "panel"]
