// consent: banners that ask about cookies, and which of their buttons refuses,
// accepts, leads on to choices or saves these. Used with locators of mode
// consent, which no caller can give. A button counts only where a banner is
// around it: a dialog or an overlay that speaks of cookies, or what the usual
// managers of consent draw. What leads to another document is no button of one.

// What the usual managers call their banners.
const CONSENT_MANAGERS = [
  "#onetrust-banner-sdk", "#onetrust-pc-sdk", "#CybotCookiebotDialog", "#usercentrics-root", "#usercentrics-cmp-ui",
  "#didomi-notice", "#didomi-popup", ".didomi-popup-container", "#qc-cmp2-container", ".osano-cm-dialog", ".osano-cm-info-dialog",
  ".klaro", "#tarteaucitronRoot", ".cc-window", "#cc-main", "#cmpbox", "#iubenda-cs-banner", "#truste-consent-track",
  "#cookie-law-info-bar", ".cky-consent-container", ".cmplz-cookiebanner", "#BorlabsCookieBox", "#hs-eu-cookie-confirmation",
  ".fc-consent-root", "#sp-cc", "#ez-cookie-notification", "#cookiescript_injected",
].join(",");
// Frames of other sites: seen, but not to be operated from here.
const CONSENT_FRAMES = "iframe[id^=sp_message_iframe],iframe[src*='consent-pref.trustarc'],iframe[src*='privacy-mgmt.com']";
const CONSENT_NAMED = /(^|[^a-z])(cookie|consent|gdpr|dsgvo|rgpd|cmp)/i;
// Programs that will draw one.
const CONSENT_SCRIPTS = /onetrust|otsdkstub|cookiebot|usercentrics|didomi|quantcast|osano|klaro|tarteaucitron|cookie-?consent|iubenda|trustarc|consentmanager|cookie-?(law|script|yes|banner)/i;

const COOKIE_WORDS = "cookie|cookies|temoins de connexion|galleta|ciasteczk|куки|кукис|evaste|cerez|gdpr|dsgvo|rgpd|" +
  "クッキー|쿠키|ملفات تعريف الارتباط|עוגיות|\\bsutik|कुकी|คุกกี้";

// What the buttons say, in several languages; the first kind that fits is meant.
const ONLY_NEEDED = "(\\b(only|just|nur|uniquement|seulement|solo|soltanto|unicamente|so|somente|apenas|alleen|tylko|endast|bara|kun|bare|" +
  "vain|pouze|iba|csak|doar|yalnizca|sadece)\\b|только|лише|μονο).*(necess|essen|requi|strict|tech|function|notwendig|erforderlich|noodzakelijk|" +
  "niezbedn|konieczn|nodvendig|nodvandig|valttamattom|nezbytn|nutn|nevyhnutn|szukseges|zorunlu|gerekli|необходим|обязательн|απαραιτητ)";
const CONSENT_SAYS = {
  refuse: "\\b(reject|declin|deny|refus|disagree|disallow|opt out|no thanks|block all)|do(n t| not| nt) (accept|agree|consent|allow|sell)|" +
    "without (accept|agree|consent)|(necessary|essential|required)( cookies)? only|" + ONLY_NEEDED +
    "|ablehn|lehne .*\\bab\\b|verweiger|widersprech|nicht (zustimm|einverstanden|akzept|erlaub)|ohne (zustimm|einwillig|zu akzept)|alle verbieten|rejeter|sans accepter|interdire|" +
    "tout refuser|rechaz|denega|no acept|sin acept|rejeit|recus|nao aceit|rifiut|nega tutt|non accett|senza accett|weiger|afwijz|niet (akkoord|accept|toestaan)|" +
    "odrzu|odmaw|odmow|nie (zgadzam|akcept|wyrazam)|avvisa|avvis|avsla|afvis|neka|nej tack|nej tak|nei takk|hylka|kiella|odmit|zamitn|nesouhlas|elutasit|respinge|" +
    "reddet|kabul etm|απορρι|δεν αποδεχ|отклон|отказ|не соглас|не принима|вiдхил|відхил|відмов|拒绝|不同意|不接受|[仅只].*必要|拒否|同意しない|許可しない|必要.*のみ|" +
    "거부|거절|동의하지|필수.*만|رفض|דחה|דחיי|tu choi|tolak|अस्वीकार|ปฏิเสธ",
  save: "\\b(save|confirm|apply)\\b|(accept|allow)( the)? select|selection|auswahl|speicher|bestatig|ubernehm|enregistr|valider|guardar|confirmar|salva|conferma|" +
    "opslaan|bevestig|selectie|zapisz|potwierdz|spara|\\bgem\\b|lagre|tallenna|ulozit|mentes|salveaza|kaydet|αποθηκ|сохран|збер|保存|確認|确认|저장|حفظ|שמור|simpan",
  settings: "setting|preferenc|manage|customi[sz]e|personali[sz]e|options|choice|choose|einstellung|anpass|verwalt|parametr|personnalis|gerer|choisir|configur|ajust|" +
    "gestion|gerir|personaliz|impostazion|gestisci|personalizz|instelling|voorkeur|beheer|aanpass|ustawieni|zarzadz|dostosuj|installning|anpassa|indstilling|tilpas|" +
    "innstilling|asetuks|nastaven|beallit|setari|ayarlar|tercih|ρυθμισ|настро|налашт|设置|設定|管理|偏好|설정|관리|إعداد|הגדרות|cai dat|pengaturan|ตั้งค่า",
  accept: "accept|\\b(agree|allow|consent|understand|understood|got it|ok|okay|enable all|fine by me|continue|that s fine)\\b|akzept|zustimm|einverstanden|erlaub|zulass|" +
    "verstanden|j accepte|autoriser|d accord|compris|acept|permit|de acuerdo|entendid|aceit|concordo|entendi|accett|acconsent|ho capito|va bene|akkoord|toestaan|" +
    "begrepen|akcept|zgadzam|zezwol|zgoda|rozumiem|godkann|tillat|forsta|tillad|godta|godkend|aksept|hyvaks|salli|prijm|prijat|souhlas|povolit|rozumim|elfogad|" +
    "engedely|kabul|onayl|tamam|αποδοχ|αποδεχ|συμφων|приня|соглас|разреш|хорошо|понятно|прийн|погод|дозвол|接受|同意|允许|知道了|好的|許可|承諾|동의|허용|수락|확인|" +
    "قبول|موافق|אישור|קבל|מסכים|chap nhan|dong y|terima|setuju|स्वीकार|ยอมรับ",
};
const CONSENT_PRESSED = "button,input[type=button],input[type=submit],[role=button],a,[onclick]";
const CONSENT_TEXT_MAX = 12000;

