// common: what all parts of an extraction use. The parts are joined into one
// function that runs in an isolated world; this file comes first. Everything
// here is bounded: pages may be of any size and written to annoy.
const MAX_NODES = 1000000;
const MAX_MS = 2500;
let started = performance.now();
let visited = 0;
let exhausted = false;

// Begins to count anew: for each part, and each look of a script that waits.
function workAnew() {
  started = performance.now();
  visited = 0;
  exhausted = false;
}

// True when the work on this page has gone far enough, from then on.
function spent() {
  if (!exhausted && (++visited >= MAX_NODES ||
      ((visited & 1023) === 0 && performance.now() - started > MAX_MS)))
    exhausted = true;
  return exhausted;
}

// What a part says that could not look at everything.
function markSeen(out) {
  if (!exhausted)
    return out;
  out.truncated = true;
  out.seen = {nodes: visited, elementsOfPage: document.getElementsByTagName("*").length};
  return out;
}

// Well-formed, without runs of white space.
function clean(text) {
  return text ? String(text).replace(/[\s\u200b\ufeff]+/g, " ").trim().toWellFormed() : "";
}

// At most n code units, never half a character.
function cut(text, n) {
  if (text.length <= n)
    return text;
  const c = text.charCodeAt(n - 1);
  return text.slice(0, c >= 0xd800 && c < 0xdc00 ? n - 1 : n).toWellFormed();
}

function attr(el, name) {
  return clean(el.getAttribute(name));
}

const VISIBLE = {visibilityProperty: true, contentVisibilityAuto: false};

function visible(el) {
  return el.checkVisibility(VISIBLE);
}

// What an extraction of the same list has given already (list.js).
function isGiven(node) {
  return globalThis.browsertaskGiven !== undefined && browsertaskGiven.has(node);
}

function beginsGiven(el) {
  if (globalThis.browsertaskGiven === undefined)
    return false;
  const texts = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  let node = texts.nextNode();
  while (node !== null && node.data.trim() === "")
    node = texts.nextNode();
  return node !== null && isGiven(node);
}

// The document, its open shadow roots and its same-origin frames. An isolated
// world sees the frames of the same origin only, which is what is wanted.
function allRoots() {
  const roots = [];
  const visit = (root, depth) => {
    roots.push(root);
    if (depth > 8 || roots.length > 200)
      return;
    for (const el of root.querySelectorAll("*")) {
      if (spent())
        return;
      if (el.shadowRoot)
        visit(el.shadowRoot, depth + 1);
      else if (el.localName === "iframe" || el.localName === "frame") {
        let inner = null;
        try {
          inner = el.contentDocument;
        } catch {
          inner = null;
        }
        if (inner && inner.body && visible(el))
          visit(inner, depth + 1);
      }
    }
  };
  visit(document, 0);
  return roots;
}

const REGION_OF_TAG = {header: "header", nav: "nav", main: "main", aside: "aside",
  footer: "footer", dialog: "dialog", form: "form", search: "search"};
const REGION_OF_ROLE = {banner: "header", navigation: "nav", main: "main",
  complementary: "aside", contentinfo: "footer", dialog: "dialog",
  alertdialog: "dialog", form: "form", search: "search"};

function regionOf(el) {
  const role = el.getAttribute("role");
  if (role)
    return REGION_OF_ROLE[role.trim().toLowerCase()] || "";
  const region = REGION_OF_TAG[el.localName] || "";
  // The header of an article is no header of the page.
  if ((region === "header" || region === "footer") &&
      el.parentElement && el.parentElement.closest("article,section,main,aside,nav,[role=main]"))
    return "";
  return region;
}

function parentOf(el) {
  return el.parentElement || (el.getRootNode() && el.getRootNode().host) || null;
}

// A form has a property for each field that is named in it, and the document
// for some of what is named in it, even where that hides what is used here.
const OF_ELEMENTS = ["attributes", "checkVisibility", "childElementCount", "childNodes", "children",
  "closest", "firstChild", "getAttribute", "getBoundingClientRect", "getRootNode", "hasAttribute",
  "hasAttributes", "localName", "matches", "nextSibling", "nodeType", "ownerDocument", "parentElement", "parentNode",
  "querySelector", "querySelectorAll", "shadowRoot", "tagName", "textContent"];
const OF_DOCUMENTS = ["body", "createTreeWalker", "documentElement", "getElementById",
  "getElementsByTagName", "querySelector", "querySelectorAll", "title"];

// Takes such names away; the function that is returned gives them back.
function bareNames() {
  const {querySelectorAll, getElementsByTagName} = Document.prototype;
  const {getAttribute, setAttribute, removeAttribute} = Element.prototype;
  const taken = [];
  const bare = (owner, names) => {
    for (const name of names) {
      if (!Object.hasOwn(owner, name))
        continue;
      for (const el of querySelectorAll.call(document, `[name=${name}],[id=${name}]`)) {
        for (const key of ["name", "id"]) {
          if (getAttribute.call(el, key) !== name)
            continue;
          removeAttribute.call(el, key);
          taken.push(() => setAttribute.call(el, key, name));
        }
        // A form remembers the names of a field until it is no field of it.
        const form = getAttribute.call(el, "form");
        setAttribute.call(el, "form", "");
        if (form === null)
          removeAttribute.call(el, "form");
        else
          setAttribute.call(el, "form", form);
      }
    }
  };
  bare(document, OF_DOCUMENTS);
  for (const form of [...getElementsByTagName.call(document, "form")].slice(0, 100))
    bare(form, OF_ELEMENTS);
  return () => taken.forEach((give) => give());
}

function extract(o) {
  const out = {};
  const giveBack = bareNames();
  try {
    for (const part of ["pageInfo", "content", "readability"]) {
      workAnew();
      if (o[part])
        out[part] = o[part](o);
    }
  } finally {
    giveBack();
  }
  return out;
}
