-- name: SpaceLock :one
-- The space that the workspace uses, 0 for none, and whether a re-embedding to another one runs. The
-- space does not change before the transaction ends.
select coalesce(w.space_id, 0)::smallint as space,
  exists (select from reembed_progress p where p.workspace_id = @workspace_id and p.state in ('running', 'paused') and p.space is distinct from w.space_id)::boolean as building
from workspaces w where w.id = @workspace_id for key share of w;

-- name: SpaceChoose :exec
-- The first vector of a workspace chooses its space.
update workspaces set space_id = @space::smallint where id = @workspace_id and space_id is null;

-- name: SpacesUsed :many
-- The space that the workspace uses, and those that it builds.
select s.id, s.model, s.dims, (w.space_id is not distinct from s.id)::boolean as active
from workspaces w join embedding_spaces s on s.id = w.space_id
  or exists (select from reembed_progress p where p.workspace_id = @workspace_id and p.space = s.id and p.state in ('running', 'paused'))
where w.id = @workspace_id order by s.id;

-- name: SpacePrevious :one
select s.id, s.model, s.dims from workspaces w join embedding_spaces s on s.id = w.previous_space_id
where w.id = @workspace_id and w.previous_until > now() and s.state = 'active';

-- name: SpacePreviousKeep :exec
-- A return to the previous space may end after the space would have been retired.
update workspaces set previous_until = now() + interval '7 days' where id = @workspace_id and previous_space_id = @space::smallint;

-- name: SpaceSwitch :exec
update workspaces set previous_space_id = space_id, previous_until = now() + interval '7 days', space_id = @space::smallint
where id = @workspace_id and space_id is distinct from @space::smallint;

-- name: SpaceLockAll :one
-- Waits for writers of documents in progress, and makes new ones wait.
select w.id from workspaces w where w.id = @workspace_id for update;

-- name: SpacesOf :many
-- All spaces with the number of the workspace's vectors in each.
select s.id, s.model, s.dims, s.state, coalesce(w.space_id = s.id, false)::boolean as active,
  coalesce(w.previous_space_id = s.id and w.previous_until > now(), false)::boolean as previous,
  (select count(*) from embeddings e where e.workspace_id = @workspace_id and e.space = s.id)::int as vectors
from embedding_spaces s join workspaces w on w.id = @workspace_id order by s.id;

-- name: SpaceDocuments :one
select count(*)::int as documents, coalesce(sum(length(text)), 0)::bigint as characters from search_docs where workspace_id = @workspace_id;

-- name: SpaceMissing :one
-- Documents without a vector in a space that its model has not refused; at most max_rows are counted.
select count(*)::int as documents, coalesce(sum(m.n), 0)::bigint as characters from (
  select length(d.text) as n from search_docs d where d.workspace_id = @workspace_id
    and not exists (select from embeddings e where e.workspace_id = @workspace_id and e.doc = d.doc and e.space = @space)
    and not exists (select from embed_refusals r where r.workspace_id = @workspace_id and r.doc = d.doc and r.space = @space)
  limit @max_rows::int) m;

-- name: SpaceMissingDocs :many
select d.doc, d.text from search_docs d where d.workspace_id = @workspace_id and d.doc > @after
  and not exists (select from embeddings e where e.workspace_id = @workspace_id and e.doc = d.doc and e.space = @space)
  and not exists (select from embed_refusals r where r.workspace_id = @workspace_id and r.doc = d.doc and r.space = @space)
order by d.doc limit @max_rows::int;

-- name: DocTextsLock :many
-- Locked, so that the texts do not change until their vectors are stored.
select doc, text from search_docs where workspace_id = @workspace_id and doc = any(@docs::bigint[]) order by doc for no key update;

-- name: EmbeddingsAdd :execrows
insert into embeddings (workspace_id, doc, space, v) select @workspace_id, unnest(@docs::bigint[]), @space, unnest(@vectors::halfvec[])
on conflict do nothing;

-- name: RefusalsAdd :execrows
insert into embed_refusals (workspace_id, doc, space, reason) select @workspace_id, unnest(@docs::bigint[]), @space, unnest(@reasons::text[])
on conflict do nothing;

-- name: RefusalsForget :exec
delete from embed_refusals where workspace_id = @workspace_id and space = @space;

-- name: RefusalsList :many
select r.doc, d.kind, r.reason,
  coalesce((select m.external_id from memories m where d.kind = 'memory' and m.workspace_id = @workspace_id and m.id = d.owner_id),
    (select k.name from skills k where d.kind = 'skill' and k.workspace_id = @workspace_id and k.id = d.owner_id),
    (select c.external_id || '#' || d.seq from conversations c where d.kind = 'turn' and c.workspace_id = @workspace_id and c.id = d.owner_id), '')::text as name
from embed_refusals r join search_docs d on d.workspace_id = r.workspace_id and d.doc = r.doc
where r.workspace_id = @workspace_id and r.space = @space order by r.doc limit @max_rows::int;

-- name: ReembedOpen :exec
-- Begins again from the first document, also if an earlier one has ended.
insert into reembed_progress (workspace_id, space, total, rate) values (@workspace_id, @space, @total, @rate)
on conflict (workspace_id, space) do update set last_doc = 0, done = 0, failed = 0, total = excluded.total, rate = excluded.rate,
  state = 'running', reason = '', started_at = now(), finished_at = null;

-- name: ReembedLock :one
select * from reembed_progress where workspace_id = @workspace_id and space = @space for update;

-- name: ReembedLast :one
-- The latest one of the workspace.
select p.*, s.model, s.dims from reembed_progress p join embedding_spaces s on s.id = p.space where p.workspace_id = @workspace_id
order by p.started_at desc limit 1;

-- name: ReembedAdvance :exec
update reembed_progress p set last_doc = @last_doc, done = p.done + @written::int, failed = p.failed + @refused::int,
  total = greatest(p.total, p.done + p.failed + @handled::int) where p.workspace_id = @workspace_id and p.space = @space;

-- name: ReembedMark :exec
update reembed_progress set state = @state, reason = @reason, finished_at = case when @state in ('running', 'paused') then null else now() end
where workspace_id = @workspace_id and space = @space;

-- name: SpaceRetire :one
select coalesce(cairn.retire_space(@keep::smallint[]), 0)::smallint;

-- name: SpacesOpen :many
select id from embedding_spaces where state = 'active' order by id;

-- name: SpaceUsers :many
-- As the owner: the workspaces that use a space. Those without a space use the configured one.
select id from workspaces where coalesce(space_id, @configured::smallint) = @space::smallint;

-- name: WorkspacesAll :many
-- System role.
select id, external_id, key from workspaces where state = 'active' and id > @after order by id limit @max_rows::int;

-- name: DocSpaces :many
select space from embeddings where workspace_id = @workspace_id and doc = @doc order by space;

-- name: SpaceGet :one
select id, model, dims from embedding_spaces where id = @space and state = 'active';
