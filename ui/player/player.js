// Draws curves for all positions of a slider. While the thumb moves they glide from one position to the next, on a log
// axis by ratios; at rest every picture is one that was computed. ui/player/document.py says what a document has.

const WIDE = 620, MOST_NAMES = 6, ROW = 18, GAP = 5; // pixels; curves; letters of a label in a row; pixels between labels
const PLAYED = 2; // pixels: what is proved is thinner, and leaves nothing behind
const GUESS = 30; // pixels to each side of where a guess stands
const PEOPLE = 50, TOSSES = 1500; // in a strip; milliseconds in which all of them toss once more
const REVEAL = 1200; // milliseconds in which curves run through a guess
const KEY_WAIT = 150; // milliseconds without a key after which the server hears of a move
const still = matchMedia("(prefers-reduced-motion: reduce)");

export function amount(value) {
  const [unit, sign] = [[1e9, "B"], [1e6, "M"], [1, ""]].find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return (value / unit).toLocaleString("en", { maximumSignificantDigits: 4 }) + sign;
}

function mixed(one, other, log, share) {
  if (!share || one === other || one?.length !== other?.length) return share < 0.5 ? one : other;
  return one.map((from, place) => {
    const to = other[place];
    if (from === null || to === null) return share < 0.5 ? from : to;
    return log && from > 0 && to > 0 ? from * (to / from) ** share : from + (to - from) * share;
  });
}

// Axes and curves at a position, or between two.
function moment({ positions, series }, p) {
  const floor = Math.min(Math.floor(p), positions.length - 1), share = p - floor;
  const one = positions[floor], other = positions[Math.min(floor + 1, positions.length - 1)];
  const axis = name => ({ ...one[name], ends: mixed(one[name].ends, other[name].ends, one[name].log, share) });
  const [across, up] = [axis("x"), axis("y")];
  const curves = (share < 0.5 ? one : other).curves.map(curve => {
    const [from, to] = [one, other].map(each => each.curves.find(mine => mine.key === curve.key) ?? curve);
    const row = (name, log) => mixed(series[from[name]], series[to[name]], log, share);
    const [x, y, low, high] = [row("x", across.log), ...["y", "low", "high"].map(name => row(name, up.log))];
    return { ...curve, x, y, low, high };
  });
  return { across, up, curves };
}

function placed({ log, ends: [low, high] }, from, to) {
  const on = log ? Math.log10 : value => value, start = on(low), scale = (to - from) / (on(high) - start);
  return value => (value === null || (log && value <= 0) ? NaN : from + (on(value) - start) * scale);
}

function ticks({ log, ends: [low, high], ticks, names }) {
  const least = Math.min(low, high) - 1e-9 * Math.abs(high - low), most = Math.max(low, high) * (1 + 1e-9);
  const found = names ? names.map((_, place) => place) : [...(ticks ?? [])];
  if (names || ticks) return found.filter(value => value >= least && value <= most);
  if (log && high / low > 6) {
    const bases = high / low > 300 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      found.push(...bases.map(base => base * 10 ** power));
    return found.filter(value => value >= least && value <= most);
  }
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find(nice => nice * unit >= rough);
  for (let number = Math.ceil(least / step); number * step <= most; number++) found.push(number * step || 0);
  return found;
}

function in_rows(label) {
  const rows = [""];
  for (const word of label.replace(/ ([=~]) /g, "\u00a0$1\u00a0").split(" "))
    if (rows.at(-1) && rows.at(-1).length + word.length >= ROW) rows.push(word);
    else rows.push(`${rows.pop()} ${word}`.trim());
  return rows.length > 3 ? [...rows.slice(0, 2), `${rows[2]} …`] : rows;
}

