package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

func TestTheOverviewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var got httpapi.Overview
	b.get("/v1/overview").into(http.StatusOK, &got)
	if len(got.Health) != 1 || got.Health[0].Code != "no_worker" || got.Health[0].Remedy == "" ||
		got.Budget.MicrosLimit == nil {
		t.Errorf("%+v", got)
	}
	testkit.Must(t, b.Store.WorkerBeat(t.Context(), app.Queues()))
	b.waiting("Works at night.")
	b.get("/v1/overview").into(http.StatusOK, &got)
	if len(got.Health) != 0 || got.Waiting != 1 || got.Blocking != 0 {
		t.Errorf("%+v", got)
	}
}

func TestInboxItemsAreEditedAndDecidedTogether(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.waiting("Works at night.")
	b.waiting("Lives in Osaka.")
	b.waiting("Likes tea.")
	var list httpapi.InboxList
	b.get("/v1/inbox").into(http.StatusOK, &list)
	if len(list.Items) != 3 || list.Items[0].SHA == "" {
		t.Fatalf("%+v", list.Items)
	}
	first, path := list.Items[0], "/v1/inbox/"+list.Items[0].ID
	var seen httpapi.InboxDetail
	b.post(path+"/preview", object{"facts": []string{"Works by day."}}).into(http.StatusOK, &seen)
	if !strings.Contains(seen.Diff, "Works by day.") || seen.SHA != first.SHA {
		t.Errorf("preview %+v", seen)
	}
	b.post(path+"/preview", object{"facts": []string{"One.", "Two."}}).refused(fault.InvalidArgument)
	b.post(path+"/edit", object{"sha": strings.Repeat("0", 64), "text": object{"facts": []string{"Works by day."}}}).
		refused(fault.VersionConflict)
	b.post(path+"/edit", object{"sha": first.SHA, "text": object{"facts": []string{"Works by day."}}}).
		into(http.StatusOK, nil)
	var memories httpapi.BrowsedMemories
	b.get("/v1/memories/browse").into(http.StatusOK, &memories)
	if len(memories.Memories) != 1 || memories.Memories[0].Content != "Works by day." ||
		memories.Memories[0].Origin != "user" {
		t.Errorf("%+v", memories.Memories)
	}
	var decided httpapi.InboxOutcomes
	b.post("/v1/inbox/approve", object{"items": []object{{"id": list.Items[1].ID, "sha": list.Items[1].SHA},
		{"id": list.Items[2].ID}, {"id": "m999"}}}).into(http.StatusOK, &decided)
	states := ""
	for _, r := range decided.Results {
		states += r.State + " "
		if (r.Problem != nil) != (r.State == "failed") {
			t.Errorf("%+v", r)
		}
	}
	if states != "approved failed failed " {
		t.Errorf("states %q", states)
	}
	b.post("/v1/inbox/reject", object{"items": []object{{"id": list.Items[2].ID}}}).into(http.StatusOK, &decided)
	if len(decided.Results) != 1 || decided.Results[0].State != "rejected" {
		t.Errorf("%+v", decided.Results)
	}
	writer := b.makeKey(b.Workspace, access.Write)
	for _, way := range []string{"approve", "reject"} {
		b.do(request{method: http.MethodPost, path: "/v1/inbox/" + way, key: writer,
			body: object{"items": []object{{"id": "m1", "sha": "x"}}}}).refused(fault.OutOfScope)
	}
}

func TestSchedulesAreChanged(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.post("/v1/schedules", object{"name": "tea", "cron": "30 2 * * *", "prompt": "Tea.",
		"time_zone": "Europe/Berlin"}).
		into(http.StatusCreated, nil)
	var next httpapi.NextFirings
	b.get("/v1/schedules/tea/preview?limit=100&cron="+url.QueryEscape("30 2 * * 0")).into(http.StatusOK, &next)
	changes := ""
	for _, f := range next.Firings {
		changes += f.Change
	}
	if len(next.Firings) != 100 || !strings.Contains(changes, "skipped") || !strings.Contains(changes, "doubled") {
		t.Errorf("%d firings, clock changes %q", len(next.Firings), changes)
	}
	var task httpapi.ScheduledTask
	b.do(request{method: http.MethodPatch, path: "/v1/schedules/tea", body: object{"cron": "0 16 * * *"}}).
		into(http.StatusOK, &task)
	if task.Cron != "0 16 * * *" || task.Prompt != "Tea." || task.Zone != "Europe/Berlin" || !task.Zoned {
		t.Errorf("%+v", task)
	}
	b.do(request{method: http.MethodPatch, path: "/v1/schedules/tea",
		body: object{"time_zone": "", "prompt": "Coffee."}}).
		into(http.StatusOK, &task)
	if task.Zoned || task.Prompt != "Coffee." {
		t.Errorf("%+v", task)
	}
	for path, body := range map[string]object{"tea": {"cron": "x"}, "daily-reflection": {"cron": "0 1 * * *"},
		"weekly-curation": {"prompt": "x"}} {
		b.do(request{method: http.MethodPatch, path: "/v1/schedules/" + path, body: body}).
			refused(fault.InvalidArgument)
	}
	b.get("/v1/schedules/tea/preview?limit=0").refused(fault.InvalidArgument)
}

func TestSettingsAreDescribed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var all httpapi.SettingDescriptions
	b.get("/v1/settings/schema").into(http.StatusOK, &all)
	found := ""
	for _, s := range all.Settings {
		if s.Name == "nudge.every" {
			found = fmt.Sprint(s.Type, " ", string(s.Default))
		}
		if s.Text == "" {
			t.Errorf("%s has no description", s.Name)
		}
	}
	if found != "integer 10" || len(all.Settings) < 50 {
		t.Errorf("%q, %d settings", found, len(all.Settings))
	}
}

// What the console reads is there for programs, too.
func TestRunsAreCanceledAndUnmasked(t *testing.T) {
	t.Parallel()
	b, answer := remembering(t)
	var asked httpapi.CancelRequested
	b.post("/v1/runs/"+answer.Run+"/cancel", nil).into(http.StatusOK, &asked)
	if asked.Requested {
		t.Error("an ended run was canceled")
	}
	b.post("/v1/runs/run_00000000000000000000000000/cancel", nil).refused(fault.NotFound)
	var line httpapi.RunTimeline
	b.get("/v1/runs/"+answer.Run+"/timeline").into(http.StatusOK, &line)
	path := "/v1/runs/" + answer.Run + "/call?unmasked=true&step=" + url.QueryEscape(line.Spans[0].Name)
	b.get(path).into(http.StatusOK, nil)
	b.do(request{path: path, key: b.makeKey(b.Workspace, access.Write)}).refused(fault.OutOfScope)
	var audit httpapi.AuditEvents
	b.get("/v1/audit?action=prompt.unmask").into(http.StatusOK, &audit)
	if len(audit.Events) != 1 || !strings.Contains(audit.Events[0].Object, answer.Run) {
		t.Errorf("%+v", audit.Events)
	}
	b.get("/v1/banks/default/scores").into(http.StatusOK, &httpapi.BankScoreList{})
	b.get("/v1/people").into(http.StatusOK, &httpapi.PersonList{})
	b.post("/v1/deliveries/1/retry", nil).refused(fault.NotFound)
	b.post("/v1/deliveries/1/drop", nil).refused(fault.NotFound)
}
