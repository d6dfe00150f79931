// reader: the article of the page, by Mozilla's library, over a copy of the
// document as it is drawn (the library takes its document apart).
const MAX_READER_BYTES = 2097152; // of UTF-8
const MAX_READER_ELEMENTS = 60000;
const MAX_READER_DEPTH = 8;

// As much of the text as fits, and whether that is all.
function readerAnswer(title, whole, truncated) {
  const {read} = new TextEncoder().encodeInto(whole, new Uint8Array(MAX_READER_BYTES));
  const out = {title: cut(title, 300), text: whole.slice(0, read), length: whole.length};
  if (truncated || read < whole.length)
    out.truncated = true;
  return out;
}

// Puts what open shadow roots and frames of root show into copy, in its place.
function flatten(root, copy, doc, depth) {
  const to = copy.querySelectorAll("*");
  [...root.querySelectorAll("*")].forEach((el, i) => {
    const shadow = el.shadowRoot;
    const inside = shadow || (isFrame(el) && visible(el) ? frameBody(el) : null);
    if (!inside || depth > MAX_READER_DEPTH || spent())
      return;
    const part = doc.createDocumentFragment();
    part.append(...[...inside.childNodes].map((node) => doc.importNode(node, true)));
    const slots = [...part.querySelectorAll("slot")];
    flatten(inside, part, doc, depth + 1);
    if (!shadow) {
      const box = doc.createElement("div");
      box.append(part);
      to[i].replaceWith(box);
      return;
    }
    const own = [...to[i].childNodes];
    const copies = new Map([...el.childNodes].map((node, n) => [node, own[n]]));
    shadow.querySelectorAll("slot").forEach((slot, n) => {
      const given = slot.assignedNodes();
      if (given.length > 0)
        slots[n].replaceChildren(...given.map((node) => copies.get(node)));
    });
    to[i].replaceChildren(part);
  });
}

function flatCopy() {
  const copy = document.cloneNode(true);
  flatten(document, copy, copy, 0);
  const {body} = copy;
  if (body && body.localName === "frameset") {
    const plain = copy.createElement("body");
    plain.append(...body.querySelectorAll("frameset > div"));
    body.replaceWith(plain);
  }
  return copy;
}

const isLarge = (doc) => doc.getElementsByTagName("*").length > MAX_READER_ELEMENTS;

function reader() {
  if (typeof Readability !== "function")
    return {error: "missing"};
  const copy = isLarge(document) ? null : flatCopy();
  // The library takes long for very large pages: all text there is, instead.
  if (!copy || isLarge(copy)) {
    const {sections, truncated} = sectionsOf(mainRoot(), MAX_READER_BYTES);
    const lines = sections.flatMap((s) => [s.heading, s.text]).filter((line) => line);
    return markSeen(readerAnswer(clean(document.title), lines.join("\n"), truncated));
  }
  const article = new Readability(copy).parse();
  if (!article)
    return null;
  const out = readerAnswer(clean(article.title), (article.textContent || "").toWellFormed(), false);
  for (const key of ["byline", "dir", "lang", "excerpt", "siteName", "publishedTime"]) {
    if (article[key])
      out[key] = cut(clean(article[key]), 1000);
  }
  return out;
}
