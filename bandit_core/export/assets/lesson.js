"use strict";
// Chooses and draws what stands in the file; every number that is read was written by the lab.
const lesson = JSON.parse(document.getElementById("lesson").textContent);
const part = name => document.getElementById(name);
const slider = part("slider"), fixed = part("fixed"), WIDE = 620, ROW = 20;

function node(parent, tag, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return parent.appendChild(made);
}

function axis(log, low, high, from, to) {
  const on = log ? Math.log10 : value => value, start = on(low), share = (to - from) / (on(high) - start);
  return { log, low, high, from, to, place: value => from + (on(value) - start) * share };
}

function ticks({ log, low, high }) {
  const found = [], within = value => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
  if (log && high / low > 6) {
    const bases = high / low > 500 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      found.push(...bases.map(base => base * 10 ** power));
    return found.filter(within);
  }
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find(nice => nice * unit >= rough);
  for (let value = Math.ceil(low / step) * step; value <= high * (1 + 1e-9); value += step) found.push(value);
  return found;
}

function amount(value) {
  const [unit, sign] = [[1e9, "B"], [1e6, "M"], [1e4, "k"], [0, ""]].find(([least]) => Math.abs(value) >= least);
  return (sign === "k" ? value / 1e3 : unit ? value / unit : value).toLocaleString("en", { maximumSignificantDigits: 4 }) + sign;
}

const shown = (value, axis) => value !== null && (!axis.log || value > 0);

function path(xs, ys, x, y) {
  let drawn = "", pen = "M";
  xs.forEach((at, place) => {
    if (!shown(ys[place], y)) { pen = "M"; return; }
    drawn += `${pen}${x.place(at).toFixed(1)} ${y.place(ys[place]).toFixed(1)}`;
    pen = "L";
  });
  return drawn;
}

function area(xs, lows, highs, x, y) {
  const places = xs.map((_, place) => place).filter(place => lows[place] !== null && shown(highs[place], y));
  const point = (place, value) => `${x.place(xs[place]).toFixed(1)} ${y.place(y.log ? Math.max(value, y.low / 10) : value).toFixed(1)}`;
  if (!places.length) return "";
  const up = places.map(place => point(place, highs[place])), down = places.reverse().map(place => point(place, lows[place]));
  return `M${[...up, ...down].join("L")}Z`;
}

function span(curves, series, log) {
  const means = curves.filter(curve => curve.dash === undefined).flatMap(curve => series[curve.y]).filter(value => value !== null);
  const top = Math.max(...means, 0) || 1;
  if (log) {
    const least = Math.min(...means.filter(value => value > 0), top);
    return [Math.max(least, top * 1e-5) / 1.3, top * 3];
  }
  const bands = curves.flatMap(curve => curve.high === undefined ? [] : series[curve.high]).filter(value => value !== null);
  return [0, Math.max(1.2 * top, Math.min(1.05 * Math.max(...bands, 0), 2.5 * top))];
}

const SHAPES = { central: "M-4 -4H4V4H-4Z", shuffle: "M0 -5L5 0L0 5L-5 0Z", distributed: "M0 -5L5 4H-5Z", none: "M-1 -4H1V4H-1Z" };

function marker(group, trust, left, top) {
  if (trust === "local") node(group, "circle", { cx: left, cy: top, r: 4, fill: "currentColor" });
  else node(group, "path", { d: SHAPES[trust], transform: `translate(${left} ${top})`, fill: "currentColor" });
}

function curve(plot, drawn, chart, x, y) {
  const ys = chart.series[drawn.y], xs = chart.series[chart.x], bound = drawn.dash !== undefined;
  const group = node(plot, "g", { class: drawn.line < 0 ? "shared" : `line-${drawn.line}` });
  node(group, "title", {}, drawn.label);
  if (drawn.high !== undefined)
    node(group, "path", { d: area(xs, chart.series[drawn.low], chart.series[drawn.high], x, y), fill: "currentColor", opacity: .15 });
  node(group, "path", {
    d: path(xs, ys, x, y), fill: "none", stroke: "currentColor", "stroke-width": bound ? 1.4 : 2.5,
    "stroke-dasharray": drawn.dash || "none", "stroke-linejoin": "round",
  });
  if (bound) return;
  const every = drawn.points ? 1 : Math.ceil(xs.length / 5);
  xs.forEach((at, place) => {
    if ((place + 1) % every === 0 && shown(ys[place], y))
      marker(group, lesson.lines[drawn.line].trust, x.place(at), y.place(ys[place]));
  });
}

