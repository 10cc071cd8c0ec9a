-- name: ReflectionLock :exec
-- Serializes the opening and closing of a workspace's reflections: no two read the same messages.
select pg_advisory_xact_lock(7, hashint8(@workspace_id::bigint));

-- name: ReflectionUnread :many
-- Messages that a reflection may read, grouped by conversation. said is the time of the message,
-- never later than its storage, because a client's clock may be ahead. human is false for turns
-- that were not started by a person; they are skipped.
select m.conversation_id, m.seq, m.role, m.content, m.name, m.tool_calls, m.tool_call_id, m.details, coalesce(m.turn, 0)::int as turn,
  least(coalesce(m.event_time, m.created_at), m.created_at)::timestamptz as said,
  (coalesce(t.origin, 'user') = 'user')::boolean as human, (coalesce(m.turn, 0) between 1 and c.reviewed_turn)::boolean as reviewed
from conversations c
join messages m on m.workspace_id = c.workspace_id and m.conversation_id = c.id
left join conversation_marks k on k.workspace_id = c.workspace_id and k.conversation_id = c.id and k.kind = 'reflection'
left join turns t on t.workspace_id = m.workspace_id and t.conversation_id = m.conversation_id and t.number = m.turn
where c.workspace_id = @workspace_id and (c.channel in ('voice', 'sms', 'chat') or c.channel = 'import' and m.event_time is not null)
  and (not @past_mark::boolean or m.seq > coalesce(k.seq, -1))
  and least(coalesce(m.event_time, m.created_at), m.created_at) >= @since::timestamptz
  and least(coalesce(m.event_time, m.created_at), m.created_at) < @until::timestamptz
  and (t.status is null or t.status = 'ended')
  and (@again::boolean or not exists (select from reflection_reads r where r.workspace_id = m.workspace_id and r.conversation_id = m.conversation_id
    and m.seq between r.from_seq and r.to_seq and (r.state <> 'skipped' or @past_mark::boolean)))
order by m.conversation_id, m.seq limit @max_rows;

-- name: ReflectionRange :many
-- Messages of a range, with the columns of ReflectionUnread.
select m.conversation_id, m.seq, m.role, m.content, m.name, m.tool_calls, m.tool_call_id, m.details, coalesce(m.turn, 0)::int as turn,
  least(coalesce(m.event_time, m.created_at), m.created_at)::timestamptz as said,
  (coalesce(t.origin, 'user') = 'user')::boolean as human, (coalesce(m.turn, 0) between 1 and c.reviewed_turn)::boolean as reviewed
from conversations c
join messages m on m.workspace_id = c.workspace_id and m.conversation_id = c.id
left join turns t on t.workspace_id = m.workspace_id and t.conversation_id = m.conversation_id and t.number = m.turn
where c.workspace_id = @workspace_id and c.id = @conversation_id and m.seq between @from_seq and @to_seq
order by m.seq;

-- name: ReflectionStale :many
-- Unread messages before a window, in ranges without gaps. They are skipped and counted.
select conversation_id, min(seq)::int as from_seq, max(seq)::int as to_seq, count(*)::int as messages from (
  select m.conversation_id, m.seq, m.seq - row_number() over (partition by m.conversation_id order by m.seq) as island
  from conversations c
  join messages m on m.workspace_id = c.workspace_id and m.conversation_id = c.id
  left join conversation_marks k on k.workspace_id = c.workspace_id and k.conversation_id = c.id and k.kind = 'reflection'
  where c.workspace_id = @workspace_id and (c.channel in ('voice', 'sms', 'chat') or c.channel = 'import' and m.event_time is not null)
    and m.seq > coalesce(k.seq, -1) and least(coalesce(m.event_time, m.created_at), m.created_at) < @before::timestamptz
    and not exists (select from reflection_reads r where r.workspace_id = m.workspace_id and r.conversation_id = m.conversation_id and m.seq between r.from_seq and r.to_seq)
) s group by conversation_id, island order by 1, 2;

-- name: ReflectionReadPut :exec
insert into reflection_reads (workspace_id, run_id, conversation_id, from_seq, to_seq, part, state)
values (@workspace_id, @run_id, @conversation_id, @from_seq, @to_seq, @part, @state)
on conflict (workspace_id, run_id, conversation_id, from_seq) do nothing;

-- name: ReflectionReadsEnd :execrows
-- Marks the processed parts as read or skipped.
update reflection_reads set state = @state where workspace_id = @workspace_id and run_id = @run_id and part < @parts and state = 'open';

-- name: ReflectionReadsSkip :execrows
update reflection_reads set state = 'skipped', to_seq = @to_seq where workspace_id = @workspace_id and run_id = @run_id and conversation_id = @conversation_id and from_seq = @from_seq and state = 'open';

