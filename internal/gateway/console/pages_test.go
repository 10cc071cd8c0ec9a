package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// filled is a bundle over a filled workspace.
func filled(t *testing.T, scope access.Scope) (*bundle, *browsertest.Fixture) {
	t.Helper()
	f := browsertest.Fill(t)
	b := &bundle{Bundle: f.Bundle, url: f.URL, browser: browser(t)}
	return b.signedIn(scope), f
}

func TestEveryPageOpensInEachLanguage(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	for name, path := range f.Pages() {
		for _, language := range []string{"en", "zh"} {
			p := b.get(path, "Accept-Language", language).is(http.StatusOK)
			if !strings.Contains(p.body, `<html lang="`+language+`"`) || len(p.body) > 150<<10 {
				t.Errorf("%s: %d bytes", name, len(p.body))
			}
			if strings.Contains(p.body, "<b>Ada</b>") || strings.Contains(p.body, "%!") {
				t.Errorf("%s: text is not escaped, or a format is wrong", name)
			}
		}
	}
	b.get(f.At("conversations", f.Thread)).has("Please remember that I like green tea.", "Remembered in this turn",
		"memory_save", `id="m0"`)
	b.get(f.At("memories", f.Memory)).has("without sugar", "Who said it", "kitchen/ada", "user Please remember")
	b.get(f.At("runs", f.Turn)).has("Waterfall", "scripted", "memory_save", "Noted:", "<strong>green tea</strong>")
	b.get(f.Pages()["call"]).has("Please remember that I like green tea.", "memory_save", "Secrets are replaced")
	b.get(f.At("skills", f.Versioned)).has("Probe twice", "Roll back to version").lacks("then write a report")
	b.get(f.Pages()["diff"]).has("Probe once", "Probe twice")
	b.get(f.At("runs") + "?kind=distill").has("distillation")
	b.get(f.At("runs") + "?conversation=" + url.QueryEscape(f.Thread)).has("turn").lacks(f.Distill)
	b.get(f.At("memories") + "?q=tea").has("green tea")
	b.get(f.At("memories") + "?status=removed").has("Sails on Sundays")
	b.get(f.At("memories") + "?target=ada").has("Lives in Oslo")
}

func TestBadFiltersAreRefused(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Read)
	for _, path := range []string{"runs?kind=nonsense", "runs?cursor=nonsense", "memories?as_of=yesterday",
		"memories?cursor=!", "memories?type=x", "skills?status=x", "skills?cursor=x", "conversations?cursor=x",
		"conversations?channel=x", "runs/run_nonsense"} {
		b.get(f.At()+path).is(http.StatusBadRequest).has("Open this page without filters", "invalid")
	}
	for _, path := range []string{"runs/run_00000000000000000000000000", "skills/nothing", "memories/0000000000000000",
		"conversations/nothing", "inbox/s999999"} {
		b.get(f.At() + path).is(http.StatusNotFound)
	}
}

