// Whether these points of a document, [x, y] in client coordinates, hit a frame of it; called with the frame's element.
// None does in a frame that is scaled or turned, as its contents are not where they seem to be.
(owner, ...points) => {
  const get = (node, of, name) => Object.getOwnPropertyDescriptor(of.prototype, name).get.call(node);
  const root = Node.prototype.getRootNode.call(owner);
  const from = (root instanceof ShadowRoot ? ShadowRoot : Document).prototype.elementFromPoint;
  const rect = Element.prototype.getBoundingClientRect.call(owner);
  const sides = [rect.width - get(owner, HTMLElement, "offsetWidth"), rect.height - get(owner, HTMLElement, "offsetHeight")];
  if (sides.some((difference) => Math.abs(difference) > 1)) return points.map(() => false);
  return points.map(([x, y]) => from.call(root, x, y) === owner);
}
