// Plays the frames of ui/watch/frames.py. Nothing here asks the server for anything.

const places = new Map(); // where this visitor stands in which run: a page that is drawn again goes on there
const MOST_PLACES = 50;
const SLOW = 5; // users a second, up to which one can follow what happens to each

const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
const floats = text => new Float32Array(bytes(text).buffer);
const halves = text => Float32Array.from(new Uint16Array(bytes(text).buffer), half => {
  const [sign, power, rest] = [half >> 15 ? -1 : 1, (half >> 10) & 31, half & 1023];
  if (power === 31) return rest ? NaN : sign * Infinity;
  return sign * (power ? (1 + rest / 1024) * 2 ** (power - 15) : rest * 2 ** -24);
});
const number = value =>
  Number.isFinite(value) ? Number(value.toPrecision(3)).toLocaleString("en") : value > 0 ? "very large" : "very small";

function read(data) {
  const run = { ...data };
  for (const name of ["shown", "mistakes"]) run[name] = bytes(data[name]);
  for (const name of ["felt", "sent", "estimate", "low", "high"]) run[name] = halves(data[name]);
  run.decider = data.decider ? halves(data.decider) : run.high;
  run.budgets = data.budgets ? halves(data.budgets) : null;
  run.regret = floats(data.regret);
  run.count = data.means.length;
  if (data.truth) run.truth = halves(data.truth);
  if (data.truth) run.shown = new Uint16Array(bytes(data.shown).buffer);
  return run;
}

const face = (run, value) => run.faces?.[value] ?? number(value); // of a reward, where a lesson has words for it
const shownTo = (run, i) => (run.options ?? run.names)[run.shown[i]];

function message(run, values, i) {
  const shown = Math.min(3, run.features);
  const parts = [...values.slice(i * shown, (i + 1) * shown)].map(value => number(Number(value.toFixed(2))));
  return `(${parts.join(", ")}${run.features > shown ? ", …" : ""})`;
}

// What happens to user i, in the words of the five boxes: [what, more about it].
function story(run, i) {
  const name = shownTo(run, i), felt = run.felt[i], sent = run.sent[i];
  const budget = run.budgets ? `ε = ${number(run.budgets[i])}` : run.epsilon ? `ε = ${run.epsilon}` : "";
  const one = [`${(i + 1).toLocaleString("en")} of ${run.users.toLocaleString("en")}`, run.privacy === "local" ? budget : ""];
  const two = [name, run.truth ? "in turn" : run.mistakes[i] ? "not the best" : "the best"];
  const three = [Number.isNaN(felt) ? "–" : face(run, felt), Number.isNaN(felt) ? "left out here" : "the reward"];
  return [one, two, three, leaves(run, i, felt, sent), learns(run, i)];
}

function leaves(run, i, felt, sent) {
  if (run.truth) return [message(run, run.sent, i), `in place of ${message(run, run.truth, i)}`];
  if (Number.isNaN(sent)) {
    if (run.undrawn) return ["–", "left out here"];
    return ["nothing", run.budgets ? "too small an ε" : "no one asks any more"];
  }
  if (run.privacy === "central") return [number(sent), "the reward, to the curator"];
  if (run.privacy === "none") return [number(sent), "the reward as it is"];
  if (!run.bits) return [number(sent), "the reward and noise"];
  return [face(run, sent), (felt === 0 || felt === 1) && felt !== sent ? "the coin lied" : run.coin ? "the coin told the truth" : "a random bit"];
}

function learns(run, i) {
  if (run.truth) return [`${(i + 1).toLocaleString("en")} message${i ? "s" : ""}`, "have come in"];
  if (i + 1 >= run.users) return ["–", "no more users are shown"];
  const changed = [], central = run.privacy === "central";
  for (let row = 0; row < run.count; row++) {
    const [before, after] = [run.estimate[i * run.count + row], run.estimate[(i + 1) * run.count + row]];
    if (!Object.is(before, after) && !Number.isNaN(after)) changed.push(row);
  }
  if (!changed.length) {
    const row = run.shown[i], same = run.estimate[(i + 1) * run.count + row];
    if (run.at_once && row < run.count && !Number.isNaN(sent) && !Number.isNaN(same))
      return [`${run.names[row]}: ${number(same)}`, `still, now from ${answers(run, i, row).count} answers`];
    return central ? ["waits", "nothing is published"] : ["–", "learns nothing new"];
  }
  const [row] = changed;
  if (changed.length > 1) return [`${changed.length} means`, central ? "are published anew" : "are estimated anew"];
  return [`${run.names[row]}: ${number(run.estimate[(i + 1) * run.count + row])}`, central ? "published" : "the new estimate"];
}

// How many answers about an arm have come in with that of user i, and how many of them say yes.
function answers(run, i, row) {
  let count = 0, yes = 0;
  for (let j = 0; j <= i; j++)
    if (run.shown[j] === row && !Number.isNaN(run.sent[j])) [count, yes] = [count + 1, yes + run.sent[j]];
  return { count, yes };
}

