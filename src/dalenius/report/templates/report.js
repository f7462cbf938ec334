// The place of a chart carries its words, so the drawing itself is hidden from screen readers.
// Charts of closed parts are drawn when the part is opened, so that a long report opens at once.
const options = { actions: false, renderer: "svg", tooltip: { theme: "light" } };
function draw(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "waiting";
  // Vega names what it draws in: it gets a sheet of its own, so that the words of the place stay.
  const sheet = document.createElement("div");
  sheet.setAttribute("aria-hidden", "true");
  place.append(sheet);
  vegaEmbed(sheet, spec(charts[place.id]), options).then(
    (made) => { made.view.addEventListener("click", (event, item) => { if (item && item.datum && item.datum.pair) lookBehind(place, item.datum.pair); });
      place.dataset.drawn = "yes"; if (place.scrollWidth > place.clientWidth) place.tabIndex = 0; },
    (error) => { place.dataset.drawn = "failed"; place.textContent = "This chart could not be drawn."; console.error(error); }
  );
}
// The two tables behind a pair of columns: chosen from a list, or by a click on its bar or on its cell of the map.
function behindOf(part) { return JSON.parse(document.getElementById(part.dataset.tables).textContent); }
function square(held, side, name, highest) {
  const box = document.createElement("div"), table = document.createElement("table"), head = document.createElement("tr");
  const title = document.createElement("h4"), scroll = document.createElement("div");
  title.textContent = name;
  scroll.className = "scroll"; scroll.tabIndex = 0;
  scroll.setAttribute("role", "region"); scroll.setAttribute("aria-label", held.pair + " in " + name);
  const cell = (kind, text, row) => { const made = document.createElement(kind); made.textContent = text; row.append(made); return made; };
  cell("th", held.columns[0] + " \\ " + held.columns[1], head);
  held.across.forEach((text) => { cell("th", text, head).className = "number"; });
  table.createTHead().append(head);
  const body = table.createTBody();
  held.down.forEach((text, i) => {
    const row = body.insertRow();
    cell("th", text, row).scope = "row";
    held[side][i].forEach((share) => {
      const made = cell("td", share === null ? "" : (share / 10).toFixed(1), row);
      made.className = "number";
      if (share !== null) made.style.background = "color-mix(in srgb, currentColor " + Math.round(22 * share / highest) + "%, transparent)";
    });
  });
  scroll.append(table); box.append(title, scroll);
  return box;
}
function showBehind(part) {
  const held = behindOf(part)[part.querySelector("select").selectedIndex];
  const highest = Math.max(1, ...held.original.flat(), ...held.protected.flat());
  const file = part.closest(".file").querySelector("summary").firstChild.textContent.trim();
  part.querySelector(".two").replaceChildren(square(held, "original", "original", highest), square(held, "protected", file, highest));
}
function lookBehind(place, pair) {
  const file = place.closest(".file"), part = file && file.querySelector("details.behind");
  if (!part) return;
  const at = behindOf(part).findIndex((held) => held.pair === pair || held.columns.slice().reverse().join(" × ") === pair);
  part.querySelector(".said").textContent = at < 0 ? pair + " is not among the pairs that are furthest off" : "";
  if (at >= 0) part.querySelector("select").selectedIndex = at;
  part.open = true;
  showBehind(part);
  part.scrollIntoView({ block: "nearest" });
}
document.querySelectorAll("details.behind").forEach((part) => {
  part.querySelector("select").addEventListener("change", () => { part.querySelector(".said").textContent = ""; showBehind(part); });
  part.addEventListener("toggle", () => { if (part.open && !part.querySelector("table")) showBehind(part); });
});
const parts = Array.from(document.querySelectorAll("details"));
// Charts are drawn when they come near the window, those of a closed part not before it is opened.
const near = new IntersectionObserver((seen) => seen.forEach((one) => {
  if (one.isIntersecting) { near.unobserve(one.target); draw(one.target); }
}), { rootMargin: "600px" });
document.querySelectorAll(".chart").forEach((place) => near.observe(place));
// A link to a closed part opens it.
function openTarget() {
  const part = document.getElementById(location.hash.slice(1));
  if (part && part.tagName === "DETAILS") part.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();
// On paper: every file with its three pictures, all drawn before; what is folded inside stays on the screen.
const onPaper = (place) => !place.closest("details.more") && !place.closest(".many .shown");
function forPaper() {
  parts.filter((part) => part.classList.contains("file") || part.id === "provenance" || part.id === "words").forEach((part) => { part.open = true; });
  document.querySelectorAll(".chart").forEach((place) => { if (onPaper(place)) draw(place); });
}
window.addEventListener("beforeprint", forPaper);
// The rest of what lies open is drawn while nothing else is to be done, so that a picture of the whole page has no holes.
const idly = window.requestIdleCallback || ((next) => setTimeout(next, 50));
const later = Array.from(document.querySelectorAll(".chart"));
function drawRest() {
  const next = later.find((place) => !place.dataset.drawn && place.checkVisibility?.());
  if (next) { draw(next); idly(drawRest); }
}
window.addEventListener("load", () => idly(drawRest));
document.querySelectorAll("input.find").forEach((field) => field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  document.getElementById(field.dataset.list).querySelectorAll("li").forEach((line) => {
    line.hidden = !line.textContent.toLowerCase().includes(wanted);
  });
}));
