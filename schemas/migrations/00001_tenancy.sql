-- +goose Up
-- Tenancy. Runs as cairn_owner, which no login has: Migrate has made the roles
-- (schemas/roles.sql), the extension and the schema before.

create schema if not exists cairn;

create table workspaces (
  id          bigint generated always as identity primary key,
  external_id text not null unique check (char_length(external_id) between 1 and 200),
  key         text not null unique,                      -- opaque: stands for the workspace in workflow ids and search attributes
  time_zone   text not null default 'UTC',
  settings    jsonb not null default '{}',
  state       text not null default 'active' check (state in ('active', 'erasing')),
  created_at  timestamptz not null default now()
);
alter table workspaces enable row level security;
alter table workspaces force row level security;

-- The workspace of this transaction, null when none was entered. A reset setting
-- is '' and not null, hence nullif: outside a workspace every policy is false.
-- Policies spell the expression out, so that the planner sees a stable setting.
create policy workspaces_app on workspaces to cairn_app
  using (id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy workspaces_definer on workspaces to cairn_owner using (true) with check (true);
create policy workspaces_system on workspaces for select to cairn_system using (true);

grant select on workspaces to cairn_app;
grant update (time_zone, settings) on workspaces to cairn_app;
grant select (id, external_id, key, time_zone, state) on workspaces to cairn_system;

-- Functions name pg_temp last: unnamed it would come first, and a caller's
-- temporary table would stand in for ours.

-- cairn.enter is the only door to a workspace's rows: it sets the transaction's
-- workspace, takes the shared half of the erase fence, and refuses a workspace
-- that is unknown (CA002) or being erased (CA001). Erase takes the exclusive half
-- after it has set the state, so nobody who passed the check writes afterwards.
-- +goose StatementBegin
create function cairn.enter(ws bigint) returns void
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare st text;
begin
  perform set_config('cairn.workspace', ws::text, true);
  perform pg_advisory_xact_lock_shared(1, hashint8(ws));
  select state into st from workspaces where id = ws;
  if st is null then
    raise exception 'no workspace %', ws using errcode = 'CA002';
  elsif st <> 'active' then
    raise exception 'workspace % is being erased', ws using errcode = 'CA001';
  end if;
end $$;
-- +goose StatementEnd

-- A workspace is found, or made, before any can be entered: the name is all that
-- is known. Only this function can do it, and it tells only what was asked for.
-- +goose StatementBegin
create function cairn.open_workspace(ext text, make boolean) returns table (ws_id bigint, ws_key text, ws_state text)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
begin
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
  if found or not make then return; end if;
  insert into workspaces (external_id, key)
    values (ext, 'w' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16)) on conflict (external_id) do nothing;
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
end $$;
-- +goose StatementEnd
revoke all on function cairn.open_workspace(text, boolean) from public;
grant execute on function cairn.open_workspace(text, boolean) to cairn_app;
grant execute on function cairn.enter(bigint) to cairn_app;

-- What start-up asks before it serves anybody.
-- +goose StatementBegin
create function cairn.session_roles() returns table (login text, role text, super boolean, bypass boolean, owns boolean, login_super boolean)
language sql stable security invoker as $$
  select session_user::text, current_user::text, r.rolsuper, r.rolbypassrls,
    exists (select from pg_catalog.pg_class c where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p') and pg_has_role(r.oid, c.relowner, 'usage')),
    l.rolsuper
  from pg_catalog.pg_roles r, pg_catalog.pg_roles l where r.rolname = current_user and l.rolname = session_user
$$;
-- +goose StatementEnd
