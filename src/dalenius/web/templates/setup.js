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
