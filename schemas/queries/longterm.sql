-- name: LongTermRevise :execrows
-- For any status: a removed entry can be restored.
update memories set content = @content, content_sha256 = @content_sha256, when_to_use = @when_to_use, embedded_field = @embedded_field, metadata = @metadata, targets = @targets::text[],
  status = @status, moved = @moved, superseded_by = sqlc.narg(superseded_by), tainted = @tainted, author = @author, op_id = @op_id, event_time = @event_time, version = version + 1, updated_at = now()
where workspace_id = @workspace_id and id = @id and version = @version;

-- name: LongTermPark :exec
-- Prevents conflicts among the entries until each has its old text again.
update memories set status = 'removed' where workspace_id = @workspace_id and id = any(@ids::bigint[]);

-- name: LongTermByID :many
select * from memories where workspace_id = @workspace_id and external_id = any(@external_ids::text[]) order by id;

-- name: LongTermSaying :many
-- The active entries with these contents. The limit makes the index find each, whatever the
-- statistics say.
select m.* from (select unnest(@types::text[]) as type, unnest(@targets::text[]) as target, unnest(@sums::bytea[]) as sum) d
cross join lateral (select * from memories s where s.workspace_id = @workspace_id and s.type = d.type and s.target = d.target and s.content_sha256 = d.sum and s.status = 'active' and s.type not in ('tool', 'summary') limit 1) m;

-- name: LongTermGuidelines :many
select * from memories where workspace_id = @workspace_id and type = 'tool' and when_to_use = any(@tools::text[]) and status = 'active';

-- name: LongTermDigest :one
select * from memories where workspace_id = @workspace_id and type = 'summary' and status = 'active' and history_id is not distinct from sqlc.narg(history_id)::text
  and (sqlc.narg(history_id)::text is not null or content_sha256 = @content_sha256) limit 1;

-- name: LongTermCount :one
select count(*) from memories where workspace_id = @workspace_id and type = @type and target = @target and status = 'active';

-- name: LongTermRefsCopy :exec
insert into memory_refs (workspace_id, memory_id, history_id, run_id, created_at)
select r.workspace_id, @to_memory::bigint, r.history_id, @run_id, r.created_at from memory_refs r where r.workspace_id = @workspace_id and r.memory_id = @from_memory
on conflict (workspace_id, memory_id, history_id) do nothing;

-- name: LongTermEarlier :many
-- What the memories said before the changes that ended it, the earliest first.
select r.memory_id, p.content, r.valid_until::timestamptz as valid_until
from memory_revisions r join memory_revisions p on p.workspace_id = r.workspace_id and p.memory_id = r.memory_id and p.version = r.version - 1
where r.workspace_id = @workspace_id and r.memory_id = any(@ids::bigint[]) and r.valid_until is not null
order by r.memory_id, r.version;

-- name: LongTermOfScope :many
-- The active memories of a scope in the order of creation.
select * from memories where workspace_id = @workspace_id and type = @type and target = @target and status = 'active' order by id limit @max_rows;

-- name: LongTermRefs :many
select memory_id, history_id from memory_refs where workspace_id = @workspace_id and memory_id = any(@ids::bigint[]) order by memory_id, created_at, history_id;

-- name: LongTermRefsOfRunDrop :execrows
delete from memory_refs where workspace_id = @workspace_id and run_id = @run_id;

-- name: LongTermOfRuns :many
-- The entries that runs have written or moved, with the first and the last version of each, and whether another writer
-- except an undo has written since. Later moves change no content: the last version is the one after them.
select sqlc.embed(m), r.first_version::int as first_version,
  (case when exists (select from memory_revisions l where l.workspace_id = m.workspace_id and l.memory_id = m.id and l.version > r.last_version and l.action not in ('move', 'return'))
    then r.last_version else m.version end)::int as last_version,
  exists (select from memory_revisions l where l.workspace_id = m.workspace_id and l.memory_id = m.id and l.version > r.first_version and l.action not in ('undo', 'move', 'return')
    and not coalesce(l.run_id = any(@run_ids::text[]), false))::boolean as moved_on
from (select w.memory_id, min(w.version) as first_version, max(w.version) as last_version from (
    select v.memory_id, v.version from memory_revisions v
    where v.workspace_id = @workspace_id and v.run_id = any(@run_ids::text[]) and v.action not in ('undo', 'move', 'return')
    union all select v.memory_id, v.version from memory_revisions v where v.workspace_id = @workspace_id and v.moved_by = any(@run_ids::text[])) w
  group by w.memory_id) r
