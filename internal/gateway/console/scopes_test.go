package console_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/gateway/console"
	"cairn/internal/lab/browsertest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// What each page and action of a workspace needs. A page that neither list has needs the scope read.
var (
	forAdministrators = strings.Fields(`GET/audit GET/audit/export GET/conversations/{conversation}/erase
GET/inbox/{item}/edit GET/keys GET/memories/dump POST/channels/{delivery}/drop POST/channels/{delivery}/retry
POST/conversations/{conversation}/erase POST/inbox POST/inbox/{item}/approve POST/inbox/{item}/edit
POST/inbox/{item}/reject POST/keys POST/keys/{key}/revoke POST/learning/{bank}/freeze POST/learning/{bank}/promote
POST/learning/{bank}/rollback POST/learning/{bank}/unfreeze POST/memories/load POST/runs/{run}/call
POST/sessions/{session}/end POST/settings POST/settings/check POST/skills/{skill}/adopt POST/skills/{skill}/archive
POST/skills/{skill}/pin
POST/skills/{skill}/release POST/skills/{skill}/restore POST/skills/{skill}/rollback POST/skills/{skill}/trust
POST/skills/{skill}/unpin`)
	forWriters = strings.Fields(`GET/try GET/try/{conversation} GET/try/{conversation}/{message}/events
POST/conversations/{conversation}/cancel POST/conversations/{conversation}/end
POST/conversations/{conversation}/rate POST/memories
POST/memories/{memory}/delete POST/memories/{memory}/edit POST/memories/{memory}/restore POST/memories/{memory}/undo
POST/outbox/{task}/retry POST/runs/{run}/cancel POST/runs/{run}/retry POST/schedules POST/schedules/{schedule}
POST/schedules/{schedule}/backfill POST/schedules/{schedule}/pause POST/schedules/{schedule}/remove
POST/schedules/{schedule}/resume POST/schedules/{schedule}/trigger POST/skills POST/try POST/try/{conversation}/rate
POST/try/{conversation}/stop`)
)

