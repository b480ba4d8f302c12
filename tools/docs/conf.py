"""The Sphinx configuration of the documentation site (`make docs`). It uses the pages of the repository as they are.

Building and reading the site needs no network: MathJax comes from an installed package and is copied into the site.
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2]))

import bayesdp
from tools.docs import navigation, reference
from tools.docs.outputs import parted

project = "bayesdp"
author = "The bayesdp maintainers"
release = bayesdp.__version__
project_copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton"]
root_doc = navigation.FRONT.removesuffix(".md")
include_patterns = list(navigation.all_pages())
exclude_patterns = [".*", "site", "build", "dist", "demo-output", "src", "tests", "benchmarks", "tools"]

# Markdown as on GitHub: mathematics between dollar signs, anchors from headings.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 6
myst_dmath_double_inline = True

# MathJax, as on GitHub. It loads its fonts and extensions from its own folder.
mathjax_path = "mathjax/tex-chtml.js"
mathjax_config_path = "mathjax.js"
MATHJAX = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")

default_role = "code"
smartquotes = False  # keeps the hyphens of "--order-by"
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
suppress_warnings = ["ref.python"]  # two classes are named Finding; a signature with one links to the first

html_theme = "furo"
html_title = "bayesdp"
html_static_path = ["style.css", "search.js"]
html_css_files = ["style.css"]
html_js_files = ["search.js"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": False}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def place(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the navigation to pages that have other pages below them."""
    source[0] += navigation.toctrees(f"{name}.md")


def mark(_: Sphinx, tree: nodes.document) -> None:
    """Mark tables of text: their lines must not wrap, while those of sentences beside them do (style.css)."""
    for block in list(tree.findall(nodes.literal_block)):
        pieces = parted(block.astext())
        parts = []
        for number, (table, text) in enumerate(pieces):
            part = block.copy()
            part.rawsource = text
            part += nodes.Text(text)
            part["classes"] = [
                *block["classes"],
                *(["table-of-text"] if table else []),
                *(["goes-on"] if number < len(pieces) - 1 else []),
            ]
            parts.append(part)
        block.replace_self(parts)


def bundle(app: Sphinx, error: Exception | None) -> None:
    """Copy MathJax into the site, and make the front page its index."""
    package = find_spec("sphinx-mathjax-offline")
    if error is not None or app.builder.name != "html":
        return
    if package is None or package.origin is None:
        raise RuntimeError("MathJax is not installed: pip install 'bayesdp[docs]'")
    source, target = Path(package.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for part in MATHJAX:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copyfile(source / part, target / part)
    shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Connect the functions of this module and of `reference`."""
    app.connect("source-read", place)
    app.connect("doctree-read", mark)
    app.connect("build-finished", bundle)
    reference.setup(app)
