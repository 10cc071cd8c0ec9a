-- Read models for people: lists with filters and cursors, and what a run did.

-- name: ExploreRuns :many
-- The usage is computed for the rows of the page only.
select p.*, u.calls::bigint as calls, u.tokens::bigint as tokens, u.cost_micros::bigint as cost_micros, u.unpriced::bigint as unpriced, u.models::text as models
from (
  select r.id, r.kind, r.business_key, r.generation, r.attempt, r.status, r.outcome, r.reason, r.workflow_id, r.created_at, r.started_at, r.ended_at,
    coalesce(c.title, '')::text as title, coalesce(c.external_id, '')::text as conversation
  from runs r left join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
  where r.workspace_id = @workspace_id
    and (@kind::text = '' or r.kind = @kind) and (@status::text = '' or r.status = @status) and (@outcome::text = '' or r.outcome = @outcome)
    and (@conversation::text = '' or c.external_id = @conversation)
    and (@model::text = '' or exists (select from llm_calls l where l.workspace_id = r.workspace_id and l.run_id = r.id and l.model = @model))
    and (sqlc.narg(since)::timestamptz is null or r.created_at >= sqlc.narg(since)::timestamptz)
    and (sqlc.narg(before)::timestamptz is null or (r.created_at, r.id) < (sqlc.narg(before)::timestamptz, @before_id::text))
  order by r.created_at desc, r.id desc limit @max_rows
) p, lateral (
  select count(*) as calls, coalesce(sum(l.input_tokens + l.output_tokens), 0) as tokens, coalesce(sum(l.cost_micros), 0) as cost_micros,
    count(*) filter (where l.cost_micros is null) as unpriced, coalesce(string_agg(distinct l.model, ', '), '') as models
  from llm_calls l where l.workspace_id = @workspace_id and l.run_id = p.id
) u
order by p.created_at desc, p.id desc;

-- name: ExploreSteps :many
select step, note, left(content, @max_chars::int) as content, char_length(content)::int as chars, finish, created_at from agent_steps
where workspace_id = @workspace_id and run_id = @run_id order by step;

-- name: ExploreToolCalls :many
select c.step, c.position, c.tool, c.class, left(c.arguments, @max_chars::int) as arguments, left(coalesce(c.result, ''), @max_chars::int) as result,
  c.code, c.ended_at, s.created_at as begun_at
from agent_calls c join agent_steps s on s.workspace_id = c.workspace_id and s.run_id = c.run_id and s.step = c.step
where c.workspace_id = @workspace_id and c.run_id = @run_id order by c.step, c.position;

-- name: ExploreChildren :many
select id, kind, status, outcome, created_at, started_at, ended_at from runs
where workspace_id = @workspace_id and parent_id = @parent_id order by created_at, id limit @max_rows;

-- name: ExploreTurns :many
select t.number, t.message_id, t.mode, t.origin, coalesce(t.run_id, '')::text as run_id, t.status, t.reason, t.first_seq, coalesce(t.reply_seq, -1)::int as reply_seq, t.tainted,
  t.accepted_at, t.ended_at, coalesce(r.result -> 'writes', '[]')::jsonb as writes, coalesce(r.workflow_id, '')::text as workflow_id,
  u.calls::bigint as calls, u.tokens::bigint as tokens, u.cost_micros::bigint as cost_micros, u.unpriced::bigint as unpriced
from turns t left join runs r on r.workspace_id = t.workspace_id and r.id = t.run_id, lateral (
  select count(*) as calls, coalesce(sum(l.input_tokens + l.output_tokens), 0) as tokens, coalesce(sum(l.cost_micros), 0) as cost_micros,
    count(*) filter (where l.cost_micros is null) as unpriced
  from llm_calls l where l.workspace_id = @workspace_id and l.run_id = t.run_id
) u
where t.workspace_id = @workspace_id and t.conversation_id = @conversation_id and t.number between @from_number and @to_number
order by t.number;

-- name: ExploreShownMemories :many
select v.run_id, m.external_id, m.type, m.target, left(m.content, @max_chars::int) as content, m.status
from memory_views v join memories m on m.workspace_id = v.workspace_id and m.id = v.memory_id
where v.workspace_id = @workspace_id and v.run_id = any(@runs::text[]) order by v.run_id, v.created_at, m.id;

