// content: what the page says: its text by headings, links, images, metadata.
const MAX_LINKS = 50;
const MAX_IMAGES = 20;
const MAX_FRAMES = 10;
const MAX_FRAME_URL = 300; // a longer one is no reader's
const asShown = () => "shown";

function linksOf(root) {
  const links = [];
  const seen = new Set();
  for (const a of deep(root, "a[href]")) {
    if (links.length >= MAX_LINKS || spent())
      break;
    const href = typeof a.href === "string" ? a.href : "";
    if (!/^(https?|mailto|tel):/.test(href) || seen.has(href))
      continue;
    if (beginsGiven(a))
      continue;
    const text = cut(clean(a.textContent.slice(0, 1000)) || lineOf(a, asShown, true) || attr(a, "aria-label") ||
      attr(a, "title"), 200);
    if (text === "" || !visible(a))
      continue;
    seen.add(href);
    links.push({text, href: cut(href.toWellFormed(), 2000)});
  }
  return links;
}

// An image that is loaded when somebody scrolls there has its address aside.
function sourceOf(img) {
  const src = img.currentSrc || img.src || "";
  if (/^https?:/.test(src))
    return src;
  for (const name of LAZY.concat("srcset")) {
    const [first] = (img.getAttribute(name) || "").trim().split(/[\s,]/);
    const url = first && URL.parse(first, img.baseURI);
    if (url && /^https?:/.test(url.protocol))
      return url.href;
  }
  return "";
}

// Of a list that goes on, those that were not given before (list.js).
function imagesOf(root) {
  const images = [];
  const told = globalThis.browsertaskGiven && globalThis.browsertaskImages;
  const seen = new Set(told);
  for (const img of deep(root, "img")) {
    if (images.length >= MAX_IMAGES || spent())
      break;
    const src = sourceOf(img);
    const alt = attr(img, "alt");
    const lazy = lazyAlt(img) !== "";
    if ((src === "" && !lazy) || seen.has(src || alt) || (!lazy && (img.width === 1 || img.height === 1)))
      continue;
    seen.add(src || alt);
    images.push({alt: cut(alt, 300), src: cut(src.toWellFormed(), 2000)});
  }
  globalThis.browsertaskImages = seen;
  return images;
}

// What is said elsewhere: who wants it can open its address.
function framesNotRead() {
  const frames = [...foreign].slice(0, MAX_FRAMES).map((el) => {
    const url = URL.parse(el.src || "", el.baseURI);
    const href = url && /^https?:/.test(url.protocol) ? url.href : "";
    return {host: href ? url.host : "", url: href.length > MAX_FRAME_URL ? "" : href};
  });
  return foreign.size > 0 ? {total: foreign.size, frames} : undefined;
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
  const {sections, tables, total, truncated} = sectionsOf(root, o.maxContentLength);
  return markSeen({
    title: cut(clean(document.title), 300),
    sections,
    tables,
    links: linksOf(root),
    images: imagesOf(root),
    metadata: metadataOf(),
    framesNotRead: framesNotRead(),
    textLength: total,
    truncated,
  });
}
