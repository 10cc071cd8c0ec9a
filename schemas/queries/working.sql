-- name: BlobPut :exec
-- Content that is offloaded again gets the later expiry time.
insert into offload_blobs as b (workspace_id, sha256, kind, content, bytes, expires_at)
values (@workspace_id, @sha256, @kind, @content, octet_length(@content), case when @ttl::interval > '0' then now() + @ttl::interval else 'infinity' end)
on conflict (workspace_id, sha256) do update set expires_at = greatest(b.expires_at, excluded.expires_at);

-- name: BlobUse :exec
insert into offload_uses (workspace_id, session, sha256, conversation_id, label) values (@workspace_id, @session, @sha256, sqlc.narg('conversation_id'), @label)
on conflict (workspace_id, session, sha256) do update set label = excluded.label;

-- name: BlobGet :one
-- Of a session, or of any if none is given.
select b.kind, b.content, coalesce((select u.label from offload_uses u where u.workspace_id = b.workspace_id and u.sha256 = b.sha256 and (@session::text = '' or u.session = @session) order by u.position limit 1), '')::text as label
from offload_blobs b where b.workspace_id = @workspace_id and b.sha256 = @sha256 and b.expires_at > now()
  and (@session::text = '' or exists (select from offload_uses u where u.workspace_id = b.workspace_id and u.sha256 = b.sha256 and u.session = @session));

-- name: BlobsOf :many
-- The content that a session has offloaded, in order.
select b.sha256 from offload_uses u join offload_blobs b on b.workspace_id = u.workspace_id and b.sha256 = u.sha256
where u.workspace_id = @workspace_id and u.session = @session and b.expires_at > now() order by u.position limit @max_rows;

-- name: BlobsPurge :execrows
-- System role: deletes expired content, in parts.
delete from offload_blobs b where (b.workspace_id, b.sha256) in (select e.workspace_id, e.sha256 from offload_blobs e where e.expires_at < now() limit @max_rows) and b.expires_at < now();

-- name: CompactionPut :exec
-- The first compaction of a conversation up to a turn stays.
insert into compactions (workspace_id, conversation_id, upto_turn, run_id, content, tokens, degraded)
values (@workspace_id, @conversation_id, @upto_turn, @run_id, @content, @tokens, @degraded)
on conflict (workspace_id, conversation_id, upto_turn) do nothing;

-- name: CompactionAt :one
select upto_turn, run_id, content, tokens, degraded from compactions where workspace_id = @workspace_id and conversation_id = @conversation_id and upto_turn = @upto_turn;

-- name: CompactionOfTurn :one
-- The compaction with which the turn of a run begins.
select c.upto_turn, c.content, c.run_id from compactions c join turns t on t.workspace_id = c.workspace_id and t.conversation_id = c.conversation_id
where t.workspace_id = @workspace_id and t.run_id = @run_id and c.upto_turn < t.number order by c.upto_turn desc limit 1;
