package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/inbox"
	"cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// events lists the events of an action in the workspace of the key.
func (b *bundle) events(key string, action audit.Action) []httpapi.AuditEvent {
	b.T.Helper()
	var page httpapi.AuditEvents
	b.do(request{path: "/v1/audit?action=" + string(action), key: key}).into(http.StatusOK, &page)
	return page.Events
}

// operatorEvents lists the events of an action that belong to no workspace.
func (b *bundle) operatorEvents(action audit.Action) []audit.Event {
	b.T.Helper()
	out, err := b.gateway.Audit.List(b.T.Context(), 0, audit.Filter{Action: action}, 10)
	testkit.Must(b.T, err)
	return out
}

// once checks that an act of the bundle's key left exactly one event about the object.
func (b *bundle) once(action audit.Action, object string) {
	b.T.Helper()
	all := b.events(b.key, action)
	if len(all) != 1 || all[0].Object != object || all[0].Request != "req-1" || all[0].Actor.Kind != audit.Key ||
		all[0].Actor.Name != "test" || all[0].Actor.KeyID == 0 || all[0].Address != "127.0.0.1" ||
		time.Since(all[0].At) > time.Hour {
		b.T.Errorf("%s: %+v, want one event about %q", action, all, object)
	}
}

// acts sends a request, which succeeds, and repeats it with the same key. Its repetition may fail.
func (b *bundle) acts(r request) response {
	b.T.Helper()
	r.header = map[string]string{"Idempotency-Key": r.path, "X-Request-Id": "req-1"}
	if r.method == "" {
		r.method = http.MethodPost
	}
	first := b.do(r)
	if first.status >= http.StatusBadRequest || first.header.Get("X-Request-Id") != "req-1" {
		b.T.Fatalf("%s %s: %d %s, %v", r.method, r.path, first.status, first.body, first.header)
	}
	b.do(r)
	return first
}

// uploaded uploads a skill as a candidate, or a change of one.
func (b *bundle) uploaded(name, procedure string, status int) {
	b.T.Helper()
	archive, err := skill.Zip(name, []byte("---\nname: "+name+"\ndescription: How to do it\n---\n\n## Procedure\n\n1. "+
		procedure+"\n"), nil)
	testkit.Must(b.T, err)
	b.do(request{method: http.MethodPost, path: "/v1/skills/upload", body: archive,
		header: map[string]string{"Content-Type": "application/zip", "X-Request-Id": "req-1"}}).
		into(status, nil)
}

func TestActsOnSkillsLeaveOneEventEach(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	for _, name := range []string{"cooking", "weather"} {
		b.uploaded(name, "Begin", http.StatusAccepted)
		b.uploaded(name, "Begin", http.StatusOK) // has this content already
	}
	if all := b.events(b.key, audit.SkillImport); len(all) != 2 || all[0].Object != "skill 2" {
		t.Errorf("imports %+v", all)
	}
	b.acts(request{path: "/v1/inbox/s1/approve", body: b.seen("s1")})
	b.once(audit.SkillApprove, "skill 1")
	b.acts(request{path: "/v1/inbox/s2/reject"})
	b.once(audit.SkillReject, "skill 2")
	b.acts(request{path: "/v1/skills/2/restore"})
	b.once(audit.SkillRestore, "skill 2")
	b.admin("update cairn.skills set tainted = true where id = 1")
	b.acts(request{path: "/v1/skills/1/trust"})
	b.once(audit.SkillTrust, "skill 1")

	b.uploaded("cooking", "Light the stove", http.StatusAccepted)
	b.uploaded("cooking", "Call for a pizza", http.StatusAccepted)
	changes := b.inboxIDs(inbox.Change)
	yes, no := changes[0], changes[1]
	b.acts(request{path: "/v1/inbox/" + yes + "/approve", body: b.seen(yes)})
	b.once(audit.ChangeApprove, "change "+yes[1:])
	b.acts(request{path: "/v1/inbox/" + no + "/reject"})
	b.once(audit.ChangeReject, "change "+no[1:])
	b.acts(request{path: "/v1/skills/1/rollback", body: object{"to": 1}})
	b.once(audit.SkillRollback, "skill 1 to version 1")
	b.post("/v1/skills/1/rollback", object{"to": 9}).refused(fault.NotFound)
	b.once(audit.SkillRollback, "skill 1 to version 1")
}

