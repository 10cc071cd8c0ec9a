package browsertest

import (
	"fmt"

	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// learns puts an update of the policy of the default bank on trial.
func (f *Fixture) learns() {
	f.T.Helper()
	head, err := f.Learning.Banks.Head(f.T.Context(), f.Workspace.ID, bank.Default) // creates it
	testkit.Must(f.T, err)
	f.Update = fmt.Sprintf("u%d", head.ID)
	weights, optimizer := f.OtherWeights()
	_, err = f.Admin().Exec(f.T.Context(), `with made as (
  insert into cairn.runs (workspace_id, id, kind, business_key, generation, args_sha, spec, workflow_id)
  values ($1, $3, $2, 'canary', 1, sha256('x'), '{}', 'canary') returning id
)
insert into cairn.policy_updates (workspace_id, bank_id, number, run_id, base, state, policy_sha, optimizer_sha,
  decisions, shadow, canary_at)
select $1, b.id, 1, made.id, b.head, 'canary', $4, $5, 40, '{"alike": 0.75}', now() - interval '1 hour'
from made, cairn.banks b where b.workspace_id = $1 and b.name = 'default'`, f.Workspace.ID, run.Adapt, run.NewID(),
		weights, optimizer)
	testkit.Must(f.T, err)
}

// scores adds decisions of the default bank with their scores on five days. A third of them is of the update on
// trial, whose scores are better.
func (f *Fixture) scores() {
	f.T.Helper()
	_, err := f.Admin().Exec(f.T.Context(), `with chosen as (
  insert into cairn.decisions (workspace_id, id, run_id, conversation_id, span, from_seq, to_seq, bank_id, bank_version,
    choice, canary)
  select $1, $2 || '/' || i, $2, c.id, i, 0, 1, b.id, b.head, '{}', case when i % 3 = 0 then 1 end
  from cairn.banks b, generate_series(1, 75) i,
    (select id from cairn.conversations where workspace_id = $1 limit 1) c
  where b.workspace_id = $1 and b.name = 'default'
  returning id, span, canary
)
insert into cairn.decision_outcomes (workspace_id, decision_id, op_id, run_id, source, score, created_at)
select $1, id, id, $2, 'feedback', case when canary is null then span % 2 else 0.8 + 0.2 * (span % 2) end,
  now() - make_interval(days => span % 5) from chosen`, f.Workspace.ID, f.Turn)
	testkit.Must(f.T, err)
}

// owes adds a task of the outbox that has failed and is not due.
func (f *Fixture) owes() {
	f.T.Helper()
	testkit.Must(f.T, f.Admin().QueryRow(f.T.Context(), `insert into cairn.outbox (workspace_id, kind, key, due_at,
  last_error, failures, failed_since)
select workspace_id, 'embed', max(doc)::text, now() + interval '1 hour', 'the endpoint does not answer', 1, now()
from cairn.search_docs where workspace_id = $1 group by workspace_id
on conflict (workspace_id, kind, key) do update set due_at = excluded.due_at, last_error = excluded.last_error,
  failures = 1, failed_since = now() returning key`, f.Workspace.ID).Scan(&f.Owed))
}

// Note is a note of the first day of the reflections.
const Note = "Ada talked about green tea."

// reflects adds two days: one whose messages a reflection has read, and one without anything to save.
func (f *Fixture) reflects() {
	f.T.Helper()
	testkit.Must(f.T, f.Admin().QueryRow(f.T.Context(), `with days as (
  insert into cairn.reflection_runs (workspace_id, local_date, zone, status, to_at, run_id, conversations, messages,
    memories)
  values ($1, current_date - 2, 'UTC', 'saved', now(), $2, 1, 4, 1),
    ($1, current_date - 1, 'UTC', 'nothing_to_save', now(), null, 1, 2, 0) returning local_date
)
select min(local_date)::text from days`, f.Workspace.ID, f.Turn).Scan(&f.Day))
	_, err := f.Admin().Exec(f.T.Context(), `with note as (
  insert into cairn.memories (workspace_id, external_id, type, target, content, content_sha256, origin, run_id, op_id)
  values ($1, 'aaaaaaaaaaaaaaaa', 'note', $2, $3, sha256(convert_to($3, 'UTF8')), 'reflection', $4, 'reflection')
  returning id, content, origin, run_id, op_id
)
insert into cairn.memory_revisions (workspace_id, memory_id, version, action, content, origin, tainted, run_id, op_id)
select $1, id, 1, 'add', content, origin, false, run_id, op_id from note`, f.Workspace.ID, f.Day, Note, f.Turn)
	testkit.Must(f.T, err)
}

// evolves adds what the default bank has learned from: a case, a round that was rejected, and a training.
func (f *Fixture) evolves() {
	f.T.Helper()
	_, err := f.Admin().Exec(f.T.Context(), `with kase as (
  insert into cairn.cases (workspace_id, bank_id, key, source, question, gold, prediction, failures, op_id,
    conversation_id)
  select b.workspace_id, b.id, 'tea', 'correction', 'Which tea do I like?', '{Green tea}', 'Black tea.', 2, 'x', c.id
  from cairn.banks b join cairn.conversations c on c.workspace_id = b.workspace_id and c.external_id = $4
  where b.workspace_id = $1
), made as (
  insert into cairn.runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome, result)
  values ($1, $2, 'evolve', 'default/1', sha256('x'), '{}', 'evolve', 'ended', 'completed', '{}'),
    ($1, $3, 'train', 'default/1', sha256('x'), '{}', 'train', 'ended', 'completed',
     '{"verdict": "rejected", "stages": 3, "best_score": 0.625, "gate": {"mean": 0.125, "lower": -0.25, "traces": 9}}')
  returning id, kind
)
insert into cairn.evolution_rounds (workspace_id, bank_id, number, run_id, base, outcome, note, comparison, ended_at)
select $1, b.id, 1, made.id, b.head, 'rejected', 'the candidate is not better',
  '{"mean": -0.125, "lower": -0.25, "traces": 9}', now()
from made, cairn.banks b where made.kind = 'evolve' and b.workspace_id = $1`, f.Workspace.ID, f.Round, run.NewID(),
		f.Thread)
	testkit.Must(f.T, err)
}