-- name: ExploreWrittenMemories :many
select r.run_id::text as run_id, m.external_id, m.type, m.target, r.version, r.action, left(r.content, @max_chars::int) as content
from memory_revisions r join memories m on m.workspace_id = r.workspace_id and m.id = r.memory_id
where r.workspace_id = @workspace_id and r.run_id = any(@runs::text[]) order by r.run_id, r.created_at, m.id;

-- name: ExploreShownSkills :many
select v.run_id, s.name, v.version from skill_views v join skills s on s.workspace_id = v.workspace_id and s.id = v.skill_id
where v.workspace_id = @workspace_id and v.run_id = any(@runs::text[]) order by v.run_id, v.created_at, s.name;

-- name: ExploreConversation :one
select id, external_id from conversations where workspace_id = @workspace_id and external_id = @name;

-- name: ExploreConversations :many
select c.id, c.external_id, c.channel, c.title, c.next_seq, c.next_turn, c.counters, c.created_at, c.last_turn_at, c.closed_at from conversations c
where c.workspace_id = @workspace_id and (@channel::text = '' or c.channel = @channel)
  and (@q::text = '' or strpos(lower(c.title), lower(@q)) > 0 or strpos(lower(c.external_id), lower(@q)) > 0)
  and (@before::bigint = 0 or c.id < @before)
order by c.id desc limit @max_rows;

-- name: ExploreMemories :many
select m.id, m.external_id, m.type, m.target, left(m.content, @max_chars::int) as content, m.version, m.status, m.origin, m.tainted, m.created_at, m.updated_at
from memories m
where m.workspace_id = @workspace_id and (@type::text = '' or m.type = @type) and (@status::text = '' or m.status = @status)
  and (@origin::text = '' or m.origin = @origin) and (@target::text = '' or m.target = @target or @any_case::boolean and lower(m.target) = lower(@target))
  and (@before::bigint = 0 or m.id < @before)
order by m.id desc limit @max_rows;

-- name: ExploreMemoriesAsOf :many
-- What was active at a time: the latest revision of each memory up to then, and what it is now.
select m.id, m.external_id, m.type, m.target, left(r.content, @max_chars::int) as content, r.version, r.origin, r.tainted, r.created_at as since,
  (m.content <> r.content)::boolean as changed, m.status as now_status, left(m.content, @max_chars::int) as now_content, m.created_at
from memories m, lateral (
  select x.content, x.version, x.origin, x.tainted, x.created_at, x.status, x.action from memory_revisions x
  where x.workspace_id = m.workspace_id and x.memory_id = m.id and x.created_at <= @as_of order by x.version desc limit 1
) r
where m.workspace_id = @workspace_id and m.created_at <= @as_of and r.status = 'active' and r.action <> 'remove'
  and (@type::text = '' or m.type = @type) and (@target::text = '' or m.target = @target or @any_case::boolean and lower(m.target) = lower(@target))
  and (@before::bigint = 0 or m.id < @before)
order by m.id desc limit @max_rows;

-- name: ExploreMemoryViews :many
select v.run_id, r.kind, v.created_at, coalesce(c.external_id, '')::text as conversation, coalesce(t.number, 0)::int as turn, coalesce(t.first_seq, 0)::int as seq
from memory_views v
  join memories m on m.workspace_id = v.workspace_id and m.id = v.memory_id
  join runs r on r.workspace_id = v.workspace_id and r.id = v.run_id
  left join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
  left join turns t on t.workspace_id = r.workspace_id and t.run_id = r.id
where v.workspace_id = @workspace_id and m.external_id = @memory
  and (sqlc.narg(before)::timestamptz is null or (v.created_at, v.run_id) < (sqlc.narg(before)::timestamptz, @before_id::text))
order by v.created_at desc, v.run_id desc limit @max_rows;

-- name: ExploreUsage :many
select to_char(l.sent_at at time zone @zone::text, 'YYYY-MM-DD')::text as day, l.model, r.kind, count(*) as calls, coalesce(sum(l.input_tokens), 0)::bigint as input_tokens,
  coalesce(sum(l.output_tokens), 0)::bigint as output_tokens, coalesce(sum(l.cached_tokens), 0)::bigint as cached_tokens, coalesce(sum(l.cost_micros), 0)::bigint as cost_micros,
  (count(*) filter (where l.cost_micros is null))::bigint as unpriced, (count(*) filter (where l.state in ('failed', 'unknown')))::bigint as failed
