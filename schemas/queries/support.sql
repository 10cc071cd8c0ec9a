-- Console of operators. System role.

-- name: OperatorSessionInsert :exec
insert into operator_sessions (hash, key_id) values (@hash, @key_id);

-- name: OperatorSessionsEnded :exec
delete from operator_sessions where ends_at <= now() or used_at <= now() - interval '8 hours';

-- name: OperatorSession :one
-- A session ends 8 hours after its last use, and with its key.
select s.key_id, k.scopes, (s.used_at <= now() - interval '1 minute')::boolean as idle
from operator_sessions s join operator_keys k on k.id = s.key_id
where s.hash = @hash and s.ends_at > now() and s.used_at > now() - interval '8 hours' and k.revoked_at is null and (k.expires_at is null or k.expires_at > now());

-- name: OperatorSessionUsed :exec
update operator_sessions set used_at = now() where hash = @hash;

-- name: OperatorSessionDelete :exec
delete from operator_sessions where hash = @hash;

-- name: SupportWorkspaces :many
select ws_id::bigint as id, ws_key::text as key, ws_state::text as state, ws_created_at::timestamptz as created_at, conversations::bigint as conversations,
  memories::bigint as memories, skills::bigint as skills, open_runs::bigint as open_runs, failed_runs::bigint as failed_runs, waiting::bigint as waiting,
  stuck::bigint as stuck, calls::bigint as calls, failed_calls::bigint as failed_calls, tokens::bigint as tokens, micros::bigint as micros,
  unpriced::bigint as unpriced, coalesce(last_turn_at, to_timestamp(0))::timestamptz as last_turn_at
from cairn.support_workspaces(@after_id::bigint, @only_id::bigint, @max_rows::int,
  @stuck_failures::int, @stuck_age::interval);

-- name: SupportErrors :many
select what::text as what, kind::text as kind, code::text as code, n::bigint as n, latest::timestamptz as latest from cairn.support_errors(@workspace_id::bigint);
