/* Sliders with named stops, as the browser has them: arrow keys, Home, End, and a spoken value. */
class Stops extends Shiny.InputBinding {
  find(scope) { return $(scope).find("input.stops"); }
  getId(el) { return el.id; }
  stops(el) { return el.dataset.stops.split(" "); }
  getValue(el) { return this.stops(el)[Number(el.value)]; }
  setValue(el, value) { el.value = this.stops(el).indexOf(value); this.told(el); }
  told(el) {
    const value = this.getValue(el);
    el.setAttribute("aria-valuetext", value);
    document.getElementById(el.id + "-value").textContent = value;
  }
  subscribe(el, callback) {
    el.addEventListener("input", () => { this.told(el); callback(true); });
  }
  getRatePolicy() { return { policy: "throttle", delay: 60 }; }
}
Shiny.inputBindings.register(new Stops(), "bayesdp.stops");

/* The address says what was chosen: reloading, or going back to it, shows the same page. */
let last = null;
Shiny.addCustomMessageHandler("choices", ({ query, step }) => {
  const address = query ? "?" + query : location.pathname;
  if (last !== null && step !== last) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  last = step;
});
window.addEventListener("popstate", () => location.reload());

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});
