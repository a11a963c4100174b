"""Every page of the explorer: accessibility, widths, keyboard; a link restores the request."""

from typing import Any

import pytest

from langladder.faces.explorer.app import PAGES
from tests.browser.looking import Visit, settled

PATHS = ["/", *(f"/{page.name}" for page in PAGES), "/docs"]
FORMS = [f"/{page.name}" for page in PAGES]
LOOKS = [("light", 1100), ("dark", 420)]
MOST_STOPS = 600  # of the Tab key
REACHABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
LEFT = """(reachable) => [...document.querySelectorAll(reachable)]
  .filter((one) => !one.disabled && one.tabIndex >= 0 && !one.dataset.reached && (one.type !== "radio" || one.checked))
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .map((one) => one.outerHTML.slice(0, 120))"""
NAMELESS = """(reachable) => [...document.querySelectorAll(reachable)]
  .filter((one) => one.checkVisibility() && !one.labels?.length && !one.ariaLabel && !one.textContent.trim())
  .filter((one) => !one.getAttribute("aria-labelledby"))
  .map((one) => one.outerHTML.slice(0, 120))"""
REACH = """() => {
  const one = document.activeElement;
  if (one === document.body || one.dataset.reached) return true;
  one.dataset.reached = "yes";
  return false;
}"""
CHANGE = """() => {
  for (const field of document.querySelector("form[data-state]").elements) {
    if (!field.name || field.type === "hidden") continue;
    const most = field.maxLength > 0 ? field.maxLength : 1000;
    if (field.tagName === "SELECT") field.selectedIndex = field.options.length - 1;
    else if (field.type === "number") field.value = String(Math.min(field.max || 1e9, Math.max(field.min || 0, 3)));
    else if (field.type === "range") field.value = field.max;
    else if (field.type === "checkbox") field.checked = !field.checked;
    else if (field.type !== "radio") field.value = `${field.value} <b>é</b> & 猫`.slice(0, most);
  }
}"""
STATE = """() => [...document.querySelector("form[data-state]").elements]
  .filter((one) => one.name && one.type !== "hidden")
  .map((one) => [one.name, ["checkbox", "radio"].includes(one.type) ? `${one.value} ${one.checked}` : one.value])"""


def findings(page: Any) -> list[str]:
    """What axe-core finds that is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page).response["violations"]
    return [
        f"{item['impact']} {item['id']}: {node['html'][:160]}"
        for item in violations
        if item["impact"] in ("serious", "critical")
        for node in item["nodes"]
    ]


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark and narrow"])
@pytest.mark.parametrize("path", PATHS)
def test_nothing_serious_is_wrong_for_any_reader(path: str, look: tuple[str, int], visit: Visit) -> None:
    page = visit(path, *look)
    assert not findings(page)
    assert page.locator("h1").count() == 1 and page.title()
    assert page.locator("main").inner_text().strip()
    scroll_width, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert scroll_width <= inner


@pytest.mark.parametrize("path", PATHS)
def test_the_keyboard_reaches_every_control_and_each_has_a_name(path: str, visit: Visit) -> None:
    page = visit(path)
    assert not page.evaluate(NAMELESS, REACHABLE)
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate(REACH):
            break
    assert not page.evaluate(LEFT, REACHABLE)


@pytest.mark.parametrize("path", FORMS)
def test_a_shared_link_brings_back_what_was_requested(path: str, visit: Visit) -> None:
    page = visit(path, refused=True)  # what is asked then may make no sense
    page.evaluate(CHANGE)
    state = page.evaluate(STATE)
    page.evaluate("document.querySelector('form[data-state]').noValidate = true")
    page.evaluate("document.querySelector('form[data-state]').requestSubmit()")
    settled(page)
    shared = page.evaluate("location.pathname + location.search")
    assert "?" in shared
    assert visit(shared, refused=True).evaluate(STATE) == state


@pytest.mark.parametrize("path", ["/?%00=%ff&family=%3Cimg%20src=x%3E", "/read?text=%22%3E%3Cscript%3E", "/nowhere"])
def test_a_strange_address_is_answered(path: str, visit: Visit, address: str) -> None:
    if path == "/nowhere":
        import urllib.error
        import urllib.request

        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}{path}")
        return
    assert visit(path).locator("h1").count() == 1
