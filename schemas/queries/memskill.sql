-- name: DecisionPut :exec
insert into decisions (workspace_id, id, run_id, conversation_id, span, from_seq, to_seq, bank_id, bank_version, choice, sampled, canary)
values (@workspace_id, @id, @run_id, @conversation_id, @span, @from_seq, @to_seq, @bank_id, @bank_version, @choice, @sampled, sqlc.narg('canary'))
on conflict (workspace_id, id) do nothing;

-- name: DecisionGet :one
select * from decisions where workspace_id = @workspace_id and id = @id;

-- name: DecisionEnd :exec
update decisions set outcome = @outcome where workspace_id = @workspace_id and id = @id and outcome is null;

-- name: DecisionsOfRun :many
select * from decisions where workspace_id = @workspace_id and run_id = @run_id order by span;

-- name: DecisionsOfBank :many
-- The latest decisions of a bank, each with the number and the mean of its scores.
select sqlc.embed(d), o.scores, o.score from decisions d
cross join lateral (
  select count(*)::int as scores, coalesce(avg(c.score), 0)::float8 as score from decision_outcomes c
  where c.workspace_id = d.workspace_id and c.decision_id = d.id) o
where d.workspace_id = @workspace_id and d.bank_id = @bank_id
  and (sqlc.narg(before)::timestamptz is null or (d.created_at, d.id) < (sqlc.narg(before)::timestamptz, @before_id::text))
order by d.created_at desc, d.id desc limit @max_rows;

-- name: SpanNeighbours :many
-- The memories that are closest to a span. All of them are compared.
select m.id, m.external_id, m.content, e.v, (1 - (e.v <=> @query::halfvec))::float8 as cosine
from memories m join search_docs d on d.workspace_id = m.workspace_id and d.kind = 'memory' and d.owner_id = m.id
join embeddings e on e.workspace_id = m.workspace_id and e.space = @space and e.doc = d.doc
where m.workspace_id = @workspace_id and m.status = 'active' and m.type in ('personal', 'procedural')
order by cosine desc, m.id limit @max_rows;

-- name: ScopeNearest :one
-- The limits have each row found by index, whatever the statistics say.
select m.id, m.external_id, m.content, (1 - (e.v <=> @query::halfvec))::float8 as cosine
from memories m
cross join lateral (select s.doc from search_docs s where s.workspace_id = @workspace_id and s.kind = 'memory' and s.owner_id = m.id limit 1) d
cross join lateral (select x.v from embeddings x where x.workspace_id = @workspace_id and x.space = @space and x.doc = d.doc limit 1) e
where m.workspace_id = @workspace_id and m.status = 'active' and m.type = @type and m.target = @target
order by cosine desc, m.id limit 1;

-- name: CasePut :one
-- A question that failed before keeps its case. One operation is counted once.
insert into cases as c (workspace_id, bank_id, key, source, question, gold, evidence, category, prediction, retrieved, score, failures, iteration, conversation_id, run_id, op_id)
values (@workspace_id, @bank_id, @key, @source, @question, @gold::text[], @evidence::int[], @category, @prediction, @retrieved::text[], @score, @failures, @iteration, sqlc.narg('conversation_id'), sqlc.narg('run_id'), @op_id)
on conflict (workspace_id, bank_id, key) do update set
  gold = case when cardinality(excluded.gold) > 0 then excluded.gold else c.gold end,
  evidence = case when cardinality(excluded.evidence) > 0 then excluded.evidence else c.evidence end,
  category = case when excluded.category <> '' then excluded.category else c.category end,
  conversation_id = coalesce(excluded.conversation_id, c.conversation_id), run_id = coalesce(excluded.run_id, c.run_id),
  source = case when excluded.failures > 0 then excluded.source else c.source end,
  state = case when excluded.failures > 0 and excluded.op_id <> c.op_id then 'open' else c.state end,
  prediction = case when excluded.failures > 0 then excluded.prediction else c.prediction end,
  retrieved = case when excluded.failures > 0 then excluded.retrieved else c.retrieved end,
  score = case when excluded.failures > 0 then excluded.score else c.score end,
  iteration = greatest(c.iteration, excluded.iteration),
  failures = case when excluded.op_id <> c.op_id then c.failures + excluded.failures else c.failures end,
  failed_at = case when excluded.failures > 0 and excluded.op_id <> c.op_id then now() else c.failed_at end,
  op_id = excluded.op_id, updated_at = now()
returning *;

-- name: CaseGet :one
select * from cases where workspace_id = @workspace_id and id = @id;