// Words as regular expressions, made once for a document.
function consentWords() {
  const make = (words) => new RegExp(plainText(words), "u");
  if (!S.consent)
    S.consent = {cookies: make(COOKIE_WORDS), kinds: Object.entries(CONSENT_SAYS).map(([kind, words]) => [kind, make(words)])};
  return S.consent;
}

// Which kind of button it says it is; "" for another one.
function consentKind(el) {
  if (el.localName === "a" && el.hasAttribute("href") && el.getAttribute("role") !== "button") {
    const there = String(el.href).replace(/#.*/, "");
    if (/^https?:/.test(there) && there !== location.href.replace(/#.*/, ""))
      return "";
  }
  const name = clean(el.localName === "input" ? el.value : textIn(el)) || attr(el, "aria-label") || attr(el, "title");
  if (name === "" || name.length > 80)
    return "";
  const text = wordsOf(name).text;
  const found = consentWords().kinds.find(([, words]) => words.test(text));
  return found === undefined ? "" : found[0];
}

const isOverlay = (el) => /^(fixed|sticky)$/.test(getComputedStyle(el).position);

// What asks for text is another dialog, whatever it says of cookies.
const asksForText = (el) =>
  [...el.querySelectorAll("input:is([type=text],[type=email],[type=password],[type=tel],:not([type])),textarea")].some((e) => boxOf(e) !== null);

function speaksOfCookies(el) {
  const text = el.innerText || el.textContent || "";
  return text.length <= CONSENT_TEXT_MAX && consentWords().cookies.test(plainText(text));
}

// The banner around an element, or null.
function bannerAround(el) {
  for (let at = el, up = 0; at && up < 16; at = parentOf(at), up++) {
    if (/^(html|body|main)$/.test(at.localName))
      return null;
    if (at.matches(CONSENT_MANAGERS))
      return at;
    const named = CONSENT_NAMED.test(attr(at, "id") + " " + attr(at, "class"));
    if ((named || at.matches("dialog[open],[role=dialog],[role=alertdialog],[aria-modal=true]") || isOverlay(at)) && speaksOfCookies(at))
      return asksForText(at) ? null : at;
  }
  return null;
}

// What is ticked there beyond what cannot be changed.
const isAllOff = (banner) => ![...banner.querySelectorAll("input[type=checkbox],[role=switch],[role=checkbox]")].some((e) =>
  isEnabled(e) && (e.checked === true || e.getAttribute("aria-checked") === "true") && !e.readOnly);

// Buttons of banners by kind, and the banners, each once.
function consentOf(roots) {
  const out = {refuse: [], accept: [], settings: [], save: [], banner: []};
  const banners = new Set();
  for (const root of roots) {
    for (const el of root.querySelectorAll(CONSENT_PRESSED)) {
      if (spent())
        return out;
      const kind = boxOf(el) !== null ? consentKind(el) : "";
      const banner = kind !== "" ? bannerAround(el) : null;
      if (banner === null || (kind === "save" && !isAllOff(banner)))
        continue;
      out[kind].push({el, banner});
      // What only leads to the settings may always be there.
      if (kind === "refuse" || kind === "accept")
        banners.add(banner);
    }
    for (const el of root.querySelectorAll(CONSENT_FRAMES)) {
      if (boxOf(el) !== null)
        banners.add(el);
    }
  }
  for (const kind of ["settings", "save"])
    out[kind] = out[kind].filter((c) => banners.has(c.banner));
  out.banner = [...banners].map((el) => ({el}));
  return out;
}

// The locator's answer: refuse, accept, settings, save, banner; or coming: a
// program that will draw one.
function byConsent(locator, roots) {
  const found = locator.answer === "coming"
    ? [...document.scripts].filter((s) => CONSENT_SCRIPTS.test(s.src)).map((el) => ({el}))
    : consentOf(roots)[locator.answer];
  return found.map(({el}) => asCandidate(el, 1));
}

// Said of what covers something else, or dims the page around a banner.
function sayConsent(el) {
  if (bannerAround(el) === null && (!isOverlay(el) || consentOf(allRoots()).banner.length === 0))
    return "";
  return ", a consent banner: give the input consent, refuse or accept";
}
