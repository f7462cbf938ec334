"use strict";
// What the charts of a report or page hold, and how a chart is put together from it: the other side of `Charts.to_json`.
const { shared, forms, charts } = JSON.parse(document.getElementById("specs").textContent);
// Charts that differ in their rows alone share one form; rows are kept as columns, words that repeat by their number.
function spec(chart) {
  if (chart.form === undefined) return { ...shared, ...chart };
  const columns = Object.entries(chart.columns).map(([field, held]) => [field, held.of ? held.at.map((i) => held.of[i]) : held]);
  const rows = columns.length ? columns[0][1].map((_, i) => Object.fromEntries(columns.map(([field, cells]) => [field, cells[i]]))) : [];
  return { ...shared, ...forms[chart.form], datasets: { rows } };
}
