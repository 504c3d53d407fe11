// Which nodes of this document meet the rectangle `view` (client coordinates), and how to ask for them most cheaply.
//
// Elements far above or below the view are only counted when `calm.js` says that nothing in them can reach it.
//
// Runs in an isolated world, so the page can neither see nor change it; but named form fields and images shadow the
// properties of their form and document there too, hence the getters taken from the prototypes.
//
// Every element and text node gets its position in document order: a host before its open shadow tree, that before the
// host's children. The answer's first entry is a JSON string, the others are the nodes it speaks of, singles before
// regions; when the string alone is the answer, reading the whole document is cheaper, and it is the only region.
//   title   of the document
//   size    number of nodes
//   seen    of them in view
//   singles [whether it may have a closed shadow tree, x, y, width, height] of nodes to be asked for one by one, without
//           rectangle when not in view; the document is the first
//   regions [size, position, x, y, width, height, …] of subtrees to be asked for whole; positions count from the
//           subtree's root, a rectangle of zeros stands for a host whose inner parts may be in view though it is not
//   frames  per region [position, x, y, width, height, …] of the contents of its frames
(findCalm, view, whole, least) => {
  "use strict";
  const [left, top, right, bottom] = view;
  const getter = (owner, name) => {
    const get = Object.getOwnPropertyDescriptor(owner.prototype, name).get;
    return (node) => get.call(node);
  };
  const firstChild = getter(Node, "firstChild");
  const nextSibling = getter(Node, "nextSibling");
  const nodeType = getter(Node, "nodeType");
  const nodeName = getter(Node, "nodeName");
  const shadowRoot = getter(Element, "shadowRoot");
  const box = (element) => Element.prototype.getBoundingClientRect.call(element);
  const find = (selector) => Document.prototype.querySelectorAll.call(document, selector);
  const range = new Range();

  // Elements with parts that no script can reach. They are asked for whole, also when only a part may be in view.
  const opaque = new Set("INPUT TEXTAREA SELECT DETAILS VIDEO AUDIO METER PROGRESS IFRAME FRAME".split(" "));
  const isOpaque = (element, name) => opaque.has(name) || (name.includes("-") && shadowRoot(element) === null);
  const hosts = new Set("ARTICLE ASIDE BLOCKQUOTE BODY DIV FOOTER H1 H2 H3 H4 H5 H6 HEADER MAIN NAV P SECTION SPAN".split(" "));
  // Elements whose place in the accessibility tree is not their place in the document.
  const moved = new Set(find("area"));
  for (const owner of find("[aria-owns]")) {
    const ids = Element.prototype.getAttribute.call(owner, "aria-owns").trim().split(/\s+/);
    for (const id of ids) moved.add(Document.prototype.getElementById.call(document, id));
    for (const owned of owner.ariaOwnsElements ?? []) moved.add(owned);
  }
  const strays = [];

  const meets = (rect, dx, dy) =>
    rect.top - dy < bottom && rect.bottom + dy > top && rect.left - dx < right && rect.right + dx > left;
  const isSeen = (rect) => meets(rect, 0, 0) && rect.width !== 0 && rect.height !== 0;
  const mayReach = (element, rect) =>
    meets(rect, Infinity, 100 + element.scrollHeight) && meets(rect, 100 + element.scrollWidth, Infinity);

  // Costs in µs, measured; only their proportions matter. A text has one more accessibility node per line.
  const SINGLE = 300, HOST = 450, REGION = 700, NODE = 90, BULK = 2000, WAIT = 15000;
  const linesOf = (height) => Math.max(1, Math.round(height / 18));

  const FAR = 2000; // more than a line of text can stick out of its block
  const calm = findCalm(least);
  const blocks = /^(block|list-item|flow-root|table|table-(row|cell|row-group|header-group|footer-group))$/;
  let turned = 0;
  const isCalm = (element, rect) =>
    (rect.bottom < top - FAR || rect.top > bottom + FAR) &&
    turned === 0 &&
    !calm.open.has(element) &&
    blocks.test(getComputedStyle(element).display);
  // Number of nodes below an element; NaN when there are shadow trees, which have styles of their own.
  const count = (parent) => {
    let total = 0;
    for (let child = firstChild(parent); child !== null; child = nextSibling(child)) {
      const type = nodeType(child);
      if (type === 3) total++;
      else if (type === 1) {
        if (shadowRoot(child) !== null || nodeName(child).includes("-")) return NaN;
        total += 1 + count(child);
      }
    }
    return total;
  };

  let position = 0;
  let seen = 0;
  let weight = 0;
  const visitText = (node) => {
    const here = position++;
    range.selectNode(node);
    const rect = range.getBoundingClientRect();
    weight += linesOf(rect.height);
    if (!isSeen(rect)) return null;
    seen++;
    return { node, here, size: 1, rect, kids: [], cost: SINGLE, whole: false };
  };
  const visit = (node, isElement) => {
    const here = position++;
    const before = weight++;
    const kids = [];
    let rect = null;
    let candidate = false;
    let sealed = false;
    let turns = 0;
    if (isElement) {
      const found = box(node);
      const name = nodeName(node);
      sealed = isOpaque(node, name);
      if (isSeen(found)) rect = found;
      else if (calm !== null && !sealed && shadowRoot(node) === null && isCalm(node, found)) {
        const below = count(node);
        if (below >= 0) {
          position += below;
          weight += below;
          return null;
        }
      }
      candidate = rect !== null || (sealed && mayReach(node, found));
      if (candidate) seen++;
      if (name === "TEXTAREA") weight += linesOf(node.scrollHeight);
      const root = shadowRoot(node);
      if (calm?.turned.has(node) || root !== null || name.includes("-")) turns = 1;
      turned += turns;
      if (root !== null) descend(root, kids);
    }
    descend(node, kids);
    turned -= turns;
    if (!candidate && kids.length === 0 && isElement) return null;
    const size = position - here;
    let cost = isElement && hosts.has(nodeName(node)) ? HOST : SINGLE;
    for (const kid of kids) cost += kid.cost;
    const asWhole = REGION + NODE * (weight - before);
    const whole = sealed || (isElement && asWhole < cost);
    if (whole) cost = asWhole;
    const record = { node, here, size, rect, kids, cost, whole, candidate, sealed };
    if (moved.has(node)) strays.push(record);
    return record;
  };
  const descend = (parent, kids) => {
    for (let child = firstChild(parent); child !== null; child = nextSibling(child)) {
      const type = nodeType(child);
      if (type !== 1 && type !== 3) continue;
      const record = type === 1 ? visit(child, true) : visitText(child);
      if (record !== null) kids.push(record);
    }
  };
  const root = visit(document, false);
  const bulk = whole ?? BULK + NODE * weight <= WAIT + root.cost;

  const data = { size: root.size, seen, singles: [], regions: [], frames: [] };
  const singles = [];
  const regions = [];
  const contents = (element, rect) => {
    const style = getComputedStyle(element);
    const space = (side) => parseFloat(style[`border${side}Width`]) + parseFloat(style[`padding${side}`]);
    const [before, above] = [space("Left"), space("Top")];
    return [rect.x + before, rect.y + above, rect.width - before - space("Right"), rect.height - above - space("Bottom")];
  };
  const collect = (record, start, boxes, frames) => {
    const { rect, node } = record;
    if (rect) boxes.push(record.here - start, rect.x, rect.y, rect.width, rect.height);
    else if (record.candidate) boxes.push(record.here - start, 0, 0, 0, 0);
    if (rect && record.sealed && /^I?FRAME$/.test(nodeName(node))) frames.push(record.here - start, ...contents(node, rect));
    for (const kid of record.kids) collect(kid, start, boxes, frames);
  };
  const takeWhole = (record) => {
    const boxes = [record.size];
    const frames = [];
    collect(record, record.here, boxes, frames);
    regions.push(record.node);
    data.regions.push(boxes);
    data.frames.push(frames);
  };
  const take = (record) => {
    if (record.whole) return takeWhole(record);
    const { rect, node } = record;
    singles.push(node);
    data.singles.push([hosts.has(nodeName(node)), ...(rect ? [rect.x, rect.y, rect.width, rect.height] : [])]);
    for (const kid of record.kids) take(kid);
  };
  if (bulk) takeWhole(root);
  else {
    take(root);
    strays.forEach(takeWhole);
  }

  // From here on the document is watched, until `changed()` tells whether it stayed as it was.
  const key = Symbol.for("reading");
  window[key]?.observer.disconnect();
  const watch = { changed: false, at: [scrollX, scrollY] };
  watch.observer = new MutationObserver(() => (watch.changed = true));
  watch.observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  window[key] = watch;
  data.title = getter(Document, "title")(document);
  const told = JSON.stringify(data);
  return singles.length ? [told, ...singles, ...regions] : told;
}
