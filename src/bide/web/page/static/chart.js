// A Vega-Lite chart in the page's colours. New data and values of parameters are put into the chart that is there;
// another shape is drawn anew.

let loading;

function library(address) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = (window.path_prefix ?? "") + address;
    script.onload = () => Promise.all([document.fonts.load("12px Roboto"), 0]).then(() => resolve(window.vegaEmbed));
    script.onerror = () => reject(new Error("the chart library did not load"));
    document.head.append(script);
  });
  return loading;
}

const LEGEND_WIDTH = 190;
// Expressions are interpreted: the page's policy forbids eval. Errors alone are told: data sets may be empty.
const OPTIONS = { ast: true, renderer: "svg", actions: false, defaultStyle: false, logLevel: 1 };

// Legends have as many columns as there is room for.
function fitted(value, width) {
  if (Array.isArray(value)) return value.map((item) => fitted(item, width));
  if (value === null || typeof value !== "object") return value;
  const made = {};
  for (const [key, item] of Object.entries(value)) {
    if (key === "columns" && "orient" in value) made[key] = Math.max(1, Math.floor(width / LEGEND_WIDTH));
    else made[key] = fitted(item, width);
  }
  return made;
}

// Axes are called by their titles: what Vega calls them is English, and often the range of an earlier drawing.
function named(place) {
  for (const axis of place.querySelectorAll("[aria-roledescription=axis]")) {
    const title = axis.querySelector(".role-axis-title")?.textContent;
    if (title && axis.getAttribute("aria-label") !== title) axis.setAttribute("aria-label", title);
  }
}

// Rows in the place of those before, each taking over the mark that was there, so that little of the drawing changes.
function laidUnder(view, name, rows, before) {
  const now = view.data(name);
  if (now.length !== before.length) return view.data(name, structuredClone(rows));
  const change = view.changeset().remove(now.slice(rows.length));
  rows.forEach((row, place) => {
    if (place >= now.length) return change.insert({ ...row });
    for (const field of Object.keys({ ...before[place], ...row }))
      if (before[place][field] !== row[field]) change.modify(now[place], field, row[field]);
  });
  return view.change(name, change);
}

// When the browser has painted what is on screen and has nothing else to do, or LATE_MS have passed.
const LATE_MS = 150;
const idle = () =>
  new Promise((resolve) =>
    window.requestIdleCallback
      ? requestIdleCallback(resolve, { timeout: LATE_MS })
      : requestAnimationFrame(() => setTimeout(resolve, 20)),
  );

