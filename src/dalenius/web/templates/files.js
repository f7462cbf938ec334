"use strict";
// Progress of a plan: each file as it is made and measured.
function show(state) {
  const done = state.jobs.filter((job) => job.stage === "done").length;
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
