"""Builds the long description: the README with links that also work where there is no checkout beside it."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# The target of a link or, where the text before it is `![...]`, of a picture; a picture can be the text of a link.
_TARGET = re.compile(r"(!\[[^\]]*)?\]\((?![a-z]+:|#)([^)]+)\)")


class AbsoluteLinks(MetadataHookInterface):
    """Sets the project's `readme`; its links lead to `project.urls.Repository`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, its relative links made absolute, to the metadata."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(readme, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_links(text: str, repository: str) -> str:
    """Return Markdown whose relative links and pictures are those of the repository's default branch."""

    def absolute(match: re.Match[str]) -> str:
        picture, target = match.groups()
        return f"{picture or ''}]({repository}/{'raw' if picture else 'blob'}/HEAD/{target})"

    return _TARGET.sub(absolute, text)
