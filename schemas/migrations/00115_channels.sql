-- +goose Up
-- Chat platforms: accounts, the people who write to them, what they wrote, and what they get.

-- An account of the configuration. The process that holds the lease receives its events.
create table channel_accounts (
  name        text collate "C" primary key,
  platform    text not null,
  cursor      text not null default '',                 -- after the last stored event, in the platform's form
  holder      uuid,
  lease_until timestamptz not null default '-infinity'
);

-- A user of a platform who may write. Their messages are read in one workspace.
create table identities (
  account      text collate "C" not null references channel_accounts,
  user_id      text collate "C" not null,
  workspace_id bigint not null references workspaces,
  name         text not null,
  role         text not null check (role in ('admin', 'user', 'blocked')),
  created_at   timestamptz not null default now(),
  primary key (account, user_id)
);
create index identities_workspace on identities (workspace_id);

-- Users who asked to write. An operator approves the code.
create table pairings (
  account    text collate "C" not null references channel_accounts,
  user_id    text collate "C" not null,
  name       text not null,
  code       text collate "C" not null unique,
  told_at    timestamptz not null default now(),        -- when the user got the code
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
  conversations int not null default 1,                 -- so far; /new begins another one
  paused       text not null default '',                -- why nothing is sent: the platform refused it
  created_at   timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, account, chat, thread),
  unique (workspace_id, conversation)
);

-- What was received. The text is deleted when it is a message of a conversation.
create table channel_events (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  account      text collate "C" not null references channel_accounts,
  key          text collate "C" not null,               -- the platform's ID of the event
  route_id     bigint not null,
  body         jsonb not null,
  state        text not null default 'received' check (state in ('received', 'handled')),
  received_at  timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, account, key),
  foreign key (workspace_id, route_id) references channel_routes,
  check ((state = 'handled') = (body = '{}'))
);

-- What is to be sent, in the order of the IDs of a route. The text is deleted when it was sent.
create table deliveries (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  route_id     bigint not null,
  source       text collate "C" not null,               -- what it replies to: turn/<run>, event/<ID>; once each
  body         jsonb not null,                          -- text and buttons
  state        text not null default 'ready' check (state in ('ready', 'sent', 'dead', 'dropped')),
  reason       text not null default '',                -- of a dead one
  not_before   timestamptz not null default now(),
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, source),
  foreign key (workspace_id, route_id) references channel_routes,
  check ((state = 'ready') = (ended_at is null))
);
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
  foreign key (workspace_id, delivery_id) references deliveries
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
grant select on identities to cairn_system;

alter table outbox drop constraint outbox_kind_check;
alter table outbox add check (kind in ('drive', 'embed', 'settings', 'event', 'deliver'));

insert into erase_rules (tbl, how, scope, subject) values
  ('identities', 'none', null, null),                   -- names of users, kept until the workspace is erased
  ('channel_routes', 'rows', 't.conversation in (select external_id from conversations where workspace_id = $1 and id = any($2))', null),
  ('channel_events', 'rows', 't.route_id in (select r.id from channel_routes r join conversations c on c.workspace_id = r.workspace_id and c.external_id = r.conversation where r.workspace_id = $1 and c.id = any($2))', $$t.state = 'received'$$),
  ('deliveries', 'rows', 't.route_id in (select r.id from channel_routes r join conversations c on c.workspace_id = r.workspace_id and c.external_id = r.conversation where r.workspace_id = $1 and c.id = any($2))',
    $$t.body <> '{}' and t.source in (select 'turn/' || r from cairn.erase_runs($3) r)$$),
  ('delivery_parts', 'rows', 't.delivery_id in (select d.id from deliveries d join channel_routes r on r.workspace_id = d.workspace_id and r.id = d.route_id join conversations c on c.workspace_id = r.workspace_id and c.external_id = r.conversation where d.workspace_id = $1 and c.id = any($2))',
    $$t.delivery_id in (select d.id from deliveries d where d.workspace_id = $1 and d.body <> '{}' and d.source in (select 'turn/' || r from cairn.erase_runs($3) r))$$);
select cairn.cover_erase();
