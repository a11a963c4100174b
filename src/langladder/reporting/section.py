"""A part of the report's page that a family declares: its heading, its template, and what the template is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes:
        id: what links to it end in.
        title: its heading, and its line in the contents.
        template: a file of reporting/templates/.
        context: the template's own names.
    """

    id: str
    title: str
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
