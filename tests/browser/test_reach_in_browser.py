"""Everyone can use it: on a phone, by keyboard, by screen reader, in light and dark, without motion, embedded."""

from collections.abc import Callable
from http.client import HTTPConnection

from playwright.sync_api import expect
from visitor import PHONE, Server, Visitor

from ui import menu, theme

Visits = Callable[..., Visitor]
SMALL = "arms=0.9,0.5&lines=ucb,heldp-ucb-b(2)&T=1000&n=4"


def test_the_menu_is_one_row_and_reaches_every_page(visits: Visits) -> None:
    visitor = visits(f"/theory?{SMALL}")
    header, standing = visitor.tab.get_by_test_id("stHeader"), [page for page in menu.pages() if not page.section]
    entries = header.locator("a, [data-testid=stTopNavSection]")
    for width in (1400, 1024):
        visitor.tab.set_viewport_size({"width": width, "height": 900})
        expect(entries).to_have_count(len(standing) + len({page.section for page in menu.pages()} - {""}))
        boxes = [entry.bounding_box() for entry in entries.all()]
        assert len({box["y"] + box["height"] / 2 for box in boxes}) == 1, width
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] >= 24 for box in boxes), width
    for section in dict.fromkeys(page.section for page in menu.pages() if page.section):
        header.get_by_test_id("stTopNavSection").filter(has_text=section).click()
        names = [name.strip() for name in visitor.tab.get_by_role("menuitem").locator("p").all_inner_texts()]
        assert names == [page.title for page in menu.pages() if page.section == section]
        visitor.tab.keyboard.press("Escape")
    visitor.open_page("Errata")
    visitor.tab.wait_for_url("**/errata**")
    visitor.settle()
    section = visitor.tab.get_by_role("button", name="Reference")  # now by keys
    expect(section).to_have_attribute("aria-current", "true")
    section.press("Enter")
    expect(visitor.tab.get_by_role("menuitem", name="Errata")).to_have_attribute("aria-current", "page")
    visitor.tab.keyboard.press("Escape")
    expect(visitor.tab.get_by_role("menuitem")).to_have_count(0)
    expect(section).to_be_focused()


def test_an_unknown_address_says_so_and_offers_the_nearest(visits: Visits) -> None:
    visitor = visits("/heavytails")
    expect(visitor.main().get_by_test_id("stAlert")).to_have_count(1)
    expect(visitor.main().get_by_test_id("stAlert")).to_contain_text("heavytails")
    expect(visitor.tab.get_by_role("dialog")).to_have_count(0)
    expect(visitor.main().get_by_role("link", name="Heavy tails?")).to_be_visible()


def test_a_phone_opens_sidebar_and_menu_by_keyboard_and_reaches_every_page_in_two_taps(visits: Visits) -> None:
    phone = visits(f"/explore?{SMALL}", **PHONE)
    phone.sees("picked the best option")
    phone.settle()
    expect(phone.main().locator("h1")).to_have_css("font-size", "30.4px")
    for _ in range(12):
        phone.tab.keyboard.press("Tab")
        if phone.tab.evaluate("document.activeElement.closest('[data-testid=stExpandSidebarButton]') !== null"):
            break
    phone.tab.keyboard.press("Enter")
    expect(phone.tab.get_by_test_id("stSidebar").get_by_role("button", name="Examples")).to_be_visible()
    phone.tab.get_by_test_id("stSidebarCollapseButton").get_by_role("button").tap()
    phone.tab.get_by_test_id("stExpandSidebarButton").tap()
    links = phone.tab.get_by_test_id("stSidebarNav").get_by_role("link")
    expect(links).to_have_count(len(menu.pages()))
    links.get_by_text("Errata", exact=True).tap()
    phone.tab.wait_for_url("**/errata**")


def test_a_lesson_in_a_frame_is_the_picture_alone(visits: Visits) -> None:
    lesson = visits(f"/explore?{SMALL}&embed=true&controls=off")
    lesson.sees("At ε = 2,")
    assert len(lesson.chart()) >= 2
    assert lesson.tab.get_by_test_id("stSidebar").count() == 0
    assert lesson.tab.get_by_role("link", name="Your numbers").count() == 0
    assert lesson.tab.get_by_test_id("stMainMenuButton").count() == 0
    lesson.tab.set_content(f'<iframe src="{lesson.tab.url}" title="lesson" width="800" height="600"></iframe>')
    framed = lesson.tab.frame_locator("iframe")
    expect(framed.locator(".js-plotly-plot .main-svg").first).to_be_visible()


def test_a_picture_follows_a_switch_between_light_and_dark(visits: Visits) -> None:
    visitor = visits("/explore?arms=0.9,0.5&lines=heldp-ucb-b(2),ucb-cf(2)&T=1000&n=4")  # shades, as they share a level

    def shade(light_or_dark: str) -> str:
        visitor.tab.emulate_media(color_scheme=light_or_dark)
        wanted = theme.policy_colour("heldp-ucb-b", light_or_dark == "dark")
        visitor.tab.wait_for_function(
            "shade => document.querySelector('.js-plotly-plot')?.data.some(trace => trace.line?.color === shade)",
            arg=wanted,
        )
        return wanted

    assert shade("light") != shade("dark")
    visitor.settle()
    app = visitor.tab.get_by_test_id("stApp")
    states = "async e => { const seen = []; for (let n = 0; n < 10; n++) { seen.push(e.dataset.testScriptState); "
    states += "await new Promise(go => setTimeout(go, 100)); } return seen; }"
    assert set(app.evaluate(states)) == {"notRunning"}  # one more run for each switch, no more
    watcher = visitor.tab.locator(".st-key-theme-watch")
    assert watcher.bounding_box()["height"] == 0
    shade("light")


def answer(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """Status and beginning of the answer to a request that is sent as it is."""
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read(4000) if reply.status != 101 else b""
    finally:
        connection.close()


def test_the_server_gives_no_file_and_lets_no_other_site_in(server: Server) -> None:
    for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/static/../../app.py", "/media/%2e%2e/app.py"):
        status, body = answer(server, path)
        assert status == 400 and b"root:" not in body
    for path in ("/app.py", "/app/static/app.py", "/.streamlit/config.toml", "/requirements.txt"):
        _, body = answer(server, path)
        assert b"streamlit>=" not in body and b"maxUploadSize" not in body and b"st.navigation" not in body
    assert answer(server, "/_stcore/upload_file/a/b", "PUT")[0] == 403
    socket = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    assert answer(server, "/_stcore/stream", **socket, Origin="https://evil.example")[0] == 403
    assert answer(server, "/_stcore/stream", **socket, Origin=server.url)[0] == 101
    assert answer(server, "/_stcore/health")[1] == b"ok"
