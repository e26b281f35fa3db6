// What a lesson's file has beside the player (ui/player/player.js, which stands above): table, sentence, words.
const lesson = JSON.parse(document.getElementById("lesson").textContent);
const part = name => document.getElementById(name), fixed = part("fixed");

// The ends of a vertical axis that shows all means: by ratios some room above them, else bands that do not dwarf them.
function span(curves, series, log) {
  const numbers = name => curves.flatMap(curve => series[curve[name]] ?? []).filter(Number.isFinite);
  const means = numbers("y"), top = Math.max(...means, 0) || 1;
  if (!log) return [0, Math.max(1.2 * top, Math.min(1.05 * Math.max(...numbers("high"), 0), 2.5 * top))];
  return [Math.max(Math.min(...means.filter(value => value > 0), top), top * 1e-5) / 1.3, top * 3];
}

const played = curve => curve.dash === undefined;
const look = curve => {
  const colour = curve.line < 0 ? "var(--quiet)" : `var(--line-${curve.line})`;
  const shared = { colour, ink: colour, hover: true, ...curve };
  if (!played(curve)) return { key: curve.label, width: 1.4, band: true, ...shared };
  const marked = { sign: lesson.lines[curve.line].shape, size: 8, few: 5 };
  return { key: curve.line, width: 2.5, band: true, named: true, listed: true, ...marked, ...shared };
};
const document_of = (positions, series, handle) => ({ positions, series, handle, size: 13 });

function against_users() {
  const { series, users: { log, title } } = lesson;
  const drawn = lesson.positions.map(({ x, curves, ...each }) =>
    ({ ...each, last: series[x].at(-1), curves: curves.map(curve => ({ x, ...look(curve) })) }));
  const positions = drawn.map(each => {
    const all = fixed.checked ? drawn : [each];
    const ends = span(all.flatMap(one => one.curves.filter(played)), series, log[1]);
    const x = { title: "users so far", log: log[0], ends: [1, Math.max(2, ...all.map(one => one.last))] };
    return { ...each, x, y: { title, log: log[1], ends } };
  });
  return document_of(positions, series, drawn[lesson.start].curves.filter(played).at(-1)?.key);
}

function against_budgets({ x, curves, series, title }) {
  const ends = span(curves, series, true), rows = [...series, ends], across = { title: "privacy budget ε", log: true };
  const lines = curves.map(curve => ({ ...look(curve), x, few: curve.points ? undefined : 5 }));
  const from_to = row => `from ${amount(row[0] ?? NaN)} to ${amount(row.at(-1) ?? NaN)}`;
  const told = lines.map(each => `${each.label}: ${from_to(series[each.y])}`);
  const alt = `${title} against the privacy budget, from ${series[x][0]} to ${series[x].at(-1)}. ${told.join("; ")}.`;
  const axes = { x: { ...across, ends: [series[x][0], series[x].at(-1)] }, y: { title, log: true, ends } };
  const positions = lesson.positions.map(({ name, value }) => {
    const line = { x: rows.length, y: series.length, width: 2, dash: "5 4" };
    const here = { key: "here", label: "", colour: "var(--quiet)", ...line };
    if (value !== null) rows.push([value, value]);
    return { name, alt, ...axes, curves: value === null ? lines : [here, ...lines] };
  });
  return document_of(positions, rows);
}

const pictures = ["users", "budgets"].filter(part).map(name => {
  const [svg, point, legend] = part(name).children;
  return [svg, picture(name === "users" ? against_users() : against_budgets(lesson.budgets), svg, point, legend)];
});

function say(place) {
  const position = lesson.positions[place];
  part("value").textContent = position.name;
  part("sentence").innerHTML = position.sentence;
  for (const name of ["note", "odds"]) [part(name).textContent, part(name).hidden] = [position[name], !position[name]];
  part("table").innerHTML = position.table;
  part("bounds").innerHTML = position.bounds;
  part("bounds").parentElement.hidden = !position.bounds;
  if (part("back")) part("back").href = position.link || part("back").href;
  for (const [svg, each] of pictures) svg.setAttribute("aria-label", each.alt(place));
  return `${position.name}. ${part("sentence").textContent}`;
}

const last = lesson.positions.length - 1, drawings = pictures.map(([, each]) => each);
const move = play(part("slider"), drawings, last, lesson.start, say, () => {});
fixed.onchange = () => {
  pictures[0][1].read(against_users());
  move();
};
