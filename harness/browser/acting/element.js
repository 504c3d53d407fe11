// What acting needs to know of one element, or does to one that no mouse or keyboard can do. Called with `this` = node.
function (task, value) {
  // By the prototypes: fields take the place of what their form has itself (`<input name=closest>`), also in our world.
  const own = (one, name) => Reflect.get(Object.getPrototypeOf(one), name, one);
  const call = (one, name, ...given) => own(one, name).apply(one, given);
  const node = this;
  if (!own(node, "isConnected")) return { gone: true };
  const nodeType = own(node, "nodeType");
  const element = nodeType === Node.ELEMENT_NODE ? node : node.parentElement || node.documentElement || node.host;
  const page = own(element, "ownerDocument");
  const view = page.defaultView;
  const tag = own(element, "localName");
  const option = call(element, "closest", "option");
  const list = tag === "select" ? element : option ? option.closest("select") : null;

  const isBox = () => call(element, "matches", "input[type=checkbox], input[type=radio]");
  const rects = () => {
    if (nodeType === Node.TEXT_NODE) {
      const range = page.createRange();
      range.selectNode(node);
      return [range.getBoundingClientRect(), ...range.getClientRects()];
    }
    // A box to tick that is hidden can be clicked at its labels.
    const places = [element, ...(isBox() ? labels() : [])];
    return places.flatMap((one) => [call(one, "getBoundingClientRect"), ...call(one, "getClientRects")]);
  };
  const ROLES = "button link checkbox radio switch tab option textbox searchbox combobox spinbutton slider treeitem";
  const CONTROLS = `a, area, button, input, select, textarea, option, summary, label, [contenteditable], [tabindex],
    [onclick], [role^=menuitem], ${ROLES.split(" ").map((role) => `[role=${role}]`)}`;
  const rootOf = (one) => call(one, "getRootNode");
  const hostOf = (root) => (root instanceof ShadowRoot ? own(root, "host") : null);
  // The inside of these is the browser's own: what is hit there is the field.
  const sealed = /^(input|textarea|select|video|audio|meter|progress)$/;
  const host = hostOf(rootOf(element));
  const whole = host && sealed.test(own(host, "localName")) ? host : element;
  const labels = () => [...(own(whole, "labels") || [])];
  // An element and all that it is in, as the page is laid out: slotted content is in its slot.
  const around = (one) => {
    const path = [];
    for (let at = one; at; at = hostOf(at) || own(at, "assignedSlot") || own(at, "parentNode")) {
      if (at instanceof Element) path.push(at);
    }
    return path;
  };
  const isPage = (one) => one === own(page, "documentElement") || one === own(page, "body");
  const controlIn = (path) => path.find((one) => !isPage(one) && call(one, "matches", CONTROLS));
  const path = around(whole);
  // Whether a click on `hit` is one on the element: on what is in it, on its label, on the field that it is the label
  // of, or on another part of the button or link that it is in.
  const belongs = (hit) => {
    const over = around(hit);
    if (over.includes(whole)) return true;
    const [mine, theirs] = [controlIn(path), controlIn(over)];
    if (theirs && (own(theirs, "control") === whole || (mine && own(mine, "control") === theirs))) return true;
    if (theirs && mine !== whole && mine === theirs) return true;
    // What is slotted into a closed tree does not say so.
    const outer = hostOf(rootOf(whole));
    if (outer && (hit === outer || (own(rootOf(whole), "mode") === "closed" && over.includes(outer)))) return true;
    if (!path.includes(hit) || isPage(hit)) return false;
    // Around the element: only listeners of its own would be missed.
    return !mine || call(hit, "matches", "label, button, a");
  };
  const hitAt = ({ x, y }) => call(rootOf(whole), "elementFromPoint", x, y);
  const meets = (point) => {
    const hit = hitAt(point);
    return hit !== null && belongs(hit);
  };
  const hasSize = ({ width, height }) => width > 0 && height > 0;
  const centre = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });
  // A point of the element, in the client coordinates of its document, at which a click meets it.
  const aim = () => {
    const points = rects().filter(hasSize).map(centre);
    const within = points.filter(({ x, y }) => x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight);
    const met = within.find(meets);
    return { point: met || within[0] || points[0], met: Boolean(met) };
  };
  // Any such point of an element that is mostly covered or cut off; of a field that only its label shows, one of that.
  const search = () => {
    const places = [...rects().slice(0, 9), ...labels().map((label) => call(label, "getBoundingClientRect"))];
    const clipped = ({ left, top, right, bottom }) => {
      const [x, y] = [Math.max(left, 0), Math.max(top, 0)];
      return { x, y, width: Math.min(right, view.innerWidth) - x, height: Math.min(bottom, view.innerHeight) - y };
    };
    const cells = (box) => {
      const [columns, rows] = [box.width, box.height].map((size) => Math.min(9, Math.ceil(size / 3)));
      const [width, height] = [box.width / columns, box.height / rows];
      const middle = centre(box);
      const distance = ({ x, y }) => Math.hypot(x - middle.x, y - middle.y);
      return Array.from({ length: columns * rows }, (_, n) =>
        centre({ x: box.x + (n % columns) * width, y: box.y + Math.floor(n / columns) * height, width, height }),
      ).sort((one, other) => distance(one) - distance(other));
    };
    return places.map(clipped).filter(hasSize).flatMap(cells).find(meets);
  };
  const isOver = (hit) => hit !== null && !path.includes(hit);
  // Whether nothing is to be seen of a field that keys reach: code editors hide it, alone in a box, below the text that
  // they draw. A part of the page that is collapsed holds more than a field.
  const isUnseen = () => {
    const outer = own(element, "parentElement");
    const isCased = outer && own(outer, "childElementCount") === 1 && view.getComputedStyle(outer).overflow !== "visible";
    const sizes = (isCased ? [element, outer] : [element]).map((one) => call(one, "getBoundingClientRect"));
    return own(element, "tabIndex") >= 0 && sizes.some(({ width, height }) => Math.min(width, height) < 4);
  };
  const locate = (again) => {
    if (nodeType === Node.DOCUMENT_NODE || element === page.documentElement) return { x: 5, y: 5, met: true };
    let { point, met } = aim();
    if (point && (again || !met)) {
      call(element, "scrollIntoView", { block: "center", inline: "nearest", behavior: "instant" });
      ({ point, met } = aim());
    }
    if (!point) return { hidden: true };
    if (met) return { ...point, met };
    const found = again && search();
    if (found) return { ...found, met: true };
    // Of a drawing that is a line or a ring, hardly any point is hit.
    const hit = hitAt(point);
    const isDrawn = hit instanceof SVGElement && path.includes(hit);
    return { ...point, met: again && isDrawn, covered: isOver(hit) };
  };
  // Where a point of this frame's document lies in the document that holds the frame; both in client coordinates.
  const outward = ({ x, y, width, height, met, covered }) => {
    const box = call(element, "getBoundingClientRect");
    const style = view.getComputedStyle(element);
    const space = (side) => parseFloat(style[`border${side}Width`]) + parseFloat(style[`padding${side}`]);
    const [wide, high] = [own(element, "offsetWidth"), own(element, "offsetHeight")];
    if ([width, height, wide, high].includes(0)) return { hidden: true };
    // The frame may be scaled, and zoomed with what is in it.
    const across = (wide - space("Left") - space("Right")) / width;
    const down = (high - space("Top") - space("Bottom")) / height;
    const point = {
      x: box.x + ((space("Left") + x * across) * box.width) / wide,
      y: box.y + ((space("Top") + y * down) * box.height) / high,
    };
    const hit = hitAt(point);
    return { ...point, met: met && hit === element, covered: covered || isOver(hit) };
  };
  const tell = (target) => {
    target.dispatchEvent(new view.Event("input", { bubbles: true, composed: true }));
    target.dispatchEvent(new view.Event("change", { bubbles: true }));
  };
  const plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
  const label = (one) => one.label || one.text;
  // An open list of the page's own look, whose options lie on the page; no script closes it.
  const isPicker = () => view.getComputedStyle(list).appearance === "base-select" && list.matches(":open");
  const choose = (one, selected = true) => {
    if (list.disabled || one.disabled || (one.parentElement.localName === "optgroup" && one.parentElement.disabled)) {
      return { disabled: true };
    }
    if (isPicker()) return { open: true };
    if (list.matches(":open")) list.blur(); // its pop-up would otherwise stay
    list.focus();
    if (one.selected !== selected) {
      one.selected = selected;
      tell(list);
    }
    return { chosen: label(one) };
  };
  const find = (typed) => {
    const all = [...list.options];
    return (
      all.find((one) => label(one) === value) ||
      all.find((one) => plain(label(one)) === plain(value)) ||
      (typed && all.find((one) => plain(label(one)).startsWith(plain(value))))
    );
  };
  const fill = () => {
    // Tried in a field that nobody sees: what is refused must change nothing, the focus included.
    const tried = page.createElement("input");
    for (const name of ["type", "min", "max", "step", "value", "alpha", "colorspace"]) {
      if (element.hasAttribute(name)) tried.setAttribute(name, element.getAttribute(name));
    }
    const given = value.trim();
    tried.value = given;
    const fits = {
      color: () => tried.value === given.toLowerCase(),
      range: () => Number(tried.value) === Number(given),
    };
    // Of dates and times, browsers take the same moment in another form, and nothing else.
    if (given !== "" && !(fits[element.type] || (() => tried.value !== ""))()) return { malformed: true };
    const owner = Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, "value");
    element.focus();
    owner.set.call(element, given);
    tell(element);
    return {};
  };

  switch (task) {
    case "locate": {
      const type = tag === "input" ? element.type : "";
      // It takes any text, and only shows it: no number, no date, no list of suggestions.
      const takesText = tag === "textarea" || (/^(text|search|email|password|tel|url)$/.test(type) && element.list === null);
      // Of boxes, sliders and buttons `readonly` keeps nobody from anything.
      const isFree = /^(checkbox|radio|range|color|file|submit|image|reset|button)$/.test(type);
      const isReadOnly = /^(input|textarea)$/.test(tag) && !isFree && own(element, "readOnly");
      const locked = call(element, "matches", ":disabled") ? "disabled" : isReadOnly ? "read-only" : "";
      const [isOption, isList, filled] = [option, list, own(element, "value")].map(Boolean);
      const at = { ...locate(value === "again"), width: view.innerWidth, height: view.innerHeight };
      const picker = isList && isPicker();
      const unseen = !at.hidden && !at.met && (takesText || own(element, "isContentEditable")) && isUnseen();
      return { ...at, tag, type, option: isOption, list: isList, picker, filled, takesText, locked, unseen };
    }
    case "outward":
      return { ...outward(JSON.parse(value)), width: view.innerWidth, height: view.innerHeight };
    case "pick":
      return choose(option, value !== "off");
    case "choose":
    case "type": {
      if (!list) return { tag, notList: true };
      const one = find(task === "type");
      return one ? choose(one) : { options: [...list.options].map(label) };
    }
    case "fill":
      return fill();
    case "focus":
      call(element, "focus");
      return {};
    case "checked": {
      if (element === option && list?.multiple) return { tag, checked: option.selected };
      const box = isBox() ? element : own(element, "control");
      const said = call(element, "getAttribute", "aria-checked") || call(element, "getAttribute", "aria-pressed");
      return { tag, checked: box && "checked" in box ? box.checked : said === null ? null : said === "true" };
    }
    case "link": {
      // With any other attribute a click may do more: `onclick`, `ping`, `download`, and what frameworks read.
      const plain = /^(href|hreflang|rel|target|referrerpolicy|type|id|class|style|title|lang|dir|tabindex|accesskey|aria-.*)$/;
      const isLink = element instanceof view.HTMLAnchorElement && /^https?:$/.test(element.protocol);
      return { tag, href: isLink && element.getAttributeNames().every((name) => plain.test(name)) ? element.href : "" };
    }
    case "matched": {
      // The part of a control that was seen stands for the control; a selector that cannot be read fits nothing.
      const parts = [element, call(element, "closest", "a, button, label, option, select, summary")].filter(Boolean);
      const fits = (selector) => {
        if (!/^\.?\/\//.test(selector)) return parts.some((one) => call(one, "matches", selector));
        const found = page.evaluate(selector, page, null, XPathResult.UNORDERED_NODE_SNAPSHOT_TYPE, null);
        for (let at = 0; at < found.snapshotLength; at++) if (parts.includes(found.snapshotItem(at))) return true;
        return false;
      };
      const safely = (selector) => {
        try {
          return fits(selector);
        } catch {
          return false;
        }
      };
      return { matched: [...JSON.parse(value).keys()].filter((at) => safely(JSON.parse(value)[at])) };
    }
    case "file": {
      const isFile = call(element, "matches", "input[type=file]");
      const holds = "select, option, textarea, input:not([type=button], [type=submit], [type=image])";
      return { tag, file: isFile, disabled: element.disabled, opens: !isFile && !call(element, "matches", holds) };
    }
  }
}
