// pageinfo: what the page is.
function pageInfo() {
  return {title: document.title.toWellFormed(), url: location.href};
}
