// Fit formulas to their column: shrink a displayed one if that takes 30 % or less (otherwise it scrolls), and allow line
// breaks in an inline one, which would overflow the page on a telephone.
window.MathJax = Object.assign(window.MathJax || {}, {
  startup: {
    pageReady() {
      const fit = () => {
        for (const formula of document.querySelectorAll("mjx-container[display]")) {
          const size = (formula.dataset.size ??= formula.style.fontSize || "100%");
          formula.style.fontSize = size;
          const share = formula.clientWidth / formula.scrollWidth;
          if (share >= 0.7 && share < 1) formula.style.fontSize = `calc(${size} * ${0.99 * share})`;
        }
        for (const formula of document.querySelectorAll("mjx-container:not([display])")) {
          formula.classList.remove("wide");
          const column = formula.closest("p, li, td, th, dd");
          const wide = column && formula.getBoundingClientRect().width > column.clientWidth * 0.9;
          formula.classList.toggle("wide", Boolean(wide));
        }
      };
      window.addEventListener("resize", fit);
      return MathJax.startup.defaultPageReady().then(fit);
    },
  },
});
