"""Sphinx settings: `make docs` builds without a warning or fails."""

from roofline import __version__

project = "roofline"
author = "the roofline authors"
copyright = "the roofline authors, Apache-2.0"
release = version = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
templates_path: list[str] = []

html_theme = "furo"
html_title = "roofline"
html_show_sourcelink = False
nitpicky = True
# Console blocks hold real output, which is no language.
highlight_language = "none"

man_pages = [("man", "roofline", "why is this not faster, and what do I do next", author, 1)]
