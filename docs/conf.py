"""The site: ``python -m sphinx -W --keep-going docs docs/_build``, after ``pip install -r docs/requirements.txt``."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # the notebooks run this checkout, too

sys.path.insert(0, str(ROOT / "docs"))

import site_pages  # noqa: E402

from bandit_core.paths import project_version  # noqa: E402

project = "Private Bandit Lab"
author = copyright = "Private Bandit Lab contributors"
version = release = project_version()
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "requirements.txt"]
site_pages.write()
html_theme = "alabaster"  # asks no other host for fonts or scripts
html_theme_options = {"page_width": "1200px", "body_max_width": "auto"}
html_show_sourcelink = False
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_ipywidgets_js = {}  # no notebook has widgets, whose scripts would come from another host
