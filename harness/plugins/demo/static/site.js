// Shared behaviour, attached by data attributes so that pages hold no inline script.
(() => {
  "use strict";

  // A form or button with data-confirm asks first, with the browser's own dialog.
  document.addEventListener("submit", (event) => {
    const asker = event.submitter?.dataset.confirm ? event.submitter : event.target;
    if (asker.dataset.confirm && !window.confirm(asker.dataset.confirm)) event.preventDefault();
  });

  // A select with data-autosubmit sends its form when it changes.
  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-autosubmit]")) event.target.form.requestSubmit();
  });

  // A menu: button[aria-haspopup] inside .menu, opened by hover, click or keyboard, closed by Escape or leaving.
  const setOpen = (menu, open) => {
    menu.querySelector("button[aria-expanded]").setAttribute("aria-expanded", String(open));
    menu.querySelector(".menu-items").hidden = !open;
  };
  for (const menu of document.querySelectorAll(".menu")) {
    const button = menu.querySelector("button[aria-expanded]");
    let hovered = false;
    menu.addEventListener("mouseenter", () => { hovered = true; setOpen(menu, true); });
    menu.addEventListener("mouseleave", () => { hovered = false; setOpen(menu, false); });
    // A click arrives after the pointer has already opened the menu, and must not close it again.
    button.addEventListener("click", () => setOpen(menu, hovered || button.getAttribute("aria-expanded") !== "true"));
    menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { setOpen(menu, false); button.focus(); } });
  }

  // Tabs: [role=tab][aria-controls] inside [role=tablist].
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab) return;
    for (const other of tab.closest("[role=tablist]").querySelectorAll("[role=tab]")) {
      other.setAttribute("aria-selected", String(other === tab));
      document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
  });

  // A button with data-post sends it with the CSRF token and puts the answer's fields into data-bind elements.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-post]");
    if (!button) return;
    const csrf = document.querySelector("meta[name=csrf]")?.content ?? "";
    const answer = await fetch(button.dataset.post, { method: "POST", headers: { "X-CSRF": csrf } });
    if (answer.redirected) { window.location.assign(answer.url); return; }
    if (!answer.ok) return;
    const values = await answer.json();
    const scope = button.closest("[data-scope]");
    for (const [key, value] of Object.entries(values)) {
      for (const place of scope.querySelectorAll(`[data-bind="${key}"]`)) place.textContent = value;
      for (const place of scope.querySelectorAll(`[data-pressed="${key}"]`)) place.setAttribute("aria-pressed", String(value));
    }
  });

  // A "load more" button fetches the next piece of HTML and puts it before itself; data-more="" ends it.
  const more = async (button) => {
    if (button.disabled) return;
    button.disabled = true;
    const answer = await fetch(button.dataset.more);
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    const next = holder.content.querySelector("button[data-more]");
    button.replaceWith(holder.content);
    if (next?.dataset.lazy !== undefined) watcher.observe(next);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-more]");
    if (button) more(button);
  });

  // An element with data-lazy="URL" is filled when it comes near the viewport.
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      if (entry.target.matches("button[data-more]")) more(entry.target);
      else fetch(entry.target.dataset.lazy).then((answer) => answer.text()).then((html) => { entry.target.innerHTML = html; });
    }
  }, { rootMargin: "100px" });
  for (const place of document.querySelectorAll("[data-lazy]")) watcher.observe(place);
})();
