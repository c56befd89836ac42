"""The frame of the page: style, script, contents. Nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from analysis.report.html import slug

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #5d6670; --line: #d5dae0; --mark: #f1f4f7;
  --link: #1f5f99; --warn: #9a4a12; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --paper: #14171a; --faint: #a2acb6; --line: #363d44;
  --mark: #1e2328; --link: #7fb6e8; --warn: #e9a06b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; margin-top: 2.2rem; border-top: 1px solid var(--line);
  padding-top: 1rem; } h3 { font-size: 1.05rem; margin-top: 1.6rem; }
a { color: var(--link); } nav ol { columns: 18rem; padding-left: 1.4rem; font-size: .92rem; }
.lead li { margin: .35rem 0; } .notes, .faint { color: var(--faint); font-size: .88rem; } .warn { color: var(--warn); }
.wide { overflow-x: auto; margin: .8rem 0 1.2rem; }
table { border-collapse: collapse; overflow-wrap: normal; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .2rem 0 .4rem; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
.n { text-align: right; } thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
tbody th { font-weight: 500; position: sticky; left: 0; background: var(--paper); }
tbody tr:hover > * { background: var(--mark); }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: inherit; } th button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
td[data-verdict=superior] { color: #3a9d5d; font-weight: 600; }
td[data-verdict=inferior] { color: #d9622b; font-weight: 600; }
figure { margin: 1rem 0; max-width: 46rem; } figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .9rem; color: var(--faint); } details { margin: .4rem 0; } summary { cursor: pointer; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 0 1.5rem; }
@media (max-width: 40rem) { body { padding: .7rem; } th, td { padding: .25rem .4rem; } }
@media print { body { max-width: none; font-size: 10pt; background: #fff; color: #000; } nav { display: none; }
  .wide { overflow: visible; } table { font-size: 6.5pt; width: 100%; overflow-wrap: anywhere; }
  th, td { white-space: normal; padding: .1rem .2rem; } th button { white-space: normal; overflow-wrap: anywhere; }
  .pair { grid-template-columns: 1fr 1fr; }
  figure, tr { break-inside: avoid; } h2, h3, caption { break-after: avoid; } }
"""

_SCRIPT = """
document.querySelectorAll("table").forEach(function (table) {
  var heads = table.tHead.rows[0].cells;
  Array.prototype.forEach.call(heads, function (head, column) {
    head.querySelector("button").addEventListener("click", function () {
      var down = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0];
      var key = function (row) { var c = row.cells[column]; var k = c.getAttribute("data-sort");
        return k === null ? c.textContent : parseFloat(k); };
      var rows = Array.prototype.slice.call(body.rows);
      rows.sort(function (a, b) { var x = key(a), y = key(b);
        var missing = (x === "n/a") - (y === "n/a"); if (missing) { return missing; }
        var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return down ? -order : order; });
      rows.forEach(function (row) { body.appendChild(row); });
      Array.prototype.forEach.call(heads, function (h) { h.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  });
});
"""


def page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Give the whole page: (heading, HTML) sections in order, with contents."""
    contents = "".join(f'<li><a href="#{slug(h)}">{escape(h)}</a></li>' for h, _ in sections)
    body = "".join(f'<section id="{slug(h)}"><h2>{escape(h)}</h2>{inner}</section>' for h, inner in sections)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f"{body.replace('</section>', '</section><nav aria-label=contents><ol>' + contents + '</ol></nav>', 1)}"
        f"</main><script>{_SCRIPT}</script></body></html>\n"
    )
