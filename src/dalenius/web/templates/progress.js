"use strict";
// Live progress: asks for the state of the run; the page's own script says how it is shown.
const shown = document.getElementById("progress");
const said = document.getElementById("said");
const bar = document.getElementById("bar");
// A page that is being left is not loaded again; one that stands still notices when the run goes on elsewhere.
let leaving = false;
document.addEventListener("submit", () => { leaving = true; });
const pause = shown.dataset.state === "running" ? 700 : 3000;
function ask() {
  if (leaving) return;
  fetch("/run/" + shown.dataset.run + "/state").then((answer) => answer.json()).then((state) => {
    if (leaving) return;
    if (state.state !== shown.dataset.state) { location.reload(); return; }
    show(state);
    setTimeout(ask, pause);
  }, () => { said.textContent = "The page has lost its program; start 'dalenius app' again, and find the run under your runs."; });
}
if (shown.dataset.state === "running") { ask(); } else { setTimeout(ask, pause); }
