// The tab list (ARIA): one tab is in the order of the keyboard, the arrow keys go to the others.
export default {
  props: { tabs: Array, value: String, label: String },
  emits: ["pick"],
  render() {
    const buttons = this.tabs.map((tab) =>
      Vue.h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${tab.id}`,
          "aria-selected": String(tab.id === this.value),
          "aria-controls": `panel-${tab.id}`,
          tabindex: tab.id === this.value ? 0 : -1,
          onClick: () => this.$emit("pick", tab.id),
          onKeydown: (event) => this.key(event, tab.id),
        },
        tab.name,
      ),
    );
    return Vue.h("div", { role: "tablist", "aria-label": this.label, class: "tabs" }, buttons);
  },
  mounted() {
    document.getElementById("first")?.remove(); // what stood here until now
  },
  methods: {
    key(event, id) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const ids = this.tabs.map((tab) => tab.id);
      const ends = { Home: 0, End: ids.length - 1 }[event.key];
      if (step === undefined && ends === undefined) return;
      event.preventDefault();
      const next = ids[ends ?? (ids.indexOf(id) + step + ids.length) % ids.length];
      this.$emit("pick", next);
      document.getElementById(`tab-${next}`).focus();
    },
  },
};
