-- Run by Migrate before the migrations, with a login that can create roles and owns the database;
-- safe to repeat. Only the extension may need a superuser.
--   cairn_owner    owns every object; no login has it, and FORCE makes it see no rows
--   cairn_app      the application, always inside one workspace
--   cairn_system   work without a workspace: the relay, leases, collection
--   cairn_index    owns the function that reads the index of words; no login has it
--   cairn_erase    owns the functions that erase; no login has it
--   cairn_prune    owns the functions that remove records after their retention; no login has it
--   cairn_support  owns the functions that count rows of all workspaces for operators; no login has it

-- All of this is one transaction and runs in one process at a time.
select pg_advisory_xact_lock(5, 0);
do $$
declare r record;
begin
  for r in select * from (values
      ('cairn_owner', 'nologin noinherit'), ('cairn_app', 'nologin'), ('cairn_system', 'nologin'), ('cairn_erase', 'nologin'), ('cairn_index', 'nologin'), ('cairn_prune', 'nologin'), ('cairn_support', 'nologin')) v(name, options) loop
    if not exists (select from pg_roles where rolname = r.name) then
      begin
        execute format('create role %I %s', r.name, r.options);
      exception when duplicate_object or unique_violation then null;  -- another migration on this server was first
      end;
    end if;
  end loop;
  if not (pg_has_role('cairn_owner', 'cairn_erase', 'member') and pg_has_role('cairn_owner', 'cairn_index', 'member')
      and pg_has_role('cairn_owner', 'cairn_prune', 'member') and pg_has_role('cairn_owner', 'cairn_support', 'member')) then
    begin
      grant cairn_erase, cairn_index, cairn_prune, cairn_support to cairn_owner;  -- which transfers the functions to it
    exception when unique_violation then null;
    end;
  end if;
  -- From Postgres 16 on, a role that creates another one may only administer it.
  if not exists (select from pg_roles where rolname = current_user and rolsuper) then
    execute format('grant cairn_owner, cairn_app, cairn_system to %I', current_user)
      || case when current_setting('server_version_num')::int >= 160000 then ' with inherit true, set true' else '' end;
  end if;
end $$;
create extension if not exists vector;
create schema if not exists cairn authorization cairn_owner;
grant usage on schema cairn to cairn_app, cairn_system, cairn_erase, cairn_index, cairn_prune, cairn_support;
do $$ begin
  execute format('grant create on database %I to cairn_owner', current_database());
end $$;