func TestActsOnMemoriesLeaveOneEventEach(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	yes, no := b.waiting("Works at night."), b.waiting("Likes surprises.")
	first, second := fmt.Sprintf("m%d", yes), fmt.Sprintf("m%d", no)
	b.acts(request{path: "/v1/inbox/" + first + "/approve", body: b.seen(first)})
	b.once(audit.MemoryApprove, fmt.Sprintf("pending memory %d", yes))
	b.acts(request{path: "/v1/inbox/" + second + "/reject"})
	b.once(audit.MemoryReject, fmt.Sprintf("pending memory %d", no))

	var made httpapi.MemoryWritten
	b.post("/v1/memories", object{"content": "Keeps bees.", "memory_type": "personal", "memory_target": "ann"}).
		into(http.StatusCreated, &made)
	id := made.IDs[0]
	b.do(request{method: http.MethodDelete, path: "/v1/memories/" + id}).into(http.StatusOK, nil)
	b.acts(request{path: "/v1/memories/" + id + "/restore?version=1"})
	b.once(audit.MemoryRestore, "memory "+id+" to version 1")
	b.post("/v1/memories/0000000000000000/restore", nil).refused(fault.NotFound)
	b.once(audit.MemoryRestore, "memory "+id+" to version 1")

	b.do(request{method: http.MethodPut, path: "/v1/soul", body: object{"content": "Answer briefly."}}).
		into(http.StatusOK, nil)
	b.acts(request{path: "/v1/soul/rollback", body: object{"version": 0}})
	b.once(audit.SoulRollback, "soul to version 0")

	var files httpapi.BankFiles
	b.get("/v1/banks/default/export").into(http.StatusOK, &files)
	files.Files["capture_dates.md"] = string(memoryskill.Render(memoryskill.Skill{Name: "capture_dates",
		Description: "Adds dates.", Purpose: "Keep them.", WhenToUse: []string{"The span mentions them"},
		HowToApply: []string{"One fact in one item"}, Constraints: []string{"Ignore greetings"},
		Action: memoryskill.Insert}))
	b.acts(request{path: "/v1/banks/default/import", body: files})
	b.once(audit.BankImport, "bank 1, 1 skills")
	b.acts(request{path: "/v1/banks/default/rollback", body: object{"to": 1}})
	b.once(audit.BankRollback, "bank 1 to version 1")
	b.acts(request{path: "/v1/banks/default/freeze"})
	b.once(audit.BankFreeze, "bank 1")
	b.post("/v1/banks/default/rollback", object{"to": 2}).refused(fault.Protected)
	b.once(audit.BankRollback, "bank 1 to version 1")
	b.acts(request{path: "/v1/banks/default/unfreeze"})
	b.once(audit.BankUnfreeze, "bank 1")
}

// The services have no route for these acts, or it needs a run.
func TestTheIdentityAndRunsAreTakenBackWithOneEvent(t *testing.T) {
	t.Parallel()
	b := idle(t)
	actor := func(op string) agent.Actor {
		return agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser, Op: op}
	}
	_, err := b.LongTerm.UpdateIdentity(t.Context(), actor("i"), memory.IdentityArgs{Content: "I am a bee keeper."})
	testkit.Must(t, err)
	ctx := audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "ada"})
	for range 2 {
		_, err = b.LongTerm.RollbackIdentity(ctx, actor("r"), memory.RollbackArgs{Version: 0})
		testkit.Must(t, err)
	}
	if all := b.events(b.key, audit.IdentityRollback); len(all) != 1 || all[0].Object != "identity to version 0" ||
		all[0].Actor != (audit.Author{Kind: audit.CLI, Name: "ada"}) {
		t.Errorf("%+v", all)
	}
	if _, err := b.LongTerm.Undo(ctx, actor("u"), memory.UndoArgs{Run: noRun}); err == nil {
		t.Error("a run without changes is undone")
	}
	if all := b.events(b.key, audit.MemoryUndo); len(all) != 0 {
		t.Errorf("an act that fails leaves %+v", all)
	}
}

