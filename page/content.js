// content: what the page says: its text by headings, links, images, metadata.
const SKIP_TAGS = new Set(["script", "style", "noscript", "template", "svg", "math", "iframe",
  "object", "embed", "canvas", "video", "audio", "select", "textarea", "input", "button",
  "datalist", "head", "link", "meta"]);
const INLINE_TAGS = new Set(["a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn",
  "em", "font", "i", "ins", "kbd", "label", "mark", "q", "ruby", "rt", "rb", "s", "samp", "small",
  "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "big", "nobr", "acronym"]);
const MAX_SECTIONS = 200;
const MAX_LINKS = 50;
const MAX_IMAGES = 20;
const ASIDE = new Set(["nav", "footer", "aside", "header", "dialog", "search"]);

// The part of the document that is about something, if it says which it is.
function mainRoot() {
  const body = document.body;
  if (!body)
    return document.documentElement;
  const size = (el) => el.textContent.length;
  const mains = [...document.querySelectorAll("main,[role=main]")].filter(visible);
  if (mains.length === 1 && size(mains[0]) > 0)
    return mains[0];
  const articles = [...document.querySelectorAll("article,[role=article]")].filter(visible);
  if (articles.length === 1 && size(articles[0]) * 4 > size(body))
    return articles[0];
  return body;
}

function headingLevel(el) {
  const m = /^h([1-6])$/.exec(el.localName);
  if (m)
    return Number(m[1]);
  if (el.getAttribute("role") === "heading")
    return Math.min(Math.max(Number(el.getAttribute("aria-level")) || 2, 1), 6);
  return 0;
}

// Walks root in document order and sorts its text below its headings. Without
// recursion: pages nest as deep as they like.
function sectionsOf(root, max) {
  const sections = [];
  let current = {heading: "", level: 0, text: ""};
  let left = max;
  let total = 0;
  let line = "";
  let truncated = false;

  const flush = () => {
    const text = clean(line);
    line = "";
    if (text === "")
      return;
    total += text.length + 1;
    if (left <= 0) {
      truncated = true;
      return;
    }
    const part = cut(text, left);
    truncated = truncated || part.length < text.length;
    left -= part.length + 1;
    current.text += (current.text ? "\n" : "") + part;
  };
  const close = () => {
    flush();
    if ((current.heading || current.text) && sections.length < MAX_SECTIONS)
      sections.push(current);
    else if (current.heading || current.text)
      truncated = true;
  };
  const enter = (el) => {
    if (SKIP_TAGS.has(el.localName) || el.getAttribute("aria-hidden") === "true" || !visible(el))
      return false;
    if (el !== root && root === document.body && ASIDE.has(regionOf(el)))
      return false;
    const level = headingLevel(el);
    if (level > 0) {
      close();
      const heading = cut(clean(el.textContent), 300);
      total += heading.length;
      left -= heading.length;
      current = {heading, level, text: ""};
      return false;
    }
    if (el.localName === "br")
      flush();
    else if (el.localName === "td" || el.localName === "th")
      line += " ";
    else if (!INLINE_TAGS.has(el.localName))
      flush();
    return true;
  };
  const leave = (el) => {
    if (el.localName === "td" || el.localName === "th")
      line += " ";
    else if (!INLINE_TAGS.has(el.localName))
      flush();
  };

  let node = root.firstChild;
  while (node && !spent()) {
    let down = false;
    if (node.nodeType === 3)
      line += node.data;
    else if (node.nodeType === 1)
      down = enter(node) && node.firstChild !== null;
    if (down) {
      node = node.firstChild;
      continue;
    }
    while (node && node !== root && !node.nextSibling) {
      node = node.parentNode;
      if (node && node !== root)
        leave(node);
    }
    node = node && node !== root ? node.nextSibling : null;
  }
  close();
  return {sections, total, truncated};
}

function linksOf(root) {
  const links = [];
  const seen = new Set();
  for (const a of root.querySelectorAll("a[href]")) {
    if (links.length >= MAX_LINKS || spent())
      break;
    const href = typeof a.href === "string" ? a.href : "";
    if (!/^(https?|mailto|tel):/.test(href) || seen.has(href))
      continue;
    const text = cut(clean(a.textContent.slice(0, 1000)) || attr(a, "aria-label") || attr(a, "title"), 200);
    if (text === "" || !visible(a))
      continue;
    seen.add(href);
    links.push({text, href: cut(href.toWellFormed(), 2000)});
  }
  return links;
}

function imagesOf(root) {
  const images = [];
  const seen = new Set();
  for (const img of root.querySelectorAll("img")) {
    if (images.length >= MAX_IMAGES || spent())
      break;
    const src = img.currentSrc || img.src || "";
    if (!/^https?:/.test(src) || seen.has(src) || img.width === 1 || img.height === 1)
      continue;
    seen.add(src);
    images.push({alt: cut(attr(img, "alt"), 300), src: cut(src.toWellFormed(), 2000)});
  }
  return images;
}

function metadataOf() {
  const meta = {};
  const put = (key, value) => {
    const text = cut(clean(value), 500);
    if (text !== "" && meta[key] === undefined)
      meta[key] = text;
  };
  const og = {};
  let ogs = 0;
  for (const m of document.querySelectorAll("meta[content]")) {
    if (spent())
      break;
    const key = (m.getAttribute("property") || m.getAttribute("name") || "").trim().toLowerCase();
    if (key === "description" || key === "author" || key === "keywords")
      put(key, m.content);
    else if (key === "article:published_time" || key === "date" || key === "dc.date" || key === "datepublished")
      put("published", m.content);
    else if (key === "article:author")
      put("author", m.content);
    else if (/^og:[a-z_:]{1,40}$/.test(key) && og[key.slice(3)] === undefined && ogs < 20) {
      og[key.slice(3)] = cut(clean(m.content), 500);
      ogs++;
    }
  }
  const time = document.querySelector("time[datetime]");
  if (time)
    put("published", time.getAttribute("datetime"));
  const author = document.querySelector("[rel=author],[itemprop=author]");
  if (author)
    put("author", author.textContent.slice(0, 500));
  put("description", og.description);
  put("siteName", og.site_name);
  const canonical = document.querySelector("link[rel=canonical][href]");
  if (canonical)
    put("canonical", canonical.href);
  put("lang", document.documentElement.lang);
  put("dir", document.documentElement.dir || (document.body && document.body.dir));
  put("charset", document.characterSet);
  if (ogs > 0)
    meta.og = og;
  return meta;
}

function content(o) {
  const root = mainRoot();
  const {sections, total, truncated} = sectionsOf(root, o.maxContentLength);
  return {
    title: cut(clean(document.title), 300),
    sections,
    links: linksOf(root),
    images: imagesOf(root),
    metadata: metadataOf(),
    textLength: total,
    truncated,
  };
}
