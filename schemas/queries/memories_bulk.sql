-- name: MemoriesPut :many
-- Memories, many at once, in order; existing ones are skipped. A time is text, empty for none.
-- targets holds one JSON array for each.
insert into memories (workspace_id, external_id, type, target, content, content_sha256, version, status, origin, tainted, run_id, op_id, conversation_id, from_seq, to_seq, event_time, created_at, updated_at,
  when_to_use, embedded_field, metadata, history_id, author, importance, targets, superseded_by, retrieve_count, last_retrieved_at, moved, approved, confirmed_at)
select @workspace_id, d.external_id, d.type, d.target, d.content, sha256(convert_to(d.content, 'UTF8')), d.version, d.status, d.origin, d.tainted, nullif(d.run_id, ''), @op_id,
  nullif(d.conversation_id, 0), case when d.conversation_id <> 0 then d.from_seq end, case when d.conversation_id <> 0 then d.to_seq end,
  case when d.conversation_id = 0 then nullif(d.event_time, '')::timestamptz else cairn.event_time(@workspace_id::bigint, d.conversation_id, d.from_seq, d.to_seq, nullif(d.event_time, '')::timestamptz, @kept::boolean) end,
  coalesce(nullif(d.created_at, '')::timestamptz, now()), coalesce(nullif(d.updated_at, '')::timestamptz, now()),
  d.when_to_use, d.embedded_field, d.metadata::jsonb, nullif(d.history_id, ''), d.author, d.importance, array(select jsonb_array_elements_text(d.targets::jsonb)), nullif(d.superseded_by, ''),
  d.retrieve_count, nullif(d.retrieved_at, '')::timestamptz, d.moved, d.approved, nullif(d.confirmed_at, '')::timestamptz
from (select generate_subscripts(@external_ids::text[], 1) as at, unnest(@external_ids::text[]) as external_id, unnest(@types::text[]) as type, unnest(@targets::text[]) as target,
    unnest(@contents::text[]) as content, unnest(@versions::int[]) as version, unnest(@states::text[]) as status, unnest(@origins::text[]) as origin, unnest(@tainted::boolean[]) as tainted,
    unnest(@run_ids::text[]) as run_id, unnest(@conversations::bigint[]) as conversation_id, unnest(@from_seqs::int[]) as from_seq, unnest(@to_seqs::int[]) as to_seq,
    unnest(@event_times::text[]) as event_time, unnest(@created::text[]) as created_at, unnest(@updated::text[]) as updated_at, unnest(@uses::text[]) as when_to_use,
    unnest(@embedded_fields::text[]) as embedded_field, unnest(@metadata::text[]) as metadata, unnest(@histories::text[]) as history_id, unnest(@authors::text[]) as author,
    unnest(@importances::real[]) as importance, unnest(@target_lists::text[]) as targets, unnest(@superseded::text[]) as superseded_by, unnest(@retrieved::int[]) as retrieve_count,
    unnest(@retrieved_at::text[]) as retrieved_at, unnest(@moved::boolean[]) as moved, unnest(@approved::boolean[]) as approved,
    unnest(@confirmed_at::text[]) as confirmed_at) d
order by d.at
on conflict do nothing
returning id, external_id, event_time, created_at, updated_at;

-- name: RevisionsPut :exec
insert into memory_revisions (workspace_id, memory_id, version, action, status, content, when_to_use, metadata, targets, author, origin, tainted, run_id, op_id, conversation_id, from_seq, to_seq,
  decision_id, created_at, valid_until, moved)
select @workspace_id, d.memory_id, d.version, d.action, d.status, d.content, d.when_to_use, d.metadata::jsonb, array(select jsonb_array_elements_text(d.targets::jsonb)), d.author, d.origin, d.tainted,
  nullif(d.run_id, ''), @op_id, nullif(d.conversation_id, 0), case when d.conversation_id <> 0 then d.from_seq end, case when d.conversation_id <> 0 then d.to_seq end, @decision_id,
  coalesce(nullif(d.created_at, '')::timestamptz, now()), nullif(d.valid_until, '')::timestamptz, d.moved
from (select unnest(@memory_ids::bigint[]) as memory_id, unnest(@versions::int[]) as version, unnest(@actions::text[]) as action, unnest(@states::text[]) as status,
    unnest(@contents::text[]) as content, unnest(@uses::text[]) as when_to_use, unnest(@metadata::text[]) as metadata, unnest(@target_lists::text[]) as targets, unnest(@authors::text[]) as author,
    unnest(@origins::text[]) as origin, unnest(@tainted::boolean[]) as tainted, unnest(@run_ids::text[]) as run_id, unnest(@conversations::bigint[]) as conversation_id,
    unnest(@from_seqs::int[]) as from_seq, unnest(@to_seqs::int[]) as to_seq, unnest(@created::text[]) as created_at,
    unnest(@ended::text[]) as valid_until, unnest(@moved::boolean[]) as moved) d;

-- name: ReferencesPut :exec
-- The sessions of memories, in order.
insert into memory_refs (workspace_id, memory_id, history_id, run_id, created_at)
select @workspace_id, d.memory_id, d.history_id, @run_id, clock_timestamp() + d.at * interval '1 microsecond'
from (select generate_subscripts(@memory_ids::bigint[], 1) as at, unnest(@memory_ids::bigint[]) as memory_id, unnest(@histories::text[]) as history_id) d
on conflict (workspace_id, memory_id, history_id) do nothing;

-- name: TargetsLoad :execrows
insert into memory_targets (workspace_id, type, target_key, match_key, target, description, created_at, last_used_at, last_summary_at)
select @workspace_id, d.type, d.target_key, d.match_key, d.target, d.description, d.created_at::timestamptz, d.last_used_at::timestamptz,
  nullif(d.last_summary_at, '')::timestamptz
from (select generate_subscripts(@types::text[], 1) as at, unnest(@types::text[]) as type, unnest(@keys::text[]) as target_key, unnest(@match_keys::text[]) as match_key, unnest(@names::text[]) as target,
    unnest(@descriptions::text[]) as description, unnest(@created::text[]) as created_at, unnest(@used::text[]) as last_used_at,
    unnest(@summarised::text[]) as last_summary_at) d
order by d.at
on conflict do nothing;

-- name: MemoriesKnown :many
select external_id from memories where workspace_id = @workspace_id and external_id = any(@external_ids::text[]);

-- name: ConversationsNamed :many
select id, external_id from conversations where workspace_id = @workspace_id and external_id = any(@names::text[]);
