// text: the texts that are on the screen, line by line, below their headings, as
// walk.js comes to them. Tables become rows of Markdown, preformatted text keeps
// its lines.
const ASIDE = new Set(["footer", "aside", "header", "dialog", "search"]);
const LAYOUT = "table,pre,textarea,iframe,article,section,h1,h2,ul ul,ol ol";
const GRIDS = new Set(["table", "grid", "treegrid"]);
const CELLS = "[role=cell],[role=gridcell],[role=columnheader],[role=rowheader]";
const MAX_SECTIONS = 200;
const MAX_TABLES = 20;
const MAX_COLUMNS = 100;

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

// A button that says more than what it does, or lies in a list of such.
function isRow(button) {
  const text = clean(button.textContent);
  if (text.length > 24 || [...button.children].filter((k) => clean(k.textContent)).length > 1)
    return true;
  const parent = parentOf(button);
  if (!parent || parent.closest("form,nav,[role=toolbar],[role=menu],[role=menubar],[role=tablist],[role=group]"))
    return false;
  const only = parent.matches("li,td,[role=listitem],[role=row],[role=gridcell]") && clean(parent.textContent) === text;
  return only || ([...parent.children].filter((k) => k.localName === "button").length > 2 &&
    button.offsetWidth >= parent.clientWidth * 0.8);
}

const ROMAN = [["m", 1000], ["cm", 900], ["d", 500], ["cd", 400], ["c", 100], ["xc", 90], ["l", 50], ["xl", 40],
  ["x", 10], ["ix", 9], ["v", 5], ["iv", 4], ["i", 1]];

function ordinal(n, style) {
  const upper = style.startsWith("upper");
  let text = "";
  if (/(alpha|latin)$/.test(style)) {
    for (; n > 0; n = Math.floor((n - 1) / 26))
      text = String.fromCharCode(97 + (n - 1) % 26) + text;
  } else if (style.endsWith("roman") && n < 4000) {
    for (const [sign, value] of ROMAN) {
      for (; n >= value; n -= value)
        text += sign;
    }
  }
  return (upper ? text.toUpperCase() : text) || String(n);
}

// A function that gives the number before an item of an ordered list.
function numbering() {
  const lists = new Map();
  return (li) => {
    const ol = li.parentElement;
    if (!ol || ol.localName !== "ol")
      return "";
    if (!lists.has(ol)) {
      const style = getComputedStyle(li);
      const items = [...ol.children].filter((k) => k.localName === "li").length;
      lists.set(ol, {style: style.display === "list-item" ? style.listStyleType : "none",
        next: ol.reversed && !ol.hasAttribute("start") ? items : ol.start, by: ol.reversed ? -1 : 1});
    }
    const list = lists.get(ol);
    const n = li.hasAttribute("value") ? li.value : list.next;
    list.next = n + list.by;
    return list.style === "none" ? "" : ordinal(n, list.style) + ". ";
  };
}

// The rows of a table of data as lists of texts, null for one that only lays
// out the page. A cell that spans rows is in each of them.
function gridOf(table, judge, folded) {
  const native = table.localName === "table";
  const role = table.getAttribute("role") || "";
  if (/^(presentation|none)$/.test(role) || table.querySelector(LAYOUT))
    return null;
  const rows = native ? table.rows : table.querySelectorAll("[role=row]");
  const cellsOf = (row) => native ? row.cells : row.querySelectorAll(CELLS);
  if (rows.length < 2 || ![...rows].slice(0, 10).some((row) => cellsOf(row).length > 1))
    return null;
  const grid = [];
  const spans = [];
  for (const row of rows) {
    if (spent())
      return {grid, complete: false};
    if (!judge(row, folded))
      continue;
    const line = [];
    const add = (text, rowSpan) => {
      spans[line.length] = rowSpan > 1 ? {text, left: rowSpan - 1} : undefined;
      line.push(text);
    };
    const carry = () => {
      while (spans[line.length] && spans[line.length].left > 0) {
        spans[line.length].left--;
        line.push(spans[line.length].text);
      }
    };
    for (const cell of cellsOf(row)) {
      carry();
      if (line.length >= MAX_COLUMNS || !judge(cell, folded))
        continue;
      add(lineOf(cell, judge, false) || lineOf(cell, judge, true), cell.rowSpan);
      for (let n = 1; n < Math.min(cell.colSpan || 1, MAX_COLUMNS); n++)
        add("", cell.rowSpan);
    }
    carry();
    if (line.some((text) => text))
      grid.push(line);
  }
  return {grid, complete: true};
}

const csvCell = (text) => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;

