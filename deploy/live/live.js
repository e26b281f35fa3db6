// Computing in the reader's browser: asks a worker to play what the lab prepared, and draws what comes back.
const live = JSON.parse(part("live-data").textContent), live_now = { worker: null, shown: null, proved: false };
const control = name => part(`live-${name}`);

const int64s = text => Array.from(new BigInt64Array(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer), Number);
const call_of = (number, line) => ({ ...live.calls[number], line, arguments: live.calls[number].arguments.map(each => live.leaves[each]) });

function settings({ budget, users, seed, runs }) {
  const private_ones = live.budgets.length > 1 ? `${live.budgets[budget]}, ` : "";
  return `${private_ones}${live.users[users]} users, seed ${seed}, ${runs === 1 ? "a single run" : `${runs.toLocaleString("en")} runs`}`;
}

// A worker for one request; `told` hears every part of its answer.
function begin(request, told) {
  let worker;
  try { worker = live_now.worker = new Worker(live_now.address); } catch (error) { refuse(error.message); return; }
  worker.onmessage = ({ data }) => { if (worker === live_now.worker) told(data); };
  worker.onerror = event => { event.preventDefault(); worker.onmessage({ data: { error: event.message || "no worker" } }); };
  worker.postMessage({ wasm: live.wasm, ...request });
}

function end(words) {
  if (live_now.worker) live_now.worker.terminate();
  live_now.worker = null;
  clearTimeout(live_now.late);
  control("progress").hidden = true;
  control("stop").disabled = true;
  control("status").textContent = words;
}

function prove(then, checks = live.checks) {
  if (live_now.proved || !checks.length) { live_now.proved = true; then(); return; }
  const [{ call, seed, runs, times, ends }, ...others] = checks, found = [];
  begin({ calls: [call_of(call, 0)], times: live.leaves[times], seed, runs }, ({ error, done, regret, count }) => {
    if (error) { refuse(error); return; }
    if (!done) {
      const wide = regret.length / count;
      for (let run = 1; run <= count; run++) found.push(regret[run * wide - 1]);
      return;
    }
    if (String(found) !== String(ends)) refuse("it does not give the lab's numbers"); // texts tell all doubles apart
    else { live_now.worker.terminate(); prove(then, others); }
  });
}

function refuse(why) {
  end(`This browser cannot compute here: ${why}. The positions above are not touched by that.`);
  control("form").inert = control("go").disabled = true;
}

function compute() {
  end("");
  const wrong = [control("seed"), control("runs")].find(each => !each.checkValidity() || each.value === "");
  if (wrong) {
    control("status").textContent = `${wrong.labels[0].textContent.trim()}: a whole number from ${wrong.min} to ${wrong.max}.`;
    return;
  }
  const budget = +control("budget").value, users = +control("users").value;
  const wanted = { budget, users, seed: control("seed").value, runs: +control("runs").value };
  const playable = (live.cells[budget][users] || []).filter(([, , call]) => call >= 0);
  if (!playable.length) {
    control("status").textContent = `With ${settings(wanted)} no line can be computed here.`;
    return;
  }
  control("stop").disabled = false;
  control("status").textContent = `Computing ${settings(wanted)} …`;
  live_now.late = setTimeout(() => { control("progress").hidden = false; }, 500);
  control("progress").value = 0;
  prove(() => play_all(wanted, playable));
}

function play_all(wanted, playable) {
  const times = live.leaves[live.times[wanted.users]], wide = times[1][0], began = performance.now();
  const runs = new Map(playable.map(([line]) => [line, []]));
  let done_runs = 0;
  const calls = playable.map(([line, , call]) => call_of(call, line));
  begin({ calls, times, seed: wanted.seed, runs: wanted.runs }, ({ error, done, line, count, regret }) => {
    if (error) { end(`Not computed: ${error}.`); return; }
    if (done) {
      live_now.shown = { wanted, times: int64s(times[2]), lines: playable.map(([line, label]) => ({ line, label, ...summed_up(runs.get(line), wide) })) };
      end(`Computed in ${((performance.now() - began) / 1000).toLocaleString("en", { maximumSignificantDigits: 2 })} s on this device.`);
      show_live();
      return;
    }
    for (let run = 0; run < count; run++) runs.get(line).push(regret.subarray(run * wide, (run + 1) * wide));
    done_runs += count;
    control("progress").value = done_runs / (wanted.runs * playable.length);
  });
}

