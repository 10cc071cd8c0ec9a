-- Queries of the experiment, run as superuser over all rows.

-- name: turns
-- Each turn with its messages in the transcript.
select c.external_id, t.number, t.status, t.reason, t.first_seq, coalesce(t.reply_seq, -1) as reply_seq, coalesce(r.content, '') as reply,
  m.said, m.answers, m.calls, m.results
from cairn.turns t
join cairn.conversations c on c.workspace_id = t.workspace_id and c.id = t.conversation_id
left join cairn.messages r on r.workspace_id = t.workspace_id and r.conversation_id = t.conversation_id and r.seq = t.reply_seq
cross join lateral (
  select count(*) filter (where role = 'user') as said,
         count(*) filter (where role = 'assistant' and tool_calls = '[]') as answers,
         count(*) filter (where role = 'assistant' and tool_calls <> '[]') as calls,
         count(*) filter (where role = 'tool') as results
  from cairn.messages m where m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id and m.turn = t.number) m
order by c.external_id, t.number

-- name: transcripts_astray
-- Messages are numbered from 0 without gaps, and each belongs to a turn.
select count(*) from cairn.conversations c
where exists (select from cairn.messages m where m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.turn is null)
   or row(c.next_seq, c.next_seq) is distinct from
      (select row(count(*)::int, coalesce(max(seq) + 1, 0)) from cairn.messages m where m.workspace_id = c.workspace_id and m.conversation_id = c.id)

-- name: turns_astray
-- A turn begins where the previous one ended; there are no messages in between.
select count(*) from cairn.turns t join cairn.turns b on b.workspace_id = t.workspace_id and b.conversation_id = t.conversation_id and b.number = t.number - 1
where t.first_seq is distinct from b.reply_seq + 1

-- name: answered
select count(*) from cairn.turns where status = 'ended'

-- name: memories
select m.content, m.status, (select count(*) from cairn.memory_revisions r where r.workspace_id = m.workspace_id and r.memory_id = m.id) as revisions
from cairn.memories m order by m.id

-- name: operations_open
select count(*) from cairn.tool_op_log where result is null

-- name: reviews
select c.external_id, (r.spec->>'number')::int as number, coalesce(r.spec->>'system', '') as system, r.status, r.reason
from cairn.runs r join cairn.conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
where r.kind = 'nudge' order by r.created_at, r.id

-- name: open_runs
select count(*) from cairn.runs where status <> 'ended'

-- name: counters
select external_id, counters from cairn.conversations

-- name: answer_times
select extract(epoch from ended_at - accepted_at)::float8 from cairn.turns where status = 'ended' order by 1

-- name: duties
select count(*) from cairn.outbox
