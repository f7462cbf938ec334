// Draws the charts of a page. The place of a chart carries its words, so the drawing itself is hidden from screen readers.
document.querySelectorAll(".chart").forEach((place) => {
  const sheet = document.createElement("div");  // Vega names what it draws in; the words of the place stay
  sheet.setAttribute("aria-hidden", "true");
  place.append(sheet);
  vegaEmbed(sheet, spec(charts[place.id]), { actions: false, renderer: "svg" }).then(
    () => { place.dataset.drawn = "yes"; if (place.scrollWidth > place.clientWidth) place.tabIndex = 0; },
    (error) => { place.textContent = "This chart could not be drawn."; console.error(error); });
});
