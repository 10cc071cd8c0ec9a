package console_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/testkit"
)

// Lists of 50 rows stay small and fast when each table has 10,000 rows. The limits of time are generous, because
// tests share the processor; the log has the measured times.
func TestListsStayFastWithManyRows(t *testing.T) {
	testkit.Long(t)
	b, f := filled(t, access.Admin)
	for _, sql := range []string{
		`insert into cairn.conversations (workspace_id, external_id, title) select $1, 'talk' || i, 'Talk ' || i
  from generate_series(1, 10000) i`,
		`insert into cairn.runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome,
    result)
  select $1, 'run_' || translate(lpad(i::text, 26, '0'), 'ilou', 'jjjj'), 'turn', 'many' || i, sha256('x'),
    '{}', 'w' || i,
    'ended', 'completed', '{}' from generate_series(1, 10000) i`,
		`insert into cairn.llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request,
    request_sha, holder, lease_until, reply, input_tokens, cost_micros)
  select workspace_id, id, 'step/1', 0, 'done', 'turn', 'scripted', '{}', array['{"messages":[]}'], sha256('x'),
    gen_random_uuid(), now(), 'x', 100, 5 from cairn.runs where workspace_id = $1 and business_key like 'many%'`,
		`with m as (insert into cairn.memories (workspace_id, external_id, type, target, content, content_sha256,
    origin, op_id)
    select $1, lpad(to_hex(i), 16, '0'), 'personal', 'ada', 'Fact ' || i, sha256(i::text::bytea), 'user', 'x'
    from generate_series(1, 10000) i returning workspace_id, id, content)
  insert into cairn.memory_revisions (workspace_id, memory_id, version, action, content, origin, tainted, op_id)
  select workspace_id, id, 1, 'add', content, 'user', false, 'x' from m`,
		`insert into cairn.audit_events (workspace_id, action, object, actor)
  select $1, 'key.create', 'key ' || i, 'system'
  from generate_series(1, 10000) i`,
	} {
		_, err := b.Admin().Exec(t.Context(), sql, b.Workspace.ID)
		testkit.Must(t, err)
	}
	_, err := b.Admin().Exec(t.Context(), "analyze")
	testkit.Must(t, err)
	for _, page := range []string{"", "inbox", "skills", "conversations", "memories", "runs", "usage", "audit", "keys",
		"schedules", "settings"} {
		var times []time.Duration
		for range 5 {
			began := time.Now()
			p := b.get(f.At() + page).is(http.StatusOK)
			times = append(times, time.Since(began))
			if len(p.body) > 150<<10 {
				t.Errorf("%s has %d bytes", page, len(p.body))
			}
		}
		slices.Sort(times)
		t.Logf("%-14s median %s, slowest %s", page, times[2], times[4])
		if times[2] > time.Second {
			t.Errorf("%s takes %s", page, times[2])
		}
	}
}
