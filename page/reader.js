// reader: the article of the page, by Mozilla's library, over a copy of the
// document (the library takes its document apart).
const MAX_READER_CHARS = 2097152;
const MAX_READER_ELEMENTS = 60000;

function reader() {
  if (typeof Readability !== "function")
    return {error: "missing"};
  // The library throws beyond its limit, which would cost the page's other parts.
  if (document.getElementsByTagName("*").length > MAX_READER_ELEMENTS)
    return {error: "READABILITY_TOO_LARGE"};
  const copy = document.cloneNode(true);
  const article = new Readability(copy).parse();
  if (!article)
    return null;
  const text = article.textContent || "";
  if (text.length > MAX_READER_CHARS)
    return {error: "READABILITY_TOO_LARGE", length: text.length};
  const out = {title: cut(clean(article.title), 300), text: text.toWellFormed(), length: text.length};
  for (const key of ["byline", "dir", "lang", "excerpt", "siteName", "publishedTime"]) {
    if (article[key])
      out[key] = cut(clean(article[key]), 1000);
  }
  return out;
}
