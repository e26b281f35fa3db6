"use strict";
const main = document.querySelector("main"), here = `?class=${encodeURIComponent(main.dataset.code)}`;
const version = () => main.firstElementChild.dataset.version;
const lost = gone => { document.getElementById("lost").hidden = !gone; };
let wake = () => {};
const pause = seconds => new Promise(done => { wake = done; setTimeout(done, 1000 * seconds); });

function show(html) {
  const pressed = document.activeElement.value;
  main.innerHTML = html;
  begin();
  if (pressed) main.querySelector(`button[value="${CSS.escape(pressed)}"]`)?.focus();
}

function begin() {
  for (const form of main.querySelectorAll("form[data-coins]")) {
    form.querySelector(".by-hand").hidden = true;
    form.querySelector(".by-script").hidden = false;
  }
}

// Ask whether the class has moved on. The server answers when it has; after an error the phone waits longer each time.
async function follow() {
  for (let failed = 0; version() !== "closed";) {
    let wait = 0.2;
    try {
      const asked = version(), answer = await fetch(`${here}&since=${asked}`, {cache: "no-store"});
      if (!answer.ok) throw new Error(answer.status);
      if (answer.status === 200 && asked === version()) show(await answer.text());
      wait = Number(answer.headers.get("retry-after")) || wait;
      failed = 0;
      lost(false);
    } catch {
      lost(true);
      wait = Math.min(20, 2 ** failed++);
    }
    await pause(wait * (0.5 + Math.random()));
  }
}

// Send a guess until the server has answered, or until the class has moved on.
async function send(fields) {
  const asked = version();
  main.setAttribute("aria-busy", "true");
  for (let failed = 0; asked === version(); failed++) {
    try {
      const answer = await fetch(here, {method: "POST", body: new URLSearchParams(fields)});
      if (answer.ok) {
        show(await answer.text());
        break;
      }
    } catch {
      lost(true);
    }
    await new Promise(done => setTimeout(done, 1000 * Math.min(8, 2 ** failed) * (0.5 + Math.random())));
  }
  main.removeAttribute("aria-busy");
}

// Where the phone tosses coins, the pressed answer stays here; what the coins make of it is sent by a second press.
function toss(form, answer) {
  const {bit, message} = tossCoins(answer);
  form.querySelector("output").textContent = message;
  form.querySelector(".by-script").hidden = true;
  form.querySelectorAll("button").forEach(button => button.remove());
  form.insertAdjacentHTML("beforeend", `<button name="value" value="${bit}">Send “${bit ? "yes" : "no"}”</button>`);
  form.querySelector("button").focus();
  delete form.dataset.coins;
}

addEventListener("submit", event => {
  event.preventDefault();
  const form = event.target, fields = new FormData(form), pressed = event.submitter;
  if (pressed?.name) fields.set(pressed.name, pressed.value);
  if ("coins" in form.dataset) toss(form, Number(pressed.value));
  else send(fields);
});
addEventListener("visibilitychange", () => wake());
begin();
follow();
