"""The report: one self-contained page, looked at in a browser where one is installed."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from analysis_synth import Sweep, write_sweep

from analysis.report.cli import main

VOID = {"meta", "link", "br", "img", "input", "hr"}
BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)


class Page(HTMLParser):
    """Collects ids, text, tags; fails on tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.words, self.links = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [v for k, v in attrs if k in ("href", "src", "xlink:href") and v]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)


@pytest.fixture(scope="module")
def written(records, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    assert (
        main(["--runs", str(records), "--out", str(folder / "report.html"), "--figures", str(folder / "figures")]) == 0
    )
    return folder


@pytest.fixture(scope="module")
def page(written):
    return Page((written / "report.html").read_text())


def test_it_opens_with_the_verdicts_and_the_audit(page):
    text = " ".join(page.words)
    assert text.index("Verdicts") < text.index("Audit") < text.index("Differences") < text.index("Suspect")
    assert "Superior: difffilter" in text
    assert "Recorded prompt streams: all pairs agree." in text


def test_it_is_self_contained_and_its_anchors_exist(page):
    assert page.links
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_nothing_is_fetched(written):
    text = (written / "report.html").read_text()
    addresses = set(re.findall(r"https?://[^\"'<> )]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names, not addresses
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_figures_have_text_equivalents_and_follow_the_page(page, written):
    pictures = [found for tag, found in page.tags if tag == "svg"]
    assert len(pictures) >= 8
    assert all(found.get("role") == "img" for found in pictures)
    assert [t for t, _ in page.tags].count("desc") == len(pictures)
    text = (written / "report.html").read_text()
    assert "currentColor" in text
    assert "#010203" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_every_kind_of_figure_is_there(written):
    names = {p.stem for p in (written / "figures").glob("*.svg")}
    for part in (
        "forest",
        "domains",
        "reward-all",
        "kept-frac",
        "weight-std",
        "tscl-shares",
        "tokens-generated",
        "planning",
    ):
        assert [n for n in names if part in n], part
    assert {p.stem for p in (written / "figures").glob("*.png")} == names
    assert all(p.read_bytes()[:4] == b"\x89PNG" for p in (written / "figures").glob("*.png"))


def test_tables_are_sortable(page):
    tables = [t for t, _ in page.tags].count("table")
    assert tables > 5
    assert [t for t, _ in page.tags].count("button") > 3 * tables
    keys = [found["data-sort"] for tag, found in page.tags if tag == "td" and "data-sort" in found]
    assert all(float(k) == float(k) for k in keys)


def test_the_same_source_gives_the_same_page(records, written, tmp_path):
    assert main(["--runs", str(records), "--out", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_bytes() == (written / "report.html").read_bytes()


def test_a_source_without_metrics_or_pairs(tmp_path, rng):
    root = write_sweep(tmp_path / "runs", Sweep(methods=("topk",), metrics=False), rng)
    assert main(["--runs", str(root), "--out", str(tmp_path / "r.html")]) == 0
    text = " ".join(Page((tmp_path / "r.html").read_text()).words)
    assert "Nothing could be compared" in text
    assert "no control (uniform or baseline): topk not compared" in text


def test_cut_off_metrics_are_named_in_the_audit(tmp_path, rng):
    root = write_sweep(tmp_path / "runs", Sweep(methods=("uniform", "topk"), seeds=(0, 1, 2), steps=5), rng)
    path = next(root.glob("*/*/topk/seed_1/metrics.jsonl"))
    path.write_text(path.read_text()[:-30])
    assert main(["--runs", str(root), "--out", str(tmp_path / "r.html")]) == 0
    text = " ".join(Page((tmp_path / "r.html").read_text()).words)
    audit = text[text.index("Audit: what was compared and how", text.index("Detectable")) : text.index("points]")]
    assert "row 5: the last line is cut off" in audit


def screenshot(page_path, target, width, height=2400):
    profile = target.parent / f"profile_{width}"
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
    ]
    command += [f"--window-size={width},{height}", f"--screenshot={target}", page_path.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def dumped(page_path, probe, tmp_path):
    """Give the page's DOM after its script and a probe ran."""
    probed = tmp_path / "probed.html"
    probed.write_text(page_path.read_text().replace("</body>", f"<script>{probe}</script></body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--window-size=390,2400", "--dump-dom", probed.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


PROBE = """
var wide = document.documentElement.scrollWidth > window.innerWidth;
var head = Array.from(document.querySelectorAll("thead th")).find(h => h.textContent === "delta");
head.querySelector("button").click();
var body = head.closest("table").tBodies[0], at = head.cellIndex;
var order = Array.from(body.rows).map(r => r.cells[at].textContent).join(" ");
document.title = "overflow=" + wide + ";order=" + order + ";sort=" + head.getAttribute("aria-sort");
"""

if BROWSER is not None:

    @pytest.mark.parametrize("width", [1280, 390])
    def test_screenshots(written, width):
        from matplotlib.image import imread

        target = written / f"report_{width}.png"
        screenshot(written / "report.html", target, width)
        picture = imread(target)
        assert picture.shape[1] == width
        # Ink on paper, all the way down: no blank page, no page that stops.
        quarters = [q[:, :, :3].std() for q in (picture[:600], picture[600:1200], picture[1200:1800])]
        assert min(quarters) > 0.02

    def test_on_a_phone_nothing_overflows_and_a_click_sorts(written, tmp_path):
        title = re.search(r"<title>(overflow=.*?)</title>", dumped(written / "report.html", PROBE, tmp_path))[1]
        overflow, order, sort = (part.split("=", 1)[1] for part in title.split(";"))
        assert (overflow, sort) == ("false", "ascending")
        values = [float(v) for v in order.split(" ") if v != "n/a"]
        assert values == sorted(values)
        assert order.endswith("n/a")  # the control has no delta: missing goes last
