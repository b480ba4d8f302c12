// Allow line breaks in an inline formula that is wider than its line; on a telephone it would overflow the page.
window.MathJax = Object.assign(window.MathJax || {}, {
  startup: {
    pageReady() {
      const mark = () => {
        for (const formula of document.querySelectorAll("mjx-container:not([display])")) {
          formula.classList.remove("wide");
          const column = formula.closest("p, li, td, th, dd");
          const wide = column && formula.getBoundingClientRect().width > column.clientWidth * 0.9;
          formula.classList.toggle("wide", Boolean(wide));
        }
      };
      window.addEventListener("resize", mark);
      return MathJax.startup.defaultPageReady().then(mark);
    },
  },
});
