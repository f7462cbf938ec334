"use strict";
// Charts of the page (their place carries the words, so the drawing itself is hidden from screen readers), and live progress of a run.
const held = document.getElementById("specs");
if (held) {
  const specs = JSON.parse(held.textContent);
  document.querySelectorAll(".chart").forEach((place) => {
    vegaEmbed(place, specs[place.id], { actions: false, renderer: "svg" }).then(
      () => { place.querySelector("svg").setAttribute("aria-hidden", "true"); place.dataset.drawn = "yes"; },
      (error) => { place.textContent = "This chart could not be drawn."; console.error(error); });
  });
}
const running = document.getElementById("progress");
if (running) {
  const ask = () => fetch("/run/" + running.dataset.run + "/state").then((answer) => answer.json()).then((state) => {
    if (state.state !== "running") { location.reload(); return; }
    const bar = document.getElementById("bar");
    bar.max = state.of || 1; bar.value = state.done || 0;
    document.getElementById("said").textContent = state.done + " of " + (state.of || "?") + " files made and measured (" + state.now + ")";
    setTimeout(ask, 700);
  }, () => { document.getElementById("said").textContent = "The page has lost its program; start 'dalenius app' again."; });
  setTimeout(ask, 700);
}
