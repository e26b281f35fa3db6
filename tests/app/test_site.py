"""The lab as plain files: links lead somewhere, no one else is asked, no script is needed, pages are small."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bandit_core.literature import papers
from bandit_core.spec.errors import InputError
from bandit_core.studies.benchmark_scores import benchmark
from ui import menu
from ui.learn.course import PARTS, STEPS
from ui.site import build, frame, learn

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]  # it is written once
APP = "https://lab.example/app"
MAX_BYTES = 300_000  # of a page and the picture it begins with: 1.5 s at 1.6 Mbit/s, without compression


class Page(HTMLParser):
    """What a page links to and shows, and whether it runs anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.names: set[str] = set()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        message = dict(attrs)
        self.tags.append(tag)
        self.names |= {message["id"] or ""} if "id" in message else set()
        if tag == "a":
            self.links.append(message["href"] or "")
        if tag == "img":
            self.pictures.append(message)
        assert not any(name.startswith("on") or name == "style" for name in message), message


@pytest.fixture(scope="module", autouse=True)
def few_pictures() -> Iterator[None]:
    """Two pictures of a step are like twelve, and three papers like all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "MAX_STOPS", 2)
        some = papers.papers()[::5]
        patch.setattr(papers, "papers", lambda: some)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    written = build.write(str(place), APP, ("two-treatments",))
    assert written is not None and all(path.exists() for path in written)
    return place


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def test_every_link_leads_to_a_file_or_into_the_app(folder: Path, pages: dict[Path, Page]) -> None:
    outside = {paper.link for paper in papers.papers()}
    known = {page.address for page in menu.pages()}
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(APP):
                assert re.split(r"[?]", link[len(APP) + 1 :])[0] in known, link
            elif link.startswith("#"):
                assert link[1:] in page.names, (path, link)
            elif link not in outside:
                assert (path.parent / link).exists(), (path, link)
        assert all((path.parent / str(picture["src"])).exists() and picture["alt"] for picture in page.pictures)
    assert {place for place in frame.PLACES if not (folder / place).exists()} == set()


def test_nobody_else_is_asked_and_only_lessons_have_a_script(folder: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        text = path.read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        is_lesson = path.parent.name == "lessons" and path.name != "index.html"
        assert ("script" in page.tags) == is_lesson and not {"link", "iframe", "object"} & set(page.tags)
        assert is_lesson or page.pictures or "table" in page.tags or path.name == "index.html"
    for picture in folder.rglob("*.svg"):
        addresses = set(re.findall(r'(?:href|src)="(?!#)([^"]*)"', picture.read_text(encoding="utf-8")))
        assert not addresses, (picture, addresses)


def test_a_page_and_its_first_picture_are_small(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        at_once = [path.parent / str(each["src"]) for each in page.pictures if each.get("loading") != "lazy"]
        assert len(at_once) <= 1
        if path.parent.name != "lessons" or path.name == "index.html":
            assert sum(os.path.getsize(each) for each in (path, *at_once)) < MAX_BYTES, path


def test_every_position_of_a_step_has_its_button_its_picture_and_its_sentence(pages: dict[Path, Page]) -> None:
    found = [page for path, page in pages.items() if path.parent.name == "learn" and path.name != "index.html"]
    assert len(found) == len(STEPS)
    assert sum(len(page.pictures) for page in found) == sum(len(learn.shown(step)) for step in PARTS)
    for step in PARTS:
        assert step.slider.start in learn.shown(step) and len(learn.shown(step)) <= learn.MAX_STOPS
        assert any({f"{step.name}-{place}" for place in range(len(learn.shown(step)))} <= page.names for page in found)


def test_papers_and_benchmark_tell_what_the_app_tells(folder: Path, pages: dict[Path, Page]) -> None:
    for paper in papers.papers():
        shown = pages[folder / "papers" / f"{paper.name}.html"].pictures
        assert len(shown) == sum(bool(figure.presets) for figure in paper.figures)
    assert set(benchmark()["contest"]) <= pages[folder / "benchmark.html"].names


def test_without_an_app_nothing_leads_into_one(tmp_path: Path) -> None:
    site = frame.Site()
    assert site.hosted("explore", {"eps": "1"}, "Open it") == ""
    assert 'href="https://x/explore?eps=1"' in frame.Site("https://x").hosted("explore", {"eps": "1"}, "Open it")


def test_what_cannot_be_written_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError) as message:
        build.write(str(tmp_path / "file"), run=lambda positions: pytest.fail("computed"))
    assert message.value.issues[0].path == "out"
    with pytest.raises(InputError):
        build.write(str(tmp_path / "site"), lessons=("nothing",))


def test_an_interrupted_site_is_not_written(tmp_path: Path) -> None:
    assert build.write(str(tmp_path / "site"), lessons=("two-treatments",), run=lambda positions: None) is None
    assert not (tmp_path / "site").exists()
