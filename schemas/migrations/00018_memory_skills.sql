-- +goose Up
-- Memory skills that learn: banks of them, the policies that choose from these,
-- the decisions that were made, and the questions that memory was asked.

alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve', 'reflection', 'build', 'train', 'evolve'));

-- A skill as it stood at one time, named by what it says.
create table memory_skills (
  workspace_id    bigint not null references workspaces,
  id              text not null,                       -- name@hash
  body            jsonb not null,                      -- the version: skill, content, parent, author, origin
  created_at      timestamptz not null default now(),
  primary key (workspace_id, id)
);

-- Weights of a policy, or the state of its optimiser, named by their SHA-256.
-- Those of iterations that training has left behind go; those of a version stay.
create table policies (
  workspace_id    bigint not null references workspaces,
  sha             text not null check (sha ~ '^[0-9a-f]{64}$'),
  kind            text not null check (kind in ('policy', 'optimiser')),
  blob            bytea not null,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, sha)
);

create table banks (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,
  name            text not null check (name ~ '^[a-z][a-z0-9_-]{0,63}$'),
  head            int not null default 0,              -- number of the version in force
  created_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, name)
);

-- Bank, policy and optimiser as one: they are promoted and rolled back together.
create table bank_versions (
  workspace_id    bigint not null,
  bank_id         bigint not null,
  number          int not null check (number > 0),
  parent          int,                                 -- the version that it was made on
  action          text not null check (action in ('seed', 'import', 'evolve', 'train', 'rollback')),
  bank_sha        text not null,
  capacity        int not null,
  members         text[] not null,                     -- ids of skills, ascending
  fresh           text[] not null default '{}',        -- of these, new since the version before
  policy_sha      text not null,
  optimiser_sha   text not null,
  snapshot_sha    text not null,                       -- of the three
  reason          text not null default '',
  run_id          bigint,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, bank_id, number),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, policy_sha) references policies,
  foreign key (workspace_id, optimiser_sha) references policies,
  foreign key (workspace_id, run_id) references runs
);

-- One choice of skills for one span, with what came of it.
create table decisions (
  workspace_id    bigint not null,
  id              text not null,                       -- run/span, as memories point back to it
  run_id          bigint not null,
  conversation_id bigint not null,
  span            int not null,
  from_seq        int not null,
  to_seq          int not null,
  bank_id         bigint not null,
  bank_version    int not null,
  choice          jsonb not null,                      -- candidates, logits, bias, choice, its probability
  outcome         jsonb,                               -- actions and what became of them; null until the span is done
  created_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, run_id, span),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, bank_id) references banks
);

-- Questions that memory was asked, with what is known of their answers.
create table cases (
  workspace_id    bigint not null,
  id              bigint generated always as identity,
  bank_id         bigint not null,
  key             text not null,
  source          text not null check (source in ('feedback', 'correction', 'retrieval', 'import', 'training')),
  state           text not null default 'open' check (state in ('open', 'resolved')),
  question        text not null,
  gold            text[] not null default '{}',        -- right answers; any of them will do
  evidence        int[] not null default '{}',         -- messages of the conversation that hold the answer
  category        text not null default '',
  prediction      text not null default '',
  retrieved       text[] not null default '{}',        -- ids of the memories that were found
  score           float8 not null default 0,
  failures        int not null default 0,              -- 0 is a question that is known and never failed
  iteration       int not null default 0,
  conversation_id bigint,                              -- where it was said; null when that is not known
  run_id          bigint,
  op_id           text not null,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, bank_id, key),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);
create index cases_open on cases (workspace_id, bank_id, id) where state = 'open' and failures > 0;

-- One round of the designer.
create table evolution_rounds (
  workspace_id    bigint not null,
  bank_id         bigint not null,
  number          int not null,
  run_id          bigint not null,
  base            int not null,                        -- version of the bank that it began on
  conversations   bigint[] not null default '{}',      -- that its cases are from
  mined           jsonb not null default '[]',         -- the cases that it looked at, with what failed
  analysis        jsonb,
  proposal        jsonb,
  candidate       jsonb,                               -- the bank that the proposal makes
  comparison      jsonb,                               -- candidate against incumbent on held-out traces
  outcome         text not null default '' check (outcome in ('', 'promoted', 'rejected', 'no_change', 'no_cases', 'no_traces', 'superseded', 'failed')),
  note            text not null default '',
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  primary key (workspace_id, bank_id, number),
  unique (workspace_id, run_id),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, run_id) references runs
);

-- What each step of a training or of a comparison came to. The first result stays.
create table training_steps (
  workspace_id    bigint not null,
  run_id          bigint not null,
  step            text not null,                       -- stage/iteration/episode, as far as it goes
  conversation_id bigint,                              -- of an episode
  result          jsonb not null,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, run_id, step),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);

-- Conversations that a run without one of its own has shown to a model.
create table run_conversations (
  workspace_id    bigint not null,
  run_id          bigint not null,
  conversation_id bigint not null,
  primary key (workspace_id, run_id, conversation_id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);

alter table memory_revisions add column decision_id text not null default '';  -- that led to it
create index memory_revisions_decision on memory_revisions (workspace_id, decision_id) where decision_id <> '';

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['memory_skills', 'policies', 'banks', 'bank_versions', 'decisions', 'cases', 'evolution_rounds', 'training_steps', 'run_conversations'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (head) on banks to cairn_app;
grant delete on policies, training_steps to cairn_app;
grant update (outcome) on decisions to cairn_app;
grant update (source, state, gold, evidence, category, prediction, retrieved, score, failures, iteration, conversation_id, run_id, op_id, updated_at) on cases to cairn_app;
grant update (conversations, mined, analysis, proposal, candidate, comparison, outcome, note, ended_at) on evolution_rounds to cairn_app;

insert into erase_rules (tbl, how, scope) values
  ('memory_skills', 'none', null),                     -- rules in general words, of the workspace
  ('policies', 'none', null),
  ('banks', 'none', null),
  ('bank_versions', 'none', null),
  ('decisions', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('cases', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('evolution_rounds', 'rows', '$2 = any(t.conversations) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('training_steps', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('run_conversations', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)');
-- Their requests hold what was said, so they go with any conversation that they were shown.
update erase_rules set scope = scope || ' or t.run_id in (select run_id from run_conversations where workspace_id = $1 and conversation_id = $2)' where tbl = 'llm_calls';
select cairn.cover_erase();
