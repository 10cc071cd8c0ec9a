-- +goose Up
-- Working memory: the offloaded content of long threads, and their compactions.

-- Offloaded content, by the hash of its kind and content.
create table offload_blobs (
  workspace_id bigint not null references workspaces,
  sha256       bytea not null check (length(sha256) = 32),
  kind         text not null check (kind in ('text', 'messages')),
  content      text not null,
  bytes        int not null,
  created_at   timestamptz not null default now(),
  -- infinity as long as a conversation that has offloaded it exists
  expires_at   timestamptz not null,
  primary key (workspace_id, sha256)
);
create index offload_blobs_expired on offload_blobs (expires_at) where expires_at < 'infinity';

-- The sessions that have offloaded it, in their order. A conversation is the session c/<its id>;
-- sessions that callers name are s/<name>.
create table offload_uses (
  workspace_id    bigint not null,
  session         text not null,
  sha256          bytea not null,
  conversation_id bigint,
  label           text not null,                        -- description for people
  position        bigint generated always as identity,
  primary key (workspace_id, session, sha256),
  foreign key (workspace_id, sha256) references offload_blobs on delete cascade,
  foreign key (workspace_id, conversation_id) references conversations
);
create index offload_uses_of on offload_uses (workspace_id, session, position);
create index offload_uses_blob on offload_uses (workspace_id, sha256);
create index offload_uses_conversation on offload_uses (workspace_id, conversation_id) where conversation_id is not null;

-- The compactions with which a conversation's later requests begin, instead of its turns up to one.
-- The turns themselves do not change.
create table compactions (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  upto_turn       int not null check (upto_turn > 0),
  run_id          text collate "C" not null,
  content         text not null,
  tokens          int not null,
  degraded        text not null default '',             -- reason why it was not made by a model
  created_at      timestamptz not null default now(),
  primary key (workspace_id, conversation_id, upto_turn),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['offload_blobs', 'offload_uses', 'compactions'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on offload_blobs, offload_uses, compactions to cairn_app;
grant update (expires_at) on offload_blobs to cairn_app;
grant update (label) on offload_uses to cairn_app;

-- The relay deletes expired content.
create policy offload_blobs_system_see on offload_blobs for select to cairn_system using (expires_at < now());
create policy offload_blobs_system_purge on offload_blobs for delete to cairn_system using (expires_at < now());
grant select (workspace_id, sha256, expires_at), delete on offload_blobs to cairn_system;
