-- name: DumpCounts :one
select w.external_id as workspace,
  (select count(*) from memory_targets t where t.workspace_id = w.id)::bigint as targets,
  (select count(*) from memory_histories h where h.workspace_id = w.id)::bigint as histories,
  (select count(*) from memories m where m.workspace_id = w.id)::bigint as memories,
  (select count(*) from memories m where m.workspace_id = w.id and m.status = 'active')::bigint as active,
  (select count(*) from memory_revisions r where r.workspace_id = w.id)::bigint as revisions,
  (select count(*) from identity_versions i where i.workspace_id = w.id)::bigint as identities,
  (select count(*) from soul_versions s where s.workspace_id = w.id)::bigint as souls,
  (select count(*) from conversations c where c.workspace_id = w.id)::bigint as conversations,
  (select count(*) from messages g where g.workspace_id = w.id)::bigint as messages,
  coalesce(e.model, '')::text as model, coalesce(e.dims, 0)::int as dims
from workspaces w left join embedding_spaces e on e.id = w.space_id where w.id = @workspace_id;

-- name: DumpTargets :many
select * from memory_targets where workspace_id = @workspace_id and id > @after order by id limit @max_rows;

-- name: DumpConversations :many
-- The conversations that memories refer to.
select c.* from conversations c where c.workspace_id = @workspace_id and c.id > @after and (
  exists (select from memory_histories h where h.workspace_id = c.workspace_id and h.conversation_id = c.id)
  or exists (select from memories m where m.workspace_id = c.workspace_id and m.conversation_id = c.id))
order by c.id limit @max_rows;

-- name: DumpHistories :many
select sqlc.embed(h), c.external_id as conversation
from memory_histories h join conversations c on c.workspace_id = h.workspace_id and c.id = h.conversation_id
where h.workspace_id = @workspace_id and h.id > @after order by h.id limit @max_rows;

-- name: DumpMemories :many
select sqlc.embed(m), coalesce(c.external_id, '')::text as conversation
from memories m left join conversations c on c.workspace_id = m.workspace_id and c.id = m.conversation_id
where m.workspace_id = @workspace_id and m.id > @after order by m.id limit @max_rows;

-- name: DumpRevisions :many
select sqlc.embed(r), coalesce(c.external_id, '')::text as conversation
from memory_revisions r left join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
where r.workspace_id = @workspace_id and r.memory_id = any(@ids::bigint[]) order by r.memory_id, r.version;

-- name: DumpVectors :many
-- In the workspace's space, or in another one if it has none yet.
select d.owner_id, e.v from search_docs d join embeddings e on e.workspace_id = d.workspace_id and e.doc = d.doc
  and e.space = coalesce((select w.space_id from workspaces w where w.id = @workspace_id), @space::smallint)
where d.workspace_id = @workspace_id and d.kind = 'memory' and d.owner_id = any(@ids::bigint[]);

-- name: DumpIdentities :many
select * from identity_versions where workspace_id = @workspace_id and version > @after order by version limit @max_rows;

-- name: DumpSouls :many
select * from soul_versions where workspace_id = @workspace_id and version > @after order by version limit @max_rows;

-- name: HistoryLoad :execrows
insert into memory_histories (workspace_id, id, content_sha256, conversation_id, from_seq, to_seq, messages, tokens, author, op_id, created_at)
values (@workspace_id, @id, @content_sha256, @conversation_id, @from_seq, @to_seq, @messages, @tokens, @author, @op_id, @created_at)
on conflict do nothing;

-- name: IdentityLoad :exec
insert into identity_versions (workspace_id, version, content, action, origin, author, op_id, history_id, created_at)
values (@workspace_id, @version, @content, @action, @origin, @author, @op_id, sqlc.narg(history_id), @created_at);

-- name: SoulLoad :exec
insert into soul_versions (workspace_id, version, content, action, origin, op_id, created_at) values (@workspace_id, @version, @content, @action, @origin, @op_id, @created_at);

-- name: LongTermList :many
-- In order of creation. Metadata filters compare a whole member.
select * from memories where workspace_id = @workspace_id and id > @after and type = any(@types::text[]) and (cardinality(@targets::text[]) = 0 or target = any(@targets::text[]))
  and (@every_status::boolean or status = 'active') and metadata @> @facts::jsonb
order by id limit @max_rows;

-- name: LongTermNewest :many
-- The same in reverse order: the latest first.
select * from memories where workspace_id = @workspace_id and (@after::bigint = 0 or id < @after) and type = any(@types::text[]) and (cardinality(@targets::text[]) = 0 or target = any(@targets::text[]))
  and (@every_status::boolean or status = 'active') and metadata @> @facts::jsonb
order by id desc limit @max_rows;

-- name: ConversationOf :one
select id, next_seq from conversations where workspace_id = @workspace_id and external_id = @external_id;

-- name: DumpSecret :one
select dump_secret from store_state;
