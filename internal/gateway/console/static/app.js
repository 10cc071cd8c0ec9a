// The only script of the console. Pages work without it.
(() => {
  "use strict";
  // On narrow screens, the menu starts closed.
  const menu = document.querySelector("details.menu");
  if (menu) {
    const narrow = matchMedia("(max-width: 799px)");
    const fit = () => { menu.open = !narrow.matches; };
    narrow.addEventListener("change", fit);
    fit();
  }

  // The reply of a chat grows while it is written, and the page is loaded again at its end.
  const reply = document.getElementById("reply");
  if (reply && reply.dataset.events) {
    const events = new EventSource(reply.dataset.events);
    let text = "";
    const show = (e, before) => { text = before + JSON.parse(e.data); reply.textContent = text; };
    events.addEventListener("delta", (e) => show(e, text));
    events.addEventListener("reset", (e) => show(e, ""));
    events.addEventListener("end", () => { events.close(); location.reload(); });
    // A lost connection starts the reply again.
    events.addEventListener("open", () => { text = ""; });
  }
})();
