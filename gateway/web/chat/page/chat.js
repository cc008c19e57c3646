// The page of the web chat. What it shows comes from the gateway's database; it keeps only the text that is not sent yet.

const STICKY = 80; // pixels from the end within which the page follows what arrives
const SILENCE = 40_000; // ms without a sign of life after which the stream is opened anew; the gateway sends one every 15 s
const HIDDEN = 60_000; // ms out of sight after which the stream is closed: a browser has only six for a host
const TYPING = 12_000; // ms after which a typing sign nobody renews goes out
const LONGEST_PAUSE = 10_000;
const MESSAGE_BYTES = 1_000_000;
const AWAY = "The gateway does not answer. Your text is still here.";
const LOST = "Connection lost. Trying again…";

const at = (id) => document.getElementById(id);
const [scroll, log, live, typing, empty, earlier] = ["scroll", "log", "live", "typing", "empty", "earlier"].map(at);
const [text, send, stop, down, connection, failure] = ["text", "send", "stop", "down", "connection", "error"].map(at);

// --- talking to the gateway

async function ask(path, options = {}) {
  const headers = { accept: "application/json", "x-hermes-page": "1", ...options.headers };
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const sentence = await response.json().then((body) => body.error, () => "");
  throw Object.assign(new Error(sentence || `The gateway answered with an error (${response.status}).`), {
    status: response.status,
  });
}

async function* updates(response, alive) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      if (block.startsWith("data: ")) yield JSON.parse(block.slice(6));
    }
  }
}

// --- the conversation

const shown = new Map(); // id → node
let working = false;
let typingUntil = 0;
let compressing = false;

function apply(update) {
  const following = nearEnd();
  if (update.whole) forgetMissing(update.bubbles);
  for (const id of update.gone ?? []) remove(id);
  let news = false;
  for (const bubble of update.bubbles ?? []) news = place(bubble) || news;
  if (update.live !== undefined) showLive(update.live);
  if (update.working !== undefined) working = update.working;
  if (update.typing !== undefined) typingUntil = update.typing ? Date.now() + TYPING : 0;
  if (update.status !== undefined || update.whole) compressing = update.status === "compressing";
  if (update.earlier !== undefined && !(earlier.dataset.end && !update.whole)) earlier.hidden = !update.earlier;
  if (update.model !== undefined) showModel(update.model, update.demo);
  if (update.problem) throw new Error(update.problem);
  showState();
  if (following) toEnd();
  else if (news && !update.whole) down.hidden = false;
  if (news && !update.whole && document.hidden) document.title = "● Hermes";
  log.setAttribute("aria-busy", "false");
}

// What is older than the first of these was brought by "earlier" and stays.
function forgetMissing(bubbles) {
  const ids = new Set(bubbles.map((bubble) => bubble.id));
  const gone = ([id, node]) => !ids.has(id) && (!bubbles.length || isAfter(node.dataset, bubbles[0]));
  for (const [id] of [...shown].filter(gone)) remove(id);
}

// What did not come over the stream may be older than what did: it brings what is missing and changes nothing.
function add(bubbles) {
  for (const bubble of bubbles) if (!shown.has(bubble.id)) place(bubble);
  showState();
}

function remove(id) {
  shown.get(id)?.remove();
  shown.delete(id);
}

function place(bubble) {
  const known = shown.get(bubble.id);
  if (known && bubble.who === "divider") return false; // it never changes, and may be open
  const node = bubble.who === "divider" ? drawDivider(bubble) : draw(bubble);
  if (known) {
    if (known.isEqualNode(node)) return false;
    known.replaceWith(node);
    shown.set(bubble.id, node);
    return false;
  }
  let next = null;
  for (let other = log.lastElementChild; other && isAfter(other.dataset, node.dataset); other = other.previousElementSibling) {
    next = other;
  }
  log.insertBefore(node, next);
  shown.set(bubble.id, node);
  return bubble.who === "agent";
}

// By time; at the same moment what a person wrote comes first, and rows in the order of their numbers.
function isAfter(one, other) {
  const [[side, number], [otherSide, otherNumber]] = [one.id.split("-"), other.id.split("-")];
  return (one.at - other.at || side.localeCompare(otherSide) || number - otherNumber) > 0;
}

const STATES = {
  queued: "Waits for its turn",
  dropped: "Not answered: it was stopped",
  failed: "Not answered: it failed. /retry tries again",
};

