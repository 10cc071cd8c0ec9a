-- name: OutcomesPut :exec
-- One operation counts once for each decision; a decision that was erased has no outcome.
insert into decision_outcomes (workspace_id, decision_id, op_id, run_id, source, score)
select @workspace_id, d.id, @op_id, @run_id, @source, @score from decisions d where d.workspace_id = @workspace_id and d.id = any(@decisions::text[])
on conflict (workspace_id, decision_id, op_id) do nothing;

-- name: DecisionsLearnable :many
-- Sampled decisions that have an outcome, that no update has learnt from, and
-- whose span a model has answered.
select d.id from decisions d where d.workspace_id = @workspace_id and d.bank_id = @bank_id and d.sampled and d.update_run is null and d.bank_version >= @oldest::int
  and d.outcome ->> 'outcome' <> 'llm_error'
  and exists (select from decision_outcomes o where o.workspace_id = d.workspace_id and o.decision_id = d.id)
order by d.created_at, d.id limit @max_rows;

-- name: DecisionsClaim :execrows
update decisions set update_run = @run_id where workspace_id = @workspace_id and id = any(@ids::text[]) and update_run is null;

-- name: OutcomesOf :many
select decision_id, op_id, score from decision_outcomes where workspace_id = @workspace_id and decision_id = any(@ids::text[]) order by op_id, decision_id;

-- name: ExplorationLock :exec
select pg_advisory_xact_lock(9, hashint8(@workspace_id::bigint));

-- name: ExploredLately :one
-- Of the last 24 hours.
select count(*)::int from decisions where workspace_id = @workspace_id and sampled and created_at > now() - interval '24 hours';
