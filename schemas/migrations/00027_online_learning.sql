-- +goose Up
-- The policy of a bank learns from live decisions: what people said of the answers
-- that came of each, and the update that has learnt from it.

alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in
  ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve', 'reflection', 'build', 'train', 'evolve', 'adapt', 'offload', 'flush'));
alter table bank_versions drop constraint bank_versions_action_check;
alter table bank_versions add constraint bank_versions_action_check check (action in ('seed', 'import', 'evolve', 'train', 'adapt', 'rollback'));

alter table decisions
  add column sampled    boolean not null default false, -- drawn by the policy's probabilities: only such ones can be learnt from
  add column update_run bigint,                         -- that learns from it: one at most
  add constraint decisions_update_run_fkey foreign key (workspace_id, update_run) references runs;
alter table decisions add column canary int;           -- number of the update whose policy chose; null is that of the version
create index decisions_sampled on decisions (workspace_id, created_at) where sampled;
create index decisions_of_version on decisions (workspace_id, bank_id, bank_version);
grant update (update_run) on decisions to cairn_app;

-- What somebody said of an answer, for each decision behind the memories that it
-- was given from.
create table decision_outcomes (
  workspace_id    bigint not null,
  decision_id     text not null,
  op_id           text not null,                       -- of whoever said it: it counts once
  run_id          bigint not null,                     -- that answered
  source          text not null check (source in ('praise', 'feedback', 'correction')),
  score           float8 not null check (score between 0 and 1),
  created_at      timestamptz not null default now(),
  primary key (workspace_id, decision_id, op_id),
  foreign key (workspace_id, decision_id) references decisions,
  foreign key (workspace_id, run_id) references runs
);
alter table decision_outcomes enable row level security;
alter table decision_outcomes force row level security;
create policy decision_outcomes_app on decision_outcomes to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on decision_outcomes to cairn_app;

-- An update of a policy on its way into force: compared in the shadow, tried by a
-- share of the live builds, promoted or dropped.
create table policy_updates (
  workspace_id    bigint not null,
  bank_id         bigint not null,
  number          int not null,
  run_id          bigint not null,
  base            int not null,                        -- version of the bank that it began on
  state           text not null check (state in ('shadow', 'canary', 'promoted', 'dropped')),
  policy_sha      text not null,                       -- its weights are kept until it is dropped
  optimiser_sha   text not null,
  decisions       int not null,                        -- that it has learnt from
  shadow          jsonb not null default '{}',         -- how it differs from the policy in force
  canary          jsonb,                               -- how it has done beside that one, when it was judged
  note            text not null default '',
  created_at      timestamptz not null default now(),
  canary_at       timestamptz,
  ended_at        timestamptz,
  primary key (workspace_id, bank_id, number),
  unique (workspace_id, run_id),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, run_id) references runs
);
create unique index policy_updates_open on policy_updates (workspace_id, bank_id) where state in ('shadow', 'canary');
alter table policy_updates enable row level security;
alter table policy_updates force row level security;
create policy policy_updates_app on policy_updates to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, update (state, shadow, canary, note, canary_at, ended_at) on policy_updates to cairn_app;
-- What the sweep has judged, and what a scrape counts.
create policy policy_updates_system on policy_updates for select to cairn_system using (state = 'canary');
grant select (workspace_id, state, canary_at) on policy_updates to cairn_system;
-- Numbers, of the workspace: its runs have no conversation.
insert into erase_rules (tbl, how, scope) values ('policy_updates', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)');
insert into erase_rules (tbl, how, scope) values ('decision_outcomes', 'rows',
  't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.decision_id in (select d.id from decisions d where d.workspace_id = $1 and (d.conversation_id = $2 or d.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)))');
select cairn.cover_erase();

-- The sweep passes over a workspace in which there is nothing to learn from.
create policy decisions_system on decisions for select to cairn_system using (sampled and update_run is null);
grant select (workspace_id, sampled, update_run) on decisions to cairn_system;
