-- +goose Up
-- Adds to memory with one model call. The open ones of a subject are claimed together and in order.

-- Of a summarize run that one model call does: the hash of its subject, what it must have in common
-- with runs of the same call, its size in tokens, and the first run of its call if that is another.
alter table runs
  add column add_subject text,
  add column add_joins   text,
  add column add_tokens  int,
  add column add_batch   text collate "C";
create index runs_adds on runs (workspace_id, add_subject, created_at, id) where kind = 'summarize' and status <> 'ended';

-- Of a change: until when the content of the previous version was valid.
alter table memory_revisions add column valid_until timestamptz;

-- Open adds of the entered workspace and of the deployment, each with the age of the oldest in seconds.
create policy runs_adds_definer on runs for select to cairn_owner using (kind = 'summarize' and status <> 'ended');
-- +goose StatementBegin
create function cairn.open_adds(out mine bigint, out mine_seconds float8, out everyone bigint, out everyone_seconds float8)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select count(*) filter (where r.workspace_id = w.id),
    coalesce(extract(epoch from now() - min(r.opened_at) filter (where r.workspace_id = w.id)), 0)::float8,
    count(*), coalesce(extract(epoch from now() - min(r.opened_at)), 0)::float8
  from (select nullif(current_setting('cairn.workspace', true), '')::bigint as id) w, runs r
  where r.kind = 'summarize' and r.status <> 'ended'
$$;
-- +goose StatementEnd
revoke all on function cairn.open_adds from public;
grant execute on function cairn.open_adds to cairn_app;
