-- name: Attention :many
-- System role. Everything that a scrape shows, in one statement: open runs and
-- duties by kind, and calls that nobody knows the end of.
select 'run'::text as what, r.kind, count(*) as rows, extract(epoch from now() - min(r.opened_at))::float8 as oldest_seconds
from runs r where r.status <> 'ended' group by r.kind
union all
select 'duty', o.kind, count(*), extract(epoch from now() - min(o.created_at))::float8 from outbox o group by o.kind
union all
select 'unknown call', '', count(*), coalesce(extract(epoch from now() - min(c.lease_until)), 0)::float8 from llm_calls c where c.state = 'unknown';

-- name: SchemaVersion :one
select version::bigint as version, oldest::bigint as oldest from cairn.schema_version();
