// Keeps the query of the address, so that a link to this page gives this answer.
const SETTLED_MS = 60; // browsers take milliseconds for it, and only so many a second: the answer is drawn first

export default {
  props: { query: String },
  render() {
    return Vue.h("span", { hidden: true });
  },
  watch: {
    query() {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.keep(), SETTLED_MS);
    },
  },
  methods: {
    keep() {
      history.replaceState(null, "", this.query ? `?${this.query}` : location.pathname);
    },
  },
};
