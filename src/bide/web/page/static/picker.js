// A combobox (ARIA 1.2): type to filter, arrow keys to move, Enter to take; any other text is taken as it stands.

const MOST = 60;

function found(options, text) {
  const words = text.toLowerCase().split(/[\s/_-]+/).filter(Boolean);
  return options.filter((option) => words.every((word) => option.words.includes(word))).slice(0, MOST);
}

export default {
  props: { name: String, label: String, value: String, options: String, words: Object, error: String, hint: String },
  emits: ["pick"],
  data: () => ({ typed: null, open: false, at: -1 }),
  computed: {
    known() {
      return JSON.parse(this.options);
    },
    shown() {
      return this.open ? found(this.known, this.typed ?? "") : [];
    },
  },
  watch: {
    value() {
      if (document.activeElement !== this.$refs.input) this.typed = null;
    },
  },
  render() {
    const h = Vue.h;
    const id = this.name;
    const below = this.error
      ? h("span", { class: "wrong", id: `${id}-wrong`, role: "alert" }, this.error)
      : h("span", { class: "hint", id: `${id}-hint` }, this.hint);
    const input = h("input", {
      ref: "input",
      id,
      type: "text",
      role: "combobox",
      autocomplete: "off",
      spellcheck: "false",
      value: this.typed ?? this.value,
      "aria-expanded": String(this.open),
      "aria-controls": `${id}-list`,
      "aria-autocomplete": "list",
      "aria-activedescendant": this.open && this.at >= 0 ? `${id}-${this.at}` : undefined,
      "aria-invalid": this.error ? "true" : undefined,
      "aria-describedby": this.error ? `${id}-wrong` : `${id}-hint`,
      onInput: (event) => {
        this.typed = event.target.value;
        this.open = true;
        this.at = -1;
      },
      onFocus: (event) => event.target.select(),
      onClick: () => {
        this.typed = "";
        this.open = true;
        this.at = -1;
      },
      onBlur: () => this.leave(),
      onKeydown: (event) => this.key(event),
    });
    const rows = this.shown.map((option, place) =>
      h(
        "li",
        {
          id: `${id}-${place}`,
          key: option.id,
          role: "option",
          "aria-selected": String(place === this.at),
          onMousedown: (event) => {
            event.preventDefault();
            this.take(option.id);
          },
        },
        [h("span", { class: "name" }, option.name), h("span", { class: "about" }, option.about)],
      ),
    );
    const none = this.open && rows.length === 0 ? h("li", { class: "none", role: "option", "aria-selected": "false", "aria-disabled": "true" }, this.words.none) : null;
    const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": this.label, hidden: !this.open }, [...rows, none]);
    return h("div", { class: "field picker" }, [h("label", { for: id }, this.label), h("div", { class: "box" }, [input, list]), below]);
  },
  methods: {
    key(event) {
      const last = this.shown.length - 1;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (!this.open) [this.open, this.typed] = [true, this.typed ?? ""];
        else this.at = event.key === "ArrowDown" ? Math.min(last, this.at + 1) : Math.max(-1, this.at - 1);
        this.$nextTick(() => document.getElementById(`${this.name}-${this.at}`)?.scrollIntoView({ block: "nearest" }));
      } else if (event.key === "Enter") {
        event.preventDefault();
        const only = this.shown.length === 1 ? this.shown[0] : null;
        this.take((this.shown[this.at] ?? only)?.id ?? this.typed ?? this.value);
      } else if (event.key === "Escape") {
        [this.open, this.typed, this.at] = [false, null, -1];
      }
    },
    take(text) {
      [this.open, this.typed, this.at] = [false, null, -1];
      if (text && text !== this.value) this.$emit("pick", this.name, text);
    },
    leave() {
      if (!this.open) return;
      const typed = (this.typed ?? "").trim();
      const own = this.known.find((option) => option.id.toLowerCase() === typed.toLowerCase());
      this.take(own ? own.id : typed.includes("/") ? typed : "");
    },
  },
};
