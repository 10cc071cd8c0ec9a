package console_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/browsertest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// upload sends a form with a file.
func (b *bundle) upload(path, name string, content []byte) page {
	b.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if name != "" {
		part, err := form.CreateFormFile("file", name)
		testkit.Must(b.T, err)
		_, _ = part.Write(content)
	}
	testkit.Must(b.T, form.Close())
	return b.sendBody(http.MethodPost, path, form.FormDataContentType(), &body)
}

func TestSkillsAreUploadedAndTheirUsesShown(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	text := skill.Compose("water-plants", "Water the plants of the office", []byte(browsertest.Body("Look again")),
		skill.RenderOptions{})
	archive, err := skill.Zip("water-plants", text, nil)
	testkit.Must(t, err)
	to := b.upload(f.At("skills"), "water.zip", archive).is(http.StatusSeeOther).header.Get("Location")
	b.get(to).has("Uploaded", "Look again")
	b.upload(f.At("skills"), "water.zip", archive).is(http.StatusSeeOther)
	b.upload(f.At("skills"), "water.zip", []byte("no zip")).is(http.StatusBadRequest)
	b.upload(f.At("skills"), "", nil).is(http.StatusBadRequest).has("missing file")
	b.get(f.At("skills", f.Versioned)).has("No agent has used it yet.")
	b.exec(`insert into cairn.skill_uses (workspace_id, skill_id, use_id, version, outcome, decided_at)
  select workspace_id, id, 'run/' || $2, 2, 'fail', now() from cairn.skills where workspace_id = $1 and name = $3`,
		b.Workspace.ID, f.Turn, f.Versioned)
	b.get(f.At("skills", f.Versioned)).has("failed", f.Turn, "kitchen/ada")
	b.browser = browser(t)
	b.signedIn(access.Read)
	b.upload(f.At("skills"), "water.zip", archive).is(http.StatusForbidden)
}

func TestMemoriesAreUndoneExportedAndImported(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	b.get(b.post(f.At("memories", f.Personal, "undo"), url.Values{}).is(http.StatusSeeOther).header.Get("Location")).
		has("Undone.", "Lives in Bergen.", "Version 3")
	b.get(b.post(f.At("memories", f.Memory, "undo"), url.Values{}).is(http.StatusSeeOther).header.Get("Location")).
		has("Undone.").lacks("without sugar.</p>\n</blockquote>")
	b.post(f.At("memories", f.Memory, "delete"), url.Values{}).is(http.StatusSeeOther)
	to := b.post(f.At("memories", f.Memory, "undo"), url.Values{}).is(http.StatusSeeOther).header.Get("Location")
	b.get(to).has("Ada likes green tea.", "active")
	b.get(b.post(f.At("memories", f.Removed, "undo"), url.Values{}).is(http.StatusSeeOther).header.Get("Location")).
		has("Sails on Sundays.", "active")
	out := b.get(f.At("memories", "dump")).is(http.StatusOK).has("Sails on Sundays.")
	if !strings.HasPrefix(out.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%v", out.header)
	}
	b.get(b.upload(f.At("memories", "load"), "dump.ndjson", []byte(out.body)).is(http.StatusSeeOther).
		header.Get("Location")).has("Imported.")
	b.upload(f.At("memories", "load"), "dump.ndjson", []byte("{}\n")).is(http.StatusBadRequest)
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.get(f.At("memories", "dump")).is(http.StatusForbidden)
	b.upload(f.At("memories", "load"), "x", []byte(out.body)).is(http.StatusForbidden)
}

func TestAConversationIsErased(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	at := f.At("conversations", f.Thread, "erase")
	b.get(f.At("conversations", f.Thread)).has("Erase the conversation")
	b.get(at).is(http.StatusOK).has("messages", "Rows to delete")
	b.get(at + "?derived=delete").is(http.StatusOK).has(f.Memory)
	b.get(at + "?derived=all").is(http.StatusBadRequest)
	b.post(at, url.Values{"derived": {"keep"}}).is(http.StatusBadRequest).has("mark that you want")
	b.post(at, url.Values{"derived": {"all"}, "sure": {"yes"}}).is(http.StatusBadRequest)
	b.get(f.At("conversations", f.Thread)).is(http.StatusOK)
	b.get(b.post(at, url.Values{"derived": {"keep"}, "sure": {"yes"}}).is(http.StatusSeeOther).header.Get("Location")).
		has("The erasure has begun.")
	testkit.Eventually(t, "the conversation is erased", func() bool {
		return b.get(f.At("conversations", f.Thread)).status == http.StatusNotFound
	})
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.get(at).is(http.StatusForbidden)
	b.post(at, url.Values{"derived": {"keep"}, "sure": {"yes"}}).is(http.StatusForbidden)
}

