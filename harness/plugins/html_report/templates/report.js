"use strict";
// Filters, sorting, keys and theme. Nothing here makes markup out of text: pages come escaped.
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

  // --- filters and order of a list: of tasks, or of runs ---
  const FEW = 30;
  const narrow = matchMedia("(max-width: 48rem)");
  let whole = false;
  let order = null;
  const filter = () => {
    const form = one("form.filters");
    const rows = all(".list tbody tr");
    if (!form) return;
    const paged = form.dataset.paged !== undefined; // the server has filtered already
    const words = paged ? [] : form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = paged ? [] : all("select", form).filter((field) => field.value);
    let fitting = 0;
    for (const row of rows) {
      const fits = chosen.every((field) => row.dataset[field.name] === field.value)
        && (!words.length || words.every((word) => row.textContent.toLowerCase().includes(word)));
      fitting += fits;
      row.hidden = !fits || (!whole && narrow.matches && fitting > FEW);
    }
    const every = `${rows.length} ${form.dataset.what}`;
    if (!paged) one(".shown").textContent = fitting === rows.length ? every : `${fitting} of ${every}`;
    all(".more").forEach((part) => {
      part.hidden = whole || !narrow.matches || fitting <= FEW;
      one("button", part).textContent = `Show all ${fitting}`;
    });
  };
  const arrange = () => {
    const head = order && all(".list th")[order.column];
    if (!head) return;
    const body = one(".list tbody");
    const value = (row) => row.children[order.column].dataset.value ?? row.children[order.column].textContent.trim();
    const rows = all("tr", body).sort((a, b) => value(a).localeCompare(value(b), undefined, { numeric: true }));
    if (order.down) rows.reverse();
    all("th[aria-sort]", head.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    body.append(...rows);
  };
  const sort = (head) => {
    order = { column: [...head.parentElement.children].indexOf(head), down: head.getAttribute("aria-sort") === "ascending" };
    arrange();
    filter();
  };
  const prepare = () => {
    const form = one("form.filters");
    if (!form || form.dataset.paged !== undefined) {
      filter();
      return;
    }
    all(".list th").forEach((head) => {
      if (one("button", head)) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
    });
    arrange();
    filter();
  };
  narrow.addEventListener("change", filter);
  document.addEventListener("submit", (event) => {
    if (event.target.matches("form.filters:not([data-paged])")) event.preventDefault();
  });
  document.addEventListener("input", (event) => { if (event.target.closest("form.filters")) filter(); });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.filters[data-paged]");
    if (form && event.target.matches("select")) form.requestSubmit();
  });

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
    } else if (button?.closest(".list th")) {
      sort(button.closest("th"));
    } else if (button?.dataset.do === "more") {
      whole = true;
      filter();
    } else if (button?.matches(".frame")) {
      zoom(button);
    } else if (event.target.closest(".zoom .frame")) {
      one(".zoom").close();
    }
    const cause = event.target.closest("a[data-cause]");
    const form = one("form.filters");
    if (cause && form && form.dataset.paged === undefined) { form.reset(); form.cause.value = cause.dataset.cause; filter(); }
    const rule = event.target.closest("a[data-rule]");
    if (rule && form && form.dataset.paged === undefined) {
      form.reset();
      form.kind.value = rule.dataset.kind;
      form.q.value = rule.dataset.rule;
      filter();
    }
  });

  document.addEventListener("grown", prepare);
  prepare();
})();
