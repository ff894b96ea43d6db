// Light, dark, or as the system has it; remembered in this browser alone. `early.js` sets it before the first paint.
export default {
  props: { words: Object },
  data: () => ({ value: document.documentElement.dataset.theme ?? "auto" }),
  render() {
    const radios = ["light", "auto", "dark"].map((value) =>
      Vue.h("label", { class: "choice", title: this.words[value] }, [
        Vue.h("input", {
          type: "radio",
          name: "theme",
          value,
          checked: value === this.value,
          "aria-label": this.words[value],
          onChange: () => this.choose(value),
        }),
        Vue.h("span", { "aria-hidden": "true", class: `sign ${value}` }),
      ]),
    );
    return Vue.h("div", { class: "choices", role: "radiogroup", "aria-label": this.words.label }, radios);
  },
  methods: {
    choose(value) {
      this.value = value;
      if (value === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = value;
      try {
        if (value === "auto") localStorage.removeItem("bide-theme");
        else localStorage.setItem("bide-theme", value);
      } catch {
        // a browser that keeps nothing: for this page only
      }
    },
  },
};