join memories m on m.workspace_id = @workspace_id and m.id = r.memory_id
where m.type <> 'note'
order by m.id;

-- name: LongTermRevision :one
select * from memory_revisions where workspace_id = @workspace_id and memory_id = @memory_id and version = @version;

-- name: MemoryViewPut :execrows
with shown as (
  insert into memory_views (workspace_id, run_id, memory_id, op_id) select @workspace_id, @run_id, unnest(@ids::bigint[]), @op_id
  on conflict (workspace_id, run_id, memory_id) do nothing returning memory_id
)
update memories m set retrieve_count = m.retrieve_count + 1, last_retrieved_at = now()
from shown where m.workspace_id = @workspace_id and m.id = shown.memory_id;

-- name: MemoryViews :many
-- The entries that other operations have shown a run.
select memory_id from memory_views where workspace_id = @workspace_id and run_id = @run_id and op_id <> @op_id;

-- name: TargetInsert :execrows
insert into memory_targets (workspace_id, type, target_key, match_key, target, description, run_id)
values (@workspace_id, @type, @target_key, @match_key, @target, @description, @run_id)
on conflict (workspace_id, type, target_key) do nothing;

-- name: TargetGet :many
select * from memory_targets where workspace_id = @workspace_id and type = @type and target_key = @target_key;

-- name: TargetsAlike :many
-- The targets that a name in a text may mean: those with its folded form, or with the ID itself.
select * from memory_targets where workspace_id = @workspace_id and type = @type
  and (target_key = any(@keys::text[]) or match_key = @match_key and match_key <> '')
order by id limit @max_rows;

-- name: TargetsTouch :many
-- The limit makes the index find each target, whatever the statistics say.
update memory_targets t set last_used_at = now(), last_summary_at = case when @summarised::boolean then now() else t.last_summary_at end
where t.workspace_id = @workspace_id and t.id = any(array(
  select k.id from (select unnest(@types::text[]) as type, unnest(@keys::text[]) as target_key) d
  cross join lateral (select s.id from memory_targets s where s.workspace_id = @workspace_id and s.type = d.type and s.target_key = d.target_key limit 1) k))
returning t.type, t.target_key;

-- name: TargetDescribe :execrows
update memory_targets set description = @description where workspace_id = @workspace_id and id = @id;

-- name: TargetsList :many
-- The most recently used, in order of creation.
select * from (
  select * from memory_targets where workspace_id = @workspace_id order by last_used_at desc, id desc limit @max_rows
) t order by t.id;

-- name: TargetsCount :one
select count(*) from memory_targets where workspace_id = @workspace_id;

-- name: TargetsOfRun :many
select * from memory_targets where workspace_id = @workspace_id and run_id = @run_id order by id;

-- name: TargetDrop :execrows
delete from memory_targets t where t.workspace_id = @workspace_id and t.id = @id
  and not exists (select from memories m where m.workspace_id = t.workspace_id and m.type = t.type and m.target = t.target_key and m.status = 'active');

-- name: HistoryInsert :execrows
insert into memory_histories (workspace_id, id, content_sha256, conversation_id, from_seq, to_seq, messages, tokens, author, run_id, op_id)
values (@workspace_id, @id, @content_sha256, @conversation_id, @from_seq, @to_seq, @messages, @tokens, @author, @run_id, @op_id)
on conflict do nothing;

-- name: HistoryBySum :one
select * from memory_histories where workspace_id = @workspace_id and content_sha256 = @content_sha256;

-- name: HistoryGet :one
select * from memory_histories where workspace_id = @workspace_id and id = @id;

-- name: ChunkInsert :one
insert into history_chunks (workspace_id, history_id, number, from_seq, to_seq, tokens)
values (@workspace_id, @history_id, @number, @from_seq, @to_seq, @tokens) returning id;

