// Which nodes of this document meet the rectangle `view` (client coordinates), and how to ask for them most cheaply.
//
// Elements far above or below the view are not looked into when `calm.js` says that nothing in them can reach it, and most
// items of a long list not even at. They are counted where their number matters: in a subtree that is asked for whole.
//
// Runs in an isolated world, so the page can neither see nor change it; but named form fields and images shadow the
// properties of their form and document there too, hence the getters taken from the prototypes.
//
// Other than WebArena (`asWebarena`): a box to tick that is laid out but not in view has the rectangle of its largest label
// in view, as pages hide such boxes and draw their own at the label, and accessibility says the label's text with the box
// only; and the pages that objects hold are frames.
//
// The answer's first entry is a JSON string, the others are nodes that it speaks of. There are three ways to go on from
// here, and `way` is one of them, or null for the cheapest:
//   parts      ask for some nodes one by one, and for some subtrees, called regions
//   described  ask for the whole accessibility tree, and for a description of the document, which is the only region
//   seen       ask for the whole tree; the answer names the nodes in view, and those that may have parts in view that no
//              script can reach (`mayName`: this may be the cheapest)
// Entries of the string:
//   title     of the document
//   way       that was taken
//   cheapest  way, for the next time
//   nodes     [x, y, width, height] of each node, [] when not in view; of `seen`, with the contents of a frame after it.
//             Of `parts`, the document is the first
//   empties   how many of the nodes, the last ones, only matter if they have a closed shadow tree
//   mute      positions in `nodes` of fields and the like that assistive technology is not told of
//   regions   [size, position, x, y, width, height, …] of each region. Every element and text node has a position in
//             document order, which counts from the region's root: a host before its open shadow tree, that before the
//             host's children. A rectangle of zeros stands for a host whose inner parts may be in view though it is not.
//             Their roots follow the nodes, unless it is the document
//   frames    per region [position, x, y, width, height, …] of the contents of its frames
(findCalm, view, way, mayName, least, asWebarena) => {
  "use strict";
  const [left, top, right, bottom] = view;
  const getter = (owner, name) => {
    const get = Object.getOwnPropertyDescriptor(owner.prototype, name).get;
    return (node) => get.call(node);
  };
  const children = getter(Element, "children");
  const childElementCount = getter(Element, "childElementCount");
  const firstChild = getter(Node, "firstChild");
  const nextSibling = getter(Node, "nextSibling");
  const nodeType = getter(Node, "nodeType");
  const nodeName = getter(Node, "nodeName");
  const shadowRoot = getter(Element, "shadowRoot");
  const elementsBelow = (element) => Element.prototype.getElementsByTagName.call(element, "*").length;
  const box = (element) => Element.prototype.getBoundingClientRect.call(element);
  const find = (selector) => Document.prototype.querySelectorAll.call(document, selector);
  const range = new Range();

  // Elements with parts that no script can reach. They are asked for whole, also when only a part may be in view.
  const holders = asWebarena ? ["IFRAME", "FRAME"] : ["IFRAME", "FRAME", "OBJECT", "EMBED"];
  const opaque = new Set([..."INPUT TEXTAREA SELECT DETAILS VIDEO AUDIO METER PROGRESS".split(" "), ...holders]);
  const isOpaque = (element, name) => opaque.has(name) || (name.includes("-") && shadowRoot(element) === null);
  // Other elements that may have a closed shadow tree, of which no script can know.
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

  const typeOf = getter(HTMLInputElement, "type");
  const controlOf = getter(HTMLLabelElement, "control");
  const labelsIn = new Map();
  const labelsOf = (input) => {
    const root = Node.prototype.getRootNode.call(input);
    if (!labelsIn.has(root)) {
      // Not `labels` of each box: that looks through the whole document, each time.
      const owner = root instanceof Document ? Document : DocumentFragment;
      const all = [...owner.prototype.querySelectorAll.call(root, "label")];
      labelsIn.set(root, Map.groupBy(all.filter((one) => one instanceof HTMLLabelElement), controlOf));
    }
    return labelsIn.get(root).get(input) ?? [];
  };
  const labelRect = (input) => {
    if (!(input instanceof HTMLInputElement) || !/^(checkbox|radio)$/.test(typeOf(input))) return null;
    if (Element.prototype.getClientRects.call(input).length === 0) return null;
    const area = (rect) => rect.width * rect.height;
    const larger = (one, other) => (one !== null && area(one) >= area(other) ? one : other);
    return labelsOf(input).map(box).filter(isSeen).reduce(larger, null);
  };

  // Costs in µs, measured; only their proportions matter. A text has one more accessibility node per line.
  const SINGLE = 300, REGION = 700, NODE = 90, BULK = 2000, WAIT = 15000;
  const TOLD = 3; // of what a node of a description costs, for a node of the answer
  const linesOf = (height) => Math.max(1, Math.round(height / 18));

  const FAR = 2000; // more than a line of text can stick out of its block
  const isAbove = (rect) => rect.bottom < top - FAR;
  const isBelow = (rect) => rect.top > bottom + FAR;
  const calm = findCalm(least);
  const blocks = /^(block|list-item|flow-root|table|table-(row|cell|row-group|header-group|footer-group))$/;
  let turned = 0;
  const isCalm = (element) => calm !== null && turned === 0 && !calm.open.has(element);
  const isFar = (element, rect) =>
    (isAbove(rect) || isBelow(rect)) && isCalm(element) && blocks.test(getComputedStyle(element).display);

  // Items of a calm list, and whatever is between them, stand below each other in order; so what comes before an item
  // that is far above need not be looked at, and the items near the view are found by halving. An item tells only if it
  // has lines for itself. No list is halved whose columns stand side by side, nor where a closed shadow tree may have a
  // say in it: that of the list, that of an item, or one around them, hence the question whether the list is upright.
  const LONG = 64, TRIES = 8;
  const STRANGER = "boolean(*[not(self::tr or self::li or self::dt or self::dd)])";
  const lists = /^(block|list-item|flow-root|table-cell|table-row-group)$/;
  const items = /^(block|list-item|flow-root|table|table-row)$/;
  const sides = [["width", getter(HTMLElement, "offsetWidth")], ["height", getter(HTMLElement, "offsetHeight")]];
  const isList = (element) => {
    if (!isCalm(element) || hosts.has(nodeName(element)) || !(element instanceof HTMLElement)) return false;
    const rects = Element.prototype.getClientRects.call(element);
    const { display, writingMode } = getComputedStyle(element);
    if (rects.length !== 1 || writingMode !== "horizontal-tb" || !lists.test(display)) return false;
    if (sides.some(([side, laidOut]) => Math.abs(rects[0][side] - laidOut(element)) > 1)) return false;
    return !Document.prototype.evaluate.call(document, STRANGER, element, null, XPathResult.BOOLEAN_TYPE).booleanValue;
  };
  const findNear = (list) => {
    const all = children(list);
    const tell = (from, step) => {
      for (let index = from; index >= 0 && index < all.length && Math.abs(index - from) < TRIES; index += step) {
        if (items.test(getComputedStyle(all[index]).display)) return { index, rect: box(all[index]) };
      }
      return null;
    };
    const halve = (low, high, step, isAway) => {
      let found = null;
      while (low < high) {
        const middle = (low + high) >> 1;
        const told = tell(middle, step);
        const isAwayHere = told !== null && isAway(told.rect);
        if (isAwayHere) found = told.index;
        if (isAwayHere === step < 0) low = middle + 1;
        else high = middle;
      }
      return found;
    };
    const [head, tail] = [tell(0, 1), tell(all.length - 1, -1)];
    if (head === null || tail === null || head.rect.top >= tail.rect.top) return null;
    const start = halve(0, all.length, -1, isAbove) ?? 0;
    const end = halve(start, all.length, 1, isBelow) ?? all.length;
    const each = elementsBelow(list) / all.length;
    const first = start > 0 ? all[start] : firstChild(list);
    return { first, above: start * each, end: all[end] ?? null, below: (all.length - end) * each };
  };

  // Runs of siblings that are left out of `position`: { after: position before them, first, end: where they end }.
  const gaps = [];
  const leaveOut = (first, end, elements, isShown = true) => {
    if (first === end) return;
    gaps.push({ after: position - 1, first, end });
    leftOut += 2 * elements; // of a page's nodes about half are texts
    if (isShown) weight += 2 * elements;
  };
  const count = ({ first, end }) => {
    let total = 0;
    for (let node = first; node !== end; node = nextSibling(node)) {
      const type = nodeType(node);
      if (type === 3) total++;
      if (type !== 1) continue;
      const root = shadowRoot(node); // what is not displayed may hold open shadow trees
      if (root !== null) total += count({ first: firstChild(root), end: null });
      total += 1 + count({ first: firstChild(node), end: null });
    }
    return total;
  };

  let position = 0;
  let leftOut = 0;
  let weight = 0;
  let shown = 0;
  const strangers = [];
  const empties = []; // what is in view of a widget is often in a closed shadow tree of an element without size, far away
  const visitText = (node) => {
    const here = position++;
    range.selectNode(node);
    const rect = range.getBoundingClientRect();
    weight += linesOf(rect.height);
    if (!isSeen(rect)) return null;
    shown++;
    return { node, here, rect, kids: [], cost: SINGLE, whole: false };
  };
  const visit = (node, isElement) => {
    const here = position++;
    const before = weight++;
    const firstGap = gaps.length;
    const kids = [];
    let rect = null;
    let candidate = false;
    let sealed = false;
    let turns = 0;
    if (isElement) {
      const found = box(node);
      const name = nodeName(node);
      if (found.width === 0 && found.height === 0 && getComputedStyle(node).display === "none") {
        const inside = shadowRoot(node);
        if (inside !== null) leaveOut(firstChild(inside), null, 0, false);
        leaveOut(firstChild(node), null, elementsBelow(node), false);
        return null;
      }
      sealed = isOpaque(node, name);
      if (isSeen(found)) rect = found;
      else if (!asWebarena && name === "INPUT") rect = labelRect(node);
      candidate = rect !== null || (sealed && mayReach(node, found));
      if (candidate) shown++;
      else if ((hosts.has(name) || name.includes("-")) && shadowRoot(node) === null) {
        (found.width && found.height ? strangers : empties).push(node);
      }
      if (rect === null && !sealed && isFar(node, found)) {
        leaveOut(firstChild(node), null, elementsBelow(node));
        return null;
      }
      if (name === "TEXTAREA") weight += linesOf(node.scrollHeight);
      const root = shadowRoot(node);
      if (calm?.turned.has(node) || root !== null || name.includes("-")) turns = 1;
      turned += turns;
      if (root !== null) descend(root, kids);
    }
    descend(node, kids);
    turned -= turns;
    if (!candidate && kids.length === 0 && isElement) return null;
    let cost = SINGLE;
    for (const kid of kids) cost += kid.cost;
    const asWhole = REGION + NODE * (weight - before);
    const whole = sealed || (isElement && asWhole < cost);
    if (whole) cost = asWhole;
    const inside = { end: position, firstGap, endGap: gaps.length };
    const record = { node, here, inside, rect, kids, cost, whole, candidate, sealed };
    if (moved.has(node)) strays.push(record);
    return record;
  };
  const descend = (parent, kids) => {
    const first = firstChild(parent);
    const isLong = calm !== null && nodeType(parent) === 1 && childElementCount(parent) >= LONG;
    const near = (isLong && isList(parent) && findNear(parent)) || { first, end: null };
    leaveOut(first, near.first, near.above);
    for (let child = near.first; child !== near.end; child = nextSibling(child)) {
      const type = nodeType(child);
      if (type !== 1 && type !== 3) continue;
      const record = type === 1 ? visit(child, true) : visitText(child);
      if (record !== null) kids.push(record);
    }
    leaveOut(near.end, null, near.below);
  };
  const root = visit(document, false);
  const bulk = BULK + NODE * weight <= WAIT + root.cost;
  // Far nodes are left out of a calm document, and with them those that may have a closed shadow tree.
  const isMostlyHidden = mayName && calm === null && TOLD * (shown + strangers.length + empties.length) < position + leftOut;
  const cheapest = !bulk ? "parts" : isMostlyHidden ? "seen" : "described";
  way ??= cheapest;

  const data = { way, cheapest, nodes: [], empties: 0, mute: [], regions: [], frames: [] };
  const nodes = [];
  const roots = [];
  const list = (rect) => [rect.x, rect.y, rect.width, rect.height];
  const contents = (element, rect) => {
    const style = getComputedStyle(element);
    const space = (side) => parseFloat(style[`border${side}Width`]) + parseFloat(style[`padding${side}`]);
    const [before, above] = [space("Left"), space("Top")];
    return [rect.x + before, rect.y + above, rect.width - before - space("Right"), rect.height - above - space("Bottom")];
  };
  const collect = (record, place, boxes, frames) => {
    const { rect, node } = record;
    const here = place(record.here);
    if (rect) boxes.push(here, ...list(rect));
    else if (record.candidate) boxes.push(here, 0, 0, 0, 0);
    if (rect && holders.includes(nodeName(node))) frames.push(here, ...contents(node, rect));
    for (const kid of record.kids) collect(kid, place, boxes, frames);
  };
  const takeWhole = (record) => {
    const { end, firstGap, endGap } = record.inside;
    let [next, start] = [firstGap, record.here];
    const place = (position) => {
      while (next < endGap && gaps[next].after < position) start -= count(gaps[next++]);
      return position - start;
    };
    const boxes = [0];
    const frames = [];
    collect(record, place, boxes, frames);
    boxes[0] = place(end);
    roots.push(record.node);
    data.regions.push(boxes);
    data.frames.push(frames);
  };
  const tell = (node, numbers) => {
    nodes.push(node);
    data.nodes.push(numbers);
  };
  const take = (record) => {
    if (record.whole) return takeWhole(record);
    tell(record.node, record.rect ? list(record.rect) : []);
    for (const kid of record.kids) take(kid);
  };
  const isMute = (element) =>
    !Element.prototype.checkVisibility.call(element, { visibilityProperty: true }) ||
    Element.prototype.closest.call(element, "[inert], [aria-hidden=true]") !== null;
  const takeSeen = ({ node, rect, candidate, sealed, kids }) => {
    if (candidate && sealed && isMute(node)) data.mute.push(nodes.length);
    if (rect) tell(node, [...list(rect), ...(holders.includes(nodeName(node)) ? contents(node, rect) : [])]);
    else if (candidate) tell(node, []);
    kids.forEach(takeSeen);
  };
  if (way === "described") {
    takeWhole(root);
    roots.pop();
  } else if (way === "seen") {
    takeSeen(root);
    for (const node of [...strangers, ...empties]) tell(node, []);
  } else {
    take(root);
    for (const node of empties) tell(node, []);
    data.empties = empties.length;
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
  return nodes.length ? [told, ...nodes, ...roots] : told; // a list would have to be let go of
}