// address returns the method and the path of a pattern of a workspace, with names of the fixture.
func address(f *browsertest.Fixture, pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	segment := func(name string) string {
		_, last, _ := strings.Cut(f.At(name), f.At())
		return last
	}
	for name, value := range map[string]string{"workspace": segment(f.Workspace.Name),
		"conversation": segment(f.Thread), "memory": f.Personal, "run": f.Turn, "skill": f.Skill, "item": f.Candidate,
		"bank": "default", "schedule": "daily-reflection", "date": f.Day, "message": "m1",
		"delivery": "999999", "key": "999999", "session": "999999", "task": "999999", "$": ""} {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return method, path
}

func TestEachPageAndActionNeedsItsScope(t *testing.T) {
	t.Parallel()
	f := browsertest.Fill(t)
	signedIn := func(key string) *bundle {
		b := &bundle{Bundle: f.Bundle, url: f.URL, browser: browser(t)}
		if key != "" {
			b.post("/console/sign-in", url.Values{"key": {key}}).is(http.StatusSeeOther)
		}
		return b
	}
	f.Model.On(openaitest.Rule{Reply: "Nothing."}) // for the runs that actions start
	elsewhere, err := f.Store.Workspace(t.Context(), "elsewhere", true)
	testkit.Must(t, err)
	foreign, _, err := f.App.Keys.Create(t.Context(), elsewhere.ID, "foreign", []access.Scope{access.Admin})
	testkit.Must(t, err)
	nobody, stranger := signedIn(""), signedIn(foreign)
	reader, writer, admin := signedIn(f.Reader(access.Read)), signedIn(f.Reader(access.Write)), signedIn(f.Key)
	seen := 0
	const below = console.Root + "w/{workspace}/"
	for _, pattern := range console.New(console.Services{}, console.Options{}).Routes() {
		if !strings.Contains(pattern, below) {
			continue
		}
		seen++
		method, path := address(f, pattern)
		name := strings.Replace(strings.Replace(pattern, below, "/", 1), " ", "", 1)
		forAdmin, forWriter := slices.Contains(forAdministrators, name), slices.Contains(forWriters, name)
		if method == http.MethodPost && !forAdmin && !forWriter {
			t.Errorf("%s: no scope is expected of it", name)
		}
		ask := func(b *bundle) page {
			if method == http.MethodGet {
				return b.get(path)
			}
			return b.post(path, url.Values{})
		}
		if p := ask(nobody); p.status != http.StatusSeeOther && p.status != http.StatusUnauthorized {
			t.Errorf("%s without a session: %d", name, p.status)
		}
		if p := ask(stranger); p.status != http.StatusNotFound ||
			!strings.Contains(p.body, "there is no such workspace") {
			t.Errorf("%s from another workspace: %d", name, p.status)
		}
		if p := ask(reader); (p.status == http.StatusForbidden) != (forAdmin || forWriter) {
			t.Errorf("%s with the scope read: %d", name, p.status)
		}
		if p := ask(writer); (p.status == http.StatusForbidden) != forAdmin {
			t.Errorf("%s with the scope write: %d", name, p.status)
		}
		if p := ask(admin); p.status == http.StatusForbidden || p.status >= http.StatusInternalServerError {
			t.Errorf("%s with the scope admin: %d", name, p.status)
		}
	}
	if listed := len(forAdministrators) + len(forWriters); seen <= listed {
		t.Errorf("%d routes, and %d of them in lists", seen, listed)
	}
}

// logged keeps what a test logs.
type logged struct {
	testing.TB
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Output() io.Writer { return l }

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestKeysAndCookiesAreWrittenNowhere(t *testing.T) {
	t.Parallel()
	log := &logged{TB: t}
	f := browsertest.Fill(log, func(c *config.Config) { c.LogLevel = "debug" })
	b := &bundle{Bundle: f.Bundle, url: f.URL, browser: browser(t)}
	b.signedIn(access.Read)
	b.browser = browser(t)
	secrets := map[string]string{"key": f.Key}
	in := b.post("/console/sign-in", url.Values{"key": {f.Key}}).is(http.StatusSeeOther)
	_, cookie, _ := strings.Cut(in.header.Get("Set-Cookie"), "=")
	secrets["cookie"], _, _ = strings.Cut(cookie, ";")
	made := b.post(f.At("keys"), url.Values{"name": {"shop"}, "scope": {"read"}}).is(http.StatusOK)
	_, secret, _ := strings.Cut(made.body, `<code id="secret">`)
	secrets["new key"], _, _ = strings.Cut(secret, "<")
	lacks := func(where, text string) {
		t.Helper()
		for what, secret := range secrets {
			if len(secret) < 20 {
				t.Fatalf("the %s is %q", what, secret)
			}
			if strings.Contains(text, secret) {
				t.Errorf("%s has the %s", where, what)
			}
		}
	}
	for name, path := range f.Pages() {
		p := b.get(path)
		lacks(name, p.body+fmt.Sprint(p.header))
	}
	b.get("/console/sign-in?key=" + f.Key) // as a person might try
	b.post("/console/sign-in", url.Values{"key": {f.Key + "x"}})
	written := log.String()
	lacks("the log", written)
	if written == "" {
		t.Error("nothing was logged")
	}
	rows, err := b.Admin().Query(t.Context(), `select format('%I.%I', schemaname, tablename) from pg_tables
  where schemaname = 'cairn'`)
	testkit.Must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	testkit.Must(t, err)
	if len(tables) < 30 {
		t.Fatalf("tables %v", tables)
	}
	for _, table := range tables {
		for _, secret := range secrets {
			var n int
			testkit.Must(t, b.Admin().QueryRow(t.Context(), `select count(*) from `+table+` r
  where position($1 in r::text) > 0`, secret).Scan(&n))
			if n > 0 {
				t.Errorf("%d rows of %s have a key or a cookie", n, table)
			}
		}
	}
}