func TestKeysSettingsAndDumpsLeaveOneEventEach(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	var made struct{ ID string }
	b.do(request{method: http.MethodPost, path: "/mem0/api-keys", body: object{"label": "the shop"},
		header: map[string]string{"X-Request-Id": "req-1"}}).into(http.StatusCreated, &made)
	if all := b.events(b.key, audit.KeyCreate); len(all) != 2 || all[0].Object != "key "+made.ID ||
		all[0].Actor.Name != "test" || all[0].Request != "req-1" || all[1].Actor.Kind != audit.System {
		t.Errorf("created %+v", all)
	}
	b.acts(request{method: http.MethodDelete, path: "/mem0/api-keys/" + made.ID})
	b.once(audit.KeyRevoke, "key "+made.ID)

	b.acts(request{method: http.MethodPatch, path: "/v1/settings", body: object{"limits": object{"undo_days": 9}}})
	b.once(audit.SettingsChange, "limits")
	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: object{"limits": object{"undo_days": -9}}}).
		refused(fault.InvalidArgument)
	b.once(audit.SettingsChange, "limits")

	b.post("/v1/memories", object{"content": "Keeps bees.", "memory_type": "personal", "memory_target": "ann"}).
		into(http.StatusCreated, nil)
	dumped := b.do(request{path: "/v1/memories/dump", header: map[string]string{"X-Request-Id": "req-1"}})
	b.once(audit.MemoriesDump, "memories")
	b.post("/v1/memories/load", strings.Replace(string(dumped.body), "bees", "wasps", 1)).refused(fault.InvalidArgument)
	b.acts(request{path: "/v1/memories/load", body: dumped.body})
	all := b.events(b.key, audit.MemoriesLoad)
	if len(all) != 1 || !strings.HasPrefix(all[0].Object, "file with SHA-256 ") {
		t.Errorf("loaded %+v", all)
	}
}

// A copy is recorded once in each of the two workspaces, in the source as an act of the key that allowed it.
func TestACopyIsRecordedOnBothSides(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	source, err := b.Store.Workspace(t.Context(), "source", true)
	testkit.Must(t, err)
	from := b.makeKey(source, access.Admin)
	b.do(request{method: http.MethodPost, path: "/v1/memories", key: from,
		body: object{"content": "Keeps bees.", "memory_type": "personal", "memory_target": "ann"}}).
		into(http.StatusCreated, nil)
	b.post("/v1/memories/copy", object{"from_key": "cairn_none"}).refused(fault.OutOfScope)
	b.acts(request{path: "/v1/memories/copy", body: object{"from_key": from}})
	b.once(audit.MemoriesCopy, fmt.Sprintf("from workspace %d", source.ID))
	seen := b.events(from, audit.MemoriesCopy)
	if len(seen) != 1 || seen[0].Object != fmt.Sprintf("to workspace %d", b.Workspace.ID) ||
		seen[0].Actor.Name != "test" || seen[0].Actor.KeyID == b.events(b.key, audit.MemoriesCopy)[0].Actor.KeyID {
		t.Errorf("the source has %+v", seen)
	}
	if dumps := b.events(from, audit.MemoriesDump); len(dumps) != 0 {
		t.Errorf("the source has %+v, too", dumps)
	}
}

