// Charts keep the width that they have on the screen, so the page is printed smaller (see app.css). A sheet of A4 with
// narrow margins is 700 pixels wide.
addEventListener("beforeprint", () => {
  const widths = [...document.querySelectorAll("[data-testid=stMain] [data-testid=stVerticalBlock]")]
    .map(each => each.clientWidth);
  const charts = document.querySelector("[data-testid=stMain] .js-plotly-plot");
  document.documentElement.style.setProperty("--paper", charts ? Math.min(1, 700 / Math.max(...widths)) : 1);
});

// A control that the page draws anew, as each that changes the experiment, keeps the focus: else every press of a key
// would be the last one.
let focused = null;
const named = element => element.tagName + (element.ariaLabel || element.innerText);
addEventListener("focusin", ({ target }) => { focused = [target, named(target)]; });
new MutationObserver(() => {
  if (!focused || focused[0].isConnected || document.activeElement !== document.body) return;
  const again = [...document.querySelectorAll(focused[0].tagName)].find(each => named(each) === focused[1]);
  again?.focus({ preventScroll: true });
}).observe(document.body, { childList: true, subtree: true });

// Asked once for a ground: should the server not believe it, the page is not drawn for ever.
let asked = null, timer = null;

export default function ({ parentElement, data, setTriggerValue }) {
  document.getElementById("room")?.remove();
  choose = curve => setTriggerValue("curve", curve);
  const look = () => {
    for (const section of document.querySelectorAll("[data-testid=stTopNavSection]"))
      section.setAttribute("aria-current", section.innerText.trim() === data.section);
    const style = getComputedStyle(parentElement.host ?? parentElement);
    const ground = style.getPropertyValue("--st-background-color").trim();
    if (!/^#[0-9a-f]{6}$/i.test(ground)) return;
    const [red, green, blue] = [1, 3, 5].map(place => parseInt(ground.slice(place, place + 2), 16));
    const dark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
    if (dark === data.dark) asked = null;
    else if (asked !== ground) setTriggerValue("switched", (asked = ground));
  };
  clearInterval(timer);  // of the run before, which knows the ground of then
  timer = setInterval(look, 300);
  look();
  return () => clearInterval(timer);
}
