// sample: fills a spare's empty page with what costs a browser something only
// once. Fonts are looked for, and how letters are to be drawn is asked of it for
// each font, size and weight, half a millisecond each time: these are the usual
// ones. Its own styles are read, lines are broken.
() => {
  const sizes = [12, 12.8, 13, 13.6, 14, 14.4, 15, 15.2, 16, 17.6, 18, 19.2, 20,
    22.4, 24, 28, 32, 40];
  const codeSizes = [13, 13.6, 14, 14.4];
  const fonts = [
    [`Arial, Helvetica, sans-serif`, sizes],
    [`system-ui, -apple-system, Roboto, "DejaVu Sans"`, sizes],
    [`Georgia, "Times New Roman", serif`, sizes],
    [`"DejaVu Serif"`, sizes],
    [`ui-monospace, Menlo, Consolas, monospace`, codeSizes],
    [`"DejaVu Sans Mono"`, codeSizes],
  ];
  const text = "Some words of no meaning, as many as a paragraph has, a number " +
    "(1,234.5), a name & a dash \u2013 so that lines are broken. ";
  const signs = "\u2190\u2192\u2026\u2022\u00b7\u2713\u2605\u2665\u25b2\u25bc\u00d7\u20ac";

  const letters = (size) => `<span style="font-size: ${size}px">a<b>b</b>` +
    (size % 2 === 0 ? "<i>c</i>" : "") + `</span>`;
  const line = ([font, some]) => `<p style='font-family: ${font}'>` +
    `<span style="font-weight: 600">w</span>` + some.map(letters).join("");
  const part = (i) => `<section class="s c${i % 4}"><h2>Part ${i}</h2>` +
    `<p>${text}<a href="?${i}">One</a> <b>bold</b>` +
    `<p>${text}<i>italic</i>, <code>fixed</code>` +
    `<ul><li>Item<li><a href="?b">Two</a></ul></section>`;
  const style = `.c1 { color: red; display: flex } .c1 > * { margin: 1px } ` +
    `.c2 { display: grid; grid-template-columns: 1fr 1fr } ` +
    `.c3 > * { float: left; width: 50% } ` +
    `@media (max-width: 1px) { .s { color: blue } }`;
  const rest = `<table><tr><th>Head<td>Cell</table><img alt="Image">` +
    `<form><label>Name <input></label><select><option>Choice</select>` +
    `<textarea></textarea><button>Send</button></form>`;

  document.body.innerHTML = `<style>${style}</style>` +
    `<nav><a href="?a">One</a></nav><main><h1>Title</h1>` +
    [...Array(12).keys()].map(part).join("") + fonts.map(line).join("") +
    `<p>${signs}${rest}</main>`;
}
