// Before anything is painted: the theme that the address (#dark, #light) or the last visit chose.
(() => {
  "use strict";
  let chosen = ["#dark", "#light"].includes(location.hash) ? location.hash.slice(1) : null;
  try {
    chosen = chosen || localStorage.getItem("tracekit-theme");
  } catch {
    // a file opened from disk may have no storage
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