function show_live() {
  const { wanted, lines } = live_now.shown;
  control("result").hidden = false;
  control("caption").textContent = `${settings(wanted)}.${wanted.runs > 1 ? " Shaded: the middle 90 % of the runs." : ""}`;
  control("regret").textContent = `Regret after ${live.users[wanted.users]} users`;
  control("rows").replaceChildren(...lines.map(({ line, label, ending }) => table_row({ line, label, regret: ending })));
  paint_live();
}

function paint_live() {
  if (!live_now.shown) return;
  const { wanted, times, lines } = live_now.shown, series = [times, ...lines.flatMap(each => [each.mean, each.low, each.high])];
  const curves = lines.map(({ line, label }, place) => ({ line, label, y: 3 * place + 1, ...(wanted.runs > 1 ? { low: 3 * place + 2, high: 3 * place + 3 } : {}) }));
  const ends = lines.map(({ label, ending }) => `${label} has lost ${ending}.`).join(" ");
  draw(control("picture"), {
    series, curves, x: 0, log: lesson.users.log, titles: ["users so far", "lost reward so far (regret)"],
    across: [1, Math.max(2, times.at(-1))], up: span(curves, series, lesson.users.log[1]), at: users => `${users.toLocaleString("en")} users`,
    alt: `Computed here: ${settings(wanted)}. ${ends}`,
  });
}

function say_values() {
  for (const [name, words] of [["budget", live.budgets], ["users", live.users]]) {
    control(`${name}-value`).textContent = words[control(name).value];
    control(name).setAttribute("aria-valuetext", words[control(name).value]);
  }
}

function set_up_live() {
  live_now.address = URL.createObjectURL(new Blob([part("live-worker").textContent], { type: "text/javascript" }));
  const { start } = live;
  control("budget").max = live.budgets.length - 1;
  control("users").max = live.users.length - 1;
  for (const name of ["budget", "users", "seed", "runs"]) control(name).value = start[name];
  control("form").addEventListener("input", () => {
    say_values();
    end("");
    clearTimeout(live_now.soon);
    live_now.soon = setTimeout(compute, 250); // while a control still moves nothing begins
  });
  control("budget-row").hidden = live.budgets.length < 2;
  control("form").addEventListener("submit", event => { event.preventDefault(); clearTimeout(live_now.soon); compute(); });
  control("stop").addEventListener("click", () => end("Stopped."));
  new ResizeObserver(() => paint_live()).observe(document.body);
  say_values();
  for (const name of ["live", "live-link"]) part(name).hidden = false;
}

// Numbers of many runs in a few, and as text, nearly as the lab writes them (bandit_core/spec/number_text.py).
const ten = power => Number(`1e${power}`); // exactly

function with_error(value, error) {
  if (!(error > Math.max(1e-300, 1e-9 * Math.abs(value)))) return value.toLocaleString("en", { maximumSignificantDigits: 3 });
  let place = Math.floor(Math.log10(error));
  if (error / ten(place) < 3) place -= 1;
  const keep = ten(place), decimals = Math.max(0, -place);
  const written = each => (Math.round(each / keep) * keep).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return `${written(value)} ± ${written(error)}`;
}

function quantile(sorted, share) {
  const place = (sorted.length - 1) * share, low = Math.floor(place), high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

function summed_up(runs, times) {
  const mean = [], low = [], high = [], last = times - 1;
  for (let time = 0; time < times; time++) {
    const column = runs.map(run => run[time]);
    mean.push(column.reduce((one, other) => one + other, 0) / runs.length);
    column.sort((one, other) => one - other);
    low.push(quantile(column, .05));
    high.push(quantile(column, .95));
  }
  const squares = runs.reduce((sum, run) => sum + (run[last] - mean[last]) ** 2, 0);
  const error = runs.length > 1 ? Math.sqrt(squares / (runs.length - 1)) / Math.sqrt(runs.length) : NaN;
  return { mean, low, high, ending: with_error(mean[last], error) };
}

set_up_live();
