-- +goose Up
-- Tenancy: workspaces and their API keys. Runs as cairn_owner, which no login has. Migrate creates
-- the roles (schemas/roles.sql), the extension and the schema before.

create schema if not exists cairn;

-- A workspace is a tenant. Its rows are not visible in other workspaces.
create table workspaces (
  id               bigint generated always as identity primary key,
  external_id      text not null unique check (char_length(external_id) between 1 and 200),
  -- opaque: identifies the workspace in workflow IDs and search attributes
  key              text not null unique,
  time_zone        text not null default 'UTC',
  settings         jsonb not null default '{}',
  state            text not null default 'active' check (state in ('active', 'erasing')),
  soul_version     int not null default 0,              -- the head, 0 before the first
  identity_version int not null default 0,              -- the head, 0 before the first
  -- When a user deletes something, prompts must not contain it any more. A session that is being
  -- frozen detects the change by this number and is rendered again.
  sessions_epoch   bigint not null default 0,
  reflection_cron  text not null default '0 23 * * *' check (reflection_cron <> ''), -- of the built-in reflection
  -- The settings that the sweep needs: quiet hours, and whether days are reflected on. The sweep
  -- does not see the other settings.
  reflects         boolean not null generated always as ((settings ->> 'reflection') is distinct from 'false') stored,
  quiet_from       text generated always as (settings -> 'quiet_hours' ->> 'from') stored,
  quiet_to         text generated always as (settings -> 'quiet_hours' ->> 'to') stored,
  -- days for which a deletion can be undone
  undo_days        int not null generated always as (coalesce((settings -> 'limits' ->> 'undo_days')::int, 7)) stored,
  created_at       timestamptz not null default now()
);

create table api_keys (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  name         text not null,
  hash         bytea not null unique,                   -- SHA-256 of the key; the key itself is not stored
  hint         text not null,                           -- its first characters, to distinguish keys
  scopes       text[] not null,
  created_at   timestamptz not null default now(),
  revoked_at   timestamptz,
  expires_at   timestamptz,                             -- null means never
  lifetime     interval,                                -- from its creation to the end that it was made with; a key that replaces it lives as long
  last_used_at timestamptz,                             -- to five minutes
  primary key (workspace_id, id)
);

-- Keys of operators, who belong to no workspace. Only the command line makes them: the gateway has
-- no route for it.
create table operator_keys (
  id           bigint generated always as identity primary key,
  name         text not null,
  hash         bytea not null unique,                   -- SHA-256 of the key; the key itself is not stored
  hint         text not null,
  scopes       text[] not null check (scopes <@ '{codec,metrics,support,gateway}' and cardinality(scopes) > 0),
  created_at   timestamptz not null default now(),
  revoked_at   timestamptz,
  expires_at   timestamptz,                             -- null means never
  last_used_at timestamptz                              -- to five minutes
);