function draw(bubble) {
  const node = document.createElement("article");
  node.className = `message ${bubble.who}`;
  Object.assign(node.dataset, { at: bubble.at, id: bubble.id });
  const speaker = document.createElement("span");
  speaker.className = "hidden";
  speaker.textContent = bubble.who === "person" ? "You wrote:" : "Hermes said:";
  const body = document.createElement("div");
  body.className = "body";
  if (bubble.who === "person") {
    body.dir = "auto";
    body.textContent = bubble.text;
    node.classList.toggle("command", /^\/\w/.test(bubble.text));
    node.classList.toggle("begins", /^\/(new|reset)\b/.test(bubble.text));
  } else {
    body.innerHTML = bubble.html; // made by the gateway from its own templates; what the model wrote is escaped there
  }
  const time = document.createElement("time");
  const moment = new Date(bubble.at * 1000);
  time.dateTime = moment.toISOString();
  time.textContent = moment.toLocaleString([], sameDay(moment) ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
  const note = document.createElement("p");
  note.className = "note";
  note.append(time);
  if (STATES[bubble.state]) note.append(` · ${STATES[bubble.state]}`);
  if (bubble.state) node.classList.add(bubble.state);
  node.append(speaker, body, note);
  return node;
}

// Where earlier messages were compressed. They stay as they are; what the model reads in their place is shown on demand.
function drawDivider(bubble) {
  const node = document.createElement("details");
  node.className = "divider agent";
  Object.assign(node.dataset, { at: bubble.at, id: bubble.id });
  const title = document.createElement("summary");
  title.textContent = bubble.text;
  const body = document.createElement("div");
  body.className = "body";
  node.append(title, body);
  node.addEventListener("toggle", async () => {
    if (!node.open || body.dataset.loaded) return;
    body.textContent = "Loading…";
    try {
      const found = await (await ask(`/chat/summaries/${bubble.id.split("-")[1]}`)).json();
      body.innerHTML = found.html; // see draw
      body.dataset.loaded = "1";
    } catch (error) {
      body.textContent = error.status ? error.message : "The gateway does not answer. Close this and open it again.";
    }
  });
  return node;
}

const sameDay = (moment) => moment.toDateString() === new Date().toDateString();

// Nodes that have not changed stay, so that a selection in them does too.
function showLive(html) {
  live.hidden = !html;
  const body = live.firstElementChild;
  const fresh = document.createElement("template");
  fresh.innerHTML = html; // see draw
  const [old, now] = [[...body.childNodes], [...fresh.content.childNodes]];
  let same = 0;
  while (same < old.length && same < now.length && old[same].isEqualNode(now[same])) same += 1;
  for (const node of old.slice(same)) node.remove();
  body.append(...now.slice(same));
}

function showModel(name, demo) {
  const bold = document.createElement("b");
  bold.textContent = name;
  const warning = demo ? [", a small demonstration model, often wrong"] : [];
  at("model").replaceChildren("You are talking to ", bold, ...warning);
  at("model").classList.toggle("demo", Boolean(demo));
}

function showState() {
  const busy = working || Date.now() < typingUntil;
  compressing &&= busy; // whoever was to say that it has ended may be gone
  typing.hidden = !busy || !(live.hidden || compressing);
  typing.lastElementChild.textContent = compressing ? "Summing up earlier messages" : "An answer is on its way";
  stop.hidden = !busy && live.hidden;
  empty.hidden = shown.size > 0 || busy;
}

setInterval(showState, 2_000);

// --- scrolling

let atEnd = true;

const nearEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < STICKY;

function toEnd() {
  scroll.scrollTop = scroll.scrollHeight;
  down.hidden = true;
}

function scrolled() {
  atEnd = nearEnd();
  if (atEnd) down.hidden = true;
}

scroll.addEventListener("scroll", scrolled, { passive: true });
down.addEventListener("click", toEnd);
// The keyboard of a phone, or a longer draft, takes room away: what was in sight stays so.
new ResizeObserver(() => atEnd && toEnd()).observe(scroll);

earlier.addEventListener("click", async () => {
  const before = scroll.scrollHeight - scroll.scrollTop;
  earlier.disabled = true;
  try {
    const limit = Math.min(2000, Math.max(200, shown.size) * 2);
    const update = await (await ask(`/chat/conversation?limit=${limit}`)).json();
    add(update.bubbles);
    earlier.hidden = !update.earlier || limit === 2000;
    earlier.dataset.end = earlier.hidden ? "1" : "";
    scroll.scrollTop = scroll.scrollHeight - before;
  } catch (error) {
    showFailure(error);
  } finally {
    earlier.disabled = false;
  }
});

// --- the stream

let stream = null; // the AbortController of the open one
let watchdog = 0;

async function follow() {
  let pause = 500;
  for (;;) {
    const started = Date.now();
    try {
      await readStream();
    } catch (error) {
      if (error.status === 401) return leave();
      if (error.status === 403) return showConnection(error.message);
      if (error.name !== "AbortError") console.info("stream:", error.message);
    }
    if (document.hidden) await shownAgain();
    if (Date.now() - started > 5_000) pause = 500;
    showConnection(LOST);
    await wait(pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function readStream() {
  stream = new AbortController();
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => stream.abort(), SILENCE);
  };
  alive();
  try {
    const response = await ask("/chat/events", { signal: stream.signal, headers: { accept: "text/event-stream" } });
    for await (const update of updates(response, alive)) {
      apply(update);
      showConnection("");
    }
  } finally {
    clearTimeout(watchdog);
    stream.abort();
  }
}

// A browser we do not know: the page brings it a cookie, or leads to the login. Once, lest it go round in circles.
function leave() {
  const last = Number(sessionStorage.getItem("left") ?? 0);
  if (Date.now() - last < 10_000) return showConnection("This browser keeps no cookies for this page, which it needs.");
  sessionStorage.setItem("left", String(Date.now()));
  location.replace("/");
}

function showConnection(sentence) {
  connection.textContent = sentence;
  connection.hidden = !sentence;
}

let hiding = 0;
let wake = () => {};

function wait(milliseconds) {
  return new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, milliseconds);
  });
}