func TestAMemoryIsEditedAndRestored(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	at := f.At("memories", f.Personal)
	shown := b.get(at).is(http.StatusOK).has("Lives in Oslo.", "Lives in Bergen.")
	form := url.Values{"op": {shown.hidden("op")}, "base": {"1"}, "content": {"Lives in Rome."}}
	b.post(at+"/edit", form).is(http.StatusConflict).has("Lives in Rome.") // what was typed is kept
	form.Set("base", "2")
	b.get(b.post(at+"/edit", form).is(http.StatusSeeOther).header.Get("Location")).has("Saved.", "Lives in Rome.")
	b.post(at+"/edit", form).is(http.StatusSeeOther) // sent twice: applied once
	b.get(at).has("Version 3").lacks("Version 4")
	b.post(at+"/delete", url.Values{}).is(http.StatusSeeOther)
	b.get(at).has("removed", "Restore version").lacks("<textarea")
	b.post(at+"/restore", url.Values{"version": {"1"}}).is(http.StatusSeeOther)
	b.get(at).has("Lives in Bergen.", "active")
	if got := b.audited("memory.edit"); !strings.HasPrefix(got, "memory "+f.Personal) {
		t.Errorf("audited edits of %q", got)
	}
	if got := b.audited("memory.delete"); got != "memory "+f.Personal {
		t.Errorf("audited deletions of %q", got)
	}
	at = f.At("memories", f.Memory)
	b.post(at+"/edit", url.Values{"content": {"Ada likes oolong."}}).is(http.StatusSeeOther)
	b.get(at).has("Ada likes oolong.")
	b.post(at+"/delete", url.Values{}).is(http.StatusSeeOther)
	b.get(f.At("memories")).lacks("oolong")
	b.post(at+"/restore", url.Values{"version": {"1"}}).is(http.StatusSeeOther)
	b.get(at).has("Ada likes green tea.", "active")
	b.post(at+"/undo", url.Values{}).is(http.StatusSeeOther) // the version before was the removed one
	b.get(at).has("Ada likes oolong.", "active")
	b.post(at+"/delete", url.Values{}).is(http.StatusSeeOther)
	to := b.post(f.At("memories"), url.Values{"content": {"Ada is a cook."}, "store": {"profile"}}).
		is(http.StatusSeeOther).header.Get("Location")
	b.get(to).has("Ada is a cook.", "profile")
	secret := url.Values{
		"content": {"The key is sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		"store":   {"core"},
	}
	if p := b.post(f.At("memories"), secret); p.status < 400 || !strings.Contains(p.body, "sk-proj") {
		t.Errorf("a secret: status %d: %s", p.status, p.text())
	}
}

// What was known at a time is read from the revisions.
func TestMemoriesAreShownAsTheyWere(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Read)
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := b.Admin().Exec(t.Context(), sql, args...)
		testkit.Must(t, err)
	}
	exec(`update cairn.memory_revisions set created_at = created_at - make_interval(days => 10 - 3 * version)`)
	exec(`update cairn.memories set created_at = created_at - interval '7 days'`)
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	b.get(f.At("memories")+"?as_of="+day(9)).is(http.StatusOK).lacks("Bergen", "Oslo")
	b.get(f.At("memories")+"?as_of="+day(5)).is(http.StatusOK).
		has("Lives in Bergen.", "Sails on Sundays.", "Now:", "Lives in Oslo.")
	b.get(f.At("memories")+"?as_of="+day(1)).is(http.StatusOK).has("Lives in Oslo.").lacks("Bergen", "Sails")
}

func TestASkillIsChanged(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	at := f.At("skills", f.Versioned)
	b.post(at+"/rollback", url.Values{"to": {"1"}, "base": {"1"}}).is(http.StatusConflict)
	b.get(b.post(at+"/rollback", url.Values{"to": {"1"}, "base": {"2"}}).is(http.StatusSeeOther).
		header.Get("Location")).has("Rolled back.", "Probe once")
	for _, step := range []struct{ action, want string }{{"pin", "pinned"}, {"unpin", "Unpinned."},
		{"adopt", "agents may change it"}, {"release", "no longer change"}, {"archive", "archived"},
		{"restore", "Restored."}} {
		b.get(b.post(at+"/"+step.action, url.Values{}).is(http.StatusSeeOther).header.Get("Location")).has(step.want)
	}
	p := b.get(at + "/package?version=1").is(http.StatusOK)
	if !strings.HasPrefix(p.header.Get("Content-Disposition"), "attachment; ") || !strings.HasPrefix(p.body, "PK") {
		t.Errorf("%v", p.header)
	}
	for _, scope := range []access.Scope{access.Read, access.Write} {
		b.browser = browser(t)
		b.signedIn(scope)
		b.post(at+"/archive", url.Values{}).is(http.StatusForbidden)
		b.post(at+"/rollback", url.Values{"to": {"2"}, "base": {"3"}}).is(http.StatusForbidden)
	}
}

func TestARunIsRetried(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	b.post(f.At("runs", f.Turn, "retry"), url.Values{}).is(http.StatusBadRequest).has("cannot be retried")
	b.get(f.At("runs", f.Turn)).has("A run of this kind cannot be retried.", "Send the text again as a new message.")
	ended := b.post(f.At("runs", f.Distill, "cancel"), url.Values{}).is(http.StatusSeeOther)
	if to := ended.header.Get("Location"); !strings.Contains(to, "unchanged") {
		t.Errorf("an ended run: %s", to)
	}
	b.post(f.At("runs", f.Turn, "cancel"), url.Values{}).is(http.StatusSeeOther)
	to := b.post(f.At("runs", f.Distill, "retry"), url.Values{"fresh": {"yes"}}).is(http.StatusSeeOther).
		header.Get("Location")
	if strings.Contains(to, f.Distill) {
		t.Errorf("the same run: %s", to)
	}
	b.get(to).is(http.StatusOK).has("distillation")
	b.post(f.At("conversations", f.Thread, "end"), url.Values{}).is(http.StatusSeeOther)
	testkit.Eventually(t, "the conversation has ended", func() bool { // its workflow ends a moment later
		return strings.Contains(b.get(f.At("conversations", f.Thread)).text(), " ended ")
	})
}

