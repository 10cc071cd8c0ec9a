package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/console"
	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// overHTTP names the operation of the HTTP API that does the same as an action of the console.
var overHTTP = map[string]string{
	"GET/audit": "listAuditEvents", "GET/keys": "listKeys", "GET/memories/dump": "dumpMemories",
	"GET/skills/{skill}/package": "packageOfSkill", "GET/runs/{run}/call": "showRunCall", "GET/usage": "showUsage",
	"GET/outbox": "listOutbox", "GET/settings": "showSettings",
	"POST/channels/{delivery}/drop":            "dropDelivery",
	"POST/channels/{delivery}/retry":           "retryDelivery",
	"POST/conversations/{conversation}/cancel": "cancelTurn",
	"POST/conversations/{conversation}/end":    "endConversation",
	"POST/conversations/{conversation}/erase":  "eraseConversation",
	"POST/conversations/{conversation}/rate":   "giveFeedback",
	"POST/inbox/{item}/approve":                "approveInboxItem",
	"POST/inbox/{item}/edit":                   "editInboxItem",
	"POST/inbox/{item}/reject":                 "rejectInboxItem",
	"POST/inbox":                               "approveInboxItems",
	"POST/keys":                                "createKey",
	"POST/keys/{key}/revoke":                   "revokeKey",
	"POST/learning/{bank}/freeze":              "freezeBank",
	"POST/learning/{bank}/promote":             "promotePolicyUpdate",
	"POST/learning/{bank}/rollback":            "rollbackBank",
	"POST/learning/{bank}/unfreeze":            "unfreezeBank",
	"POST/memories":                            "addMemory",
	"POST/memories/load":                       "loadMemories",
	"POST/memories/{memory}/delete":            "deleteMemory",
	"POST/memories/{memory}/edit":              "updateMemory",
	"POST/memories/{memory}/restore":           "restoreMemory",
	"POST/memories/{memory}/undo":              "restoreMemory",
	"POST/outbox/{task}/retry":                 "retryOutboxTask",
	"POST/runs/{run}/cancel":                   "cancelRun",
	"POST/runs/{run}/retry":                    "retryRun",
	"POST/schedules":                           "addSchedule",
	"POST/schedules/{schedule}":                "changeSchedule",
	"POST/schedules/{schedule}/backfill":       "backfillSchedule",
	"POST/schedules/{schedule}/pause":          "pauseSchedule",
	"POST/schedules/{schedule}/remove":         "removeSchedule",
	"POST/schedules/{schedule}/resume":         "resumeSchedule",
	"POST/schedules/{schedule}/trigger":        "triggerSchedule",
	"POST/sessions/{session}/end":              "endConsoleSession",
	"POST/settings":                            "changeSettings",
	"POST/skills":                              "uploadSkill",
	"POST/skills/{skill}/adopt":                "adoptSkill",
	"POST/skills/{skill}/archive":              "archiveSkill",
	"POST/skills/{skill}/pin":                  "pinSkill",
	"POST/skills/{skill}/unpin":                "pinSkill",
	"POST/skills/{skill}/release":              "releaseSkill",
	"POST/skills/{skill}/restore":              "restoreSkill",
	"POST/skills/{skill}/rollback":             "rollbackSkill",
	"POST/skills/{skill}/trust":                "trustSkill",
	"POST/try":                                 "turn",
	"POST/try/{conversation}/rate":             "giveFeedback",
	"POST/try/{conversation}/stop":             "cancelTurn",
}

// onlyHere are actions that the HTTP API does not have: a check of a form, and the prompts of a call without masks,
// which over HTTP are a parameter of a page for readers.
var onlyHere = []string{"POST/settings/check", "POST/runs/{run}/call"}

// An act needs one scope, whatever the door.
func TestAnActNeedsTheSameScopeInTheConsoleAndOverHTTP(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../schemas/openapi.json")
	testkit.Must(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			ID       string                `json:"operationId"`
			Security []map[string][]string `json:"security"`
		}
	}
	testkit.Must(t, json.Unmarshal(raw, &document))
	scopes := map[string]string{}
	for _, operations := range document.Paths {
		for _, o := range operations {
			for _, s := range o.Security {
				for _, scope := range s {
					scopes[o.ID] = strings.Join(scope, "")
				}
			}
		}
	}
	const below = console.Root + "w/{workspace}/"
	seen := 0
	for _, pattern := range console.New(console.Services{}, console.Options{}).Routes() {
		name := strings.Replace(strings.Replace(pattern, below, "/", 1), " ", "", 1)
		if !strings.Contains(pattern, below) || slices.Contains(onlyHere, name) {
			continue
		}
		operation, named := overHTTP[name]
		if !named {
			if strings.HasPrefix(name, http.MethodPost) {
				t.Errorf("%s: which operation does the same?", name)
			}
			continue
		}
		scope := string(access.Read)
		switch {
		case slices.Contains(forAdministrators, name):
			scope = string(access.Admin)
		case slices.Contains(forWriters, name):
			scope = string(access.Write)
		}
		if seen++; scopes[operation] != scope {
			t.Errorf("%s needs %s, and %s needs %q", name, scope, operation, scopes[operation])
		}
	}
	if seen < len(overHTTP)-1 {
		t.Errorf("compared %d of %d acts", seen, len(overHTTP))
	}
}

// A session without the scope admin cannot activate a memory in quarantine, whichever button it uses.
func TestOnlyAnAdministratorRestoresFromQuarantine(t *testing.T) {
	t.Parallel()
	f := browsertest.Fill(t)
	set := func(id string) {
		_, err := f.Admin().Exec(t.Context(), `update cairn.memories set status = 'quarantined' where external_id = $1`,
			id)
		testkit.Must(t, err)
	}
	status := func(id string) (out string) {
		testkit.Must(t, f.Admin().QueryRow(t.Context(),
			"select status from cairn.memories where external_id = $1", id).Scan(&out))
		return out
	}
	b := &bundle{Bundle: f.Bundle, url: f.URL, browser: browser(t)}
	b.post("/console/sign-in", url.Values{"key": {f.Reader(access.Write)}}).is(http.StatusSeeOther)
	set(f.Personal)
	for _, act := range []string{"restore", "undo", "edit"} {
		b.post(f.At("memories", f.Personal)+"/"+act, url.Values{"text": {"Likes rain."}, "content": {"Likes rain."},
			"version": {"1"}})
		if got := status(f.Personal); got != "quarantined" {
			t.Errorf("after %s with the scope write, it is %s", act, got)
		}
	}
	b = &bundle{Bundle: f.Bundle, url: f.URL, browser: browser(t)}
	b.post("/console/sign-in", url.Values{"key": {f.Key}}).is(http.StatusSeeOther)
	b.post(f.At("memories", f.Personal)+"/restore", url.Values{"version": {"1"}})
	if got := status(f.Personal); got != "active" {
		t.Errorf("after a restoration with the scope admin, it is %s", got)
	}
}
