// Rectangles [x, y, width, height] of nodes: of a shadow root, those of all elements and texts in it, in document order.
(...nodes) => {
  const childNodes = Object.getOwnPropertyDescriptor(Node.prototype, "childNodes").get;
  const range = new Range();
  const list = (rect) => [rect.x, rect.y, rect.width, rect.height];
  const measure = (node) => {
    if (node.nodeType === Node.ELEMENT_NODE) return list(Element.prototype.getBoundingClientRect.call(node));
    if (node.nodeType !== Node.TEXT_NODE || !node.isConnected) return null;
    range.selectNode(node);
    return list(range.getBoundingClientRect());
  };
  const measureBelow = (parent, rects) => {
    for (const node of childNodes.call(parent)) {
      const rect = measure(node);
      if (rect === null) continue;
      rects.push(rect);
      if (node.shadowRoot) measureBelow(node.shadowRoot, rects);
      measureBelow(node, rects);
    }
    return rects;
  };
  return nodes.map((node) => (node instanceof ShadowRoot ? measureBelow(node, []) : [measure(node)]));
}
