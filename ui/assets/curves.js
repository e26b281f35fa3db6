// Streamlit draws a chart that has changed as a new one. Its curves glide from where those of the old one were, by what
// both look like in the browser; where a browser cannot animate the `d` of a path, they are there at once.
const GLIDE = 350, DRAWN = 80;  // milliseconds; a new chart is drawn twice, as it learns its height only then
const NEAR = [3, 8, 14];  // pixels from a click to its curve
const PAIR = /(-?[\d.e-]+),(-?[\d.e-]+)/g;
const still = matchMedia("(prefers-reduced-motion:reduce)");
const charts = document.getElementsByClassName("js-plotly-plot");
const seen = new WeakSet(), last = new Map(), held = new Map();
const called = chart => /st-key-\S+/.exec(chart.closest("[class*=st-key-]")?.className)?.[0];

// The points of a curve from left to right; of an area those of its two edges.
const edges = d => {
  const all = [...d.matchAll(PAIR)].map(([, x, y]) => [+x, +y]);
  const turn = all.findIndex(([x], at) => at && x <= all[at - 1][0]);
  return turn < 0 ? [all] : [all.slice(0, turn), all.slice(turn).reverse()];
};
const heightAt = (edge, x) => {
  const at = edge.findIndex(point => point[0] >= x);
  if (at < 1) return (at ? edge.at(-1) : edge[0])[1];
  const [[x0, y0], [x1, y1]] = [edge[at - 1], edge[at]];
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0 || 1);
};
// From the path `before` to the path `now`, with a point wherever either has one; null where one is of another kind.
const between = (before, now) => {
  const [was, is] = [edges(before), edges(now)];
  if (was.length !== is.length) return null;
  const across = is.map((edge, at) => [...new Set([...was[at], ...edge].map(([x]) => x))]
    .filter(x => x >= edge[0][0] && x <= edge.at(-1)[0]).sort((a, b) => a - b));
  const path = all => across.flatMap((row, at) => (at ? row.toReversed() : row)
    .map(x => `${x},${heightAt(all[at], x).toFixed(2)}`)).join("L");
  return [was, is].map(all => ({ d: `path("M${path(all)}${is[1] ? "Z" : ""}")` }));
};

// What each curve is in the picture before and after: the browser draws those that are seen in the order of the data.
const curves = chart => {
  const drawn = [...chart.querySelectorAll(".scatterlayer .trace")];
  const shown = (chart.data ?? [])
    .filter(({ type, visible }) => (type ?? "scatter") === "scatter" && (visible ?? true) === true);
  return drawn.length === shown.length ? drawn.map((element, at) => [element, shown[at], shown[at + 1]]) : [];
};
// What can glide, by a name that it keeps, and where it is now.
const parts = chart => {
  const found = new Map(), turns = {};
  const add = (name, each, place) => {
    turns[name] = (turns[name] ?? 0) + 1;
    found.set(name + turns[name], [each, each.getAttribute(place), place]);
  };
  for (const [element, { legendgroup, line, marker, name, fillcolor }, next] of curves(chart)) {
    const same = [legendgroup, line?.color, marker ? "" : name, fillcolor, next?.fillcolor].join();
    element.querySelectorAll(".js-fill").forEach(each => add(`area ${same}`, each, "d"));
    if (line?.width !== 0) element.querySelectorAll(".js-line").forEach(each => add(`line ${same}`, each, "d"));
    element.querySelectorAll(".point").forEach(each => add(`point ${same}`, each, "transform"));
  }
  chart.querySelectorAll(".annotation-text-g > g").forEach(each => add(each.textContent, each, "transform"));
  return found;
};
// Everything stands where it was until the chart has not been drawn again for a moment; then it moves.
const hold = (chart, waiting) => {
  waiting.moves.forEach(each => each.cancel());
  waiting.moves = [];
  for (const [name, [each, now, place]] of parts(chart)) {
    const was = waiting.before.get(name)?.[1];
    if (!was || !now || was === now) continue;
    const frames = place === "d" ? between(was, now) : [{ offset: 0, transform: was.replace(PAIR, "$1px,$2px") }];
    if (frames) waiting.moves.push(each.animate(frames, { duration: GLIDE, easing: "ease" }));
  }
  waiting.moves.forEach(each => each.pause());
  clearTimeout(waiting.timer);
  waiting.timer = setTimeout(() => {
    held.delete(chart);
    waiting.moves.forEach(each => each.play());
  }, DRAWN);
};
// Where they were is noted before each press: the old chart is empty once the new one is drawn.
const note = () => {
  last.clear();
  for (const chart of charts) last.set(called(chart), [chart.clientWidth, parts(chart)]);
};
for (const press of ["pointerdown", "keydown"]) addEventListener(press, note, true);
new MutationObserver(changes => {
  for (const chart of charts) {
    if (!seen.has(chart) && chart.querySelector(".js-line")) {
      seen.add(chart);
      const [width, before] = last.get(called(chart)) ?? [];
      if (width === chart.clientWidth && !still.matches) held.set(chart, { before, moves: [] });
    }
    if (held.has(chart) && changes.some(({ target }) => chart.contains(target) && !target.closest(".hoverlayer")))
      requestAnimationFrame(() => held.has(chart) && hold(chart, held.get(chart)));
  }
}).observe(document.body, { childList: true, subtree: true });

// A click on the curve of a method, or on its name, chooses the method whose bounds are drawn.
let choose = null;
addEventListener("click", event => {
  const chart = event.target.closest?.(".st-key-regret-chart .js-plotly-plot");
  if (!chart || !document.querySelector("[class*=st-key-focus]")) return;
  const label = event.target.closest(".annotation"), area = chart.querySelector(".nsewdrag").getBoundingClientRect();
  const at = new DOMPoint(event.clientX - area.left, event.clientY - area.top);
  const hit = (element, reach) => {
    const path = element.querySelector(".js-line"), own = path.style.strokeWidth;
    path.style.strokeWidth = `${2 * reach}px`;
    const found = path.isPointInStroke(at);
    path.style.strokeWidth = own;
    return found;
  };
  const methods = curves(chart).filter(([element, { marker }]) => marker && element.querySelector(".js-line"));
  const nearest = NEAR.flatMap(reach => methods.filter(([element]) => hit(element, reach)))[0]?.[1].legendgroup;
  const named = label ? chart.layout.annotations[label.dataset.index].name : nearest;
  if (named) choose(named);
});