-- name: ChunksRanked :many
-- The chunks of one session, the best first. All of them are compared. The only chunk of a session may have no
-- document.
with n as (
  select coalesce((select s.docs from lex_stats s where s.workspace_id = @workspace_id), 0) as docs
), q as (
  select ('{' || string_agg((t.term + 1) || ':' || ln(1 + (n.docs - t.df + 0.5) / (t.df + 0.5))::real, ',' order by t.term) || '}/1000000000')::sparsevec as sv
  from lex_terms t, n where t.workspace_id = @workspace_id and t.term = any(@terms::int[]) and t.df > 0
), c as (
  select h.number, h.from_seq, h.to_seq, h.tokens,
    coalesce((select -(l.sv <#> q.sv) from q join lex_docs l on l.workspace_id = @workspace_id and l.doc = d.doc where q.sv is not null), 0)::float8 as lexical,
    coalesce((select 1 - (e.v <=> @query::halfvec) from embeddings e where e.workspace_id = @workspace_id and e.space = @space and e.doc = d.doc), 0)::float8 as cosine
  from history_chunks h left join search_docs d on d.workspace_id = h.workspace_id and d.kind = 'chunk' and d.owner_id = h.id
  where h.workspace_id = @workspace_id and h.history_id = @history_id
)
select c.number, c.from_seq, c.to_seq, c.tokens, c.lexical, c.cosine,
  (1.0 / (60 + rank() over (order by c.lexical desc)) + 1.0 / (60 + rank() over (order by c.cosine desc)))::float8 as score
from c order by score desc, c.number;

-- name: IdentityGet :one
select v.* from workspaces w join identity_versions v on v.workspace_id = w.id and v.version = w.identity_version where w.id = @workspace_id;

-- name: IdentityAt :one
select * from identity_versions where workspace_id = @workspace_id and version = @version;

-- name: IdentityHistory :many
select * from identity_versions where workspace_id = @workspace_id order by version desc limit @max_rows;

-- name: IdentityInsert :exec
insert into identity_versions (workspace_id, version, content, action, origin, author, run_id, op_id, history_id)
values (@workspace_id, @version, @content, @action, @origin, @author, @run_id, @op_id, sqlc.narg(history_id));

-- name: IdentityAdvance :execrows
update workspaces set identity_version = @version where id = @workspace_id and identity_version = @base_version;

-- name: IdentityLatest :one
-- The last version, which an erasure may have deactivated.
select coalesce(max(version), 0)::int from identity_versions where workspace_id = @workspace_id;

-- name: LeaseTake :one
-- Returns no row while another holder has it. The current holder keeps its fencing token.
insert into memory_leases as l (workspace_id, type, target_key, holder, fence, lease_until)
values (@workspace_id, @type, @target_key, @holder, 1, clock_timestamp() + @lives::interval)
on conflict (workspace_id, type, target_key) do update set holder = excluded.holder, lease_until = excluded.lease_until,
  fence = case when l.holder = excluded.holder and l.lease_until > clock_timestamp() then l.fence else l.fence + 1 end
where l.holder = excluded.holder or l.lease_until <= clock_timestamp()
returning fence, lease_until;

-- name: LeaseFree :execrows
update memory_leases set lease_until = clock_timestamp()
where workspace_id = @workspace_id and type = @type and target_key = @target_key and holder = @holder and fence = @fence and lease_until > clock_timestamp();

-- name: LeaseHeld :one
-- Locked, so that no other holder takes it over before the write is committed.
select fence from memory_leases where workspace_id = @workspace_id and type = @type and target_key = @target_key for share;

-- name: MemoryEntities :many
-- The targets of active memories, as mem0 clients name them: by the metadata, else by the target.
select e.kind::text as kind, e.name::text as name, count(*) as memories, min(m.created_at)::timestamptz as first_at, max(m.updated_at)::timestamptz as last_at
from memories m
left join memory_targets t on t.workspace_id = m.workspace_id and t.type = m.type and t.target_key = m.target
cross join lateral (values
  ('user', case when m.metadata ? 'mem0' then m.metadata->'mem0'->>'user_id' when m.type = 'personal' then coalesce(t.target, m.target) end),
  ('agent', case when m.metadata ? 'mem0' then m.metadata->'mem0'->>'agent_id' when m.type = 'procedural' then coalesce(t.target, m.target) end),
  ('app', m.metadata->'mem0'->>'app_id'),
  ('run', m.metadata->'mem0'->>'run_id')) as e(kind, name)
where m.workspace_id = @workspace_id and m.status = 'active' and m.type in ('personal', 'procedural') and e.name is not null
group by e.kind, e.name order by e.kind, e.name limit @max_rows;
