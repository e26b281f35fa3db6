"""Budgets in use, for orientation: what each protects, whom it trusts, and who says so."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ui import lab_parts, stylesheet, words


def table(protected: str) -> None:
    """The table, with the reminder that here epsilon protects ``protected``.

    It has only published numbers whose unit and trust model are beyond doubt.
    """
    lab_parts.table(words.table(pd.read_csv(stylesheet.ASSETS / "deployed.csv", dtype=str)), "deployed")
    st.caption(
        "For orientation only: these numbers protect different things under different trust. Here ε protects "
        f"{protected}."
    )
