-- +goose Up
-- Chat platforms: accounts, the people who write to them, what they wrote, and what they get.

-- An account of the configuration. The process that holds the lease receives its events.
create table channel_accounts (
  name        text collate "C" primary key,
  platform    text not null,
  profile     jsonb not null default '{}',              -- how its messages are answered
  cursor      text not null default '',                 -- after the last stored event, in the platform's form
  holder      uuid,
  lease_until timestamptz not null default '-infinity'
);

-- A user of a platform who may write, or a group that is served. Their messages are read in one workspace.
create table identities (
  account      text collate "C" not null references channel_accounts,
  kind         text not null check (kind in ('user', 'group')),
  user_id      text collate "C" not null,               -- of a group: the ID of its chat
  workspace_id bigint not null references workspaces,
  name         text not null,
  role         text not null check (role in ('admin', 'user', 'blocked')),
  created_at   timestamptz not null default now(),
  primary key (account, kind, user_id)
);
create index identities_workspace on identities (workspace_id);

-- Codes of users: an operator approves that of a user who asked to write; a known user sends one from another
-- platform to link both.
create table pairings (
  account    text collate "C" not null references channel_accounts,
  user_id    text collate "C" not null,
  name       text not null,
  code       text collate "C" not null unique,
  purpose    text not null check (purpose in ('approve', 'link')),
  told_at    timestamptz not null default now(),        -- when the user got the code
  used_by    text collate "C" not null default '',      -- the user who sent the code to link: account/user
  expires_at timestamptz not null,
  primary key (account, user_id)
);

-- Where the replies of a conversation are sent.
create table channel_routes (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  account      text collate "C" not null references channel_accounts,
  chat         text collate "C" not null,
  thread       text collate "C" not null default '',
  conversation text not null,                           -- the caller's ID of the current one
  conversations int not null default 1,                 -- so far; /new begins another one, with # and its number
  name         text not null generated always as (regexp_replace(conversation, '#[0-9]+$', '')) stored, -- the first one
  paused       text not null default '',                -- why nothing is sent: the platform refused it
  home         boolean not null default false,          -- gets scheduled replies, digests and approval requests
  created_at   timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, account, chat, thread),
  unique (workspace_id, name)
);
create unique index channel_routes_home on channel_routes (workspace_id) where home;

-- What was received. The text is deleted when it is a message of a conversation.
create table channel_events (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  account      text collate "C" not null references channel_accounts,
  key          text collate "C" not null,               -- the platform's ID of the event
  route_id     bigint not null,
  message_id   text collate "C" not null default '',    -- the platform's ID of the message
  said_as      text not null default '',                -- ID of the message in its conversation
  first_id     bigint,                                  -- the first event of the burst that became one message
  body         jsonb not null,
  state        text not null default 'received' check (state in ('received', 'handled')),
  received_at  timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, account, key),
  foreign key (workspace_id, route_id) references channel_routes,
  check ((state = 'handled') = (body = '{}'))
);
create index channel_events_open on channel_events (workspace_id, route_id, id) where state = 'received';
create index channel_events_age on channel_events (received_at) where state = 'handled';
create index channel_events_message on channel_events (workspace_id, route_id, message_id) where message_id <> '';

-- What is to be sent, in the order of the IDs of a route. The text is deleted when it was sent.
create table deliveries (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  route_id     bigint not null,
  -- what it replies to: turn/<run>, event/<ID>, reflection/<run>, skill/<change>, memory/<change>; once each
  source       text collate "C" not null,
  waits        boolean not null default false,          -- for the end of the quiet hours
  body         jsonb not null,                          -- text and buttons
  -- streaming: a model writes the reply, and the platform shows what there is of it
  state        text not null default 'ready' check (state in ('streaming', 'ready', 'sent', 'dead', 'dropped')),
  reason       text not null default '',                -- of a dead one
  partial_id   text,                                    -- platform's ID of the message with the partial reply; empty while it is not known
  partial_until timestamptz,                            -- until then, a process may be changing the partial reply
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, source),
  foreign key (workspace_id, route_id) references channel_routes,
  check ((state in ('streaming', 'ready')) = (ended_at is null)),
  check (state <> 'streaming' or body = '{}')
);
create index deliveries_age on deliveries (ended_at) where state in ('sent', 'dropped');
create index deliveries_ready on deliveries (workspace_id, route_id, id) where state = 'ready';

