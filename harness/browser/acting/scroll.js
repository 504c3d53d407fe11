// Scrolls what a person's wheel would turn, by its own height: the page, or, if asked for, a part of it.
//
// Gives null when something has moved, [] when nothing has, and [x, y, height] of the frame of another site, which no
// script sees into, at which the wheel is left to turn.
// `instant`: with a page's own `scroll-behavior: smooth` it would still be moving when it is read.
// By the prototype: fields take the place of what their form has itself (`<input name=parentElement>`).
// A part is turned when a dialog is over the page, when the document is held still, or when nothing else moves.
([sign, within]) => {
  const own = (one, name) => Reflect.get(Element.prototype, name, one);
  const style = (one) => getComputedStyle(one);
  const around = (one, fits) => {
    while (one && !fits(one)) one = own(one, "parentElement");
    return one;
  };
  const scrolls = (one) =>
    own(one, "scrollHeight") > own(one, "clientHeight") && /auto|scroll/.test(style(one).overflowY);
  const isOnTop = (one) => style(one).position === "fixed" || own(one, "matches").call(one, ":modal");
  const isMovedBy = (moved, by) => {
    const before = own(moved, "scrollTop");
    own(moved, "scrollTo").call(moved, { top: before + sign * by, behavior: "instant" });
    return own(moved, "scrollTop") !== before;
  };
  const isTurned = (one) => isMovedBy(one, own(one, "clientHeight"));

  const inFrame = (frame) => {
    if (/^(no|off|noscroll)$/i.test(own(frame, "getAttribute").call(frame, "scrolling"))) return [];
    const inner = Reflect.get(Object.getPrototypeOf(frame), "contentDocument", frame);
    const box = own(frame, "getBoundingClientRect").call(frame);
    if (!inner) return [box.x + box.width / 2, box.y + box.height / 2, own(frame, "clientHeight")];
    const left = scrollIn(inner);
    if (!left?.length) return left;
    return [left[0] + box.x + own(frame, "clientLeft"), left[1] + box.y + own(frame, "clientTop"), left[2]];
  };
  // The part that takes most of the view, and that nothing covers.
  const isLargestTurned = (document, { innerWidth, innerHeight }) => {
    const areas = new Map();
    for (const one of Document.prototype.querySelectorAll.call(document, "body *")) {
      if (!scrolls(one)) continue;
      const { left, top, right, bottom } = own(one, "getBoundingClientRect").call(one);
      const [x, y] = [Math.max(left, 0), Math.max(top, 0)];
      const [width, height] = [Math.min(right, innerWidth) - x, Math.min(bottom, innerHeight) - y];
      if (width <= 0 || height <= 0) continue;
      const hit = Document.prototype.elementFromPoint.call(document, x + width / 2, y + height / 2);
      if (around(hit, (at) => at === one)) areas.set(one, width * height);
    }
    return [...areas.keys()].sort((one, other) => areas.get(other) - areas.get(one)).some(isTurned);
  };
  const scrollIn = (document) => {
    const view = document.defaultView;
    const page = document.scrollingElement || document.body;
    if (!page) return []; // a document that has only begun, or whose script has removed its root
    // The viewport has the overflow of the root; of the body, where the root has none.
    const roots = [":root", ":root > body"].map((one) => Document.prototype.querySelector.call(document, one));
    const overflow = roots.map((one) => (one ? style(one).overflowY : "visible")).find((one) => one !== "visible");
    const isHeld = /hidden|clip/.test(overflow);
    const at = (across) => document.elementFromPoint(view.innerWidth * across, view.innerHeight / 2);
    const find = (across) => around(at(across), scrolls);
    if (!within) return isMovedBy(page, view.innerHeight) ? null : [];
    const inner = find(0.5) || (isHeld && (find(0.9) || find(0.1))); // a drawer opens at a side
    const isWhole = isHeld || own(page, "scrollHeight") <= view.innerHeight;
    let moved = isHeld ? null : page;
    if (inner && (isWhole || around(inner, isOnTop))) moved = inner;
    if (moved && isMovedBy(moved, moved === page ? view.innerHeight : own(moved, "clientHeight"))) return null;
    const middle = at(0.5);
    const left = middle && /^(iframe|frame|object|embed)$/.test(own(middle, "localName")) ? inFrame(middle) : [];
    if (left === null || left.length) return left;
    return isLargestTurned(document, view) ? null : [];
  };
  return scrollIn(document);
}
