// Arrows move the slider also where something else has the focus; the other keys press what a mouse would press.
if (!window.labKeys) {
  window.labKeys = true;
  const press = name => document.querySelector(`.st-key-project-${name} button:not(:disabled)`)?.click();
  const acts = {PageDown: () => press("next"), PageUp: () => press("back"), r: () => press("reveal"),
    b: () => document.documentElement.classList.toggle("blank")};
  addEventListener("keydown", event => {
    const slider = document.querySelector(".st-key-project input[type=range]");
    if (!document.querySelector(".st-key-project") || event.ctrlKey || event.altKey || event.metaKey) return;
    if (["ArrowLeft", "ArrowRight"].includes(event.key) && slider && event.target !== slider) {
      slider.focus();  // keys that come later reach it by themselves
      slider.dispatchEvent(new KeyboardEvent("keydown", {key: event.key, bubbles: true, cancelable: true}));
    } else {
      const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      act();
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
}
