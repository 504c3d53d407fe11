// Scrolls what a person's wheel would turn, by its own height: the page, or, if asked for, a part of it.
//
// `instant`: with a page's own `scroll-behavior: smooth` it would still be moving when it is read.
// By the prototype: fields take the place of what their form has itself (`<input name=parentElement>`).
// A part is turned when a dialog is over the page, or when the document is held still.
([sign, within]) => {
  const own = (one, name) => Reflect.get(Element.prototype, name, one);
  const style = (one) => getComputedStyle(one);
  const page = document.scrollingElement || document.body;
  if (!page) return; // a document that has only begun, or whose script has removed its root
  const around = (one, fits) => {
    while (one && !fits(one)) one = own(one, "parentElement");
    return one;
  };
  // The viewport has the overflow of the root; of the body, where the root has none.
  const roots = [":root", ":root > body"].map((one) => Document.prototype.querySelector.call(document, one));
  const overflow = roots.map((one) => (one ? style(one).overflowY : "visible")).find((one) => one !== "visible");
  const isHeld = /hidden|clip/.test(overflow);
  const scrolls = (one) =>
    own(one, "scrollHeight") > own(one, "clientHeight") && /auto|scroll/.test(style(one).overflowY);
  const isOnTop = (one) => style(one).position === "fixed" || own(one, "matches").call(one, ":modal");
  const find = (across) =>
    around(document.elementFromPoint(window.innerWidth * across, window.innerHeight / 2), scrolls);
  let moved = page;
  if (within) {
    const inner = find(0.5) || (isHeld && (find(0.9) || find(0.1))); // a drawer opens at a side
    const isWhole = isHeld || own(page, "scrollHeight") <= window.innerHeight;
    if (inner && (isWhole || around(inner, isOnTop))) moved = inner;
    else if (isHeld) return;
  }
  const by = moved === page ? window.innerHeight : own(moved, "clientHeight");
  const top = own(moved, "scrollTop") + sign * by;
  own(moved, "scrollTo").call(moved, { top, behavior: "instant" });
}
