"""Budgets in use, for orientation: what each protects, whom it trusts, and who says so."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ui import lab_parts, words

# Only published numbers whose unit and trust model are beyond doubt.
DEPLOYED = (
    ("Apple, health data types, 2017", "2", "one person, one day", "trust no one", "Apple, technical overview"),
    ("Apple, popular emoji, 2017", "4", "one person, one day", "trust no one", "Apple, technical overview"),
    (
        "US Census 2020, redistricting tables",
        "19.61",
        "one person or home",
        "the Bureau is trusted",
        "Census Bureau, 2021",
    ),
)


def table(protected: str) -> None:
    """The table, with the reminder that here epsilon protects ``protected``."""
    rows = pd.DataFrame(DEPLOYED, columns=["deployed", "ε", "protects", "trust", "source"])
    lab_parts.table(words.table(rows), "deployed")
    st.caption(
        "For orientation only: these numbers protect different things under different trust. Here ε protects "
        f"{protected}."
    )
