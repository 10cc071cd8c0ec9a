-- +goose Up
-- Audit: who changed or disclosed data of others, and when.

-- An event is written in the transaction of its act. It holds IDs, numbers and names of settings,
-- never texts or names of users. Append-only: no role can change a row, and only the erasure of its
-- workspace deletes one.
create table audit_events (
  workspace_id bigint references workspaces,            -- null for the acts of operators
  id           bigint generated always as identity primary key,
  at           timestamptz not null default now(),
  action       text not null,
  object       text not null,                           -- what the act was about
  actor        text not null check (actor in ('key', 'operator', 'cli', 'system')),
  key_id       bigint check ((key_id is not null) = (actor in ('key', 'operator'))),
  account      text not null default '',                -- of the operating system, for cli
  request      text not null default '',                -- ID of the HTTP request
  address      text not null default ''                 -- of the client
);
create index audit_events_of on audit_events (workspace_id, id);

alter table audit_events enable row level security;
alter table audit_events force row level security;
create policy audit_events_app on audit_events to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on audit_events to cairn_app;
-- Operators see their own acts. An erasure is recorded after it has entered its workspace.
create policy audit_events_system_see on audit_events for select to cairn_system
  using (workspace_id is null or workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy audit_events_system_add on audit_events for insert to cairn_system
  with check (workspace_id is null or workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on audit_events to cairn_system;
create policy audit_events_definer on audit_events for insert to cairn_owner with check (workspace_id is null); -- migrations

insert into erase_rules (tbl, how, scope) values ('audit_events', 'none', null); -- IDs and numbers, kept until the workspace is erased
select cairn.cover_erase();

-- A migration is recorded in its own transaction, from this one on.
-- +goose StatementBegin
create function cairn.audit_migration() returns trigger
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
begin
  insert into audit_events (action, object, actor, account)
    values ('schema.migrate', 'version ' || new.version_id, 'cli', coalesce(current_setting('cairn.account', true), ''));
  return null;
end $$;
-- +goose StatementEnd
revoke all on function cairn.audit_migration() from public;
create trigger audit_migration after insert on goose_db_version for each row when (new.is_applied) execute function cairn.audit_migration();