const SIGNS = {
  circle: r => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: r => `m${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: r => `m0 ${-1.3 * r}l${1.3 * r} ${1.3 * r}l${-1.3 * r} ${1.3 * r}l${-1.3 * r} ${-1.3 * r}z`,
  "triangle-up": r => `m0 ${-1.3 * r}l${1.3 * r} ${2.3 * r}h${-2.6 * r}z`,
  "triangle-right": r => `m${-r} ${-1.2 * r}l${2.2 * r} ${1.2 * r}l${-2.2 * r} ${1.2 * r}z`,
  line: r => `m-1 ${-r}h2v${2 * r}h-2z`,
};

// Parts of an SVG that are kept from one drawing to the next: only what has changed is written.
function canvas(svg) {
  const kept = new Map(), drawn = new Set();
  function put(parent, key, tag, attributes, text) {
    if (!kept.has(key)) kept.set(key, [parent.appendChild(document.createElementNS(svg.namespaceURI, tag)), {}]);
    const [node, said] = kept.get(key);
    for (const [name, value] of Object.entries(attributes))
      if (said[name] !== value) node.setAttribute(name, (said[name] = value));
    if (text !== undefined && said.text !== text) node.textContent = said.text = text;
    drawn.add(key);
    return node;
  }
  function sweep() {
    for (const [key, [node]] of kept) if (!drawn.has(key)) [node.remove(), kept.delete(key)];
    drawn.clear();
  }
  return [put, sweep];
}

const seen = value => Math.abs(value) < 1e5; // of a place: not NaN, and not so far away that a browser loses it
const at = (x, y) => `${x.toFixed(1)} ${y.toFixed(1)}`;
const all = (values, part) => values.map((value, place) => (seen(value) ? part(value, place) : "")).join("");

function draw_curve(put, layer, key, curve, x, y, [left, floor]) {
  const { colour, width, sign, band, bar } = curve, xs = curve.x.map(x), ys = curve.y.map(y);
  const [lows, highs] = [curve.low, curve.high].map(row => row?.map(value => (value === 0 ? floor : y(value))));
  if (lows && band) {
    const places = xs.map((_, place) => place).filter(place => seen(lows[place]) && seen(highs[place]));
    const edge = row => places.map(place => at(xs[place], row[place]));
    const d = places.length ? `M${[...edge(highs), ...edge(lows).reverse()].join("L")}Z` : "";
    put(layer, `${key} band`, "path", { d, fill: colour, opacity: 0.15 });
  } else if (lows) {
    const d = all(ys, (_, place) => `M${at(xs[place] - 4, lows[place])}h8m-4 0V${highs[place]}m-4 0h8`);
    put(layer, `${key} error`, "path", { d, stroke: colour, "stroke-width": 1.2, fill: "none" });
  }
  if (bar) {
    const half = (x(1) - x(0)) / 3;
    const d = all(ys, (top, place) => `M${at(xs[place] - half, floor)}V${top}h${2 * half}V${floor}z`);
    put(layer, `${key} bar`, "path", { d, fill: colour, opacity: curve.opacity });
  } else if (width) {
    const d = all(ys, (top, place) => (seen(ys[place - 1]) ? "L" : "M") + at(xs[place], top));
    const look = { fill: "none", stroke: colour, "stroke-width": width, "stroke-linejoin": "round" };
    put(layer, `${key} line`, "path", { d, ...look, "stroke-dasharray": curve.dash ?? "none" });
  }
  if (sign) {
    const every = Math.ceil(xs.length / (curve.few ?? xs.length)), shape = SIGNS[sign] ?? SIGNS.circle;
    const size = place => (curve.sizes?.[place] ?? curve.size) / 2;
    const d = all(ys, (top, place) => ((place + 1) % every ? "" : `M${at(xs[place], top)}${shape(size(place))}`));
    put(layer, `${key} signs`, "path", { d, fill: colour });
  }
  curve.texts?.forEach((text, place) => {
    const [far, anchor] = xs[place] < left + 80 ? [4, "start"] : [-6, "end"];
    put(layer, `${key} ${place}`, "text", { x: xs[place] + far, y: ys[place] - 6, "text-anchor": anchor }, text);
  });
  return { ...curve, xs };
}

// Names at the ends of curves, each in some rows: pushed up by those below, and down again where they leave the room.
function apart(labels, top, bottom, line) {
  labels.sort((one, other) => other.end - one.end);
  let reached = bottom + line / 2;
  for (const each of labels) {
    const rows = line * each.rows.length + GAP;
    reached = each.top = Math.min(each.end - rows / 2, reached - rows);
  }
  reached = top;
  for (const each of labels.reverse()) {
    each.top = Math.max(each.top, reached);
    reached = each.top + line * each.rows.length + GAP;
  }
}

function list(legend, curves) {
  const told = curves.map(each => each.colour + each.label).join();
  if (legend.told === told) return;
  legend.told = told;
  legend.replaceChildren(...curves.map(each => {
    const entry = document.createElement("li");
    const { style } = entry.appendChild(document.createElement("i"));
    [style.borderColor, style.borderTopStyle] = [each.colour, each.dash ? "dashed" : "solid"];
    style.borderTopWidth = `${Math.min(3, each.width ?? 3)}px`;
    entry.append(each.label);
    return entry;
  }));
}

// What the pointer is at, in words: the nearest place across, and every curve that has a number there.
function told(curves, across, left) {
  const places = curves.flatMap(each => each.xs.map((far, place) => [Math.abs(far - left), each.x[place]]));
  const [, value] = places.reduce((best, each) => (each[0] < best[0] ? each : best), [Infinity]);
  if (value === undefined) return [];
  const here = curves.map(each => [each, each.x.indexOf(value)]);
  const said = here.filter(([each, place]) => Number.isFinite(each.y[place]));
  const range = ({ low, high }, place) =>
    Number.isFinite(low?.[place]) ? ` (${amount(low[place])} to ${amount(high[place])})` : "";
  const words = said.map(([each, place]) => `${each.label}: ${amount(each.y[place])}${range(each, place)}`);
  return [value, [across.names?.[value] ?? `${across.title}: ${amount(value)}`, ...words].join("\n")];
}

// Where the handle is at each position: at the end of its curve, or at the largest dot.
function spots_of(doc, left, right, top, bottom) {
  return doc.positions.map((_, place) => {
    const { across, up, curves } = moment(doc, place), each = curves.find(curve => curve.key === doc.handle);
    if (!each) return null;
    const point = each.sizes ? each.sizes.indexOf(Math.max(...each.sizes)) : each.x.length - 1;
    return [placed(across, left, right)(each.x[point]), placed(up, bottom, top)(each.y[point])];
  });
}

// One picture: `svg` with `point`, which says what the pointer is at, and `legend` beside it.
export function picture(doc, svg, point, legend) {
  const [put, sweep] = canvas(svg), clip = `clip-${Math.random().toString(36).slice(2)}`;
  const hide = () => { point.hidden = true; };
  let held = {}, share = 1, drawn_at = [], guess = null; // share: of the width, up to where curves are drawn

  function draw(p, before) {
    drawn_at = [p, before];
    const { across, up, curves } = moment(doc, p), width = svg.clientWidth || 800, height = svg.clientHeight || 400;
    const root = getComputedStyle(document.documentElement), far = doc.projected ? parseFloat(root.fontSize) : 0;
    const size = Math.max(doc.size, far), line = 1.15 * size, named = curves.filter(each => each.named).map(each => each.key);
    const beside = width >= WIDE && named.length && named.length <= MOST_NAMES;
    const labels = curves.filter(each => beside && each.named).map(each => ({ ...each, rows: in_rows(each.label) }));
    const old = before === null ? [] : moment(doc, before).curves.filter(each => {
      const now = curves.find(mine => mine.key === each.key);
      return each.named && !(each.width < PLAYED) && now?.y.some((value, place) => value !== each.y[place]);
    });
    const past = old.length ? `before: ${doc.positions[before].name}` : "";
    if (past && beside) labels.push({ ...old.at(-1), key: "before", rows: [past] });
    const letters = Math.max(0, ...labels.flatMap(each => each.rows.map(row => row.length)), beside ? ROW : 0);
    const numbers = up.hidden ? 0 : Math.max(...doc.positions.flatMap(each => ticks(each.y).map(value => amount(value).length)));
    const left = up.hidden ? 14 : size * (2.2 + 0.55 * numbers), last = amount(across.ends[1]).length;
    const right = width - 14 - 0.5 * size * Math.max(letters, last / 2 - 1);
    const top = size, bottom = height - 3.2 * size, x = placed(across, left, right), y = placed(up, bottom, top);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const whole = put(svg, "clip", "clipPath", { id: clip });
    put(whole, "edge", "rect", { x: left, y: 0, width: (right - left + 9) * share, height: bottom + 1 });
    const layers = { "font-size": size }, [frame, ghosts, plot, over] = ["frame", "ghosts", "plot", "over"].map(name =>
      put(svg, name, "g", name === "plot" || name === "ghosts" ? { ...layers, "clip-path": `url(#${clip})` } : layers));
    put(svg, "over", "g", { opacity: share < 1 ? 0 : 1 });
    if (guess?.place === Math.round(p)) {
      const inside = (value, end) => (value !== null && seen(y(value)) ? Math.min(bottom, Math.max(top, y(value))) : end);
      const [high, low] = [inside(guess.high, top), inside(guess.low, bottom)], from = Math.max(left, x(guess.x) - GUESS);
      const room = { width: Math.min(right, x(guess.x) + GUESS) - from, height: low - high };
      put(frame, "guess", "rect", { x: from, y: high, ...room, class: "guess" });
      const under = high - size > top ? high - 5 : low + size < bottom ? low + size : high + size;
      put(frame, "guessed", "text", { x: from + room.width, y: under, "text-anchor": "end", class: "halo" }, "your guess");
    }
    for (const value of up.hidden ? [] : ticks(up)) {
      put(frame, `up ${value}`, "path", { d: `M${left} ${y(value).toFixed(1)}H${right}`, class: "grid" });
      put(frame, `up-${value}`, "text", { x: left - 6, y: y(value) + size / 3, "text-anchor": "end" }, amount(value));
    }
    let taken = Infinity; // from where on words stand already; of two that would meet the right one stays
    for (const value of ticks(across).reverse()) {
      const middle = { x: x(value), y: bottom + 1.3 * size, "text-anchor": "middle" };
      const words = across.names?.[value] ?? amount(value), half = across.names ? 0 : 3 + 0.33 * size * words.length;
      if (!across.names) put(frame, `across ${value}`, "path", { d: `M${at(x(value), top)}V${bottom}`, class: "grid" });
      if (x(value) + half > taken) continue;
      put(frame, `across-${value}`, "text", middle, words);
      taken = x(value) - half;
    }
    const centre = (left + right) / 2, turned = `translate(${size} ${(top + bottom) / 2}) rotate(-90)`;
    put(frame, "across", "text", { x: centre, y: height - size / 2, "text-anchor": "middle" }, across.title);
    put(frame, "up", "text", { transform: turned, "text-anchor": "middle" }, up.hidden ? "" : up.title);
    for (const { low, sign, ...each } of old)
      draw_curve(put, ghosts, `${each.key} before`, { ...each, width: 1, dash: "1.5 3" }, x, y, [left, bottom]);
    const drawn = curves.map(each => draw_curve(put, plot, each.key, each, x, y, [left, bottom]));
    for (const each of labels) each.end = y(each.y.at(-1));
    apart(labels, top, bottom, line);
    for (const { key, rows, ink, top: first } of labels)
      rows.forEach((row, place) => {
        const where = { x: right + 14, y: (first + line * (0.75 + place)).toFixed(1), "font-size": size - 1 };
        put(over, `${key}-${place}`, "text", { ...where, class: "name", fill: ink }, row);
      });
    const there = { x: right - 6, y: top + size, "text-anchor": "end" };
    if (past && !beside) put(over, "past", "text", there, past);
    list(legend, curves.filter(each => each.listed && !(beside && each.named)));
    const room = [left, right, top, bottom].join();
    if (held.room !== room) held = { room, spots: spots_of(doc, left, right, top, bottom) };
    const { spots } = held;
    if (spots.every(Boolean)) {
      const floor = Math.floor(p), one = spots[floor], other = spots[Math.min(floor + 1, spots.length - 1)];
      const [cx, cy] = one.map((value, axis) => value + (other[axis] - value) * (p - floor));
      const { colour } = curves.find(each => each.key === doc.handle);
      put(over, "handle", "circle", { cx, cy, r: 8, class: "handle", stroke: colour });
    }
    sweep();
    svg.onclick = svg.onpointermove = event => {
      const from = svg.getBoundingClientRect().left;
      const [value, words] = told(drawn.filter(each => each.hover), across, event.clientX - from);
      const meant = event.type === "click" || (event.pointerType === "mouse" && !event.buttons);
      point.hidden = !meant || words === undefined;
      if (point.hidden) return;
      point.textContent = words;
      const beyond = x(value) > width / 2 ? -point.offsetWidth - 12 : 12;
      point.style.left = `${Math.max(0, x(value) + beyond)}px`;
      point.style.top = `${svg.offsetTop + top}px`;
    };
    svg.onpointerleave = hide;
    return spots;
  }

  // Draws the curves from left to right, through the guess; at once where less motion is asked for.
  function reveal(found) {
    const begin = performance.now();
    guess = found;
    requestAnimationFrame(function run(now) {
      share = still.matches ? 1 : Math.min(1, Math.max(0, (now - begin) / REVEAL));
      draw(...drawn_at);
      if (share < 1) requestAnimationFrame(run);
    });
  }

  return { draw, reveal, hide, svg, read: found => { [doc, held] = [found, {}]; }, alt: place => doc.positions[place].alt };
}