// How answers behind a coin are read, in words; nothing where the server reads them in another way.
function decoded(run, i) {
  const row = run.shown[i], epsilon = Number(run.epsilon), estimate = run.estimate[(i + 1) * run.count + row];
  if (!run.coin || !(epsilon > 0) || !(row < run.count) || i + 1 >= run.users) return "";
  const { count, yes } = answers(run, i, row), read = 0.5 + (yes / count - 0.5) / Math.tanh(epsilon / 2);
  if (!count || Math.abs(read - estimate) > 0.01 * Math.max(1, Math.abs(read))) return "";
  const percent = share => `${Math.round(100 * share)}%`;
  const said = `${run.rows} ${run.names[row]}: ${percent(yes / count)} of ${count} answers say yes. `;
  const lies = `The coin lies ${percent(1 / (1 + Math.exp(epsilon)))} of the time`;
  return said + (read < 0 || read > 1 ? `${lies}; too few answers to tell more.` : `${lies}, so about ${percent(read)} were yes.`);
}

function aloud(run, i) {
  const [user, shown, felt, left, server] = story(run, i);
  const parts = [`User ${user[0]} is shown ${shown[0]}, ${shown[1]}.`, `Felt: ${felt[0]}.`];
  parts.push(`Leaves the phone: ${left[0]} (${left[1]}).`, `The server: ${server[0]}, ${server[1]}.`);
  parts.push(decoded(run, i));
  if (run.regret.length) parts.push(`${run.lost ?? "Regret so far"}: ${number(run.regret[i])}.`);
  return parts.join(" ");
}

const HEADS = {
  largest: "What the server believes; the arm with the largest ▾ is shown",
  smallest: "What the server believes; the arm with the smallest number after ▾ is shown",
  draw: "What the server believes; the arm with the largest draw ▾ is shown",
  messages: "The average of the messages so far, feature by feature",
  turns: "What the server believes; arms take turns until they are dropped",
};

function make(tag, name, parent) {
  const made = parent.appendChild(document.createElement(tag));
  made.className = name;
  return made;
}

// The still parts: a row for every arm, the whole regret curve, the scales.
function build(root, run) {
  const find = name => root.querySelector(name);
  root.style.setProperty("--mark", run.colour);
  root.classList.toggle("still", !run.regret.length);
  find(".beliefs .head").textContent = HEADS[run.decides].replace(/\barm/, run.rows);
  find(".losses .head").firstChild.textContent = `${run.lost ?? "Regret so far"}: `;
  const arms = find(".arms");
  arms.replaceChildren();
  const at = value => (100 * (value - run.axis[0])) / (run.axis[1] - run.axis[0]);
  const rows = run.names.map((name, row) => {
    const arm = make("div", "arm", arms);
    make("span", "name", arm).textContent = row < run.count ? `${run.rows} ${name}` : name;
    const track = make("div", "track", arm);
    const parts = { arm };
    for (const part of ["span", "truth", "estimate", "decider"]) parts[part] = make("div", part, track);
    if (row < run.count) parts.truth.style.left = `${at(run.means[row])}%`;
    else parts.truth.hidden = true;
    parts.number = make("span", "number", arm);
    return parts;
  });
  const [low, middle, high] = root.querySelectorAll(".beliefs .scale span");
  [low.textContent, middle.textContent, high.textContent] = [number(run.axis[0]), run.truth ? "● average │ truth" : "● estimate │ true mean", number(run.axis[1])];
  const most = Math.max(run.regret[run.users - 1] ?? 0, 1e-9), pick = Math.max(1, Math.floor(run.users / 500));
  const points = ["M0 100"], marks = [];
  for (let i = 0; i < run.regret.length; i++) {
    if (i % pick === 0 || i === run.users - 1)
      points.push(`L${((100 * (i + 1)) / run.users).toFixed(2)} ${(100 - (95 * run.regret[i]) / most).toFixed(2)}`);
    if (run.mistakes[i]) marks.push(`M${((100 * (i + 1)) / run.users).toFixed(2)} 0V4`);
  }
  find(".curve .line").setAttribute("d", points.join(""));
  find(".curve .rug path").setAttribute("d", marks.join(""));
  find(".last").textContent = `user ${run.users.toLocaleString("en")}`;
  find(".scrubber").max = run.users;
  const notes = find(".notes");
  notes.replaceChildren();
  for (const note of run.notes) make("p", "", notes).textContent = note;
  return { rows, at, most };
}

