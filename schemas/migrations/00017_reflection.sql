-- +goose Up
-- Reflection: once a day the conversations of a workspace's local day become
-- notes, memories and skills. A note is a memory of type note; its target is the
-- local date that it is about.

alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve', 'reflection'));
create index runs_reflections on runs (workspace_id, id desc) where kind = 'reflection';

-- Which messages a reflection takes up, one row for each range of a conversation.
-- What an open or a successful run has is nobody else's; a failed one gives it back.
create table reflection_reads (
  workspace_id    bigint not null,
  run_id          bigint not null,
  conversation_id bigint not null,
  from_seq        int not null,
  to_seq          int not null check (to_seq >= from_seq),
  part            int not null,                        -- of the day, from 0: a long day is read in parts
  state           text not null default 'open' check (state in ('open', 'read', 'skipped')),
  primary key (workspace_id, run_id, conversation_id, from_seq),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
create index reflection_reads_of on reflection_reads (workspace_id, conversation_id, from_seq);

alter table reflection_reads enable row level security;
alter table reflection_reads force row level security;
create policy reflection_reads_app on reflection_reads to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, delete on reflection_reads to cairn_app;
grant update (state, to_seq) on reflection_reads to cairn_app;

-- Which notes a search has brought back, by the day and the query: what is looked
-- for again and again becomes a lasting memory.
create table note_recalls (
  workspace_id    bigint not null,
  memory_id       bigint not null,
  day             date not null default current_date,
  query_sha       bytea not null,
  relevance       real not null check (relevance between 0 and 1), -- 1 for the first of the results
  recalls         int not null default 1,
  last_at         timestamptz not null default now(),
  primary key (workspace_id, memory_id, day, query_sha),
  foreign key (workspace_id, memory_id) references memories on delete cascade
);
alter table note_recalls enable row level security;
alter table note_recalls force row level security;
create policy note_recalls_app on note_recalls to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, update (relevance, recalls, last_at) on note_recalls to cairn_app;

-- A reflection is about no single conversation, but what it was told and what it
-- said hold words of each that it read.
update erase_rules set scope = scope || $$ or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and spec -> 'pinned' -> 'conversations' @> to_jsonb($2))$$
where tbl in ('agent_steps', 'agent_calls', 'llm_calls', 'skill_views', 'memory_views');
insert into erase_rules (tbl, how, scope) values ('reflection_reads', 'rows', 't.conversation_id = $2'),
  ('note_recalls', 'rows', 't.memory_id in (select id from memories where workspace_id = $1 and conversation_id = $2)');
select cairn.cover_erase();
