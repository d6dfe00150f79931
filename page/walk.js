// walk: what is drawn of a page, in its order: through open shadow roots, slots
// and frames of the same origin; what lies outside the window for good or is
// aria-hidden is left out. What only has to be unfolded (details, accordions) is
// walked all the same.
const SKIP_TAGS = new Set(["script", "style", "noscript", "template", "object", "embed", "canvas", "video",
  "audio", "select", "input", "datalist", "head", "link", "meta"]);
const SKIP_SVG = "defs,symbol,title,desc,metadata,style,script,clipPath,mask,pattern,marker";
const INLINE_TAGS = new Set(["a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn",
  "em", "font", "i", "img", "ins", "kbd", "label", "mark", "q", "ruby", "rt", "rb", "s", "samp", "slot", "small",
  "span", "strong", "sub", "sup", "svg", "time", "tt", "u", "var", "wbr", "big", "nobr", "acronym"]);
const FOLDED = /(^|[\s_-])(collapse|accordion|faq)/i;
const LAZY = ["data-src", "data-srcset", "data-original", "data-lazy-src", "data-lazy"];
const MAX_PLACED = 20000; // elements
const MAX_PLACED_CHARS = 1000000;

const inSvg = (el) => el.ownerSVGElement !== undefined && el.localName !== "svg";

// Moved out of the page, or clipped to a dot, to be read by machines only. Asked
// of elements with attributes only: no style sheet does that to all of a kind.
function offScreen(el) {
  const r = el.getBoundingClientRect();
  if (r.width > 1 || r.height > 1) {
    if (r.bottom > 0 && r.right > 0)
      return false;
    const view = el.ownerDocument.defaultView;
    const below = r.bottom + view.scrollY;
    return below < 0 || (below === 0 && r.height > 0) || (r.right + view.scrollX <= 0 && r.width > 0 &&
      getComputedStyle(el.ownerDocument.documentElement).direction !== "rtl");
  }
  const style = getComputedStyle(el);
  return style.position === "absolute" && (style.overflow !== "visible" || style.clip !== "auto");
}

// The ids of what buttons of accordions unfold.
function foldedIds(root) {
  const ids = new Set();
  for (const el of root.querySelectorAll("[aria-expanded=false][aria-controls]:not([aria-haspopup],[role=combobox])")) {
    if (!el.closest("nav,header,[role=navigation],[role=menubar],[role=toolbar]"))
      ids.add(el.getAttribute("aria-controls"));
  }
  return ids;
}

// Where things are is costly to find out of a page that is not drawn; of a very
// large one it takes more memory than a run has.
function canPlace() {
  return document.getElementsByTagName("*").length <= MAX_PLACED &&
    document.documentElement.textContent.length <= MAX_PLACED_CHARS;
}

// A function that says of each element whether its text is to be read; folded
// tells that of the parent.
function reading(placed) {
  const idsOf = new Map();
  const folds = (el) => {
    if (FOLDED.test(el.getAttribute("class") || ""))
      return true;
    if (!el.id)
      return false;
    const root = el.getRootNode();
    if (!idsOf.has(root))
      idsOf.set(root, foldedIds(root));
    return idsOf.get(root).has(el.id);
  };
  return (el, folded) => {
    // A dialog hides all that is behind it so, which is still to be seen.
    if (el.getAttribute("aria-hidden") === "true" && !el.querySelector("main,[role=main],h1"))
      return "";
    if (visible(el))
      return placed && el.hasAttributes() && offScreen(el) ? "" : "shown";
    const {display} = getComputedStyle(el);
    if (folded)
      return display === "none" ? "" : "folded";
    if (display === "contents")
      return "shown"; // has no box, but what is in it may have
    return folds(el) ? "folded" : "";
  };
}

const entered = new Set(); // shadow hosts and frames whose inside was walked
const foreign = new Set(); // frames of other origins, which nobody can look into

// The body of a frame that is drawn and of the same origin.
function frameBody(el) {
  if (el.offsetWidth <= 1 && el.offsetHeight <= 1)
    return null;
  let inner = null;
  try {
    inner = el.contentDocument;
  } catch {
    inner = null;
  }
  (inner ? entered : foreign).add(el);
  return inner && inner.body;
}