func TestSchedulesAreChangedPreviewedAndBackfilled(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	b.post(f.At("schedules"), url.Values{"name": {"tea"}, "cron": {"30 2 * * *"}, "prompt": {"Remind me of the tea."}}).
		is(http.StatusSeeOther)
	at := f.At("schedules", "tea")
	b.get(at).is(http.StatusOK).has("Next firings", "Change the task", "Remind me of the tea.")
	if n := strings.Count(b.get(at).body, "02:30:00"); n < 10 {
		t.Errorf("%d firings", n)
	}
	b.get(at+"?cron=30+2+*+*+0&zone=Europe%2FBerlin").is(http.StatusOK).has("Next firings with these values", "CE")
	b.get(at + "?cron=nonsense").is(http.StatusBadRequest)
	form := url.Values{"cron": {"nonsense"}, "zone": {""}, "prompt": {"Remind me of the coffee."}}
	b.post(at, form).is(http.StatusBadRequest).has("Remind me of the coffee.")
	form.Set("cron", "0 16 * * *")
	form.Set("zone", "Asia/Shanghai")
	b.get(b.post(at, form).is(http.StatusSeeOther).header.Get("Location")).has("Saved.", "0 16 * * *", "Asia/Shanghai",
		"Remind me of the coffee.", "16:00:00 CST")
	b.get(f.At("schedules", "daily-reflection")).is(http.StatusOK).has("Next firings").lacks("Change the task")
	b.post(f.At("schedules", "daily-reflection"), form).is(http.StatusBadRequest).has("built in")
	b.post(f.At("schedules", "nothing"), form).is(http.StatusNotFound)
	day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	b.post(at+"/backfill", url.Values{"from": {"soon"}, "until": {day}}).is(http.StatusBadRequest)
	b.post(at+"/backfill", url.Values{"from": {day}, "until": {day}}).is(http.StatusSeeOther)
	testkit.Eventually(t, "the task has fired", func() bool {
		return strings.Contains(b.get(f.At("conversations")).text(), "schedule/tea/")
	})
	b.browser = browser(t)
	b.signedIn(access.Read)
	b.get(at).is(http.StatusOK).has("disabled")
	b.post(at, form).is(http.StatusForbidden)
	b.post(at+"/backfill", url.Values{"from": {day}, "until": {day}}).is(http.StatusForbidden)
}

func TestAChangeOfASettingIsShownFirst(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	at := f.At("settings")
	b.get(at).has("Meaning, range and effect", "The default is 10", "0 to 365")
	b.post(f.At("settings", "check"), url.Values{"name": {"nudge.every"}, "value": {"x"}}).is(http.StatusBadRequest)
	p := b.post(f.At("settings", "check"), url.Values{"name": {"nudge.every"}, "value": {"7"}}).is(http.StatusOK).
		has("This change", "Before", "After", "Save this change")
	s, err := b.Workspaces.Settings(t.Context(), b.Workspace.ID)
	if err != nil || s.Nudge.Every == 7 {
		t.Errorf("a preview has changed %+v, %v", s.Nudge, err)
	}
	b.post(at, url.Values{"name": {p.hidden("name")}, "value": {p.hidden("value")}}).is(http.StatusSeeOther)
	b.post(f.At("settings", "check"), url.Values{"name": {"nudge.every"}, "value": {"7"}}).has("Nothing would change.")
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.post(f.At("settings", "check"), url.Values{"name": {"nudge.every"}, "value": {"8"}}).is(http.StatusForbidden)
}