function shownAgain() {
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", check);
      resolve();
    };
    document.addEventListener("visibilitychange", check);
  });
}

addEventListener("online", () => wake());
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => stream?.abort(), HIDDEN);
  else document.title = "Hermes", wake();
});

// --- writing

// The id of a message belongs to its text: sent again after a failure, it is the same message and counts once.
const draft = {
  load() {
    try {
      return JSON.parse(localStorage.getItem("draft")) ?? { text: "", id: "" };
    } catch {
      return { text: "", id: "" };
    }
  },
  save(value) {
    try {
      if (value.text) localStorage.setItem("draft", JSON.stringify(value));
      else localStorage.removeItem("draft");
    } catch {
      // A browser that stores nothing loses an unsent text with the page, and nothing else.
    }
  },
};

let unsent = draft.load();
let sending = false;

function newId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function grow() {
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, innerHeight * 0.4)}px`;
}

function changed() {
  if (text.value !== unsent.text) unsent = { text: text.value, id: newId() };
  draft.save(unsent);
  grow();
  showSending();
}

function showSending() {
  send.disabled = sending || !text.value.trim();
  text.readOnly = sending;
}

async function submit() {
  if (sending || !text.value.trim()) return;
  changed();
  sending = true;
  showSending();
  if (await deliver(unsent)) {
    unsent = { text: "", id: "" };
    text.value = "";
  }
  sending = false;
  changed();
  text.focus();
}

async function deliver(message) {
  showFailure(null);
  try {
    const body = JSON.stringify({ id: message.id, text: message.text });
    if (new Blob([body]).size > MESSAGE_BYTES) throw Object.assign(new Error("This message is too long: at most 1 MB can be sent at once."), { status: 413 });
    const response = await ask("/chat/messages", { method: "POST", headers: { "content-type": "application/json" }, body });
    add((await response.json()).bubbles);
    toEnd();
    return true;
  } catch (error) {
    if (error.status === 401) leave();
    showFailure(error);
    return false;
  }
}

function showFailure(error) {
  failure.hidden = !error;
  failure.textContent = error ? (error.status ? error.message : AWAY) : "";
}

async function command(name) {
  await deliver({ id: newId(), text: name });
  text.focus();
}

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
text.addEventListener("input", changed);
text.addEventListener("keydown", (event) => {
  const composing = event.isComposing || event.keyCode === 229; // an input method is still choosing a word
  if (event.key !== "Enter" || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey || composing) return;
  event.preventDefault();
  submit();
});
stop.addEventListener("click", () => command("/stop"));
at("new").addEventListener("click", () => command("/new"));
for (const example of document.querySelectorAll(".example")) {
  example.addEventListener("click", () => {
    text.value = example.textContent;
    changed();
    text.focus();
  });
}

// --- copying code

scroll.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  button.textContent = await copy(button.closest(".code").querySelector("code"));
  setTimeout(() => (button.textContent = "Copy"), 1_500);
});

async function copy(node) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    return "Copied";
  } catch {
    getSelection().selectAllChildren(node); // no clipboard without TLS: one key press remains
    return "Selected";
  }
}

if (location.search) history.replaceState(null, "", "/");
text.value = unsent.text;
changed();
follow();
