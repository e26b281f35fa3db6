// Puts a player (ui/player/player.js, which stands above) at each lesson of a file.
const night = matchMedia("(prefers-color-scheme: dark)");
for (const source of document.querySelectorAll("script[type='application/json']")) {
  const { start, light, dark } = JSON.parse(source.textContent), shown = () => (night.matches ? dark : light);
  const change = mount(source.previousElementSibling, shown(), start, () => {});
  night.addEventListener("change", () => change(shown()));
}
