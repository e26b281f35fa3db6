"""The site: ``python -m sphinx -W --keep-going docs docs/_build``, after ``pip install -r docs/requirements.txt``."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # the notebooks run this checkout, too

sys.path.insert(0, str(ROOT / "docs"))

import site_pages  # noqa: E402
from other_hosts import asking_another_host  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

from bandit_core.mechanisms import registry as mechanisms  # noqa: E402
from bandit_core.paths import project_version  # noqa: E402
from bandit_core.policies import registry as policies  # noqa: E402

project = "Private Bandit Lab"
author = copyright = "Private Bandit Lab contributors"
version = release = project_version()
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "requirements.txt"]
site_pages.write()
html_theme = "alabaster"  # asks no other host for fonts or scripts
html_theme_options = {"page_width": "1200px", "body_max_width": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]  # formulas and code that are wider than the page
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


def look_for_other_hosts(app: Sphinx, error: Exception | None) -> None:
    """End the build with an error where a page asks another host, or there is none of a policy or a mechanism."""
    if error is not None:
        return
    if found := asking_another_host(Path(app.outdir)):
        raise ExtensionError(f"these ask another host: {', '.join(map(str, found))}")
    if missing := {*policies(), *mechanisms()} - {path.stem for path in site_pages.FOLDER.rglob("*.md")}:
        raise ExtensionError(f"no page of {', '.join(sorted(missing))}")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", look_for_other_hosts)