func TestReadersChangeNothing(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Read)
	for _, path := range []string{f.At("memories"), f.At("memories", f.Personal, "edit"),
		f.At("memories", f.Personal, "delete"), f.At("memories", f.Personal, "restore"),
		f.At("runs", f.Distill, "retry"),
		f.At("runs", f.Turn, "cancel"), f.At("conversations", f.Thread, "end"),
		f.At("conversations", f.Thread, "cancel")} {
		b.post(path, url.Values{"content": {"x"}, "version": {"1"}}).is(http.StatusForbidden)
	}
	b.get(f.At("memories", f.Personal)).has("disabled", "needs the scope write")
}

func TestKeysAndSessionsAreManaged(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	at := f.At("keys")
	b.get(at).is(http.StatusOK).has("laptop", "this browser")
	b.post(at, url.Values{"name": {"robot"}}).is(http.StatusBadRequest).has("missing scope")
	made := b.post(at, url.Values{"name": {"robot"}, "scope": {"read", "write"}}).is(http.StatusOK).has("only time")
	_, key, _ := strings.Cut(made.body, `<code id="secret">`)
	key, _, _ = strings.Cut(key, "<")
	h, err := b.Keys.Principal(t.Context(), key)
	testkit.Must(t, err)
	b.get(at).lacks(key)
	b.post(f.At("keys", strconv.FormatInt(h.Key, 10), "revoke"), url.Values{}).is(http.StatusSeeOther)
	b.get(at).has("revoked")
	sessions, err := b.Sessions.List(t.Context(), b.Workspace.ID)
	testkit.Must(t, err)
	b.post(f.At("sessions", strconv.FormatInt(sessions[0].ID, 10), "end"), url.Values{}).is(http.StatusSeeOther)
	b.get(at).is(http.StatusSeeOther) // it was the session of this browser
	for _, scope := range []access.Scope{access.Read, access.Write} {
		b.browser = browser(t)
		b.signedIn(scope)
		for _, path := range []string{at, f.At("audit"), f.At("audit", "export")} {
			b.get(path).is(http.StatusForbidden)
		}
		b.post(at, url.Values{"name": {"x"}, "scope": {"admin"}}).is(http.StatusForbidden)
	}
}

func TestTheAuditLogIsExported(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	b.get(f.At("audit")+"?action=console.sign_in").is(http.StatusOK).has("console.sign_in", "127.0.0.1")
	b.get(f.At("audit") + "?action=nonsense").is(http.StatusBadRequest)
	p := b.get(f.At("audit", "export")).is(http.StatusOK).has(`"action":"key.create"`, `"action":"console.sign_in"`)
	if !strings.HasPrefix(p.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%v", p.header)
	}
}

func TestSchedulesAreManaged(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	at := f.At("schedules")
	b.get(at).is(http.StatusOK).has("daily-reflection")
	form := url.Values{"name": {"tea"}, "cron": {"nonsense"}, "prompt": {"Remind me of the tea."}}
	b.post(at, form).is(http.StatusBadRequest).has("Remind me of the tea.")
	form.Set("cron", "0 16 * * *")
	b.get(b.post(at, form).is(http.StatusSeeOther).header.Get("Location")).has("0 16 * * *")
	for _, verb := range []string{"pause", "resume", "remove"} {
		b.post(f.At("schedules", "tea", verb), url.Values{}).is(http.StatusSeeOther)
	}
	b.get(at).lacks("0 16 * * *<")
	b.post(f.At("schedules", "daily-reflection", "remove"), url.Values{}).is(http.StatusBadRequest)
}

func TestSettingsAreChanged(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	at := f.At("settings")
	b.get(at).is(http.StatusOK).has("nudge.every", "tokens_per_day")
	b.post(at, url.Values{"name": {"nudge.every"}, "value": {"many"}}).is(http.StatusBadRequest).has("many")
	b.post(at, url.Values{"name": {"nudge.every"}, "value": {`"many"`}}).is(http.StatusBadRequest)
	b.post(at, url.Values{"name": {"colour"}, "value": {"1"}}).is(http.StatusBadRequest)
	b.post(at, url.Values{"name": {"nudge.every"}, "value": {"7"}}).is(http.StatusSeeOther)
	s, err := b.Workspaces.Settings(t.Context(), b.Workspace.ID)
	if err != nil || s.Nudge.Every != 7 {
		t.Errorf("%+v, %v", s.Nudge, err)
	}
	b.post(at, url.Values{"name": {"time_zone"}, "value": {`"Asia/Shanghai"`}}).is(http.StatusSeeOther)
	b.get(f.At()).has("Asia/Shanghai")
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.post(at, url.Values{"name": {"nudge.every"}, "value": {"8"}}).is(http.StatusForbidden)
}

