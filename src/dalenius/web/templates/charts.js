"use strict";
// Draws the charts of a page. The place of a chart carries its words, so the drawing itself is hidden from screen readers.
const specs = JSON.parse(document.getElementById("specs").textContent);
document.querySelectorAll(".chart").forEach((place) => {
  vegaEmbed(place, specs[place.id], { actions: false, renderer: "svg" }).then(
    () => { place.querySelector("svg").setAttribute("aria-hidden", "true"); place.dataset.drawn = "yes"; },
    (error) => { place.textContent = "This chart could not be drawn."; console.error(error); });
});
