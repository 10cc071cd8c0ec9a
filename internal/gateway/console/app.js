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

  // A page that is loaded again would stop the form that was just sent.
  let sent = false;
  document.addEventListener("submit", () => { sent = true; });
  const load = () => { if (!sent) location.reload(); };

  // The reply of a chat grows while it is written, and the page is loaded again at its end.
  const reply = document.getElementById("reply");
  if (reply && reply.dataset.events) {
    const events = new EventSource(reply.dataset.events);
    let text = "";
    const show = (e, before) => { text = before + JSON.parse(e.data); reply.textContent = text; };
    events.addEventListener("delta", (e) => show(e, text));
    events.addEventListener("reset", (e) => show(e, ""));
    events.addEventListener("end", () => { events.close(); load(); });
    // A lost connection starts the reply again.
    events.addEventListener("open", () => { text = ""; });
  }

  // Shortcuts: / searches, j and k move through a list, g and a letter open a page, ? lists them. They can be
  // switched off, and nothing that changes data has one.
  const keys = document.getElementById("keys"), on = document.getElementById("keys-on");
  if (keys && on) {
    const stored = "cairn-shortcuts";
    keys.hidden = false;
    on.checked = localStorage.getItem(stored) !== "off";
    on.addEventListener("change", () => localStorage.setItem(stored, on.checked ? "on" : "off"));
    let went = 0;
    document.addEventListener("keydown", (e) => {
      if (!on.checked || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
      const go = document.querySelector(`[data-go="${CSS.escape(e.key)}"]`);
      if (e.timeStamp - went < 1500 && go) {
        location.assign(go.href);
      } else if (e.key === "g") {
        went = e.timeStamp;
        return;
      } else if (e.key === "/") {
        document.querySelector("main input[type=search]")?.focus();
      } else if (e.key === "?") {
        if (menu) menu.open = true;
        keys.open = true;
        keys.querySelector("summary").focus();
      } else if (e.key === "j" || e.key === "k") {
        const links = [...document.querySelectorAll("main .cards a, main tbody th a")];
        const at = links.indexOf(document.activeElement);
        links[e.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0)]?.focus();
      } else {
        return;
      }
      went = 0;
      e.preventDefault();
    });
  }

  // The page of an open run is loaded again when something has changed, unless someone is using it.
  const open = document.querySelector("[data-reload]");
  if (open) {
    const events = new EventSource(open.dataset.reload);
    events.addEventListener("changed", () => {
      events.close();
      const again = () => {
        if (getSelection().isCollapsed && !document.hidden) load();
        else setTimeout(again, 1000);
      };
      again();
    });
  }
})();