// The sums of the page equal those of the ledger.
func TestUsageIsSummed(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Read)
	_, err := b.Admin().Exec(t.Context(), `update cairn.llm_calls set cost_micros = 1500, model = 'priced',
  sent_at = now() - interval '3 days' where run_id = $1`, f.Turn)
	testkit.Must(t, err)
	var calls, micros int64
	testkit.Must(t, b.Admin().QueryRow(t.Context(), `select count(*), sum(cost_micros) from cairn.llm_calls
  where workspace_id = $1 and model = 'priced'`, b.Workspace.ID).Scan(&calls, &micros))
	b.get(f.At("usage")).
		is(http.StatusOK).
		has("priced", fmt.Sprintf("$%.4f", float64(micros)/1e6), "scripted", "unpriced",
			time.Now().UTC().AddDate(0, 0, -3).Format(time.DateOnly))
	b.get(f.At("usage") + "?to=" + time.Now().UTC().AddDate(0, 0, -10).Format(time.DateOnly)).is(http.StatusOK).
		lacks("priced</")
	b.get(f.At("usage") + "?from=2020-01-01").is(http.StatusBadRequest)
}

func TestOutboxTasksAreRetried(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	var id int64
	testkit.Must(
		t,
		b.Admin().QueryRow(t.Context(), `insert into cairn.outbox (workspace_id, kind, key, due_at, last_error,
  failures, failed_since) values ($1, 'embed', '987654', now() + interval '1 hour',
    'the endpoint is <b>away</b>', 3, now()) returning id`, b.Workspace.ID).Scan(&id),
	)
	b.get(f.At("outbox")).is(http.StatusOK).has("987654", "away").lacks("<b>away")
	b.post(f.At("outbox", strconv.FormatInt(id, 10), "retry"), url.Values{}).is(http.StatusSeeOther)
	b.post(f.At("outbox", "1", "retry"), url.Values{}).is(http.StatusNotFound)
	b.post(f.At("outbox", "x", "retry"), url.Values{}).is(http.StatusNotFound)
}

func TestFailedDaysAndUnknownCallsAreListedWithTheOutbox(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	b.get(b.at("outbox")).is(http.StatusOK).has("No day has failed")
	b.exec(`insert into cairn.reflection_runs (workspace_id, local_date, zone, status, to_at, failures, reason)
  values ($1, current_date, 'UTC', 'failed', now(), 3, 'provider_error')`, b.Workspace.ID)
	b.get(b.at("outbox")).has("The last reflection failed", b.at("reflections"), "`cairn reflect`")
}

// Lists go on after a page, in their order and without gaps, also among equal times.
func TestListsGoOnAfterAPage(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	b.exec(`insert into cairn.outbox (workspace_id, kind, key, failures, failed_since)
  select $1, 'settings', 'key' || lpad(i::text, 3, '0') || '.', i % 3, case when i % 3 > 0 then now() end
  from generate_series(1, 120) i`, b.Workspace.ID)
	b.exec(
		`with account as (insert into cairn.channel_accounts (name, platform) values ('bot', 'telegram') returning name
), route as (insert into cairn.channel_routes (workspace_id, account, chat, conversation)
  select $1, name, '4711', 'bot/4711' from account returning id)
insert into cairn.deliveries (workspace_id, route_id, source, body, state, reason, ended_at)
select $1, id, 'key' || lpad(i::text, 3, '0') || '.', '{"text": "Hello."}',
  case i % 3 when 0 then 'dead' else 'dropped' end, '', now() from route, generate_series(1, 120) i`,
		b.Workspace.ID,
	)
	key := regexp.MustCompile(`key\d{3}\.`)
	next := regexp.MustCompile(`href="([^"]*cursor=[^"]*)" rel="next"`)
	for _, list := range []string{"outbox", "channels"} {
		var seen []string
		at, pages := b.at(list), 0
		for ; at != "" && pages < 9; pages++ {
			p := b.get(at).is(http.StatusOK)
			seen = append(seen, key.FindAllString(p.body, -1)...)
			at = ""
			if m := next.FindStringSubmatch(p.body); m != nil {
				at = html.UnescapeString(m[1])
			}
		}
		unique := slices.Compact(slices.Sorted(slices.Values(seen)))
		if pages != 3 || len(seen) != 120 || len(unique) != 120 {
			t.Errorf("%s: %d rows, %d different ones, on %d pages", list, len(seen), len(unique), pages)
		}
		first := map[string]string{"outbox": "key002.", "channels": "key120."}[list] // failed most; the latest dead one
		if seen[0] != first {
			t.Errorf("%s begins with %s, want %s", list, seen[0], first)
		}
		b.get(b.at(list) + "?cursor=x").is(http.StatusBadRequest).has("send next_cursor of the previous page unchanged")
	}
}
