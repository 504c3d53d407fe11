"use strict";
// A page that a server sends grows while its run goes on.
(() => {
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const parts = all("[data-live]", page);
    const ids = new Set(parts.map((fresh) => fresh.id));
    for (const fresh of parts) {
      const old = document.getElementById(fresh.id);
      if (!old) {
        document.getElementById(fresh.parentElement.id)?.append(document.adoptNode(fresh));
      } else if (old.dataset.live !== fresh.dataset.live) {
        all("details", old).forEach((part, at) => { const twin = all("details", fresh)[at]; if (twin) twin.open = part.open; });
        if (old.classList.contains("here")) fresh.classList.add("here");
        old.replaceWith(document.adoptNode(fresh));
      }
    }
    for (const old of all("[data-live]")) if (!ids.has(old.id)) old.remove();
    document.title = page.title;
    document.dispatchEvent(new Event("grown"));
  };
  const source = document.body.dataset.events;
  if (source) {
    let busy = false;
    let again = false;
    const changed = async () => {
      again = true;
      if (busy) return;
      busy = true;
      while (again) {
        again = false;
        try { await refresh(); } catch { /* the server went away; the stream says so */ }
      }
      busy = false;
    };
    const pulse = (text, on) => all(".pulse").forEach((mark) => { mark.textContent = text; mark.classList.toggle("on", on); });
    // "3 min ago" grows old where nothing changes.
    setInterval(() => { if (!document.hidden && document.querySelector("time")) changed(); }, 60000);
    const stream = new EventSource(source);
    stream.addEventListener("changed", changed);
    stream.addEventListener("open", () => { pulse("live", true); });
    stream.addEventListener("error", () => { pulse("not connected", false); });
  }
})();