const isFrame = (el) => el.localName === "iframe" || el.localName === "frame";

// Where to go on below el: what is drawn of it may be elsewhere. A list of
// nodes, or the first of its children.
function insideOf(el) {
  if (el.shadowRoot) {
    entered.add(el);
    return el.shadowRoot.firstChild;
  }
  if (el.localName === "slot") {
    const given = el.assignedNodes({flatten: true});
    return given.length > 0 ? given : el.firstChild;
  }
  if (!isFrame(el))
    return el.firstChild;
  const body = frameBody(el);
  return body && [body];
}

// The elements below root that fit, with those in what was walked into.
function* deep(root, selector) {
  if (entered.size === 0) {
    yield* root.querySelectorAll(selector);
    return;
  }
  for (const el of root.querySelectorAll("*")) {
    if (spent())
      return;
    if (el.matches(selector))
      yield el;
    const inside = entered.has(el) && (el.shadowRoot || frameBody(el));
    if (inside)
      yield* deep(inside, selector);
  }
}

// Document order, without recursion: pages nest as deep as they like. Texts that
// were given before are passed over. enter says whether to go into an element:
// "", "shown" or "folded". False when the work has gone far enough.
function walk(root, enter, leave, tell) {
  const stack = [];
  const below = (el, folded) => {
    const inside = insideOf(el);
    return Array.isArray(inside) ? {el, list: inside, i: 0, next: null, folded}
      : {el, list: null, i: 0, next: inside, folded};
  };
  let at = below(root, false);
  for (;;) {
    if (spent())
      return false;
    const node = at.list ? at.list[at.i++] : at.next;
    if (!node) {
      if (stack.length === 0)
        return true;
      leave(at.el);
      at = stack.pop();
      continue;
    }
    if (!at.list)
      at.next = node.nextSibling;
    if (node.nodeType === 3) {
      if (!isGiven(node))
        tell(node.data);
    } else if (node.nodeType === 1) {
      const how = enter(node, at.folded);
      if (how) {
        stack.push(at);
        at = below(node, how === "folded" || node.hidden === "until-found" ||
          (node.localName === "details" && !node.open));
      }
    }
  }
}

// x² as x^2 and a fraction as (a)/(b), from the leaves of MathML.
function mathText(el, depth = 0) {
  const kids = depth > 40 ? [] : [...el.children].filter((k) => !k.localName.startsWith("annotation"));
  const texts = kids.map((k) => mathText(k, depth + 1));
  const [a, b, c] = texts;
  switch (kids.length > 1 ? el.localName : "") {
  case "msup":
    return a + "^" + b;
  case "msub":
    return a + "_" + b;
  case "msubsup":
    return a + "_" + b + "^" + c;
  case "mfrac":
    return "(" + a + ")/(" + b + ")";
  case "mroot":
    return "root(" + a + ", " + b + ")";
  }
  const text = kids.length > 0 ? texts.join("") : clean(el.textContent);
  return el.localName === "msqrt" ? "sqrt(" + text + ")" : text;
}

function lazyAlt(img) {
  return img.loading === "lazy" || LAZY.some((name) => img.hasAttribute(name)) ? attr(img, "alt") : "";
}

// The text of el in one line. Buttons are no part of it unless asked for.
function lineOf(el, judge, buttons) {
  let text = "";
  walk(el, (n, folded) => {
    const tag = n.localName;
    if (text.length > 4000 || SKIP_TAGS.has(tag) || tag === "textarea" || (tag === "button" && !buttons) ||
        (inSvg(n) && n.matches(SKIP_SVG)))
      return "";
    const how = judge(n, folded);
    if (how && (tag === "math" || tag === "img")) {
      text += tag === "math" ? mathText(n) : lazyAlt(n);
      return "";
    }
    if (!INLINE_TAGS.has(tag))
      text += " ";
    return how;
  }, (n) => {
    if (!INLINE_TAGS.has(n.localName))
      text += " ";
  }, (data) => {
    text += data;
  });
  return clean(text);
}
