// The box in a table's head ticks all rows of the page.
(() => {
  "use strict";
  for (const all of document.querySelectorAll("[data-tick-all]")) {
    all.addEventListener("change", () => {
      for (const box of document.getElementsByName(all.dataset.tickAll)) box.checked = all.checked;
    });
  }
})();
