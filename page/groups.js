// groups: boxes and radio buttons that have one name together: a legend, the
// label of a group, or the words before the first of them.
const MEMBERS = "input[type=radio],input[type=checkbox],[role=radio],[role=checkbox],[role=switch]";
const NO_MEMBERS = "input:not([type=hidden],[type=radio],[type=checkbox],[type=submit],[type=button],[type=reset])," +
  "textarea,select,[role=combobox],[role=textbox]";

const membersOf = (el) => [...el.querySelectorAll(MEMBERS)];

// A field of text may stand beside them, for "other".
function isGroup(el) {
  if (!el.matches("fieldset,[role=group],[role=radiogroup]"))
    return false;
  const members = membersOf(el);
  const others = [...el.querySelectorAll(NO_MEMBERS)].filter((e) => boxOf(e) !== null).length;
  return members.length > others && others < 2 &&
    ![...el.querySelectorAll("fieldset,[role=group],[role=radiogroup]")].some((e) => membersOf(e).length > 0);
}

function groupName(el) {
  const legend = [...el.children].find((e) => e.localName === "legend");
  return referred(el, "aria-labelledby") || attr(el, "aria-label") || (legend ? textIn(legend) : "");
}

const namesakes = (el) => [...(el.form || el.getRootNode()).querySelectorAll("input[type=radio]")].filter((r) => r.name === el.name);

// What stands before radio buttons that are in no group but by their name.
function wordsBeforeRadios(el) {
  const group = el.localName === "input" && el.name !== "" ? namesakes(el) : [];
  if (group.length < 2 || group[0] !== el || el.closest("fieldset,[role=radiogroup]") !== null)
    return "";
  let at = el;
  while (at.parentElement && !group.every((r) => at.parentElement.contains(r)))
    at = at.parentElement;
  for (let up = 0; up < 3 && at && at.localName !== "form"; up++, at = at.parentElement) {
    for (let node = at.previousElementSibling; node; node = node.previousElementSibling) {
      if (node.matches(MEMBERS) || node.querySelector(MEMBERS + "," + NO_MEMBERS) !== null)
        return "";
      if (textIn(node) !== "" && !(node.localName === "label" && node.control === el))
        return cut(textIn(node), 80);
    }
  }
  return "";
}

// The member of that value or name.
function memberOf(members, value, say) {
  const q = wordsOf(String(value));
  const names = members.map((m) => nameOf(m, roleOf(m)));
  const at = [(m) => m.localName === "input" && m.hasAttribute("value") && m.value === String(value),
    (m, i) => wordsOf(names[i]).tight === q.tight, (m) => attr(m, "data-value") === String(value),
    (m, i) => closeness(q, wordsOf(names[i])) >= 0.75].map((fits) => members.findIndex(fits)).find((i) => i >= 0);
  if (at === undefined)
    throw new Refusal("value", `no choice is called ${say(value)}; there are ` + names.slice(0, 8).map(quote).join(", "));
  return members[at];
}

// What is to be on and off after a group got its value.
function planGroup(el, value, say) {
  const members = membersOf(el);
  if (typeof value === "boolean" && members.length === 1)
    return [{el: members[0], on: value}];
  if (typeof value === "boolean")
    throw new Refusal("value", "a group takes the name of one of its choices");
  if (!Array.isArray(value))
    return [{el: memberOf(members, value, say), on: true}];
  const chosen = value.map((v) => memberOf(members, v, say));
  const boxes = members.filter((m) => m.type !== "radio" && m.getAttribute("role") !== "radio");
  if (boxes.length === 0 && chosen.length > 1)
    throw new Refusal("value", "only one choice of the group can be made");
  return boxes.map((m) => ({el: m, on: chosen.includes(m)}))
    .concat(chosen.filter((m) => !boxes.includes(m)).map((m) => ({el: m, on: true})));
}
