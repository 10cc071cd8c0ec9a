-- +goose Up
-- Sign-ins of the web console. A browser holds one cookie, which may grant access to several workspaces: each row
-- is one of these grants.

create table console_sessions (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  hash         bytea not null check (length(hash) = 32), -- SHA-256 of the cookie; the cookie itself is not stored
  key_id       bigint,                                   -- the API key that was typed in; null for a sign-in link
  account      text not null default '',                 -- who made the link, as on the command line
  scopes       text[] not null check (scopes <@ '{read,write,admin}' and cardinality(scopes) > 0),
  created_at   timestamptz not null default now(),
  used_at      timestamptz not null default now(),       -- to one minute
  ends_at      timestamptz not null default now() + interval '7 days',
  primary key (workspace_id, id),
  unique (workspace_id, hash),
  foreign key (workspace_id, key_id) references api_keys (workspace_id, id),
  check ((key_id is null) = (account <> ''))
);
create index console_sessions_hash on console_sessions (hash);

-- Codes of sign-in links. A code works once and for a minute.
create table console_codes (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  hash         bytea not null unique check (length(hash) = 32), -- SHA-256 of the code
  account      text not null check (account <> ''),
  scopes       text[] not null check (scopes <@ '{read,write,admin}' and cardinality(scopes) > 0),
  ends_at      timestamptz not null default now() + interval '1 minute',
  primary key (workspace_id, id)
);

alter table console_sessions enable row level security;
alter table console_sessions force row level security;
create policy console_sessions_app on console_sessions to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy console_sessions_definer on console_sessions for select to cairn_owner using (true);
grant select, insert, delete on console_sessions to cairn_app;
grant update (hash, used_at) on console_sessions to cairn_app;

alter table console_codes enable row level security;
alter table console_codes force row level security;
create policy console_codes_app on console_codes to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy console_codes_definer on console_codes for select to cairn_owner using (true);
grant select, insert, delete on console_codes to cairn_app;

-- The grants of a cookie: a cookie determines its workspaces, so it is looked up before a workspace is entered. A
-- grant ends 8 hours after its last use, with its key, and with its workspace.
-- +goose StatementBegin
create function cairn.resolve_console_session(cookie_hash bytea) returns table (ws_id bigint, ws_name text, ws_key text, session_id bigint, session_key bigint, session_account text, session_scopes text[], session_idle boolean)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select w.id, w.external_id, w.key, s.id, s.key_id, s.account, s.scopes, s.used_at <= now() - interval '1 minute'
  from console_sessions s join workspaces w on w.id = s.workspace_id
    left join api_keys k on k.workspace_id = s.workspace_id and k.id = s.key_id
  where s.hash = cookie_hash and s.ends_at > now() and s.used_at > now() - interval '8 hours' and w.state = 'active'
    and (s.key_id is null or k.revoked_at is null and (k.expires_at is null or k.expires_at > now()))
  order by w.external_id
$$;
-- +goose StatementEnd
revoke all on function cairn.resolve_console_session(bytea) from public;
grant execute on function cairn.resolve_console_session(bytea) to cairn_app;

-- The workspace of the code of a sign-in link. Its row is deleted in that workspace: only the first one that deletes
-- it signs in.
-- +goose StatementBegin
create function cairn.resolve_console_code(code_hash bytea) returns table (ws_id bigint, ws_name text, ws_key text)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select w.id, w.external_id, w.key from console_codes c join workspaces w on w.id = c.workspace_id
  where c.hash = code_hash and c.ends_at > now() and w.state = 'active'
$$;
-- +goose StatementEnd
revoke all on function cairn.resolve_console_code(bytea) from public;
grant execute on function cairn.resolve_console_code(bytea) to cairn_app;

-- The runs that were shown a memory.
create index memory_views_memory on memory_views (workspace_id, memory_id, created_at desc);

-- Nothing here is about a conversation or a subject.
insert into erase_rules (tbl, how, scope) values ('console_sessions', 'none', null), ('console_codes', 'none', null);
select cairn.cover_erase();
