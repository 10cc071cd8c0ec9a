-- name: OutcomesPut :exec
-- One operation is counted once for each decision. An erased decision gets no outcome.
insert into decision_outcomes (workspace_id, decision_id, op_id, run_id, source, score, voter)
select @workspace_id, d.id, @op_id, @run_id, @source, @score, @voter from decisions d where d.workspace_id = @workspace_id and d.id = any(@decisions::text[])
on conflict (workspace_id, decision_id, op_id) do nothing;

-- name: OutcomesDrop :exec
delete from decision_outcomes where workspace_id = @workspace_id and op_id = @op_id and decision_id = any(@decisions::text[]);

-- name: DecisionsLearnable :many
-- Sampled decisions that have an outcome, that no update has learned from, and whose span a model
-- has answered.
select d.id from decisions d where d.workspace_id = @workspace_id and d.bank_id = @bank_id and d.sampled and d.update_run is null and d.bank_version >= @oldest::int
  and d.outcome ->> 'outcome' <> 'llm_error'
  and exists (select from decision_outcomes o where o.workspace_id = d.workspace_id and o.decision_id = d.id)
order by d.created_at, d.id limit @max_rows;

-- name: DecisionsClaim :execrows
update decisions set update_run = @run_id where workspace_id = @workspace_id and id = any(@ids::text[]) and update_run is null;

-- name: OutcomesOf :many
select decision_id, op_id, score, voter from decision_outcomes where workspace_id = @workspace_id and decision_id = any(@ids::text[]) order by op_id, decision_id;

-- name: ExplorationLock :exec
select pg_advisory_xact_lock(9, hashint8(@workspace_id::bigint));

-- name: ExploredLately :one
-- Within the last 24 hours.
select count(*)::int from decisions where workspace_id = @workspace_id and sampled and created_at > now() - interval '24 hours';

-- name: VersionNewcomers :many
-- Skills that were new in a version, and the choices drawn since. An update of the policy inherits
-- the skills of its version.
select v.number, v.fresh, (select count(*) from decisions d where d.workspace_id = v.workspace_id and d.bank_id = v.bank_id and d.bank_version >= v.number and d.sampled)::int as explored
from bank_versions v where v.workspace_id = @workspace_id and v.bank_id = @bank_id and v.number <= @number and v.action <> 'adapt' and cardinality(v.fresh) > 0
order by v.number desc limit @max_rows;

-- name: UpdatePut :one
insert into policy_updates (workspace_id, bank_id, number, run_id, base, state, policy_sha, optimizer_sha, decisions, shadow)
values (@workspace_id, @bank_id, (select coalesce(max(u.number), 0) + 1 from policy_updates u where u.workspace_id = @workspace_id and u.bank_id = @bank_id), @run_id, @base, 'shadow', @policy_sha, @optimizer_sha, @decisions, @shadow)
on conflict (workspace_id, run_id) do update set note = policy_updates.note returning *;

-- name: UpdateMove :execrows
update policy_updates set state = @state, shadow = @shadow, canary = sqlc.narg('canary'), note = @note,
  canary_at = case when @state::text = 'canary' then now() else canary_at end, ended_at = case when @ended::boolean then now() end
where workspace_id = @workspace_id and bank_id = @bank_id and number = @number and state = @before and ended_at is null;

-- name: UpdateOpen :one
select * from policy_updates where workspace_id = @workspace_id and bank_id = @bank_id and ended_at is null;

-- name: UpdateAt :one
select * from policy_updates where workspace_id = @workspace_id and bank_id = @bank_id and number = @number;

-- name: UpdatesOf :many
select * from policy_updates where workspace_id = @workspace_id and bank_id = @bank_id
  and (@before::int = 0 or number < @before::int) order by number desc limit @max_rows;

-- name: CanaryOutcomes :many
-- Scores of answers, by the policy of the decisions behind them: a candidate's, or the version's in
-- the same period. Answers with decisions of both are ignored.
select o.op_id, bool_or(d.canary is not null)::boolean as candidate, avg(o.score)::float8 as score, max(o.voter)::text as voter
from decisions d join decision_outcomes o on o.workspace_id = d.workspace_id and o.decision_id = d.id
where d.workspace_id = @workspace_id and d.bank_id = @bank_id and d.bank_version = @base and d.created_at >= @since::timestamptz and (d.canary is null or d.canary = @number::int)
group by o.op_id having bool_or(d.canary is not null) <> bool_or(d.canary is null) order by o.op_id;

-- name: CanaryLate :one
select (now() - @since::timestamptz > interval '30 days')::boolean as late;