// The position, or the place between two, whose handle is nearest to a point.
function nearest(spots, left, top) {
  let best = [Infinity, 0];
  spots.slice(1).forEach(([x1, y1], place) => {
    const [x0, y0] = spots[place], [across, up] = [x1 - x0, y1 - y0], length = across ** 2 + up ** 2;
    const share = Math.min(1, Math.max(0, length ? ((left - x0) * across + (top - y0) * up) / length : 0));
    const far = Math.hypot(x0 + share * across - left, y0 + share * up - top);
    if (far < best[0]) best = [far, place + share];
  });
  return best[1];
}

// A slider and its pictures. `say(position)` changes what stands beside them, and returns what is read aloud;
// `rested(position)` hears where someone has brought the slider to rest. What is returned moves it.
export function play(slider, pictures, last, start, say, rested) {
  let p = start, rest = start, before = null, thumb = false, asked = 0, wait = 0, spots = [];
  const ask = () => { asked ||= requestAnimationFrame(show); };

  function show() {
    asked = 0;
    const shown = still.matches ? Math.round(p) : p;
    [spots] = pictures.map(each => each.draw(shown, thumb ? rest : before));
  }

  function glide(to) {
    p = Math.min(last, Math.max(0, to));
    pictures.forEach(each => each.hide());
    ask();
  }

  function settle(pause = 0) {
    thumb = false;
    slider.step = 1;
    p = slider.value = Math.round(p);
    const moved = p !== rest;
    if (moved) [before, rest] = [rest, p];
    slider.setAttribute("aria-valuetext", say(rest));
    show();
    if (!moved) return;
    clearTimeout(wait);
    if (pause !== null) wait = setTimeout(() => rested(rest), pause);
  }

  const grab = () => { [thumb, slider.step] = [true, "any"]; };
  Object.assign(slider, { max: last, step: 1, value: start, onpointerdown: grab });
  slider.oninput = () => {
    glide(Number(slider.value));
    if (!thumb) settle(KEY_WAIT);
  };
  slider.onchange = slider.onpointerup = slider.onpointercancel = () => { if (thumb) settle(); };
  for (const { svg } of pictures) {
    let from = null;
    svg.addEventListener("pointerdown", event => {
      const held = event.target.classList.contains("handle");
      if (event.pointerType === "mouse" && !held) return;
      from = { left: event.clientX, p, held };
      if (held) [event.preventDefault(), svg.setPointerCapture(event.pointerId)];
    });
    svg.addEventListener("pointermove", event => {
      if (from === null || (!from.held && Math.abs(event.clientX - from.left) < 8)) return;
      grab();
      const { left, top } = svg.getBoundingClientRect(), step = Math.max(16, svg.clientWidth / (last + 1));
      const { clientX, clientY } = event;
      glide(from.held ? nearest(spots, clientX - left, clientY - top) : from.p + (clientX - from.left) / step);
      slider.value = p;
    });
    for (const end of ["pointerup", "pointercancel"])
      svg.addEventListener(end, () => {
        if (from !== null && thumb) settle();
        from = null;
      });
    new ResizeObserver(ask).observe(svg);
  }
  settle();
  return (place = p) => {
    if (thumb) return;
    p = place;
    settle(null);
  };
}

