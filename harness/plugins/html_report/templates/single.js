"use strict";
// One file that contains all pages: the address says which is shown.
(() => {
  const one = (query, from = document) => from.querySelector(query);
  const turn = () => {
    const host = one("#page");
    if (!host) return;
    const name = decodeURIComponent(location.hash.slice(1));
    const leaf = document.getElementById(`leaf ${name}`);
    if (!leaf && host.dataset.shown !== undefined && name && one(`[id="${CSS.escape(name)}"]`, host)) return;
    const shown = leaf ? name : "";
    if (host.dataset.shown === shown) return;
    host.dataset.shown = shown;
    one("#first").hidden = Boolean(leaf);
    host.replaceChildren(...(leaf ? [leaf.content.cloneNode(true)] : []));
    if (leaf) { window.scrollTo(0, 0); one("h1", host)?.focus(); }
  };
  window.addEventListener("hashchange", turn);
  turn();
})();
