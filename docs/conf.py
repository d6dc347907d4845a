"""How Sphinx builds the documentation: `make docs`."""

import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent))
import reference

from jigsaw.provenance import VERSION

project = "jigsaw"
version = release = VERSION
copyright = "the authors of jigsaw; MIT licence"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxarg.ext"]
default_role = "literal"  # what stands in `backticks` in docstrings
highlight_language = "none"
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "jigsaw"
html_show_sourcelink = False


class Generated(SphinxDirective):
    """Inserts what a function of `reference` says of the code as it is."""

    required_arguments = 1

    def run(self):
        """Return the nodes of the text."""
        self.env.note_reread()
        made = getattr(reference, self.arguments[0])
        return self.parse_text_to_nodes(made(), allow_section_headings=True)


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the directive."""
    app.add_directive("generated", Generated)
