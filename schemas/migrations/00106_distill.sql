-- +goose Up
-- Distillation: the tasks of a conversation on their way to versions of skills.

-- One task of a conversation, with the results of its completed steps.
create table distill_tasks (
  workspace_id     bigint not null,
  run_id           text collate "C" not null,
  task_key         text not null,
  position         int not null,
  name             text not null,
  seqs             int[] not null,
  lang             text not null,
  stage            text not null default 'chunked',     -- chunked recalled extracted written packaged ended
  outcome          text not null default '',            -- created updated unchanged skipped failed, set when ended
  reason           text not null default '',
  query            text not null default '',
  verdict          text not null default '',            -- how the task seemed to end: success failure mixed unknown
  proof            int[] not null default '{}',         -- messages that show it
  candidates       jsonb not null default '[]',         -- handle → skill and the version that the model was shown
  draft            jsonb,
  package          jsonb,                               -- content of the commit: base version, document, sha
  skill_id         bigint,
  version          int,
  notes            text[] not null default '{}',
  ended_at         timestamptz,
  -- The head that a model has merged the task's draft with, or that it was shown. A package on any
  -- other head needs a merge first.
  based_on_skill   bigint not null default 0,
  based_on_version int not null default 0,
  quality          jsonb,                               -- a draft is judged while its files are written
  comparison       jsonb,                               -- of an update with the version in force
  primary key (workspace_id, run_id, task_key),
  foreign key (workspace_id, run_id) references runs,
  check ((stage = 'ended') = (outcome <> ''))
);
-- Versions that open tasks were shown are not pruned.
create index distill_tasks_open on distill_tasks (workspace_id) where stage <> 'ended';

-- Optional files as they were written, before they are packaged. If a file could not be written, it
-- has a reason instead of content.
create table distill_files (
  workspace_id bigint not null,
  run_id       text collate "C" not null,
  task_key     text not null,
  kind         text not null check (kind in ('scripts', 'reference')),
  name         text not null,                           -- as the model returned it; checked during packaging
  content      text not null,
  reason       text not null default '',
  primary key (workspace_id, run_id, task_key, kind, name),
  foreign key (workspace_id, run_id, task_key) references distill_tasks
);

-- Permanent failures are not retried at once: the same messages with the same request would only be
-- paid for again.
create table failure_memos (
  workspace_id bigint not null references workspaces,
  key          bytea not null,                          -- of the task's messages, the instructions and the model
  code         text not null,
  reason       text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, key)
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['distill_tasks', 'distill_files', 'failure_memos'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert, update on distill_tasks to cairn_app;
grant select, insert, update, delete on distill_files to cairn_app;
grant select, insert, delete on failure_memos to cairn_app;
grant update (code, reason, created_at) on failure_memos to cairn_app;
