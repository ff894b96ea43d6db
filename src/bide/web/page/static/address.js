// Keeps the query of the address, so that a link to this page gives this answer.

export default {
  props: { query: String },
  render() {
    return Vue.h("span", { hidden: true });
  },
  watch: {
    query() {
      history.replaceState(null, "", this.query ? `?${this.query}` : location.pathname);
    },
  },
};
