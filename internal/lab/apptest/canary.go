package apptest

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/conversation"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// ObserveCanary observes n turns on each side of a canary: update 1 of the default bank, which has
// other weights than the active version. Each answer was given from a memory of its own. Message i of
// the conversation "canary" is of the update if i is even. It stops the workers, and returns the IDs
// of the messages.
func (b *Bundle) ObserveCanary(n int) (messages []string) {
	b.T.Helper()
	ctx := b.T.Context()
	weights, optimizer := b.OtherWeights()
	exec := func(sql string, args ...any) {
		b.T.Helper()
		_, err := b.Admin().Exec(ctx, sql, args...)
		testkit.Must(b.T, err)
	}
	b.patch(`{"memory":{"builder":"skills"}}`)
	exec(
		`with made as (insert into cairn.runs (workspace_id, id, kind, business_key, generation, args_sha, spec,
  workflow_id)
  values ($1, $3, $2, 'canary', 1, sha256('x'), '{}', 'canary') returning id)
insert into cairn.policy_updates (workspace_id, bank_id, number, run_id, base, state, policy_sha, optimizer_sha,
  decisions, shadow, canary_at)
select $1, b.id, 1, made.id, v.number, 'canary', $4, $5, 40,
  '{"alike":1,"off_policy":{"candidate":0.6,"incumbent":0.5,"effective":38.2}}',
  now() - interval '1 hour' from made, cairn.banks b join
  cairn.bank_versions v on v.workspace_id = b.workspace_id
  and v.bank_id = b.id and v.number = b.head where b.workspace_id = $1`,
		b.Workspace.ID,
		run.Adapt,
		run.NewID(),
		weights,
		optimizer,
	)
	for i := range 2 * n {
		turn := b.Say("canary", i, "", func(r *conversation.Request) {
			r.Origin, r.Mode, r.Messages = "scheduled", "observe", []transcript.Message{
				{Role: transcript.User, Content: fmt.Sprintf("Which tree grows in row %d?", i)},
				{Role: transcript.Assistant, Content: "A lemon tree."}}
		})
		exec(
			`with d as (insert into cairn.decisions (workspace_id, id, run_id, conversation_id, span, from_seq,
  to_seq, bank_id,
  bank_version, choice, canary) select $1, $2::text || '/0', $2, t.conversation_id, 0, 0, 0, u.bank_id, u.base,
  jsonb_build_object('id', $2::text || '/0', 'chosen', jsonb_build_array(v.members[1])), case when $3 then 1 end
  from cairn.policy_updates u join
  cairn.bank_versions v on v.workspace_id = $1 and v.bank_id = u.bank_id and v.number = u.base,
  cairn.turns t where u.workspace_id = $1 and t.workspace_id = $1 and t.run_id = $2 returning id),
made as (insert into cairn.memories (workspace_id, external_id, type, target, content, content_sha256, origin,
  op_id)
  values ($1, left(md5($2), 16), 'personal', 'house', 'Lemon ' || $2, sha256($2::text::bytea),
  'agent', 'x')
  returning id),
revised as (insert into cairn.memory_revisions (workspace_id, memory_id, version, action, content, origin, tainted,
  op_id, decision_id) select $1, made.id, 1, 'add', 'Lemon', 'agent', false, 'x', d.id from made, d)
insert into cairn.memory_views (workspace_id, run_id, memory_id, op_id) select $1, $2, id, 'x' from made`,
			b.Workspace.ID,
			turn.Run,
			i%2 == 0,
		)
		messages = append(messages, turn.MessageID)
	}
	b.Stop()
	return messages
}

// OtherWeights stores a policy that no version of the default bank has, and returns the hashes of it and of its
// optimizer.
func (b *Bundle) OtherWeights() (weights, optimizer string) {
	b.T.Helper()
	_, err := b.Learning.Banks.Head(b.T.Context(), b.Workspace.ID, bank.Default) // creates the bank
	testkit.Must(b.T, err)
	p, o := pgtest.OtherWeights(b.T), policy.Adam{}
	testkit.Must(b.T, b.Learning.Ports.Store.InWorkspace(b.T.Context(), b.Workspace.ID,
		func(ctx context.Context, tx store.Tx) error { return b.Learning.Banks.StoreWeights(ctx, tx, p, o) }))
	return p.Hash(), o.Hash()
}

// patch changes settings of the workspace.
func (b *Bundle) patch(settings string) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(settings))
		return err
	})
}
