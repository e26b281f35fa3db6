"""No test depends on what another one has replaced."""

import pytest

from bandit_core.literature import papers
from bandit_core.policies import registry


def test_a_cache_that_filled_while_something_was_replaced_is_emptied():
    papers.played.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(papers, "papers", lambda: ())
        assert papers.played() == {}
    assert len(papers.played()) > 100


def test_and_so_is_one_that_was_emptied_and_filled_again(monkeypatch):
    before = registry()
    registry(), registry()
    with monkeypatch.context() as patch:
        patch.setattr("bandit_core.policies.__path__", [])
        registry.cache_clear()
        assert "ucb" not in registry()
    assert list(registry()) == list(before)


def test_what_was_kept_before_is_still_kept(monkeypatch):
    known = papers.played()
    with monkeypatch.context() as patch:
        patch.setattr(papers, "papers", lambda: ())
        assert papers.played() is known
    assert papers.played() is known
