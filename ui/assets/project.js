// Arrows move the slider also where something else has the focus; the other keys press what a mouse would press.
if (!window.labKeys) {
  window.labKeys = true;
  const press = name => document.querySelector(`.st-key-project-${name} button:not(:disabled)`)?.click();
  const acts = {PageDown: () => press("next"), PageUp: () => press("back"), r: () => press("reveal"),
    b: () => document.documentElement.classList.toggle("blank")};
  const slider = () => [...document.querySelectorAll(".st-key-project-picture *")]
    .map(node => node.shadowRoot?.querySelector("input")).find(Boolean);
  addEventListener("keydown", event => {
    if (!document.querySelector(".st-key-project") || event.ctrlKey || event.altKey || event.metaKey) return;
    const [target] = event.composedPath(), step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step && target.tagName !== "INPUT" && slider()) {
      slider().focus();  // keys that come later reach it by themselves
      slider().stepUp(step);
      slider().dispatchEvent(new Event("input"));
    } else {
      const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      act();
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
}
