-- Every function except DerivedOf runs as cairn_erase; the system role may call it.

-- name: EraseAccept :one
select cairn.erase_accept(@workspace::bigint, sqlc.narg(conversation)::bigint, @derived::text)::bigint;

-- name: EraseAcceptSubject :one
select coalesce(cairn.erase_accept_subject(@workspace::bigint, @hashes::bytea[], @keys::text[], @names::text[], @marks::text[], @known::boolean), 0)::bigint;

-- name: EraseSubject :one
select cairn.erase_subject(@id::bigint, @most::int)::int;

-- name: EraseRequests :one
select cairn.erase_requests(@id::bigint)::bigint;

-- name: EraseListed :many
select kind::text as kind, id::bigint as id, ref::text as ref, review::boolean as review from cairn.erase_listed(@id::bigint);

-- name: EraseConversations :many
-- Of a subject: the conversations that are erased completely.
select cairn.erase_conversations(@id::bigint)::bigint as id;

-- name: EraseGet :one
select id, workspace, workspace_key, conversation, subject, derived, state, deleted, remaining, affected, objects, objects_left, workflows, workflows_left, requested_at, ended_at
from erasures where id = @id;

-- name: EraseTombstone :one
select token, regexp_replace(workspace_key, '^i[0-9]+/', '')::text as workspace_key, conversation, conversation_at, subject, derived, requested_at, state
from erasures where id = @id;

-- name: EraseKnown :one
-- Whether the database has an erasure, and the workspace that it is of, 0 if there is none.
select exists (select from erasures where token = @token::uuid)::boolean as known,
  coalesce((select w.id from workspaces w where regexp_replace(w.key, '^i[0-9]+/', '') = @workspace_key::text and w.state = 'active'), 0)::bigint as workspace;

-- name: EraseConversationExists :one
select exists (select from conversations where workspace_id = @workspace_id and id = @id and created_at = @created_at)::boolean;

-- name: EraseRepeat :exec
select cairn.erase_repeat(@id::bigint, @token::uuid);

-- name: SubjectKeys :many
-- The names of all targets, for their hashes.
select t.target from memory_targets t where t.workspace_id = @workspace_id
union select m.target from memories m where m.workspace_id = @workspace_id and m.type in ('personal', 'procedural') and m.target <> '';

-- name: ErasuresOpen :many
select id, workspace, workspace_key, conversation, (subject is not null)::boolean as of_subject from erasures where state = 'accepted' order by id limit @max_rows;

-- name: EraseEnter :exec
select id from cairn.erase_enter(@id::bigint);

-- name: EraseTables :many
select tbl::text as tbl, place::int as place from cairn.erase_tables() order by 2;

-- name: EraseRows :one
select cairn.erase_rows(@id::bigint, @tbl::text, @most::int)::bigint;

-- name: EraseDerived :exec
select cairn.erase_derived(@id::bigint), cairn.erase_identity(@id::bigint);

-- name: EraseConversation :exec
select cairn.erase_conversation(@id::bigint);

-- name: ErasePackages :many
select sha256::bytea as sha256, key::text as key from cairn.erase_packages(@id::bigint, @after::bytea, @most::int);

-- name: ErasePackageRows :exec
select cairn.erase_package_rows(@id::bigint, @gone::bytea[]);

-- name: EraseNote :exec
select cairn.erase_note(@id::bigint, sqlc.narg(objects)::int, sqlc.narg(objects_left)::int, @stopped::text[], sqlc.narg(workflows_left)::int);

-- name: EraseRowsOf :many
select tbl::text as tbl, n::bigint as n from cairn.erase_rows_of(@workspace::bigint, sqlc.narg(conversation)::bigint, sqlc.narg(erasure)::bigint);

-- name: EraseEnd :one
select cairn.erase_end(@id::bigint)::boolean;

-- name: DerivedOf :many
select kind::text as kind, id::bigint as id, ref::text as ref, sole::boolean as sole from cairn.derived_of(@workspace_id::bigint, array[@conversation::bigint]) order by 1, 2;

-- name: SubjectKnown :one
select exists (select from memory_targets where workspace_id = @workspace_id and target_key = @target_key)::boolean;

-- name: SubjectNames :many
-- All spellings of names: of speakers, of targets in requests, and of mem0's owners.
select name::text as name from (
  select m.name from messages m where m.workspace_id = @workspace_id and m.role in ('user', 'assistant')
  union select t #>> '{}' from runs r, jsonb_path_query(r.spec, '$.pinned.**.memory_target') t where r.workspace_id = @workspace_id
  union select unnest(array[m.metadata -> 'mem0' ->> 'user_id', m.metadata -> 'mem0' ->> 'agent_id', m.metadata -> 'mem0' ->> 'app_id', m.metadata -> 'mem0' ->> 'run_id'])
  from memories m where m.workspace_id = @workspace_id and m.metadata ? 'mem0') n where name <> '';

-- name: SubjectMemories :one
select exists (select from memories where workspace_id = @workspace_id and type in ('personal', 'procedural') and target = any(@keys::text[]))::boolean;
