"use strict";
// One output is current; keys move, mark and decide. A decision is for the marked outputs, or for the current one.
(() => {
  const items = [...document.querySelectorAll(".output")];
  const form = document.getElementById("decide");
  const reason = document.getElementById("reason");
  const said = document.getElementById("said");
  if (!items.length) return;
  let now = Math.max(0, items.findIndex((i) => !i.dataset.decision));
  const box = (item) => item.querySelector('input[name="output"]');
  const go = (to) => {
    items[now].classList.remove("current");
    now = Math.min(Math.max(to, 0), items.length - 1);
    items[now].classList.add("current");
    items[now].focus({ preventScroll: true });
    items[now].scrollIntoView({ block: "start" });
    window.scrollBy(0, -90);
  };
  const decide = (word) => {
    const marked = items.filter((i) => box(i).checked);
    const meant = marked.length ? marked : [items[now]];
    const lacking = !reason.value.trim() && (word !== "approve" || meant.some((i) => i.dataset.status === "fail"));
    if (lacking) {
      said.textContent = "Say why first.";
      form.dataset.waiting = word;
      reason.focus();
      return;
    }
    meant.forEach((i) => { box(i).checked = true; });
    form.requestSubmit(form.querySelector(`button[value="${word}"]`));
  };
  form.addEventListener("submit", () => {
    if (!items.some((i) => box(i).checked)) box(items[now]).checked = true;
  });
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (form.dataset.waiting && reason.value.trim()) decide(form.dataset.waiting);
      else go(now);
    } else if (event.key === "Escape") go(now);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target === reason || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      j: () => go(now + 1), k: () => go(now - 1), a: () => decide("approve"), r: () => decide("reject"),
      f: () => { const fix = items[now].querySelector('button[name="fix"]'); if (fix) form.requestSubmit(fix); else said.textContent = "No fix passes."; },
      b: () => decide("return"), c: () => reason.focus(), x: () => { box(items[now]).checked = !box(items[now]).checked; },
    };
    const act = acts[event.key.toLowerCase()];
    if (act) { event.preventDefault(); act(); }
  });
  document.body.dataset.ready = "yes";
  go(now);
})();
