// shot: before a picture of the page is taken, covers what nobody shall see: the
// fields that secrets were put into, and what the caller names.
function coverBox(layer, el) {
  const r = el.getBoundingClientRect();
  let x = r.left;
  let y = r.top;
  for (const frame of framesOf(el)) {
    const f = frame.getBoundingClientRect();
    x += f.left + frame.clientLeft;
    y += f.top + frame.clientTop;
  }
  if (r.width < 1 || r.height < 1)
    return;
  const box = document.createElement("div");
  box.style.cssText = `position:absolute;margin:0;padding:0;border:0;background:#808080;` +
    `left:${x + scrollX}px;top:${y + scrollY}px;width:${r.width}px;height:${r.height}px`;
  layer.append(box);
}

// Where a secret was filled in, later pages may show it in their fields again.
function secretFields(o) {
  const found = new Set(S.secrets || []);
  if (!o.secretUsed)
    return found;
  workAnew();
  for (const root of allRoots()) {
    for (const el of root.querySelectorAll("input,textarea,[contenteditable]")) {
      if (el.localName !== "input" || (TYPED.has(el.type) && el.value !== ""))
        found.add(el);
    }
  }
  return found;
}

async function mask(o) {
  const hidden = secretFields(o);
  for (const locator of o.mask || []) {
    checkLocator(locator);
    const all = locate(locator).found;
    for (const c of locator.mode === "selector" ? all : all.slice(0, 1))
      hidden.add(c.el);
  }
  const layer = document.createElement("div");
  layer.style.cssText = "all:initial;position:absolute;left:0;top:0;width:0;height:0;" +
    "overflow:visible;z-index:2147483647;pointer-events:none";
  for (const el of hidden) {
    if (el.isConnected)
      coverBox(layer, el);
  }
  S.layer = layer;
  if (layer.firstChild !== null) {
    // What is shown above all else would lie above the boxes, too.
    layer.popover = "manual";
    document.documentElement.append(layer);
    layer.showPopover();
    const r = layer.getBoundingClientRect();
    layer.style.left = `${-r.left - scrollX}px`;
    layer.style.top = `${-r.top - scrollY}px`;
    await frame();
  }
  const root = document.documentElement;
  const width = Math.min(Math.max(root.scrollWidth, innerWidth), SHOT_MAX);
  if (!o.fullPage)
    return {how: "shoot"};
  const height = Math.max(root.scrollHeight, document.body ? document.body.scrollHeight : 0, innerHeight);
  return {how: "shoot", clip: {x: 0, y: 0, width, scale: 1,
    height: Math.min(height, SHOT_MAX, Math.floor(SHOT_AREA / width))}};
}
// What a picture may measure, in pixels.
const SHOT_MAX = 16384;
const SHOT_AREA = 30e6;

function unmask() {
  if (S.layer)
    S.layer.remove();
  S.layer = null;
  return {};
}
