"use strict";
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const norms = [...document.querySelectorAll("article.norm")];
  const fits = (norm, rule, verdict) => {
    const rules = norm.dataset.rules.split(" ").filter(Boolean);
    const ruled = !rule || (rule === "-" ? rules.length === 0 : rules.includes(rule));
    return ruled && (!verdict || norm.dataset.verdict === verdict);
  };
  const apply = () => {
    const value = (name) => (form.elements[name] ? form.elements[name].value : "");
    for (const norm of norms) norm.hidden = !fits(norm, value("rule"), value("verdict"));
    for (const file of document.querySelectorAll("section.file"))
      file.hidden = !file.querySelector("article.norm:not([hidden]), ul.loose");
    const left = norms.filter((norm) => !norm.hidden).length;
    form.querySelector("output").textContent = `${left} of ${norms.length} norms`;
  };
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
})();
