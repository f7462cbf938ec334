"use strict";
// Live progress: asks for the state of the run, and shows each file as it is made and measured.
const shown = document.getElementById("progress");
const said = document.getElementById("said");
function show(state) {
  const done = state.jobs.filter((job) => job.stage === "done").length;
  const bar = document.getElementById("bar");
  bar.max = state.jobs.length || 1;
  bar.value = done;
  const ending = state.state === "running" && state.jobs.length && done === state.jobs.length ? "; writing the pack" : "";
  said.textContent = done + " of " + state.jobs.length + " files made and measured" + ending;
  document.getElementById("note").textContent = state.note;
  document.querySelectorAll("#jobs li").forEach((line, n) => {
    const job = state.jobs[n];
    if (!job || line.className === job.stage) return;
    line.className = job.stage;
    const mark = line.querySelector(".state");
    mark.className = "state " + job.stage;
    mark.textContent = job.words;
  });
}
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
setTimeout(ask, pause);
