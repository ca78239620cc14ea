"use strict";
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const has = (words, wanted) => (words || "").split(" ").includes(wanted === "-" ? "" : wanted);
  const tests = {
    folder: (item, wanted) => `${item.closest("section.file").dataset.folder}/`.startsWith(`${wanted}/`),
    rule: (item, wanted) => has(item.dataset.rules, wanted),
    severity: (item, wanted) => has(item.dataset.severities, wanted),
    verdict: (item, wanted) => item.dataset.verdict === wanted,
  };
  const items = [...document.querySelectorAll(".item")];
  const norms = items.filter((item) => item.matches("article"));
  const apply = () => {
    const asked = [...form.querySelectorAll("select")].filter((choice) => choice.value);
    for (const item of items) item.hidden = !asked.every((choice) => tests[choice.name](item, choice.value));
    for (const file of document.querySelectorAll("section.file")) file.hidden = !file.querySelector(".item:not([hidden])");
    const left = norms.filter((norm) => !norm.hidden).length;
    form.querySelector("output").textContent = `${left} of ${norms.length} norms`;
  };
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
})();
