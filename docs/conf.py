"""Sphinx settings of the site, which `make docs` builds into site/. A page loads nothing from other hosts.

The pages are Markdown, and readable in the repository too. `_extensions` has the additions of the site.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "pyspark-pulsar"
copyright = "the pyspark-pulsar authors, Apache License 2.0"  # noqa: A001  # Sphinx's name
_CARGO = Path(__file__).parents[1] / "kernel" / "Cargo.toml"
release = version = tomllib.loads(_CARGO.read_text())["package"]["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",  # Args, Returns and Raises as Google writes them
    "sphinx_copybutton",
    "docstrings",
    "pictures",
    "root_pages",
]
exclude_patterns = ["_extensions"]
suppress_warnings: list[str] = []  # every warning fails `make docs`
nitpicky = False  # annotations name classes of PySpark and pyarrow, which are on no page

# Anchors as the usual forges make them, so that links work in the repository as on the site.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
myst_links_external_new_tab = False

default_role = "code"  # docstrings write `names` with single backticks
# Docstrings are the same without the kernel, so a clone in which it was not compiled builds the site too.
autodoc_mock_imports = [] if find_spec("pyspark_pulsar._kernel") else ["pyspark_pulsar._kernel"]
napoleon_use_ivar = True  # attributes as a list; autodoc documents each of them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "pyspark-pulsar"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/logo.svg"
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
html_sidebars = {"index": []}
# "none" would be text to copy; prompts and output are not.
copybutton_exclude = ".linenos, .gp, .go"
html_theme_options = {
    "logo": {"text": "pyspark-pulsar", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navbar_end": ["version-switcher", "theme-switcher"],
    "switcher": {"json_url": "_static/versions.json", "version_match": release},
    "check_switcher": False,  # root_pages writes that file with the build
    "search_as_you_type": True,
    "search_bar_text": "Search",
    "show_toc_level": 2,
    "collapse_navigation": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "github-dark",
}