-- name: ReflectionReadsFree :execrows
-- Releases the ranges that a run has not read.
delete from reflection_reads where workspace_id = @workspace_id and run_id = @run_id and state = 'open';

-- name: ReflectionReads :many
select * from reflection_reads where workspace_id = @workspace_id and run_id = @run_id order by part, conversation_id, from_seq;

-- name: ReflectionMark :one
-- The last message before the first one that no reflection has read, among those after the mark.
-- Imported messages without a time are never read.
select coalesce(
  (select min(m.seq) - 1 from messages m join conversations c on c.workspace_id = m.workspace_id and c.id = m.conversation_id
    where m.workspace_id = @workspace_id and m.conversation_id = @conversation_id and (c.channel <> 'import' or m.event_time is not null)
    and m.seq > coalesce((select k.seq from conversation_marks k where k.workspace_id = @workspace_id and k.conversation_id = @conversation_id and k.kind = 'reflection'), -1)
    and not exists (select from reflection_reads r where r.workspace_id = @workspace_id and r.conversation_id = @conversation_id and r.state <> 'open' and m.seq between r.from_seq and r.to_seq)),
  (select max(m.seq) from messages m where m.workspace_id = @workspace_id and m.conversation_id = @conversation_id), -1)::int as seq;

-- name: ReflectionTurns :one
-- The last turn of a conversation up to a message.
select coalesce(max(turn), 0)::int as turn from messages where workspace_id = @workspace_id and conversation_id = @conversation_id and seq <= @seq;

-- name: ReflectionOf :one
select * from runs where workspace_id = @workspace_id and kind = 'reflection' and business_key = @date and generation = @generation;

-- name: ReflectionsRecent :many
select * from runs
where workspace_id = @workspace_id and kind = 'reflection' and (@date::text = '' or business_key = @date::text)
order by created_at desc, id desc limit @max_rows;

-- name: ReflectionNotes :many
-- The notes of a date, in order of creation.
select * from memories where workspace_id = @workspace_id and type = 'note' and target = @date and status = 'active' order by id limit @max_rows;

-- name: ReflectionDayPut :exec
-- The result of a local date.
insert into reflection_runs as d (workspace_id, local_date, zone, status, from_at, to_at, run_id, conversations, messages, notes, memories, skills, failures, reason, empty_week)
values (@workspace_id, @local_date, @zone, @status, sqlc.narg('from_at'), @to_at, sqlc.narg('run_id'), @conversations, @messages, @notes, @memories, @skills, @failures, sqlc.narg('reason'), @empty_week)
on conflict (workspace_id, local_date) do update set zone = excluded.zone, status = excluded.status, from_at = excluded.from_at, to_at = greatest(d.to_at, excluded.to_at), run_id = excluded.run_id,
  conversations = excluded.conversations, messages = excluded.messages, notes = excluded.notes, memories = excluded.memories, skills = excluded.skills,
  failures = excluded.failures, reason = excluded.reason, empty_week = excluded.empty_week, updated_at = now();

-- name: ReflectionEmptyWeek :one
-- Whether an empty day is the seventh in a row.
select cairn.empty_week(@workspace_id::bigint, @at::timestamptz)::boolean;

-- name: ReflectionDays :many
select * from reflection_runs where workspace_id = @workspace_id and local_date between @from_date and @to_date order by local_date desc limit @max_rows;

-- name: NoteRecalled :exec
-- A note that is found again for the same query on the same day is counted again.
insert into note_recalls as r (workspace_id, memory_id, query_sha, relevance)
select @workspace_id, unnest(@keys::bigint[]), @query_sha, unnest(@relevances::real[])
on conflict (workspace_id, memory_id, day, query_sha) do update set recalls = r.recalls + 1, relevance = greatest(r.relevance, excluded.relevance), last_at = now();

-- name: NotesRecalled :many
-- Notes that searches have returned often enough, except those written with untrusted text in the
-- context.
select sqlc.embed(m), avg(r.relevance)::float8 as relevance, sum(r.recalls)::int as recalls, count(distinct r.query_sha)::int as queries, count(distinct r.day)::int as days,
  extract(epoch from now() - max(r.last_at))::float8 as seconds
from note_recalls r join memories m on m.workspace_id = r.workspace_id and m.id = r.memory_id
where r.workspace_id = @workspace_id and m.type = 'note' and m.status = 'active' and not m.tainted and m.origin = 'reflection' and r.day > current_date - 60
group by m.workspace_id, m.id having sum(r.recalls) >= @recalls::int and count(distinct r.query_sha) >= @queries::int and count(distinct r.day) >= @days::int
order by m.id limit @max_rows;