// A strip of people: above what each would say, below what a coin lets the server see. What is returned shows them for
// a chance of a flip: the coins of as many as this share of them say so, to the nearest one.
function people(root) {
  const dots = Array.from({ length: PEOPLE }, () => document.createElement("i"));
  const drawn = () => [...dots.keys()].map(place => [Math.random(), place]).sort().map(([, place]) => place);
  let chance = 0, ranks = dots.map((_, place) => (place * 19) % PEOPLE);
  root.querySelector("div").append(...dots);

  function show(share) {
    chance = share;
    dots.forEach((dot, place) => {
      const flipped = ranks[place] + 0.5 < PEOPLE * chance, look = `${place % 5 < 3 ? "yes" : ""} ${flipped ? "flipped" : ""}`;
      if (dot.className !== look) dot.className = look;
    });
  }

  // All toss once more, from the left to the right; at once where less motion is asked for.
  root.querySelector("button").onclick = () => {
    const [before, after, begin] = [ranks, drawn(), performance.now()];
    requestAnimationFrame(function toss(now) {
      const tossed = still.matches ? PEOPLE : ((now - begin) / TOSSES) * PEOPLE;
      ranks = before.map((rank, place) => (place < tossed ? after[place] : rank));
      show(chance);
      if (tossed < PEOPLE) requestAnimationFrame(toss);
    });
  };
  return show;
}

