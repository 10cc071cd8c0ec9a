// The only script of the console. Pages work without it.
(() => {
  "use strict";
  // On narrow screens, the menu starts closed.
  const menu = document.querySelector("details.menu");
  if (menu && matchMedia("(max-width: 799px)").matches) menu.open = false;
})();
