"use strict";
// Live progress: asks for the state of the run, and shows each file as it is made and measured.
const shown = document.getElementById("progress");
const said = document.getElementById("said");
function show(state) {
  const done = state.jobs.filter((job) => job.stage === "done").length;
  const bar = document.getElementById("bar");
  bar.max = state.jobs.length || 1;
  bar.value = done;
  const ending = state.jobs.length && done === state.jobs.length ? "; writing the pack" : "";
  said.textContent = done + " of " + state.jobs.length + " files made and measured" + ending;
  document.querySelectorAll("#jobs li").forEach((line, n) => {
    const job = state.jobs[n];
    if (!job || line.className === job.stage) return;
    line.className = job.stage;
    const mark = line.querySelector(".state");
    mark.className = "state " + job.stage;
    mark.textContent = job.words;
  });
}
function ask() {
  fetch("/run/" + shown.dataset.run + "/state").then((answer) => answer.json()).then((state) => {
    if (state.state !== "running") { location.reload(); return; }
    show(state);
    setTimeout(ask, 700);
  }, () => { said.textContent = "The page has lost its program; start 'dalenius app' again, and find the run under your runs."; });
}
if (shown.dataset.state === "running") setTimeout(ask, 700);
