"use strict";
// The set-up page: the first intruder follows the roles, intruders can be added and taken away, the cost can be asked for.
const form = document.getElementById("setup");
const list = document.getElementById("intruders");
const fresh = document.getElementById("new-intruder");
const box = (card, side, column) => card.querySelector('input[name$="-' + side + '"][value="' + column + '"]');

// One column is either known or wanted.
form.addEventListener("change", (event) => {
  const found = /^s-\d+-(key|target)$/.exec(event.target.name || "");
  if (found && event.target.checked) {
    const card = event.target.closest(".intruder");
    box(card, found[1] === "key" ? "target" : "key", event.target.value).checked = false;
  }
  if (event.target.dataset.column !== undefined) {
    const first = list.querySelector(".intruder");
    if (!first) return;
    for (const side of ["key", "target"]) box(first, side, event.target.dataset.column).checked = event.target.value === side;
  }
  if (event.target.name === "method") event.target.closest(".method").classList.toggle("on", event.target.checked);
  if (/^s-\d+-name$/.test(event.target.name || "")) event.target.closest(".intruder").querySelector("legend").textContent = event.target.value || "New intruder";
});

form.addEventListener("click", (event) => {
  const adding = event.target.dataset.add;
  if (adding !== undefined) add(JSON.parse(adding));
  if (event.target.dataset.remove !== undefined) {
    event.target.closest(".intruder").remove();
    tidy();
  }
});

function add(given) {
  const used = Array.from(list.children).map((card) => Number(card.dataset.number));
  let number = 0;
  while (used.includes(number)) number += 1;
  const names = Array.from(list.querySelectorAll('input[name$="-name"]')).map((field) => field.value);
  const holder = document.createElement("div");
  holder.innerHTML = fresh.innerHTML.replaceAll("NUMBER", String(number));
  const card = holder.firstElementChild;
  const first = list.querySelector(".intruder");
  const named = given.name && names.includes(given.name) ? given.name + " " + (number + 1) : given.name || "";
  card.querySelector('input[name$="-name"]').value = named;
  card.querySelector("legend").textContent = named || "New intruder";
  card.querySelector('input[name$="-about"]').value = given.about || "";
  card.querySelector('input[name$="-share"]').value = given.share || "100";
  if (first) for (const side of ["key", "target"]) first.querySelectorAll('input[name$="-' + side + '"]:checked').forEach((one) => { box(card, side, one.value).checked = true; });
  list.append(card);
  card.querySelector('input[name$="-name"]').focus();
  tidy();
}

// The last intruder cannot be taken away.
function tidy() {
  const cards = list.querySelectorAll(".intruder");
  cards.forEach((card) => { card.querySelector(".remove").hidden = cards.length < 2; });
  form.querySelectorAll("[data-add]").forEach((button) => { button.disabled = cards.length >= Number(list.dataset.most); });
}
tidy();

document.getElementById("cost").addEventListener("click", () => {
  const said = document.getElementById("cost-said");
  said.textContent = "Trying with a few records …";
  fetch("/run/" + form.dataset.run + "/forecast", { method: "POST", body: new FormData(form) })
    .then((answer) => answer.json()).then((found) => { said.textContent = found.said; }, () => { said.textContent = "This could not be found out."; });
});


// Ten made-up rows, as the columns are set now; everything is put in as text.
document.getElementById("look").addEventListener("click", () => {
  const told = document.getElementById("look-said");
  told.textContent = "Making ten rows …";
  fetch("/run/" + form.dataset.run + "/preview", { method: "POST", body: new FormData(form) })
    .then((answer) => answer.json()).then(shown, () => { told.textContent = "This could not be made."; });
});

function line(kind, cells) {
  const row = document.createElement("tr");
  cells.forEach((text) => { const cell = document.createElement(kind); cell.textContent = text; row.append(cell); });
  return row;
}

function shown(found) {
  const told = document.getElementById("look-said");
  document.getElementById("looked").hidden = Boolean(found.fault);
  if (found.fault) { told.textContent = "Not yet: " + found.fault; return; }
  told.textContent = "Nobody's data: made by " + found.method + " from what the columns are set to now." +
    (found.kept.length ? " " + found.kept.length + (found.kept.length === 1 ? " relation is" : " relations are") + " kept by construction." : "");
  const head = document.createElement("thead");
  const body = document.createElement("tbody");
  head.append(line("th", found.columns));
  found.rows.forEach((cells) => body.append(line("td", cells)));
  document.getElementById("made-up").replaceChildren(head, body);
  document.getElementById("made-rules").replaceChildren(...found.rules.map(([text, holds]) => {
    const item = document.createElement("li");
    item.textContent = (holds ? "✓ " : "✗ ") + text + (holds ? " holds in all ten" : " does not hold in all ten");
    return item;
  }));
}
