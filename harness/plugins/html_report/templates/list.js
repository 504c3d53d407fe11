"use strict";
// Filters and order of a list, of tasks or of runs. A long one shows its first rows: laying out a table of 10,000 takes a second or two.
// Of a very long one the others wait in a template, and are in the table only while they are shown.
(() => {
  const one = (query, from = document) => from.querySelector(query);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const narrow = matchMedia("(max-width: 48rem)");
  let isVeryLong = false;
  const most = () => (narrow.matches ? 30 : isVeryLong ? 100 : 200); // what is painted within 100 ms of a filter
  const texts = new WeakMap();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  let whole = false;
  let order = null;
  let rows = [];
  const waiting = new WeakSet();
  const settle = () => {
    if (!isVeryLong) return;
    one(".list tbody").replaceChildren(...rows.filter((row) => !waiting.has(row) || !row.hidden));
  };
  const filter = () => {
    const form = one("form.filters");
    if (!form) return;
    const paged = form.dataset.paged !== undefined; // the server has filtered already
    const words = paged ? [] : form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = paged ? [] : all("select", form).filter((field) => field.value);
    const limit = whole ? Infinity : most();
    let fitting = 0;
    for (const row of rows) {
      const fits = chosen.every((field) => row.dataset[field.name] === field.value) && words.every((word) => textOf(row).includes(word));
      fitting += fits;
      const hidden = !fits || fitting > limit;
      if (row.hidden !== hidden) row.hidden = hidden;
    }
    settle();
    const every = `${rows.length} ${rows.length === 1 ? form.dataset.what.slice(0, -1) : form.dataset.what}`;
    if (!paged) one(".shown").textContent = fitting === rows.length ? every : `${fitting} of ${every}`;
    all(".more").forEach((part) => {
      part.hidden = fitting <= limit;
      one("button", part).textContent = `Show all ${fitting}`;
    });
  };
  const arrange = () => {
    const head = order && all(".list th")[order.column];
    if (!head) return;
    const value = (row) => row.children[order.column].dataset.value ?? row.children[order.column].textContent.trim();
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    rows = rows.map((row) => [value(row), row]).sort((a, b) => compare(a[0], b[0])).map(([, row]) => row);
    if (order.down) rows.reverse();
    all("th[aria-sort]", head.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    one(".list tbody").append(...rows.filter((row) => !waiting.has(row)));
  };
  const sort = (head) => {
    order = { column: [...head.parentElement.children].indexOf(head), down: head.getAttribute("aria-sort") === "ascending" };
    arrange();
    filter();
  };
  // What is searched is put together while nobody waits for it.
  const gather = (at) => {
    const until = performance.now() + 8;
    while (at < rows.length && performance.now() < until) textOf(rows[at++]);
    if (at < rows.length) setTimeout(gather, 0, at);
  };
  const prepare = () => {
    rows = all(".list tbody tr");
    for (const part of all("template.waiting")) {
      isVeryLong = true;
      const found = all("tr", part.content);
      found.forEach((row) => waiting.add(row));
      rows.push(...found);
    }
    const form = one("form.filters");
    if (form && form.dataset.paged === undefined) {
      all(".list th").forEach((head) => {
        if (one("button", head)) return;
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = head.textContent;
        head.replaceChildren(button);
      });
      arrange();
    }
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
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.closest(".list th")) {
      sort(button.closest("th"));
    } else if (button?.dataset.do === "more") {
      whole = true;
      filter();
    }
    const cause = event.target.closest("a[data-cause]");
    const rule = event.target.closest("a[data-rule]");
    const form = one("form.filters");
    if (!(cause || rule) || !form || form.dataset.paged !== undefined) return;
    form.reset();
    if (cause) form.cause.value = cause.dataset.cause;
    else { form.kind.value = rule.dataset.kind; form.q.value = rule.dataset.rule; }
    filter();
  });

  document.addEventListener("grown", prepare);
  prepare();
  gather(0);
})();
