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

  const rects = () => {
    if (nodeType === Node.TEXT_NODE) {
      const range = page.createRange();
      range.selectNode(node);
      return [range.getBoundingClientRect(), ...range.getClientRects()];
    }
    // A box to tick that is hidden can be clicked at its labels.
    const isBox = call(element, "matches", "input[type=checkbox], input[type=radio]");
    const places = [element, ...(isBox ? own(element, "labels") : [])];
    return places.flatMap((one) => [call(one, "getBoundingClientRect"), ...call(one, "getClientRects")]);
  };
  const labelled = (hit) => own(call(hit, "closest", "label, a, button, input, select, textarea") ?? hit, "control");
  // A point of the element, in its own viewport, at which a click meets it.
  const aim = () => {
    const boxes = rects().filter((box) => box.width > 0 && box.height > 0);
    const points = boxes.map((box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 }));
    const within = points.filter(({ x, y }) => x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight);
    const meets = within.find(({ x, y }) => {
      const hit = call(element, "getRootNode").elementFromPoint(x, y);
      if (!hit || call(element, "contains", hit)) return Boolean(hit);
      const holds = call(hit, "contains", element) && call(hit, "matches", "label, button, a");
      return holds || labelled(hit) === element;
    });
    return { point: meets || within[0] || points[0], sure: Boolean(meets) };
  };
  const locate = () => {
    if (nodeType === Node.DOCUMENT_NODE || element === page.documentElement) return { x: 5, y: 5 };
    let { point, sure } = aim();
    if (point && !sure) {
      call(element, "scrollIntoView", { block: "center", inline: "nearest", behavior: "instant" });
      ({ point, sure } = aim());
    }
    if (!point) return { hidden: true };
    let { x, y } = point;
    for (let inner = view; inner !== inner.parent; inner = inner.parent) {
      const frame = inner.frameElement;
      if (!frame) break;
      const box = frame.getBoundingClientRect();
      x += box.x + frame.clientLeft;
      y += box.y + frame.clientTop;
    }
    return { x, y };
  };
  const tell = (target) => {
    target.dispatchEvent(new view.Event("input", { bubbles: true, composed: true }));
    target.dispatchEvent(new view.Event("change", { bubbles: true }));
  };
  const plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
  const label = (one) => one.label || one.text;
  const choose = (one) => {
    if (list.disabled || one.disabled || (one.parentElement.localName === "optgroup" && one.parentElement.disabled)) {
      return { disabled: true };
    }
    if (list.matches(":open")) list.blur(); // its pop-up would otherwise stay
    list.focus();
    if (!one.selected) {
      one.selected = true;
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
    const before = element.value;
    const owner = Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, "value");
    element.focus();
    owner.set.call(element, value);
    if (value !== "" && element.value !== value.trim()) {
      owner.set.call(element, before);
      return { malformed: true };
    }
    tell(element);
    return {};
  };

  switch (task) {
    case "locate": {
      const type = tag === "input" ? element.type : "";
      // It takes any text, and only shows it: no number, no date, no list of suggestions.
      const takesText = tag === "textarea" || (/^(text|search|email|password|tel|url)$/.test(type) && element.list === null);
      const [isOption, isList, filled] = [option, list, own(element, "value")].map(Boolean);
      return { ...locate(), tag, type, option: isOption, list: isList, filled, takesText };
    }
    case "pick":
      return choose(option);
    case "choose":
    case "type": {
      if (!list) return { tag, notList: true };
      const one = find(task === "type");
      return one ? choose(one) : { options: [...list.options].map(label) };
    }
    case "fill":
      return fill();
    case "checked": {
      const isBox = call(element, "matches", "input[type=checkbox], input[type=radio]");
      const box = isBox ? element : own(element, "control");
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