func TestDeliveriesAreRetriedAndDropped(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	p := b.get(f.At("channels")).is(http.StatusOK).has("unreachable", "dead", "Send again", "Ada", "administrator")
	_, rest, _ := strings.Cut(p.body, `/channels/`)
	id, _, _ := strings.Cut(rest, "/")
	b.post(f.At("channels", id, "retry"), url.Values{}).is(http.StatusSeeOther)
	b.post(f.At("channels", id, "retry"), url.Values{}).is(http.StatusNotFound)
	b.get(f.At("channels") + "?state=dead").has("unreachable").lacks("other reason")
	b.post(f.At("channels", "x", "drop"), url.Values{}).is(http.StatusNotFound)
	p = b.get(f.At("channels") + "?state=dead")
	_, rest, _ = strings.Cut(p.body, `/channels/`)
	id, _, _ = strings.Cut(rest, "/")
	b.post(f.At("channels", id, "drop"), url.Values{}).is(http.StatusSeeOther)
	b.get(f.At("channels")).has("dropped")
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.post(f.At("channels", id, "retry"), url.Values{}).is(http.StatusForbidden)
	b.post(f.At("channels", id, "drop"), url.Values{}).is(http.StatusForbidden)
}

func TestScoresAreDrawn(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Read)
	b.get(f.At("learning", "default")).is(http.StatusOK).has("Scores of decisions", "<polyline", "<polygon", "on trial",
		"0.500", "95 % interval")
}

func TestACallIsComparedAndUnmasked(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	secret := "sk-proj-" + strings.Repeat("a", 48)
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "Keep it safe: " + secret})
	second := f.Say(f.Thread, 7, "Make me a key.")
	at := f.At("runs", second.Run, "call") + "?round=0&step=" + url.QueryEscape(f.Step)
	b.get(at).is(http.StatusOK).has("Compare with another call", "Show secrets").lacks(secret)
	b.post(at, url.Values{}).is(http.StatusOK).has(secret, "The audit log says that you looked.")
	if a := b.audited("prompt.unmask"); !strings.Contains(a, second.Run) {
		t.Errorf("audited %q", a)
	}
	other := url.QueryEscape("0 " + f.Step)
	b.get(at+"&other="+other+"&with_run="+f.Turn).is(http.StatusOK).has("Keep it safe", "Make me a key.").
		lacks(secret)
	b.get(at + "&other=" + other).has("No changes.")
	b.get(at + "&other=nonsense").is(http.StatusBadRequest)
	b.get(at + "&other=" + other + "&with_run=nonsense").is(http.StatusBadRequest)
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.get(at).has("needs the scope admin")
	b.post(at, url.Values{}).is(http.StatusForbidden)
}

func TestAnOpenRunIsCanceled(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Write)
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Reply: "{}", Barrier: "never"})
	defer f.Model.Release("never")
	c := apptest.C1()
	c.ID, c.Messages[0].Content = "another", c.Messages[0].Content+" Again."
	r := f.Accept(c)
	testkit.Must(t, f.Driver.Start(t.Context(), f.Workspace.Key, "import", r))
	at := f.At("runs", r.Ref.Run)
	b.get(at).is(http.StatusOK).has("Cancel the run", "data-reload")
	b.post(at+"/cancel", url.Values{}).is(http.StatusSeeOther)
	testkit.Eventually(t, "the run has ended", func() bool {
		return strings.Contains(b.get(at).text(), "canceled")
	})
	b.get(at).lacks("Cancel the run", "data-reload")
	if events := b.get(at + "/events?seen=x").is(http.StatusOK); !strings.Contains(events.body, "event: changed") {
		t.Errorf("events of an ended run: %s", events.body)
	}
}

// An action that changes nothing says so, or is not offered.
func TestActionsWithoutEffectAreNotClaimed(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	to := b.post(f.At("try", f.Thread, "stop"), url.Values{"message": {"m1"}}).is(http.StatusSeeOther).
		header.Get("Location")
	b.get(to).has("Nothing was changed.")
	b.get(f.At("learning", "default")).has("learning/default/promote")
	b.exec("update cairn.policy_updates set state = 'shadow' where workspace_id = $1", b.Workspace.ID)
	b.get(f.At("learning", "default")).lacks("learning/default/promote")
}
