-- +goose Up
-- Memory asks itself: questions made from a conversation that was remembered, the
-- answers of which are known, tell how the decisions behind what is found for them
-- have turned out.

alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in
  ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve', 'reflection', 'build', 'train', 'evolve', 'adapt', 'probe', 'offload', 'flush'));
create index runs_probing on runs (workspace_id, created_at) where kind = 'probe';
alter table decision_outcomes drop constraint decision_outcomes_source_check;
alter table decision_outcomes add constraint decision_outcomes_source_check check (source in ('praise', 'feedback', 'correction', 'probe'));

create table probes (
  workspace_id    bigint not null,
  run_id          bigint not null,                     -- that made it
  number          int not null,
  conversation_id bigint not null,                     -- that it was made from
  bank_id         bigint not null,
  question        text not null,
  answer          text not null,
  evidence        int[] not null,                      -- messages of the conversation that hold the answer
  decisions       text[] not null,                     -- of the spans with these
  state           text not null default 'open' check (state in ('open', 'scored', 'unscored', 'error')),
  score           float8 check (score between 0 and 1),
  note            text not null default '',            -- why it has no score
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  primary key (workspace_id, run_id, number),
  check ((state = 'scored') = (score is not null)),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, bank_id) references banks
);
alter table probes enable row level security;
alter table probes force row level security;
create policy probes_app on probes to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, update (state, score, note, ended_at) on probes to cairn_app;
insert into erase_rules (tbl, how, scope) values ('probes', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)');
select cairn.cover_erase();
