"use strict";
// Keys of the label form; they do nothing while something is written, or a dialog is open.
(() => {
  const form = document.querySelector("form.labels");
  if (!form) return;
  const choose = (radio) => { radio.checked = true; radio.focus({ preventScroll: true }); };
  const press = (key) => {
    for (const group of form.querySelectorAll("fieldset")) {
      const { keys } = group.dataset;
      if (!keys.includes(key)) continue;
      const radios = [...group.querySelectorAll("input")];
      if (keys.length > 1) choose(radios[keys.indexOf(key)]);
      else choose(radios[(radios.findIndex((radio) => radio.checked) + 1) % radios.length]);
      return true;
    }
    if (key === "t") form.note.focus();
    else if (key === "w") form.requestSubmit();
    else return false;
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("textarea, select, input:not([type=radio])")) return;
    if (press(event.key)) event.preventDefault();
  });
})();