// Walks root, then what the page has beside it, and sorts its text.
function sectionsOf(root, max) {
  const sections = [];
  const tables = [];
  const later = [];
  const placed = canPlace();
  const judge = reading(placed);
  const number = numbering();
  let region = "";
  let current = {heading: "", level: 0, text: ""};
  let left = max;
  let total = 0;
  let line = "";
  let marker = "";
  let truncated = false;

  const put = (text) => {
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
  const flush = () => {
    const text = clean(line);
    line = "";
    if (text === "")
      return;
    put(marker + text);
    marker = "";
  };
  const close = () => {
    flush();
    if (current.heading || current.text) {
      if (sections.length < MAX_SECTIONS)
        sections.push(region ? {...current, region} : current);
      else
        truncated = true;
    }
    current = {heading: "", level: 0, text: ""};
  };
  const putLines = (text, fence) => {
    const lines = text.replace(/^\s*\n|\s+$/g, "").toWellFormed();
    flush();
    if (lines)
      put(fence ? "```\n" + lines + "\n```" : lines);
  };
  const putTable = (table, folded) => {
    const got = gridOf(table, judge, folded);
    if (!got || got.grid.length === 0)
      return false;
    const {grid} = got;
    const columns = grid.reduce((most, row) => Math.max(most, row.length), 0);
    const caption = table.caption ? lineOf(table.caption, judge, true) : attr(table, "aria-label");
    const rows = grid.map((row) => row.concat(Array(columns - row.length).fill("")));
    flush();
    if (table.caption && caption)
      put(caption);
    const begin = left;
    rows.forEach((row, n) => {
      put("| " + row.map((text) => text.replace(/\|/g, "\\|")).join(" | ") + " |");
      if (n === 0)
        put("|" + " --- |".repeat(columns));
    });
    if (tables.length >= MAX_TABLES || begin <= 0) {
      truncated = true;
      return true;
    }
    const csv = rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
    const said = cut(csv, begin);
    const whole = got.complete && said.length === csv.length;
    tables.push({caption: cut(caption, 300), rows: rows.length, columns,
      csv: whole ? csv : said.slice(0, said.lastIndexOf("\r\n") + 2), truncated: !whole});
    return true;
  };

  // What is no plain text. Whether it was taken whole; undefined: it is plain.
  const special = {
    br: () => flush(),
    button: (el) => {
      if (isRow(el)) {
        flush();
        line = lineOf(el, judge, true);
        flush();
      }
      return true;
    },
    img: (el) => {
      line += " " + lazyAlt(el) + " ";
      return true;
    },
    li: (el) => {
      flush();
      marker = number(el);
    },
    math: (el) => {
      line += mathText(el);
      return true;
    },
    pre: (el) => {
      if (!beginsGiven(el))
        putLines((placed ? el.innerText : el.textContent) || "", true);
      return true;
    },
    svg: (el) => !el.querySelector("text,foreignObject"),
    table: putTable,
    textarea: (el) => {
      putLines(typeof el.value === "string" ? el.value : "", false);
      return true;
    },
  };
  const enter = (el, folded) => {
    const tag = el.localName;
    if (SKIP_TAGS.has(tag) || (el === root && region !== ""))
      return "";
    const how = judge(el, folded);
    if (!how)
      return "";
    if (el !== root && (root === document.body || region !== "")) {
      const is = regionOf(el);
      if (is === "nav" && region !== "dialog")
        return "";
      if (region !== "" ? region === "page" && ASIDE.has(is) : ASIDE.has(is)) {
        later.push({el, is});
        return "";
      }
    }
    const level = headingLevel(el);
    if (level > 0) {
      const heading = beginsGiven(el) ? "" : cut(lineOf(el, judge, true), 300);
      close();
      total += heading.length;
      left -= heading.length;
      current = {heading, level, text: ""};
      return "";
    }
    if (inSvg(el)) {
      line += " ";
      return el.matches(SKIP_SVG) ? "" : how;
    }
    if (Object.hasOwn(special, tag) && special[tag](el, folded))
      return "";
    if (tag !== "table" && GRIDS.has(el.getAttribute("role")) && putTable(el, folded))
      return "";
    if (tag === "td" || tag === "th")
      line += " ";
    else if (!INLINE_TAGS.has(tag) && tag !== "br")
      flush();
    return how;
  };
  const leave = (el) => {
    if (el.localName === "td" || el.localName === "th" || inSvg(el))
      line += " ";
    else if (!INLINE_TAGS.has(el.localName))
      flush();
    if (el.localName === "li")
      marker = "";
  };
  const read = (el, name) => {
    region = name;
    if (!walk(el, enter, leave, (data) => {
      line += data;
    }))
      truncated = true;
    close();
  };

  read(root, "");
  if (root !== document.body && document.body)
    read(document.body, "page");
  later.sort((a, b) => (b.is === "dialog") - (a.is === "dialog"));
  for (const {el, is} of later)
    read(el, is);
  return {sections, tables, total, truncated};
}
