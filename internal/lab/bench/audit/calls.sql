-- name: calls
select run_id::text, stage, coalesce(label->>'task', ''), coalesce(label->>'file', ''), coalesce(cairn.request_of(workspace_id, conversation_id, request, parts), ''), step, round, state, attempts, unknown, finished_at
from cairn.llm_calls order by run_id, step, round

-- name: sums
-- Of today and yesterday, where they differ. The deployment keeps what an erased workspace has spent.
with days as (
  select workspace_id, day, tokens - removed_tokens as tokens, micros - removed_micros as micros from cairn.call_days where day >= (now() at time zone 'UTC')::date - 1
), ledger as (
  select workspace_id, (sent_at at time zone 'UTC')::date as day, sum(input_tokens + output_tokens + reserved)::bigint as tokens,
    sum(coalesce(cost_micros, 0) + reserved_micros)::bigint as micros
  from cairn.llm_calls where (sent_at at time zone 'UTC')::date >= (now() at time zone 'UTC')::date - 1 group by 1, 2
), deployment as (
  select day, sum(micros)::bigint as micros from cairn.deployment_spend where day >= (now() at time zone 'UTC')::date - 1 group by 1
), workspaces as (
  select day, sum(micros)::bigint as micros from cairn.call_days where day >= (now() at time zone 'UTC')::date - 1 group by 1
)
select workspace_id, day::text, coalesce(d.tokens, 0), coalesce(l.tokens, 0), coalesce(d.micros, 0), coalesce(l.micros, 0)
from days d full join ledger l using (workspace_id, day)
where (coalesce(d.tokens, 0), coalesce(d.micros, 0)) <> (coalesce(l.tokens, 0), coalesce(l.micros, 0))
union all
select 0, day::text, 0, 0, coalesce(s.micros, 0), coalesce(w.micros, 0) from deployment s full join workspaces w using (day)
where coalesce(s.micros, 0) <> coalesce(w.micros, 0)
  and not exists (select from cairn.erasures e where e.conversation is null and e.subject is null)