-- name: CaseSucceed :one
-- A success halves the failures; at zero the case is resolved. Returns how many it took away.
with before as (
  select c.id, c.failures from cases c where c.workspace_id = @workspace_id and c.bank_id = @bank_id and c.key = @key and c.op_id <> @op_id and c.failures > 0 for update
)
update cases t set failures = b.failures / 2, state = case when b.failures / 2 = 0 then 'resolved' else t.state end, op_id = @op_id, updated_at = now()
from before b where t.workspace_id = @workspace_id and t.id = b.id
returning t.id, (b.failures - b.failures / 2)::int as taken;

-- name: CaseRetract :exec
-- Takes back the effect of a vote. An expired case has no failures left to take back.
update cases set failures = greatest(failures - @failures::int, 0), state = case when failures > @failures::int then 'open' else 'resolved' end, updated_at = now()
where workspace_id = @workspace_id and id = @id and state <> 'expired';

-- name: CasesExpire :execrows
-- A case that has not failed for this time is no longer hard. A new failure starts at one.
update cases set failures = 0, state = 'expired', updated_at = now()
where workspace_id = @workspace_id and bank_id = @bank_id and state = 'open' and failures > 0 and failed_at < now() - make_interval(secs => @seconds);

-- name: CasesOpen :many
select * from cases where workspace_id = @workspace_id and bank_id = @bank_id and state = 'open' and failures > 0 order by updated_at desc, id desc limit @max_rows;

-- name: CasesKnown :many
-- Questions whose answers and sources are known.
select * from cases where workspace_id = @workspace_id and bank_id = @bank_id and conversation_id is not null and cardinality(gold) > 0 order by conversation_id, id;

-- name: RoundPut :one
insert into evolution_rounds (workspace_id, bank_id, number, run_id, base)
values (@workspace_id, @bank_id, (select coalesce(max(r.number), 0) + 1 from evolution_rounds r where r.workspace_id = @workspace_id and r.bank_id = @bank_id), @run_id, @base)
on conflict (workspace_id, run_id) do update set note = evolution_rounds.note returning *;

-- name: RoundOfRun :one
select * from evolution_rounds where workspace_id = @workspace_id and run_id = @run_id;

-- name: RoundSave :exec
update evolution_rounds set conversations = @conversations::bigint[], mined = @mined, analysis = sqlc.narg('analysis'), proposal = sqlc.narg('proposal'), candidate = sqlc.narg('candidate'),
  comparison = sqlc.narg('comparison'), outcome = @outcome, note = @note, ended_at = case when @outcome <> '' then now() end
where workspace_id = @workspace_id and run_id = @run_id and outcome = '';

-- name: RoundDecide :execrows
-- A person decides on a round that waits.
update evolution_rounds set outcome = @outcome, note = @note where workspace_id = @workspace_id and bank_id = @bank_id and number = @number and outcome = 'waiting';

-- name: RoundsOf :many
select * from evolution_rounds where workspace_id = @workspace_id and bank_id = @bank_id order by number desc limit @max_rows;

-- name: TrainingStepPut :exec
insert into training_steps (workspace_id, run_id, step, conversation_id, result) values (@workspace_id, @run_id, @step, sqlc.narg('conversation_id'), @result)
on conflict (workspace_id, run_id, step) do nothing;

-- name: TrainingStepGet :one
select result from training_steps where workspace_id = @workspace_id and run_id = @run_id and step = @step;

-- name: TrainingStepsUnder :many
select step, result from training_steps where workspace_id = @workspace_id and run_id = @run_id and step like @prefix || '%' order by step;

-- name: TrainingStepsDrop :exec
delete from training_steps where workspace_id = @workspace_id and run_id = @run_id and step like @prefix || '%';

-- name: RunConversationPut :exec
insert into run_conversations (workspace_id, run_id, conversation_id) values (@workspace_id, @run_id, @conversation_id)
on conflict (workspace_id, run_id, conversation_id) do nothing;

-- name: DecisionsBehind :many
-- The memories that a run was shown, with their decisions and content at that time.
select m.external_id, r.decision_id, r.content from memory_views s join memories m on m.workspace_id = s.workspace_id and m.id = s.memory_id
join memory_revisions r on r.workspace_id = s.workspace_id and r.memory_id = s.memory_id and r.created_at <= s.created_at
where s.workspace_id = @workspace_id and s.run_id = @run_id order by m.external_id, r.version;

-- name: SkillStatsPut :exec
insert into skill_stats (workspace_id, bank_id, skill_id, stats)
select @workspace_id, @bank_id, of.key, of.value from jsonb_each(@stats::jsonb) of
on conflict (workspace_id, bank_id, skill_id) do update set stats = excluded.stats, updated_at = now();

-- name: SkillStatsOf :many
select skill_id, stats from skill_stats where workspace_id = @workspace_id and bank_id = @bank_id;
