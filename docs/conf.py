"""How Sphinx builds this documentation: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

import wideberth

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.stored import substitutions

project = "wideberth"
author = "The wideberth developers"
copyright = author
version = release = wideberth.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "_radius.md"]
templates_path = ["_templates"]
default_role = "code"  # single backquotes in docstrings are code
nitpicky = True
#: What docstrings call a type, and no page of this documentation describes.
nitpick_ignore_regex = [("py:.*", r"(?!wideberth\.).*")]

# -- text ----------------------------------------------------------------------

myst_enable_extensions = [
    "amsmath",
    "attrs_block",
    "colon_fence",
    "dollarmath",
    "substitution",
]
myst_substitutions = substitutions()  # figures that campaigns have stored
myst_heading_anchors = 3
myst_dmath_double_inline = True

# -- reference -----------------------------------------------------------------

autosummary_generate = True
#: Pages are called what the objects are called: api/RobustLinearSVC.html.
autosummary_filename_map = {f"wideberth.{name}": name for name in wideberth.__all__}
autodoc_typehints = "none"  # numpydoc says it in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

#: Formulas as docstrings write them for a terminal, and as pages set them.
FORMULAS = {
    "½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i [1 − y_i(⟨w,x_i⟩ + b) + ρ_i Ω(w)]_+": (
        r"\tfrac12\lVert w\rVert^2 + \tfrac12\lambda_b b^2 + s_0\,\Omega(w) "
        r"+ \sum_i c_i \bigl[1 - y_i(\langle w,x_i\rangle + b) "
        r"+ \rho_i\,\Omega(w)\bigr]_+"
    ),
    "½‖w‖² + s₀Ω(w) + Σ c_i max(τ(r_i + ρ_iΩ(w)), (1−τ)(ρ_iΩ(w) − r_i))": (
        r"\tfrac12\lVert w\rVert^2 + s_0\,\Omega(w) + \sum_i c_i \max\bigl("
        r"\tau(r_i + \rho_i\,\Omega(w)),\ (1-\tau)(\rho_i\,\Omega(w) - r_i)\bigr)"
    ),
}


def set_formulas(app, what, name, obj, options, lines):
    """Set the formulas of a docstring."""
    for place, line in reversed(list(enumerate(lines))):
        for text, formula in FORMULAS.items():
            before, found, after = line.partition(text)
            if found:
                indent = line[: len(line) - len(line.lstrip())] * (not before.strip())
                block = ["", f"{indent}.. math:: {formula}", "", after.lstrip(" .,")]
                lines[place : place + 1] = [before.rstrip(), *block]
                if not before.strip():  # a block of its own, which "::" announced
                    above = max(k for k in range(place) if lines[k].strip())
                    lines[above] = lines[above].replace("::", ":")
                    lines[place + 2] = lines[place + 2].lstrip()


#: Where pages of the reference send readers on: guides first, then examples.
GUIDES = {
    "RobustLinearSVC": [
        "which-knob",
        "noise",
        "error-bars",
        "wrong-labels",
        "gallery/first_steps/plot_raw_units",
        "gallery/first_steps/plot_ruler",
        "gallery/error_bars/plot_catalogue",
    ],
    "RobustLinearSVCCV": [
        "paths",
        "proof",
        "gallery/first_steps/plot_cross_validation",
    ],
    "RobustKernelSVC": ["curved", "theory/curved"],
    "MeasuredSVC": [
        "error-bars",
        "theory/measured",
        "gallery/error_bars/plot_galaxies",
        "gallery/error_bars/plot_missing_values",
    ],
    "TrueFeatures": [
        "error-bars",
        "theory/population",
        "gallery/error_bars/plot_nuclei",
    ],
    "RobustLinearRegressor": ["regression", "gallery/error_bars/plot_redshifts"],
    "RobustLinearRegressorCV": ["regression", "proof"],
    "MeasuredRegressor": ["regression", "theory/regression"],
    "make_robust_pipeline": [
        "noise",
        "categories",
        "gallery/first_steps/plot_raw_units",
        "gallery/first_steps/plot_categories",
    ],
    "Box": ["noise", "few-features", "gallery/sparse_models/plot_box_noise"],
    "CrossPolytope": ["noise", "few-features"],
    "Correlated": ["noise", "gallery/error_bars/plot_error_ellipses"],
    "radius_from_std": ["choosing-a-radius"],
    "robust_scorer": ["paths", "choosing-a-radius"],
    "open_data": ["scaling", "gallery/large_data/plot_out_of_core"],
    "solve": [
        "the-answer",
        "details",
        "theory/problem",
        "gallery/how_it_works/plot_certificate",
    ],
    "screen": ["theory/tests", "gallery/how_it_works/plot_screening"],
    "path": ["paths", "theory/ranges"],
    "load_model": ["command-line"],
}
autosummary_context = {"guides": GUIDES}

# -- figures of pages ----------------------------------------------------------

plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 120)]

# -- gallery -------------------------------------------------------------------

#: Groups of examples, and the order in each: from what a user asks first to what only
#: some ask.
EXAMPLES = {
    "first_steps": [
        "ruler",
        "raw_units",
        "categories",
        "certified_accuracy",
        "cross_validation",
        "digits",
    ],
    "error_bars": [
        "error_ellipses",
        "two_instruments",
        "galaxies",
        "redshifts",
        "nuclei",
        "catalogue",
        "missing_values",
        "no_gain",
    ],
    "sparse_models": ["box_noise", "few_features"],
    "wrong_labels": ["wrong_labels", "suspects"],
    "large_data": ["out_of_core"],
    "how_it_works": ["certificate", "screening"],
}


class ExampleOrder(FileNameSortKey):
    """The order of `EXAMPLES`; a file that is not listed there fails the build."""

    def __call__(self, filename):
        group = EXAMPLES[Path(self.src_dir).name]
        return group.index(filename.removeprefix("plot_").removesuffix(".py"))


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "subsection_order": ExplicitOrder([f"../examples/{group}" for group in EXAMPLES]),
    "gallery_dirs": "gallery",
    "within_subsection_order": ExampleOrder,
    "download_all_examples": False,
    "capture_repr": (),
    "show_signature": False,
    "remove_config_comments": True,
    "doc_module": ("wideberth",),
    "backreferences_dir": None,
    "write_computation_times": False,  # that page would load scripts from elsewhere
}

suppress_warnings = ["config.cache"]  # the order is a class, which cannot be cached


def figure_first(app, docname, source):
    """Move the first figure of an example to above its code."""
    image = re.search(r"\n\.\. image-sg::.*?\n\n(?=\S|\.\.)", source[0], re.DOTALL)
    code = re.search(r"\n\.\. GENERATED FROM PYTHON SOURCE LINES", source[0])
    if "/plot_" not in docname or image is None or code is None:
        return
    start, end = image.span()
    text = source[0][:start] + "\n" + source[0][end:]
    first = re.search(r"\n\.\. GENERATED FROM PYTHON SOURCE LINES", text).start()
    intro = re.compile(r"\n\.\. code-block:: Python").search(text, first)
    place = text.rfind("\n.. GENERATED FROM", 0, intro.start())
    source[0] = text[:place] + image.group() + text[place:]


def setup(app):
    """Connect what Sphinx calls while it reads pages."""
    app.connect("source-read", figure_first)
    app.connect("autodoc-process-docstring", set_formulas, priority=400)


# -- pages ---------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"wideberth {release}"
html_static_path = ["_static"]
html_css_files = ["wideberth.css"]
html_show_sourcelink = False
html_sidebars = {"**": ["globaltoc.html"]}  # all pages, under their captions
toc_object_entries_show_parents = "hide"
html_theme_options = {
    "logo": {"text": f"wideberth {release}"},
    "navbar_align": "left",
    "navbar_center": [],
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
