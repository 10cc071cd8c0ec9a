-- +goose Up
-- What the gateway asks of the database beside its requests: which schema it has,
-- what needs a look, and lists by pages.

-- The number of the last migration that was applied. A program works on its own
-- version of the schema and on later ones.
-- +goose StatementBegin
create function cairn.schema_version() returns bigint
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select coalesce(max(version_id), 0) from goose_db_version where is_applied
$$;
-- +goose StatementEnd
revoke all on function cairn.schema_version() from public;
grant execute on function cairn.schema_version() to cairn_app;

-- Since when a run has been open. A retry sets it anew: the run was done in between.
alter table runs add column opened_at timestamptz not null default now();

-- What needs a look is counted across workspaces, so by the system role. It sees
-- of which kind open runs are and since when, not whose they are nor what they ask.
create policy runs_system on runs for select to cairn_system using (status <> 'ended');
grant select (kind, status, opened_at) on runs to cairn_system;
create index runs_open on runs (kind, opened_at) where status <> 'ended';
create index llm_calls_unknown on llm_calls (lease_until) where state = 'unknown';

-- Lists go by category, skills without one first, then by name.
alter table skills add column category text not null default '' check (char_length(category) <= 64);
create index skills_listed on skills (workspace_id, category, name);