function drawRow(run, parts, at, row, i) {
  const place = i * run.count + row;
  const [estimate, low, high, decider] = ["estimate", "low", "high", "decider"].map(name => run[name][place]);
  const inside = value => Math.min(100, Math.max(0, at(value)));
  const seen = value => Math.min(99, Math.max(1, at(value)));
  const known = row < run.count && !Number.isNaN(estimate), ranged = known && !Number.isNaN(low) && !Number.isNaN(high);
  parts.arm.classList.toggle("on", !run.truth && run.shown[i] === row);
  parts.arm.classList.toggle("out", decider === -Infinity);
  parts.estimate.style.display = known ? "" : "none";
  parts.span.style.display = ranged ? "" : "none";
  if (known) parts.estimate.style.left = `${seen(estimate)}%`;
  if (ranged) {
    parts.span.style.left = `${inside(low)}%`;
    parts.span.style.width = `${inside(high) - inside(low)}%`;
  }
  const pointed = row < run.count && Number.isFinite(decider) && run.decides !== "smallest";
  parts.decider.style.display = pointed ? "" : "none";
  if (pointed) parts.decider.style.left = `${seen(decider)}%`;
  parts.number.textContent =
    row >= run.count ? "" : decider === -Infinity ? "dropped" : !known ? "unknown"
    : Number.isFinite(decider) ? `${number(estimate)} ▾ ${number(decider)}` : number(estimate);
}

export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".watch");
  const find = name => root.querySelector(name);
  const run = read(data);
  const { rows, at, most } = build(root, run);
  const kept = places.get(data.stamp);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let place = kept ? kept.place : 0; // user, counted from 0, and the part that is over
  let playing = false, before = 0, waiting = 0, drawn = -1;
  const boxes = [...root.querySelectorAll(".story li")], scrubber = find(".scrubber"), speed = find("select");
  const play = find("[data-do=play]"), told = find(".told");
  root.dataset.frames = 0;

  function draw() {
    const i = Math.min(run.users - 1, Math.floor(place));
    const phase = playing && Number(speed.value) <= 1 ? Math.floor((place - i) * 6) : 5;
    boxes.forEach((box, number) => box.classList.toggle("later", number > phase));
    root.dataset.frames = Number(root.dataset.frames) + 1;
    if (i === drawn) return;
    drawn = i;
    story(run, i).forEach(([what, more], number) => {
      boxes[number].children[1].textContent = what;
      boxes[number].children[2].textContent = more;
    });
    rows.forEach((parts, row) => drawRow(run, parts, at, row, i));
    const x = (100 * (i + 1)) / run.users, lost = run.regret[i];
    if (run.regret.length) {
      find(".curve svg").style.clipPath = `inset(-5% ${100 - x}% -5% -5%)`;
      find(".dot").style.left = `${x}%`;
      find(".dot").style.top = `${100 - (95 * lost) / most}%`;
      find(".lost").textContent = number(lost);
    }
    find(".decoded").textContent = decoded(run, i);
    scrubber.value = i + 1;
    scrubber.setAttribute("aria-valuetext", `user ${i + 1}` + (run.regret.length ? `, regret ${number(lost)}` : ""));
    root.dataset.user = i + 1;
  }

  function remember() {
    places.delete(data.stamp);
    places.set(data.stamp, { place, playing });
    if (places.size > MOST_PLACES) places.delete(places.keys().next().value);
  }

  function tick(now) {
    waiting = 0;
    place = Math.min(run.users - 1, place + (Math.min(250, now - before) / 1000) * Number(speed.value));
    before = now;
    if (place >= run.users - 1) return pause();
    draw();
    waiting = requestAnimationFrame(tick);
  }

  function pause() {
    cancelAnimationFrame(waiting);
    playing = false;
    play.textContent = "Play";
    draw();
    told.textContent = aloud(run, drawn);
  }

  function go(user) {
    place = Math.min(run.users - 1, Math.max(0, user));
    pause();
  }

  function start() {
    if (still.matches) return;
    if (place >= run.users - 1) place = 0;
    playing = true;
    play.textContent = "Pause";
    told.textContent = "";
    root.classList.toggle("slow", Number(speed.value) <= SLOW);
    before = performance.now();
    waiting = requestAnimationFrame(tick);
  }

  function nextMistake() {
    const next = run.mistakes.indexOf(1, drawn + 1);
    if (next >= 0) return go(next);
    pause();
    told.textContent = "No mistake after this user.";
  }

  const acts = {
    play: () => (playing ? pause() : start()),
    back: () => go(drawn - 1),
    step: () => go(drawn + 1),
    mistake: nextMistake,
    start: () => go(0),
    end: () => go(run.users - 1),
  };
  const keys = { ArrowLeft: "back", ArrowRight: "step", p: "play", P: "play", m: "mistake", M: "mistake", Home: "start", End: "end" };
  for (const button of root.querySelectorAll("[data-do]")) button.onclick = acts[button.dataset.do];
  root.onkeydown = event => {
    const taken = event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT";
    if (taken || !keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[keys[event.key]]();
  };
  scrubber.oninput = () => go(Number(scrubber.value) - 1);
  speed.onchange = () => root.classList.toggle("slow", Number(speed.value) <= SLOW);
  const calm = () => {
    play.disabled = still.matches;
    play.title = still.matches ? "Your system asks for less motion: step instead." : "";
    if (still.matches && playing) pause();
  };
  calm();
  still.addEventListener("change", calm);
  play.textContent = "Play";
  told.textContent = "";
  draw();
  if (kept && kept.playing) start();
  return () => {
    remember();
    cancelAnimationFrame(waiting);
    still.removeEventListener("change", calm);
  };
}
