"""A table of text for a paper (LaTeX, package booktabs) or a README (Markdown), with how it was made in a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bandit_core.spec.later import pd

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "ε": r"$\varepsilon$", "δ": r"$\delta$", "α": r"$\alpha$", "ρ": r"$\rho$", "±": r"$\pm$", "−": "$-$", "–": "--",
    "∞": r"$\infty$", "≤": r"$\le$", "≥": r"$\ge$", "·": r"$\cdot$", "×": r"$\times$", "⁻": r"$^{-}$",
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~#&$])")


class Bold(str):
    """A cell that is shown in bold."""


class Shown:
    """One line for a prompt, ``<Kind ...>``, and for a notebook a table of a few columns."""

    def _words(self) -> str:
        """What it is of."""
        raise NotImplementedError

    def _shown(self) -> pd.DataFrame:
        """What a notebook shows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._words()}>"

    def _repr_html_(self) -> str:
        return str(self._shown().to_html(index=False, float_format="{:.4g}".format, na_rep="–"))


def with_title(label: str, title: str) -> str:
    """A line's label for a table, with the title of its policy where that is not in it."""
    return label if title in label else f"{label} ({title})"


def with_origin(frame: pd.DataFrame, made: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with how it was made in ``attrs["made"]``, which Parquet keeps."""
    frame.attrs["made"] = made
    return frame


def _cell(text: str, plain: Callable[[str], str], bold: str) -> str:
    return bold % plain(text) if isinstance(text, Bold) else plain(text)


def latex_text(text: str) -> str:
    r"""The text as LaTeX prints it, on one line; signs of Latin and other scripts stay as they are (UTF-8).

    >>> latex_text("50 % of_x, ε = 1 ± 2")
    '50 \\% of\\_x, $\\varepsilon$ = 1 $\\pm$ 2'
    """
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def markdown_text(text: str) -> str:
    r"""The text as Markdown shows it, on one line.

    >>> markdown_text("a|b *c*")
    'a\\|b \\*c\\*'
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def latex(columns: Sequence[str], rows: Sequence[Sequence[str]], made: Mapping[str, Any] | None) -> str:
    """A ``tabular`` with the rules of booktabs; ``made`` stands above it as JSON in a comment."""
    message = [" & ".join(_cell(text, latex_text, r"\textbf{%s}") for text in row) + r" \\" for row in (columns, *rows)]
    begin = rf"\begin{{tabular}}{{{'l' * len(columns)}}}"
    lines = [begin, r"\toprule", message[0], r"\midrule", *message[1:], r"\bottomrule", r"\end{tabular}"]
    comment = [] if made is None else [f"% {json.dumps(made)}"]
    return "\n".join([*comment, *lines]) + "\n"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], made: Mapping[str, Any] | None) -> str:
    """A table of Markdown with pipes; ``made`` stands below it as JSON in a comment."""
    texts = ["| " + " | ".join(_cell(text, markdown_text, "**%s**") for text in row) + " |" for row in (columns, *rows)]
    lines = [texts[0], "|" + " --- |" * len(columns), *texts[1:]]
    # Two dashes could end the comment; the JSON is the same without them.
    message = "" if made is None else "\n<!-- " + json.dumps(made).replace("--", "-\\u002d") + " -->\n"
    return "\n".join(lines) + "\n" + message