function coloured(svg) {
  const style = getComputedStyle(document.documentElement);
  return svg.replace(/var\((--[\w-]+)\)/g, (_all, name) => style.getPropertyValue(name).trim());
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export default {
  props: {
    title: String,
    label: String,
    height: Number,
    shape: String, // Vega-Lite without its data
    data: String, // its data sets and the values of its parameters
    words: Object,
    file: String,
    library: String,
    drags: Array,
  },
  emits: ["drag"],
  data: () => ({ failed: "" }),
  render() {
    const h = Vue.h;
    const tool = (kind) =>
      h("button", { type: "button", class: "tool", "aria-label": this.words[kind], onClick: () => this.download(kind) }, kind);
    return h("figure", { class: "chart", hidden: !this.shape }, [
      h("figcaption", [h("span", this.title), h("span", { class: "tools" }, [tool("PNG"), tool("SVG")])]),
      h("div", {
        class: this.drags ? "plot draggable" : "plot",
        ref: "plot",
        role: "img",
        "aria-label": this.label,
        onPointerdown: (event) => this.grab(event),
        onPointermove: (event) => this.held && this.pull(event),
        onPointerup: () => (this.held = false),
        onPointercancel: () => (this.held = false),
      }, [h("div", { ref: "place" })]), // Vega gives its container a role and a name of its own
      this.failed ? h("p", { class: "trouble", role: "alert" }, this.failed) : null,
    ]);
  },
  mounted() {
    this.$watch(() => [this.shape, this.data], () => this.draw(), { flush: "post" });
    this.width = this.room = 0; // as drawn, as there is; told by the browser, for to ask costs a layout
    this.inSight = true;
    this.sizes = new ResizeObserver(([{ contentRect }]) => {
      this.room = Math.floor(contentRect.width);
      if (this.room && Math.abs(this.room - this.width) > 1) this.draw();
    });
    this.sights = new IntersectionObserver((entries) => (this.inSight = entries.at(-1).isIntersecting));
    for (const watcher of [this.sizes, this.sights]) watcher.observe(this.$refs.plot);
  },
  unmounted() {
    this.sizes.disconnect();
    this.sights.disconnect();
    this.view?.finalize();
    this.tip?.remove();
  },
  methods: {
    // One drawing at a time, of what is wanted last; what nobody sees now comes after what they see.
    async draw() {
      this.wanted = true;
      if (this.drawing) return;
      this.drawing = true;
      while (this.wanted) {
        this.wanted = false;
        if (!this.inSight) await idle();
        await this.drawn().catch((error) => {
          this.failed = String(error.message ?? error);
          this.drawnShape = ""; // what is there may be half of it
        });
      }
      this.drawing = false;
    },
    async drawn() {
      if (!this.shape || !this.room) return;
      const embed = await library(this.library);
      const { shape, room: width } = this;
      if (!shape || !width || !this.$refs.plot) return; // it may be gone by now, or hidden
      this.failed = "";
      const { datasets, params } = JSON.parse(this.data);
      if (this.view && shape === this.drawnShape && width === this.width) {
        for (const { name, value } of params) this.view.signal(name, value);
        for (const [name, rows] of Object.entries(datasets)) laidUnder(this.view, name, rows, this.drawnRows[name] ?? []);
        await this.view.runAsync();
      } else {
        const size = { width, height: this.height, autosize: { type: "fit", contains: "padding" } };
        const spec = { ...fitted(JSON.parse(shape), width), ...size, params, datasets: structuredClone(datasets) };
        const made = await embed(this.$refs.place, spec, { ...OPTIONS, tooltip: this.hover });
        this.view?.finalize();
        this.view = made.view;
        this.drawnShape = shape;
      }
      named(this.$refs.place);
      this.width = width;
      this.drawnRows = datasets;
      this.$refs.plot.dataset.drawn = String(Number(this.$refs.plot.dataset.drawn ?? 0) + 1);
    },
    grab(event) {
      if (!this.drags || !this.view || event.button) return;
      event.preventDefault();
      this.held = true;
      this.pulled = -1;
      this.$refs.plot.setPointerCapture(event.pointerId);
      this.pull(event);
    },
    // The place whose x is nearest to the pointer.
    pull(event) {
      const x = this.view.scale("x");
      const at = event.clientX - this.$refs.plot.getBoundingClientRect().left - this.view.origin()[0];
      const far = this.drags.map((value) => (value === null ? Infinity : Math.abs(x(value) - at)));
      const nearest = far.indexOf(Math.min(...far));
      if (nearest !== this.pulled) this.$emit("drag", (this.pulled = nearest));
    },
    hover(_handler, event, _item, value) {
      this.tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip" }));
      this.tip.hidden = value === null || value === undefined;
      if (this.tip.hidden) return;
      this.tip.textContent = typeof value === "object" ? Object.values(value).join("\n") : String(value);
      const right = event.clientX + 16 + this.tip.offsetWidth > window.innerWidth;
      this.tip.style.left = `${Math.max(8, right ? event.clientX - 16 - this.tip.offsetWidth : event.clientX + 16)}px`;
      this.tip.style.top = `${Math.max(8, event.clientY - this.tip.offsetHeight - 12)}px`;
    },
    async download(kind) {
      if (!this.view) return;
      const svg = coloured(await this.view.toSVG());
      const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
      const filled = svg.replace(">", `><rect width="100%" height="100%" fill="${paper}"/>`);
      if (kind === "SVG") return save(new Blob([filled], { type: "image/svg+xml" }), `${this.file}.svg`);
      const picture = new Image();
      picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(filled)}`;
      await picture.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: picture.width * 2, height: picture.height * 2 });
      const pen = canvas.getContext("2d");
      pen.scale(2, 2);
      pen.drawImage(picture, 0, 0);
      canvas.toBlob((blob) => save(blob, `${this.file}.png`), "image/png");
    },
  },
};
