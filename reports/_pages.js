// Shows the page that the address names: #/zones, or #/zones/figure-x for a place on it. Links are
// plain ones, so that going back, opening in another tab and sending an address work as anywhere.
(() => {
  "use strict";
  const pages = [...document.querySelectorAll("main > section.page")];
  const links = [...document.querySelectorAll("nav a")];
  const title = document.title;
  const listeners = [];
  let shown = pages[0];

  // The page that an address means, and the element on it that is to be seen.
  function meant() {
    const name = decodeURIComponent(location.hash.slice(1));
    const page = pages.find(({ id }) => name === id || name.startsWith(`${id}/`));
    if (page) return { page, place: document.getElementById(name.slice(page.id.length + 1)) };
    const place = name ? document.getElementById(name) : null;
    return { page: place?.closest("section.page") || (place ? shown : pages[0]), place };
  }

  function show(first) {
    const { page, place } = meant();
    if (!page) return;
    const other = page !== shown;
    shown = page;
    for (const one of pages) one.classList.toggle("shown", one === page);
    for (const link of links) {
      if (link.hash === `#${page.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const heading = page.querySelector("h1, h2");
    document.title = page === pages[0] ? title : `${heading.textContent} - ${title}`;
    for (const listener of listeners) listener(page);
    if (place && place !== page) place.scrollIntoView();
    else if (other && !first) {
      heading.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  }

  addEventListener("hashchange", () => show(false));
  window.tracekit = { pages, listeners, shown: () => shown };
  show(true);
})();