func TestActsOfOperatorsBelongToNoWorkspace(t *testing.T) {
	t.Parallel()
	b := idle(t, encrypting, func(c *config.Config) { c.RateLimit = 0 })
	key := b.operatorKey(access.Codec)
	stored, err := b.Payloads.ToPayloads("message +49 30 1234")
	testkit.Must(t, err)
	decode := request{method: http.MethodPost, path: httpapi.CodecPath + "/decode", key: key,
		header: map[string]string{"X-Request-Id": "req-1", "X-Namespace": "message +49 30 1234"},
		body:   fmt.Sprintf(`{"payloads":[{"metadata":{},"data":"%x"}]}`, stored.Payloads[0].Data[:3])}
	b.do(decode).into(http.StatusOK, nil)
	seen := b.operatorEvents(audit.CodecDecode)
	if len(seen) != 1 || seen[0].Request != "req-1" || seen[0].Object != "payloads of workflows" ||
		seen[0].Actor.Kind != audit.Operator || seen[0].Actor.Name != "test" || seen[0].Address != "127.0.0.1" {
		t.Errorf("decoded %+v", seen)
	}
	decode.body = `{"payloads":` // invalid
	b.do(decode).refused(fault.InvalidArgument)
	decode.key, decode.body = b.key, `{"payloads":[]}`
	b.do(decode).refused(fault.Unauthenticated)
	b.do(request{method: http.MethodPost, path: httpapi.CodecPath + "/encode", key: key, body: `{"payloads":[]}`}).
		into(http.StatusOK, nil)
	if again := b.operatorEvents(audit.CodecDecode); len(again) != 1 {
		t.Errorf("refusals and encoding leave %+v", again)
	}
	made := b.operatorEvents(audit.KeyCreate)
	if len(made) != 1 || made[0].Object != fmt.Sprintf("operator key %d", seen[0].Actor.KeyID) {
		t.Errorf("created %+v", made)
	}
	testkit.Must(t, b.gateway.Keys.RevokeOperator(t.Context(), seen[0].Actor.KeyID))
	if err := b.gateway.Keys.RevokeOperator(t.Context(), seen[0].Actor.KeyID); err == nil {
		t.Error("revoked twice")
	}
	if gone := b.operatorEvents(audit.KeyRevoke); len(gone) != 1 || gone[0].Object != made[0].Object {
		t.Errorf("revoked %+v", gone)
	}
	var page httpapi.AuditEvents
	if b.get("/v1/audit").into(http.StatusOK, &page); len(page.Events) != 1 || page.Events[0].Object == made[0].Object {
		t.Errorf("the workspace sees %+v", page.Events)
	}
	b.do(request{path: "/v1/audit", key: b.operatorKey(access.Support)}).refused(fault.Unauthenticated)
}

// An erasure leaves numbers in the log, and neither names nor texts.
func TestAnErasureIsRecordedByItsNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.RateLimit = 0 })
	b.post("/v1/memories", object{"content": "Keeps bees.", "memory_type": "personal", "memory_target": "Zenobia"}).
		into(http.StatusCreated, nil)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello."})
	b.Say("zenobias-talk", 1, "I am Zenobia.")
	var conversation int64
	testkit.Must(t, b.Admin().QueryRow(t.Context(),
		"select id from cairn.conversations where external_id = 'zenobias-talk'").Scan(&conversation))
	b.do(request{method: http.MethodDelete, path: "/v1/conversations/zenobias-talk?dry_run=true"}).
		into(http.StatusOK, nil)
	b.do(request{method: http.MethodDelete, path: "/v1/targets/Zenobia?dry_run=true"}).into(http.StatusOK, nil)
	b.do(request{method: http.MethodDelete, path: "/v1/targets/nobody"}).refused(fault.NotFound)
	erasure := func(path string) (e httpapi.ErasureReport) {
		b.acts(request{method: http.MethodDelete, path: path}).into(http.StatusOK, &e)
		return e
	}
	b.once(audit.EraseTarget, fmt.Sprintf("erasure %d", erasure("/v1/targets/Zenobia?wait=60").ID))
	e := erasure("/v1/conversations/zenobias-talk?wait=60")
	b.once(audit.EraseConversation, fmt.Sprintf("erasure %d of conversation %d", e.ID, conversation))
	if n := b.named("zenobia"); n != 0 {
		t.Errorf("%d events name the subject", n)
	}
	e = erasure("/v1/workspace?wait=60")
	seen := b.operatorEvents(audit.EraseWorkspace)
	if len(seen) != 1 || seen[0].Object != fmt.Sprintf("erasure %d of workspace %d", e.ID, b.Workspace.ID) ||
		seen[0].Actor.Kind != audit.Key || seen[0].Actor.KeyID == 0 || seen[0].Actor.Name != "" ||
		seen[0].Request != "req-1" {
		t.Errorf("erased %+v", seen)
	}
	var left int
	testkit.Must(t, b.Admin().QueryRow(t.Context(),
		"select count(*) from cairn.audit_events where workspace_id is not null").Scan(&left))
	if left != 0 {
		t.Errorf("%d events of the workspace are left", left)
	}
}

// named counts the events with a text.
func (b *bundle) named(text string) (n int) {
	b.T.Helper()
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(),
		"select count(*) from cairn.audit_events e where strpos(lower(e::text), $1) > 0", text).Scan(&n))
	return n
}

