"use strict";
// Verifying a pack makes its figures and reports again and compares them.
const verify = document.getElementById("verify");
if (verify) verify.addEventListener("click", () => {
  const told = document.getElementById("verified");
  told.textContent = "Making figures and reports again, to compare them …";
  fetch("/run/" + verify.dataset.run + "/verify", { method: "POST" })
    .then((answer) => answer.json()).then((found) => { told.textContent = found.said; }, () => { told.textContent = "This could not be found out."; });
});
