// HTML made on the server. An update changes the parts that differ and leaves alone what a person is using.

const KEPT = new Set(["open", "style"]); // attributes that the browser sets itself

function sameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "") && a.type === b.type;
}

function morphAttributes(now, next) {
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name) && !KEPT.has(name)) now.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (now.getAttribute(name) !== value && !KEPT.has(name)) now.setAttribute(name, value);
  }
}

const CONTROLS = "input, select";

// What a control holds is not in its attributes.
function morphControl(now, next) {
  if (now.type === "checkbox" || now.type === "radio") return void (now.checked = next.hasAttribute("checked"));
  if (now.type === "file") return;
  const chosen = now.nodeName === "SELECT" ? next.querySelector("option[selected]") : next;
  if (!chosen) return;
  if (now === document.activeElement) now.late = chosen.value; // shown when it is left: `1,5` as 1.5
  else if (now.value !== chosen.value) now.value = chosen.value;
}

function morph(now, next) {
  if (now.nodeType !== Node.ELEMENT_NODE) {
    if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
    return;
  }
  if (now.isEqualNode(next)) {
    const wanted = next.querySelectorAll(CONTROLS);
    now.querySelectorAll(CONTROLS).forEach((control, place) => morphControl(control, wanted[place]));
  } else {
    morphAttributes(now, next);
    morphChildren(now, next);
  }
  if (now.matches(CONTROLS)) morphControl(now, next);
}

function morphChildren(now, next) {
  const named = new Map([...now.children].filter((child) => child.id).map((child) => [child.id, child]));
  let place = now.firstChild;
  for (const wanted of [...next.childNodes]) {
    const own = wanted.id ? named.get(wanted.id) : null;
    if (own && own !== place) now.insertBefore(own, place);
    const here = own ?? place;
    if (here && sameKind(here, wanted)) {
      place = here.nextSibling;
      morph(here, wanted);
    } else {
      now.insertBefore(wanted, place);
    }
  }
  while (place) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

// Once the browser has painted what is on screen and has nothing else to do, or LATE_MS have passed.
const LATE_MS = 150;
const whenIdle = (act) =>
  window.requestIdleCallback
    ? requestIdleCallback(act, { timeout: LATE_MS })
    : requestAnimationFrame(() => setTimeout(act, 20));

const GAP = 8;
const EDGE = 12;

// Below its button, or above it where there is more room; never over it, never out of the window.
function place(open) {
  const button = document.querySelector(`[popovertarget="${CSS.escape(open.id)}"]`);
  if (!button) return;
  const at = button.getBoundingClientRect();
  const [above, below] = [at.top, window.innerHeight - at.bottom].map((room) => Math.max(0, room) - GAP - EDGE);
  const isBelow = open.offsetHeight <= below || below >= above;
  open.style.maxHeight = `min(70vh, 34rem, ${Math.max(EDGE, isBelow ? below : above)}px)`;
  const left = Math.min(Math.max(EDGE, at.left - 24), window.innerWidth - open.offsetWidth - EDGE);
  open.style.left = `${left}px`;
  open.style.top = `${isBelow ? at.bottom + GAP : at.top - open.offsetHeight - GAP}px`;
}

export default {
  props: { html: String },
  emits: ["set", "act", "file"],
  render() {
    return Vue.h("div");
  },
  watch: {
    html() {
      if (this.inSight) return this.show();
      this.waiting ??= whenIdle(() => this.show());
    },
  },
  mounted() {
    const root = this.$el;
    root.innerHTML = this.html;
    this.inSight = true;
    this.sights = new IntersectionObserver((entries) => (this.inSight = entries.at(-1).isIntersecting));
    this.sights.observe(root);
    root.addEventListener("input", (event) => this.set(event.target));
    root.addEventListener("focusout", ({ target }) => {
      if (target.late !== undefined) target.value = target.late;
      delete target.late;
    });
    root.addEventListener("click", (event) => {
      const copier = event.target.closest("[data-copy]");
      if (copier) this.copy(copier);
      const button = event.target.closest("[data-act]");
      if (button) this.$emit("act", button.dataset.act, button.dataset.value ?? "");
    });
    root.addEventListener("toggle", (event) => event.newState === "open" && event.target.popover && place(event.target), true);
    root.addEventListener("dragover", (event) => this.drop(event, false));
    root.addEventListener("dragleave", (event) => event.target.closest?.(".drop")?.classList.remove("over"));
    root.addEventListener("drop", (event) => this.drop(event, true));
  },
  unmounted() {
    this.sights.disconnect();
  },
  methods: {
    show() {
      this.waiting = null;
      const next = document.createElement("template");
      next.innerHTML = `<div>${this.html}</div>`;
      morphChildren(this.$el, next.content.firstChild);
    },
    set(control) {
      const { set, steps, value, file } = control.dataset;
      if (file) return this.take(control, control.files);
      if (!set) return;
      delete control.late; // of what was typed before
      if (control.type === "checkbox") this.$emit("set", set, (control.checked ? "+" : "-") + (value ?? ""));
      else this.$emit("set", set, steps && control.type === "range" ? steps.split(",")[control.value] : control.value);
    },
    async copy(button) {
      const source = button.dataset.copyFrom;
      await navigator.clipboard.writeText(source ? document.getElementById(source).textContent : location.href);
      const text = button.textContent;
      button.textContent = button.dataset.copy;
      setTimeout(() => (button.textContent = text), 1500);
    },
    drop(event, dropped) {
      const zone = event.target.closest?.(".drop");
      if (!zone) return;
      event.preventDefault();
      zone.classList.toggle("over", !dropped);
      if (dropped) this.take(zone.querySelector("input[type=file]"), event.dataTransfer.files);
    },
    async take(control, files) {
      for (const file of [...files].slice(0, control.multiple ? 20 : 1)) await this.read(control, file);
      control.value = "";
    },
    async read(control, file) {
      if (!file) return;
      const { file: key, upload, most } = control.dataset;
      if (upload !== undefined) return this.upload(key, upload, file);
      const text = file.size <= Number(most ?? 500000) ? await file.text() : "";
      this.$emit("file", key, file.name, text);
    },
    async upload(key, where, file) {
      const form = new FormData();
      form.append("file", file, file.name);
      const language = encodeURIComponent(document.documentElement.lang);
      let answer = "";
      try {
        const sent = await fetch(`${window.path_prefix ?? ""}${where}?lang=${language}`, { method: "POST", body: form });
        answer = await sent.text();
      } catch {
        // an empty answer says that there was none
      }
      this.$emit("file", key, file.name, answer);
    },
  },
};