-- The messages of a delivery.
create table delivery_parts (
  workspace_id bigint not null,
  delivery_id  bigint not null,
  number       int not null check (number > 0),
  body         text not null,
  attempts     int not null default 0,
  message_id   text not null default '',                -- the platform's ID; set when it was sent
  sent_at      timestamptz,
  primary key (workspace_id, delivery_id, number),
  foreign key (workspace_id, delivery_id) references deliveries on delete cascade
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['identities', 'channel_routes', 'channel_events', 'deliveries', 'delivery_parts'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
  foreach t in array array['channel_accounts', 'pairings'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy %I on %I to cairn_system using (true) with check (true)', t || '_system', t);
    execute format('grant select, insert, update, delete on %I to cairn_system', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on identities to cairn_app;
grant update (name, role) on identities to cairn_app;
grant select, insert, update on channel_routes, channel_events, deliveries, delivery_parts to cairn_app;
-- A message determines its workspace, so its sender is looked up before a workspace is entered.
create policy identities_system on identities for select to cairn_system using (true);
create policy identities_system_link on identities for update to cairn_system using (true) with check (true);
grant select on identities to cairn_system;
grant update (workspace_id) on identities to cairn_system; -- linking moves a user to another workspace

-- What was handled or sent is kept for 90 days: it recognizes repetitions, and finds messages that are deleted later.
create policy channel_events_system_see on channel_events for select to cairn_system using (state = 'handled' and received_at < now() - interval '90 days');
create policy channel_events_system_purge on channel_events for delete to cairn_system using (state = 'handled' and received_at < now() - interval '90 days');
grant select (workspace_id, id, state, received_at), delete on channel_events to cairn_system;
create policy deliveries_system_see on deliveries for select to cairn_system using (state in ('sent', 'dropped') and ended_at < now() - interval '90 days');
create policy deliveries_system_purge on deliveries for delete to cairn_system using (state in ('sent', 'dropped') and ended_at < now() - interval '90 days');
grant select (workspace_id, id, state, ended_at), delete on deliveries to cairn_system;

-- Removes the text of a message that its user has deleted, in the workspace that the caller has entered. It returns the
-- position of the message.
create policy messages_withdraw on messages for update to cairn_owner using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy messages_withdraw_see on messages for select to cairn_owner using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
create policy conversations_withdraw on conversations for select to cairn_owner using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
-- +goose StatementBegin
create function cairn.withdraw_message(conversation text, message text) returns table (conversation_id bigint, seq int)
language sql security definer set search_path = cairn, pg_catalog, pg_temp as $$
  update messages m set content = '' from conversations c
  where c.workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint and c.external_id = withdraw_message.conversation
    and m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.external_id = withdraw_message.message and m.role = 'user'
  returning m.conversation_id, m.seq
$$;
-- +goose StatementEnd
revoke all on function cairn.withdraw_message(text, text) from public;
grant execute on function cairn.withdraw_message(text, text) to cairn_app;

-- The key of a gateway belongs to an account. It reaches the users of that account, whom its requests name.
alter table operator_keys add column account text collate "C" references channel_accounts,
  add check ((scopes && '{gateway}') = (account is not null)), add check (account is null or scopes = '{gateway}');
grant select (account) on operator_keys to cairn_system;
create policy identities_definer on identities for select to cairn_owner using (true);

-- The account of a gateway's key, and the workspace of a user of it, null if the user is not known. The caller passes
-- the hash of the key, which only the owner of the key can compute.
-- +goose StatementBegin
create function cairn.resolve_gateway_key(key_hash bytea, person text) returns table (key_id bigint, key_account text, ws_id bigint, ws_name text, ws_key text, ws_role text, key_seconds double precision, key_idle boolean)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select k.id, k.account, w.id, w.external_id, w.key, case when i.role is not null and w.id is null then 'blocked' else i.role end,
    coalesce(extract(epoch from k.expires_at - now()), 0)::double precision,
    coalesce(k.last_used_at <= now() - interval '5 minutes', true)
  from operator_keys k
  left join identities i on i.account = k.account and i.kind = 'user' and i.user_id = person
  left join workspaces w on w.id = i.workspace_id and w.state = 'active'
  where k.hash = key_hash and k.account is not null and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
$$;
-- +goose StatementEnd
revoke all on function cairn.resolve_gateway_key(bytea, text) from public;
grant execute on function cairn.resolve_gateway_key(bytea, text) to cairn_system;

alter table outbox drop constraint outbox_kind_check;
alter table outbox add check (kind in ('drive', 'embed', 'settings', 'event', 'deliver', 'report'));

insert into erase_rules (tbl, how, scope, subject) values
  ('identities', 'none', null, null),                   -- names of users, kept until the workspace is erased
  ('channel_routes', 'none', null, null),               -- places, which go on with another conversation
  ('channel_events', 'rows', 'cairn.erase_placed($1, $2, t.route_id, t.received_at)', $$t.state = 'received'$$),
  -- A reply belongs to the conversation of its turn, which need not be the current one of its route. What was not sent
  -- yet to the home chat, such as a digest, may be about any conversation.
  ('deliveries', 'rows', $$cairn.erase_placed($1, $2, t.route_id, t.created_at) or t.source in (select 'turn/' || id from runs where workspace_id = $1 and conversation_id = any($2)) or t.body <> '{}' and t.source ~ '^(memory|skill|run|reflection)/'$$,
    $$t.body <> '{}' and (t.source in (select 'turn/' || r from cairn.erase_runs($3) r) or t.source ~ '^(event|memory|skill|run|reflection)/')$$),
  ('delivery_parts', 'rows', $$t.delivery_id in (select d.id from deliveries d where d.workspace_id = $1 and cairn.erase_placed($1, $2, d.route_id, d.created_at)) or t.delivery_id in (select id from deliveries where workspace_id = $1 and (source in (select 'turn/' || id from runs where workspace_id = $1 and conversation_id = any($2)) or body <> '{}' and source ~ '^(memory|skill|run|reflection)/'))$$,
    $$t.delivery_id in (select d.id from deliveries d where d.workspace_id = $1 and d.body <> '{}' and (d.source in (select 'turn/' || r from cairn.erase_runs($3) r) or d.source ~ '^(event|memory|skill|run|reflection)/'))$$);
select cairn.cover_erase();
