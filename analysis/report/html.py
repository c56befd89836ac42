"""Tables and figures as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from matplotlib.figure import Figure

from analysis.plots.style import svg
from analysis.tables.table import Column, Row, Table, View, show


@dataclass(frozen=True)
class Drawn:
    """A figure with its file name, caption and text equivalent."""

    name: str
    title: str
    text: str
    figure: Figure


def figure_html(drawn: Drawn) -> str:
    """Give a figure as inline SVG with its caption and, one click away, the numbers in words."""
    picture = _unique_ids(svg(drawn.figure, drawn.title, drawn.text), drawn.name)
    words = f"<details><summary>in words</summary><p>{escape(drawn.text)}</p></details>" if drawn.text else ""
    return f"<figure>{picture}<figcaption>{escape(drawn.title)}</figcaption>{words}</figure>"


def table_html(table: Table, *, notes: bool = True) -> str:
    """Give all views of a table, and its notes as a list."""
    listed = "".join(f"<li>{escape(n)}</li>" for n in table.notes) if notes else ""
    return "".join(view_html(v) for v in table.views) + (f'<ul class="notes">{listed}</ul>' if listed else "")


def view_html(view: View) -> str:
    """Give one sortable table; a cell's full value is its sort key."""
    head = "".join(
        f'<th scope="col"{_class(c)}><button type="button">{escape(c.title)}</button></th>' for c in view.columns
    )
    body = "".join(f"<tr>{''.join(_cell(r, c, i == 0) for i, c in enumerate(view.columns))}</tr>" for r in view.rows)
    caption = f"<caption>{escape(view.title)}</caption>" if view.title else ""
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def paragraphs(lines: Iterable[str], kind: str = "li") -> str:
    """Give lines as list items or paragraphs, escaped."""
    inner = "".join(f"<{kind}>{escape(line)}</{kind}>" for line in lines)
    return f"<ul>{inner}</ul>" if kind == "li" else inner


def slug(text: str) -> str:
    """Make a name for files and anchors."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _cell(row: Row, column: Column, first: bool) -> str:
    text = escape(show(row, column))
    value = row.get(column.key.split(",")[0])
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    key = f' data-sort="{float(value)!r}"' if number and value is not None else ""
    if first:
        return f'<th scope="row"{_class(column)}{key}>{text}</th>'
    mark = f' data-verdict="{escape(str(row.get("verdict", "")))}"' if column.key == "verdict_text" else ""
    return f"<td{_class(column)}{key}{mark}>{text}</td>"


def _class(column: Column) -> str:
    return "" if column.style == "text" else ' class="n"'


def _unique_ids(picture: str, name: str) -> str:
    """Make the ids of one SVG differ from those of all others on the page."""
    prefix = slug(name)
    picture = re.sub(r'\bid="', f'id="{prefix}-', picture)
    picture = re.sub(r"url\(#", f"url(#{prefix}-", picture)
    return re.sub(r'href="#', f'href="#{prefix}-', picture)
