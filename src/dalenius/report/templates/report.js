"use strict";
// The place of a chart carries its words, so the drawing itself is hidden from screen readers.
// Charts of closed parts are drawn when the part is opened, so that a long report opens at once.
const { shared, charts } = JSON.parse(document.getElementById("specs").textContent);
const options = { actions: false, renderer: "svg", tooltip: { theme: "light" } };
function draw(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "waiting";
  // Vega names what it draws in: it gets a sheet of its own, so that the words of the place stay.
  const sheet = document.createElement("div");
  sheet.setAttribute("aria-hidden", "true");
  place.append(sheet);
  vegaEmbed(sheet, { ...shared, ...charts[place.id] }, options).then(
    () => { place.dataset.drawn = "yes"; if (place.scrollWidth > place.clientWidth) place.tabIndex = 0; },
    (error) => { place.dataset.drawn = "failed"; place.textContent = "This chart could not be drawn."; console.error(error); }
  );
}
const parts = Array.from(document.querySelectorAll("details"));
const drawIn = (part) => part.querySelectorAll(".chart").forEach(draw);
document.querySelectorAll("section .chart").forEach(draw);
parts.forEach((part) => {
  if (part.open) drawIn(part);
  part.addEventListener("toggle", () => { if (part.open) drawIn(part); });
});
// A link to a closed part opens it.
function openTarget() {
  const part = document.getElementById(location.hash.slice(1));
  if (part && part.tagName === "DETAILS") part.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();
// On paper nothing can be clicked: open every part and draw everything first.
window.addEventListener("beforeprint", () => parts.forEach((part) => { part.open = true; drawIn(part); }));
