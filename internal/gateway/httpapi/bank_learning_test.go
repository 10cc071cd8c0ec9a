package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// Rounds, trainings and hard cases are listed in pages, the latest first, and only those of the bank.
func TestWhatABankLearnedIsListedInPages(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.get("/v1/banks/default").into(http.StatusOK, nil)
	b.admin(`insert into cairn.cases (workspace_id, bank_id, key, source, question, gold, failures, op_id)
  select workspace_id, id, 'k' || i, 'feedback', 'Question ' || i || '?', '{yes}', i % 4, 'x'
  from cairn.banks, generate_series(1, 7) i`)
	b.admin(`insert into cairn.runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome,
    result, created_at)
  select workspace_id, 'run_' || translate(lpad(kind || i, 26, '0'), 'ilou', 'jjjj'), kind, bank || '/' || i,
    sha256('x'), '{}', 'w', 'ended', 'completed', '{"verdict":"rejected","stages":2,"gate":{"mean":0.5,"traces":8}}',
    now() - make_interval(mins => i)
  from cairn.banks, generate_series(1, 3) i, (values ('train', 'default'), ('evolve', 'default'), ('train', 'other')) k
    (kind, bank) where not (bank = 'other' and i > 1) and (bank = 'default' or kind = 'train')
  on conflict do nothing`)
	b.admin(`insert into cairn.evolution_rounds (workspace_id, bank_id, number, run_id, base, outcome, note, comparison)
  select r.workspace_id, k.id, row_number() over (order by r.created_at desc), r.id, 1, 'rejected', 'worse',
    '{"mean":-0.1,"lower":-0.2,"traces":9}' from cairn.runs r join cairn.banks k on k.workspace_id = r.workspace_id
  where r.kind = 'evolve'`)

	var rounds, more httpapi.BankRoundList
	b.get("/v1/banks/default/rounds?limit=2").into(http.StatusOK, &rounds)
	b.get("/v1/banks/default/rounds?limit=2&cursor="+rounds.NextCursor).into(http.StatusOK, &more)
	if len(rounds.Rounds) != 2 || rounds.Rounds[0].Number != 3 || rounds.Rounds[0].Note != "worse" ||
		rounds.Rounds[0].Gate == nil || rounds.Rounds[0].Gate.Traces != 9 || len(more.Rounds) != 1 ||
		more.Rounds[0].Number != 1 || more.NextCursor != "" {
		t.Errorf("%+v, then %+v", rounds, more)
	}
	var trainings, rest httpapi.BankTrainingList
	b.get("/v1/banks/default/trainings?limit=2").into(http.StatusOK, &trainings)
	b.get("/v1/banks/default/trainings?limit=2&cursor="+trainings.NextCursor).into(http.StatusOK, &rest)
	if len(trainings.Trainings) != 2 || len(rest.Trainings) != 1 || rest.NextCursor != "" ||
		rest.Trainings[0].Verdict != "rejected" || rest.Trainings[0].Stages != 2 ||
		!rest.Trainings[0].CreatedAt.Before(trainings.Trainings[1].CreatedAt) {
		t.Errorf("%+v, then %+v", trainings, rest)
	}
	var cases, last httpapi.BankCaseList
	b.get("/v1/banks/default/cases?limit=4&state=open").into(http.StatusOK, &cases)
	b.get("/v1/banks/default/cases?limit=4&state=open&cursor="+cases.NextCursor).into(http.StatusOK, &last)
	if len(cases.Cases) != 4 || cases.Cases[0].Question != "Question 7?" || cases.Cases[0].Failures != 3 ||
		len(last.Cases) != 2 || last.Cases[1].Question != "Question 1?" { // question 4 has never failed
		t.Errorf("%+v, then %+v", cases, last)
	}
	b.get("/v1/banks/default/cases?state=resolved").into(http.StatusOK, &last)
	if len(last.Cases) != 0 {
		t.Errorf("%+v", last)
	}

	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	key := b.makeKey(other, access.Read)
	for _, list := range []string{"rounds", "trainings", "cases"} {
		b.get("/v1/banks/default/" + list + "?cursor=x").refused(fault.InvalidArgument)
		b.get("/v1/banks/default/" + list + "?limit=0").refused(fault.InvalidArgument)
		b.get("/v1/banks/none/" + list).refused(fault.NotFound)
		var empty map[string]any
		b.do(request{path: "/v1/banks/default/" + list, key: key}).into(http.StatusOK, &empty)
		if rows, _ := empty[list].([]any); len(rows) != 0 {
			t.Errorf("another workspace sees %v", empty)
		}
	}
}

// Versions, updates and decisions go on after a page, without gaps and repetitions.
func TestWhatABankDidIsListedInPages(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.get("/v1/banks/default").into(http.StatusOK, nil)
	b.admin(
		`insert into cairn.bank_versions (workspace_id, bank_id, number, parent, action, bank_sha, capacity, members,
    policy_sha, optimizer_sha, snapshot_sha, reason)
  select workspace_id, bank_id, 1 + i, i, 'rollback', bank_sha, capacity, members, policy_sha, optimizer_sha,
    snapshot_sha, 'again' from cairn.bank_versions, generate_series(1, 6) i`,
	)
	b.admin(`insert into cairn.runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome)
  select workspace_id, 'run_' || lpad(i::text, 26, '0'), 'adapt', 'a/' || i, sha256('x'), '{}', 'w', 'ended',
    'completed' from cairn.banks, generate_series(1, 7) i`)
	b.admin(`insert into cairn.policy_updates (workspace_id, bank_id, number, run_id, base, state, policy_sha,
    optimizer_sha, decisions, shadow, ended_at)
  select v.workspace_id, v.bank_id, i, 'run_' || lpad(i::text, 26, '0'), 1, 'dropped', v.policy_sha, v.optimizer_sha, 1,
    '{}', now() from cairn.bank_versions v, generate_series(1, 7) i where v.number = 1`)
	b.admin(`with c as (insert into cairn.conversations (workspace_id, external_id, title, channel)
    select workspace_id, 'c', 'c', 'chat' from cairn.banks returning id)
insert into cairn.decisions (workspace_id, id, run_id, conversation_id, span, from_seq, to_seq, bank_id, bank_version,
    choice)
  select k.workspace_id, 'd/' || i, 'run_' || lpad('1', 26, '0'), c.id, i, 0, 1, k.id, 1, '{}'
  from cairn.banks k, c, generate_series(1, 7) i`) // all at the same time
	for list, member := range map[string]string{"versions": "number", "updates": "update", "decisions": "span"} {
		seen, pages := map[string]int{}, 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			var page map[string]json.RawMessage
			b.get("/v1/banks/default/"+list+"?limit=3&cursor="+cursor).into(http.StatusOK, &page)
			var rows []map[string]any
			testkit.Must(t, json.Unmarshal(page[list], &rows))
			for _, row := range rows {
				seen[fmt.Sprint(row[member])]++
			}
			if cursor = ""; page["next_cursor"] != nil {
				testkit.Must(t, json.Unmarshal(page["next_cursor"], &cursor))
			}
		}
		if pages != 3 || len(seen) != 7 {
			t.Errorf("%s: %v on %d pages", list, seen, pages)
		}
		for row, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s is there %d times", list, row, n)
			}
		}
		b.get("/v1/banks/default/" + list + "?cursor=x").refused(fault.InvalidArgument)
	}
}
