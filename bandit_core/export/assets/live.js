// Computing in the reader's browser: asks a worker to play what the lab prepared, and draws what comes back.
const live = JSON.parse(part("live-data").textContent), live_now = { worker: null, shown: null, proved: false };
const control = name => part(`live-${name}`);

const int64s = text => Array.from(new BigInt64Array(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer), Number);
const call_of = (number, line, contrast = null) => ({ ...live.calls[number], line, contrast, arguments: live.calls[number].arguments.map(each => live.leaves[each]) });

function asked() {
  const budget = +control("budget").value, users = +control("users").value;
  const means = live.arms && mean_inputs().map(each => +each.value);
  const other = means && means.some((mean, arm) => mean !== live.arms.means[arm]);
  return { budget, users, seed: control("seed").value, runs: +control("runs").value, lines: live.cells[budget][users], means: other ? means : undefined };
}

const mean_inputs = () => [...control("means").querySelectorAll("input")];
const can_play = ({ means }, [line, , call]) => call >= 0 && (!means || line in live.arms.lines);

function settings({ budget, users, seed, runs, means }) {
  const private_ones = live.budgets.length > 1 ? `${live.budgets[budget]}, ` : "";
  return `${private_ones}${live.users[users]} users, seed ${seed}, ${runs === 1 ? "a single run" : `${runs.toLocaleString("en")} runs`}${means ? `, means ${means.join(", ")}` : ""}`;
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
    const bytes = new Uint8Array(new Float64Array(found).buffer);
    if (btoa(String.fromCharCode(...bytes)) !== ends) refuse("it does not give the lab's numbers");
    else { live_now.worker.terminate(); prove(then, others); }
  });
}

function refuse(why) {
  end(`This browser cannot compute here: ${why}. The positions above are not touched by that.`);
  control("form").inert = control("go").disabled = true;
}

function compute() {
  end("");
  const wrong = [control("seed"), control("runs"), ...mean_inputs()].find(each => !each.checkValidity() || each.value === "");
  if (wrong) {
    const kind = wrong.step === "any" ? "number" : "whole number";
    control("status").textContent = `${wrong.labels[0].textContent.trim()}: a ${kind} from ${wrong.min} to ${wrong.max}.`;
    return;
  }
  const wanted = asked(), playable = (wanted.lines || []).filter(each => can_play(wanted, each));
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
  const calls = playable.map(([line, , call]) => call_of(call, line, live.arms?.lines[line]?.[wanted.budget]));
  begin({ calls, times, seed: wanted.seed, runs: wanted.runs, means: wanted.means }, ({ error, done, line, count, regret }) => {
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
  control("rows").replaceChildren(...lines.map(({ line, label, ending }) => {
    const made = document.createElement("tr"), name = document.createElement("th"), number = document.createElement("td");
    const sign = document.createElement("span");
    sign.className = `sign line-${line}`;
    sign.textContent = lesson.lines[line].sign;
    sign.title = lesson.lines[line].words;
    name.scope = "row";
    name.append(sign, label);
    number.className = "number";
    number.textContent = ending;
    made.append(name, number);
    return made;
  }));
  const ever = new Set(live.cells.flat().filter(Boolean).flat().filter(([, , call]) => call >= 0).map(([line]) => line));
  const absent = wanted.lines.filter(each => ever.has(each[0]) && !can_play(wanted, each));
  const why = ([line, , call]) => call < 0 ? live.reasons[line] : "what it is called with follows from the means in another way";
  control("absent").textContent = absent.map(each => `${each[1]} is not computed here: ${why(each)}.`).join(" ");
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

function set_up_means() {
  control("arms").hidden = !live.arms;
  if (!live.arms) return;
  live.arms.means.forEach((mean, arm) => {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "number", min: 0, max: 1, step: "any", value: mean, required: true, inputMode: "decimal" });
    label.append(`Arm ${arm + 1} `, input);
    control("means").append(label);
  });
}

function set_up_live() {
  set_up_means();
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

set_up_live();