alter table workspaces enable row level security;
alter table workspaces force row level security;
-- The workspace of this transaction, null if none was entered. A reset setting is '' and not null,
-- hence nullif: outside a workspace every policy is false. Policies repeat the expression, so that
-- the planner sees a stable setting.
create policy workspaces_app on workspaces to cairn_app
  using (id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy workspaces_definer on workspaces to cairn_owner using (true) with check (true);
create policy workspaces_system on workspaces for select to cairn_system using (true);
grant select, update (time_zone, settings, soul_version, identity_version, sessions_epoch, reflection_cron) on workspaces to cairn_app;
grant select (id, external_id, key, time_zone, state, created_at, reflection_cron, reflects, quiet_from, quiet_to, undo_days) on workspaces to cairn_system;

alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy api_keys_app on api_keys to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on api_keys to cairn_app;
grant update (revoked_at, expires_at, last_used_at) on api_keys to cairn_app;
-- A key determines its workspace, so it is looked up before a workspace is entered. The caller
-- passes the hash of the key, which only the owner of the key can compute.
create policy api_keys_definer on api_keys for select to cairn_owner using (true);

alter table operator_keys enable row level security;
alter table operator_keys force row level security;
create policy operator_keys_system on operator_keys to cairn_system using (true) with check (true);
create policy operator_keys_definer on operator_keys for select to cairn_owner using (true);
grant insert, select (id, name, hint, scopes, created_at, revoked_at, expires_at, last_used_at), update (revoked_at, last_used_at) on operator_keys to cairn_system;

-- Functions list pg_temp last. Otherwise it would be searched first, and a caller's temporary table
-- could replace one of Cairn's.

-- What is known about this database as a whole; one row. A restore from a backup begins a new
-- incarnation. The keys of workspaces contain it from 2 on, so no workflow ID is used twice.
create table store_state (
  one              boolean primary key default true check (one),
  incarnation      int not null default 1 check (incarnation > 0),
  accepted_at      timestamptz not null default now(),  -- since when this incarnation exists
  lost_commits     bigint not null default 0,           -- activities that did not find their run, ever
  -- those before the latest restore was accepted
  accepted_commits bigint not null default 0
);
insert into store_state default values;
alter table store_state enable row level security;
alter table store_state force row level security;
create policy store_state_app on store_state for select to cairn_app using (true);
create policy store_state_system on store_state to cairn_system using (true);
create policy store_state_owner on store_state to cairn_owner using (true) with check (true);
grant select on store_state to cairn_app, cairn_system;
grant update (lost_commits) on store_state to cairn_system;

-- The functions that begin transactions refuse another incarnation than the caller's (CA005); 0
-- means any. Activities of workflows that started before a restore do not write afterwards.
-- +goose StatementBegin
create function cairn.require_incarnation(expected int) returns void
language plpgsql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare current int;
begin
  select s.incarnation into current from store_state s;
  if expected <> 0 and current <> expected then
    raise exception 'the caller belongs to incarnation % of the database, not to %', expected, current using errcode = 'CA005';
  end if;
end $$;
-- +goose StatementEnd
grant execute on function cairn.require_incarnation(int) to cairn_app, cairn_system;

-- A pooler can lose the role of a session. Every transaction therefore sets its role and calls this
-- function, cairn.enter does so too.
-- +goose StatementBegin
create function cairn.require_role(wanted name, incarnation int default 0) returns void
language plpgsql stable security invoker set search_path = pg_catalog, pg_temp as $$
begin
  if current_user <> wanted then
    raise exception 'the session acts as %, not as %', current_user, wanted using errcode = 'CA004';
  end if;
  if incarnation <> 0 then
    perform cairn.require_incarnation(incarnation);
  end if;
end $$;
-- +goose StatementEnd

-- cairn.enter is the only way to access a workspace's rows. It sets the transaction's workspace,
-- takes the shared lock of the erase fence, and refuses a workspace that is unknown (CA002) or
-- being erased (CA001). An erasure takes the exclusive lock after it has set the state, so no
-- transaction that passed the check writes afterwards.
-- +goose StatementBegin
create function cairn.enter(ws bigint, incarnation int default 0) returns void
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare st text;
begin
  perform cairn.require_role('cairn_app', incarnation);
  perform set_config('cairn.workspace', ws::text, true);
  perform pg_advisory_xact_lock_shared(1, hashint8(ws));
  select state into st from workspaces where id = ws;
  if st is null then
    raise exception 'workspace % not found', ws using errcode = 'CA002';
  elsif st <> 'active' then
    raise exception 'workspace % is being erased', ws using errcode = 'CA001';
  end if;
end $$;
-- +goose StatementEnd
grant execute on function cairn.enter(bigint, int) to cairn_app;

-- A workspace is found, or created, before any can be entered: only its name is known. This is the
-- only function that can do so, and it returns only the requested workspace. A new workspace has
-- the built-in tasks; the sweep plans them later.
-- +goose StatementBegin
create function cairn.open_workspace(ext text, make boolean) returns table (ws_id bigint, ws_key text, ws_state text)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare made bigint;
begin
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
  if found or not make then return; end if;
  insert into workspaces (external_id, key)
    select ext, case when s.incarnation > 1 then 'i' || s.incarnation || '/' else '' end || 'w' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16)
    from store_state s on conflict (external_id) do nothing returning id into made;
  if made is not null then
    insert into scheduled_tasks (workspace_id, name, kind, cron) values (made, 'daily-reflection', 'reflection', null), (made, 'weekly-curation', 'curate', '30 3 * * 0'),
      (made, 'nightly-evolution', 'evolution', '40 2 * * *');
  end if;
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
end $$;
-- +goose StatementEnd
revoke all on function cairn.open_workspace(text, boolean) from public;
grant execute on function cairn.open_workspace(text, boolean) to cairn_app;

-- Checked at start-up before requests are served.
-- +goose StatementBegin
create function cairn.session_roles() returns table (login text, role text, super boolean, bypass boolean, owns boolean, login_super boolean, inherits boolean)
language sql stable security invoker as $$
  select session_user::text, current_user::text, r.rolsuper, r.rolbypassrls,
    exists (select from pg_catalog.pg_class c where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p') and pg_has_role(r.oid, c.relowner, 'usage')),
    l.rolsuper, not l.rolsuper and (pg_has_role(l.oid, 'cairn_app', 'usage') or pg_has_role(l.oid, 'cairn_system', 'usage'))
  from pg_catalog.pg_roles r, pg_catalog.pg_roles l where r.rolname = current_user and l.rolname = session_user
$$;
-- +goose StatementEnd

-- The workspace of a key that is neither revoked nor expired, the seconds until it expires (0 if it
-- does not), and whether its last recorded use was five minutes ago.
-- +goose StatementBegin
create function cairn.resolve_key(key_hash bytea) returns table (ws_id bigint, ws_name text, ws_key text, key_id bigint, key_scopes text[], key_seconds double precision, key_idle boolean)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select w.id, w.external_id, w.key, k.id, k.scopes, coalesce(extract(epoch from k.expires_at - now()), 0)::double precision,
    coalesce(k.last_used_at <= now() - interval '5 minutes', true)
  from api_keys k join workspaces w on w.id = k.workspace_id
  where k.hash = key_hash and k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and w.state = 'active'
$$;
-- +goose StatementEnd
revoke all on function cairn.resolve_key(bytea) from public;
grant execute on function cairn.resolve_key(bytea) to cairn_app;

-- The same for the key of an operator.
-- +goose StatementBegin
create function cairn.resolve_operator_key(key_hash bytea) returns table (key_id bigint, key_scopes text[], key_seconds double precision, key_idle boolean)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select k.id, k.scopes, coalesce(extract(epoch from k.expires_at - now()), 0)::double precision,
    coalesce(k.last_used_at <= now() - interval '5 minutes', true)
  from operator_keys k where k.hash = key_hash and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
$$;
-- +goose StatementEnd
revoke all on function cairn.resolve_operator_key(bytea) from public;
grant execute on function cairn.resolve_operator_key(bytea) to cairn_system;

-- The number of the last applied migration. A program works with its own version of the schema and
-- with later ones.
-- +goose StatementBegin
create function cairn.schema_version() returns bigint
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select coalesce(max(version_id), 0) from goose_db_version where is_applied
$$;
-- +goose StatementEnd
revoke all on function cairn.schema_version() from public;
grant execute on function cairn.schema_version() to cairn_app;
