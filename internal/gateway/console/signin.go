package console

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/apikey"
)

// Names of the cookie. With the prefix __Host-, browsers send it only to this host, and only by HTTPS. Over plain
// HTTP they accept it on this machine only, without the prefix.
const (
	secureCookie = "__Host-cairn"
	localCookie  = "cairn"
)

func (c *Console) signInRoutes() {
	c.mux.HandleFunc("GET "+Root+"{$}", c.open(c.start))
	c.mux.HandleFunc("GET "+Root+"sign-in", c.open(c.showSignIn))
	c.mux.HandleFunc("POST "+Root+"sign-in", c.open(c.signIn))
	c.mux.HandleFunc("GET "+Root+"link", c.open(c.showLink))
	c.mux.HandleFunc("POST "+Root+"link", c.open(c.redeem))
	c.mux.HandleFunc("POST "+Root+"sign-out", c.open(c.signOut))
}

// transport is how cookies can be used for a request.
type transport int

const (
	encrypted transport = iota
	local               // plain HTTP on this machine
	insecure            // plain HTTP over a network: signing in is refused
)

func (rq *request) transport() transport {
	host := rq.r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	switch {
	case rq.c.Edge.Encrypted(rq.r), rq.publicHTTPS(host):
		return encrypted
	case host == "localhost", ip != nil && ip.IsLoopback():
		return local
	}
	return insecure
}

// publicHTTPS reports whether the request is for the public address, which a proxy serves by HTTPS.
func (rq *request) publicHTTPS(host string) bool {
	u, err := url.Parse(rq.c.Options.PublicBaseURL)
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), host)
}

func (rq *request) cookieName() string {
	if rq.transport() == encrypted {
		return secureCookie
	}
	return localCookie
}

// cookie returns the cookie of the request, empty if it has none.
func (rq *request) cookie() string {
	if rq.transport() == insecure {
		return ""
	}
	if c, err := rq.r.Cookie(rq.cookieName()); err == nil {
		return c.Value
	}
	return ""
}

// setCookie sets the cookie, and deletes it if the value is empty.
func (rq *request) setCookie(value string) {
	c := &http.Cookie{Name: rq.cookieName(), Value: value, Path: "/", HttpOnly: true,
		Secure: rq.transport() == encrypted, SameSite: http.SameSiteStrictMode,
		MaxAge: int(apikey.ConsoleSessionLife.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(rq.w, c)
}

// start opens the overview of the first workspace.
func (c *Console) start(rq *request) error {
	if len(rq.grants) == 0 {
		if rq.operatorCookie() != "" {
			http.Redirect(rq.w, rq.r, c.base+OperatorRoot, http.StatusSeeOther)
			return nil
		}
		return rq.needSignIn()
	}
	http.Redirect(rq.w, rq.r, c.workspacePath(rq.grants[0].Workspace.Name), http.StatusSeeOther)
	return nil
}

// needSignIn sends a browser without a session to the sign-in page. Browsers keep back a strict cookie when a page of
// another site links here, such as Temporal UI: a page that loads itself once more gets the cookie.
func (rq *request) needSignIn() error {
	get := rq.r.Method == http.MethodGet
	if get && rq.cookie() == "" && rq.r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return rq.render("bounce", "bounce.title", nil)
	}
	to := rq.c.base + Root + "sign-in"
	if get && rq.r.URL.Path != Root {
		to += "?next=" + url.QueryEscape(rq.r.URL.EscapedPath())
	}
	http.Redirect(rq.w, rq.r, to, http.StatusSeeOther)
	return nil
}

type signInPage struct {
	Insecure bool
	Next     string
}

func (c *Console) showSignIn(rq *request) error {
	next := rq.r.URL.Query().Get("next")
	if rq.r.Method == http.MethodPost {
		next = rq.r.PostFormValue("next")
	}
	return rq.render("signin", "signin.title", signInPage{Insecure: rq.transport() == insecure, Next: c.inside(next)})
}

// inside returns a path of the console that a form may redirect to, and otherwise an empty one.
func (c *Console) inside(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(path, Root+"w/") ||
		strings.ContainsAny(path, "\\\r\n") || slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool {
		return s == "." || s == ".."
	}) {
		return ""
	}
	return path
}

func (rq *request) refuseInsecure() error {
	if rq.transport() != insecure {
		return nil
	}
	return fault.New(fault.OutOfScope, "signing in over plain HTTP is refused, because others could read the cookie",
		"serve Cairn by HTTPS, or open the console on the machine that runs it: see docs/how-to/console.md")
}

func (c *Console) signIn(rq *request) error {
	if err := rq.refuseInsecure(); err != nil {
		return rq.again(err, c.showSignIn)
	}
	key := strings.TrimSpace(rq.r.PostFormValue("key"))
	if apikey.IsOperator(key) {
		return c.signInOperator(rq, key)
	}
	// Every key of a workspace has the scope read or one that includes it.
	admitted, err := c.Edge.Admit(rq.r, edge.Terms{Scope: access.Read, Key: key, Limit: edge.Unlimited})
	if fault.CodeOf(err) == fault.PersonRequired {
		err = fault.New(fault.PersonRequired, "the key of a gateway acts for its users, and signs in no browser",
			"use an API key of a workspace, from `cairn keys create`")
	}
	if err != nil {
		return rq.again(err, c.showSignIn)
	}
	h := edge.Caller(admitted)
	cookie, err := c.Sessions.SignIn(rq.ctx, rq.cookie(), h)
	if err != nil {
		return rq.again(err, c.showSignIn)
	}
	rq.setCookie(cookie)
	to := c.workspacePath(h.Workspace.Name)
	if next := c.inside(rq.r.PostFormValue("next")); next != "" {
		to = c.base + next
	}
	http.Redirect(rq.w, rq.r, to, http.StatusSeeOther)
	return nil
}

// showLink shows the button of a sign-in link. Only the button redeems the code, because programs that preview
// links would use it up.
func (c *Console) showLink(rq *request) error {
	code := rq.r.URL.Query().Get("code")
	if rq.r.Method == http.MethodPost {
		code = ""
	}
	return rq.render("link", "link.title", struct {
		Insecure   bool
		Code, Next string
	}{rq.transport() == insecure, code, c.inside(rq.r.URL.Query().Get("next"))})
}

func (c *Console) redeem(rq *request) error {
	if err := rq.refuseInsecure(); err != nil {
		return rq.again(err, c.showLink)
	}
	var cookie string
	var g access.Grant
	err := c.Edge.Attempt(rq.ctx, func(ctx context.Context) (err error) {
		cookie, g, err = c.Sessions.Redeem(ctx, rq.cookie(), rq.r.PostFormValue("code"))
		return err
	})
	if err != nil {
		return rq.again(err, c.showLink)
	}
	rq.setCookie(cookie)
	to := c.workspacePath(g.Workspace.Name)
	if next := c.inside(rq.r.PostFormValue("next")); next != "" {
		to = c.base + next
	}
	http.Redirect(rq.w, rq.r, to, http.StatusSeeOther)
	return nil
}

func (c *Console) signOut(rq *request) error {
	if err := c.Sessions.SignOut(rq.ctx, rq.cookie()); err != nil {
		return err
	}
	rq.setCookie("")
	http.Redirect(rq.w, rq.r, c.base+Root+"sign-in", http.StatusSeeOther)
	return nil
}
