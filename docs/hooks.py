"""Puts what lives outside docs/ on the site, and leads every relative link to where it goes there.

The same links work where the repository is browsed: a page of docs/ points to `../benchmarks/RESULTS.md`, and the site
has that file as a page. What the site does not have, such as an example, is linked in the repository.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

# Files of the repository, and the pages that they are.
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "benchmarks/RESULTS.md": "results.md"}
PICTURES = "benchmarks/results/*.png"

# Code, in which formulas look like links, or the target of a relative link or picture, without its anchor.
_TARGET = re.compile(r"```.*?```|`[^`]*`|(?<=\]\()(?![a-z]+:|#|/)([^)#\s]+)", flags=re.DOTALL)


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages and pictures that live outside docs/."""
    root = Path(config.config_file_path).parent
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(root / source)))
    for picture in sorted(root.glob(PICTURES)):
        files.append(File.generated(config, picture.relative_to(root).as_posix(), abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Return the page with its relative links leading to pages of the site, or else to the repository.

    Raises:
        PluginError: If a link leads to nothing.
    """
    root, here = Path(config.config_file_path).parent, page.file.src_uri
    sources = {site: source for source, site in PAGES.items()}
    folder = posixpath.dirname(sources.get(here, f"docs/{here}"))

    def led(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        if not (root / target).exists():
            raise PluginError(f"{sources.get(here, here)} links to {match[1]}, which does not exist")
        on_site = PAGES.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(on_site) is None:
            return f"{config.repo_url}/blob/HEAD/{target}"
        return posixpath.relpath(on_site, posixpath.dirname(here) or ".")

    return _TARGET.sub(led, markdown)
