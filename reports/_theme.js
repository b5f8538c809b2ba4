// Before anything is painted: one page at a time, and the theme that the address (?dark, ?light) or
// the last visit chose.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("paged");
  let chosen = ["?dark", "?light"].includes(location.search) ? location.search.slice(1) : null;
  try {
    chosen = chosen || localStorage.getItem("tracekit-theme");
  } catch {
    // a file opened from disk may have no storage
  }
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
})();
