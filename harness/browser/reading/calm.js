// Which elements of this document may hold something that shows far above or below themselves.
//
// A long page is mostly far away, and what is far away need not be measured, provided that nothing in it escapes. Boxes
// and lines of text grow with their contents and hold them, but for what style can do: position, float, transform,
// negative margins, heights, scrolling and the like. So the style of the whole document is looked through, and whatever
// is not known to be harmless makes an element wild; as does a shadow tree, which has style of its own.
//
// Gives { open, turned }: elements that are wild or hold a wild one, and elements in which up and down may mean something
// else; or null when the document does not tell (style of another origin, too much of it, forms of rules not known here)
// or when it is too small to be worth the question.
(least) => {
  "use strict";
  const MOST_RULES = 3000, MOST_SELECTORS = 400, MOST_STYLED = 20000;
  const getter = (owner, name) => {
    const get = Object.getOwnPropertyDescriptor(owner.prototype, name).get;
    return (node) => get.call(node);
  };
  const find = (selector) => Document.prototype.querySelectorAll.call(document, selector);
  const localName = getter(Element, "localName");
  const shadowRoot = getter(Element, "shadowRoot");
  const parentNode = getter(Node, "parentNode");
  const children = getter(Element, "children");
  const htmlStyle = getter(HTMLElement, "style");
  const styleOf = (element) => (element instanceof HTMLElement ? htmlStyle(element) : element.style);
  if (Document.prototype.getElementsByTagName.call(document, "*").length < least) return null;

  const words = (text) => text.trim().split(/\s+/);
  // Most elements of most pages, the most frequent first: they have no shadow trees and nothing wild of their own. The
  // browser passes over them much faster than over as many names as there are wild ones.
  const PLAIN = "td,a,li,tr,b,i,em,code,strong,img,input,button,option,br,th,label,dt,dd,path,g";
  const WILD = new Set(
    words(`area audio canvas col colgroup details dialog embed fieldset frame frameset iframe legend map marquee math object
    rt ruby slot summary svg textarea video`)
  );
  const isWild = (element) => {
    const name = localName(element);
    return WILD.has(name) || name.includes("-") || shadowRoot(element) !== null;
  };
  const ATTRIBUTES = `select:is([multiple],[size]),[popover],[rowspan],[align]:is(table,img,input),[height]:not(img)`;
  const HARMLESS = new RegExp(
    `^(?:--.*|(?:background|border|outline|padding|list-style|transition|text-decoration|text-emphasis|font|counter|mask|
    scroll-margin|scroll-padding|fill|stroke|justify|place|inset|break|page-break|word|caret|white-space|object|
    -webkit-font|-webkit-text|-webkit-tap|-webkit-user)(?:-.*)?|${words(`
    color text-align text-align-last text-transform text-shadow text-overflow text-indent text-wrap text-wrap-mode
    text-wrap-style text-rendering text-size-adjust text-underline-offset text-underline-position
    table-layout caption-side empty-cells letter-spacing line-height overflow-wrap line-break
    hyphens tab-size cursor opacity visibility pointer-events user-select box-shadow box-sizing accent-color appearance
    resize quotes content z-index color-scheme direction unicode-bidi vertical-align src will-change width min-width
    max-width scroll-behavior isolation mix-blend-mode filter backdrop-filter orphans widows image-rendering gap row-gap
    column-gap align-items align-content align-self flex-wrap flex-direction order clear top right bottom left clip
    clip-path print-color-adjust`).join("|")})$`.replace(/\s/g, "")
  );
  const TURNS = /^(transform|rotate|scale|translate|offset|perspective|zoom|writing-mode|text-orientation)/;
  const FLOWS = /^(none|block|inline|inline-block|list-item|flow-root|table|table-.*|inline-table)$/;
  const SHUFFLES = /^table-(header-group|footer-group|caption)$/;
  const VALUES = {
    position: /^static$/,
    float: /^none$/,
    height: /^auto$/,
    "max-height": /^none$/,
    "min-height": /^(?!0)[\d.]+[a-z]+$/,
    ...Object.fromEntries(["overflow", "overflow-x", "overflow-y"].map((name) => [name, /^visible$/])),
    ...Object.fromEntries(words("top right bottom left").map((side) => [`margin-${side}`, /^(auto|[\d.]+[a-z%]*)$/])),
  };

  // What a declaration makes of an element: itself wild, what stands directly in it wild (items of a flex box or grid may
  // be smaller than what they hold), out of order among its siblings, or turned, which is wild as well.
  const judge = (style) => {
    const verdict = { wild: false, items: false, shuffles: false, turned: false };
    for (let index = 0; index < style.length; index++) {
      const name = style[index];
      const value = style.getPropertyValue(name);
      if (TURNS.test(name) && value !== "none") verdict.turned = verdict.wild = true;
      else if (name === "display") {
        if (!FLOWS.test(value)) verdict.items = verdict.wild = true;
        if (SHUFFLES.test(value)) verdict.shuffles = true;
      } else if (name in VALUES ? !VALUES[name].test(value) : !HARMLESS.test(name)) verdict.wild = true;
    }
    return verdict;
  };

  let rulesLeft = MOST_RULES;
  const selectors = { wild: [ATTRIBUTES], turned: [] };
  if (getter(Document, "fullscreenElement")(document) !== null) selectors.wild.push(":fullscreen");
  const mark = (selector, verdict) => {
    if (verdict.wild) selectors.wild.push(selector);
    else if (verdict.shuffles) selectors.wild.push(`:is(${selector}):not(thead,tfoot,caption)`);
    if (verdict.items) selectors.wild.push(`:is(${selector}) > *`);
    if (verdict.turned) selectors.turned.push(selector);
  };
  const SILENT = new Set(
    words(`CSSFontFaceRule CSSKeyframesRule CSSPropertyRule CSSCounterStyleRule CSSLayerStatementRule CSSPageRule
    CSSFontFeatureValuesRule CSSFontPaletteValuesRule CSSViewTransitionRule CSSPositionTryRule`)
  );
  const GROUPS = new Set(words("CSSMediaRule CSSSupportsRule CSSLayerBlockRule CSSContainerRule CSSStartingStyleRule"));
  const canRead = (rules) => {
    for (const rule of rules) {
      const kind = rule.constructor.name;
      if (--rulesLeft < 0) return false;
      if (SILENT.has(kind)) continue;
      if (GROUPS.has(kind)) {
        if (!canRead(rule.cssRules)) return false;
      } else if (kind === "CSSImportRule") {
        if (rule.styleSheet && !canRead(rule.styleSheet.cssRules)) return false;
      } else if (kind !== "CSSStyleRule" || rule.cssRules.length > 0) return false;
      else mark(rule.selectorText.replace(/::[\w-]+(\([^()]*\))?/g, ":not(x-none)"), judge(rule.style));
    }
    return true;
  };
  const wild = new Set();
  const turned = new Set();
  try {
    for (const sheet of ["styleSheets", "adoptedStyleSheets"].flatMap((name) => [...getter(Document, name)(document)]))
      if (!canRead(sheet.cssRules)) return null;
    if (selectors.wild.length > MOST_SELECTORS) return null;
    for (const element of find(selectors.wild.join())) wild.add(element);
    if (selectors.turned.length) for (const element of find(selectors.turned.join())) turned.add(element);
  } catch {
    return null; // style of another origin, or a selector that is no query
  }
  const suspects = find(`:not(${PLAIN})`); // often half of the page: an iterator would take a third longer
  for (let index = 0, { length } = suspects; index < length; index++)
    if (isWild(suspects[index])) wild.add(suspects[index]);
  const styled = find("[style]");
  if (styled.length > MOST_STYLED) return null;
  for (const element of styled) {
    const verdict = judge(styleOf(element));
    if (verdict.wild || verdict.shuffles) wild.add(element);
    if (verdict.items) for (const child of children(element)) wild.add(child);
    if (verdict.turned) turned.add(element);
  }
  for (const animation of Document.prototype.getAnimations.call(document)) {
    const target = animation.effect?.target;
    if (target) [wild, turned].forEach((set) => set.add(target));
  }
  const open = new Set();
  for (const element of wild)
    for (let at = element; at && !open.has(at); at = parentNode(at) ?? at.host) open.add(at);
  return { open, turned };
}