function rows_of(label) {
  const rows = [""];
  for (const word of label.split(" ")) {
    if (rows.at(-1) && rows.at(-1).length + word.length > ROW) rows.push(word);
    else rows[rows.length - 1] = `${rows.at(-1)} ${word}`.trim();
  }
  return rows.length > 3 ? [...rows.slice(0, 2), `${rows[2]} …`] : rows;
}

function names(svg, chart, y, right, top) {
  const ends = chart.curves.filter(each => each.dash === undefined)
    .map(each => ({ ...each, end: chart.series[each.y].at(-1), rows: rows_of(each.label) }))
    .filter(each => shown(each.end, y)).sort((one, other) => one.end - other.end);
  let reached = Infinity; // the lowest first, pushed up by those below; then down again where they leave the picture
  for (const each of ends)
    reached = each.top = Math.min(y.place(each.end) - 8 * (each.rows.length - 1), reached - 16 * each.rows.length);
  reached = top;
  for (const each of ends.reverse()) {
    each.top = Math.max(each.top, reached);
    reached = each.top + 16 * each.rows.length;
    const name = node(svg, "text", { y: each.top, class: `name line-${each.line}` });
    each.rows.forEach((row, place) => node(name, "tspan", { x: right + 8, y: each.top + 4 + 16 * place }, row));
  }
}

