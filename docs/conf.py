"""How Sphinx builds this documentation: `make docs`."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

import wideberth

project = "wideberth"
author = "The wideberth developers"
copyright = author
version = release = wideberth.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "code"  # single backquotes in docstrings are code
nitpicky = True
#: What docstrings call a type, and no page of this documentation describes.
nitpick_ignore_regex = [("py:.*", r"(?!wideberth\.).*")]

# -- text ----------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# -- reference -----------------------------------------------------------------

autosummary_generate = True
#: Pages are called what the objects are called: api/RobustLinearSVC.html.
autosummary_filename_map = {f"wideberth.{name}": name for name in wideberth.__all__}
del autosummary_filename_map["wideberth.path"]  # some file systems take it for Path
autodoc_typehints = "none"  # numpydoc says it in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# -- gallery -------------------------------------------------------------------

#: From what a user asks first to what only some ask.
EXAMPLES = [
    "plot_ruler.py",
    "plot_certified_accuracy.py",
    "plot_raw_units.py",
    "plot_categories.py",
    "plot_two_instruments.py",
    "plot_galaxies.py",
    "plot_nuclei.py",
    "plot_catalogue.py",
    "plot_no_gain.py",
    "plot_cross_validation.py",
    "plot_missing_values.py",
    "plot_box_noise.py",
    "plot_few_features.py",
    "plot_wrong_labels.py",
    "plot_digits.py",
    "plot_certificate.py",
    "plot_screening.py",
]


class ExampleOrder(FileNameSortKey):
    """The order of `EXAMPLES`; a file that is not listed there fails the build."""

    def __call__(self, filename):
        return EXAMPLES.index(filename)


sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).parents[1] / "examples"),
    "gallery_dirs": "gallery",
    "within_subsection_order": ExampleOrder,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "doc_module": ("wideberth",),
    "backreferences_dir": None,
    "write_computation_times": False,  # that page would load scripts from elsewhere
}

suppress_warnings = ["config.cache"]  # the order is a class, which cannot be cached

# -- pages ---------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"wideberth {release}"
html_static_path = ["_static"]
html_css_files = ["wideberth.css"]
html_show_sourcelink = False
html_sidebars = {"*": [], "api": ["sidebar-nav-bs"]}  # nothing to show beside others
toc_object_entries_show_parents = "hide"
html_theme_options = {
    "logo": {"text": "wideberth"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# -- mathematics ---------------------------------------------------------------
# MathJax is one file of the site itself, glyphs included: no page needs the network.

_MATHJAX = distribution("sphinx-mathjax-offline").locate_file(
    "sphinx-mathjax-offline/static/mathjax/tex-svg.js"
)
html_static_path.append(str(_MATHJAX))
mathjax_path = "tex-svg.js"
