// Bars whose heights are means of arms: dragged, or moved by keys. The server hears where one rests.
const STEPS = {
  ArrowUp: .01, ArrowRight: .01, ArrowDown: -.01, ArrowLeft: -.01, PageUp: .1, PageDown: -.1, Home: -1, End: 1,
};

export default function ({ data, parentElement, setTriggerValue }) {
  const arms = parentElement.querySelector(".arms");
  if (arms.moving) return;
  while (arms.children.length > data.means.length) arms.lastChild.remove();
  while (arms.children.length < data.means.length) {
    const bar = document.createElement("div");
    bar.innerHTML = "<span><i></i></span><b></b>";
    Object.assign(bar, { role: "slider", tabIndex: 0, ariaOrientation: "vertical", ariaValueMin: 0, ariaValueMax: 1 });
    arms.append(bar);
  }
  const counted = Math.max(...data.counts) > 1;
  [...arms.children].forEach((bar, at) => {
    const count = data.counts[at];
    const show = mean => {
      bar.mean = mean;
      const words = Number.isInteger(+(100 * mean).toFixed(6)) ? mean.toFixed(2) : `${+mean.toPrecision(3)}`;
      const times = counted ? `<small>${count > 1 ? `× ${count}` : "&nbsp;"}</small>` : "";
      bar.querySelector("i").style.height = `${100 * mean}%`;
      bar.querySelector("b").innerHTML = words + times;
      bar.ariaValueNow = mean;
      bar.ariaValueText = words;
    };
    const move = mean => show(Math.min(1, Math.max(0, Math.round(100 * mean) / 100)));
    const rest = () => {
      arms.moving = false;
      if (bar.mean !== data.means[at]) setTriggerValue("moved", [at, bar.mean]);
    };
    const follow = ({ clientY }) => {
      const { top, height } = bar.querySelector("span").getBoundingClientRect();
      move(1 - (clientY - top) / height);
    };
    bar.ariaLabel = `Mean of arm ${at + 1}${count > 1 ? `, for ${count} equal arms` : ""}`;
    bar.onpointerdown = event => {
      if (event.button) return;
      arms.moving = true;
      bar.setPointerCapture(event.pointerId);
      follow(event);
    };
    bar.onpointermove = event => { if (bar.hasPointerCapture(event.pointerId)) follow(event); };
    bar.onpointerup = rest;
    bar.onpointercancel = () => { show(data.means[at]); rest(); };
    bar.onkeydown = event => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      arms.moving = true;
      move(bar.mean + STEPS[event.key]);
    };
    bar.onkeyup = bar.onblur = () => { if (arms.moving) rest(); };
    show(data.means[at]);
  });
}
