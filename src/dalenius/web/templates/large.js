"use strict";
// How far a run on a large file is: records read or written, by what the run says of itself.
const shown = document.getElementById("progress");
const said = document.getElementById("said");
const bar = document.getElementById("bar");
const steps = { 1: "Making the file: ", 2: "Measuring it: " };
function show(state) {
  said.textContent = (steps[state.step] || "") + (state.now || "");
  document.getElementById("note").textContent = state.note;
  const found = /([0-9,]+) of ([0-9,]+) rows/.exec(state.now || "");
  const number = (text) => Number(text.replaceAll(",", ""));
  if (found) { bar.value = number(found[1]) / number(found[2]); } else { bar.removeAttribute("value"); }
}
let leaving = false;
document.addEventListener("submit", () => { leaving = true; });
const pause = shown.dataset.state === "running" ? 500 : 3000;
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