func TestAnActThatRollsBackLeavesNoEvent(t *testing.T) {
	t.Parallel()
	b := idle(t)
	refuse := errors.New("refused")
	_, err := b.Store.Workspaces().PatchSettings(t.Context(), b.Workspace.ID, []byte(`{"limits":{"undo_days":9}}`),
		func(settings.Settings) error { return refuse })
	if !errors.Is(err, refuse) {
		t.Fatal(err)
	}
	if all := b.events(b.key, audit.SettingsChange); len(all) != 0 {
		t.Errorf("left %+v", all)
	}
	// If the event cannot be stored, there is no act.
	b.admin("alter table cairn.audit_events add constraint none check (action <> 'settings.change')")
	if p := b.do(
		request{method: http.MethodPatch, path: "/v1/settings", body: object{"limits": object{"undo_days": 9}}},
	); p.
		status < http.StatusBadRequest {
		t.Errorf("changed without an event: %s", p.body)
	}
	var all struct {
		Limits struct {
			Days int `json:"undo_days"`
		}
	}
	if b.get("/v1/settings").into(http.StatusOK, &all); all.Limits.Days != 7 {
		t.Errorf("the setting is %d", all.Limits.Days)
	}
}

func TestAuditEventsAreReadInPagesByAdmins(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	foreign := b.makeKey(other, access.Admin)
	for days := range 3 {
		b.do(request{method: http.MethodPatch, path: "/v1/settings",
			body: object{"limits": object{"undo_days": days}}}).into(http.StatusOK, nil)
	}
	var ids []int64
	for cursor := ""; ; {
		var page httpapi.AuditEvents
		b.get("/v1/audit?limit=2"+cursor).into(http.StatusOK, &page)
		for _, e := range page.Events {
			if ids = append(ids, e.ID); e.Request == "" && e.Action == audit.SettingsChange {
				t.Errorf("no request ID in %+v", e)
			}
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if len(ids) != 4 || ids[0] <= ids[1] || ids[1] <= ids[2] || ids[2] <= ids[3] {
		t.Errorf("pages with the events %v", ids)
	}
	now := time.Now().UTC()
	for filter, n := range map[string]int{"since=2020-01-01": 4, "until=2020-01-01": 0,
		"since=" + now.Add(time.Hour).Format(time.RFC3339):                                   0,
		"since=2020-01-01&until=" + url.QueryEscape(now.Add(time.Hour).Format(time.RFC3339)): 4,
		"action=settings.change": 3, "action=key.create": 1, "action=key.revoke": 0} {
		var page httpapi.AuditEvents
		if b.get("/v1/audit?"+filter).into(http.StatusOK, &page); len(page.Events) != n {
			t.Errorf("%s: %d events, want %d", filter, len(page.Events), n)
		}
	}
	if all := b.events(foreign, audit.KeyCreate); len(all) != 1 || all[0].ID == ids[3] {
		t.Errorf("the other workspace sees %+v", all)
	}
	if all := b.events(foreign, audit.SettingsChange); len(all) != 0 {
		t.Errorf("the other workspace sees %+v", all)
	}
	for _, bad := range []string{"action=key.steal", "since=yesterday", "until=31.1.2027", "cursor=first",
		"since=2027-01-31&until=2027-01-30", "limit=0", "limit=501", "before=2027-01-31"} {
		b.get("/v1/audit?" + bad).refused(fault.InvalidArgument)
	}
	b.do(request{path: "/v1/audit", key: b.makeKey(b.Workspace, access.Write)}).refused(fault.OutOfScope)
}

// A client cannot forge its address, nor put text into the log.
func TestEventsHaveTheAddressAndIDOfTheRequest(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.TrustedProxies = "127.0.0.0/8" })
	change := request{method: http.MethodPatch, path: "/v1/settings", body: object{"limits": object{"undo_days": 9}},
		header: map[string]string{"X-Forwarded-For": "192.0.2.9, 2001:db8::17", "X-Request-Id": "my name is \"Ada\""}}
	made := b.do(change).header.Get("X-Request-Id")
	all := b.events(b.key, audit.SettingsChange)
	if len(all) != 1 || all[0].Address != "2001:db8::17" || all[0].Request != made || len(made) < 16 ||
		strings.Contains(made, "Ada") {
		t.Errorf("%+v for the request %q", all, made)
	}
}
