-- +goose Up
-- Agents of long-term memory: sessions are summarised by one that hands targets
-- off to specialists, and questions are answered by one that looks and reads.

alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve'));
alter table runs add column parent_id bigint;          -- of a specialist: the run that handed its target off
alter table runs add foreign key (workspace_id, parent_id) references runs;
create index runs_children on runs (workspace_id, parent_id, id) where parent_id is not null;

-- How far a conversation has been read, and for what: nothing is extracted twice.
create table conversation_marks (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  kind            text not null check (kind in ('summarize', 'distill')),
  seq             int not null,                        -- of the last message that was read
  run_id          bigint,                              -- that read it
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, conversation_id, kind),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);
alter table conversation_marks enable row level security;
alter table conversation_marks force row level security;
create policy conversation_marks_app on conversation_marks to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on conversation_marks to cairn_app;
grant update (seq, run_id, updated_at) on conversation_marks to cairn_app;

insert into erase_rules (tbl, how, scope) values ('conversation_marks', 'rows', 't.conversation_id = $2');
select cairn.cover_erase();
