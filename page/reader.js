// reader: the article, by Mozilla's library, over a copy of the document.
function reader(o) {
  const article = new Readability(document.cloneNode(true)).parse();
  return article && {title: article.title, text: article.textContent.slice(0, o.maxContentLength).toWellFormed()};
}