// A player: slider, picture and words inside `root` (player.html). What is returned takes another document, or moves it.
export function mount(root, doc, start, rested, guess = null) {
  const find = name => root.querySelector(name), svg = find("svg"), here = place => doc.positions[place];
  const drawing = picture(doc, svg, find(".point"), find(".legend"));
  const crowd = find(".people"), flip = "flips" in here(start) ? people(crowd) : () => {};
  const chance = p => mixed([here(Math.floor(p)).flips], [here(Math.ceil(p)).flips], false, p % 1)[0];
  const drawn = { ...drawing, draw: (p, before) => [flip(chance(p)), drawing.draw(p, before)][1] };
  crowd.hidden = !("flips" in here(start));
  find("label").htmlFor = find("input").id = `slider-${Math.random().toString(36).slice(2)}`;

  function dress(next) {
    doc = next;
    for (const [name, colour] of Object.entries(doc.colours)) root.style.setProperty(`--${name}`, colour);
    root.classList.toggle("projected", Boolean(doc.projected));
    find("label").textContent = doc.label;
    find("input").title = doc.help;
    svg.style.height = doc.height;
    find(".control").hidden = doc.positions.length === 1;
  }

  function say(place) {
    find("output").textContent = here(place).name;
    find(".words").innerHTML = here(place).words;
    find(".people p").textContent = here(place).people ?? "";
    svg.setAttribute("aria-label", drawing.alt(place));
    return here(place).aloud;
  }

  dress(doc);
  const move = play(find("input"), [drawn], doc.positions.length - 1, start, say, rested);
  if (guess) drawing.reveal(guess);
  return (next, place) => {
    dress(next);
    drawing.read(next);
    move(place);
  };
}

// In the app: Streamlit calls this at first, and whenever the page has another document or another turn of the address.
export default function ({ parentElement, data, setStateValue }) {
  const root = parentElement.querySelector(".player"), doc = JSON.parse(data.text);
  root.turn ??= data.turn;
  if (root.change) root.change(doc, root.turn === data.turn ? undefined : data.at);
  else root.change = mount(root, doc, data.at, place => setStateValue("at", [root.turn, place]), data.guess);
  root.turn = data.turn;
}
