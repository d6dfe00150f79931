// content: what the page says.
function content(o) {
  return {text: document.body.innerText.slice(0, o.maxContentLength).toWellFormed()};
}
