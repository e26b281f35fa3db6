"""Budgets in use, for orientation: what each protects, whom it trusts, and who says so."""

from __future__ import annotations

import pandas as pd
import streamlit as st

# Only published numbers whose unit and trust model are beyond doubt.
DEPLOYED = (
    ("Apple, health data types, 2017", "2", "one person, one day", "nobody is trusted", "Apple, technical overview"),
    ("Apple, popular emoji, 2017", "4", "one person, one day", "nobody is trusted", "Apple, technical overview"),
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
    st.dataframe(
        pd.DataFrame(DEPLOYED, columns=["deployed", "ε", "protects", "trust", "source"]),
        hide_index=True,
        width="stretch",
        alt="Budgets in use, with what they protect, whom they trust, and the source",
    )
    st.caption(
        "For orientation only: these numbers protect different things under different trust. Here ε protects "
        f"{protected}."
    )
