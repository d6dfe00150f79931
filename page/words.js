// words: how near two texts are to each other, as people write and read them:
// without case, width, accents and what is said beside, and by what they mean.
const S = globalThis.browsertask || (globalThis.browsertask = {});

const CJK = /[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;

// Chinese is written in two ways; both are read as one.
const TRADITIONAL = "錄戶號碼郵電話機訂單購買車頁關鍵詞檢尋聯繫註冊寫輸請選擇確認證驗發刪儲國區縣東門間時張書稱類記憶讀說語設許訊資質費運過達" +
  "還進連適錢銀隱難頭題館體點齡歷參員問圖團報場實專將對導屬幣帳賬廣後從徑應態據換數樣標權歡決沒準滿為無狀獨畫異當監視覽觀訪" +
  "評論賣贈軟載辦鏈閱開隨雜雲預頻顏顧顯鮮遞備處務會個們來兩內則動勞協嗎墊夠學寶屆島幾彈徵愛戰掃損擁擴攝敗斷曆條業極構檔歲殺" +
  "氣減測湯漢潔濟瀏灣災煙熱爾環產畢療盡碩禮種積窩筆節範簡簽籤糾級細終結給統綁經維網緊線編縮總織續罰聖聽職腦與興舉舊藝藥補裝" +
  "裡製複規親觸計討訓訴診詢試詳誤課調談諮謝譯議護變讓負財貨販責貼貿賀賓賽趕跡輕輛輪轉農遊遙遠遷邊醫釋針鈕鋪錯鎖鏡鐘鐵長閉階" +
  "際陸陽隊雙離響項順須領額願風飯飲驟髮魚鳥麗麼齊龍錶欄傳價優園圍塊聲壞奪姊婦孫寬層幹庫徹慶憑戀擊擔攜攔攤";
const SIMPLIFIED = "录户号码邮电话机订单购买车页关键词检寻联系注册写输请选择确认证验发删储国区县东门间时张书称类记忆读说语设许讯资质费运过达" +
  "还进连适钱银隐难头题馆体点龄历参员问图团报场实专将对导属币账账广后从径应态据换数样标权欢决没准满为无状独画异当监视览观访" +
  "评论卖赠软载办链阅开随杂云预频颜顾显鲜递备处务会个们来两内则动劳协吗垫够学宝届岛几弹征爱战扫损拥扩摄败断历条业极构档岁杀" +
  "气减测汤汉洁济浏湾灾烟热尔环产毕疗尽硕礼种积窝笔节范简签签纠级细终结给统绑经维网紧线编缩总织续罚圣听职脑与兴举旧艺药补装" +
  "里制复规亲触计讨训诉诊询试详误课调谈咨谢译议护变让负财货贩责贴贸贺宾赛赶迹轻辆轮转农游遥远迁边医释针钮铺错锁镜钟铁长闭阶" +
  "际陆阳队双离响项顺须领额愿风饭饮骤发鱼鸟丽么齐龙表栏传价优园围块声坏夺姐妇孙宽层干库彻庆凭恋击担携拦摊";

function simplify(text) {
  if (!CJK.test(text))
    return text;
  return text.replace(/[\u4e00-\u9fff]/g, (c) => {
    const at = TRADITIONAL.indexOf(c);
    return at < 0 ? c : SIMPLIFIED[at];
  });
}

// Without accents, width, case; marks of scripts that need them are kept.
function plainText(text) {
  return simplify(String(text).normalize("NFKC").toLowerCase().normalize("NFD")
    .replace(/[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0640]/g, "").normalize("NFC")
    .replace(/\u00df/g, "ss").replace(/\u00f8/g, "o").replace(/\u0142/g, "l")
    .replace(/\u0111/g, "d").replace(/\u0131/g, "i").replace(/\u00e6/g, "ae"));
}

function wordsOf(text) {
  const plain = plainText(cut(text, 400)).trim();
  let words = plain.replace(/[^\p{L}\p{N}\p{M}]+/gu, " ").trim();
  if (words === "")
    words = plain; // only signs: › » ×
  return {text: words, tokens: words.split(" ").filter((w) => w !== ""),
    tight: words.replace(/ /g, ""), cjk: CJK.test(words)};
}

// Names in programs: userName, user_name, login-email, j_username, txtPwd1.
function wordsOfName(name) {
  return wordsOf(name.replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2").replace(/_/g, " ")
    .replace(/(\p{L})(\d+)$/u, "$1"));
}

// What people put around a name when they say which thing they mean.
const NOISE = new Set(("the|a|an|your|my|please|enter|type|click|press|on|in|to|of|for|here|field|" +
  "input|box|textbox|button|link|text|select|dropdown|checkbox|icon|page|" +
  "feld|eingabefeld|schaltflache|knopf|das|der|die|den|bitte|eingeben|ihre|ihr|" +
  "required|optional|pflichtfeld|obligatoire|facultatif|obligatorio|opcional|" +
  "champ|bouton|lien|le|la|les|votre|saisir|campo|boton|enlace|el|su|tu|botao|seu|il|" +
  "pulsante|knop|veld|pole|przycisk|поле|кнопка|ссылка|введите|ваш|ваше").split("|"));
const CJK_NOISE = new RegExp(simplify("必須|必填|选填|可选|任意|필수|선택|请输入您的|请输入|請輸入|请填写|请选择|请|輸入框|输入框|输入|填写|文本框|框|按钮|按鈕|" +
  "链接|連結|字段|栏|您的|入力欄|入力してください|を入力|ボタン|リンク|欄|버튼|입력란|입력하세요|을 입력|를 입력|링크"), "g");

function withoutNoise(w) {
  let text = w.text;
  if (w.cjk) {
    const rest = text.replace(CJK_NOISE, "").trim();
    if (rest !== "")
      text = rest;
  }
  const tokens = text.split(" ").filter((t) => t !== "" && !NOISE.has(t));
  return tokens.length === 0 ? w : wordsOf(tokens.join(" "));
}

// One letter more, less or other, in words long enough that it is no other one.
function isNear(a, b) {
  if (a === b)
    return true;
  if (a.length < 5 || b.length < 5 || Math.abs(a.length - b.length) > 1)
    return false;
  let i = 0;
  while (i < a.length && a[i] === b[i])
    i++;
  if (a.length === b.length)
    return a.slice(i + 1) === b.slice(i + 1) ||
      (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
  return a.length > b.length ? a.slice(i + 1) === b.slice(i) : a.slice(i) === b.slice(i + 1);
}

function isStem(a, b) {
  return a.length >= 4 && b.length >= 4 && (a.startsWith(b) || b.startsWith(a));
}

// How much of the letters of a's words is among b's.
function covered(a, b) {
  let all = 0;
  let found = 0;
  for (const t of a.tokens) {
    all += t.length;
    if (b.tokens.includes(t))
      found += t.length;
    else if (b.tokens.some((u) => isNear(t, u)))
      found += t.length * 0.9;
    else if (b.tokens.some((u) => isStem(t, u)))
      found += t.length * 0.75;
  }
  return all === 0 ? 0 : found / all;
}

// From 0, nothing in common, to 1, the same.
function closeness(q, t) {
  if (q.tight === "" || t.tight === "")
    return 0;
  if (q.tight === t.tight)
    return 1;
  if (q.cjk || t.cjk) {
    if (t.tight.includes(q.tight))
      return 0.62 + 0.33 * q.tight.length / t.tight.length;
    if (t.tight.length > 1 && q.tight.includes(t.tight))
      return 0.45 + 0.4 * t.tight.length / q.tight.length;
  }
  if (q.tight.length < 2 || t.tight.length < 2)
    return 0;
  const there = covered(q, t);
  const back = covered(t, q);
  if (there >= 0.9)
    return (0.62 + 0.33 * back) * there;
  if (back >= 0.9)
    return (0.4 + 0.42 * there) * back;
  return 0.6 * there * Math.max(back, 0.5);
}

// ---- what is meant by words ----

function concepts() {
  if (S.concepts)
    return S.concepts;
  const whole = new Map();
  const inside = [];
  for (const [id, list] of Object.entries(CONCEPT_WORDS)) {
    for (const word of plainText(list).split("|")) {
      const tight = word.replace(/ /g, "");
      if (!whole.has(tight))
        whole.set(tight, []);
      whole.get(tight).push(id);
      if (CJK.test(tight) && tight.length > 1)
        inside.push(tight);
    }
  }
  inside.sort((a, b) => b.length - a.length);
  S.concepts = {whole, inside};
  return S.concepts;
}

// The concepts that a text speaks of, each with the share of it that does. The
// longest words come first: an e-mail address is no address.
function conceptsOf(w) {
  if (w.concepts)
    return w.concepts;
  const {whole, inside} = concepts();
  const out = new Map();
  const put = (ids, share) => {
    for (const id of ids)
      out.set(id, Math.max(out.get(id) || 0, share));
  };
  w.concepts = out;
  if (whole.has(w.tight)) {
    put(whole.get(w.tight), 1);
    return out;
  }
  if (w.cjk) {
    let rest = w.tight;
    for (const word of inside) {
      if (rest.includes(word)) {
        put(whole.get(word), word.length / w.tight.length);
        rest = rest.replace(word, " ");
      }
    }
  }
  for (let from = 0; from < Math.min(w.tokens.length, 12); from++) {
    for (let n = Math.min(4, w.tokens.length - from); n > 0; n--) {
      const word = w.tokens.slice(from, from + n).join("");
      if (word.length > 2 && whole.has(word)) {
        put(whole.get(word), word.length / w.tight.length);
        from += n - 1;
        break;
      }
    }
  }
  return out;
}

// near: whether what may stand for the other counts as well.
function meaning(q, t, near) {
  let best = 0;
  const meant = conceptsOf(q);
  const said = conceptsOf(t);
  for (const [id, share] of meant) {
    const sure = 0.55 + 0.45 * share;
    if (said.has(id))
      best = Math.max(best, 0.86 * sure * (0.7 + 0.3 * said.get(id)));
    for (const other of near && CONCEPT_NEAR[id] || []) {
      if (said.has(other))
        best = Math.max(best, 0.6 * sure * (0.8 + 0.2 * said.get(other)));
    }
  }
  return best;
}

function stands(id) {
  return {text: "", tokens: [], tight: "", cjk: false, concepts: new Map([[id, 1]])};
}

// Both are names of things, and of others: "name" and "user name".
function isOther(q, t) {
  const whole = (w) => [...conceptsOf(w)].filter(([, share]) => share === 1).map(([id]) => id);
  const a = whole(q);
  const b = whole(t);
  return a.length > 0 && b.length > 0 && !a.some((id) => b.includes(id) || b.some((o) => (CONCEPT_NEAR[id] || []).includes(o)));
}
