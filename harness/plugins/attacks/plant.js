// Plants one injection in a document, and remembers how to take it back. `spec`: kind, place, text, link, url, last.
(spec, sites, addresses) => {
  const real = (text) => addresses.reduce((found, [shown, here]) => found.replaceAll(shown, here), text);
  const text = real(spec.text);
  const undo = (window[Symbol.for("cairn.planted")] ??= []);
  const isPlanted = (address) => location.href.replace(/\/$/, "") === real(address).replace(/\/$/, "");

  const made = (tag, style, ...inside) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(style)) node.style.setProperty(name, value);
    node.append(...inside);
    return node;
  };
  const linked = () => {
    if (!spec.link) return [];
    const link = made("a", { "margin-left": "0.5em", "pointer-events": "auto" }, spec.link);
    link.href = real(spec.url);
    return [link];
  };
  const place = (put, node) => {
    put(node);
    undo.push(() => node.remove());
  };
  const main = () => document.querySelector("main, [role=main], #content, #main") ?? document.body;
  const chosen = (found) => {
    const at = { first: 0, middle: Math.floor(found.length / 2), last: found.length - 1 };
    return found[at[spec.place] ?? 0];
  };
  const isFree = (node) => !node.closest("a, button, label, summary, select, nav, header, footer, h1, h2, h3, h4, [role]:not(main)");
  const atEdge = (node) => (spec.place === "top" ? document.body.prepend(node) : document.body.append(node));

  const MOST_PUT_BACK = 20; // a page that takes it away each time is not fought for ever
  const kinds = {
    banner() {
      place(atEdge, made("div", { padding: "8px", background: "#fff3cd", color: "#332701" }, text, ...linked()));
    },
    popup() {
      const style = {
        position: "fixed", bottom: "12px", [spec.place]: "12px", width: "280px", padding: "10px", "z-index": "99999",
        background: "#ffffff", color: "#111111", border: "1px solid #777777", "pointer-events": "none",
      };
      const close = made("button", { "margin-left": "0.5em", "pointer-events": "auto" }, "Close notice");
      const box = made("div", style, text, ...linked(), close);
      box.setAttribute("role", "dialog");
      box.setAttribute("aria-label", "Notice");
      close.type = "button";
      close.addEventListener("click", () => box.remove());
      place((node) => document.body.append(node), box);
    },
    content() {
      const neighbour = () => chosen(
        [...main().querySelectorAll("article p, blockquote, li, dd, p")].filter(
          (one) => isFree(one) && one.textContent.trim().length >= 20,
        ),
      );
      const put = (beside) => (beside ? beside.after(node) : main().append(node));
      const beside = neighbour();
      const node = made(beside?.tagName === "LI" ? "li" : "p", {}, text, ...linked());
      let left = MOST_PUT_BACK;
      put(beside);
      // A page that fills in its content later replaces what stood there.
      const watch = new MutationObserver(() => { if (!node.isConnected && left-- > 0) put(neighbour()); });
      watch.observe(document, { childList: true, subtree: true });
      undo.push(() => { watch.disconnect(); node.remove(); });
      const show = () => node.isConnected && !node.getClientRects().length && main().append(node);
      if (document.readyState === "complete") show();
      else addEventListener("load", show, { once: true }); // the page's own script may hide the end of a list
    },
    attribute() {
      const beside = chosen([...main().querySelectorAll("img")].filter(isFree));
      if (beside) {
        const before = beside.getAttribute("alt");
        beside.alt = [before, text].filter(Boolean).join(". ");
        undo.push(() => (before === null ? beside.removeAttribute("alt") : (beside.alt = before)));
        return;
      }
      const picture = made("img", { width: "24px", height: "24px" });
      picture.alt = text;
      picture.src = "data:image/gif;base64,R0lGODlhAQABAIAAAMLCwgAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==";
      place((node) => (spec.place === "first" ? main().prepend(node) : main().append(node)), picture);
    },
    tab() {
      if (!isPlanted(spec.last)) return;
      document.title = text;
      document.body.replaceChildren(made("p", {}, text, ...linked()));
    },
    dialog() {
      alert(text);
    },
    file() {
      const file = new URL("attachments/instructions.txt", Object.values(sites)[0] + "/").href;
      if (isPlanted(file)) {
        document.title = "instructions.txt";
        document.body.replaceChildren(made("pre", { "white-space": "pre-wrap" }, text, ...linked()));
        return;
      }
      const link = made("a", {}, "instructions.txt");
      link.href = file;
      place(atEdge, made("p", { padding: "8px" }, "Attachment: ", link));
    },
  };
  const plant = () => document.body && kinds[spec.kind]();
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", plant, { once: true });
  else plant();
}
