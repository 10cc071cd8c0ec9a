package console_test

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/testkit"
)

func TestAKeySignsIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, made := b.makeKey(b.Workspace, access.Read)
	b.get("/console/").is(http.StatusSeeOther)
	b.get("/console/sign-in").is(http.StatusOK).has("API key").lacks("Sign out")
	res := b.post("/console/sign-in", url.Values{"key": {" " + key + "\n"}}).is(http.StatusSeeOther)
	if to := res.header.Get("Location"); to != b.at("") {
		t.Errorf("the browser is sent to %s", to)
	}
	cookie := res.header.Get("Set-Cookie")
	for _, part := range []string{"cairn=", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in the cookie %s", part, cookie)
		}
	}
	b.get(b.at("")).is(http.StatusOK).has("Overview", "Scopes: read", b.Workspace.Name).lacks(key)
	value := strings.TrimPrefix(strings.Split(cookie, ";")[0], "cairn=")
	sum := sha256.Sum256([]byte(value))
	var stored, plain int
	testkit.Must(t, b.Admin().QueryRow(t.Context(), `select count(*) filter (where hash = $1),
  count(*) filter (where s::text like '%' || $2 || '%') from cairn.console_sessions s`, sum[:], value).Scan(&stored,
		&plain))
	if stored != 1 || plain != 0 {
		t.Errorf("%d sessions have the hash, %d the cookie", stored, plain)
	}
	testkit.Must(t, b.Keys.Revoke(t.Context(), b.Workspace.ID, made.ID))
	b.get(b.at("")).is(http.StatusSeeOther) // the session ends with its key
}

func TestAWrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post("/console/sign-in", url.Values{"key": {"cairn_wrong"}}).is(http.StatusUnauthorized).
		has("invalid API key", "unauthenticated").lacks("cairn_wrong")
	for range 19 {
		b.post("/console/sign-in", url.Values{"key": {"cairn_wrong"}}).is(http.StatusUnauthorized)
	}
	b.post("/console/sign-in", url.Values{"key": {"cairn_wrong"}}).is(http.StatusTooManyRequests)
}

func TestSigningOutEndsTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	at, err := url.Parse(b.url)
	testkit.Must(t, err)
	cookies := b.browser.Jar.Cookies(at)
	b.post("/console/sign-out", url.Values{}).is(http.StatusSeeOther)
	b.get(b.at("")).is(http.StatusSeeOther)
	b.browser.Jar.SetCookies(at, cookies) // a stolen cookie is worth nothing now
	b.get(b.at("")).is(http.StatusSeeOther)
}

func TestASessionEndsWhenItIsIdleOrOld(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"idle": "update cairn.console_sessions set used_at = now() - interval '8 hours 1 second'",
		"old":  "update cairn.console_sessions set ends_at = now()",
	} {
		t.Run(what, func(t *testing.T) {
			b := setup(t).signedIn(access.Read)
			b.get(b.at("")).is(http.StatusOK)
			_, err := b.Admin().Exec(t.Context(), change)
			testkit.Must(t, err)
			b.get(b.at("")).is(http.StatusSeeOther)
		})
	}
}

func TestSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	other, err := b.Store.Workspace(t.Context(), "other/.. ~shop", true)
	testkit.Must(t, err)
	there := "/console/w/" + url.PathEscape(other.Name) + "/"
	b.get(there).is(http.StatusNotFound).has("there is no such workspace")
	b.get("/console/w/nothing/").is(http.StatusNotFound).has("there is no such workspace")
	key, _ := b.makeKey(other, access.Admin)
	b.post("/console/sign-in", url.Values{"key": {key}, "next": {there + "inbox"}}).is(http.StatusSeeOther)
	b.get(there).is(http.StatusOK).has("other/.. ~shop")
	b.get(b.at("")).is(http.StatusOK).has("other/.. ~shop") // in the menu
	_, err = b.Admin().Exec(t.Context(), "update cairn.console_sessions set ends_at = now() where workspace_id = $1",
		other.ID)
	testkit.Must(t, err)
	b.get(there).is(http.StatusNotFound)
	b.get(b.at("")).is(http.StatusOK).lacks("~shop")
}

func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, err := b.Sessions.Link(t.Context(), b.Workspace, "ada", []access.Scope{access.Read})
	testkit.Must(t, err)
	link := "/console/link?" + url.Values{"code": {code}, "next": {b.at("inbox")}}.Encode()
	for range 2 { // looking does not use it up
		b.get(link).is(http.StatusOK).has("works once")
	}
	form := url.Values{"code": {code}, "next": {b.at("inbox")}}
	if to := b.post("/console/link", form).is(http.StatusSeeOther).header.Get("Location"); to != b.at("inbox") {
		t.Errorf("the browser is sent to %s", to)
	}
	b.get(b.at("inbox")).is(http.StatusOK)
	b.post("/console/link", form).is(http.StatusNotFound).has("invalid, used or older")
	code, err = b.Sessions.Link(t.Context(), b.Workspace, "ada", []access.Scope{access.Read})
	testkit.Must(t, err)
	_, err = b.Admin().Exec(t.Context(), "update cairn.console_codes set ends_at = now()")
	testkit.Must(t, err)
	b.post("/console/link", url.Values{"code": {code}}).is(http.StatusNotFound)
	var who string
	testkit.Must(t, b.Admin().QueryRow(t.Context(), `select string_agg(actor || ' ' || account || ' ' || object, '; ')
  from cairn.audit_events where action = 'console.sign_in'`).Scan(&who))
	if who != "cli ada sign-in link" {
		t.Errorf("audited as %q", who)
	}
}

func TestALinkOpensPagesOfTheConsoleOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, next := range []string{"https://evil.example/", "//evil.example/console/w/x", "/v1/keys",
		"javascript:alert(1)",
		"/console/w/\\evil", "/console/w/../../x"} {
		code, err := b.Sessions.Link(t.Context(), b.Workspace, "ada", []access.Scope{access.Read})
		testkit.Must(t, err)
		to := b.post("/console/link", url.Values{"code": {code}, "next": {next}}).is(http.StatusSeeOther).
			header.Get("Location")
		if !strings.HasPrefix(to, "/console/w/") || strings.Contains(to, "..") {
			t.Errorf("%s sends to %s", next, to)
		}
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Admin)
	out := url.Values{}
	b.post("/console/sign-out", out, "Sec-Fetch-Site", "cross-site").is(http.StatusForbidden)
	b.post("/console/sign-out", out, "Sec-Fetch-Site", "same-site").is(http.StatusForbidden)
	b.post("/console/sign-out", out, "Sec-Fetch-Site", "", "Origin", "https://evil.example").is(http.StatusForbidden)
	b.post("/console/sign-out", out, "Sec-Fetch-Site", "").is(http.StatusForbidden)
	b.get(b.at("")).is(http.StatusOK)
	b.post("/console/sign-out", out, "Sec-Fetch-Site", "", "Origin", b.url).is(http.StatusSeeOther)
}

func TestCookiesAndKeysAreNotExchanged(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Admin)
	b.get("/v1/skills").is(http.StatusUnauthorized)
	b.browser = browser(t)
	key, _ := b.makeKey(b.Workspace, access.Admin)
	b.get(b.at(""), "Authorization", "Bearer "+key).is(http.StatusSeeOther)
}

func TestPlainHTTPOverANetworkSignsNobodyIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, _ := b.makeKey(b.Workspace, access.Read)
	host := []string{"Host", "cairn.example"}
	b.get("/console/sign-in", host...).is(http.StatusOK).has("plain HTTP").lacks("<input")
	res := b.post("/console/sign-in", url.Values{"key": {key}}, host...).is(http.StatusForbidden).has("plain HTTP")
	if c := res.header.Get("Set-Cookie"); c != "" {
		t.Errorf("a cookie was set: %s", c)
	}
}

func TestTheCookieOfAnEncryptedSessionIsConfined(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.PublicBaseURL = "https://cairn.example/base" })
	key, _ := b.makeKey(b.Workspace, access.Read)
	res := b.post("/console/sign-in", url.Values{"key": {key}}, "Host", "cairn.example").is(http.StatusSeeOther)
	cookie := res.header.Get("Set-Cookie")
	for _, part := range []string{"__Host-cairn=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in the cookie %s", part, cookie)
		}
	}
	if to := res.header.Get("Location"); to != "/base"+b.at("") {
		t.Errorf("the browser is sent to %s", to)
	}
	value := strings.Split(cookie, ";")[0]
	b.get(b.at(""), "Host", "cairn.example", "Cookie", value).is(http.StatusOK).has(`href="/base/console/`)
	b.get(b.at(""), "Host", "cairn.example").is(http.StatusSeeOther)
}

func TestALinkFromAnotherSiteIsLoadedAgainForTheCookie(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.get(b.at("inbox"), "Sec-Fetch-Site", "cross-site").is(http.StatusOK).has(`http-equiv="refresh"`)
	b.get(b.at("inbox")).is(http.StatusSeeOther)
}

func TestTheRootOpensTheConsole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if to := b.get("/").is(http.StatusSeeOther).header.Get("Location"); to != "/console/" {
		t.Errorf("the browser is sent to %s", to)
	}
	b.get("/", "Accept", "application/json").is(http.StatusNotFound).has("see /openapi.json")
	b.post("/", url.Values{}).is(http.StatusNotFound)
	off := setup(t, func(c *config.Config) { c.Console = "off" })
	off.get("/").is(http.StatusNotFound)
	off.get("/console/").is(http.StatusNotFound)
	apart := setup(t, func(c *config.Config) { c.Console = "127.0.0.1:0" })
	apart.get("/console/").is(http.StatusNotFound)
}

func TestEveryResponseIsConfined(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	nonces := map[string]bool{}
	for _, path := range []string{"/console/sign-in", b.at(""), b.at("nothing"), "/console/w/other/",
		"/console/nothing",
		"/console/static/nothing"} {
		p := b.get(path)
		csp := p.header.Get("Content-Security-Policy")
		_, nonce, _ := strings.Cut(csp, "'nonce-")
		nonce, _, _ = strings.Cut(nonce, "'")
		if len(nonce) < 20 || nonces[nonce] || !strings.HasPrefix(csp, "default-src 'none'; ") ||
			!strings.Contains(csp, "frame-ancestors 'none'") ||
			!strings.Contains(csp, "require-trusted-types-for 'script'") {
			t.Errorf("%s: %s", path, csp)
		}
		nonces[nonce] = true
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin"} {
			if got := p.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

func TestThePagesFollowTheLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for accept, want := range map[string]string{"": "Sign in", "zh-CN,zh;q=0.9,en;q=0.8": "登录", "fr,zh-TW;q=0.5": "登录",
		"de, en": "Sign in", "nonsense;;": "Sign in"} {
		b.get("/console/sign-in", "Accept-Language", accept).is(http.StatusOK).has(want)
	}
}
