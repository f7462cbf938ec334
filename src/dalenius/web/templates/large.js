"use strict";
// Progress on a large file: records read or written, by what the run says of itself.
const steps = { 1: "Making the file: ", 2: "Measuring it: " };
function show(state) {
  said.textContent = (steps[state.step] || "") + (state.now || "");
  document.getElementById("note").textContent = state.note;
  const found = /([0-9,]+) of ([0-9,]+) rows/.exec(state.now || "");
  const number = (text) => Number(text.replaceAll(",", ""));
  if (found) { bar.value = number(found[1]) / number(found[2]); } else { bar.removeAttribute("value"); }
}
