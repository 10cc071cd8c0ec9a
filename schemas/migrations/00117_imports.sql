-- +goose Up
-- Session files of other agents. The relay stores the conversations of an accepted file.

create table imports (
  workspace_id  bigint not null references workspaces,
  id            bigint generated always as identity,
  sha256        bytea not null check (length(sha256) = 32), -- of the file
  name          text not null,
  format        text not null,                          -- that the caller stated; empty if it is detected
  allow_unknown boolean not null,
  distill       boolean not null,                       -- the conversations are also distilled
  outcome       text not null default '' check (outcome in ('', 'success', 'failure', 'unknown')), -- of the conversations, as a person stated it
  report        jsonb not null,                         -- what the file held, in numbers
  bytes         bigint not null,                        -- of the file
  content       bytea not null,                         -- the file, compressed with zstd: later versions may read more of it
  stored        int not null default 0,                 -- conversations that the latest reading has stored
  conversations bigint[] not null default '{}',         -- that any reading has stored
  created_at    timestamptz not null default now(),
  stored_at     timestamptz,                            -- when the latest reading had stored all
  primary key (workspace_id, id),
  unique (workspace_id, sha256)
);
alter table imports alter column content set storage external;

alter table imports enable row level security;
alter table imports force row level security;
create policy imports_app on imports to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on imports to cairn_app;
grant update (report, stored, conversations, stored_at) on imports to cairn_app;

alter table outbox drop constraint outbox_kind_check;
alter table outbox add check (kind in ('drive', 'embed', 'settings', 'event', 'deliver', 'report', 'import'));

-- A file is deleted with any conversation that it holds. What is not stored yet may be about any subject.
insert into erase_rules (tbl, how, scope, subject) values
  ('imports', 'rows', 't.conversations && $2', 't.stored_at is null or t.conversations && array(select cairn.erase_shared($3))');
select cairn.cover_erase();