from llm_calls l join runs r on r.workspace_id = l.workspace_id and r.id = l.run_id
where l.workspace_id = @workspace_id and l.sent_at >= @since and l.sent_at < @until
group by 1, 2, 3 order by 1 desc, 2, 3;

-- name: ExploreOutbox :many
-- Those that fail most first, then the oldest, after a place in this order.
select id, kind, key, attempts, failures, last_error, created_at, due_at, failed_since from outbox
where workspace_id = @workspace_id and failures <= @failures::int
  and (failures < @failures::int or (created_at, id) > (@created_at::timestamptz, @id::bigint))
order by failures desc, created_at, id limit @max_rows;

-- name: ExploreOutboxRetry :execrows
update outbox set due_at = now() where workspace_id = @workspace_id and id = @id;

-- name: ExploreSkillUses :many
-- The uses of a skill with their outcomes. The ID of a use in a run is run/ and the ID of the run.
select u.use_id, u.version, u.outcome, u.created_at, u.decided_at, (u.change_id is not null)::boolean as canary, coalesce(r.id, '')::text as run_id,
  coalesce(r.kind, '')::text as kind, coalesce(c.external_id, '')::text as conversation
from skill_uses u
  left join runs r on r.workspace_id = u.workspace_id and u.use_id like 'run/%' and r.id = substr(u.use_id, 5)
  left join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
where u.workspace_id = @workspace_id and u.skill_id = @skill_id
  and (sqlc.narg(before)::timestamptz is null or (u.created_at, u.use_id) < (sqlc.narg(before)::timestamptz, @before_id::text))
order by u.created_at desc, u.use_id desc limit @max_rows;

-- name: ExploreScores :many
-- Scores of the decisions of a bank by local day, of the active policy and of policies on trial.
select to_char(o.created_at at time zone @zone::text, 'YYYY-MM-DD')::text as day, (d.canary is not null)::boolean as canary, count(*)::bigint as n,
  avg(o.score)::float8 as mean, coalesce(stddev_samp(o.score), 0)::float8 as deviation
from decision_outcomes o
  join decisions d on d.workspace_id = o.workspace_id and d.id = o.decision_id
  join banks b on b.workspace_id = d.workspace_id and b.id = d.bank_id
where o.workspace_id = @workspace_id and b.name = @bank and o.created_at >= @since group by 1, 2 order by 1, 2;

-- name: ExploreRounds :many
select r.* from evolution_rounds r join banks b on b.workspace_id = r.workspace_id and b.id = r.bank_id
where r.workspace_id = @workspace_id and b.name = @bank and (@before::bigint = 0 or r.number < @before) order by r.number desc limit @max_rows;

-- name: ExploreTrainings :many
-- The key of a training begins with its bank.
select r.id, r.status, r.outcome, r.reason, coalesce(r.result, '{}')::jsonb as result, r.created_at, r.ended_at from runs r
where r.workspace_id = @workspace_id and r.kind = 'train' and starts_with(r.business_key, @bank::text || '/')
  and (sqlc.narg(before)::timestamptz is null or (r.created_at, r.id) < (sqlc.narg(before)::timestamptz, @before_id::text))
order by r.created_at desc, r.id desc limit @max_rows;

-- name: ExploreCases :many
select x.id, x.source, x.state, left(x.question, @max_chars::int) as question, x.gold, left(x.prediction, @max_chars::int) as prediction, x.score, x.failures,
  coalesce(c.external_id, '')::text as conversation, coalesce(x.run_id, '')::text as run_id, x.failed_at, x.created_at
from cases x
  join banks b on b.workspace_id = x.workspace_id and b.id = x.bank_id
  left join conversations c on c.workspace_id = x.workspace_id and c.id = x.conversation_id
where x.workspace_id = @workspace_id and b.name = @bank and (@state::text = '' or x.state = @state) and x.failures > 0 and (@before::bigint = 0 or x.id < @before)
order by x.id desc limit @max_rows;
