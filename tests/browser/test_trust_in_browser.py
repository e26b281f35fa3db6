"""Trust: a hurried reader gets pictures first, and few words."""

from __future__ import annotations

from collections.abc import Callable

from visitor import Visitor

Visits = Callable[..., Visitor]
HEIGHT, MOST_FIRST, MOST = 900, 150, 600
# Words that can be seen in the first window and on the whole page, folds closed, without those inside charts.
COUNT = """height => {
  const main = document.querySelector('[data-testid=stMain]'), found = {first: 0, all: 0};
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    range.selectNodeContents(node);
    if (!node.parentElement.checkVisibility()) continue;
    const box = [...range.getClientRects()].find(each => each.width > 0 && each.height > 0);
    if (!box || node.parentElement.closest('script, style, .js-plotly-plot, [data-testid=stIconMaterial]')) continue;
    const words = node.textContent.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length;
    found.all += words;
    found.first += box.top + main.scrollTop < height ? words : 0;
  }
  return found; }"""


def test_trust_has_pictures_first_and_few_words(visits: Visits) -> None:
    visitor = visits("/trust", width=1400)
    visitor.element("trust-curves").locator(".main-svg").first.wait_for()
    visitor.settle()
    found = visitor.tab.evaluate(COUNT, HEIGHT)
    assert 20 < found["first"] <= MOST_FIRST and found["all"] <= MOST, found
    pictures = [image.bounding_box() for image in visitor.main().locator("img[alt]").all()]
    assert len(pictures) == 6 and all(box["y"] + box["height"] <= HEIGHT for box in pictures)
    slider = visitor.main().get_by_role("slider").first.bounding_box()
    assert slider["y"] > max(box["y"] for box in pictures)  # the pictures come first