function draw(svg, chart) {
  const width = svg.clientWidth || 800, wide = width >= WIDE, height = wide ? 400 : 320;
  const left = 68, bottom = height - 42, top = 10, count = chart.curves.filter(each => each.dash === undefined).length;
  const named = wide && count <= 6, right = width - (named ? 165 : 14);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  svg.setAttribute("aria-label", chart.alt);
  const x = axis(chart.log[0], ...chart.across, left, right), y = axis(chart.log[1], ...chart.up, bottom, top);
  for (const value of ticks(y)) {
    node(svg, "path", { d: `M${left} ${y.place(value)}H${right}`, class: "grid" });
    node(svg, "text", { x: left - 6, y: y.place(value) + 4, "text-anchor": "end" }, amount(value));
  }
  for (const value of ticks(x)) {
    node(svg, "path", { d: `M${x.place(value)} ${top}V${bottom}`, class: "grid" });
    node(svg, "text", { x: x.place(value), y: bottom + 17, "text-anchor": "middle" }, amount(value));
  }
  node(svg, "text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, chart.titles[0]);
  node(svg, "text", { transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.titles[1]);
  const clip = node(svg, "clipPath", { id: `clip-${svg.id}` });
  node(clip, "rect", { x: left, y: top, width: right - left, height: bottom - top });
  const plot = node(svg, "g", { "clip-path": `url(#clip-${svg.id})` });
  for (const each of chart.curves) curve(plot, each, chart, x, y);
  if (chart.here) node(plot, "path", { d: `M${x.place(chart.here)} ${top}V${bottom}`, class: "here", "stroke-width": 2 });
  if (named) names(svg, chart, y, right, top);
  svg.onpointermove = event => { if (event.pointerType === "mouse") read(svg, chart, x, event); };
}

function read(svg, chart, x, event) {
  const left = event.clientX - svg.getBoundingClientRect().left, xs = chart.series[chart.x];
  const far = xs.map(at => Math.abs(x.place(at) - left)), place = far.indexOf(Math.min(...far));
  const told = chart.curves.filter(each => chart.series[each.y][place] !== null)
    .map(each => `${each.label}: ${chart.series[each.y][place].toLocaleString("en", { maximumSignificantDigits: 4 })}`);
  part(`${svg.id}-read`).textContent = `At ${chart.at(xs[place])}: ${told.join("; ")}.`;
}

function against_users(position) {
  const all = fixed.checked ? lesson.positions : [position], ends = all.map(each => lesson.series[each.x].at(-1));
  return {
    ...position, series: lesson.series, log: lesson.users.log, titles: ["users so far", lesson.users.title],
    across: [1, Math.max(2, ...ends)], up: span(all.flatMap(each => each.curves), lesson.series, lesson.users.log[1]),
    at: users => `${users.toLocaleString("en")} users`,
  };
}

function against_budget(position) {
  const { budgets } = lesson, xs = budgets.series[budgets.x];
  const ends = budgets.curves.map(each => `${each.label}: from ${amount(budgets.series[each.y][0] ?? NaN)} to ${amount(budgets.series[each.y].at(-1) ?? NaN)}`);
  return {
    ...budgets, log: [true, true], titles: ["privacy budget ε", budgets.title], across: [xs[0], xs.at(-1)],
    up: span(budgets.curves, budgets.series, true), here: position.value, at: epsilon => `ε = ${epsilon}`,
    alt: `${budgets.title} against the privacy budget, from ${xs[0]} to ${xs.at(-1)}. ${ends.join("; ")}.`,
  };
}

function table_row(row, priced) {
  const made = document.createElement("tr"), cells = [row.label, row.regret, ...(priced ? [row.price] : [])];
  cells.forEach((text, place) => {
    const cell = document.createElement(place ? "td" : "th");
    if (place) cell.className = "number"; else {
      const sign = document.createElement("span");
      sign.className = `sign line-${row.line}`;
      sign.textContent = lesson.lines[row.line].sign;
      sign.title = lesson.lines[row.line].words;
      cell.scope = "row";
      cell.append(sign);
    }
    cell.append(text);
    if (place === 2 && row.against) {
      const against = document.createElement("span");
      against.className = "against";
      against.textContent = ` × ${row.against}`;
      cell.append(against);
    }
    made.append(cell);
  });
  return made;
}

function table(position) {
  const priced = position.rows.some(row => row.against);
  part("regret-head").textContent = `Regret after ${position.users} users`;
  part("price-head").hidden = !priced;
  part("rows").replaceChildren(...position.rows.map(row => table_row(row, priced)));
}

function show() {
  const position = lesson.positions[slider.value];
  part("value").textContent = position.name;
  part("sentence").innerHTML = position.sentence;
  slider.setAttribute("aria-valuetext", `${position.name}. ${part("sentence").textContent}`);
  for (const name of ["note", "odds"]) { part(name).textContent = position[name]; part(name).hidden = !position[name]; }
  table(position);
  const bounds = position.curves.filter(each => each.dash !== undefined);
  part("bounds").hidden = !bounds.length;
  part("bounds").lastChild.replaceChildren(...bounds.map(each => {
    const made = document.createElement("li");
    made.textContent = each.label;
    return made;
  }));
  if (part("back")) part("back").href = position.link || part("back").href;
  paint();
}

function paint() {
  const position = lesson.positions[slider.value];
  draw(part("users"), against_users(position));
  if (lesson.budgets) draw(part("budgets"), against_budget(position));
}

function swipe(svg) {
  let from = null;
  const step = () => Math.max(16, svg.clientWidth / lesson.positions.length);
  svg.addEventListener("pointerdown", event => { from = { left: event.clientX, value: +slider.value }; });
  svg.addEventListener("pointermove", event => {
    if (from === null || (event.pointerType === "mouse" && !event.buttons)) return;
    const value = from.value + Math.round((event.clientX - from.left) / step());
    const last = slider.value;
    slider.value = value; // the browser keeps it between its ends
    if (slider.value !== last) show();
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(end, () => { from = null; });
}

slider.max = lesson.positions.length - 1;
slider.value = lesson.start;
slider.addEventListener("input", show);
fixed.addEventListener("change", paint);
let width = document.body.clientWidth;
new ResizeObserver(() => {
  if (width === document.body.clientWidth) return; // a picture's own height is no reason to draw it again
  width = document.body.clientWidth;
  paint();
}).observe(document.body);
["users", "budgets"].filter(part).forEach(name => swipe(part(name)));
show();
