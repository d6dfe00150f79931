// reader: the article of the page, by Mozilla's library, over a copy of the
// document (the library takes its document apart).
const MAX_READER_BYTES = 2097152; // of UTF-8
const MAX_READER_ELEMENTS = 60000;

// As much of the text as fits, and whether that is all.
function readerAnswer(title, whole, truncated) {
  const {read} = new TextEncoder().encodeInto(whole, new Uint8Array(MAX_READER_BYTES));
  const out = {title: cut(title, 300), text: whole.slice(0, read), length: whole.length};
  if (truncated || read < whole.length)
    out.truncated = true;
  return out;
}

function reader() {
  if (typeof Readability !== "function")
    return {error: "missing"};
  // The library takes long for very large pages: all text there is, instead.
  if (document.getElementsByTagName("*").length > MAX_READER_ELEMENTS) {
    const {sections, truncated} = sectionsOf(mainRoot(), MAX_READER_BYTES);
    const lines = sections.flatMap((s) => [s.heading, s.text]).filter((line) => line);
    return markSeen(readerAnswer(clean(document.title), lines.join("\n"), truncated));
  }
  const copy = document.cloneNode(true);
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
