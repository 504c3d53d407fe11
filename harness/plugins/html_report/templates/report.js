"use strict";
// Keys and theme. Nothing here makes markup out of text: pages come escaped.
(() => {
  const one = (query, from = document) => from.querySelector(query);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const root = document.documentElement;
  const keep = (value) => { try { localStorage.setItem("cairn-theme", value); } catch { /* private mode */ } };
  const kept = () => { try { return localStorage.getItem("cairn-theme"); } catch { return null; } };

  // --- theme ---
  const themes = ["auto", "light", "dark"];
  const dress = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    all("[data-do=theme]").forEach((button) => { button.textContent = `Theme: ${theme}`; });
  };
  dress(themes.includes(kept()) ? kept() : "auto");

  // --- moving about by keys ---
  const here = () => one(".here");
  const stops = () => all(".step").length ? all(".step") : all(".list tbody tr:not([hidden])");
  const go = (by) => {
    const list = stops();
    if (!list.length) return;
    const at = list.indexOf(here());
    const next = list[Math.min(list.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    here()?.classList.remove("here");
    next.classList.add("here");
    const focused = next.matches("tr") ? one("a", next) : next;
    focused?.focus({ preventScroll: true });
    next.scrollIntoView({ block: next.matches("tr") ? "nearest" : "start" });
    point(next);
  };
  const point = (step) => {
    all(".contents a[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
    if (step.id) one(`.contents a[href="#${CSS.escape(step.id)}"]`)?.setAttribute("aria-current", "step");
  };
  const toggle = (kind) => {
    const part = one(`details.${kind}`, here() ?? one(".step") ?? document);
    if (part) part.open = !part.open;
  };
  const zoom = (frame) => {
    if (!frame) return;
    const copy = document.createElement("div");
    copy.className = "frame";
    copy.append(...[...frame.children].map((part) => part.cloneNode(true)));
    one(".zoom .inner").replaceChildren(copy);
    one(".zoom").showModal();
  };
  const follow = (rel) => one(`a[rel=${rel}]`)?.click();
  const keys = {
    j: () => go(1), k: () => go(-1), n: () => follow("next"), p: () => follow("prev"), u: () => follow("up"),
    o: () => toggle("observation"), m: () => toggle("prompt"), "/": () => one("form.filters input")?.focus(),
    z: () => zoom(one(".frame", here() ?? document)),
    "?": () => one("dialog.keys")?.showModal(),
    e: () => { const parts = all(".step details"); const open = parts.some((part) => !part.open); parts.forEach((part) => { part.open = open; }); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "z" && one(".zoom[open]")) one(".zoom").close();
    else if (keys[event.key] && !one("dialog[open]")) { event.preventDefault(); keys[event.key](); }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.do === "theme") {
      const next = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
      keep(next);
      dress(next);
    } else if (button?.dataset.do === "keys") {
      one("dialog.keys").showModal();
    } else if (button?.matches(".frame")) {
      zoom(button);
    } else if (event.target.closest(".zoom .frame")) {
      one(".zoom").close();
    }
  });
})();
